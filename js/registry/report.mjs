// A feature's install report: what it may do, what of it is there, what is not and why. It is bounded and has
// no secret, whoever reads it.

import { MOST_DIAGNOSTICS, MOST_TEXT, reportText } from "../base/diagnostics.mjs";
import { shortened, visible } from "../base/visible.mjs";

/**
 * @typedef {import("../base/diagnostics.mjs").Diagnostic} Diagnostic
 * @typedef {object} Report
 * @property {string} id
 * @property {boolean} enabled
 * @property {string} runtime
 * @property {string[]} granted
 * @property {{capability: string, reason: string}[]} denied
 * @property {string[]} tools that are there
 * @property {string[]} hooks
 * @property {string[]} commands
 * @property {string[]} channels
 * @property {string[]} tasks
 * @property {{what: string, reason: string}[]} skipped
 * @property {Diagnostic[]} diagnostics the latest, the oldest first
 */

const MOST_ITEMS = 100;
const MOST_NAME = 128;
/** Of one feature's report as JSON. */
export const MOST_REPORT_BYTES = 64 * 1024;
/** Of each list of a report that would be larger. */
const FEWER_ITEMS = 20;

/** They may come from several sessions. @param {Diagnostic[]} all @returns {Diagnostic[]} the oldest first */
const latest = (all) =>
  all
    .toSorted((one, other) => (one.at < other.at ? -1 : Number(one.at > other.at)))
    .slice(-MOST_DIAGNOSTICS);

/** @param {unknown} name */
const nameText = (name) => visible(shortened(String(name), MOST_NAME));

/** @param {readonly string[]} list */
const names = (list) => list.slice(0, MOST_ITEMS).map(nameText);

/**
 * @param {Partial<Report> & {id: string, runtime: string}} parts
 * @returns {Report} bounded: a list that is too long ends early
 */
export function makeReport(parts) {
  const report = {
    id: nameText(parts.id),
    enabled: parts.enabled ?? false,
    runtime: nameText(parts.runtime),
    granted: names(parts.granted ?? []),
    denied: (parts.denied ?? []).slice(0, MOST_ITEMS).map(({ capability, reason }) => ({
      capability: nameText(capability),
      reason: reportText(reason),
    })),
    tools: names(parts.tools ?? []),
    hooks: names(parts.hooks ?? []),
    commands: names(parts.commands ?? []),
    channels: names(parts.channels ?? []),
    tasks: names(parts.tasks ?? []),
    skipped: (parts.skipped ?? []).slice(0, MOST_ITEMS).map(({ what, reason }) => ({
      what: nameText(what),
      reason: reportText(reason),
    })),
    diagnostics: latest(parts.diagnostics ?? []).map(({ at, text }) => ({
      at: nameText(at),
      text: reportText(text),
    })),
  };
  if (JSON.stringify(report).length <= MOST_REPORT_BYTES) return report;
  const shorter = Object.entries(report).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.slice(0, FEWER_ITEMS) : value,
  ]);
  return Object.fromEntries(shorter);
}

/** A report from another process, read as if anybody had written it. @param {any} value @returns {Report | undefined} */
export function readReport(value) {
  if (typeof value !== "object" || value === null || typeof value.id !== "string") return undefined;
  const list = (/** @type {unknown} */ one) => (Array.isArray(one) ? one : []);
  const pairs = (/** @type {unknown} */ one) =>
    list(one).filter((item) => typeof item === "object" && item !== null);
  return makeReport({
    ...value,
    enabled: value.enabled === true,
    runtime: String(value.runtime),
    granted: list(value.granted),
    tools: list(value.tools),
    hooks: list(value.hooks),
    commands: list(value.commands),
    channels: list(value.channels),
    tasks: list(value.tasks),
    denied: pairs(value.denied),
    skipped: pairs(value.skipped),
    diagnostics: pairs(value.diagnostics),
  });
}

/** One line: for tap_status and the doctor. @param {Report} report */
export function reportLine({ id, enabled, tools, denied, skipped, diagnostics }) {
  if (!enabled) return `${id}: disabled`;
  const parts = [
    tools.length > 0 ? `tools ${tools.join(", ")}` : "no tools",
    ...denied.map(({ capability }) => `not granted ${capability}`),
    ...skipped.map(({ what, reason }) => `${what} skipped (${reason})`),
    ...diagnostics.slice(-1).map(({ text }) => text),
  ];
  return shortened(`${id}: ${parts.join("; ")}`, MOST_TEXT);
}

/**
 * What a descriptor promises, for a feature that has not reported yet.
 * @param {import("./descriptor.mjs").Descriptor} descriptor
 * @param {{enabled: boolean, skipped: import("./preflight.mjs").Checked["skipped"], trouble: string}} now
 */
export function promisedReport(descriptor, { enabled, skipped, trouble }) {
  const { id, runtime, capabilities = [], channels } = descriptor;
  const { tools = [], hooks = [], commands = [], tasks = [] } = descriptor;
  const listed = (/** @type {{name: string}[]} */ list) =>
    enabled ? list.map(({ name }) => name) : [];
  return readReport({
    ...{ id, enabled, runtime },
    granted: enabled ? capabilities.map(({ capability }) => capability) : [],
    ...{ tools: listed(tools), hooks: listed(hooks), commands: listed(commands) },
    channels: enabled ? channels : [],
    tasks: listed(tasks),
    skipped: enabled ? skipped : [],
    diagnostics: trouble ? [{ at: new Date().toISOString(), text: trouble }] : [],
  });
}
