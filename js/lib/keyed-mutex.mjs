// Runs work that must not run twice at once in sequence, such as changes of a repository by git.

/** The end of the last work for each key. @type {Map<string, Promise<unknown>>} */
const tails = new Map();

/** @param {AbortSignal} signal @param {AbortSignal} over the wait has ended @returns {Promise<never>} rejects when it is aborted */
const rejectOnAbort = (signal, over) =>
  new Promise((_, reject) => {
    const stop = () => reject(signal.reason);
    // Defer, so that work that has just ended does not count as a wait.
    if (signal.aborted) setImmediate(stop);
    else signal.addEventListener("abort", stop, { once: true, signal: over });
  });

/**
 * @template T @param {string} line @param {() => Promise<T>} work
 * @param {AbortSignal} [signal] aborted: ends the wait, and rejects with its reason
 * @returns {Promise<T>}
 */
export function withLock(line, work, signal) {
  const before = tails.get(line) ?? Promise.resolve();
  const isOver = new AbortController();
  const turn = signal ? Promise.race([before, rejectOnAbort(signal, isOver.signal)]) : before;
  const result = turn.then(work).finally(() => isOver.abort());
  const over = Promise.allSettled([before, result]);
  tails.set(line, over);
  void over.then(() => tails.get(line) === over && tails.delete(line));
  return result;
}
