// The phases of a node, one function each: what they do in the repository and in the node's worktree. Each can be begun
// again after a crash: it finds what it has done already. What it returns is the detail of the phase's end.

import { messageOf } from "../../base/errors.mjs";
import { inLine } from "../../base/visible.mjs";
import { beginAfresh, wasCutOff } from "./cut-off.mjs";
import { evidenceOf, ignoredText, noEvidenceText } from "./evidence.mjs";
import { Again, PhaseFailed } from "./phase-ends.mjs";
import { prepared } from "./preparing.mjs";
import { requireUnprotected } from "./protected.mjs";
import { failedText, landAdvice, untestedText } from "./untested.mjs";

const TRIES = 5;
/** It conflicted when it was to be checked: where it does no more, it is checked. */
const NOTHING_TESTED = { tree: "", tip: "" };

/** @typedef {import("./node-run.mjs").NodeRun} NodeRun */
/** @typedef {{code: string, message: string, files?: string[], nodes?: string[]}} PhaseError */

// ---- merge-fi --------------------------------------------------------------------------------------

/** It can be done once the plan has ended, too: a retry finds the same commits. @param {string[]} commits */
const mendText = (commits) =>
  `Let a new node do this one's work, too, in this plan, or in a new one if this one has ended. Its work is first to merge what this one depends on, and to resolve the conflict: ${commits.map((one) => `git merge ${one.slice(0, 10)}`).join(", ")}.`;

/** The commit with which the node begins. @param {NodeRun} run */
async function beginning({ git, repository, effect, plan, signal }) {
  const { commits, node } = effect;
  const found = commits.filter((/** @type {{commit: string}} */ { commit }) => commit !== "");
  if (found.length === 0) return plan.facts.baseCommit;
  const all = found.map((/** @type {{commit: string}} */ { commit }) => commit);
  const message = `Merge what ${inLine(node.id)} depends on`;
  const merged = await git.mergeCommits(repository, all, message, { signal });
  if (merged.status === "merged") return merged.commit;
  const sides = [...merged.ours, merged.theirs];
  const both = found.filter((/** @type {{commit: string}} */ { commit }) => sides.includes(commit));
  const nodes = both.map((/** @type {{node: string}} */ one) => one.node);
  const files = merged.conflicts;
  throw new PhaseFailed(
    "MERGE_CONFLICT",
    `The commits of ${nodes.join(" and ")} conflict in ${files.join(", ")}. ${mendText([...new Set(all)])}`,
    { files, nodes },
  );
}

/** A merge that no commit of the node has in it would be lost to garbage collection. @param {NodeRun} run @param {string} commit */
async function keepMerge({ git, repository, effect, plan, node, attempt }, commit) {
  const isOther = (/** @type {{commit: string}} */ one) => one.commit !== commit;
  if (effect.commits.length < 2 || !effect.commits.every(isOther)) return;
  await git.keepAttempt(repository, { plan: plan.id, node: node.id, attempt }, commit);
}

/** @param {NodeRun} run */
export async function mergeFi(run) {
  const { node } = run;
  const baseCommit = await beginning(run);
  if (!node.prechecks && !node.work && !node.postchecks) {
    await keepMerge(run, baseCommit);
    return { commit: baseCommit };
  }
  const { path, lacking } = await prepared(run, { base: baseCommit });
  return {
    ...{ baseCommit, worktreePath: path },
    ...(lacking.length > 0 && { lacking }),
  };
}

// ---- prechecks, work, postchecks -------------------------------------------------------------------

/** @param {NodeRun} run @param {Record<string, any>} work @param {string} phase */
async function workOf(run, work, phase) {
  await run.git.checkLink(run.worktree);
  if (work.type === "agent") return run.agent(work);
  if (work.type === "tool") {
    const { toolWork } = await import("./node-tools.mjs");
    return toolWork(run, /** @type {any} */ (work), phase, run.effect.timeoutMs);
  }
  return run.program(work, phase, run.effect.timeoutMs);
}

/** @param {NodeRun} run */
export const prechecks = (run) => workOf(run, run.node.prechecks, "prechecks");

/** @param {NodeRun} run */
export async function work(run) {
  await run.backToWork();
  if (wasCutOff(run)) {
    await beginAfresh(run, async () => {
      if (run.node.prechecks) await prechecks(run);
    });
  }
  return workOf(run, run.node.work, "work");
}

/**
 * What its checks have passed on, and how.
 * @param {NodeRun} run @param {{tree: string, tip: string}} found
 */
async function testedOf(run, { tree, tip }) {
  const { postchecks: checks } = run.node;
  const of = { plan: run.plan.id, name: run.logName("postchecks") };
  const digest = await run.services.plans.digests({ ...of, env: run.environment(checks.env) });
  return { tree, tip, command: run.shown(checks), exitCode: 0, digest, trace: run.traceparent };
}

/** One that has waited to land: what waits with it comes after it, and its worktree is gone. @param {NodeRun} run */
async function beginAgain(run) {
  await run.plan.settleResult(run.signal);
  if (!(await run.hasPrepared())) await prepared(run, { base: run.base(), at: run.commit() });
  await run.step({ prepared: run.attempt });
}

/** @param {NodeRun} run */
async function checked(run) {
  const { node, plan } = run;
  try {
    return await workOf(run, node.postchecks, "postchecks");
  } catch (error) {
    if (!node.landsAgain || !(error instanceof PhaseFailed)) throw error;
    const text = failedText(plan.id, plan.head.targetBranch, error.message);
    throw new PhaseFailed(error.code, text, error.detail);
  }
}

/**
 * A leaf is checked as it would land: what was tested stands in the journal, written by nobody but this.
 * @param {NodeRun} run
 */
export async function postchecks(run) {
  const { git, repository, effect, node } = run;
  if (!effect.lands) return workOf(run, node.postchecks, "postchecks");
  if (node.landsAgain) await beginAgain(run);
  const asked = { ...run.landing(), leaf: run.commit() };
  const found = await git.candidate(repository, asked);
  // merge-ri says so: it is where a conflict is mended and tried again.
  if (found.status === "conflict") return { conflict: found.conflicts };
  await run.showMerge(found.merge);
  const ended = await checked(run);
  return { ...ended, tested: await testedOf(run, found) };
}

// ---- commit ----------------------------------------------------------------------------------------

/** @param {NodeRun} run */
export async function commit(run) {
  const { git, repository, node, plan, signal } = run;
  const { timeoutMs } = run.effect;
  await run.step({ committing: true }, { sync: true });
  const { evidence, problem } = await evidenceOf(run);
  const message = `${node.name}\n\nPlan: ${plan.name}`;
  const env = run.environment();
  const made = await git.commitWork(repository, run.worktree, { message, env, timeoutMs, signal });
  const left = await git.keepLeft(repository, run.worktree, made.commit).catch((error) => {
    run.log(`commits that it has left were not looked for: ${messageOf(error)}`);
    return undefined;
  });
  if (made.changes.length === 0 && !node.expectsNoChanges && !evidence) {
    throw new PhaseFailed("NO_EVIDENCE", noEvidenceText(node.id, problem, left));
  }
  run.log(ignoredText(node.id, problem, left));
  if (made.commit === run.base()) await keepMerge(run, made.commit);
  const { insertions, deletions } = await git.linesBetween(repository, run.base(), made.commit);
  return {
    commit: made.commit,
    changes: { files: made.changes.length, insertions, deletions },
    ...(evidence && { evidence }),
  };
}

// ---- merge-ri --------------------------------------------------------------------------------------

/** @param {NodeRun} run @param {any} found */
function conflictOf(run, found) {
  const { targetBranch } = run.plan.head;
  const side = found.side === "target" ? `the branch ${targetBranch}` : "what has landed";
  const other = `${side} (${found.other.slice(0, 10)})`;
  return new PhaseFailed(
    "MERGE_CONFLICT",
    `Its commit ${run.commit().slice(0, 10)} conflicts with ${other} in ${found.conflicts.join(", ")}. The commit keeps its ref. Retry the node once the target can take it, or from the start.`,
    { files: found.conflicts, ours: found.ours, theirs: found.theirs },
  );
}

/** What the node changes on its target, also where an earlier try has put it there. @param {NodeRun} run @param {any} taken */
async function changesOf({ git, repository, plan, node }, { again, tip, commit: result }) {
  const of = `${plan.id}/${node.id}`;
  const [from, to] = again ? await git.squashOf(repository, result, of) : [tip, result];
  const { files, insertions, deletions } = await git.linesBetween(repository, from, to);
  return { files: files.length, insertions, deletions };
}

/** @param {NodeRun} run @param {Record<string, any>} asked of `integrate` */
async function landNow(run, asked) {
  const { git, repository, plan, signal } = run;
  const { target } = asked;
  for (let left = TRIES; ; --left) {
    const taken = await git.integrate(repository, /** @type {any} */ (asked));
    if (taken.status === "conflict") throw conflictOf(run, taken);
    if (taken.status === "moved") throw new Again("stale", "the target has moved since the checks");
    if (taken.waits) {
      const text = untestedText(plan.id, target);
      const unlanded = { code: "MOVED", message: text, files: [] };
      return { unlanded, result: taken.commit, changes: await changesOf(run, taken) };
    }
    const create = plan.facts.createsTarget === true;
    const expect = taken.commit;
    const landed = await git.land(repository, { plan: plan.id, target, create, expect, signal });
    const changes = await changesOf(run, taken);
    if (landed.status === "landed") return { landed: taken.commit, changes };
    if (landed.status === "dirty") {
      const text = `${landed.message} Then: ${landAdvice(plan.id)}`;
      const unlanded = { code: "DIRTY", message: text, files: landed.changed ?? [] };
      return { unlanded, result: expect, changes };
    }
    if (landed.status === "gone") {
      throw new PhaseFailed("TARGET_GONE", `${landed.message}. Then retry the node.`);
    }
    if (landed.status === "taken") throw new PhaseFailed("NAME_TAKEN", String(landed.message));
    if (left === 1) throw new Again("stale", String(landed.message));
  }
}

/** @param {NodeRun} run */
export async function mergeRi(run) {
  const { git, repository, plan, node, signal } = run;
  const { tested, conflict } = run.detailOf("postchecks") ?? {};
  const landing = run.landing();
  const leaf = run.commit();
  const message = `${node.name}\n\nPlan: ${plan.name}\nPlan-Node: ${plan.id}/${node.id}`;
  try {
    if (node.postchecks && !tested && !conflict) {
      throw new Again("stale", "nothing says that this was tested"); // a plan that was imported
    }
    await requireUnprotected(run.services, git, repository.root, landing.target);
    if (node.landsAgain || plan.unsettled) await plan.settleResult(signal);
    plan.unsettled = false;
    return await landNow(run, {
      ...landing,
      ...{ leaf, message, signal },
      ...(node.postchecks && { expect: tested ?? NOTHING_TESTED }),
    });
  } catch (error) {
    // What has not landed here must not land with another leaf, on what it was not tested with.
    const create = plan.facts.createsTarget === true;
    await git.takeOut(repository, { ...landing, create, leaves: [leaf] }).catch(() => {});
    throw error;
  }
}
