// The answer of a plan's status, whatever the plan has besides its nodes.

import assert from "node:assert/strict";
import { test } from "node:test";
import { truncateResult } from "../../../js/features/plans/views.mjs";
import { getPlanStatus } from "../../../js/features/plans/tools.mjs";

test("many overlaps leave room for the nodes", () => {
  const nodes = [...Array(40).keys()].map((n) => ({ id: `n${n}`, status: "succeeded" }));
  const files = [...Array(20).keys()].map((n) => `src/features/some/module/file-${n}.ts`);
  const overlaps = nodes.map(({ id }) => ({ node: id, other: "n0", files }));
  const plan = { planId: "p", name: "x", status: "succeeded", counts: {}, overlaps };
  const views = {
    plan: { ...plan, total: 40, facts: { baseBranch: "main" } },
    nodes: { nodes, places: [...nodes.keys()], rest: 40, total: 40 },
  };
  const plans = { view: (/** @type {{view: "plan" | "nodes"}} */ { view }) => views[view] };
  const answer = truncateResult(getPlanStatus(/** @type {any} */ (plans), "p"));
  assert.equal(answer.cut, undefined);
  assert.equal(answer.nodes.length, 40);
  assert.equal(answer.overlaps.length + answer.moreOverlaps, 40);
  assert.deepEqual(answer.overlaps[0], overlaps[0]);
});
