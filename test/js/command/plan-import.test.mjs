// copilot-tap plan import holds a file to what a new plan is held to, and says all that is wrong with it.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { tapJson } from "../../support/cli-process.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { waitFor } from "../../support/wait.mjs";
import { setUp } from "./plan-rig.mjs";

const AGENT = { type: "agent", instructions: "x" };
const FREE = "0".repeat(40);

/** A plan as it was exported, paused or ended, which is here no more. @param {any} rig @param {object} given @returns {Promise<any>} */
async function exportedOf({ plan, at, detached }, given) {
  const id = await detached({ name: "x", ...given });
  await waitFor(async () => /: (paused|failed)/.test((await plan("show", id)).out));
  const { value } = await tapJson(["plan", "export", id], at);
  await plan("cancel", id, "--yes");
  await plan("delete", id, "--yes");
  return value;
}

test("an import is refused with all its mistakes at once, each with its place", async (t) => {
  const rig = await setUp(t, { config: { protectedBranches: ["main"] } });
  const { plan, file } = rig;
  const gone = path.join(temporaryFolder(t), "gone");
  const nodes = [{ id: "a", work: AGENT }];
  const value = await exportedOf(rig, { startPaused: true, nodes });
  const good = structuredClone(value);
  value.source.targetBranch = "main";
  value.source.copy = ["../secret"];
  value.source.nodes[0].work = {
    ...AGENT,
    allowedFolders: [".", gone],
    tools: ["tap_status"],
  };
  value.source.nodes[0].wrok = 1;
  value.plan.facts.baseCommit = FREE;
  const added = [
    { id: "b", work: { ...AGENT, allowedFolders: [gone] } },
    { id: "c", work: { type: "tool", tool: "create_copilot_plan" } },
  ];
  value.journal.unshift({ kind: "nodes-added", at: 1, detail: added });
  const { code, err } = await plan("import", file(value, "wrong.json"));
  assert.equal(code, 1);
  const places = [
    ...["source.nodes[0].wrok", "source.targetBranch", "source.nodes[0].work.allowedFolders[0]"],
    ...["source.nodes[0].work.allowedFolders[1]", "source.nodes[0].work.tools[0]"],
    ...["journal[0].detail[0].work.allowedFolders[0]", "journal[0].detail[1].work.tool"],
  ];
  const lines = err.split("\n");
  for (const one of places)
    assert.ok(
      lines.some((line) => line.startsWith(`${one}: `)),
      err,
    );
  assert.match(err, /allowedFolders\[0\]: "\." has your own checkout in it.* \(node a\)/);
  assert.match(err, /detail\[0\]\.work\.allowedFolders\[0\]: ".*gone" is not there.* \(node b\)/);
  assert.match(err, /tool: create_copilot_plan: tap's own tools .* \(node c\)/);
  assert.match(err, /the plan: copy: .*"\.\.\/secret"/);
  assert.match(err, /the plan: this repository has not 1 of the plan's commits/);
  assert.match((await plan("list")).out, /There is no plan/);

  good.source.nodes[0].work.allowedFolders = [gone];
  const single = await plan("import", file(good, "single.json"));
  assert.match(single.err, /source\.nodes\[0\]\.work\.allowedFolders\[0\]: .* is not there/);
  fs.mkdirSync(gone);
  assert.match((await plan("import", file(good, "single.json"))).out, /is here: paused/);
});

test("one that has ended is here to be looked at: what could not run again is a note", async (t) => {
  const rig = await setUp(t);
  const { plan, file } = rig;
  const gone = path.join(temporaryFolder(t), "gone");
  const nodes = [{ id: "a", work: "false" }];
  const value = await exportedOf(rig, { nodes });
  value.source.nodes[0].work = { ...AGENT, allowedFolders: [gone] };
  const { code, out, err } = await plan("import", file(value, "ended.json"));
  assert.equal(code, 0, err);
  assert.match(out, /note: source\.nodes\[0\]\.work\.allowedFolders\[0\]: ".*gone" is not there/);
  assert.match(out, /is here: failed/);
});
