// The phases of a node, one function each: what they do in the repository and in the node's worktree. Each can be begun
// again after a crash: it finds what it has done already. What it returns is the detail of the phase's end.

import { redactLine, redactLines } from "../../lib/redact.mjs";
import { sleep } from "../../lib/timers.mjs";
import { errorMessage } from "../../lib/values.mjs";
import { inLine, truncateText, visible } from "../../lib/visible.mjs";
import { PhaseFailed, RetryLater } from "./errors.mjs";
import { formatRecheckFailure, landCommand, landNow, requireUnprotected } from "./landing.mjs";

/** @typedef {import("./node-runner.mjs").NodeRun} NodeRun */
/** @typedef {import("../../git/archive.mjs").UnreachableCommits} UnreachableCommits */

// The worktree of a node before its prechecks: at its commit, with what the plan brings along, and set up.

/** @param {NodeRun} run @param {string} base */
export async function prepareWorktree(run, base) {
  const worktree = await run.makeWorktree(base);
  const lacking = await bringAlong(run, worktree);
  // Also in one that another node has had: that was cleaned of what the setup had left.
  const { setup } = run.plan.head;
  if (setup) {
    await run.runSetup(setup, worktree);
    await run.git.noteSetup(run.repository, worktree, { signal: run.signal });
  }
  return { path: worktree.path, lacking };
}

const SKIPPED = {
  missing: "your checkout does not have it: make it there, then retry the node from the start",
  exists: "the worktree has one of its own, which stays",
  outside: "it leads out of your checkout: copy what is there into the checkout",
};

/**
 * @param {NodeRun} run @param {import("../../git/worktrees.mjs").Worktree} worktree
 * @param {string} [base] what this commit has is not brought: where it is not there, somebody has deleted it
 * @returns {Promise<string[]>} what was not there
 */
async function bringAlong({ git, plan, repository }, worktree, base) {
  const { copy: named = [], link = [] } = plan.head;
  if (named.length + link.length === 0) return [];
  const copy = await git.expandPatterns(repository, named);
  const tracked = base ? await git.findTracked(repository, base, [...copy, ...link]) : [];
  const isUntracked = (/** @type {string} */ name) => !tracked.includes(name);
  const wanted = { copy: copy.filter(isUntracked), link: link.filter(isUntracked) };
  const { skipped } = await git.copyUntrackedFiles(repository.root, worktree, wanted);
  return skipped.map(({ path, why }) => `${path} (${SKIPPED[why]})`);
}

// A program or a tool of `work` that was ended in the middle of what it did: nothing runs on top of its half. What it
// had done is kept aside. Then the work begins again in a new worktree. Agents are left out: they know what they did.

/** Longer than from SIGTERM to SIGKILL. */
const MAX_UNUSED_CHECKS = 60;
const UNUSED_CHECK_MS = 100;

/** @typedef {{attempt: number, interruptions: number}} Restart in which attempt it has begun again, after how many of these */

/** @param {any} attempt @returns {number} how often its work was interrupted */
const countInterruptions = (attempt) =>
  attempt.phases.find((/** @type {any} */ { phase }) => phase === "work")?.interruptions ?? 0;

/**
 * Whether the last run of the work was cut off, in this attempt or in those that it goes on from.
 * @param {NodeRun} run
 */
export function wasInterrupted(run) {
  const { node, effect } = run;
  if (node.work.type === "agent") return false;
  if (run.fact("cutOff")) return true;
  /** @type {Restart | undefined} */
  const afresh = run.fact("afresh");
  const goesOn = effect.from !== "merge-fi" && effect.before;
  return [effect.current, ...(goesOn ? [effect.before] : [])].some((one) => {
    if (!afresh || afresh.attempt < one.attempt) return countInterruptions(one) > 0;
    return afresh.attempt === one.attempt && countInterruptions(one) > afresh.interruptions;
  });
}

/** What it had started may take a moment to end, and still write. @param {NodeRun} run */
async function waitUntilUnused({ git, worktree, signal }) {
  for (let left = MAX_UNUSED_CHECKS; left > 0; --left) {
    const holders = (await git.processesUsing(worktree.path)) ?? [];
    if (holders.length === 0 || signal.aborted) return;
    await sleep(UNUSED_CHECK_MS);
  }
}

/** Where that cannot be, the worktree stays as it is. @param {NodeRun} run */
async function archiveInterruptedWork(run) {
  const { git, plan, signal, worktree } = run;
  const record = { ...worktree, known: [worktree.commit] };
  const why = "its work was interrupted";
  const { removed, ...rest } = await git.removeWorktree(plan.worktrees, record, { signal, why });
  if (!removed) {
    const text = `The work was interrupted, and what it had done cannot be kept aside. ${rest.message} Then retry the node: the work begins again.`;
    throw new PhaseFailed(rest.code ?? "FAILED", text);
  }
  const { kept, omitted = [] } = rest;
  const restore = `copilot-tap plan restore ${plan.id}/${run.node.id}`;
  const where = kept ? `; what it had done is in ${kept.ref} (${kept.commit}): ${restore}` : "";
  const without = omitted.length > 0 ? `, without ${omitted.join(", ")}` : "";
  run.log(`tap: the work was interrupted, and begins again${where}${without}`);
}

/** Until it has come to its end, each run and each retry begins with it. @param {NodeRun} run @param {() => Promise<unknown>} check runs the prechecks */
export async function restartInNewWorktree(run, check) {
  const { attempt, effect } = run;
  await run.recordStep({ cutOff: true });
  await waitUntilUnused(run);
  await archiveInterruptedWork(run);
  const { lacking } = await prepareWorktree(run, run.base());
  if (lacking.length > 0) run.log(`tap: not brought: ${lacking.join(", ")}`);
  await check();
  const afresh = { attempt, interruptions: countInterruptions(effect.current) };
  await run.recordStep({ cutOff: false, afresh });
}

// What a node has found, in place of changes or beside them: a file of JSON, `{summary, findings}`.

const MAX_EVIDENCE_BYTES = 32 * 1024;
const MAX_SUMMARY = 4000;
const MAX_NAMED = 5;
const MAX_DEPTH = 32;

/** @typedef {{summary: string, findings: unknown[]}} Evidence */
/** problem: why the file cannot be used; "": there is no file @typedef {{evidence?: Evidence, problem?: string}} EvidenceResult */

/** @param {string} node */
const evidenceFile = (node) => `.orchestrator/evidence/${node}.json`;

/** The same with its escapes made visible. @param {any} value of JSON @param {number} [depth] @returns {any} */
function escapeJson(value, depth = 0) {
  if (typeof value === "string") return redactLines(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth === MAX_DEPTH) return "…";
  const inner = (/** @type {any} */ one) => escapeJson(one, depth + 1);
  if (Array.isArray(value)) return value.map(inner);
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [redactLine(key), inner(one)]),
  );
}

/** @param {string} text hostile @returns {EvidenceResult} */
export function parseEvidence(text) {
  /** @type {any} */
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { problem: `it is not JSON (${visible(errorMessage(error))})` };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { problem: "it is not an object" };
  }
  const { summary, findings } = value;
  if (typeof summary !== "string" || summary.trim() === "") {
    return { problem: "it has no text as `summary`" };
  }
  const all = Array.isArray(findings) ? findings : [];
  return {
    evidence: {
      summary: truncateText(redactLines(summary), MAX_SUMMARY),
      findings: escapeJson(all),
    },
  };
}

/** @param {UnreachableCommits} left @returns {string} what it has made and does not count, and where it is */
export function formatUnreachableCommits({ commits, ref }) {
  const some = commits.slice(-MAX_NAMED).map((one) => one.slice(0, 10));
  const more = commits.length > MAX_NAMED ? "…, " : "";
  const made = commits.length === 1 ? "the commit" : `${commits.length} commits`;
  return `it made ${made} (${more}${some.join(", ")}) on no branch and then checked out another one; ${ref} keeps that`;
}

/**
 * @param {string} node its id @param {string} problem of its evidence; "": it has none
 * @param {UnreachableCommits} [left] commits that it has made and left
 */
export function noEvidenceText(node, problem, left) {
  const head = "There is no evidence of work: nothing was changed";
  const file = evidenceFile(node);
  if (left) {
    return `${head} where the work ended, but ${formatUnreachableCommits(left)}. Let the work end on its last commit, or merge that there.`;
  }
  if (problem === "") {
    return `${head}. Where that is right, set expectsNoChanges, or write ${file} with a summary.`;
  }
  return `${head}, and ${file} is there, but ${problem}. Where that is right, correct the file, or set expectsNoChanges.`;
}

/** @param {NodeRun} run @returns {Promise<{evidence?: Evidence, problem: string}>} */
export async function readEvidenceFile({ git, worktree, node }) {
  try {
    const { evidence, problem = "" } = parseEvidence(
      await git.readInside(worktree, evidenceFile(node.id), MAX_EVIDENCE_BYTES),
    );
    return { evidence, problem };
  } catch (error) {
    const { name, cause, message } = /** @type {any} */ (error);
    if (cause?.code === "ENOENT" || cause?.code === "ENOTDIR") return { problem: "" };
    if (name === "GitError") return { problem: visible(message).replace(/\.$/, "") };
    return { problem: `it is no regular file, or has more than ${MAX_EVIDENCE_BYTES / 1024} KB` };
  }
}

/** For the log of a node that has succeeded nevertheless. @param {string} node @param {string} problem @param {UnreachableCommits} [left] */
export const formatIgnoredWork = (node, problem, left) =>
  [
    ...(problem === "" ? [] : [`${evidenceFile(node)} cannot be used as evidence: ${problem}`]),
    ...(left ? [`not in its commit: ${formatUnreachableCommits(left)}`] : []),
  ].join("\n");

/** It conflicted when it was to be checked: where it does no more, it is checked. */
const NOTHING_TESTED = { tree: "", tip: "" };

/** @typedef {{code: string, message: string, files?: string[], nodes?: string[]}} PhaseError */

// ---- merge-fi --------------------------------------------------------------------------------------

/** A retry finds the same commits. @param {NodeRun} run @param {string[]} commits */
function formatConflictAdvice({ plan, node }, commits) {
  const merges = commits.map((one) => `git merge ${one.slice(0, 10)}`).join(", ");
  const add = `copilot-tap plan add ${plan.id} FILE --replaces ${node.id}`;
  return `Let a new node do this one's work, too, in this plan (${add}) or in a new one. Its work is first to merge what this one depends on, and to resolve the conflict: ${merges}.`;
}

/**
 * A node that lands, and is retried from the start, begins with what its target has got meanwhile: from the old base it
 * would make the same conflict again. What waits to land is not in it, as it may never land.
 * @param {NodeRun} run @returns {Promise<string | undefined>} the target's commit
 */
async function findLandedBase(run) {
  const { git, repository, effect, plan, attempt } = run;
  if (!effect.lands || !effect.before || effect.from !== "merge-fi") return undefined;
  const before = run.fact("landedBase");
  if (before?.attempt === attempt) return before.tip; // also after a crash
  const tip = await git.branchTip(repository, plan.head.targetBranch);
  if (tip) await run.recordStep({ landedBase: { attempt, tip } });
  return tip;
}

/**
 * With what the target has got; nothing where both conflict: then the landing says so.
 * @param {NodeRun} run @param {string[]} commits with which the node begins @param {string} message
 * @returns {Promise<string | undefined>}
 */
async function mergeLanded(run, commits, message) {
  const { git, repository, signal, plan } = run;
  const landed = await findLandedBase(run);
  if (landed === undefined) return undefined;
  const merged = await git.mergeCommits(repository, [...commits, landed], message, { signal });
  if (merged.status === "merged") return merged.commit;
  const target = inLine(String(plan.head.targetBranch));
  run.log(`tap: begins without what "${target}" has got: ${merged.conflicts.join(", ")} conflict`);
  return undefined;
}

/**
 * A node in the place of another one begins with the first of the commits: its work merges the others.
 * @param {NodeRun} run @param {{node: string, commit: string}[]} found
 */
async function beginWithConflict(run, [first, ...toMerge]) {
  await run.recordStep({ toMerge });
  const merges = toMerge.map(({ commit }) => `git merge ${commit.slice(0, 10)}`).join(", ");
  run.log(`tap: begins with the commit of ${inLine(first.node)}; its work has to merge: ${merges}`);
  return first.commit;
}

/** @param {NodeRun} run @param {string} commit of its work @throws {PhaseFailed} UNMERGED: a commit is missing in it */
async function requireMerged(run, commit) {
  for (const { node, commit: other } of run.fact("toMerge") ?? []) {
    if (await run.git.isAncestor(run.repository, other, commit)) continue;
    const text = `The work has not merged the commit of ${inLine(node)}: let it run git merge ${other.slice(0, 10)}. Then retry the node from the start.`;
    throw new PhaseFailed("UNMERGED", text);
  }
}

/** The commit with which the node begins. @param {NodeRun} run */
async function mergeDependencies(run) {
  const { git, repository, effect, plan, signal } = run;
  const { commits, node } = effect;
  const found = commits.filter((/** @type {{commit: string}} */ { commit }) => commit !== "");
  const all = found.map((/** @type {{commit: string}} */ { commit }) => commit);
  const message = `Merge what ${inLine(node.id)} depends on`;
  const own = all.length > 0 ? all : [plan.facts.baseCommit];
  const withLanded = await mergeLanded(run, own, message);
  if (withLanded) return withLanded;
  if (found.length === 0) return plan.facts.baseCommit;
  const merged = await git.mergeCommits(repository, all, message, { signal });
  if (merged.status === "merged") return merged.commit;
  const sides = [...merged.ours, merged.theirs];
  const both = found.filter((/** @type {{commit: string}} */ { commit }) => sides.includes(commit));
  const nodes = both.map((/** @type {{node: string}} */ one) => one.node);
  const files = merged.conflicts;
  if (effect.replaces && node.work) return beginWithConflict(run, found);
  throw new PhaseFailed(
    "MERGE_CONFLICT",
    `The commits of ${nodes.join(" and ")} conflict in ${files.join(", ")}. ${formatConflictAdvice(run, [...new Set(all)])}`,
    { files, nodes },
  );
}

/** A merge that no commit of the node has in it would be lost to garbage collection. @param {NodeRun} run @param {string} commit */
async function keepMerge({ git, repository, effect, plan, node, attempt }, commit) {
  const isOther = (/** @type {{commit: string}} */ one) => one.commit !== commit;
  if (commit === plan.facts.baseCommit || !effect.commits.every(isOther)) return;
  await git.setAttemptRef(repository, { plan: plan.id, node: node.id, attempt }, commit);
}

/** @param {NodeRun} run */
export async function prepareBase(run) {
  const { node } = run;
  const baseCommit = await mergeDependencies(run);
  if (!node.prechecks && !node.work) {
    await keepMerge(run, baseCommit);
    return { commit: baseCommit };
  }
  const { path, lacking } = await prepareWorktree(run, baseCommit);
  return {
    ...{ baseCommit, worktreePath: path },
    ...(lacking.length > 0 && { lacking }),
  };
}

// ---- prechecks, work, postchecks -------------------------------------------------------------------

/** @param {NodeRun} run @param {Record<string, any>} work @param {{path: string, admin: string}} worktree */
async function executeWork(run, work, worktree) {
  await run.git.checkWorktreeLink(run.repository, worktree);
  if (work.type === "agent") return run.runAgent(work, worktree);
  if (work.type === "tool") {
    const { runTool } = await import("./node-tools.mjs");
    return runTool(run, /** @type {any} */ (work), worktree.path);
  }
  return run.runProgram(work, worktree, await run.findFolder(worktree));
}

/** What it has committed is the repository's then, however it ended. @param {NodeRun} run @param {Record<string, any>} work */
async function executeInWorktree(run, work) {
  const { worktree, git, repository } = run;
  try {
    return await executeWork(run, work, worktree);
  } finally {
    await git.takeOverWork(repository, worktree, { signal: run.signal });
    await git.emptyTemporaryFolder(worktree.admin);
  }
}

/** @param {NodeRun} run */
export const runPrechecks = (run) => executeInWorktree(run, run.node.prechecks);

/** @param {NodeRun} run */
export async function runWork(run) {
  if (wasInterrupted(run)) {
    await restartInNewWorktree(run, async () => {
      if (run.node.prechecks) await runPrechecks(run);
    });
  }
  return executeInWorktree(run, run.node.work);
}

/**
 * What its checks have passed on, and how.
 * @param {NodeRun} run @param {{tree: string, tip: string}} found
 */
async function createTestRecord(run, { tree, tip }) {
  const { postchecks: checks } = run.node;
  const of = { plan: run.plan.id, name: run.logName("postchecks") };
  const digest = await run.services.plans.digests({ ...of, env: run.environment(checks.env) });
  return {
    tree,
    tip,
    command: run.formatWork(checks),
    exitCode: 0,
    digest,
    trace: run.traceparent,
  };
}

const MAX_IGNORED_NAMES = 5;

/** Of what a check has not seen, though the worktree has it. @param {NodeRun} run @param {string} checkout @returns {Promise<string>} "": nothing */
async function formatUnseen({ git, repository, plan, node, worktree }, checkout) {
  const { ignored, changed } = await git.inspectWorktree(repository, worktree, [worktree.commit]);
  const isThere = await Promise.all(ignored.map((name) => git.exists(`${checkout}/${name}`)));
  const unseen = ignored.filter((_, at) => !isThere[at]);
  const some = unseen.slice(0, MAX_IGNORED_NAMES).map((one) => visible(one));
  const more = unseen.length > some.length ? ` and ${unseen.length - some.length} more` : "";
  const left = `in the worktree, ignored by git and so not in the checkout: ${some.join(", ")}${more}`;
  const take = `copilot-tap plan retry ${plan.id}/${node.id} --take`;
  return [
    ...(some.length > 0 ? [left] : []),
    ...(changed
      ? [`changes in the worktree are not in the commit; to make them its work: ${take}`]
      : []),
  ].join("; ");
}

/** The checkout has what the commit has, and what the plan brings along. @param {NodeRun} run @param {import("../../git/worktrees.mjs").Worktree} checkout */
async function prepareCheckout(run, checkout) {
  const { plan, signal } = run;
  const lacking = await bringAlong(run, checkout, plan.facts.baseCommit);
  const isNew = run.fact("worktree") === undefined; // else it was told before
  if (isNew && lacking.length > 0) run.log(`tap: not brought: ${lacking.join(", ")}`);
  if (!plan.head.setup) return;
  await run.runSetup(plan.head.setup, checkout).catch((error) => {
    if (!(error instanceof PhaseFailed)) throw error;
    throw new PhaseFailed(error.code, `The setup for the checks: ${error.message}`, error.detail);
  });
  await plan.worktrees.restore(checkout, signal); // what it has changed is in no commit
}

/** Checks run on exactly one tree: nothing that is only in the worktree counts. @param {NodeRun} run @param {string} commit */
async function checkTree(run, commit) {
  const { node, plan, effect } = run;
  /** @param {any} error @param {string} checkout */
  const explain = async (error, checkout) => {
    if (!(error instanceof PhaseFailed)) throw error;
    const hasWorktree = run.fact("worktree")?.path;
    const unseen = hasWorktree ? await formatUnseen(run, checkout).catch(() => "") : "";
    const message = unseen ? `${error.message} (${unseen})` : error.message;
    const text =
      effect.lands && node.landsAgain
        ? formatRecheckFailure(plan.id, plan.head.targetBranch, message)
        : message;
    throw new PhaseFailed(error.code, text, error.detail);
  };
  return run.withCheckout(commit, async (checkout) => {
    try {
      await prepareCheckout(run, checkout);
      return await executeWork(run, node.postchecks, checkout);
    } catch (error) {
      return explain(error, checkout.path);
    }
  });
}

/**
 * A leaf is checked as it would land: what was tested stands in the journal, written by nobody but this.
 * @param {NodeRun} run
 */
export async function runPostchecks(run) {
  const { git, repository, effect, node } = run;
  if (!effect.lands) return checkTree(run, run.commit());
  if (node.landsAgain) await run.plan.settleResult(run.signal);
  const asked = { ...run.plan.landingOptions(), leaf: run.commit() };
  const found = await git.previewIntegration(repository, asked);
  // merge-ri says so: it is where a conflict is mended and tried again.
  if (found.status === "conflict") return { conflict: found.conflicts };
  const ended = await checkTree(run, found.merge);
  return { ...ended, tested: await createTestRecord(run, found) };
}

// ---- commit ----------------------------------------------------------------------------------------

/** A retry that begins here has nothing to commit, unless a person wants that: an edit has left it nothing else to do. @param {NodeRun} run */
export function commitWork(run) {
  const { from, before } = run.effect;
  const isTaken = before?.request?.take === true;
  const made = before?.phases.find((/** @type {any} */ one) => one.phase === "commit")?.detail;
  return from === "commit" && !isTaken && made?.commit ? made : commitWorktree(run, isTaken);
}

/** @param {NodeRun} run @param {boolean} isTaken its worktree was changed by hand */
async function commitWorktree(run, isTaken) {
  const { git, repository, node, plan, signal } = run;
  const { timeoutMs } = run.effect;
  const isFirst = run.fact("committing") === undefined;
  await run.recordStep({ committing: true }, { sync: true });
  const { evidence, problem } = await readEvidenceFile(run);
  const message = `${node.name}\n\nPlan: ${plan.name}`;
  const env = /** @type {Record<string, string>} */ (run.environment());
  if (isTaken)
    // and who has done that is the author
    for (const name of ["NAME", "EMAIL", "DATE"]) delete env[`GIT_AUTHOR_${name}`];
  const how = { message, env, timeoutMs, signal, isFirst };
  const made = await git.commitWork(repository, run.worktree, how);
  const left = await git
    .archiveUnreachableCommits(repository, run.worktree, made.commit)
    .catch((error) => {
      run.log(`commits that it has left were not looked for: ${errorMessage(error)}`);
      return undefined;
    });
  await requireMerged(run, made.commit);
  if (made.changes.files.length === 0 && !node.expectsNoChanges && !evidence) {
    throw new PhaseFailed("NO_EVIDENCE", noEvidenceText(node.id, problem, left));
  }
  run.log(formatIgnoredWork(node.id, problem, left));
  if (made.commit === run.base()) await keepMerge(run, made.commit);
  const { insertions, deletions } = made.changes;
  return {
    commit: made.commit,
    changes: { files: made.changes.files.length, insertions, deletions },
    ...(evidence && { evidence }),
  };
}

// ---- merge-ri --------------------------------------------------------------------------------------

/** @param {NodeRun} run @param {any} found */
function createConflictError(run, found) {
  const { targetBranch } = run.plan.head;
  const side = found.side === "target" ? `the branch ${targetBranch}` : "what has landed";
  const other = `${side} (${found.other.slice(0, 10)})`;
  return new PhaseFailed(
    "MERGE_CONFLICT",
    `Its commit ${run.commit().slice(0, 10)} conflicts with ${other} in ${found.conflicts.join(", ")}. The commit keeps its ref. Retry the node from the start, with what ${inLine(targetBranch)} has now: copilot-tap plan retry ${run.plan.id}/${run.node.id} --from-start. Or, once the target can take the commit, without that option.`,
    { files: found.conflicts, ours: found.ours, theirs: found.theirs },
  );
}

/** What the node changes on its target, also where an earlier try has put it there. @param {NodeRun} run @param {any} taken */
async function countChanges({ git, repository, plan, node }, { again, tip, commit: result }) {
  const of = `${plan.id}/${node.id}`;
  const [from, to] = again ? await git.findSquashCommit(repository, result, of) : [tip, result];
  const { files, insertions, deletions } = await git.linesBetween(repository, from, to);
  return { files: files.length, insertions, deletions };
}

/** @param {NodeRun} run @param {import("./landing.mjs").Landing} landing @returns {Promise<object>} the detail of its end */
async function recordLanding(run, landing) {
  const { plan } = run;
  if (landing.state === "conflict") throw createConflictError(run, landing.found);
  if (landing.state === "stale") throw new RetryLater("stale", landing.message);
  if (landing.state === "refused") {
    const then = landing.code === "TARGET_GONE" ? ". Then retry the node." : "";
    throw new PhaseFailed(landing.code, `${landing.message}${then}`);
  }
  const { commit } = landing.taken;
  const changes = await countChanges(run, landing.taken);
  if (landing.state === "landed") return { landed: commit, changes };
  const { code, files } = landing;
  const isDirty = code === "DIRTY";
  const message = isDirty ? `${landing.message} Then: ${landCommand(plan.id)}` : landing.message;
  return { unlanded: { code, message, files }, result: commit, changes };
}

/** @param {NodeRun} run @param {string} leaf */
async function formatLeafMessage(run, leaf) {
  const { git, repository, plan, node } = run;
  const { base, target } = plan.landingOptions();
  const tip = await git.branchTip(repository, target);
  const since = [...new Set([base, plan.facts.baseCommit ?? base, tip ?? base])];
  const of = { plan: plan.id, planName: plan.name, node: node.id, name: node.name };
  return git.formatLandedMessage(repository, { ...of, leaf, from: run.base(), since });
}

/** @param {NodeRun} run */
export async function landNode(run) {
  const { git, repository, plan, node, signal } = run;
  const { tested, conflict } = run.phaseDetail("postchecks") ?? {};
  const landing = run.plan.landingOptions();
  const leaf = run.commit();
  try {
    if (node.postchecks && !tested && !conflict) {
      throw new RetryLater("stale", "nothing says that this was tested"); // a plan that was imported
    }
    await requireUnprotected(run.services, git, repository.root, landing.target);
    if (node.landsAgain || plan.unsettled) await plan.settleResult(signal);
    plan.unsettled = false;
    const expect = node.postchecks ? (tested ?? NOTHING_TESTED) : undefined;
    const message = await formatLeafMessage(run, leaf);
    const landed = await landNow(plan, { leaf, message, signal, ...(expect && { expect }) });
    return await recordLanding(run, landed);
  } catch (error) {
    // What has not landed here must not land with another leaf, on what it was not tested with.
    const create = plan.facts.createsTarget === true;
    await git
      .removePendingLeaves(repository, { ...landing, create, leaves: [leaf] })
      .catch(() => {});
    throw error;
  }
}
