// The models that the tools' schemas offer for agents.

import assert from "node:assert/strict";
import { test } from "node:test";
import { AvailableModels } from "../../../js/features/plans/models.mjs";
import { TOOLS_WITH_MODELS, TOOLS, addModels } from "../../../js/features/plans/tool-schemas.mjs";

const ACCOUNT = {
  source: "account",
  models: [
    { id: "claude-sonnet-4.5", vendor: "anthropic", tier: "versatile" },
    { id: "gpt-5", vendor: "openai" },
    { id: "mine/one" },
  ],
};
const CATALOG = { source: "catalog", models: [{ id: "gpt-5", vendor: "openai" }] };
const TEXT = "anthropic: claude-sonnet-4.5 (versatile); openai: gpt-5; others: mine/one";

/** @param {any} [said] what a session answers; an error: it cannot say */
function rig(said = ACCOUNT) {
  const state = { asked: 0, changes: 0, saved: /** @type {any} */ (undefined) };
  const services = /** @type {any} */ ({
    files: {
      read: async () => state.saved && { version: 1, value: state.saved },
      write: async (_name, _version, value) => void (state.saved = value),
    },
    sessions: {
      models: async () => {
        state.asked += 1;
        if (said instanceof Error) throw said;
        return said;
      },
    },
  });
  const make = () => new AvailableModels(services, () => (state.changes += 1));
  return { state, make, models: make() };
}

test("models of the account are offered by vendor with their tier, and asked for once an hour", async () => {
  const { state, models, make } = rig();
  assert.equal(models.text, "");
  await models.fetchFromSession("s1");
  await models.fetchFromSession("s2");
  assert.deepEqual([models.text, state.asked, state.changes], [TEXT, 1, 1]);
  assert.equal(models.isFresh(Date.now() + 3_600_000), false);

  const next = make();
  await next.load();
  assert.deepEqual([next.text, next.isFresh()], [TEXT, true], "the next host knows them at once");
});

test("what the CLI was built with is offered where nobody is signed in, and replaces no account's", async () => {
  const { state, models } = rig(new Error("not signed in"));
  await models.fetchFromSession("s1");
  assert.equal(models.text, "");
  await models.fetchFromWorkers({ models: async () => CATALOG }, { cli: "", sdk: "" });
  assert.equal(models.text, "openai: gpt-5");
  await models.update(/** @type {any} */ (ACCOUNT));
  await models.update(/** @type {any} */ (CATALOG));
  await models.update({ source: "none", models: [] });
  assert.deepEqual([models.text, state.changes], [TEXT, 2]);
});

test("the tools that make agents say them, other names stay allowed, and nothing is said of none", () => {
  for (const name of TOOLS_WITH_MODELS) {
    assert.equal(addModels(name, ""), undefined);
    const { parameters } = /** @type {any} */ (addModels(name, TEXT));
    const { nodes, work } = parameters.properties;
    const { description } = nodes?.items.properties.work ?? work;
    assert.ok(description.endsWith(`Models (others may be named): ${TEXT}.`), description);
    assert.ok(!JSON.stringify(TOOLS[name]).includes("gpt-5"), "the table itself is as it was");
  }
  assert.equal(addModels("list_copilot_plans", TEXT), undefined);
});
