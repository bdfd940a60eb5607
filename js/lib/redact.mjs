// Removes secrets from recordings: by their names, and by their form. native/records/redact.h and
// secret_texts.h have the table of both. It cannot find every secret: docs/tracing.md lists the
// known forms.

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
 * A single line for display. Secrets are removed before characters are escaped, since an escaped tab or line end
 * would change their form.
 * @param {string} text
 */
export const redactLine = (text) => visible(redact(text));

/** The same for a text of several lines. @param {string} text */
export const redactLines = (text) => visibleLines(redact(text));

/**
 * The start of a text that is too long. Secrets are removed first, since half a secret has no known form.
 * @param {string} text @param {number} most characters that stay
 */
export const shortenRedacted = (text, most) =>
  text.length <= most ? text : shortenText(redact(text), most);
