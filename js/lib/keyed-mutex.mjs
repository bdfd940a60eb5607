// What cannot be done twice at once is done in turn: such as what git changes in one repository.

/** The end of the last in each line. @type {Map<string, Promise<unknown>>} */
const tails = new Map();

/** @param {AbortSignal} signal @param {AbortSignal} over nobody waits for it any more @returns {Promise<never>} rejected once it is aborted */
const rejectOnAbort = (signal, over) =>
  new Promise((_, reject) => {
    const stop = () => reject(signal.reason);
    // One that has just ended is not waited for.
    if (signal.aborted) setImmediate(stop);
    else signal.addEventListener("abort", stop, { once: true, signal: over });
  });

/**
 * @template T @param {string} line @param {() => Promise<T>} work
 * @param {AbortSignal} [signal] aborted: its turn is not waited for, and the promise is rejected with the reason
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
