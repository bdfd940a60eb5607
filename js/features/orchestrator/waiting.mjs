// Waiting for something of any plan to change.

/**
 * Until then, at most that long, and no longer than somebody waits for it.
 * @param {Pick<import("./plans.mjs").Plans, "changed">} plans @param {number} ms @param {AbortSignal} [left] nobody does
 */
export async function untilChanged(plans, ms, left) {
  if (left?.aborted) return;
  const until = new AbortController();
  const end = () => until.abort();
  const timer = setTimeout(end, ms);
  left?.addEventListener("abort", end);
  await plans.changed(until.signal);
  clearTimeout(timer);
  left?.removeEventListener("abort", end);
}
