// The feature host is killed while a plan runs, after some entry of its journal, again and again.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { waitFor } from "../../support/wait.mjs";
import { checkoutOf, gitIn, makeRepository, plansRig } from "./plans-rig.mjs";

/** Twelve nodes with joins, merges and two leaves. */
const NODES = [
  { id: "r1" },
  { id: "r2" },
  { id: "a1", dependencies: ["r1"] },
  { id: "a2", dependencies: ["r1", "r2"] },
  { id: "a3", dependencies: ["r2"] },
  { id: "b1", dependencies: ["a1", "a2"] },
  { id: "b2", dependencies: ["a2", "a3"] },
  { id: "c1", dependencies: ["b1"] },
  { id: "c2", dependencies: ["b1", "b2"] },
  { id: "d1", dependencies: ["c1", "c2"] },
  { id: "leaf1", dependencies: ["d1"], postchecks: "test -f d1.txt" },
  { id: "leaf2", dependencies: ["d1"], postchecks: "test -f leaf2.txt" },
];
const PLAN = {
  targetBranch: "feature/x",
  nodes: NODES.map((node) => ({ ...node, work: `echo ${node.id} > ${node.id}.txt` })),
};

/** Files and their content on a branch. @param {string} repo @param {string} branch */
const treeOf = (repo, branch) => gitIn(repo)("ls-tree", "-r", branch);

/** Changes with each entry. @param {string} home */
const journalOf = (home) =>
  ["", "-wal"]
    .map((end) => path.join(home, "tap", `plans.sqlite${end}`))
    .map((file) => (fs.existsSync(file) ? fs.readFileSync(file).toString("base64") : ""))
    .join();

test("a plan whose host is killed again and again ends as one that is left alone", async (t) => {
  const calm = await plansRig(t);
  const wanted = await calm.ended(await calm.create(PLAN));
  assert.equal(wanted.status, "succeeded", JSON.stringify(wanted));
  const tree = treeOf(calm.repo, "feature/x");
  const { repo } = makeRepository(t);
  const rig = await plansRig(t, { repo });
  const before = checkoutOf(repo);
  const planId = await rig.create(PLAN);
  let seen = journalOf(rig.home);
  for (let kills = 0; kills < 4; kills += 1) {
    const pid = await rig.hostPid();
    await waitFor(() => journalOf(rig.home) !== seen, { timeoutMs: 5000 }).catch(() => {});
    seen = journalOf(rig.home);
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // it is being replaced
    }
    await new Promise((resolve) => setTimeout(resolve, 150));
  }
  const status = await rig.ended(planId);
  assert.equal(status.status, "succeeded", JSON.stringify(status));
  assert.equal(treeOf(repo, "feature/x"), tree);
  assert.equal(gitIn(repo)("rev-list", "--count", "main..feature/x"), "2");
  assert.deepEqual(checkoutOf(repo), before);
  const left = () => fs.readdirSync(path.join(repo, ".worktrees"));
  await waitFor(() => left().length === 0, { what: () => left().join(", "), timeoutMs: 20_000 });
  const fsck = execFileSync("git", ["fsck", "--no-dangling"], { cwd: repo, encoding: "utf8" });
  assert.equal(fsck, "");
});
