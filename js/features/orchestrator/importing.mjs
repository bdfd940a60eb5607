// A plan that ran elsewhere becomes one of this user: nothing of it runs before somebody resumes it.

import { exportOf, readExport } from "./export-file.mjs";
import { Collected, refusalOf, refuse } from "./mistakes.mjs";
import { named, PlanError, problemText } from "./plan-error.mjs";
import { elsewhereText } from "./untested.mjs";

const MOST_SHOWN = 3;

/** @typedef {import("./plans.mjs").Plans} Plans */
/** @typedef {import("./plans.mjs").Asker} Asker */
/** @typedef {import("./mistakes.mjs").Mistake} Mistake */

/** @param {Plans} plans @param {string} planId */
export async function exportPlan(plans, planId) {
  const entries = JSON.parse(await plans.engine.entries(planId));
  const [plan, graph] = ["plan", "graph"].map((view) => plans.view({ view, planId }));
  return exportOf(plan, graph, entries);
}

/** What nodes made, each with its attempt. @param {any[]} entries */
function madeIn(entries) {
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
function landedIn({ kind, phase, status, detail }) {
  if (kind === "landed") return detail?.landed ?? detail?.commit ?? "";
  if (kind !== "phase-ended" || phase !== "merge-ri" || status !== "succeeded") return undefined;
  return detail?.unlanded ? undefined : (detail?.landed ?? "");
}

/**
 * Its entries, as they are true here: what has landed elsewhere, and not on the target of this repository, waits.
 * @param {any[]} entries @param {{made: {node: string}[], lacking: Set<string>, message: string}} here made: in this
 *   repository; lacking: commits that the target has not
 */
function asItIsHere(entries, { made, lacking, message }) {
  const nodes = new Set(made.map(({ node }) => node));
  return entries.flatMap((entry) => {
    const commit = landedIn(entry);
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
  entries.findLast(({ kind }) => kind === "plan-ended" || kind === "retried")?.kind ===
  "plan-ended";

/** @param {string} planId @param {string[]} missing */
function missingText(planId, missing) {
  const some = missing.slice(0, MOST_SHOWN).map((commit) => commit.slice(0, 10));
  const more = missing.length > MOST_SHOWN ? ", …" : "";
  return `this repository has not ${missing.length} of the plan's commits (${some.join(", ")}${more}): fetch them from where it ran, as in git fetch <url> 'refs/tap/${planId}/*:refs/tap/${planId}/*'`;
}

/** All nodes of a file, with the place of each list. @typedef {{place: string, nodes: any, env?: unknown}} NodeList */
/** @param {any} given @param {Record<string, any>} source @returns {NodeList[]} */
const listsOf = ({ journal }, source) => [
  { place: "source.nodes", nodes: source.nodes, env: source.env },
  ...journal.flatMap((/** @type {any} */ { kind, detail }, /** @type {number} */ at) =>
    kind === "nodes-added" ? [{ place: `journal[${at}].detail`, nodes: detail }] : [],
  ),
];

/** What the engine refuses, with places in the file. @param {PlanError | undefined} refused */
function inFile(refused) {
  const { problems } = /** @type {any} */ (refused?.detail ?? {});
  for (const one of problems ?? []) one.path = one.path === "" ? "source" : `source.${one.path}`;
  return refused;
}

/**
 * What is wrong with the nodes of a file.
 * @param {Plans} plans @param {NodeList[]} lists @param {Asker} asker @param {string} root of the checkout
 */
async function mistakesInLists(plans, lists, asker, root) {
  /** @type {Mistake[]} */
  const all = [];
  for (const { place, nodes, env } of lists) {
    const problems = await plans.making.mistakesIn({ nodes, env }, asker, root);
    const found = /** @type {Mistake[]} */ (named({ problems }, nodes).problems);
    const placed = (/** @type {string} */ path) =>
      path.startsWith("env.") ? `source.${path}` : path.replace(/^nodes/, place);
    all.push(...found.map((one) => ({ ...one, path: placed(one.path) })));
  }
  return all;
}

/** @param {import("./making.mjs").Git} git @param {any} repository @param {unknown} target @returns {Promise<string | undefined>} undefined: there is no such branch */
async function tipOf(git, repository, target) {
  if (typeof target !== "string") return undefined;
  return git.branchTip(repository, target).catch((error) => {
    if (error.code === "INVALID") return undefined; // no branch can have this name
    throw error;
  });
}

/**
 * Into the repository of the asker's folder.
 * @param {Plans} plans @param {unknown} given what exportPlan gave, as anybody may have written it @param {Asker} asker
 */
export async function importPlan(plans, given, asker) {
  const { planId, createdAt, facts, source, entries } = readExport(given);
  if (plans.has(planId)) {
    throw new PlanError("EXISTS", `plan ${planId} is here already: delete it first`);
  }
  const refused = inFile(await refusalOf(plans, { input: "check", plan: source }));
  const { git, repository } = await plans.leftovers.repositoryOf(asker);
  const isOver = hasEnded(entries);
  const collected = new Collected();
  await collected.take("", () => git.checkBrought(source));
  const { targetBranch: target } = source;
  await collected.take("source.targetBranch", async () => {
    await plans.making.requireUnprotected(git, repository, target);
    if (typeof target === "string") await git.requireFreeName(repository, target);
  });
  const tip = await tipOf(git, repository, target);
  const made = madeIn(entries);
  const all = [facts.baseCommit, ...made.map(({ commit }) => commit)];
  const missing = await git.missingCommits(repository, all);
  await collected.take("", () => {
    if (missing.length > 0) throw new PlanError("MISSING_COMMITS", missingText(planId, missing));
  });
  const lists = listsOf(given, source);
  const found = [
    ...collected.found,
    ...(await mistakesInLists(plans, lists, asker, repository.root)),
  ];
  // Nothing of one that has ended runs before somebody retries it, but then with these variables.
  const always = found.filter(({ code }) => code === "REFUSED_VARIABLE");
  refuse(refused, isOver ? always : found, source.nodes);
  const there = made.filter(({ commit }) => !missing.includes(commit));
  const programs = await plans.making.programsOf(asker);
  const createsTarget = target !== undefined && tip === undefined;
  const own = { repo: repository.root, cwd: asker.cwd, session: asker.id, createsTarget };
  const lacking = await git.lackingOn(repository, tip, entries.map(landedIn).filter(Boolean));
  const message = elsewhereText(planId, target);
  const undo = await git.keepMade(repository, planId, there);
  try {
    await plans.adopt(planId, {
      ...{ input: "import", plan: source, facts: { ...facts, ...own, ...programs } },
      ...{ entries: asItIsHere(entries, { made: there, lacking, message }), until: createdAt },
    });
  } catch (error) {
    await undo();
    throw error;
  }
  const { status, name, total } = plans.view({ view: "plan", planId });
  const notes = found.map((one) => (one.path === "" ? one.message : problemText(one)));
  return { planId, status, name, total, repo: own.repo, notes };
}
