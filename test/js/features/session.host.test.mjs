// From the tools in the feature host to the process of a session and back: a session here answers as a test says.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { openControl } from "../../../js/link/control.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { Host } from "../../support/test-host.mjs";
import { LocalHost } from "../../support/local-host.mjs";
import { waitFor } from "../../support/wait.mjs";

const WANTED = { mode: "plan", confirm: true, reason: "to think" };
const STATE = { mode: "interactive", modeChosenBy: "start", quota: { unknown: "none" } };

/**
 * @param {object} [config] the user's @param {Record<string, (params: any) => any>} [answers] of the session
 * @param {{elected: (t: any, env: Record<string, string>) => Promise<any>}} [of] what the hosts are of
 */
async function setUp(t, config = {}, answers = {}, of = LocalHost) {
  const home = temporaryFolder(t);
  fs.mkdirSync(path.join(home, "tap"), { mode: 0o700 });
  const text = JSON.stringify({ toolGroups: ["session"], ...config });
  fs.writeFileSync(path.join(home, "tap", "config.json"), text, { mode: 0o600 });
  const host = await of.elected(t, { COPILOT_HOME: home });
  const session = await host.session(t);
  const asked = [];
  const serve = { "state.read": () => STATE, ...answers };
  let seen = 0;
  const timer = setInterval(() => {
    for (; seen < session.events.length; seen += 1) {
      const { type, requestId, request, params } = session.events[seen];
      if (type !== "session.request" || request === "models.list") continue; // the orchestrator's
      asked.push([request, params]);
      const result = serve[request]?.(params);
      if (result === undefined) continue;
      const answer = result.error ? result : { result };
      session.send({ type: "session.result", requestId, ...answer });
    }
  }, 2);
  t.after(() => clearInterval(timer));
  await waitFor(
    () =>
      session.events.some(
        (event) =>
          event.type === "tools" && JSON.stringify(event).includes("tap_get_session_state"),
      ),
    { what: () => `the tools\n${host.log}` },
  );
  const control = await openControl(host.files);
  t.after(() => control.close());
  const gates = async (count) =>
    waitFor(
      async () => {
        const { records } = await control.request("records.query", { collection: "gate" });
        return records.length >= count && records.map(({ source, body }) => ({ source, ...body }));
      },
      { what: `${count} records of gates` },
    );
  return { session, asked, control, gates };
}

describe("the tools of builtin:session", { concurrency: 2 }, () => {
  test("read the state as the session says it, and leave no record of a gate", async (t) => {
    const { session, asked } = await setUp(t);
    assert.deepEqual(JSON.parse(await session.call("tap_get_session_state")), STATE);
    assert.deepEqual(asked, [["state.read", {}]]);
  });

  test("ask, then set, and both are records", async (t) => {
    const { session, asked, gates } = await setUp(
      t,
      {},
      {
        ask: () => ({ answer: "yes" }),
        "mode.set": ({ mode }) => ({ applied: true, mode }),
      },
    );
    assert.match(await session.call("tap_set_session_mode", WANTED), /is in plan mode now/);
    assert.deepEqual(
      asked.map(([request]) => request),
      ["state.read", "ask", "mode.set"],
    );
    assert.deepEqual(asked[2][1], { mode: "plan", from: "interactive", why: "to think" });
    const [changed, answered] = await gates(2);
    assert.deepEqual(
      [answered.source, answered.provider, answered.gate, answered.by, answered.outcome],
      ["builtin:session", "tap-session", "question", "user", "allowed"],
    );
    assert.deepEqual(
      [changed.gate, changed.outcome, changed.reason],
      ["session-mode", "changed", "interactive to plan: to think"],
    );
  });

  test("a no, and nobody who could say yes, change nothing and are records", async (t) => {
    const answers = [{ answer: "no" }, { answer: "none", reason: "nobody is there" }];
    const { session, asked, gates } = await setUp(t, {}, { ask: () => answers.shift() });
    assert.match(await session.call("tap_set_session_mode", WANTED), /the user has refused/);
    assert.match(await session.call("tap_set_session_mode", WANTED), /nobody is there/);
    assert.ok(!asked.some(([request]) => request === "mode.set"));
    const outcomes = (await gates(2)).map(({ by, outcome }) => [by, outcome]);
    assert.deepEqual(outcomes, [
      ["tap", "unanswered"],
      ["user", "denied"],
    ]);
  });

  test("a config that denies is not passed on to the session, and is a record", async (t) => {
    const { session, asked, gates } = await setUp(t, { session: { mode: "deny" } });
    assert.match(await session.call("tap_set_session_mode", WANTED), /"mode": "deny"/);
    assert.deepEqual(
      asked.map(([request]) => request),
      ["state.read"],
    );
    assert.equal((await gates(1))[0].outcome, "unchanged");
  });

  test("a config that allows asks nobody", async (t) => {
    const { session, asked } = await setUp(
      t,
      { session: { mode: "allow" } },
      { "mode.set": ({ mode }) => ({ applied: true, mode }) },
    );
    assert.match(await session.call("tap_set_session_mode", WANTED), /is in plan mode now/);
    assert.deepEqual(
      asked.map(([request]) => request),
      ["state.read", "mode.set"],
    );
  });

  test("a session whose process goes while it is asked has an outcome", async (t) => {
    const { session, asked, gates } = await setUp(t, {}, { ask: () => undefined });
    session.start("tap_set_session_mode", WANTED);
    await waitFor(() => asked.some(([request]) => request === "ask"));
    session.close();
    const [one] = await gates(1);
    assert.equal(one.outcome, "unanswered");
    assert.match(one.reason, /process has gone|session has ended/);
  });

  test("need confirm, a known mode and a reason", async (t) => {
    const { session, asked } = await setUp(t);
    for (const wrong of [{ confirm: false }, { mode: "yolo" }, { reason: "" }, { more: 1 }]) {
      const { code } = await session.call("tap_set_session_mode", { ...WANTED, ...wrong });
      assert.equal(code, "INVALID_ARGUMENTS", JSON.stringify(wrong));
    }
    assert.deepEqual(asked, []);
  });
});

test("only features may ask a session, for what is in the table, with what is checked", async (t) => {
  const { control, asked, session } = await setUp(t, {}, {}, Host);
  const params = { session: session.id, request: "state.read" };
  const { code } = await control.request("sessions.request", params).catch((error) => error);
  assert.equal(code, "DENIED");
  const { HostRequests } = await import("../../../js/gateway-host/requests.mjs");
  const { serveSessionRequests } = await import("../../../js/gateway-host/requests.mjs");
  const requests = new HostRequests();
  const passed = [];
  const gateway = {
    askSession: async (...given) => {
      passed.push(given);
      return '{"error":{"code":"NO_SESSION","message":"it has ended"}}';
    },
  };
  serveSessionRequests(requests, { gateway, config: () => ({}), records: { note: () => {} } });
  const ask = async (given) => {
    const answer = await requests.answer({
      method: "sessions.request",
      params: JSON.stringify(given),
      from: "feature",
    });
    return JSON.parse(answer).error.code;
  };
  for (const wrong of [
    { request: "permissions.setMode" },
    { request: "__proto__" },
    { request: 5 },
    { session: 5 },
    { params: [] },
    { params: "x" },
    { source: 5 },
  ]) {
    assert.equal(await ask({ ...params, ...wrong }), "INVALID", JSON.stringify(wrong));
  }
  assert.deepEqual(passed, []);
  assert.equal(await ask({ ...params, params: { a: 1 } }), "NO_SESSION");
  assert.deepEqual(passed, [[session.id, "state.read", '{"a":1}']]);
  assert.deepEqual(asked, []);
});
