// Removes secrets from recordings: by their names, and by their form. native/records/redact.h and
// secret_texts.h are the one table of both. It is a net, not a proof: docs/tracing.md says what it
// catches.

import { addon } from "./addon.mjs";
import { shortenText, visible, visibleLines } from "./visible.mjs";

export const REMOVED = "<removed>";

/**
 * The value without secrets.
 * @param {any} value of JSON
 * @returns {any}
 */
export const redact = (value) =>
  value === undefined ? undefined : JSON.parse(addon.redactJson(JSON.stringify(value)));

/**
 * One line that can be shown. Behind the escape of a tab or of a line's end, a secret has no form by which it is found:
 * it is removed before.
 * @param {string} text
 */
export const redactLine = (text) => visible(redact(text));

/** The same for a text of several lines, which stay lines. @param {string} text */
export const redactLines = (text) => visibleLines(redact(text));

/**
 * The beginning of a text that is too long. Half a secret has no form by which it is found: it is removed before.
 * @param {string} text @param {number} most characters that stay
 */
export const shortenRedacted = (text, most) =>
  text.length <= most ? text : shortenText(redact(text), most);
