// The last phase of a node, in a repository in which somebody else moves the target at the worst moment.

import assert from "node:assert/strict";
import { test } from "node:test";
import { PlanLifecycle } from "../../../js/features/plans/plan-manager.mjs";
import { RetryLater, PhaseFailed } from "../../../js/features/plans/errors.mjs";
import { landPlan as landWaiting, settleResult } from "../../../js/features/plans/landing.mjs";
import { NodeRun } from "../../../js/features/plans/node-runner.mjs";
import { landNode } from "../../../js/features/plans/phases.mjs";
import { WorktreeLifecycle } from "../../../js/features/plans/worktree-lifecycle.mjs";
import * as git from "../../../js/git/index.mjs";
import { createTarget } from "../../../js/git/landing.mjs";
import { commitOn, git as run, makeRepository } from "../git/rig.mjs";

const TARGET = "feature";

/** A leaf that was checked, and lands; before each try of `land`, `before` is called. */
async function makeLeaf(t, { before = (_tries) => {}, postchecks = true, apart = true } = {}) {
  const { root, repository, first } = await makeRepository(t);
  await createTarget(repository, TARGET, first);
  const landing = { plan: "p", target: TARGET, base: first, apart: () => apart };
  const commit = commitOn(root, [first], { one: "x\n" });
  const tested =
    postchecks && (await git.previewIntegration(repository, { ...landing, leaf: commit }));
  let tries = 0;
  const land = async (/** @type {any} */ ...args) => {
    await before((tries += 1));
    return git.land(.../** @type {Parameters<typeof git.land>} */ (args));
  };
  const parts = { git: { ...git, land }, repository };
  const head = { targetBranch: TARGET };
  const plan = { ...parts, id: "p", name: "x", facts: {}, head, landingOptions: () => landing };
  const leaf = /** @type {any} */ ({
    ...{ ...parts, plan },
    node: { id: "one", name: "one", ...(postchecks && { postchecks: {} }) },
    services: { worktree: { readProtected: async () => ({ patterns: [] }) } },
    ...{ base: () => first, commit: () => commit },
    phaseDetail: () => ({ tested }),
  });
  const move = (name = "other") => {
    const tip = commitOn(root, [run(root, "rev-parse", TARGET)], { [name]: "y\n" });
    run(root, "update-ref", `refs/heads/${TARGET}`, tip);
    return tip;
  };
  const files = (ref = TARGET) => run(root, "ls-tree", "--name-only", ref).split("\n");
  const isHeld = () => files("refs/tap/p/result").includes("one");
  return { root, repository, first, leaf, landing, move, files, isHeld, tries: () => tries };
}

test("what was not tested does not land: a target that moves at the last moment has the checks run again", async (t) => {
  const made = await makeLeaf(t, { before: () => made.move() });
  await assert.rejects(landNode(made.leaf), (error) => {
    assert.ok(error instanceof RetryLater);
    return error.outcome === "stale";
  });
  assert.equal(made.tries(), 1);
  assert.deepEqual(made.files(), ["a.txt", "b.txt", "other"]);
  assert.equal(made.isHeld(), false);
});

test("without checks it lands on what the target has become, as one commit", async (t) => {
  const before = (/** @type {number} */ tries) => tries === 1 && made.move();
  const made = await makeLeaf(t, { before, postchecks: false });
  const { landed, changes } = await landNode(made.leaf);
  assert.equal(landed, run(made.root, "rev-parse", TARGET));
  assert.deepEqual(changes, { files: 1, insertions: 1, deletions: 0 });
  assert.deepEqual(made.files(), ["a.txt", "b.txt", "one", "other"]);
  assert.equal(run(made.root, "rev-list", "--count", `${made.first}..${TARGET}`), "2");
});

test("a landed commit has no trailers of the plan's base, where the target began elsewhere", async (t) => {
  const { root, first, leaf } = await makeLeaf(t, { postchecks: false });
  const base = commitOn(root, [first], { two: "x\n" }, "Base\n\nReviewed-by: B <b@example.com>");
  const work = commitOn(root, [base], { one: "x\n" }, "Work\n\nCo-authored-by: A <a@example.com>");
  leaf.plan.facts.baseCommit = base;
  Object.assign(leaf, { base: () => base, commit: () => work });
  const { landed } = await landNode(leaf);
  const trailers = run(root, "show", "-s", "--format=%(trailers:only,unfold)", landed).split("\n");
  const names = trailers.filter(Boolean).map((line) => line.split(":")[0]);
  assert.deepEqual(names, ["Co-authored-by", "Plan", "Plan-Node"]);
});

test("a branch that is in the way of the target fails the node, with what to do", async (t) => {
  const made = await makeLeaf(t, { postchecks: false });
  made.leaf.plan.facts.createsTarget = true;
  Object.assign(made.landing, { target: "late/x" });
  made.leaf.plan.head.targetBranch = "late/x";
  run(made.root, "branch", "late");
  const message = /Rename or delete "late", and retry the node/;
  await assert.rejects(landNode(made.leaf), { code: "NAME_TAKEN", message });
  assert.equal(made.isHeld(), false, "no later leaf carries it along");
  run(made.root, "branch", "-D", "late");
  assert.match(String((await landNode(made.leaf)).landed), /^[0-9a-f]{40}$/);
});

test("a leaf without changes that fails takes none out that has the same commit", async (t) => {
  const { repository, landing, leaf, isHeld } = await makeLeaf(t, { postchecks: false });
  await git.integrate(repository, { ...landing, leaf: leaf.commit(), message: "it waits" });
  const statuses = { good: "succeeded", bad: "failed" };
  const nodes = Object.entries(statuses).map(([id, status]) => ({
    ...{ id, status, phase: "merge-ri", attempt: 1, dependents: [] },
  }));
  const plans = /** @type {any} */ ({
    openPlan: async () => ({ id: "p", git, repository, facts: {}, head: { targetBranch: TARGET } }),
    view: (/** @type {any} */ { view }) =>
      view === "graph" ? { nodes } : { commit: leaf.commit(), attempts: [] },
  });
  await settleResult(plans, "p");
  assert.equal(isHeld(), true);
  nodes[0].status = "failed";
  await settleResult(plans, "p");
  assert.equal(isHeld(), false);
});

test("a leaf that does not land for another reason is not landed with the next one", async (t) => {
  const before = () => {
    throw new PhaseFailed("LOCKED", "a lock");
  };
  const made = await makeLeaf(t, { before });
  await assert.rejects(landNode(made.leaf), { code: "LOCKED" });
  assert.equal(made.isHeld(), false);
});

test("a target that keeps moving is left alone, with nothing that was not tested in the result", async (t) => {
  const before = (/** @type {number} */ tries) => made.move(`other${tries}`);
  const made = await makeLeaf(t, { before, postchecks: false });
  await assert.rejects(landNode(made.leaf), RetryLater);
  assert.deepEqual([made.tries(), made.isHeld(), made.files().includes("one")], [5, false, false]);
});

test("behind a leaf that waits and was checked, it waits, too, once the target has moved", async (t) => {
  const made = await makeLeaf(t, { postchecks: false });
  const { repository, root, first, landing, leaf } = made;
  const waiting = commitOn(root, [first], { before: "x\n" });
  await git.integrate(repository, { ...landing, leaf: waiting, message: "before" });
  Object.assign(landing, { waiting: () => [waiting] });
  made.move();
  const { unlanded, landed } = await landNode(leaf);
  assert.deepEqual([landed, unlanded.code], [undefined, "MOVED"]);
  assert.match(
    unlanded.message,
    /To run the checks on both, and land it: copilot-tap plan land p$/,
  );
  assert.deepEqual(made.files(), ["a.txt", "b.txt", "other"]);
});

test("a host's start does not wait for a landing of a former host: a node waits before it lands", async (t) => {
  const { leaf } = await makeLeaf(t, { postchecks: false });
  /** @type {(AbortSignal | undefined)[]} */
  const signals = [];
  const settle = async (/** @type {AbortSignal | undefined} */ signal) => {
    signals.push(signal);
    if (signal?.aborted) throw new Error("it still goes on");
  };
  Object.assign(leaf.plan, {
    settleResult: settle,
    head: { ...leaf.plan.head, cleanUpSuccessfulWork: false },
  });
  /** @type {string[]} */
  const notes = [];
  const plans = /** @type {any} */ ({ openPlan: async () => leaf.plan });
  await new WorktreeLifecycle(plans, (text) => notes.push(text)).resume("p");
  assert.deepEqual([signals[0]?.aborted, notes], [true, ["plan p: it still goes on"]]);
  leaf.signal = new AbortController().signal;
  assert.match(String((await landNode(leaf)).landed), /^[0-9a-f]{40}$/);
  assert.deepEqual(signals.slice(1), [leaf.signal]);
});

test("what follows from a plan's end waits until the host ends, and is left to the next one then", async () => {
  /** @type {string[]} */
  const notes = [];
  const ending = new AbortController();
  const recoverLanding = async (/** @type {any[]} */ ...[, , signal]) => {
    assert.equal(signal.aborted, false);
    ending.abort();
    throw new Error("it still goes on");
  };
  const plan = { git: { recoverLanding }, head: { targetBranch: TARGET } };
  const plans = /** @type {any} */ ({ ending, openPlan: async () => plan });
  await new PlanLifecycle(plans, new Map(), {}, (text) => notes.push(text)).handleEnd("p");
  assert.deepEqual(notes, []);
});

test("the result of an ended plan is settled before what waits in it lands", async () => {
  const order = /** @type {string[]} */ ([]);
  let trouble = "another git works there";
  const plan = {
    ...{ id: "p", head: { targetBranch: TARGET }, facts: {}, repository: {}, unsettled: false },
    checks: () => false,
    landingOptions: () => ({}),
    settleResult: async () => {
      order.push("settle");
      if (trouble) throw new Error(trouble);
    },
    git: {
      checkResult: async () => ({ result: "r", follows: true }),
      integrate: async () => ({ status: "integrated", commit: "c" }),
      land: async () => (order.push("land"), { status: "landed", commit: "c" }),
    },
  };
  const plans = /** @type {any} */ ({
    openPlan: async () => plan,
    view: () => ({ leftToLand: true, endedAt: 5 }),
    preflight: { requireUnprotected: async () => {} },
    submitOrThrow: async () => {},
    lifecycle: { describe: async () => {} },
  });
  await assert.rejects(landWaiting(plans, "p"), { message: trouble });
  assert.deepEqual(order.splice(0), ["settle"]);
  trouble = "";
  assert.equal((await landWaiting(plans, "p")).commit, "c");
  assert.deepEqual(order, ["settle", "land"]);
});

/** A node whose agent ends so. @param {object} result @param {object[]} more steps */
async function runAgentNode(result, more) {
  const told = /** @type {any[]} */ ([]);
  const jobs = /** @type {any[]} */ ([]);
  const logged = /** @type {string[]} */ ([]);
  const runJob = async (/** @type {object} */ _cli, /** @type {object} */ job) => {
    jobs.push(job);
    return { usage: {}, ...result };
  };
  const plan = /** @type {any} */ ({
    id: "p",
    facts: {},
    head: { sandbox: "off" },
    git: {
      ...{ checkWorktreeLink: async () => {}, inspectFolders: async () => [] },
      ...{ hasStore: () => false, takeOverWork: async () => {}, diffWorktree: async () => ({}) },
      emptyTemporaryFolder: async () => {},
    },
    repository: { root: "/r" },
    cli: async () => ({}),
    readCheckout: async () => ({}),
    listChangedFiles: async () => ["a.txt"],
  });
  const steps = [{ worktree: { path: "/w", admin: "/a" } }, ...more];
  const node = { id: "a", name: "a", prechecks: { type: "agent", instructions: "x" } };
  const effect = { node, phase: "prechecks", current: { attempt: 1, steps, phases: [] } };
  const writeLog = async (/** @type {{text: string}} */ { text }) => void logged.push(text);
  const nodeRun = new NodeRun(
    /** @type {any} */ ({
      ...{ plan, effect, onAgent: () => {}, onLine: () => {} },
      services: { workers: { use: async () => ({ run: runJob }) }, plans: { writeLog } },
      spans: { startPhase: async () => ({ traceparent: "", end: () => {} }) },
      tell: async (/** @type {any} */ input) => void told.push(input),
    }),
  );
  await nodeRun.runPhase();
  return { told, jobs, logged };
}

test("an agent at its model's limit is interrupted for as long as the provider says", async (t) => {
  t.mock.timers.enable({ apis: ["Date"], now: 1_000_000 });
  const error = { code: "RATE_LIMITED", message: "429" };
  const result = { status: "rateLimited", retryAfter: 8, error };
  const { told, logged } = await runAgentNode(result, [{ sessionId: "s" }]);
  const { outcome, until, detail } = told.at(-1);
  assert.match(detail.note, /: a\.txt$/);
  assert.deepEqual(logged, [`tap: ${detail.note}\n`]);
  assert.deepEqual([outcome, until], ["interrupted", 1_008_000]);
});

test("an agent whose session never had a turn begins another one", async () => {
  const result = { status: "failed", turns: 0, error: { code: "NO_LOGIN", message: "x" } };
  const first = await runAgentNode(result, []);
  const steps = first.told.filter(({ input }) => input === "step").map(({ detail }) => detail);
  const second = await runAgentNode({ ...result, turns: 1 }, steps);
  const [before, after] = [first, second].map(({ jobs }) => jobs[0]);
  assert.equal(after.resume, false);
  assert.notEqual(after.sessionId, before.sessionId);
  const more = second.told.filter(({ input }) => input === "step").map(({ detail }) => detail);
  const third = await runAgentNode({ ...result, turns: 0 }, [...steps, ...more]);
  assert.deepEqual([third.jobs[0].resume, third.jobs[0].sessionId], [true, after.sessionId]);
});
