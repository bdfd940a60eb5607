// A feature's install report: what it may do, what of it is there, what is not and why. It is bounded and has
// no secret, whoever reads it.

import { redact } from "../lib/redact.mjs";
import { shortenText, visible } from "../lib/visible.mjs";

// The last texts that something has said of its own troubles: bounded, and without secrets.

/** The latest are kept. */
export const MAX_DIAGNOSTICS = 20;
/** Of one text. */
export const MAX_DIAGNOSTIC_TEXT = 300;

/** @typedef {{at: string, text: string}} Diagnostic `at`: ISO 8601 */

/** A text for a report: one line, bounded, without secrets. @param {unknown} text */
export const reportText = (text) => visible(shortenText(redact(String(text)), MAX_DIAGNOSTIC_TEXT));

/** The last texts of a feature; the same text again only counts once in a row. */
export class Diagnostics {
  /** @type {Diagnostic[]} */
  #latest = [];
  #now;
  #onAdded;

  /** @param {{now?: () => Date, onAdded?: (text: string) => void}} [options] */
  constructor({ now = () => new Date(), onAdded = () => {} } = {}) {
    this.#now = now;
    this.#onAdded = onAdded;
  }

  /** @param {unknown} text */
  add(text) {
    const said = reportText(text);
    if (this.#latest.at(-1)?.text === said) return;
    this.#latest = [...this.#latest, { at: this.#now().toISOString(), text: said }].slice(
      -MAX_DIAGNOSTICS,
    );
    this.#onAdded(said);
  }

  /** Those of a former installation come first. @param {Diagnostic[]} [former] */
  prepend(former = []) {
    this.#latest = [...former, ...this.#latest].slice(-MAX_DIAGNOSTICS);
  }

  list() {
    return [...this.#latest];
  }
}

/**
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
 * @property {"on" | "off"} [sandbox] of a program whose entry has one; "off": this machine has none
 */

const MAX_ITEMS = 100;
const MAX_NAME = 128;
/** Of one feature's report as JSON. */
export const MAX_REPORT_BYTES = 64 * 1024;
/** Of each list of a report that would be larger. */
const REDUCED_ITEMS = 20;

/** They may come from several sessions. @param {Diagnostic[]} all @returns {Diagnostic[]} the oldest first */
const selectLatest = (all) =>
  all
    .toSorted((one, other) => (one.at < other.at ? -1 : Number(one.at > other.at)))
    .slice(-MAX_DIAGNOSTICS);

/** @param {unknown} name */
const formatName = (name) => visible(shortenText(String(name), MAX_NAME));

/** @param {readonly string[]} list */
const formatNames = (list) => list.slice(0, MAX_ITEMS).map(formatName);

/**
 * @param {Partial<Report> & {id: string, runtime: string}} parts
 * @returns {Report} bounded: a list that is too long ends early
 */
export function createReport(parts) {
  const report = {
    id: formatName(parts.id),
    enabled: parts.enabled ?? false,
    runtime: formatName(parts.runtime),
    granted: formatNames(parts.granted ?? []),
    denied: (parts.denied ?? []).slice(0, MAX_ITEMS).map(({ capability, reason }) => ({
      capability: formatName(capability),
      reason: reportText(reason),
    })),
    tools: formatNames(parts.tools ?? []),
    hooks: formatNames(parts.hooks ?? []),
    commands: formatNames(parts.commands ?? []),
    channels: formatNames(parts.channels ?? []),
    tasks: formatNames(parts.tasks ?? []),
    skipped: (parts.skipped ?? []).slice(0, MAX_ITEMS).map(({ what, reason }) => ({
      what: formatName(what),
      reason: reportText(reason),
    })),
    diagnostics: selectLatest(parts.diagnostics ?? []).map(({ at, text }) => ({
      at: formatName(at),
      text: reportText(text),
    })),
    ...(parts.sandbox && { sandbox: parts.sandbox }),
  };
  if (JSON.stringify(report).length <= MAX_REPORT_BYTES) return report;
  const shorter = Object.entries(report).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.slice(0, REDUCED_ITEMS) : value,
  ]);
  return Object.fromEntries(shorter);
}

/** A report from another process, read as if anybody had written it. @param {any} value @returns {Report | undefined} */
export function readReport(value) {
  if (typeof value !== "object" || value === null || typeof value.id !== "string") return undefined;
  const list = (/** @type {unknown} */ one) => (Array.isArray(one) ? one : []);
  const pairs = (/** @type {unknown} */ one) =>
    list(one).filter((item) => typeof item === "object" && item !== null);
  return createReport({
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
    sandbox: undefined, // features of a feature host have none
  });
}

/** One line: for tap_status and the doctor. @param {Report} report */
export function formatReportLine({ id, enabled, tools, denied, skipped, diagnostics, sandbox }) {
  if (!enabled) return `${id}: disabled`;
  const parts = [
    tools.length > 0 ? `tools ${tools.join(", ")}` : "no tools",
    ...denied.map(({ capability }) => `not granted ${capability}`),
    ...skipped.map(({ what, reason }) => `${what} skipped (${reason})`),
    ...(sandbox === undefined ? [] : [sandbox === "on" ? "sandboxed" : "not sandboxed"]),
    ...diagnostics.slice(-1).map(({ text }) => text),
  ];
  return shortenText(`${id}: ${parts.join("; ")}`, MAX_DIAGNOSTIC_TEXT);
}

/**
 * What a descriptor promises, for a feature that has not reported yet.
 * @param {import("./descriptor.mjs").Descriptor} descriptor
 * @param {{enabled: boolean, skipped: import("./preflight.mjs").PreflightResult["skipped"], trouble: string}} now
 */
export function createPendingReport(descriptor, { enabled, skipped, trouble }) {
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
