// What a retry of checks runs on: the node's commit, whatever was done in its worktree meanwhile.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { plansRig } from "./plans-rig.mjs";

/**
 * A node whose check fails on what it has committed.
 * @param {import("node:test").TestContext} t @param {object} [plan]
 */
async function makeFailed(t, plan = {}) {
  const rig = await plansRig(t);
  const node = { id: "a", work: "echo bad > a.txt", postchecks: "cat a.txt; grep -q good a.txt" };
  const planId = await rig.create({ nodes: [node], ...plan });
  const { status } = await rig.ended(planId);
  assert.equal(status, "failed");
  const worktree = path.join(rig.repo, ".worktrees", `${planId}-a-1`);
  const retry = async () => {
    await rig.ask("retry_copilot_node", { planId, nodeId: "a" });
    return rig.ended(planId);
  };
  const archive = `refs/tap/kept/${planId}/a`;
  return { ...rig, planId, worktree, retry, archive };
}

for (const [how, plan] of Object.entries({
  "a node that lands nowhere": {},
  "a node that lands": { targetBranch: "out" },
})) {
  test(`${how}: its checks run on its commit, and an edit in its worktree is archived`, async (t) => {
    const { git, worktree, retry, archive, ask, planId, repo } = await makeFailed(t, plan);
    fs.writeFileSync(path.join(worktree, "a.txt"), "good\n");
    fs.writeFileSync(path.join(worktree, "mine.txt"), "mine\n");
    const { status, nodes } = await retry();
    assert.equal(status, "failed", "the commit is as it was");
    assert.equal(git("show", `${archive}:a.txt`), "good");
    assert.equal(git("show", `${archive}:mine.txt`), "mine");
    assert.equal(nodes[0].status, "failed");
    const { text } = await ask("get_copilot_node_logs", { planId, nodeId: "a" });
    assert.match(String(text ?? ""), new RegExp(archive));
    const again = path.join(repo, ".worktrees", `${planId}-a-1`);
    assert.equal(fs.existsSync(path.join(again, "mine.txt")), false);
  });
}

test("a commit that a person has made in the worktree can be found again", async (t) => {
  const { git, worktree, retry, archive } = await makeFailed(t, { targetBranch: "out" });
  fs.writeFileSync(path.join(worktree, "a.txt"), "good\n");
  git("-C", worktree, "commit", "--quiet", "--all", "--message=by hand");
  const made = git("-C", worktree, "rev-parse", "HEAD");
  assert.equal((await retry()).status, "failed");
  assert.equal(git("merge-base", made, archive), made);
});

test("what the checks themselves leave is not there when they run again", async (t) => {
  const rig = await plansRig(t);
  const postchecks = "test ! -e left.txt || exit 3; echo x > left.txt; echo y >> a.txt; exit 4";
  const node = { id: "a", work: "echo work > new.txt", postchecks };
  const planId = await rig.create({ nodes: [node], targetBranch: "out" });
  await rig.ended(planId);
  await rig.ask("retry_copilot_node", { planId, nodeId: "a" });
  await rig.ended(planId);
  const { exitCode } = await rig.ask("get_copilot_node_failure_context", { planId, nodeId: "a" });
  assert.equal(exitCode, 4);
});

test("a node that conflicts with what has landed begins with that when it is retried from the start", async (t) => {
  const { ask, create, ended, git } = await plansRig(t);
  git("branch", "out");
  // Both write the same line; the second adds to what it finds once the first is there.
  const nodes = ["one", "two"].map((id) => ({
    id,
    work: `if grep -q by a.txt; then echo "and by ${id}" >> a.txt; else echo "by ${id}" > a.txt; fi`,
  }));
  const planId = await create({ targetBranch: "out", nodes });
  const { nodes: seen } = await ended(planId);
  const failed = seen.find((/** @type {any} */ { status }) => status === "failed").id;
  const why = await ask("get_copilot_node_failure_context", { planId, nodeId: failed });
  assert.equal(why.error.code, "MERGE_CONFLICT");
  await ask("retry_copilot_node", { planId, nodeId: failed, from: "start" });
  assert.equal((await ended(planId)).status, "succeeded");
  const other = failed === "one" ? "two" : "one";
  assert.equal(git("show", "out:a.txt"), `by ${other}\nand by ${failed}`);
  assert.equal(git("rev-list", "--count", "main..out"), "2");
});
