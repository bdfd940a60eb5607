// What `copilot-tap plan export` writes, and what is taken of it by an import: anybody may have written the file. Each
// value is of its kind and bounded; what is not known, and what belongs to another machine, is left out.

import { isDeeper, MOST_LEVELS } from "../../base/nesting.mjs";
import { PlanError } from "./plan-error.mjs";

const VERSION = 1;
const MOST_ENTRIES = 1_000_000;
const MOST_FINDINGS = 32 * 1024;

/** @typedef {(value: any, place: string) => any} Shape what is taken of a value */

/** @param {string} place @param {string} wanted @returns {never} */
function refuse(place, wanted) {
  const problems = [{ path: place, message: `expected ${wanted}` }];
  throw new PlanError("INVALID_EXPORT", "this is not what plan export writes", { problems });
}

/** @param {number} most @returns {Shape} */
const text = (most) => (value, place) =>
  typeof value === "string" && value.length <= most
    ? value
    : refuse(place, `a text of at most ${most} characters`);
/** @type {Shape} */
const amount = (value, place) =>
  Number.isFinite(value) && value >= 0 && value <= Number.MAX_SAFE_INTEGER
    ? value
    : refuse(place, "a number from 0");
/** @type {Shape} */
const whole = (value, place) =>
  Number.isSafeInteger(value) && value >= 0 ? value : refuse(place, "a whole number from 0");
/** @type {Shape} */
const flag = (value, place) =>
  typeof value === "boolean" ? value : refuse(place, "true or false");
/** @type {Shape} */
const hash = (value, place) =>
  typeof value === "string" && /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(value)
    ? value
    : refuse(place, "the full name of a commit");
/** @param {Shape} shape @returns {Shape} */
const orNull = (shape) => (value, place) => (value === null ? null : shape(value, place));
/** @param {Shape} shape @param {number} most @returns {Shape} */
const list = (shape, most) => (value, place) =>
  Array.isArray(value) && value.length <= most
    ? value.map((one, i) => shape(one, `${place}[${i}]`))
    : refuse(place, `a list of at most ${most}`);
/** @param {Record<string, Shape>} fields @returns {Shape} */
const object = (fields) => (value, place) => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return refuse(place, "an object");
  }
  const known = Object.entries(fields).filter(([name]) => Object.hasOwn(value, name));
  const taken = known.map(([name, shape]) => [name, shape(value[name], `${place}.${name}`)]);
  return Object.fromEntries(taken.filter(([, one]) => one !== undefined));
};
/** What agents say they found: of any form. @type {Shape} */
const findings = (value, place) =>
  Array.isArray(value) && JSON.stringify(value).length <= MOST_FINDINGS
    ? value
    : refuse(place, "a list of at most 32 KB");

const FILES = list(text(4096), 10_000);
const CHANGES = object({ files: whole, insertions: whole, deletions: whole });
const MODEL = object({ model: text(200), input: amount, output: amount, cached: amount });
const USAGE = object({
  ...{ aiCredits: amount, premiumRequests: amount, apiMs: amount, sessionMs: amount },
  models: list(MODEL, 100),
});
/** What a phase said at its end. Not `tested`: no file says that something was tested. */
const DETAIL = object({
  ...{ commit: hash, baseCommit: hash, landed: hash, ours: hash, theirs: hash },
  ...{ changes: CHANGES, usage: USAGE, files: FILES, conflict: FILES, nodes: FILES },
  error: object({ code: text(100), message: text(8192) }),
  exitCode: orNull((value, place) =>
    Number.isSafeInteger(value) ? value : refuse(place, "a whole number"),
  ),
  ...{ signal: orNull(text(40)), lastLines: text(16_384), summary: text(16_384) },
  ...{ note: text(8192), turns: whole, reason: text(1000), log: text(200) },
  evidence: object({ summary: text(16_384), findings }),
  unlanded: object({ code: text(100), message: text(8192), files: FILES }),
});

/** By kind of an entry. `undefined`: it has none. @type {Record<string, Shape | undefined>} */
const DETAILS = {
  "nodes-added": (value) => value, // read as nodes of a plan are
  scheduled: undefined,
  began: undefined,
  step: object({ worktree: object({ commit: hash }), committing: flag }),
  "phase-began": undefined,
  "phase-ended": DETAIL,
  "node-succeeded": DETAIL,
  "node-failed": DETAIL,
  interrupted: DETAIL,
  retried: object({ instructions: text(65_536) }),
  "node-canceled": DETAIL,
  paused: object({ reason: text(100) }),
  resumed: object({ budget: object({ aiCredits: amount, tokens: whole }) }),
  "plan-canceled": undefined,
  "plan-ended": undefined,
  landed: object({ commit: hash, landed: hash, result: hash, changes: CHANGES }),
  overlap: object({ node: text(64), other: text(64), files: FILES }),
};
const WORD = text(20);
const ENTRY = object({
  ...{ kind: WORD, at: whole, node: text(64), attempt: whole, phase: WORD, next: WORD },
  ...{ status: WORD, plan: WORD, retry: flag },
});

/** @param {any} given @param {string} place @returns {object[]} one, or none where nothing of it counts here */
function entryOf(given, place) {
  const entry = ENTRY(given, place);
  if (!Object.hasOwn(DETAILS, entry.kind)) refuse(`${place}.kind`, "a kind of an entry");
  const shape = DETAILS[entry.kind];
  const detail = shape && given.detail !== undefined && shape(given.detail, `${place}.detail`);
  if (entry.kind === "step" && Object.keys(detail || {}).length === 0) return [];
  return [{ ...entry, ...(detail && { detail }) }];
}

/** @type {Shape} */
const PLAN = object({
  planId: text(64),
  createdAt: whole,
  facts: object({ baseBranch: text(200), baseCommit: hash, createsTarget: flag }),
});

/**
 * @param {any} given
 * @returns {{planId: string, createdAt: number, facts: Record<string, any>, source: Record<string, any>, entries: any[]}}
 */
export function readExport(given) {
  if (isDeeper(given, MOST_LEVELS)) refuse("the file", `at most ${MOST_LEVELS} levels`);
  const { version, source, journal } = object({
    version: whole,
    source: (value, place) =>
      typeof value === "object" && value !== null && !Array.isArray(value)
        ? value // read as a plan is
        : refuse(place, "an object"),
    journal: list((value) => value, MOST_ENTRIES),
  })(given, "the file");
  if (version !== VERSION) refuse("version", `${VERSION}, as this tap writes it`);
  if (!source) refuse("source", "the plan as it was written");
  if (!journal) refuse("journal", "a list");
  const { planId, createdAt = 0, facts } = PLAN(given.plan, "plan");
  if (!/^p[a-z0-9]{8}$/.test(planId ?? "")) refuse("plan.planId", "the id of a plan");
  if (facts?.baseCommit === undefined) refuse("plan.facts.baseCommit", "a commit");
  const entries = journal.flatMap((/** @type {any} */ one, /** @type {number} */ i) =>
    entryOf(one, `journal[${i}]`),
  );
  return { planId, createdAt, facts, source, entries };
}

/**
 * @param {Record<string, any>} plan view of it @param {object} graph view of it @param {any[]} entries of its journal
 * @returns {object} without what is of this machine only: PATH, and where the CLI is
 */
export function exportOf(plan, graph, [created, ...journal]) {
  const { path: _path, cli: _cli, nonce: _nonce, ...facts } = plan.facts;
  return {
    ...{ version: VERSION, plan: { ...plan, facts }, graph },
    ...{ source: created.detail.plan, journal },
  };
}
