// The result of a feature's tool: bounded and without secrets. JSON is never cut.

import { ToolError } from "../../sdk/node/errors.mjs";
import { redact } from "../lib/redact.mjs";
import { errorMessage } from "../lib/values.mjs";
import { ServiceError } from "./service-access.mjs";

/** In bytes of text, or of JSON. */
export const MAX_RESULT_BYTES = 32 * 1024;
const NOTE_ROOM = 1024;

/** @typedef {(text: string, about: {session: string, tool: string}) => Promise<string>} Overflow stores a text, and returns its path */

/** @param {string} text @param {number} most bytes, without half a character at its end */
const truncateBytes = (text, most) => {
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
 * @throws if it is JSON and too long
 */
export async function boundResult(result, about, overflow) {
  if (result === undefined || result === null) return result;
  const clean = redact(typeof result === "string" ? result : JSON.parse(JSON.stringify(result)));
  const text = typeof clean === "string" ? clean : JSON.stringify(clean);
  const length = Buffer.byteLength(text);
  if (length <= MAX_RESULT_BYTES) return clean;
  if (text !== clean || isJson(text)) {
    throw new Error(
      `the result has ${length} bytes, the limit is ${MAX_RESULT_BYTES}: request fewer items`,
    );
  }
  const head = truncateBytes(text, MAX_RESULT_BYTES - NOTE_ROOM);
  const left = text.length - head.length;
  const where = await (overflow?.(text, about) ?? Promise.reject(new Error("no folder for it")))
    .then((path) => `the whole text is in ${path}`)
    .catch((error) => `the whole text could not be stored: ${errorMessage(error)}`);
  return `${head}\n… (${left} more characters; ${where})`;
}

// The failure of a feature's tool if the gateway's host did not answer.

/** Codes of GatewayRequests that are not the feature's fault. */
const TRANSIENT_CODES = ["DISCONNECTED", "TIMEOUT"];

/** @param {unknown} thrown by a tool @returns {unknown} the failure of the call */
export function toCallError(thrown) {
  if (!(thrown instanceof ServiceError)) return thrown;
  const { code } = /** @type {{code?: string}} */ (thrown.cause ?? {});
  if (code === undefined || !TRANSIENT_CODES.includes(code)) return thrown;
  return new ToolError(code, thrown.message, { retryable: true });
}
