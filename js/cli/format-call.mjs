// A call of the gateway's log as people see it: without the secrets in its arguments.

import { redact } from "../lib/redact.mjs";

// Completes JSON text that was cut off: only a parsed value shows the keys of its secrets.

const CLOSING = { "{": "}", "[": "]" };

/** The end of the text: the open brackets, and the last place up to which it can be kept. @param {string} text */
function scan(text) {
  /** @type {("{" | "[")[]} */
  const open = [];
  let kept = 0;
  let inString = false;
  let started = 0;
  let isKey = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (inString) {
      if (character === "\\") at += 1;
      else if (character === '"') inString = false;
    } else if (character === '"') {
      inString = true;
      started = at;
      isKey = open.at(-1) === "{" && /[{,]\s*$/.test(text.slice(0, at));
    } else if (character === "{" || character === "[") {
      open.push(character);
      kept = at + 1;
    } else if (character === "}" || character === "]") {
      open.pop();
      kept = at + 1;
    } else if (character === ",") {
      kept = at;
    }
  }
  const inValue = inString && !isKey;
  return { open, kept, inValue, started };
}

/**
 * @param {string} text the beginning of a JSON text
 * @returns {any} what it says, without what is not there; a string that was cut ends in an ellipsis
 */
export function parseTruncatedJson(text) {
  const { open, kept, inValue, started } = scan(text);
  const ends = open
    .toReversed()
    .map((one) => CLOSING[one])
    .join("");
  // An escape may be cut, too.
  const whole = text.slice(started).replace(/\\(?:u[0-9a-fA-F]{0,3})?$/, "");
  const attempts = [
    ...(inValue ? [`${text.slice(0, started)}${whole}…"${ends}`] : []),
    `${text.slice(0, kept)}${ends}`,
  ];
  for (const attempt of attempts) {
    try {
      return JSON.parse(attempt);
    } catch {
      // The next one keeps less.
    }
  }
  return {};
}

/**
 * `args`: without secrets; not `whole`, of longer ones the beginning.
 * @typedef {Omit<import("../link/control.mjs").LoggedCall, "args" | "argsCut"> & {label: string, args: any, whole: boolean}} FormattedCall
 */

/** @param {string} text @returns {any} */
function parseArguments(text) {
  try {
    return JSON.parse(text);
  } catch {
    return parseTruncatedJson(text);
  }
}

/** @param {import("../link/control.mjs").LoggedCall} call @param {Map<string, string>} labels @returns {FormattedCall} */
export function formatCall({ args, argsCut, message, ...call }, labels) {
  return {
    ...call,
    label: labels.get(call.session) ?? "",
    args: redact(argsCut ? parseTruncatedJson(args) : parseArguments(args || "{}")),
    whole: !argsCut,
    ...(message !== undefined && { message: redact(message) }),
  };
}
