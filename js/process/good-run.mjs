// Apart from supervisor.mjs, which needs the addon: the doctor runs without it.

/** A run this long was a good one: counting starts anew. */
export const GOOD_RUN_MS = 60_000;
