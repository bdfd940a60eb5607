// Results and failures of MCP servers, as a model gets them. Everything here may have any form.

import { ToolError } from "../../sdk/node/errors.mjs";
import { truncateText } from "../lib/visible.mjs";
import { isMap } from "../config/schema.mjs";

/** @typedef {(content: string | Buffer, extension: string) => string} Keep writes a file of the session; gives its path */

/** The most that fits in a message, and the most that is read. */
const MAX_TEXT_BYTES = 4 * 1024 * 1024;
const MAX_RESULT_BYTES = 50 * 1024 * 1024;
const HEAD_CHARACTERS = 24 * 1024;
const MAX_ERROR_TEXT = 2048;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const IMAGE_TYPE = /^image\/(png|jpeg|gif|webp)$/;

/** @param {unknown} value @param {string} otherwise */
const readText = (value, otherwise = "") => (typeof value === "string" ? value : otherwise);

/** @param {unknown} data @returns {Buffer | undefined} */
function decode(data) {
  if (typeof data !== "string" || data.length % 4 !== 0 || !BASE64.test(data)) return undefined;
  return Buffer.from(data, "base64");
}

/** @param {Buffer} bytes */
const formatSize = ({ length }) =>
  length < 1024 ? `${length} bytes` : `${Math.round(length / 1024)} KB`;

/** @param {string} mimeType */
const findExtension = (mimeType) => /[a-z0-9]{1,8}$/.exec(mimeType)?.[0] ?? "bin";

/** @param {string} name @param {unknown} data base64 @param {string} mimeType @param {Keep} keep @returns {string} a line */
function keepData(name, data, mimeType, keep) {
  const bytes = decode(data);
  if (!bytes) return `(${name} without valid base64)`;
  return `${mimeType}, ${formatSize(bytes)}: ${keep(bytes, findExtension(mimeType))}`;
}

/** @param {any} resource @param {Keep} keep @returns {string} */
function readResource(resource, keep) {
  const uri = readText(resource?.uri);
  if (typeof resource?.text === "string") return `${uri}\n${resource.text}`;
  const mimeType = readText(resource?.mimeType, "application/octet-stream");
  return keepData("a resource", resource?.blob, mimeType, keep);
}

/**
 * @param {unknown} block @param {Keep} keep @param {{image?: string}} seen the first image
 * @returns {string | undefined} undefined: it is that image
 */
function readBlock(block, keep, seen) {
  if (!isMap(block)) return "(a block of an unknown form)";
  const { type, mimeType } = block;
  if (type === "text") return readText(block.text);
  if (type === "resource") return readResource(block.resource, keep);
  if (type === "audio") return keepData("audio", block.data, readText(mimeType, "audio/wav"), keep);
  if (type === "resource_link") {
    const kind = mimeType === undefined ? "" : ` (${readText(mimeType)})`;
    return `${readText(block.name, "resource")}${kind}: ${readText(block.uri)}`;
  }
  if (type !== "image") return `(a block of the unknown type ${readText(type, "?")})`;
  const kind = readText(mimeType, "image/png");
  // A result has a single image; the rest are files.
  if (seen.image !== undefined || !IMAGE_TYPE.test(kind) || !decode(block.data))
    return keepData("an image", block.data, kind, keep);
  seen.image = `data:${kind};base64,${block.data}`;
  return undefined;
}

/** @param {string} text @param {unknown} value */
function saysTheSame(text, value) {
  try {
    return JSON.stringify(JSON.parse(text)) === JSON.stringify(value);
  } catch {
    return false;
  }
}

/** @param {string} text @param {Keep} keep */
function boundText(text, keep) {
  if (Buffer.byteLength(text) <= MAX_TEXT_BYTES) return text;
  const head = truncateText(text, HEAD_CHARACTERS);
  const left = text.length - head.length;
  return `${head}\n… (${left} more characters; the whole text is in ${keep(text, "txt")})`;
}

/** @param {any} result @returns {{content: unknown[], structured: unknown}} */
const readResult = (result) => ({
  content: Array.isArray(result?.content) ? result.content : [],
  structured: result?.structuredContent,
});

/**
 * @param {any} result of tools/call @param {Keep} keep
 * @returns {unknown} a text, JSON, or an object with an image
 * @throws {ToolError} where it is a failure, or too large
 */
export function readCallResult(result, keep) {
  if (!isMap(result)) throw new ToolError("INTERNAL", "the server's result is unreadable");
  const { content, structured } = readResult(result);
  const size = Buffer.byteLength(JSON.stringify(result));
  if (size > MAX_RESULT_BYTES) {
    throw new ToolError("PAYLOAD_TOO_LARGE", `the result has ${size} bytes; 50 MB are allowed`);
  }
  /** @type {{image?: string}} */
  const seen = {};
  const texts = content.flatMap((block) => readBlock(block, keep, seen) ?? []);
  const isSaid = structured === undefined || texts.some((text) => saysTheSame(text, structured));
  if (result.isError === true) {
    throw new ToolError("TOOL_ERROR", texts.join("\n") || JSON.stringify(structured ?? "no text"));
  }
  if (content.length === 0 && structured !== undefined && size <= MAX_TEXT_BYTES) return structured;
  const parts = isSaid ? texts : [...texts, JSON.stringify(structured)];
  const text = boundText(parts.join("\n"), keep);
  return seen.image === undefined ? text : { image: seen.image, ...(text !== "" && { text }) };
}

/** Errors of the SDK, by its codes. @type {Record<string, string>} */
const SDK_CODES = {
  REQUEST_TIMEOUT: "TIMEOUT",
  CONNECTION_CLOSED: "DISCONNECTED",
  NOT_CONNECTED: "DISCONNECTED",
  SEND_FAILED: "DISCONNECTED",
};
const INVALID_PARAMS = -32602;
const METHOD_NOT_FOUND = -32601;
const RESOURCE_NOT_FOUND = -32002;
const UNKNOWN_TOOL = /\b(unknown tool|tool .{0,200}\bnot found|no such tool)\b/is;

/** @param {number} code of JSON-RPC @param {string} message */
function toCode(code, message) {
  if (code === METHOD_NOT_FOUND || code === RESOURCE_NOT_FOUND) return "NOT_FOUND";
  if (code !== INVALID_PARAMS) return "INTERNAL";
  return UNKNOWN_TOOL.test(message) ? "NOT_FOUND" : "INVALID_ARGUMENTS";
}

/** @param {number} status of HTTP */
function toHttpCode(status) {
  if (status === 401 || status === 403) return "UNAUTHORIZED";
  return status === 429 || status === 503 ? "RATE_LIMITED" : "INTERNAL";
}

/** @param {any} error @returns {number | undefined} of HTTP */
export const readStatus = (error) =>
  typeof error?.status === "number" ? error.status : error?.data?.status;

/** Whether the server does not know this connection's session any more, and has refused the call. @param {any} error */
export function isLostSession(error) {
  const status = readStatus(error);
  return status === 404 || (status === 400 && /session/i.test(String(error.message)));
}

/** Whether a call has not left this process: the connection was closed before. @param {any} error */
export const isUnsent = (error) =>
  error?.code === "NOT_CONNECTED" || error?.message === "Not connected";

/**
 * @param {any} error of a call @param {{name: string, mask: (text: string) => string}} server
 * @returns {ToolError}
 */
export function toCallError(error, { name, mask }) {
  if (error instanceof ToolError) return error;
  const said = truncateText(mask(String(error?.message ?? error)), MAX_ERROR_TEXT);
  const status = readStatus(error);
  if (status !== undefined) {
    const code = toHttpCode(status);
    const advice = code === "UNAUTHORIZED" ? ". Check the entry's headers and secrets" : "";
    return new ToolError(code, `${name} answered ${status}: ${said}${advice}`);
  }
  if (typeof error?.code === "number") return new ToolError(toCode(error.code, said), said);
  const code = SDK_CODES[error?.code] ?? (error instanceof TypeError ? "DISCONNECTED" : "INTERNAL");
  return code === "DISCONNECTED"
    ? new ToolError(
        code,
        `${name} was lost during the call (${said}): whether it was done is not known`,
      )
    : new ToolError(code, said);
}
