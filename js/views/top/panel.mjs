// A panel of `copilot-tap top`: what it has in common with the others.

import { redact } from "../../lib/redact.mjs";

/** @typedef {import("../output.mjs").Part} Part */
/** @typedef {import("../table.mjs").Column} Column */
/** @typedef {import("../records-view.mjs").StoredRecord} StoredRecord */
/** @typedef {import("../../cli/format-call.mjs").FormattedCall} FormattedCall */

/**
 * What the gateway has said at one time. `calls` and each list of `records` (by collection): the oldest first.
 * @typedef {object} Snapshot
 * @property {number} at Unix ms
 * @property {number} port
 * @property {import("../../link/control.mjs").Inspection} [gateway]
 * @property {import("../../lib/inspection.mjs").HostParts} [parts]
 * @property {FormattedCall[]} calls
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
 * @property {(seen: Snapshot) => Row[]} rows
 * @property {(seen: Snapshot) => string[]} [remarks] lines below the table
 * @property {string} empty
 */

const MAX_CELL = 400;
const MAX_DETAIL = 16_384;
export const MAX_ROWS = 200;

/** A text for a cell, in one line: long ones are not measured whole. @param {unknown} value */
export const short = (value) =>
  toText(value)
    .slice(0, MAX_CELL)
    .replace(/[ \t\r\n]+/g, " ");

/** @param {unknown} value @returns {string} */
export function toText(value) {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : JSON.stringify(value);
}

/** @param {unknown} text one that nobody has removed secrets from @returns {string} */
export const withoutSecrets = (text) => toText(redact(text));

/** Details without those that have no text. @param {[string, unknown][]} all @returns {[string, string][]} */
export const listDetails = (all) =>
  all
    .map(([label, value]) => /** @type {[string, string]} */ ([label, toText(value)]))
    .filter(([, text]) => text !== "")
    .map(([label, text]) => [label, text.slice(0, MAX_DETAIL)]);

/** @param {Snapshot} seen @param {string} collection */
export const listRecords = ({ records }, collection) => records[collection] ?? [];

/** @template T @param {T[]} all @param {(one: T) => string} keyOf @returns {Map<string, T[]>} */
export function groupBy(all, keyOf) {
  /** @type {Map<string, T[]>} */
  const groups = new Map();
  for (const one of all) {
    const those = groups.get(keyOf(one));
    if (those) those.push(one);
    else groups.set(keyOf(one), [one]);
  }
  return groups;
}

/** A session's label, else the beginning of its id. @typedef {(id: string | undefined) => string} Labels */

/** @param {Snapshot} seen @returns {Labels} "" for what has no session, such as a run of a config's emitter */
export function createLabelLookup({ gateway }) {
  const labels = new Map((gateway?.sessions ?? []).map(({ id, label }) => [id, label]));
  return (id = "") => labels.get(id) || id.slice(0, 8);
}

/** For details. @param {Labels} labels @param {string | undefined} id */
export const describeSession = (labels, id) => (id ? `${labels(id)} ${id}` : "");
