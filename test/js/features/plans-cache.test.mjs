// Plans that have ended leave the engine's memory, and come back from its journal.

import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import { addon } from "../../../js/lib/addon.mjs";
import { PlanCache } from "../../../js/features/plans/plan-manager.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

const MINUTE = 60_000;

/** @param {import("node:test").TestContext} t */
function startPlans(t) {
  const file = path.join(temporaryFolder(t), "plans.sqlite");
  const plans = new addon.Plans({ file });
  plans.open();
  t.after(() => plans.close());
  /** @param {object} input */
  const tell = async (input) => {
    assert.equal(await plans.input(JSON.stringify(input), 1000, 2 ** 40), "");
  };
  const view = (/** @type {string} */ planId) =>
    JSON.parse(plans.view(JSON.stringify({ view: "plan", planId })));
  /** Begun, and canceled unless it is to go on. @param {string} planId @param {{goesOn?: boolean}} [how] */
  const make = async (planId, { goesOn = false } = {}) => {
    const plan = { name: planId, startPaused: true, nodes: [{ id: "a", work: "true" }] };
    await tell({ input: "create", planId, plan, facts: {} });
    if (!goesOn) await tell({ input: "cancel", planId });
  };
  return { plans, view, make };
}

test("ended plans that nobody looked at for a while leave memory, and those that go on stay", async (t) => {
  const { plans, view, make } = startPlans(t);
  const loaded = new PlanCache({
    isEnded: (planId) => view(planId).endedAt !== undefined,
    unload: (planId) => plans.unload(planId),
    most: 2,
  });
  t.after(() => loaded.close());
  await make("goes-on", { goesOn: true });
  for (const planId of ["p1", "p2", "p3", "p4"]) await make(planId);
  for (const [at, planId] of ["goes-on", "p1", "p2", "p3", "p4"].entries())
    loaded.touch(planId, at);
  loaded.touch("p1", 10);

  loaded.evict(MINUTE + 2);
  assert.deepEqual(plans.state().plans, ["goes-on", "p1", "p3", "p4"], "p3 is not idle yet");
  loaded.evict(MINUTE + 10);
  assert.deepEqual(plans.state().plans, ["goes-on", "p1", "p4"]);
});

test("a plan that was unloaded is loaded as it was, and one that goes on is not unloaded", async (t) => {
  const { plans, view, make } = startPlans(t);
  await make("p1");
  await make("goes-on", { goesOn: true });
  const before = view("p1");
  assert.equal(plans.unload("p1"), true);
  assert.equal(view("p1").refused.code, "UNKNOWN_PLAN");
  assert.equal(plans.unload("p1"), false, "it is out already");
  assert.equal(plans.unload("goes-on"), false);
  assert.equal(await plans.load("p1", 2000, 2 ** 40), "");
  assert.deepEqual(view("p1"), before);
});
