// What waits for the user in plans, and what comes of his decision.

import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";
import { waitFor } from "../../support/wait.mjs";
import { flagFile, plansRig } from "./plans-rig.mjs";

/** @param {any} rig @returns {Promise<any[]>} */
const listItems = async ({ control }) => (await control.request("inbox.list", {})).items;

/** @param {any} rig @param {{id: string, digest: string}} item @param {object} given */
const answer = ({ control }, { id, digest }, given) =>
  control.request("inbox.answer", { id, digest, ...given });

test("a node that failed waits with what is behind it; a retry from the inbox removes the item", async (t) => {
  const rig = await plansRig(t);
  const flag = flagFile(rig.repo, "good");
  const nodes = [
    { id: "a", work: `echo cannot compile; test -e '${flag}'`, expectsNoChanges: true },
    { id: "b", dependencies: ["a"], work: "true", expectsNoChanges: true },
    { id: "c", dependencies: ["b"], work: "true", expectsNoChanges: true },
  ];
  const planId = await rig.create({ nodes });
  await rig.ended(planId);
  const [item] = await listItems(rig);
  assert.deepEqual(
    [item.kind, item.class, item.who.plan, item.who.node, item.terminal],
    ["node-failed", "blocks", planId, "a", `copilot-tap plan retry ${planId}/a`],
  );
  assert.match(item.title, /2 nodes wait for it$/);
  assert.match(item.text, /cannot compile/);
  assert.ok(item.at > Date.now() - 600_000);
  await assert.rejects(answer(rig, item, { act: "retry-hint" }), { code: "INVALID" });
  fs.writeFileSync(flag, "");
  await answer(rig, item, { act: "retry" });
  await waitFor(async () => (await listItems(rig)).length === 0, { what: "no item" });
  assert.equal((await rig.ended(planId)).status, "succeeded");
  await assert.rejects(answer(rig, item, { act: "retry" }), { code: "GONE" });
});

test("a paused plan goes on, a result lands, and each is an item until then", async (t) => {
  const rig = await plansRig(t);
  rig.git("branch", "out");
  const flag = flagFile(rig.repo, "go");
  const nodes = [
    { id: "a", work: `until test -e '${flag}'; do sleep 0.05; done; echo first > first.txt` },
    { id: "b", dependencies: ["a"], work: "echo second > second.txt" },
  ];
  const planId = await rig.create({ targetBranch: "out", nodes });
  await rig.ask("pause_copilot_plan", { planId });
  fs.writeFileSync(flag, "");
  const [item] = await listItems(rig);
  assert.deepEqual([item.kind, item.class], ["paused", "decides"]);
  await answer(rig, item, { act: "resume" });
  await rig.ended(planId);
  assert.deepEqual(await listItems(rig), []);
  assert.equal(rig.git("show", "out:second.txt"), "second");
});

test("a result whose target is checked out with changes waits to land, and lands by the inbox", async (t) => {
  const rig = await plansRig(t);
  const planId = await rig.create({
    targetBranch: "main",
    nodes: [{ id: "a", work: "echo new > a.txt" }],
  });
  fs.writeFileSync(`${rig.repo}/a.txt`, "mine\n");
  await rig.ended(planId);
  const [item] = await listItems(rig);
  assert.deepEqual([item.kind, item.who.plan], ["land", planId]);
  assert.match(item.acts[0].confirm, /main/);
  await assert.rejects(answer(rig, item, { act: "land" }));
  rig.git("checkout", "--quiet", "--", "a.txt");
  const [again] = await listItems(rig);
  await answer(rig, again, { act: "land" });
  assert.equal(rig.git("show", "main:a.txt"), "new");
  assert.deepEqual(await listItems(rig), []);
});
