// Errors in a user's function go to stderr, where its author looks.

import { inspect } from "node:util";
import { TapError, errorText } from "./errors.mjs";
import { visible } from "./visible.mjs";

const MAX_ARGUMENTS = 200;

/** @param {unknown} error with its stack and its cause */
function formatStack(error) {
  // A refusal says all in its message.
  if (error instanceof TapError) return error.message;
  try {
    return inspect(error);
  } catch {
    return errorText(error);
  }
}

/** As JSON, which the tool may have made impossible. @param {unknown} args */
function argumentsText(args) {
  try {
    return JSON.stringify(args) ?? "";
  } catch {
    return "(its arguments, changed by the tool, are not JSON)";
  }
}

/** A call, for a person. @param {string} tool @param {unknown} args as the tool has left them */
export function callText(tool, args) {
  const text = argumentsText(args);
  const cut = text.length > MAX_ARGUMENTS ? `${text.slice(0, MAX_ARGUMENTS)}…` : text;
  return `${tool} ${cut}`.replaceAll("\n", "\\n");
}

/**
 * @param {string} provider its name @param {unknown} error
 * @param {string} [call] what has failed by it
 */
export function report(provider, error, call) {
  const head =
    call === undefined ? `provider ${provider}: ` : `provider ${provider}: ${call} failed:\n`;
  console.error(visible(head + formatStack(error)));
}

/** Errors with which close() itself has rejected calls. @type {WeakSet<Error>} */
const closings = new WeakSet();

/**
 * For the rejections of this turn. Where the program listens itself this changes nothing.
 * @param {string} provider its name
 */
function watchUncaught(provider) {
  const event = "uncaughtException";
  if (process.listenerCount(event) > 0) return;
  const onUncaught = (/** @type {any} */ uncaught) => {
    if (closings.has(uncaught)) return;
    report(provider, uncaught);
    process.exit(1);
  };
  process.on(event, onUncaught);
  // Node.js looks for rejections that nobody handles before this.
  setImmediate(() => process.off(event, onUncaught));
}

/**
 * A rejection that nobody catches ends the process. A refusal by the gateway is then printed in one line,
 * without a stack: nothing in the program's text is wrong.
 * @param {string} provider its name
 * @param {unknown} error with which a promise is being rejected
 */
export function endInOneLine(provider, error) {
  if (error instanceof TapError) watchUncaught(provider);
}

/**
 * A program that closes its provider while it connects need not catch the rejection of connect(): the
 * process goes on, and ends when it has nothing left to do.
 * @param {string} provider its name
 * @param {Error} error with which connect() is being rejected
 */
export function endInPeace(provider, error) {
  closings.add(error);
  watchUncaught(provider);
}
