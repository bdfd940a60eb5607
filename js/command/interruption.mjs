// Ctrl-C, and what else asks a command to end.

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];

/**
 * Does the work; a signal aborts it. A second one ends the process, as it does without this.
 * @template T @param {(ending: AbortSignal) => Promise<T>} work @returns {Promise<T>}
 */
export async function untilInterrupted(work) {
  const controller = new AbortController();
  const end = () => controller.abort();
  for (const signal of SIGNALS) process.once(signal, end);
  try {
    return await work(controller.signal);
  } finally {
    for (const signal of SIGNALS) process.off(signal, end);
  }
}

/** Resolves at once when that ends. @param {number} ms @param {AbortSignal} ending */
export function pause(ms, ending) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      ending.removeEventListener("abort", done);
      resolve(undefined);
    };
    const timer = setTimeout(done, ms);
    ending.addEventListener("abort", done);
    if (ending.aborted) done();
  });
}
