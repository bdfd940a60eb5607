// Hosts are killed while a plan runs. Each kind of write to the journal has its kill here, one after the other in two
// runs of a small plan; plans-crash.long.test.mjs kills both hosts at many writes of a larger one.

import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";
import { waitFor } from "../../support/wait.mjs";
import { faultyRig, FEW_NODES, runWithFaults } from "./plan-faults.mjs";
import { kill, testKills } from "./plan-kills.mjs";
import { plansRig, flagFile } from "./plans-rig.mjs";

// Each process that opens the journal is killed by the next order. All are on the way of one node after the other, so
// that no write has come before its order does.
testKills(
  [
    {
      name: "when it is made and begins",
      orders: [
        kill("before", "create"),
        kill("before", "describe", "both"),
        kill("before", "recover"),
        kill("after", "began r1"),
        kill("before", "step r1", "both"),
      ],
    },
    {
      name: "when its phases end",
      orders: [
        kill("before", "phase-ended r1 prechecks succeeded", "both"),
        kill("after", "phase-ended r1 work succeeded"),
        kill("before", "phase-ended d1 merge-fi succeeded", "both"),
        kill("after", "phase-ended leaf1 postchecks succeeded"),
        kill("after", "phase-ended leaf1 merge-ri succeeded", "both"),
      ],
    },
  ],
  FEW_NODES,
);

test("a host that is killed when a node has succeeded: its worktree is removed all the same", async (t) => {
  const orders = [kill("after", "phase-ended r2 commit succeeded")];
  const { problems, kills } = await runWithFaults(t, orders, FEW_NODES);
  assert.equal(kills.length, 1);
  assert.deepEqual(problems, []);
});

test("a host that is killed when a plan has ended: the next one lets the gateway go and leaves nothing", async (t) => {
  const orders = [{ ...kill("before", "describe"), nth: 2 }];
  const { problems, kills } = await runWithFaults(t, orders, FEW_NODES);
  assert.equal(kills.length, 1);
  assert.deepEqual(problems, []);
});

test("a program that a crash cuts off begins again, not on top of what it had done", async (t) => {
  const { ask, create, ended, repo, git, host, hostPid } = await plansRig(t, { processes: true });
  const [flag, may] = ["began", "may"].map((name) => flagFile(repo, name));
  const begins = `echo one >> new.txt; echo one >> a.txt; echo x >> ${flag}`;
  const ends = `until test -f ${may}; do sleep 0.05; done; echo two >> new.txt`;
  const planId = await create({
    targetBranch: "feature/x",
    nodes: [{ id: "a", work: `${begins}; ${ends}` }],
  });
  const begun = (/** @type {number} */ times) =>
    waitFor(() => fs.readFileSync(flag, "utf8") === "x\n".repeat(times), { what: () => host.log });
  await begun(1);
  process.kill(await hostPid(), "SIGKILL");
  await begun(2);
  fs.writeFileSync(may, "");
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
  const flag = flagFile(repo, "began");
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
  const orders = [kill("after", "phase-ended r1 merge-fi succeeded", "gateway")];
  const { problems, kills } = await runWithFaults(t, orders, FEW_NODES);
  assert.equal(kills.length, 1);
  assert.deepEqual(problems, []);
});

test("the next session of the folder hears of a plan that ended while nobody was there", async (t) => {
  const rig = await faultyRig(t, []);
  const flag = flagFile(rig.repo, "may");
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
  const flag = flagFile(rig.repo, "may");
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
  const { ask, create, ended, repo } = await faultyRig(t, [kill("after", "retry a")]);
  const flag = flagFile(repo, "may");
  const planId = await create({ nodes: [{ id: "a", work: `test -f ${flag} && echo x > x.txt` }] });
  assert.equal((await ended(planId)).status, "failed");
  fs.writeFileSync(flag, "");
  await ask("retry_copilot_node", { planId, nodeId: "a" }).catch(() => {}); // it is there already
  assert.equal((await ended(planId)).status, "succeeded");
});
