// Errors in a user's function are written to stderr, for its author.

import { inspect } from "node:util";
import { TapError, errorText } from "./errors.mjs";
import { visible } from "./visible.mjs";

const MAX_ARGUMENTS = 200;

/** @param {unknown} error with its stack and its cause */
function formatStack(error) {
  // A refusal's message is complete.
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
 * @param {string} [call] the failed call
 */
export function report(provider, error, call) {
  const head =
    call === undefined ? `provider ${provider}: ` : `provider ${provider}: ${call} failed:\n`;
  console.error(visible(head + formatStack(error)));
}

/** Errors with which close() itself has rejected calls. @type {WeakSet<Error>} */
const closings = new WeakSet();

/**
 * Handles rejections in this turn of the event loop. A program with its own listener is not affected.
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
  // Node.js emits unhandled rejections before this.
  setImmediate(() => process.off(event, onUncaught));
}

/**
 * An unhandled rejection ends the process. For a refusal of the gateway it then prints a single line without
 * a stack, since the program's text has no mistake.
 * @param {string} provider its name
 * @param {unknown} error of the rejection
 */
export function endInOneLine(provider, error) {
  if (error instanceof TapError) watchUncaught(provider);
}

/**
 * A program that closes its provider while it connects need not catch the rejection of connect(): the
 * process continues, and ends when it has no more work.
 * @param {string} provider its name
 * @param {Error} error of the rejection of connect()
 */
export function endInPeace(provider, error) {
  closings.add(error);
  watchUncaught(provider);
}
