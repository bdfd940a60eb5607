// Programs of `work` that a crash ends in the middle: nothing runs on top of their half.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { waitFor } from "../../support/wait.mjs";
import { plansRig, flagFile } from "./plans-rig.mjs";

/** Work that waits for a file. @param {string} file */
const until = (file) => `until test -f ${file}; do sleep 0.05; done`;

/** It has begun again, and may go on now. @param {{began: string, go: string}} files */
async function goOn({ began, go }) {
  await waitFor(() => fs.readFileSync(began, "utf8") === "x\nx\n", { what: "the second run" });
  fs.writeFileSync(go, "");
}

/** A file is appended to, and the host is killed. @param {Awaited<ReturnType<typeof plansRig>>} rig @param {string} flag */
async function killAt({ host, hostPid }, flag) {
  await waitFor(() => fs.existsSync(flag), { what: () => host.log });
  process.kill(await hostPid(), "SIGKILL");
}

/** @param {string} repo */
const filesIn = (repo) => ({
  may: flagFile(repo, "may"),
  began: flagFile(repo, "began"),
  go: flagFile(repo, "go"),
  prechecked: flagFile(repo, "prechecked"),
});

test("work that a retry has begun, and that a crash cuts off, does not go on top of its half", async (t) => {
  const rig = await plansRig(t, { processes: true });
  const { ask, create, ended, repo, git } = rig;
  const files = filesIn(repo);
  const { may, began, go } = files;
  const work = `test -f ${may} || exit 1; echo one >> new.txt; echo x >> ${began}; ${until(go)}; echo two >> new.txt`;
  const planId = await create({ targetBranch: "feature/x", nodes: [{ id: "a", work }] });
  assert.equal((await ended(planId)).status, "failed");
  fs.writeFileSync(may, "");
  await ask("retry_copilot_node", { planId, nodeId: "a" });
  await killAt(rig, began);
  await goOn(files);
  assert.equal((await ended(planId)).status, "succeeded");
  assert.equal(git("show", "feature/x:new.txt"), "one\ntwo");
  assert.equal(git("show", `refs/tap/kept/${planId}/a:new.txt`), "one");
});

test("work that is cut off begins in a worktree as it was, brought, set up and checked again", async (t) => {
  const rig = await plansRig(t, { processes: true });
  const { create, ended, repo, git } = rig;
  const files = filesIn(repo);
  const { began, prechecked, go } = files;
  fs.appendFileSync(path.join(repo, ".git", "info", "exclude"), ".env\nbuild/\n");
  fs.writeFileSync(path.join(repo, ".env"), "A\n");
  const planId = await create({
    targetBranch: "feature/x",
    copy: [".env"],
    setup: "set -e; mkdir build empty; touch build/set-up set-up",
    nodes: [
      {
        id: "a",
        prechecks: `echo x >> ${prechecked}; echo checked > checked.txt`,
        work: `set -e; grep -q A .env; echo B > .env; mkdir build/own; mkfifo pipe; test -f set-up
          test -f build/set-up; test -f checked.txt; echo one >> new.txt; git add .; git commit -qm one
          GIT_SEQUENCE_EDITOR=true git rebase -q -i --exec 'echo x >> ${began}; ${until(go)}' HEAD~1
          echo two >> new.txt`,
      },
    ],
  });
  await killAt(rig, began);
  await goOn(files);
  const { status, nodes } = await ended(planId);
  assert.equal(status, "succeeded", nodes[0].error);
  assert.equal(fs.readFileSync(began, "utf8"), "x\nx\n");
  assert.equal(fs.readFileSync(prechecked, "utf8"), "x\nx\n");
  assert.equal(git("show", "feature/x:new.txt"), "one\ntwo");
  assert.equal(git("show", `refs/tap/kept/${planId}/a:new.txt`), "one");
});

test("work that is cut off and cannot be kept fails until it can, also where it is retried", async (t) => {
  const rig = await plansRig(t, { processes: true });
  const { ask, create, ended, repo, git } = rig;
  const { began, go } = filesIn(repo);
  const commit = "git -c user.name=x -c user.email=x commit -q --allow-empty -m x";
  const work = `git init -q dep; (cd dep; ${commit}); echo one >> new.txt; echo x >> ${began}; ${until(go)}; rm -rf dep; echo two >> new.txt`;
  const nodes = [{ id: "a", work, retry: { max: 1 } }];
  const planId = await create({ targetBranch: "feature/x", nodes });
  await killAt(rig, began);
  const { status, nodes: seen } = await ended(planId);
  assert.equal(status, "failed");
  assert.match(seen[0].error, /cannot be kept aside\. .*"dep" is a separate repository/);
  assert.match(seen[0].error, /Then retry the node/);
  assert.equal(fs.readFileSync(began, "utf8"), "x\n", "nothing has run on top of it");
  fs.writeFileSync(go, "");
  const worktree = path.join(repo, ".worktrees", `${planId}-a-1`);
  fs.renameSync(path.join(worktree, "dep"), path.join(repo, ".git", "dep"));
  await ask("retry_copilot_node", { planId, nodeId: "a" });
  assert.equal((await ended(planId)).status, "succeeded");
  assert.equal(git("show", "feature/x:new.txt"), "one\ntwo");
  assert.equal(git("show", `refs/tap/kept/${planId}/a:new.txt`), "one");
});
