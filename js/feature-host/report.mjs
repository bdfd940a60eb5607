// A feature's install report: its grants, its installed parts, and its missing parts with the reasons. It is bounded
// and has no secrets.

import { redact } from "../lib/redact.mjs";
import { shortenText, visible } from "../lib/visible.mjs";

// The last diagnostics of a feature: bounded, and without secrets.

/** The latest are kept. */
export const MAX_DIAGNOSTICS = 20;
/** Per text. */
export const MAX_DIAGNOSTIC_TEXT = 300;

/** @typedef {{at: string, text: string}} Diagnostic `at`: ISO 8601 */

/** A text for a report: a single line, bounded, without secrets. @param {unknown} text */
export const reportText = (text) => visible(shortenText(redact(String(text)), MAX_DIAGNOSTIC_TEXT));

/** The last texts of a feature. Repeated texts are stored once. */
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
    const reported = reportText(text);
    if (this.#latest.at(-1)?.text === reported) return;
    this.#latest = [...this.#latest, { at: this.#now().toISOString(), text: reported }].slice(
      -MAX_DIAGNOSTICS,
    );
    this.#onAdded(reported);
  }

  /** Prepends those of a former installation. @param {Diagnostic[]} [former] */
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
 * @property {string[]} tools that are installed
 * @property {string[]} hooks
 * @property {string[]} commands
 * @property {string[]} channels
 * @property {string[]} tasks
 * @property {{what: string, reason: string}[]} skipped
 * @property {Diagnostic[]} diagnostics the latest, the oldest first
 * @property {"on" | "off"} [sandbox] of a program whose entry has a sandbox; "off": this machine has no sandbox
 */

const MAX_ITEMS = 100;
const MAX_NAME = 128;
/** For a single feature's report as JSON. */
export const MAX_REPORT_BYTES = 64 * 1024;
/** Items of each list in a report that would be larger. */
const REDUCED_ITEMS = 20;

/** The latest of possibly several sessions. @param {Diagnostic[]} all @returns {Diagnostic[]} the oldest first */
const selectLatest = (all) =>
  all.toSorted((a, b) => (a.at < b.at ? -1 : Number(a.at > b.at))).slice(-MAX_DIAGNOSTICS);

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
    skipped: (parts.skipped ?? []).slice(0, MAX_ITEMS).map(({ what: part, reason }) => ({
      what: formatName(part),
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

/** Validates a report from a different process. @param {any} value @returns {Report | undefined} */
export function readReport(value) {
  if (typeof value !== "object" || value === null || typeof value.id !== "string") return undefined;
  const list = (/** @type {unknown} */ items) => (Array.isArray(items) ? items : []);
  const pairs = (/** @type {unknown} */ items) =>
    list(items).filter((item) => typeof item === "object" && item !== null);
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
    sandbox: undefined, // features of a feature host have no sandbox
  });
}

/**
 * The expected report of a feature that has not reported yet, from its descriptor.
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
