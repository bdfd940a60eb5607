// An answer for the model is JSON that is whole and has room in a result: what is too long in it is cut, and said.

const MOST_BYTES = 31_000;
const FIRST_LIMIT = 8192;
const LAST_LIMIT = 16;
/** Of a list as many elements have room as of a text eight times as many characters. */
const CHARACTERS = 8;

/** @typedef {Record<string, number>} Cut what was left out, characters or elements, by path */

/**
 * @param {any} value of JSON @param {number} limit characters @param {Cut} cut is added to @param {string} [at]
 * @returns {any}
 */
function shortened(value, limit, cut, at = "") {
  if (typeof value === "string") {
    if (value.length <= limit) return value;
    cut[at] = value.length - limit;
    return value.slice(0, limit);
  }
  if (typeof value !== "object" || value === null) return value;
  const inner = (/** @type {any} */ one, /** @type {string | number} */ key) =>
    shortened(one, limit, cut, at === "" ? String(key) : `${at}.${key}`);
  if (!Array.isArray(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, inner(one, key)]));
  }
  const most = Math.ceil(limit / CHARACTERS);
  if (value.length > most) cut[at] = value.length - most;
  return value.slice(0, most).map(inner);
}

/** @param {any} answer @returns {any} the same where it has room; else with `cut`: what was left out, by path */
export function fitted(answer) {
  const fits = (/** @type {any} */ one) => Buffer.byteLength(JSON.stringify(one)) <= MOST_BYTES;
  if (answer === undefined || fits(answer)) return answer;
  for (let limit = FIRST_LIMIT; limit >= LAST_LIMIT; limit /= 2) {
    /** @type {Cut} */
    const cut = {};
    const some = { ...shortened(answer, limit, cut), cut };
    if (fits(some)) return some;
  }
  throw new RangeError("the answer has no room in a result: ask for less");
}
