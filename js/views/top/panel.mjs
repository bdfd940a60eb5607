// A panel of `copilot-tap top`: what it has in common with the others.

import { redact } from "../../base/redact.mjs";

/** @typedef {import("../output.mjs").Part} Part */
/** @typedef {import("../table.mjs").Column} Column */
/** @typedef {import("../records-view.mjs").StoredRecord} StoredRecord */
/** @typedef {import("../../command/shown-call.mjs").ShownCall} ShownCall */

/**
 * What the gateway has said at one time. `calls` and each list of `records` (by collection): the oldest first.
 * @typedef {object} Seen
 * @property {number} at Unix ms
 * @property {number} port
 * @property {import("../../base/control.mjs").Inspection} [gateway]
 * @property {import("../../base/host-parts.mjs").HostParts} [parts]
 * @property {ShownCall[]} calls
 * @property {Record<string, StoredRecord[]>} records
 * @property {{message: string, advice: string}} [trouble] why the rest is not of now
 */

/**
 * `key`: the same at each look; `details`: labels and texts, for who opens the row.
 * @typedef {{key: string, cells: Part[], details: () => [string, string][]}} Row
 */

/**
 * `title`: of its first column in an overview; `empty`: what to say where it has no rows.
 * @typedef {object} Panel
 * @property {string} id
 * @property {string} title
 * @property {Column[]} columns
 * @property {(seen: Seen) => Row[]} rows
 * @property {(seen: Seen) => string[]} [remarks] lines below the table
 * @property {string} empty
 */

const MOST_CELL = 400;
const MOST_DETAIL = 16_384;
export const MOST_ROWS = 200;

/** A text for a cell, in one line: long ones are not measured whole. @param {unknown} value */
export const short = (value) =>
  textOf(value)
    .slice(0, MOST_CELL)
    .replace(/[ \t\r\n]+/g, " ");

/** @param {unknown} value @returns {string} */
export function textOf(value) {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : JSON.stringify(value);
}

/** @param {unknown} text one that nobody has removed secrets from @returns {string} */
export const withoutSecrets = (text) => textOf(redact(text));

/** Details without those that have no text. @param {[string, unknown][]} all @returns {[string, string][]} */
export const detailsOf = (all) =>
  all
    .map(([label, value]) => /** @type {[string, string]} */ ([label, textOf(value)]))
    .filter(([, text]) => text !== "")
    .map(([label, text]) => [label, text.slice(0, MOST_DETAIL)]);

/** @param {Seen} seen @param {string} collection */
export const recordsOf = ({ records }, collection) => records[collection] ?? [];

/** @template T @param {T[]} all @param {(one: T) => string} keyOf @returns {Map<string, T[]>} */
export function grouped(all, keyOf) {
  /** @type {Map<string, T[]>} */
  const groups = new Map();
  for (const one of all) {
    const those = groups.get(keyOf(one));
    if (those) those.push(one);
    else groups.set(keyOf(one), [one]);
  }
  return groups;
}

/** @param {Seen} seen @returns {(id: string) => string} a session's label, else the beginning of its id */
export function labelsOf({ gateway }) {
  const labels = new Map((gateway?.sessions ?? []).map(({ id, label }) => [id, label]));
  return (id) => labels.get(id) || id.slice(0, 8);
}
