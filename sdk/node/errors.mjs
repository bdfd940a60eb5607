// The SDK's errors, each with a code and advice.

import { inspect } from "node:util";

/** The advice for each error code of the gateway. @type {Record<string, string>} */
export const ADVICE = {
  AUTH_FAILED: "Send auth with the token from the token file.",
  UNSUPPORTED_VERSION: "Send protocolVersion 2 in hello.",
  INVALID_SESSION: "Pick a session from the last sessions message.",
  DUPLICATE_INSTANCE: "Choose another name, or close the other connection.",
  TOOL_CONFLICT: "Rename the tool and send hello or tools.update again.",
  PAYLOAD_TOO_LARGE: "Ask the tool for less at a time.",
  RATE_LIMITED: "Wait a second, then try again.",
  UNAUTHORIZED: "This message is not allowed in this state.",
  INVALID_JSON: "The provider sent something unreadable: it needs a fix.",
  UNKNOWN_TYPE: "Check the message type and protocolVersion.",
  INVALID_ARGUMENTS: "Check the arguments, then call again.",
  NOT_FOUND: "Check the arguments, or whether the thing asked for exists.",
  TIMEOUT: "Try again with less work, or raise the tool's timeout.",
  CANCELLED: "The call was cancelled; call again if it is still wanted.",
  DISCONNECTED: "The call was not repeated. Check that the provider is running, then try again.",
  INTERNAL: "The provider failed; its own log says more.",
  TOOL_ERROR: "The tool says what is wrong.",
};

/** Advice for this program, where it differs from the advice for the model. @type {Record<string, string>} */
const OWN_ADVICE = {
  AUTH_FAILED: "Unset an old TAP_PROVIDER_TOKEN; COPILOT_HOME and the port must be the session's.",
  DUPLICATE_INSTANCE:
    "Stop the other program, or give either of them a different name or an instance.",
  TOOL_CONFLICT: "Rename the tool.",
  PAYLOAD_TOO_LARGE: "Send less, or a result as a file (tap.file).",
  RATE_LIMITED: "Await each push before the next, and wait a second.",
  UNAUTHORIZED: "The user has not allowed this, or a paired provider may not do it.",
  DISCONNECTED: "It reconnects by itself; try again once it is bound.",
  INVALID_SESSION: "Choose a session that is there, or leave the choice to the SDK.",
  UNSUPPORTED_VERSION: "Update tap, or this SDK: both are in one package.",
};

const adviceFor = (/** @type {string} */ code) => OWN_ADVICE[code] ?? ADVICE[code] ?? "";

/** The gateway has refused something, or cannot be reached. */
export class TapError extends Error {
  /** @param {string} code @param {string} message @param {{replyTo?: string, sessionId?: string}} [about] @param {string} [advice] */
  constructor(code, message, { replyTo, sessionId } = {}, advice = adviceFor(code)) {
    super(`${code}: ${message}${advice && `. ${advice}`}`);
    this.name = "TapError";
    this.code = code;
    this.advice = advice;
    /** The type of the message that was refused. */
    this.replyTo = replyTo;
    this.session = sessionId;
  }

  /** @param {{code: string, message: string, replyTo?: string, sessionId?: string}} message of type error */
  static of(message) {
    return new TapError(message.code, message.message, message);
  }
}

/** A provider does not reconnect after close(). @param {string} message */
export const closedError = (message) =>
  new TapError("DISCONNECTED", message, {}, "Create a new provider to connect again.");

/** Thrown by a tool: the call fails with this code, and the model reads the message. */
export class ToolError extends Error {
  /** @param {string} code @param {string} message @param {{retryable?: boolean}} [options] */
  constructor(code, message, { retryable } = {}) {
    super(message);
    this.name = "ToolError";
    this.code = code;
    this.retryable = retryable;
  }
}

/** The longest text of a call's failure: the message must fit the gateway's limit. */
const MAX_TEXT = 32_768;

/** @param {any} error @returns {string} */
function errorName(error) {
  const name = error.name === "Error" ? error.constructor?.name : error.name;
  return typeof name === "string" ? name : "Error";
}

/** @param {any} thrown */
function describe(thrown) {
  if (typeof thrown?.message !== "string") {
    return typeof thrown === "string" ? thrown : `it threw ${inspect(thrown, { depth: 1 })}`;
  }
  const name = errorName(thrown);
  if (thrown.message === "") return name;
  const speaksForItself = thrown instanceof ToolError || thrown instanceof TapError;
  // "Error" alone has no information.
  return speaksForItself || name === "Error" ? thrown.message : `${name}: ${thrown.message}`;
}

/**
 * The text of a thrown value with its type, as `TypeError: x is undefined`. The value may have getters that
 * throw themselves: this function does not throw.
 * @param {unknown} thrown @returns {string}
 */
export function errorText(thrown) {
  try {
    return describe(thrown).slice(0, MAX_TEXT);
  } catch {
    return "it threw something that cannot be shown";
  }
}

/** @param {unknown} thrown @returns {Error} */
export function toError(thrown) {
  try {
    if (thrown instanceof Error) return thrown;
  } catch {
    // A proxy may throw even here.
  }
  return new Error(errorText(thrown));
}

/** Whether a tool has thrown it intentionally, for the model. @param {unknown} thrown @returns {thrown is ToolError} */
export function isToolError(thrown) {
  try {
    return thrown instanceof ToolError;
  } catch {
    return false;
  }
}

/** The fields of a failed tool.result. @param {unknown} thrown */
export function failure(thrown) {
  const error = errorText(thrown);
  if (!isToolError(thrown)) return { error, errorCode: "INTERNAL" };
  try {
    const { code, retryable } = thrown;
    return { error, errorCode: String(code), ...(retryable && { retryable: true }) };
  } catch {
    return { error, errorCode: "INTERNAL" }; // its code is not a string
  }
}
