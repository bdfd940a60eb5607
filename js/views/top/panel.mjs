// Shared parts of the panels of `copilot-tap top`.

import { redact } from "../../lib/redact.mjs";

/** @typedef {import("../output.mjs").Part} Part */
/** @typedef {import("../table.mjs").Column} Column */
/** @typedef {import("../records-view.mjs").StoredRecord} StoredRecord */
/** @typedef {import("../../cli/format-call.mjs").FormattedCall} FormattedCall */

/**
 * The gateway's state at a time. `calls` and each list of `records` (by collection): the oldest first.
 * @typedef {object} Snapshot
 * @property {number} at Unix ms
 * @property {number} port
 * @property {import("../../link/control.mjs").Inspection} [gateway]
 * @property {import("../../lib/inspection.mjs").HostParts} [parts]
 * @property {FormattedCall[]} calls
 * @property {Record<string, StoredRecord[]>} records
 * @property {{message: string, advice: string}} [trouble] why the rest is outdated
 */

/**
 * `key`: the same in each snapshot; `details`: labels and texts of an open row.
 * @typedef {{key: string, cells: Part[], details: () => [string, string][]}} Row
 */

/**
 * `title`: of its first column in an overview; `empty`: the text without rows.
 * @typedef {object} Panel
 * @property {string} id
 * @property {string} title
 * @property {Column[]} columns
 * @property {(seen: Snapshot) => Row[]} rows
 * @property {(seen: Snapshot) => string[]} [remarks] lines below the table
 * @property {string} empty
 */

const MAX_CELL = 400;
const MAX_DETAIL = 16_384;
export const MAX_ROWS = 200;

/** A text for a cell, in a single line, cut before it is measured. @param {unknown} value */
export const short = (value) =>
  toText(value)
    .slice(0, MAX_CELL)
    .replace(/[ \t\r\n]+/g, " ");

/** @param {unknown} value @returns {string} */
export function toText(value) {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : JSON.stringify(value);
}

/** @param {unknown} text not yet redacted @returns {string} */
export const withoutSecrets = (text) => toText(redact(text));

/** Details without empty texts. @param {[string, unknown][]} all @returns {[string, string][]} */
export const listDetails = (all) =>
  all
    .map(([label, value]) => /** @type {[string, string]} */ ([label, toText(value)]))
    .filter(([, text]) => text !== "")
    .map(([label, text]) => [label, text.slice(0, MAX_DETAIL)]);

/** @param {Snapshot} seen @param {string} collection */
export const listRecords = ({ records }, collection) => records[collection] ?? [];

/** @template T @param {T[]} all @param {(item: T) => string} keyOf @returns {Map<string, T[]>} */
export function groupBy(all, keyOf) {
  /** @type {Map<string, T[]>} */
  const groups = new Map();
  for (const item of all) {
    const those = groups.get(keyOf(item));
    if (those) those.push(item);
    else groups.set(keyOf(item), [item]);
  }
  return groups;
}

/** A session's label, or the start of its id. @typedef {(id: string | undefined) => string} Labels */

/** @param {Snapshot} seen @returns {Labels} "" without a session, as for a run of a config's emitter */
export function createLabelLookup({ gateway }) {
  const labels = new Map((gateway?.sessions ?? []).map(({ id, label }) => [id, label]));
  return (id = "") => labels.get(id) || id.slice(0, 8);
}

/** For details. @param {Labels} labels @param {string | undefined} id */
export const describeSession = (labels, id) => (id ? `${labels(id)} ${id}` : "");
