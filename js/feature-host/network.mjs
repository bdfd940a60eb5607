// The network, for features: one POST at a time, bounded in time and in what is read of the answer. A redirect is an
// answer like any other, so that headers go nowhere but to the URL that was given.

import { promisify } from "node:util";
import zlib from "node:zlib";

const gzip = promisify(zlib.gzip);
/** Of an answer. */
const MOST_ANSWER = 64 * 1024;
const MOST_BODY = 16 * 1024 * 1024;
const MOST_MS = 60_000;
const SHOWN = ["content-type", "retry-after"];

/**
 * @typedef {object} Post
 * @property {string} url http or https
 * @property {Record<string, string>} [headers]
 * @property {string} body
 * @property {boolean} [compress] with gzip
 * @property {number} timeoutMs for all of it, at most 60,000
 * @property {AbortSignal} [signal] ends it
 *
 * @typedef {{status: number, headers: Record<string, string>, text: string, cut: boolean}} Answer `text`: at most 64 KB
 */

/** @param {Post} given */
function checked({ url, body, timeoutMs }) {
  const isHttp = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
  if (!isHttp) throw new TypeError("url: expected an http or https URL");
  if (typeof body !== "string" || body.length > MOST_BODY) {
    throw new RangeError(`body: expected a text of at most ${MOST_BODY} characters`);
  }
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > MOST_MS) {
    throw new RangeError(`timeoutMs: expected a whole number from 1 to ${MOST_MS}`);
  }
}

/** @param {ReadableStream<Uint8Array> | null} stream @returns {Promise<{text: string, cut: boolean}>} */
async function bounded(stream) {
  const pieces = [];
  let left = MOST_ANSWER;
  const reader = stream?.getReader();
  while (reader && left > 0) {
    const { done, value } = await reader.read();
    if (done) break;
    pieces.push(value.subarray(0, left));
    left -= value.length;
  }
  const cut = left <= 0;
  if (cut) await reader?.cancel();
  return { text: Buffer.concat(pieces).toString("utf8"), cut };
}

/** @param {any} error of fetch @param {number} timeoutMs @returns {string} such as ECONNREFUSED */
function reasonOf(error, timeoutMs) {
  if (error?.name === "TimeoutError") return `no answer within ${timeoutMs} ms`;
  const code = error?.cause?.code ?? error?.code;
  return typeof code === "string" ? code : "the connection failed";
}

/** @param {Post} given @returns {Promise<Answer>} rejected where there is no answer; the message says why, in a word */
export async function post(given) {
  checked(given);
  const { url, headers = {}, body, compress = false, timeoutMs, signal } = given;
  const inTime = AbortSignal.timeout(timeoutMs);
  try {
    const answer = await fetch(url, {
      method: "POST",
      headers: { ...headers, ...(compress && { "content-encoding": "gzip" }) },
      body: compress ? await gzip(body) : body,
      redirect: "manual",
      signal: signal ? AbortSignal.any([signal, inTime]) : inTime,
    });
    const shown = SHOWN.flatMap((name) => {
      const value = answer.headers.get(name);
      return value === null ? [] : [[name, value]];
    });
    // The receiver has decided, even if the rest of its answer is missing.
    const read = await bounded(answer.body).catch(() => ({ text: "", cut: true }));
    return { status: answer.status, headers: Object.fromEntries(shown), ...read };
  } catch (error) {
    throw new Error(reasonOf(error, timeoutMs), { cause: error });
  }
}
