// Waits for other processes. A plain timer is not enough: if this process was stopped or asleep, an expired timer
// runs before an answer that has already arrived is read.

const BEATS = 8;

/**
 * Calls the action after this process has run for this time.
 * @param {number} ms @param {() => void} action
 * @returns {() => void} cancels it
 */
export function runtimeTimeout(ms, action) {
  let left = BEATS;
  const timer = setInterval(() => {
    if (--left !== 0) return;
    clearInterval(timer);
    action();
  }, ms / BEATS);
  return () => clearInterval(timer);
}

/** @param {number} ms @returns {Promise<void>} */
export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
