// The line that the user reads before the CLI's question about hooks, against a gateway and a CLI that
// the test plays.

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, mock, test } from "node:test";
import { GATE, rig, settled } from "./hooks-rig.mjs";

beforeEach(() => mock.timers.enable({ apis: ["setTimeout", "Date"] }));
afterEach(() => mock.timers.reset());

describe("the line before the CLI's question", () => {
  const guards = [{ provider: "ci", rules: [GATE] }];
  const needs = "ci (1 gate)";

  test("says once who needs hooks and why, and that tap stays", async () => {
    const it = rig();
    await it.tell({ wanted: true, guards, needs });
    await it.tell({ wanted: true, guards, needs: "ci (2 gates)" });
    assert.equal(it.lines.length, 1);
    assert.match(
      it.lines[0],
      /^tap: ci \(1 gate\) needs hooks, .*"elevated permissions".*tap stays/,
    );
  });

  test("comes before the question, however many events need hooks meanwhile", async () => {
    const { hooks, session, sent } = rig();
    const asked = [];
    session.rpc = { permissions: { getMode: () => new Promise((resolve) => asked.push(resolve)) } };
    const event = { type: "hooks", wanted: true, prompts: false, gateMs: 5000, sections: [] };
    hooks.receive({ ...event, revision: 1, guards, needs });
    hooks.receive({ ...event, revision: 2, guards, needs: "ci (1 gate), lint (1 gate)" });
    await settled();
    assert.equal(asked.length, 1, "the CLI is asked for its mode once");
    assert.deepEqual(session.requests, [], "no question before the line");
    assert.deepEqual(sent, []);
    asked[0]({ mode: "interactive" });
    await settled();
    assert.equal(session.requests.length, 1);
    assert.deepEqual(
      sent.map(({ revision }) => revision),
      [1, 2],
    );
  });

  test("an answer that a later one has overtaken is not sent", async () => {
    const it = rig();
    it.session.rpc = { permissions: { getMode: () => new Promise(() => {}) } };
    assert.equal(await it.tell({ wanted: true, guards, needs }), undefined);
    assert.equal((await it.tell({})).hooks, "in-force", "hooks are no longer wanted");
    mock.timers.tick(500);
    await settled();
    assert.deepEqual(
      it.sent.map(({ revision }) => revision),
      [2],
    );
  });

  test("what a gateway that is gone has asked for is not answered to the next", async () => {
    const it = rig();
    let allow;
    it.session.rpc = { permissions: { getMode: () => new Promise((ok) => (allow = ok)) } };
    await it.tell({ wanted: true, guards, needs });
    it.hooks.gatewayGone();
    allow({ mode: "allow-all" });
    await settled();
    assert.deepEqual(it.sent, []);
    assert.equal((await it.tell({ wanted: true, guards, needs })).hooks, "in-force");
  });

  test("is not there where the user allows everything, or nobody needs hooks", async () => {
    const it = rig();
    it.session.rpc = { permissions: { getMode: async () => ({ mode: "allow-all" }) } };
    const state = await it.tell({ wanted: true, guards, needs });
    assert.equal(state.hooks, "in-force");
    await it.tell({ wanted: false });
    assert.deepEqual(it.lines, []);
  });
});
