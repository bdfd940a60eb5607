// The result of a feature's tool: bounded and without secrets. JSON is never cut in the middle.

import { redact } from "../base/redact.mjs";
import { messageOf } from "../base/errors.mjs";

/** In bytes of text, or of JSON. */
export const MOST_RESULT = 32 * 1024;
const NOTE_ROOM = 1024;

/** @typedef {(text: string, about: {session: string, tool: string}) => Promise<string>} Overflow keeps a text; gives its path */

/** @param {string} text @param {number} most bytes, without half of a character at its end */
const cut = (text, most) => {
  const bytes = Buffer.from(text.slice(0, most));
  let end = Math.min(most, bytes.length);
  while (end > 0 && (bytes[end] & 0xc0) === 0x80) end -= 1;
  return bytes.toString("utf8", 0, end);
};

/** @param {string} text */
function isJson(text) {
  try {
    return /^\s*[[{]/.test(text) && Boolean(JSON.parse(text));
  } catch {
    return false;
  }
}

/**
 * @param {unknown} result @param {{session: string, tool: string}} about @param {Overflow} [overflow]
 * @returns {Promise<unknown>}
 * @throws where it is JSON and too long
 */
export async function boundResult(result, about, overflow) {
  if (result === undefined || result === null) return result;
  const clean = redact(typeof result === "string" ? result : JSON.parse(JSON.stringify(result)));
  const text = typeof clean === "string" ? clean : JSON.stringify(clean);
  const length = Buffer.byteLength(text);
  if (length <= MOST_RESULT) return clean;
  if (text !== clean || isJson(text)) {
    throw new Error(`the result has ${length} bytes, and may have ${MOST_RESULT}: ask for less`);
  }
  const head = cut(text, MOST_RESULT - NOTE_ROOM);
  const left = text.length - head.length;
  const where = await (overflow?.(text, about) ?? Promise.reject(new Error("no folder for it")))
    .then((path) => `the whole text is in ${path}`)
    .catch((error) => `the whole text could not be kept: ${messageOf(error)}`);
  return `${head}\n… (${left} more characters; ${where})`;
}
