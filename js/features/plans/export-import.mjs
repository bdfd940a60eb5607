// What `copilot-tap plan export` writes, and what is taken of it by an import: anybody may have written the file. Each
// value is of its kind and bounded; what is not known, and what belongs to another machine, is left out.

import {
  anything,
  choice,
  decimal,
  flag,
  integer,
  list,
  named,
  object,
  readValue,
  refine,
  required,
  text,
  usually,
} from "../../config/schema.mjs";
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

/** @typedef {import("../../config/schema.mjs").Schema<any>} Schema */

const createText = (/** @type {number} */ most) => text({ most, blank: true, raw: true });
const amount = decimal(0);
const whole = integer(0);
const hash = refine(createText(64), (given, place) =>
  /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(given)
    ? given
    : place.expected("the full name of a commit", given),
);
/** @param {Schema} schema @returns {Schema} */
const orNull = ({ read }) => ({
  read: (value, place) => (value === null ? null : read(value, place)),
});
/** What agents say they found: of any form. */
const findings = refine(list(anything), (all, place) =>
  JSON.stringify(all).length <= MAX_FINDINGS ? all : place.problem("expected at most 32 KB"),
);

/** What is not known is left out. @param {Record<string, Schema>} fields @returns {Schema} */
const part = (fields) => object("a part of the file", fields, { isOpen: true });

const FILES = list(createText(4096), { most: 10_000, what: "files" });
const CHANGES = part({ files: whole, insertions: whole, deletions: whole });
const MODEL = part({ model: createText(200), input: amount, output: amount, cached: amount });
const ERROR = { code: createText(100), message: createText(8192) };
/** What a phase said at its end. Not `tested`: no file says that something was tested. */
const DETAIL = part({
  ...{ commit: hash, baseCommit: hash, landed: hash, ours: hash, theirs: hash },
  ...{ changes: CHANGES, files: FILES, conflict: FILES, nodes: FILES },
  usage: part({
    ...{ aiCredits: amount, premiumRequests: amount, apiMs: amount, sessionMs: amount },
    models: list(MODEL, { most: 100, what: "models" }),
  }),
  error: part(ERROR),
  exitCode: orNull(integer(Number.MIN_SAFE_INTEGER)),
  signal: orNull(createText(40)),
  ...{ lastLines: createText(16_384), summary: createText(16_384), note: createText(8192) },
  ...{ turns: whole, reason: createText(1000), log: createText(200) },
  evidence: part({ summary: createText(16_384), findings }),
  unlanded: part({ ...ERROR, files: FILES }),
});

/** By kind of an entry. `undefined`: it has none. @type {Record<string, Schema | undefined>} */
const DETAILS = {
  "nodes-added": anything, // read as nodes of a plan are
  scheduled: undefined,
  began: undefined,
  step: part({ worktree: part({ commit: hash }), committing: flag }),
  "phase-began": undefined,
  "phase-ended": DETAIL,
  "node-succeeded": DETAIL,
  "node-failed": DETAIL,
  interrupted: DETAIL,
  retried: part({ instructions: createText(65_536) }),
  "node-canceled": DETAIL,
  paused: part({ reason: createText(100) }),
  resumed: part({ budget: part({ aiCredits: amount, tokens: whole }) }),
  "plan-canceled": undefined,
  "plan-ended": undefined,
  landed: part({ commit: hash, landed: hash, result: hash, changes: CHANGES }),
  overlap: part({ node: createText(64), other: createText(64), files: FILES }),
  "node-edited": part({ changes: named(anything), before: named(anything) }),
  "node-replaced": part({ by: createText(64), inherits: flag }),
};

const WORD = createText(20);
const ENTRY_FIELDS = {
  ...{ kind: required(choice(Object.keys(DETAILS))), at: whole, node: createText(64) },
  ...{ attempt: whole, phase: WORD, next: WORD, status: WORD, plan: WORD, retry: flag },
};
const ENTRY = object("an entry", ENTRY_FIELDS, {
  isOpen: true,
  finish(read, place, given) {
    const schema = DETAILS[read.kind];
    const isGiven = schema && given.detail !== undefined;
    const detail = isGiven ? schema.read(given.detail, place.at("detail")) : undefined;
    // One of which nothing counts here.
    if (read.kind === "step" && Object.keys(detail ?? {}).length === 0) return undefined;
    return { ...read, ...(detail && { detail }) };
  },
});

const ID = refine(createText(64), (given, place) =>
  /^p[a-z0-9]{8}$/.test(given) ? given : place.expected("the id of a plan", given),
);
const FACTS = {
  ...{ baseBranch: createText(200), baseCommit: required(hash) },
  ...{ targetBase: hash, createsTarget: flag },
};
const exported = part({
  version: required(integer(VERSION, VERSION)),
  plan: required(
    part({ planId: required(ID), createdAt: usually(0, whole), facts: required(part(FACTS)) }),
  ),
  source: required(named(anything)), // read as a plan is
  journal: required(list(ENTRY, { most: MAX_ENTRIES, what: "entries" })),
});

/**
 * @param {any} given
 * @returns {{planId: string, createdAt: number, facts: Record<string, any>, source: Record<string, any>, entries: any[]}}
 */
export function readExport(given) {
  const refuse = (/** @type {{path: string, message: string}[]} */ problems) => {
    throw new PlanError("INVALID_EXPORT", "this is not what plan export writes", { problems });
  };
  if (isDeeperThan(given, MAX_JSON_LEVELS))
    refuse([{ path: "the file", message: `expected at most ${MAX_JSON_LEVELS} levels` }]);
  const read = readValue(exported, given);
  if (read.ok === false)
    return refuse(read.problems.map(({ field, text: message }) => ({ path: field, message })));
  const { plan, source, journal } = read.value;
  return { ...plan, source, entries: journal };
}

/**
 * @param {Record<string, any>} plan view of it @param {object} graph view of it @param {any[]} entries of its journal
 * @returns {object} without what is of this machine only: PATH, where the CLI is, and the rules of a session
 */
export function createExport(plan, graph, [created, ...journal]) {
  const { path: _path, cli: _cli, nonce: _nonce, guards: _guards, ...facts } = plan.facts;
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
  const bases = [facts.baseCommit, ...(facts.targetBase ? [facts.targetBase] : [])];
  const all = [...bases, ...made.map(({ commit }) => commit)];
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
