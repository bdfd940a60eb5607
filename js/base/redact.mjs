// Removes secrets from recordings: by their names, and by their form. native/records/redact.h and
// secret_texts.h are the one table of both. It is a net, not a proof: docs/tracing.md says what it
// catches.

import { addon } from "../base/addon.mjs";

export const REMOVED = "<removed>";

/**
 * The value without secrets.
 * @param {any} value of JSON
 * @returns {any}
 */
export const redact = (value) =>
  value === undefined ? undefined : JSON.parse(addon.redactJson(JSON.stringify(value)));
