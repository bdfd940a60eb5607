// Every call and every check of a run: its owner and its outcome. Each settles exactly once, within its
// deadline: a call with the right answer or a failure with a code, a check with
// a verdict that its gates can have led to.

import { clock } from "./pulse.mjs";

export const TIMEOUT_MS = 2000;
export const GATE_MS = 2000;
/** Of the time in which the session's process ran: its own deadlines, and the delays of a busy machine. */
const PATIENCE_MS = {
  call: TIMEOUT_MS + 5000 + 1000,
  query: 30_000 + 5000, // a tool's usual time
  plan: 30_000 + 5000,
  check: GATE_MS + 1000 + 1000,
};
/** Answered by features. */
const TAPS_OWN = new Set(["query", "plan"]);
const COUNTED = /** @type {const} */ ({
  call: "calls",
  query: "queries",
  check: "checks",
  plan: "plans",
});
/** Whatever the machine is busy with. */
const FOREVER_MS = 60_000;

/** Failures that a call may have while things are killed around it. */
const DISTURBED = new Set(["DISCONNECTED", "TIMEOUT", "NOT_FOUND", "CANCELLED", "RATE_LIMITED"]);

/** The failures of a question to a feature, besides: there is no room, also in the journal, or no descriptor. */
const UNAVAILABLE =
  /^Provider "tap-(records|orchestrator)" failed with \w+: ((ServiceError: )?unavailable|JOURNAL_UNWRITABLE): /;

/** @param {string} text of an answer of tap_query_records */
function isRecords(text) {
  try {
    return Array.isArray(JSON.parse(text).records);
  } catch {
    return false;
  }
}

/** @param {{name: string, mode: string}} call @param {number} id */
function expected({ name, mode }, id) {
  return `${name}: say ${id}${mode === "big" ? "x".repeat(300_000) : ""}`;
}

/** @param {string} text of a failure */
function parseCode(text) {
  return /failed with ([A-Z_]+)|\((CANCELLED)\)/.exec(text)?.slice(1).find(Boolean) ?? "none";
}

/**
 * @typedef {{kind: "call" | "query" | "check" | "plan", owner: object, name: string, mode: string}} Question
 * @typedef {Question & {id: number, openedAt: number, done: boolean, asked: boolean, overdue: boolean, allowed?: boolean}} Entry
 */

export class Ledger {
  /** @type {Map<number, Entry>} */
  #open = new Map();
  /** Checks that have been allowed, or that a gate was asked about. @type {Map<number, Entry>} */
  #checks = new Map();
  #last = 0;
  /** Those whose making was answered. @type {Set<number>} */
  plans = new Set();
  /** Pushes whose outcome was heard. */
  pushes = 0;
  /** @type {string[]} */
  problems = [];
  counts = {
    calls: 0,
    queries: 0,
    recordAnswers: 0,
    answered: 0,
    failed: 0,
    checks: 0,
    plans: 0,
    allowed: 0,
    denied: 0,
    absent: 0,
    lost: 0,
  };
  /** @type {Record<string, number>} failures by code */
  codes = {};
  /** Of the time in which its process ran. */
  slowestMs = { call: 0, query: 0, check: 0, plan: 0 };
  /** From the order to the report: with the time that parent and session waited for the processor. */
  mostMs = 0;
  /** The longest that an order took to be heard. */
  deliveryMs = 0;

  /** @param {Question} question @returns {number} its id */
  open(question) {
    const id = ++this.#last;
    const entry = { ...question, id, openedAt: clock(), done: false, asked: false, overdue: false };
    this.#open.set(id, entry);
    this.counts[COUNTED[question.kind]] += 1;
    if (question.kind === "check") this.#checks.set(id, entry);
    return id;
  }

  /** @param {object} owner @returns {number | undefined} any of its open calls */
  anyOpen(owner) {
    for (const entry of this.#open.values()) {
      if (entry.owner === owner && entry.kind === "call") return entry.id;
    }
    return undefined;
  }

  /** @param {number} id @param {any} outcome @param {number} heardAt */
  settle(id, outcome, heardAt) {
    const entry = this.#open.get(id);
    if (!entry) return void this.problems.push(`${id} has settled twice`);
    this.#close(entry);
    this.mostMs = Math.max(this.mostMs, clock() - entry.openedAt);
    this.deliveryMs = Math.max(this.deliveryMs, heardAt - entry.openedAt);
    if (outcome.absent) return void (this.counts.absent += 1);
    this.slowestMs[entry.kind] = Math.max(this.slowestMs[entry.kind], outcome.ms);
    if (outcome.ms > PATIENCE_MS[entry.kind])
      this.#blame(entry, `took ${Math.round(outcome.ms)} ms`);
    if (entry.kind === "check") this.#judged(entry, outcome.denied);
    else if (outcome.failed) this.#failed(entry, outcome.text);
    else this.#answered(entry, outcome.text);
  }

  /** @param {Entry} entry */
  #close(entry) {
    entry.done = true;
    this.#open.delete(entry.id);
  }

  /** @param {Entry} entry @param {string} fault */
  #blame({ kind, id, name, mode }, fault) {
    this.problems.push(`${kind} ${id} (${mode} of ${name}) ${fault}`);
  }

  /** @param {Entry} entry @param {string} text */
  #failed(entry, text) {
    const code = parseCode(text);
    this.counts.failed += 1;
    this.codes[code] = (this.codes[code] ?? 0) + 1;
    const meant = entry.mode === "fail" && code === "NOT_FOUND";
    const excused = DISTURBED.has(code) || (TAPS_OWN.has(entry.kind) && UNAVAILABLE.test(text));
    if (!meant && !excused) this.#blame(entry, `failed: ${text}`);
  }

  /** @param {Entry} entry @param {string} text */
  #answered(entry, text) {
    if (entry.kind === "query") return this.#checkRecords(entry, text);
    if (entry.kind === "plan") return void this.plans.add(entry.id);
    this.counts.answered += 1;
    const right = !["silent", "fail"].includes(entry.mode) && text === expected(entry, entry.id);
    if (!right) this.#blame(entry, `got ${JSON.stringify(text).slice(0, 200)}`);
  }

  /** @param {Entry} entry @param {string} text */
  #checkRecords(entry, text) {
    this.counts.recordAnswers += 1;
    if (!isRecords(text)) this.#blame(entry, `got ${JSON.stringify(text).slice(0, 200)}`);
  }

  /** @param {Entry} entry @param {boolean} denied */
  #judged(entry, denied) {
    this.counts[denied ? "denied" : "allowed"] += 1;
    entry.allowed = !denied;
    this.#agree(entry);
  }

  /** A provider was asked about it, and follows its mode. @param {number} id */
  gateAsked(id) {
    const entry = this.#checks.get(id);
    if (!entry) return;
    entry.asked = true;
    this.#agree(entry);
  }

  /** Who is asked and does not allow it has denied it, however it ends. @param {Entry} entry */
  #agree(entry) {
    if (entry.allowed && entry.asked && entry.mode !== "allow") this.#blame(entry, "was allowed");
  }

  /** The session's process has ended: its calls have no waiter any more. @param {object} owner */
  lose(owner) {
    for (const entry of this.#open.values()) {
      if (entry.owner !== owner) continue;
      this.#close(entry);
      this.counts.lost += 1;
    }
  }

  /** Reports questions that have been open for so long that no starvation excuses it. */
  reportOverdue() {
    for (const entry of this.#open.values()) {
      const ms = clock() - entry.openedAt;
      if (entry.overdue || ms < FOREVER_MS) continue;
      entry.overdue = true;
      this.#blame(entry, `has no outcome after ${Math.round(ms / 1000)} s`);
    }
  }

  /** @returns {Entry[]} */
  get unsettled() {
    return [...this.#open.values()];
  }
}
