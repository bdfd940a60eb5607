// Pages of what a plan has: each node and group comes once, whatever happens between two of them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { plansRig } from "./plans-rig.mjs";

const COUNT = 250;

/** @param {any} one */
const idOf = ({ id, group }) => id ?? group;

/** @param {import("node:test").TestContext} t @param {string} list of an answer */
async function rigOf(t, list) {
  const { create, ask } = await plansRig(t);
  const nodes = Array.from({ length: COUNT }, (_, n) => ({
    ...{ id: `n${n}`, work: "true", group: `g${String(n).padStart(3, "0")}` },
    dependencies: n === 0 ? [] : ["n0"],
  }));
  const planId = await create({ startPaused: true, nodes });
  /** @param {number} n */
  const cancel = async (n) => {
    const group = `g${String(n).padStart(3, "0")}`;
    assert.deepEqual((await ask("cancel_copilot_group", { planId, group })).canceled, [`n${n}`]);
  };
  /** @param {string} tool @param {object} args @param {(at: number, page: any) => unknown} between */
  const pages = async (tool, args, between) => {
    /** @type {string[]} */
    const seen = [];
    for (let [cursor, at] = ["", 1]; ; at += 1) {
      const page = await ask(tool, { planId, ...args, ...(cursor && { cursor }) });
      assert.ok(page[list], JSON.stringify(page));
      seen.push(...page[list].map(idOf));
      ({ cursor } = page);
      if (cursor === undefined) return seen;
      await between(at, page);
    }
  };
  return { planId, ask, nodes, cancel, pages };
}

test("nodes that change or are added between two pages of a status come once each", async (t) => {
  const { planId, ask, nodes, cancel, pages } = await rigOf(t, "nodes");
  await cancel(240);
  const shown = await pages("get_copilot_plan_status", {}, async (at, page) => {
    assert.equal(page.omitted, at === 1 ? COUNT - 100 : COUNT + 1 - 200);
    if (at > 1) return;
    // What waits comes last.
    assert.deepEqual(page.nodes.slice(0, 3).map(idOf), ["n0", "n240", "n1"]);
    await cancel(3); // it was shown
    await cancel(150); // it was not
    await cancel(249);
    const late = { planId, id: "late", work: "true" };
    assert.equal((await ask("create_copilot_node", late)).id, "late");
  });
  assert.deepEqual([...new Set(shown)], shown);
  assert.deepEqual(shown.toSorted(), [...nodes.map(idOf), "late"].toSorted());
});

test("nodes that leave a status between two pages hide no other one", async (t) => {
  const { nodes, cancel, pages } = await rigOf(t, "nodes");
  const status = "pending"; // all but the first
  const shown = await pages("list_copilot_nodes", { status }, async (at, page) => {
    assert.equal(page.omitted, COUNT - 1 - at * 100);
    for (const n of [5, 6, 99].map((one) => one + at * 100 - 100)) await cancel(n); // were shown
  });
  assert.deepEqual(shown, nodes.slice(1).map(idOf));
});

test("groups that are added between two pages move no other one", async (t) => {
  const { planId, ask, nodes, pages } = await rigOf(t, "groups");
  const shown = await pages("list_copilot_groups", {}, async (at) => {
    const groups = [`a${at}`, `g000/x${at}`, `z${at}`];
    const added = groups.map((group, n) => ({ id: `at${at}-${n}`, work: "true", group }));
    await ask("add_copilot_nodes", { planId, nodes: added });
  });
  assert.deepEqual(shown, [...nodes.map(({ group }) => group), "z1", "z2"]);
});

test("the nodes of a new plan go on with the cursor of its answer", async (t) => {
  const { ask } = await plansRig(t);
  const nodes = Array.from({ length: 520 }, (_, n) => ({ id: `n${n}`, work: "true" }));
  const made = await ask("create_copilot_plan", { name: "big", startPaused: true, nodes });
  const { planId, cursor } = made;
  await ask("create_copilot_node", { planId, id: "late", work: "true" });
  const { nodes: rest } = await ask("get_copilot_plan_status", { planId, cursor });
  assert.deepEqual([...made.nodes, ...rest].map(idOf), [...nodes.map(idOf), "late"]);
});

test("a cursor of nodes or groups that no answer had is refused", async (t) => {
  const { planId, ask } = await rigOf(t, "nodes");
  const status = (/** @type {object} */ args) => ask("get_copilot_plan_status", args);
  const hostile = ["", "zz", "-1", "250", "0,0", "0,9-5", "0,5,4", "0,1-250", "1,2-201", "1e2"];
  for (const cursor of [...hostile, "9".repeat(5000), `0${",9".repeat(5000)}`]) {
    const { code, text } = await status({ planId, cursor });
    assert.equal(code, "INVALID_ARGUMENTS", cursor);
    assert.match(text, /UNKNOWN_CURSOR: cursor: "[^"]{0,64}" is not that of an answer; without it/);
  }
  for (const [tool, args] of /** @type {[string, object][]} */ ([
    ["list_copilot_nodes", { cursor: "0,5" }],
    ["list_copilot_groups", { cursor: "none" }],
    ["get_copilot_plan_status", { nodes: ["n1"], cursor: "1" }],
  ])) {
    assert.match((await ask(tool, { planId, ...args })).text, /UNKNOWN_CURSOR/, tool);
  }
  assert.equal((await status({ planId, cursor: "0,1-100" })).nodes[0].id, "n0");
});
