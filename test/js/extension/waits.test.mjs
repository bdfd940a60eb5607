// What waits for the user in a session: a function of its events.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answerWait } from "../../../js/extension/answers.mjs";
import { AnswerUnavailable } from "../../../js/extension/copilot-rpc.mjs";
import { Waits } from "../../../js/extension/waits.mjs";

const AT = "2026-11-28T10:00:00.000Z";
const event = (type, data = {}) => ({ type, data, timestamp: AT });
const FORM = {
  type: "object",
  properties: {
    color: { type: "string", enum: ["red", "blue"] },
    name: { type: "string", minLength: 2, maxLength: 4 },
    many: { type: "array", items: { type: "string", enum: ["a", "b"] } },
    count: { type: "integer" },
    sure: { type: "boolean" },
  },
};
const QUESTION = { requestId: "q", toolCallId: "t", message: "Which?", requestedSchema: FORM };

/** @param {object[]} events @param {(message: string) => boolean} [isOwn] */
function waitsAfter(events, isOwn = () => false) {
  const waits = new Waits(isOwn);
  for (const one of events) waits.observe(one);
  return waits;
}
const asked = [
  event("tool.execution_start", {
    toolCallId: "t",
    arguments: { requestedSchema: { required: ["color"] } },
  }),
  event("elicitation.requested", QUESTION),
];
/** A CLI that takes every answer. */
function takingSession(success = true) {
  const sent = [];
  const take = async (answer) => {
    sent.push(answer);
    return { success };
  };
  const ui = {
    handlePendingElicitation: take,
    handlePendingExitPlanMode: take,
    handlePendingUserInput: take,
  };
  return { sent, session: { rpc: { ui } } };
}

test("a question has the form that the CLI shows, with what is required by the tool's arguments", () => {
  const [wait] = waitsAfter(asked).list();
  assert.deepEqual(
    [wait.kind, wait.class, wait.at, wait.acts.map(({ id }) => id)],
    ["question", "blocks", Date.parse(AT), ["accept", "decline"]],
  );
  assert.deepEqual(
    wait.form.map(({ name, type, required }) => [name, type, required]),
    [
      ["color", "string", true],
      ["name", "string", undefined],
      ["many", "array", undefined],
      ["count", "integer", undefined],
      ["sure", "boolean", undefined],
    ],
  );
});

test("a question goes with its answer, its tool, its turn or its session", () => {
  for (const end of [
    event("elicitation.completed", { requestId: "q" }),
    event("tool.execution_complete", { toolCallId: "t" }),
    ...[event("abort"), event("session.idle"), event("session.shutdown")],
  ]) {
    assert.deepEqual(waitsAfter([...asked, end]).list(), [], end.type);
  }
});

test("what only the terminal can show has no acts: a URL, an unknown field, 17 fields, a long text, tap's own", () => {
  const nested = { properties: { deep: { type: "object" } } };
  const many = {
    properties: Object.fromEntries(
      Array(17)
        .fill(0)
        .map((_, i) => [`f${i}`, { type: "string" }]),
    ),
  };
  const cases = [
    { mode: "url", url: "https://example.com" },
    { requestedSchema: nested },
    { requestedSchema: many },
    { message: "x".repeat(5000) },
  ];
  for (const more of cases) {
    const [wait] = waitsAfter([event("elicitation.requested", { ...QUESTION, ...more })]).list();
    assert.deepEqual([wait.acts, wait.form], [[], undefined], JSON.stringify(more).slice(0, 60));
    assert.ok(wait.note);
  }
  const [own] = waitsAfter(asked, (message) => message === "Which?").list();
  assert.deepEqual([own.kind, own.acts], ["consent", []]);
});

test("values that the form does not have are refused before the CLI gets them", async () => {
  const bad = [
    [{}, /^color: a value is required/],
    [{ color: "green" }, /^color: expected one of red, blue/],
    [{ color: "red", other: 1 }, /^other: there is no such field/],
    [{ color: "red", name: "x" }, /^name: expected 2 to 4 characters/],
    [{ color: "red", name: 7 }, /^name: expected a text/],
    [{ color: "red", many: ["c"] }, /^many: /],
    [{ color: "red", count: 1.5 }, /^count: expected a whole number/],
    [{ color: "red", sure: "true" }, /^sure: /],
    [{ color: "red", __proto__: null, constructor: 1 }, /^constructor: /],
  ];
  for (const [values, wanted] of bad) {
    const { session, sent } = takingSession();
    const answer = { key: "q", act: "accept", values };
    await assert.rejects(answerWait(session, waitsAfter(asked), answer), (error) => {
      assert.equal(error.code, "INVALID");
      assert.match(error.message, wanted);
      return true;
    });
    assert.deepEqual(sent, []);
  }
});

test("an answer is passed on once", async () => {
  const { session, sent } = takingSession();
  const waits = waitsAfter(asked);
  const answer = { key: "q", act: "accept", values: { color: "red", many: ["a"] } };
  assert.deepEqual(await answerWait(session, waits, answer), { done: true });
  assert.deepEqual(sent, [
    { requestId: "q", result: { action: "accept", content: { color: "red", many: ["a"] } } },
  ]);
  await assert.rejects(answerWait(session, waits, answer), { code: "GONE" });
  assert.equal(sent.length, 1);
});

test("an answer after that of the terminal is GONE", async () => {
  const { session } = takingSession(false);
  const answer = { key: "q", act: "decline" };
  await assert.rejects(answerWait(session, waitsAfter(asked), answer), { code: "GONE" });
});

test("a plan review offers what the CLI offers, and never autopilot", async () => {
  const review = {
    ...{ requestId: "p", toolCallId: "t", summary: "s", planContent: "# Plan" },
    actions: ["exit_only", "interactive", "autopilot", "autopilot_fleet"],
  };
  const waits = waitsAfter([event("exit_plan_mode.requested", review)]);
  const [wait] = waits.list();
  assert.deepEqual([wait.kind, wait.text], ["plan-review", "# Plan"]);
  assert.deepEqual(
    wait.acts.map(({ id }) => id),
    ["interactive", "exit_only", "feedback"],
  );
  const { session, sent } = takingSession();
  for (const act of ["autopilot", "accept", "__proto__", undefined]) {
    await assert.rejects(answerWait(session, waits, { key: "p", act }), { code: "INVALID" });
  }
  await assert.rejects(answerWait(session, waits, { key: "p", act: "feedback", text: " " }), {
    code: "INVALID",
  });
  await answerWait(session, waits, { key: "p", act: "feedback", text: "smaller" });
  assert.deepEqual(sent, [{ requestId: "p", response: { approved: false, feedback: "smaller" } }]);
});

test("a question of an older CLI is a form of one field", async () => {
  const waits = waitsAfter([
    event("user_input.requested", { requestId: "u", question: "Go?", choices: ["yes", "no"] }),
  ]);
  const [wait] = waits.list();
  assert.deepEqual(wait.form, [
    { name: "answer", required: true, type: "string", enum: ["yes", "no"] },
  ]);
  const { session, sent } = takingSession();
  await answerWait(session, waits, { key: "u", act: "accept", values: { answer: "yes" } });
  assert.deepEqual(sent, [{ requestId: "u", response: { answer: "yes", wasFreeform: false } }]);
});

test("a CLI without the method: the question stays, and the answer is UNAVAILABLE", async () => {
  const waits = waitsAfter(asked);
  const answer = { key: "q", act: "decline" };
  await assert.rejects(answerWait({ rpc: { ui: {} } }, waits, answer), AnswerUnavailable);
  assert.equal(waits.list().length, 1);
});

test("the end of a turn, errors and a full context are to know, until the next prompt", () => {
  const events = [
    event("assistant.message", { content: "done\u202e it" }),
    event("session.idle"),
    event("session.error", { errorType: "query", message: "400" }),
    event("session.usage_info", { currentTokens: 90, tokenLimit: 100 }),
  ];
  const all = waitsAfter(events).list();
  assert.deepEqual(
    all.map(({ kind, class: name }) => `${kind} ${name}`),
    ["turn-ended knows", "error knows", "context knows"],
  );
  assert.equal(all[0].text, String.raw`done\u{202e} it`);
  const later = waitsAfter([...events, event("user.message")]).list();
  assert.deepEqual(
    later.map(({ kind }) => kind),
    ["context"],
  );
  const free = waitsAfter([
    ...events,
    event("session.usage_info", { currentTokens: 60, tokenLimit: 100 }),
  ]);
  assert.ok(!free.list().some(({ kind }) => kind === "context"));
});

test("permissions are listed without acts, and without a key they are no item", () => {
  const items = [
    { requestId: "r", request: { kind: "commands", fullCommandText: "npm publish\nrm -rf /" } },
    { request: { kind: "url" } },
    null,
  ];
  const waits = waitsAfter([]).list(items);
  assert.deepEqual(
    waits.map(({ key, kind, acts, text }) => [key, kind, acts, text]),
    [["r", "permission", [], "npm publish\nrm -rf /"]],
  );
});

test("no history leaves an item behind its end, nor throws, and 32 are the most", () => {
  const types = [
    ...["tool.execution_start", "tool.execution_complete", "elicitation.requested"],
    ...["elicitation.completed", "exit_plan_mode.requested", "exit_plan_mode.completed"],
    ...["assistant.message", "user.message", "session.error", "session.usage_info", "unknown"],
  ];
  let seed = 1;
  const random = (most) => (seed = (seed * 48_271) % 2_147_483_647) % most;
  for (let round = 0; round < 500; ++round) {
    const waits = new Waits(() => false);
    const open = new Set();
    for (let step = 0; step < 100; ++step) {
      const type = types[random(types.length)];
      const id = String(random(40));
      const data =
        random(20) === 0 ? undefined : { requestId: id, toolCallId: `t${id}`, message: id };
      waits.observe({ type, data });
      if (!data) continue;
      if (type.endsWith(".requested") && open.size < 32) open.add(id);
      if (type.endsWith(".completed") || type === "tool.execution_complete") open.delete(id);
      const left = waits
        .list()
        .filter((wait) => wait.class === "blocks")
        .map(({ key }) => key);
      assert.ok(left.length <= 32);
      for (const key of left)
        assert.ok(open.has(key) || key === "undefined", `${key} of round ${round}`);
    }
    waits.observe(event("session.idle"));
    assert.ok(waits.list().every((wait) => wait.class === "knows"));
  }
});
