// Objects of the addon that were closed: whatever is asked of them is answered or refused, and the process lives.

import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import { addon } from "../../../js/lib/addon.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

/** @typedef {[method: string, ...args: unknown[]]} Call */

/** How a call ends: with a value, or with an error's code, or its name where it has none. @param {any} object @param {Call} call */
async function outcome(object, [method, ...args]) {
  try {
    return { value: await object[method](...args) };
  } catch (error) {
    const { code, name } = /** @type {any} */ (error);
    return { error: code ?? name };
  }
}

/** @param {any} object @param {Call[]} calls */
async function outcomes(object, calls) {
  const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(object));
  const missing = methods.filter(
    (name) => name !== "constructor" && !calls.some(([method]) => method === name),
  );
  assert.deepEqual(missing, [], "each method is called");
  /** @type {Record<string, {value?: unknown, error?: string}>} */
  const found = {};
  for (const call of calls) found[call[0]] = await outcome(object, call);
  return found;
}

test("a closed engine of plans refuses what needs its journal with the code CLOSED", async (t) => {
  const file = path.join(temporaryFolder(t), "plans.sqlite");
  const plans = new addon.Plans({ file });
  plans.open();
  const plan = { name: "x", nodes: [{ id: "a", work: "true" }], startPaused: true };
  const create = JSON.stringify({ input: "create", planId: "p", plan, facts: {} });
  const pending = [plans.input(create, 1, 2 ** 40), plans.entries("p"), plans.remove("q")];
  plans.close();
  const settled = await Promise.allSettled(pending);
  const codes = settled.map((one) =>
    one.status === "fulfilled" ? JSON.parse(String(one.value)).code : one.reason.code,
  );
  assert.deepEqual(codes, ["CLOSED", "CLOSED", "CLOSED"], "what waited is settled");

  const found = await outcomes(plans, [
    ["open"],
    ["input", create, 1, 2 ** 40],
    ["view", JSON.stringify({ view: "plan", planId: "p" })],
    ["load", "p", 1, 2 ** 40],
    ["unload", "p"],
    ["entries", "p"],
    ["describe", "p", true, 1, "{}"],
    ["remove", "p"],
    ["state"],
    ["close"],
  ]);
  assert.equal(JSON.parse(String(found.input.value)).code, "CLOSED");
  for (const name of ["open", "load", "entries", "describe", "remove"]) {
    assert.deepEqual(found[name], { error: "CLOSED" }, name);
  }
  const again = new addon.Plans({ file });
  t.after(() => again.close());
  again.open();
  assert.equal(await again.load("p", 1, 2 ** 40), "", "what waited was written");
  assert.equal(JSON.parse(again.view(JSON.stringify({ view: "plan", planId: "p" }))).name, "x");
});

test("a closed store of records rejects questions, and drops what is appended", async (t) => {
  const records = new addon.Records({ file: path.join(temporaryFolder(t), "records.sqlite") });
  await records.close();
  const row = { body: "{}" };
  const found = await outcomes(records, [
    ["append", "goal", row],
    ["commit", "goal", row],
    ["query", JSON.stringify({ collection: "goal" })],
    ["sql", "select 1"],
    ["stats"],
    ["keepOnlyNotify", true],
    ["flush", 10],
    ["close"],
  ]);
  assert.deepEqual(found.commit, { value: false });
  assert.deepEqual([found.query, found.sql], [{ error: "Error" }, { error: "Error" }]);
  const { written, dropped, open } = /** @type {any} */ (found.stats.value);
  assert.deepEqual({ written, dropped, open }, { written: 0, dropped: { goal: 2 }, open: false });
});

test("a closed gateway refuses what would open something, and ignores the rest", async () => {
  const gateway = new addon.Gateway({ version: "1", token: "t", linkSecret: "", pid: 1 });
  gateway.close();
  const found = await outcomes(gateway, [
    ["start"],
    ["listen", 0],
    ["listenLink", "/nonexistent/link"],
    ["setPlainAnswer", "{}"],
    ["openProvider", {}],
    ["sendProvider", 1, "{}"],
    ["inspect"],
    ["environmentOf", "s"],
    ["issueSpawnToken", "s"],
    ["forgetSpawnToken", "t"],
    ["issueFeatureToken"],
    ["revokeFeatureToken", "t"],
    ["setGroups", "s", ["a"]],
    ["openGroups", "s", ["a"]],
    ["disableTools", "f", ["a"]],
    ["askSession", "s", "models", "{}"],
    ["answerRequest", 1, "{}"],
    ["tellTimeline", "s", "info", "x"],
    ["commandFinished", 1, "x"],
    ["setRecords", null],
    ["close"],
  ]);
  const refused = Object.entries(found).filter(([, { error }]) => error);
  assert.deepEqual(Object.fromEntries(refused), {
    listen: { error: "ESHUTDOWN" },
    listenLink: { error: "ESHUTDOWN" },
    openProvider: { error: "TypeError" },
  });
  assert.equal(JSON.parse(String(found.askSession.value)).error.code, "NO_SESSION");
  assert.deepEqual([found.issueSpawnToken.value, found.issueFeatureToken.value], ["", ""]);
});

test("a closed port of a session fails each call, and is not connected again", async () => {
  /** @type {unknown[]} */
  const settled = [];
  const port = new addon.SessionPort({ onSettled: (...pairs) => settled.push(pairs) });
  port.close();
  const gateway = new addon.Gateway({ version: "1", token: "t", linkSecret: "", pid: 1 });
  const found = await outcomes(port, [
    ["connect", "/nonexistent/link"],
    ["attach", gateway],
    ["send", JSON.stringify({ type: "bye" })],
    ["call", 1, "x", "{}"],
    ["cancel", 1, "x"],
    ["peerPid"],
    ["close"],
  ]);
  gateway.close();
  assert.deepEqual([found.connect, found.attach], [{ error: "Error" }, { error: "Error" }]);
  assert.deepEqual(
    settled.map((/** @type {any} */ [id, { code }]) => [id, code]),
    [[1, "DISCONNECTED"]],
  );
});
