// HTTP requests of features, with limits on time and on the size of the answer. Redirects are not followed, so that
// headers are only sent to the given URL.

import { promisify } from "node:util";
import zlib from "node:zlib";

const gzip = promisify(zlib.gzip);
/** Of the answer to a POST, and to a GET. */
const MAX_ANSWER = 64 * 1024;
const MAX_DOCUMENT = 1024 * 1024;
const MAX_BODY = 16 * 1024 * 1024;
const MAX_MS = 60_000;
const RESPONSE_HEADERS = ["content-type", "retry-after"];

/**
 * @typedef {object} Post
 * @property {string} url http or https
 * @property {Record<string, string>} [headers]
 * @property {string} body
 * @property {boolean} [compress] with gzip
 * @property {number} timeoutMs in total, at most 60,000
 * @property {AbortSignal} [signal] cancels it
 *
 * @typedef {Pick<Post, "url" | "headers" | "timeoutMs" | "signal">} Get
 *
 * @typedef {{status: number, headers: Record<string, string>, text: string, cut: boolean}} Answer `text`: at most 64 KB
 *   of a POST's, 1 MB of a GET's
 */

/** @param {Get} given */
function checkRequest({ url, timeoutMs }) {
  const isHttp = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
  if (!isHttp) throw new TypeError("url: expected an http or https URL");
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > MAX_MS) {
    throw new RangeError(`timeoutMs: expected a whole number from 1 to ${MAX_MS}`);
  }
}

/** @param {ReadableStream<Uint8Array> | null} stream @param {number} most bytes @returns {Promise<{text: string, cut: boolean}>} */
async function readBounded(stream, most) {
  const pieces = [];
  let left = most;
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
function describeError(error, timeoutMs) {
  if (error?.name === "TimeoutError") return `no answer within ${timeoutMs} ms`;
  const code = error?.cause?.code ?? error?.code;
  return typeof code === "string" ? code : "the connection failed";
}

/**
 * @param {RequestInit} how @param {Get} given @param {number} most bytes of the answer
 * @param {(error: unknown) => {text: string, cut: boolean}} whenCut called if the connection ends within the answer
 * @returns {Promise<Answer>}
 */
async function sendRequest(how, { url, headers = {}, timeoutMs, signal }, most, whenCut) {
  const inTime = AbortSignal.timeout(timeoutMs);
  try {
    const answer = await fetch(url, {
      ...how,
      headers: { ...headers, ...how.headers },
      redirect: "manual",
      signal: signal ? AbortSignal.any([signal, inTime]) : inTime,
    });
    const shown = RESPONSE_HEADERS.flatMap((name) => {
      const value = answer.headers.get(name);
      return value === null ? [] : [[name, value]];
    });
    const read = await readBounded(answer.body, most).catch(whenCut);
    return { status: answer.status, headers: Object.fromEntries(shown), ...read };
  } catch (error) {
    throw new Error(describeError(error, timeoutMs), { cause: error });
  }
}

/** @param {Post} given @returns {Promise<Answer>} rejects with the reason if there is no answer */
export async function post(given) {
  checkRequest(given);
  const { body, compress = false } = given;
  if (typeof body !== "string" || body.length > MAX_BODY) {
    throw new RangeError(`body: expected a text of at most ${MAX_BODY} characters`);
  }
  const encoded = compress ? { "content-encoding": "gzip" } : undefined;
  const content = compress ? await gzip(body) : body;
  // The receiver has decided, even if the rest of its answer is missing.
  const decided = () => ({ text: "", cut: true });
  return sendRequest(
    { method: "POST", headers: encoded, body: content },
    given,
    MAX_ANSWER,
    decided,
  );
}

/** @param {Get} given @returns {Promise<Answer>} rejects with the reason if there is no answer */
export async function get(given) {
  checkRequest(given);
  return sendRequest({ method: "GET" }, given, MAX_DOCUMENT, (error) => {
    throw error;
  });
}
