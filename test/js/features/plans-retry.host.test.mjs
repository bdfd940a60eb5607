// Retries of a node, where somebody or something has changed what it began with.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { plansRig } from "./plans-rig.mjs";

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

test("a node that is retried from the start keeps the base of its plan, beside what has landed", async (t) => {
  const { ask, create, ended, git } = await plansRig(t);
  git("checkout", "--quiet", "-b", "feature");
  git("commit", "--quiet", "--allow-empty", "--message=feature");
  const base = git("rev-parse", "HEAD");
  git("checkout", "--quiet", "main");
  git("branch", "out");
  const work = `git merge-base --is-ancestor ${base} HEAD || exit 7; test -e .git-never || exit 4`;
  const nodes = [{ id: "a", work }];
  const planId = await create({ baseBranch: "feature", targetBranch: "out", nodes });
  for (const from of ["failed-phase", "start"]) {
    await ended(planId);
    const { exitCode } = await ask("get_copilot_node_failure_context", { planId, nodeId: "a" });
    assert.equal(exitCode, 4, from);
    await ask("retry_copilot_node", { planId, nodeId: "a", from: "start" });
  }
  await ended(planId);
  const { exitCode } = await ask("get_copilot_node_failure_context", { planId, nodeId: "a" });
  assert.equal(exitCode, 4);
});

test("where the target conflicts with what a node depends on, a retry from the start begins without it", async (t) => {
  const { ask, create, ended, git, repo } = await plansRig(t);
  git("branch", "out");
  const nodes = [
    { id: "first", work: "echo first > a.txt" },
    { id: "last", dependencies: ["first"], work: "exit 4" },
  ];
  const planId = await create({ targetBranch: "out", nodes });
  await ended(planId);
  git("checkout", "--quiet", "out");
  fs.writeFileSync(path.join(repo, "a.txt"), "theirs\n");
  git("commit", "--quiet", "--all", "--message=theirs");
  git("checkout", "--quiet", "main");
  await ask("retry_copilot_node", { planId, nodeId: "last", from: "start" });
  await ended(planId);
  const why = await ask("get_copilot_node_failure_context", { planId, nodeId: "last" });
  assert.deepEqual([why.phase, why.exitCode], ["work", 4]);
});
