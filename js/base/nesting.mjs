// How deep a value of JSON is nested. JSON.parse reads any depth; JSON.stringify, and what walks through a value, end
// with the stack.

/** Of a file that was exported: more than what native/base/json.h takes of a plan or an entry in it. */
export const MOST_LEVELS = 160;

/** @param {unknown} value @param {number} most levels @returns {boolean} */
export const isDeeper = (value, most) =>
  typeof value === "object" &&
  value !== null &&
  (most === 0 || Object.values(value).some((one) => isDeeper(one, most - 1)));
