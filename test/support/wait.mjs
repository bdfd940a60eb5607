// Waiting for conditions: tests state a condition, never how long to sleep.

/**
 * For each awaited event: a test that fails takes this long, a test that passes never does. It is long, since on a
 * machine with other work a start of Node takes ten times as long as alone.
 */
export const PATIENCE_MS = 120_000;

/** @param {number} ms */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @param {unknown} subject a text, or a function that describes the state when the wait fails */
async function describe(subject) {
  try {
    return String(typeof subject === "function" ? await subject() : subject);
  } catch (error) {
    return `a condition (its description failed: ${error})`;
  }
}

/**
 * Polls until `predicate` gives something truthy and returns that.
 * A throwing predicate counts as "not yet"; its last error is named when time is up.
 *
 * @template T
 * @param {() => T | Promise<T>} predicate
 * @param {{timeoutMs?: number, intervalMs?: number, what?: string | (() => unknown)}} [options]
 * @returns {Promise<NonNullable<T>>}
 */
export async function waitFor(
  predicate,
  { timeoutMs = PATIENCE_MS, intervalMs = 20, what = "a condition" } = {},
) {
  const deadline = performance.now() + timeoutMs;
  let lastError;
  for (;;) {
    try {
      const value = await predicate();
      if (value) return value;
      lastError = undefined;
    } catch (error) {
      lastError = error;
    }
    if (performance.now() >= deadline) break;
    await pause(intervalMs);
  }
  const reason = lastError ? `\nlast error: ${lastError?.message ?? lastError}` : "";
  throw new Error(`not within ${timeoutMs} ms: ${await describe(what)}${reason}`, {
    cause: lastError,
  });
}

/**
 * Fails with a readable message if `promise` is not settled in time.
 *
 * @template T
 * @param {Promise<T>} promise
 * @param {string | (() => unknown)} subject
 * @param {number} [timeoutMs]
 * @returns {Promise<T>}
 */
export async function withTimeout(promise, subject, timeoutMs = PATIENCE_MS) {
  let timer;
  const late = new Promise((_resolve, reject) => {
    timer = setTimeout(async () => {
      reject(new Error(`not within ${timeoutMs} ms: ${await describe(subject)}`));
    }, timeoutMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * A promise with its handles outside, to hold something until a test lets it go.
 *
 * @template [T=void]
 * @returns {{promise: Promise<T>, resolve: (value?: T) => void, reject: (error: unknown) => void}}
 */
export function deferred() {
  let resolve, reject;
  const promise = new Promise((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
