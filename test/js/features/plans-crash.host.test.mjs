// Both hosts, that of the gateway and that of the features, are killed while a plan runs, at some of the writes of its
// journal. `npm run faults` has them all.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { waitFor } from "../../support/wait.mjs";
import { contained, faultyRig, runWithFaults } from "./plan-faults.mjs";
import { plansRig } from "./plans-rig.mjs";

/** Of about 95, more or less as it happens to go. */
const AT = [1, 2, 3, 10, 18, 27, 36, 45, 54, 63, 72, 81];

const killed = (/** @type {"before" | "after"} */ when, /** @type {string} */ at) => ({
  ...{ at, when },
  whom: /** @type {const} */ ("feature-host"),
});

describe("a plan whose hosts are killed at a write of its journal", { concurrency: 2 }, () => {
  const undisturbed = contained((t) => runWithFaults(t, []));

  for (const [index, at] of AT.entries()) {
    const when = index % 2 === 0 ? "after" : "before";
    test(`ends as one that is left alone: ${when} write ${at}`, async (t) => {
      const { result, problems, kills } = await runWithFaults(t, [{ at, when, whom: "both" }]);
      assert.equal(kills.length, 1);
      assert.deepEqual(problems, [], `killed ${when} ${kills[0].what}`);
      assert.deepEqual(result, (await undisturbed).result);
    });
  }
});

test("a host that is killed when a node has succeeded: its worktree is removed all the same", async (t) => {
  const orders = [killed("after", "phase-ended r2 commit succeeded")];
  const { problems, kills } = await runWithFaults(t, orders);
  assert.equal(kills.length, 1);
  assert.deepEqual(problems, []);
});

test("a host that is killed when a plan has ended: the next one lets the gateway go and leaves nothing", async (t) => {
  const orders = [{ ...killed("before", "describe"), nth: 2 }];
  const { problems, kills } = await runWithFaults(t, orders);
  assert.equal(kills.length, 1);
  assert.deepEqual(problems, []);
});

test("a program that a crash cuts off begins again, not on top of what it had done", async (t) => {
  const { ask, create, ended, repo, git, host, hostPid } = await plansRig(t, { processes: true });
  const flag = path.join(repo, ".git", "began");
  const planId = await create({
    targetBranch: "feature/x",
    nodes: [
      {
        id: "a",
        work: `echo one >> new.txt; echo one >> a.txt; echo x >> ${flag}; sleep 3; echo two >> new.txt`,
      },
    ],
  });
  await waitFor(() => fs.existsSync(flag), { what: () => host.log });
  process.kill(await hostPid(), "SIGKILL");
  assert.equal((await ended(planId)).status, "succeeded");
  assert.equal(fs.readFileSync(flag, "utf8"), "x\nx\n", "it began twice");
  assert.equal(git("show", "feature/x:new.txt"), "one\ntwo");
  assert.equal(git("show", "feature/x:a.txt"), "a\none");
  const kept = `refs/tap/kept/${planId}/a`;
  assert.equal(git("show", `${kept}:new.txt`), "one", "what it had done is kept");
  const { text } = await ask("get_copilot_node_logs", { planId, nodeId: "a" });
  assert.match(text, /the work was interrupted, and begins again; what it had done is in refs/);
});

test("a program that a crash cuts off and that ends late has no part in what begins again", async (t) => {
  const { create, ended, repo, git, host, hostPid } = await plansRig(t, { processes: true });
  const flag = path.join(repo, ".git", "began");
  const write = "i=0; while [ $i -lt 40 ]; do echo $$ >> pids.txt; i=$((i+1)); sleep 0.1; done";
  const planId = await create({
    targetBranch: "feature/x",
    nodes: [{ id: "a", work: `trap '' TERM; echo x >> ${flag}; ${write}` }],
  });
  await waitFor(() => fs.existsSync(flag), { what: () => host.log });
  process.kill(await hostPid(), "SIGKILL");
  assert.equal((await ended(planId)).status, "succeeded");
  const lines = git("show", "feature/x:pids.txt").split("\n");
  assert.deepEqual([lines.length, new Set(lines).size], [40, 1]);
});

test("a gateway that is killed when a command is to be checked: no node fails of that", async (t) => {
  const at = "phase-ended r1 merge-fi succeeded";
  const { problems, kills } = await runWithFaults(t, [{ at, when: "after", whom: "gateway" }]);
  assert.equal(kills.length, 1);
  assert.deepEqual(problems, []);
});

test("the next session of the folder hears of a plan that ended while nobody was there", async (t) => {
  const rig = await faultyRig(t, []);
  const flag = path.join(rig.repo, ".git", "may");
  const nodes = [{ id: "a", work: `until test -f ${flag}; do sleep 0.05; done; echo x > x.txt` }];
  await rig.create({ nodes, targetBranch: "feature/x" });
  const { session, host } = rig;
  session.send({ type: "end", reason: "it is closed" });
  session.close();
  await waitFor(async () => (await rig.control.inspect()).sessions.length === 0);
  fs.writeFileSync(flag, "");
  await waitFor(async () => (await rig.control.request("holds.list", {})).length === 0);
  host.process.kill("SIGKILL");
  await host.gone;
  await rig.start();
  const told = await rig.session.waitFor("inject");
  assert.match(told.prompt, /Plan p\w+ \(test\) ended while no session was here: succeeded/);
});

test("a session whose process was gone is not the last to hear of a plan's end", async (t) => {
  const rig = await faultyRig(t, []);
  const flag = path.join(rig.repo, ".git", "may");
  const nodes = [{ id: "a", work: `until test -f ${flag}; do sleep 0.05; done; echo x > x.txt` }];
  await rig.create({ nodes, targetBranch: "feature/x" });
  rig.session.close(); // without a word, as that of a CLI that is killed
  const seen = async () => (await rig.control.inspect()).sessions;
  await waitFor(async () => (await seen()).some(({ linked }) => !linked));
  fs.writeFileSync(flag, "");
  await waitFor(async () => (await rig.control.request("holds.list", {})).length === 0);
  const next = await rig.host.session(t, { cwd: rig.repo });
  assert.equal((await seen()).length, 2, "the first may come back");
  const told = await waitFor(() => next.events.find(({ type }) => type === "inject"));
  assert.match(told.prompt, /Plan p\w+ \(test\) ended while no session was here: succeeded/);
});

test("a plan that is retried after its end goes on after a crash", async (t) => {
  const { ask, create, ended, repo } = await faultyRig(t, [killed("after", "retry a")]);
  const flag = path.join(repo, ".git", "may");
  const planId = await create({ nodes: [{ id: "a", work: `test -f ${flag} && echo x > x.txt` }] });
  assert.equal((await ended(planId)).status, "failed");
  fs.writeFileSync(flag, "");
  await ask("retry_copilot_node", { planId, nodeId: "a" }).catch(() => {}); // it is there already
  assert.equal((await ended(planId)).status, "succeeded");
});
