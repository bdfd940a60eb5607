// The fields of a plan, of a node and of each kind of work: the schema that a model sees and the engine's reader have
// the same ones. The engine lists its own where it refuses another.

import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import { NODE_KEYS, PLAN_KEYS, TOOLS } from "../../../js/features/plans/tool-schemas.mjs";
import { addon } from "../../../js/lib/addon.mjs";
import { CACHES } from "../../../js/process/sandbox.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

const WRONG = "qqqqqqqq";
const { properties } = /** @type {any} */ (TOOLS.create_copilot_plan[1]);
const node = properties.nodes.items.properties;

/** What the engine lists behind its problems of a plan, by their paths. @param {import("node:test").TestContext} t @param {object} plan */
async function listKnown(t, plan) {
  const plans = new addon.Plans({ file: path.join(temporaryFolder(t), "plans.sqlite") });
  t.after(() => plans.close());
  plans.open();
  const refusal = await plans.input(JSON.stringify({ input: "check", plan }), 1, 2 ** 40);
  const { problems } = JSON.parse(String(refusal));
  const listed = problems.map((/** @type {any} */ { path: place, message }) => [
    place,
    message.split("There are: ")[1]?.split(", ").toSorted(),
  ]);
  return Object.fromEntries(listed);
}

/** Of a kind of work, as the model is told of it. @param {string} kind */
const listWorkFields = (kind) => {
  const [, fields = ""] =
    new RegExp(`{type: "${kind}", ([^}]*)}`).exec(node.work.description) ?? [];
  return ["type", ...fields.split(", ")].toSorted();
};

test("a plan, a node and each kind of work have the same fields for the model and the engine", async (t) => {
  const kinds = { agent: "agent", shell: "shell", process: "process", tool: "tool" };
  const plan = {
    [WRONG]: 1,
    nodes: [
      { [WRONG]: 1, caches: [WRONG] },
      ...Object.keys(kinds).map((type) => ({ work: { type, [WRONG]: 1 } })),
    ],
  };
  const known = await listKnown(t, plan);
  assert.deepEqual(known[WRONG], [...PLAN_KEYS, "nodes"].toSorted());
  assert.deepEqual(known[`nodes[0].${WRONG}`], NODE_KEYS.toSorted());
  assert.deepEqual(known["nodes[0].caches[0]"], properties.caches.items.enum.toSorted());
  assert.deepEqual(Object.keys(CACHES).toSorted(), properties.caches.items.enum.toSorted());
  for (const [at, kind] of Object.keys(kinds).entries())
    assert.deepEqual(known[`nodes[${at + 1}].work.${WRONG}`], listWorkFields(kind), kind);
});
