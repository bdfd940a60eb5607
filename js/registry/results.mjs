// The result of a feature's tool: bounded and without secrets. JSON is never cut in the middle.

import { redact } from "../base/redact.mjs";
import { messageOf } from "../base/errors.mjs";

/** In characters of text, or of JSON. */
export const MOST_RESULT = 32 * 1024;
const NOTE_ROOM = 1024;

/** @typedef {(text: string, about: {session: string, tool: string}) => Promise<string>} Overflow keeps a text; gives its path */

/** @param {string} text @param {number} most without half of a surrogate pair at its end */
const cut = (text, most) => text.slice(0, most).replace(/[\ud800-\udbff]$/, "");

/**
 * @param {unknown} result @param {{session: string, tool: string}} about @param {Overflow} [overflow]
 * @returns {Promise<unknown>}
 * @throws where it is JSON and too long
 */
export async function boundResult(result, about, overflow) {
  if (result === undefined || result === null) return result;
  const clean = redact(typeof result === "string" ? result : JSON.parse(JSON.stringify(result)));
  if (typeof clean !== "string") {
    const { length } = JSON.stringify(clean);
    if (length <= MOST_RESULT) return clean;
    throw new Error(
      `the result has ${length} characters, and may have ${MOST_RESULT}: ask for less`,
    );
  }
  if (clean.length <= MOST_RESULT) return clean;
  const head = cut(clean, MOST_RESULT - NOTE_ROOM);
  const left = clean.length - head.length;
  const where = await (overflow?.(clean, about) ?? Promise.reject(new Error("no folder for it")))
    .then((path) => `the whole text is in ${path}`)
    .catch((error) => `the whole text could not be kept: ${messageOf(error)}`);
  return `${head}\n… (${left} more characters; ${where})`;
}
