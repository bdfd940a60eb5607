// Waiting for another process. A timer alone is no measure: one that was due while this process was
// stopped, asleep or kept from the processor rings before the answer that lies there is read.

const BEATS = 8;

/**
 * Once this process has run for so long.
 * @param {number} ms @param {() => void} action
 * @returns {() => void} never mind
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
