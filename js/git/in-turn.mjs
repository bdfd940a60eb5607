// What git cannot do twice at once in one repository is done in turn.

/** The end of the last in each line. @type {Map<string, Promise<unknown>>} */
const lines = new Map();

/** @template T @param {string} line @param {() => Promise<T>} work @returns {Promise<T>} */
export function inTurn(line, work) {
  const result = (lines.get(line) ?? Promise.resolve()).then(work);
  const over = result.then(
    () => {},
    () => {},
  );
  lines.set(line, over);
  void over.then(() => lines.get(line) === over && lines.delete(line));
  return result;
}
