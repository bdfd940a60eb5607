// What goes wrong in a user's function is shown where its author looks: on stderr.

import { inspect } from "node:util";
import { TapError, textOf } from "./errors.mjs";
import { visible } from "./visible.mjs";

const MOST_ARGUMENTS = 200;

/** @param {unknown} error with its stack and its cause */
function stackOf(error) {
  // A refusal says all in its message.
  if (error instanceof TapError) return error.message;
  try {
    return inspect(error);
  } catch {
    return textOf(error);
  }
}

/** A call, for a person. @param {string} tool @param {unknown} args of JSON */
export function callText(tool, args) {
  const text = JSON.stringify(args);
  const cut = text.length > MOST_ARGUMENTS ? `${text.slice(0, MOST_ARGUMENTS)}…` : text;
  return `${tool} ${cut}`.replaceAll("\n", "\\n");
}

/**
 * @param {string} provider its name @param {unknown} error
 * @param {string} [call] what has failed by it
 */
export function report(provider, error, call) {
  const head =
    call === undefined ? `provider ${provider}: ` : `provider ${provider}: ${call} failed:\n`;
  console.error(visible(head + stackOf(error)));
}

/**
 * What nobody catches ends the process. Of a refusal by the gateway it is one line, without a stack:
 * nothing in the program's text is wrong. Where somebody catches it this changes nothing.
 * @param {string} provider its name @param {unknown} error with which a promise is being rejected
 */
export function endInOneLine(provider, error) {
  const event = "uncaughtException";
  if (!(error instanceof TapError) || process.listenerCount(event) > 0) return;
  const onUncaught = (/** @type {unknown} */ uncaught) => {
    report(provider, uncaught);
    process.exit(1);
  };
  process.once(event, onUncaught);
  // Rejections that nobody handles are looked at before.
  setImmediate(() => process.off(event, onUncaught));
}
