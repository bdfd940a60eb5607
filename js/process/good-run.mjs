// Apart from supervisor.mjs, which needs the addon: the doctor runs without it.

/** A run this long counts as good: the count of restarts starts again at zero. */
export const GOOD_RUN_MS = 60_000;
