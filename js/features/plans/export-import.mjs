// What `copilot-tap plan export` writes, and what is taken of it by an import: anybody may have written the file. Each
// value is of its kind and bounded; what is not known, and what belongs to another machine, is left out.

import { inLine } from "../../lib/visible.mjs";
import { isDeeperThan, MAX_JSON_LEVELS } from "../../lib/values.mjs";
import { addNodeIds, PlanError, problemText } from "./errors.mjs";
import { elsewhereText } from "./landing.mjs";
import { findRefusal, MistakeCollector, throwIfInvalid } from "./validation.mjs";

/** @typedef {import("./plan-manager.mjs").PlanManager} PlanManager */
/** @typedef {import("./plan-manager.mjs").Asker} Asker */
/** @typedef {import("./validation.mjs").Mistake} Mistake */

const VERSION = 1;
const MAX_ENTRIES = 1_000_000;
const MAX_FINDINGS = 32 * 1024;

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
  Array.isArray(value) && JSON.stringify(value).length <= MAX_FINDINGS
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

/** Whoever takes it reads it. @type {Shape} */
const ANY_OBJECT = (value, place) =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? value
    : refuse(place, "an object");

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
  "node-edited": object({ changes: ANY_OBJECT, before: ANY_OBJECT }),
  "node-replaced": object({ by: text(64), inherits: flag }),
};
const WORD = text(20);
const ENTRY = object({
  ...{ kind: WORD, at: whole, node: text(64), attempt: whole, phase: WORD, next: WORD },
  ...{ status: WORD, plan: WORD, retry: flag },
});

/** @param {any} given @param {string} place @returns {object[]} one, or none where nothing of it counts here */
function readEntry(given, place) {
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
  if (isDeeperThan(given, MAX_JSON_LEVELS)) refuse("the file", `at most ${MAX_JSON_LEVELS} levels`);
  const { version, source, journal } = object({
    version: whole,
    source: ANY_OBJECT, // read as a plan is
    journal: list((value) => value, MAX_ENTRIES),
  })(given, "the file");
  if (version !== VERSION) refuse("version", `${VERSION}, as this tap writes it`);
  if (!source) refuse("source", "the plan as it was written");
  if (!journal) refuse("journal", "a list");
  const { planId, createdAt = 0, facts } = PLAN(given.plan, "plan");
  if (!/^p[a-z0-9]{8}$/.test(planId ?? "")) refuse("plan.planId", "the id of a plan");
  if (facts?.baseCommit === undefined) refuse("plan.facts.baseCommit", "a commit");
  const entries = journal.flatMap((/** @type {any} */ one, /** @type {number} */ i) =>
    readEntry(one, `journal[${i}]`),
  );
  return { planId, createdAt, facts, source, entries };
}

/**
 * @param {Record<string, any>} plan view of it @param {object} graph view of it @param {any[]} entries of its journal
 * @returns {object} without what is of this machine only: PATH, and where the CLI is
 */
export function createExport(plan, graph, [created, ...journal]) {
  const { path: _path, cli: _cli, nonce: _nonce, ...facts } = plan.facts;
  return {
    ...{ version: VERSION, plan: { ...plan, facts }, graph },
    ...{ source: created.detail.plan, journal },
  };
}

// A plan that ran elsewhere becomes one of this user: nothing of it runs before somebody resumes it.

const MAX_SHOWN = 3;

/** @param {PlanManager} plans @param {string} planId */
export async function exportPlan(plans, planId) {
  const entries = JSON.parse(await plans.engine.entries(planId));
  const [plan, graph] = ["plan", "graph"].map((view) => plans.view({ view, planId }));
  return createExport(plan, graph, entries);
}

/** What nodes made, each with its attempt. @param {any[]} entries */
function listNodeCommits(entries) {
  /** @type {Map<string, number>} */
  const attempts = new Map();
  return entries.flatMap(({ kind, node = "", attempt, detail }) => {
    if (kind === "scheduled") attempts.set(node, attempt);
    const number = attempts.get(node);
    if (kind !== "phase-ended" || !number || !detail?.commit) return [];
    return [{ node, attempt: number, commit: detail.commit }];
  });
}

/** Of an entry that says that something has landed: the commit. @param {any} entry @returns {string | undefined} undefined: it does not say that */
function findLandedCommit({ kind, phase, status, detail }) {
  if (kind === "landed") return detail?.landed ?? detail?.commit ?? "";
  if (kind !== "phase-ended" || phase !== "merge-ri" || status !== "succeeded") return undefined;
  return detail?.unlanded ? undefined : (detail?.landed ?? "");
}

/**
 * Its entries, as they are true here: what has landed elsewhere, and not on the target of this repository, waits.
 * @param {any[]} entries @param {{made: {node: string}[], lacking: Set<string>, message: string}} here made: in this
 *   repository; lacking: commits that the target has not
 */
function adaptEntries(entries, { made, lacking, message }) {
  const nodes = new Set(made.map(({ node }) => node));
  return entries.flatMap((entry) => {
    const commit = findLandedCommit(entry);
    if (commit === undefined || (commit !== "" && !lacking.has(commit))) return [entry];
    if (!entry.node) return nodes.size === 0 ? [entry] : [];
    if (!nodes.has(entry.node)) return [entry]; // nothing of it can land here
    const { changes } = entry.detail ?? {};
    const unlanded = { code: "ELSEWHERE", message, files: [] };
    return [{ ...entry, detail: { ...(changes && { changes }), unlanded } }];
  });
}

/** @param {any[]} entries */
const hasEnded = (entries) =>
  entries.findLast(({ kind }) => ["plan-ended", "retried", "nodes-added"].includes(kind))?.kind ===
  "plan-ended";

/** @param {string} planId @param {string[]} missing */
function formatMissingCommits(planId, missing) {
  const some = missing.slice(0, MAX_SHOWN).map((commit) => commit.slice(0, 10));
  const more = missing.length > MAX_SHOWN ? ", …" : "";
  return `this repository has not ${missing.length} of the plan's commits (${some.join(", ")}${more}): fetch them from where it ran, as in git fetch <url> 'refs/tap/${planId}/*:refs/tap/${planId}/*'`;
}

/** All nodes of a file, with the place of each list, and the plan's own fields. @typedef {{place: string, nodes: any, [field: string]: any}} NodeList */
/** @param {any} given @param {Record<string, any>} source @returns {NodeList[]} */
const collectNodeLists = ({ journal }, source) => [
  { ...source, place: "source.nodes", nodes: source.nodes },
  ...journal.flatMap((/** @type {any} */ { kind, detail }, /** @type {number} */ at) => {
    const place = `journal[${at}].detail`;
    if (kind === "node-edited") return [{ place: `${place}.changes`, nodes: [detail?.changes] }];
    return kind === "nodes-added" ? [{ place, nodes: detail }] : [];
  }),
];

/** What the engine refuses, with places in the file. @param {PlanError | undefined} refused */
function prefixProblemPaths(refused) {
  const { problems } = /** @type {any} */ (refused?.detail ?? {});
  for (const one of problems ?? []) one.path = one.path === "" ? "source" : `source.${one.path}`;
  return refused;
}

/**
 * What is wrong with the nodes of a file.
 * @param {PlanManager} plans @param {NodeList[]} lists @param {Asker} asker @param {any} repository
 */
async function findListMistakes(plans, lists, asker, repository) {
  /** @type {Mistake[]} */
  const all = [];
  for (const { place, nodes, ...head } of lists) {
    const problems = await plans.preflight.findMistakes({ ...head, nodes }, asker, repository, {});
    const found = /** @type {Mistake[]} */ (addNodeIds({ problems }, nodes).problems);
    const own = place.endsWith(".changes") ? /^nodes\[0\]/ : /^nodes/; // of an edit: no list
    const toFilePath = (/** @type {string} */ path) =>
      own.test(path) ? path.replace(own, place) : `source.${path}`;
    all.push(...found.map((one) => ({ ...one, path: toFilePath(one.path) })));
  }
  return all;
}

/**
 * What any of its nodes opens of the sandbox of agents. REQUIRES: no mistakes.
 * @param {PlanManager} plans @param {NodeList[]} lists @param {Asker} asker @param {string} root of the checkout
 */
async function requireConsent(plans, lists, asker, root) {
  const [source] = lists;
  const all = lists.flatMap(({ place, nodes }) =>
    (Array.isArray(nodes) ? nodes : []).map((node, at) => {
      return { node, place: place.endsWith(".changes") ? place : `${place}[${at}]` };
    }),
  );
  const given = { ...source, nodes: all.map(({ node }) => node) };
  const toPath = (/** @type {string} */ path) => {
    const [, at, rest] = /^nodes\[(\d+)\](.*)$/.exec(path) ?? [];
    return at === undefined ? `source.${path}` : all[Number(at)].place + rest;
  };
  await plans.preflight.requireOwnConsent(given, asker, { root, toPath });
}

/** @param {import("./validation.mjs").Git} git @param {any} repository @param {unknown} target @returns {Promise<string | undefined>} undefined: there is no such branch */
async function findTip(git, repository, target) {
  if (typeof target !== "string") return undefined;
  return git.branchTip(repository, target).catch((error) => {
    if (error.code === "INVALID") return undefined; // no branch can have this name
    throw error;
  });
}

/** @param {PlanManager} plans @param {typeof import("../../git/index.mjs")} git @param {any} repository @param {string} target @throws where nothing may land there */
async function requireTarget(plans, git, repository, target) {
  const branch = await plans.preflight.resolveTarget(git, repository, target);
  if (branch !== target) {
    const message = `"${inLine(target)}" is a symbolic ref to "${branch}" here: name that in the file`;
    throw new PlanError("INVALID", message);
  }
  await git.requireFreeName(repository, target);
}

/**
 * Into the repository of the asker's folder.
 * @param {PlanManager} plans @param {unknown} given what exportPlan gave, as anybody may have written it @param {Asker} asker
 */
export async function importPlan(plans, given, asker) {
  const { planId, createdAt, facts, source, entries } = readExport(given);
  if (plans.has(planId)) {
    throw new PlanError("EXISTS", `plan ${planId} is here already: delete it first`);
  }
  const refused = prefixProblemPaths(await findRefusal(plans, { input: "check", plan: source }));
  const { git, repository } = await plans.leftovers.openRepository(asker);
  const isOver = hasEnded(entries);
  const collected = new MistakeCollector();
  await collected.run("", () => git.checkUntrackedPaths(source));
  const { targetBranch: target } = source;
  await collected.run("source.targetBranch", async () => {
    if (typeof target === "string") await requireTarget(plans, git, repository, target);
  });
  const tip = await findTip(git, repository, target);
  const made = listNodeCommits(entries);
  const all = [facts.baseCommit, ...made.map(({ commit }) => commit)];
  const missing = await git.missingCommits(repository, all);
  await collected.run("", () => {
    if (missing.length > 0)
      throw new PlanError("MISSING_COMMITS", formatMissingCommits(planId, missing));
  });
  const lists = collectNodeLists(given, source);
  const found = [
    ...collected.mistakes,
    ...(await findListMistakes(plans, lists, asker, repository)),
  ];
  // Nothing of one that has ended runs before somebody retries it, but then with these variables.
  const always = found.filter(({ code }) => code === "REFUSED_VARIABLE");
  throwIfInvalid(refused, isOver ? always : found, source.nodes);
  await requireConsent(plans, lists, asker, repository.root);
  const there = made.filter(({ commit }) => !missing.includes(commit));
  const programs = await plans.preflight.findPrograms(asker);
  const createsTarget = target !== undefined && tip === undefined;
  // The user has said so, or the file's machine has nothing to say about this one.
  const unsandboxed = (await plans.preflight.findSandboxProblem(source)) !== undefined;
  const here = { repo: repository.root, cwd: asker.cwd, session: asker.id };
  const own = { ...here, createsTarget, unsandboxed };
  const lacking = await git.missingOnTarget(
    repository,
    tip,
    entries.map(findLandedCommit).filter(Boolean),
  );
  const message = elsewhereText(planId, target);
  const undo = await git.importRefs(repository, planId, there);
  try {
    await plans.adopt(planId, {
      ...{ input: "import", plan: source, facts: { ...facts, ...own, ...programs } },
      ...{ entries: adaptEntries(entries, { made: there, lacking, message }), until: createdAt },
    });
  } catch (error) {
    await undo();
    throw error;
  }
  const { status, name, total } = plans.view({ view: "plan", planId });
  const notes = found.map((one) => (one.path === "" ? one.message : problemText(one)));
  return { planId, status, name, total, repo: own.repo, notes };
}
