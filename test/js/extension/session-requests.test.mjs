// What a session answers to the requests of tap's features: its state, a question to its user, another mode.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { AgentMode } from "../../../js/extension/agent-mode.mjs";
import { SessionRequests } from "../../../js/extension/session-requests.mjs";

const PLAN = { exists: true, content: "# Plan\n\u001b[2Jdo it", path: "/x/plan.md" };

/** The CLI as it answers in a terminal. @param {object} [more] */
function cli(more = {}) {
  const state = { mode: "interactive", set: [], asked: [], onMode: (_mode) => {} };
  const rpc = {
    mode: {
      get: async () => state.mode,
      set: async ({ mode }) => {
        state.set.push(mode);
        state.mode = mode;
        state.onMode(mode);
        return { status: "unchanged", modelChanged: false, modeApplied: true };
      },
    },
    model: { getCurrent: async () => ({ modelId: "fake", reasoningEffort: "high" }) },
    plan: {
      read: async () => PLAN,
      readSqlTodosWithDependencies: async () => ({
        rows: [{ id: "a", title: "first", status: "done" }, { id: "b" }],
        dependencies: [{ todoId: "b", dependsOn: "a" }],
      }),
    },
    metadata: {
      contextInfo: async () => ({
        contextInfo: { totalTokens: 10, limit: 100, compactionThreshold: 80 },
      }),
    },
    usage: {
      getMetrics: async () => ({
        totalUserRequests: 2,
        totalNanoAiu: 5e9,
        totalPremiumRequestCost: 1,
        codeChanges: { linesAdded: 3, linesRemoved: 1 },
        modelMetrics: {
          fake: { requests: { count: 4 }, usage: { inputTokens: 7, outputTokens: 1 } },
        },
      }),
    },
    quota: {
      get: async () => ({
        planTier: "pro",
        snapshots: { chat: { usedRequests: 1, entitlementRequests: 10 } },
      }),
    },
    tasks: { list: async () => ({ tasks: [{ id: "t", type: "agent", status: "running" }] }) },
    schedule: { list: async () => ({ entries: [{ id: 1, intervalMs: 5000, prompt: "look" }] }) },
    canvas: { listOpen: async () => ({ openCanvases: [{ instanceId: "i", canvasId: "c" }] }) },
    permissions: { getMode: async () => ({ mode: "manual" }) },
    ui: {
      elicitation: async (question) => {
        state.asked.push(question);
        return { action: "accept", content: { answer: "yes" } };
      },
    },
    ...more,
  };
  const session = { rpc, capabilities: { ui: { elicitation: true, canvases: true } } };
  return { session, state };
}

/** A session's end of the link, in front of that CLI. */
async function sessionOf({ session, state }) {
  const sent = [];
  const known = [];
  const mode = new AgentMode((...change) => known.push(change));
  const requests = new SessionRequests({ send: (message) => sent.push(message) }, mode);
  state.onMode = (changed) => mode.receiveChange(changed);
  await mode.adopt(session).catch(() => {});
  const ask = async (request, params) => {
    await requests.receive(session, { requestId: String(sent.length), request, params });
    const { type, requestId, ...answer } = sent.at(-1);
    assert.deepEqual([type, requestId], ["session.result", String(sent.length - 1)]);
    return answer;
  };
  const result = async (request, params) => (await ask(request, params)).result;
  const refusal = async (request, params) => (await ask(request, params)).error;
  return { ask, result, refusal, mode, known };
}

test("models.list says what the CLI says, without what is no name, and none where it has none", async () => {
  const list = [
    { id: "gpt-5", name: "GPT-5", vendor: "OpenAI", modelPickerCategory: "powerful" },
    { id: "bad name\u001b[2J" },
    "no object",
  ];
  const signedIn = await sessionOf(cli({ model: { list: async () => ({ list }) } }));
  assert.deepEqual(await signedIn.result("models.list"), {
    source: "account",
    models: [{ id: "gpt-5", name: "GPT-5", vendor: "OpenAI", tier: "powerful" }],
  });
  const signedOut = await sessionOf(cli({ model: { list: async () => ({ list: [] }) } }));
  assert.deepEqual(await signedOut.result("models.list"), { source: "none", models: [] });
  const old = await sessionOf(cli());
  assert.equal((await old.refusal("models.list")).code, "UNAVAILABLE");
});

describe("state.read", () => {
  test("says all that the CLI says, with control characters shown", async () => {
    const { result } = await sessionOf(cli());
    assert.deepEqual(await result("state.read"), {
      mode: "interactive",
      modeChosenBy: "start",
      model: { id: "fake", effort: "high" },
      plan: { exists: true, content: "# Plan\n\\x1b[2Jdo it", cut: false },
      todos: [
        { id: "a", title: "first", status: "done" },
        { id: "b", after: ["a"] },
      ],
      context: { tokens: 10, limit: 100, compactsAt: 80 },
      usage: {
        userRequests: 2,
        models: [{ model: "fake", requests: 4, inputTokens: 7, outputTokens: 1 }],
        ...{ linesAdded: 3, linesRemoved: 1, premiumRequests: 1, credits: 5 },
      },
      quota: { plan: "pro", quotas: [{ name: "chat", used: 1, of: 10 }] },
      tasks: [{ id: "t", type: "agent", status: "running" }],
      schedules: [{ id: "1", everyMs: 5000, prompt: "look" }],
      canvases: [{ instanceId: undefined, id: "i", canvas: "c" }].map(({ id, canvas }) => ({
        id,
        canvas,
      })),
      permissionMode: "manual",
      ui: { dialogs: true, canvases: true },
    });
  });

  test("marks each part unknown that the CLI lacks, refuses, or answers otherwise", async () => {
    const { session } = cli({
      model: {},
      plan: undefined,
      metadata: { contextInfo: () => Promise.reject(new Error("not now")) },
      quota: { get: async () => ({ snapshots: {} }) },
      tasks: { list: async () => ({ tasks: 5 }) },
      schedule: { list: async () => null },
      usage: { getMetrics: async () => ({ aiCreditsStatus: "unavailable" }) },
    });
    session.capabilities = undefined;
    const { result } = await sessionOf({ session, state: {} });
    const state = await result("state.read");
    for (const part of ["model", "plan", "todos", "ui"]) {
      assert.match(state[part].unknown, /this version of the CLI does not/, part);
    }
    assert.deepEqual(state.context, { unknown: "not now" });
    assert.match(state.quota.unknown, /no quota/);
    assert.match(state.tasks.unknown, /unexpected form/);
    assert.ok(state.schedules.unknown);
    assert.match(state.usage.credits.unknown, /not available/);
    assert.equal(state.mode, "interactive");
  });

  test("does not wait for a method that never answers", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const more = { plan: { read: () => new Promise(() => {}) } };
    const { result } = await sessionOf(cli(more));
    const state = result("state.read");
    t.mock.timers.tick(3000);
    assert.match((await state).plan.unknown, /did not answer within 3 s/);
  });

  test("is bounded, however much the CLI says", async () => {
    const long = "x".repeat(100_000);
    const many = (item) => Array.from({ length: 5000 }, () => item);
    const { result } = await sessionOf(
      cli({
        plan: {
          read: async () => ({ exists: true, content: long }),
          readSqlTodosWithDependencies: async () => ({
            rows: many({ id: "a", title: long, status: long }),
            dependencies: many({ todoId: "a", dependsOn: long }),
          }),
        },
        tasks: { list: async () => ({ tasks: many({ id: long, displayName: long }) }) },
        schedule: { list: async () => ({ entries: many({ id: 1, prompt: long, cron: long }) }) },
        canvas: { listOpen: async () => ({ openCanvases: many({ instanceId: long }) }) },
      }),
    );
    const state = await result("state.read");
    assert.equal(state.todos.leftOut, 4980);
    assert.equal(state.plan.cut, true);
    const size = JSON.stringify(state).length;
    assert.ok(size <= 28_000, `${size}`);
    assert.equal(state.mode, "interactive");
  });
});

describe("mode.set", () => {
  test("sets the mode, and knows that it was tap", async () => {
    const it = cli();
    const { result, known, mode } = await sessionOf(it);
    const answer = await result("mode.set", { mode: "plan", from: "interactive" });
    assert.deepEqual(answer, { applied: true, mode: "plan" });
    assert.deepEqual([it.state.set, mode.chosenBy], [["plan"], "tap"]);
    assert.deepEqual(known, [
      ["interactive", "start"],
      ["plan", "tap"],
    ]);
  });

  test("a mode that changed without tap is the user's", async () => {
    const it = cli();
    const { result, mode } = await sessionOf(it);
    it.state.mode = "plan";
    mode.receiveChange("plan");
    assert.equal(mode.chosenBy, "user");
    await result("mode.set", { mode: "autopilot", from: "plan" });
    assert.equal(mode.chosenBy, "tap");
    it.state.mode = "plan";
    mode.receiveChange("plan");
    assert.equal(mode.chosenBy, "user", "the mode that tap has once set is not tap's for good");
  });

  test("a session that does not start as interactive is in a mode of its user", async () => {
    const it = cli();
    it.state.mode = "autopilot";
    const { mode } = await sessionOf(it);
    assert.equal(mode.chosenBy, "user");
  });

  test("does nothing where the mode has changed since the question", async () => {
    const it = cli();
    const { result } = await sessionOf(it);
    it.state.mode = "plan";
    const answer = await result("mode.set", { mode: "autopilot", from: "interactive" });
    assert.equal(answer.applied, false);
    assert.match(answer.reason, /is plan now, and was interactive/);
    assert.deepEqual(it.state.set, []);
  });

  test("says where the CLI cannot, does not, or keeps its mode", async () => {
    const change = { mode: "plan", from: "interactive" };
    const get = async () => "interactive";
    const missing = await sessionOf(cli({ mode: { get } }));
    assert.equal((await missing.refusal("mode.set", change)).code, "UNAVAILABLE");
    const unwilling = await sessionOf(
      cli({ mode: { get, set: async () => ({ modeApplied: false }) } }),
    );
    assert.match((await unwilling.refusal("mode.set", change)).message, /did not apply/);
    const stubborn = await sessionOf(cli({ mode: { get, set: async () => ({}) } }));
    assert.deepEqual(await stubborn.result("mode.set", change), {
      applied: false,
      mode: "interactive",
      reason: "the CLI kept its mode",
    });
    const none = await sessionOf(cli({ mode: {} }));
    assert.equal((await none.refusal("mode.set", change)).code, "UNAVAILABLE");
  });

  test("takes no other mode", async () => {
    const it = cli();
    const { refusal } = await sessionOf(it);
    for (const mode of ["yolo", "__proto__", "", 5, undefined, ["plan"]]) {
      assert.equal((await refusal("mode.set", { mode, from: "interactive" })).code, "INVALID");
      assert.equal((await refusal("mode.set", { mode: "plan", from: mode })).code, "INVALID");
    }
    assert.deepEqual(it.state.set, []);
  });
});

describe("ask", () => {
  const ask = { text: "May I?" };
  const answering = (answer) => cli({ ui: { elicitation: async () => answer } });

  test("gives the user's yes, and his no", async () => {
    const it = cli();
    const yes = await sessionOf(it);
    assert.deepEqual(await yes.result("ask", ask), { answer: "yes" });
    assert.equal(it.state.asked[0].message, "May I?");
    assert.equal(it.state.asked[0].requestedSchema.properties.answer.default, "no");
    for (const no of [
      { action: "accept", content: { answer: "no" } },
      { action: "accept", content: {} },
      { action: "accept" },
    ]) {
      assert.deepEqual(await (await sessionOf(answering(no))).result("ask", ask), { answer: "no" });
    }
    for (const action of ["decline", "cancel"]) {
      const { result } = await sessionOf(answering({ action, content: { answer: "yes" } }));
      assert.deepEqual(await result("ask", ask), {
        answer: "no",
        reason: "the user dismissed it",
      });
    }
  });

  test("asks nobody where nobody is there", async () => {
    for (const ui of [
      undefined,
      {},
      { elicitation: false },
      { elicitation: true, canvases: false },
    ]) {
      const it = cli();
      it.session.capabilities = { ui };
      const { answer, reason } = await (await sessionOf(it)).result("ask", ask);
      assert.equal(answer, "none");
      assert.match(reason, /cannot show dialogs|has no user/);
      assert.deepEqual(it.state.asked, []);
    }
    const alone = cli();
    alone.state.mode = "autopilot";
    const { answer, reason } = await (await sessionOf(alone)).result("ask", ask);
    assert.deepEqual([answer, reason], ["none", "in autopilot the CLI shows no dialogs"]);
    assert.deepEqual(alone.state.asked, []);
    const without = await (await sessionOf(cli({ ui: undefined }))).result("ask", ask);
    assert.match(without.reason, /has no dialogs/);
  });

  test("a dialog that fails is no yes; one that the CLI does not have is not asked", async () => {
    const outcome = async (/** @type {string} */ request, /** @type {object} */ error) => {
      const failing = Object.assign(new Error("it failed"), error);
      const broken = cli({ ui: { elicitation: () => Promise.reject(failing) } });
      const { answer, asked } = await (await sessionOf(broken)).result(request, ask);
      return [answer, asked];
    };
    for (const request of ["ask", "consent"]) {
      for (const error of [{}, { code: -32_603 }, { code: "ERR_STREAM_DESTROYED" }]) {
        assert.deepEqual(await outcome(request, error), ["none", undefined], request);
      }
      assert.deepEqual(await outcome(request, { code: -32_601 }), ["none", false], request);
    }
  });

  test("waits a minute at most, and opens no second dialog over one that nobody answers", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    let answerNow = (_answer) => {};
    const elicitation = () => new Promise((resolve) => (answerNow = resolve));
    const { result } = await sessionOf(cli({ ui: { elicitation } }));
    const first = result("ask", { ...ask, timeoutMs: 10 ** 9 });
    await new Promise((resolve) => setImmediate(resolve));
    t.mock.timers.tick(60_000);
    assert.deepEqual(await first, {
      answer: "none",
      reason: "the user did not answer within 60 s",
    });
    assert.match((await result("ask", ask)).reason, /has not answered an earlier question/);
    answerNow({ action: "accept", content: { answer: "yes" } });
    await new Promise((resolve) => setImmediate(resolve));
    const third = result("ask", ask);
    await new Promise((resolve) => setImmediate(resolve));
    answerNow({ action: "accept", content: { answer: "no" } });
    assert.deepEqual(await third, { answer: "no" });
  });

  test("for what the agent wants to run asks where somebody is there and has not allowed everything", async () => {
    const permissions = (mode) => ({ permissions: { getMode: async () => ({ mode }) } });
    const allowed = cli(permissions("allow-all"));
    const all = await (await sessionOf(allowed)).result("consent", ask);
    assert.deepEqual([all.answer, all.asked], ["yes", false]);
    assert.deepEqual(allowed.state.asked, []);
    const manual = cli(permissions("manual"));
    assert.deepEqual(await (await sessionOf(manual)).result("consent", ask), { answer: "yes" });
    assert.equal(manual.state.asked.length, 1);
    const alone = cli(permissions("manual"));
    alone.session.capabilities = { ui: { elicitation: true, canvases: false } };
    const nobody = await (await sessionOf(alone)).result("consent", ask);
    assert.deepEqual([nobody.answer, nobody.asked], ["none", false]);
    const { refusal } = await sessionOf(cli());
    assert.equal((await refusal("consent", {})).code, "INVALID");
  });

  test("an answer that comes too late counts when the agent asks for the same again, once", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    let answerNow = (_answer) => {};
    let shown = 0;
    const elicitation = () => new Promise((resolve) => (answerNow = resolve) && (shown += 1));
    const permissions = { getMode: async () => ({ mode: "manual" }) };
    const { result } = await sessionOf(cli({ ui: { elicitation }, permissions }));
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    const asked = { text: "Run make?", timeoutMs: 45_000 };
    const first = result("consent", asked);
    for (let i = 0; i < 5; i += 1) await turn();
    t.mock.timers.tick(45_000);
    assert.match((await first).reason, /within 45 s\. The question is still open: ask again/);
    const other = await result("consent", { text: "Run rm?" });
    assert.match(other.reason, /has not answered an earlier question/);
    answerNow({ action: "accept", content: { answer: "yes" } });
    for (let i = 0; i < 5; i += 1) await turn();
    assert.deepEqual(await result("consent", asked), { answer: "yes" });
    assert.equal(shown, 1);
    void result("consent", asked);
    for (let i = 0; i < 5; i += 1) await turn();
    assert.equal(shown, 2, "it was for one use");
  });

  test("a yes that comes too late is to what was asked, whatever else looks the same", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    let answerNow = (_answer) => {};
    const shown = [];
    const elicitation = ({ message }) => {
      shown.push(message);
      return new Promise((resolve) => (answerNow = resolve));
    };
    const permissions = { getMode: async () => ({ mode: "manual" }) };
    const { result } = await sessionOf(cli({ ui: { elicitation }, permissions }));
    const turns = async () => {
      for (let i = 0; i < 5; i += 1) await new Promise((resolve) => setImmediate(resolve));
    };
    const text = `Run ${"x".repeat(3000)}?`;
    const first = result("consent", { text, of: "one", timeoutMs: 1000 });
    await turns();
    t.mock.timers.tick(1000);
    assert.equal((await first).answer, "none");
    assert.equal((await result("consent", { text, of: "two" })).answer, "none");
    answerNow({ action: "accept", content: { answer: "yes" } });
    await turns();
    void result("consent", { text, of: "two" });
    await turns();
    assert.equal(shown.length, 2);
    assert.match(shown[0], /^Run x{1996}… \(1005 more\)$/);
  });

  test("takes nothing but a question", async () => {
    const { refusal } = await sessionOf(cli());
    for (const params of [
      {},
      { text: "" },
      { text: 5 },
      { text: "a", timeoutMs: "b" },
      { text: "a", of: 1 },
    ]) {
      assert.equal((await refusal("ask", params)).code, "INVALID");
    }
  });
});

test("a request that is not in the table is refused, and reaches no method of the CLI", async () => {
  const reached = [];
  const record = (way) =>
    new Proxy(
      {},
      {
        get: (_target, name) =>
          name === "then" ? undefined : (reached.push(`${way}.${String(name)}`), record(way)),
      },
    );
  const session = { rpc: record("rpc"), capabilities: {} };
  const { refusal } = await sessionOf({ session, state: {} });
  reached.length = 0;
  for (const name of [
    ...["permissions.setMode", "shell.exec", "mode.get", "constructor", "__proto__", ""],
    ...["state.read ", "toString", "hasOwnProperty", "rpc.mode.set"],
  ]) {
    assert.equal((await refusal(name, { mode: "allow-all" })).code, "UNKNOWN_REQUEST", name);
  }
  assert.deepEqual(reached, []);
});
