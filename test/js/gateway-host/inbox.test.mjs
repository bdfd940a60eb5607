// The requests of the inbox, with a session that answers as the extension does.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Inbox } from "../../../js/gateway-host/inbox.mjs";
import { HostRequests } from "../../../js/gateway-host/requests.mjs";

const ACTS = [{ id: "decline", label: "Decline", key: "d" }];
const QUESTION = {
  ...{ key: "q", kind: "question", class: "blocks", at: 5, title: "Which?", text: "", acts: ACTS },
};
const NEWS = {
  ...{ key: "n", kind: "turn-ended", class: "knows", at: 1, title: "Ended", text: "x" },
  acts: [{ id: "read", label: "Mark as read", key: "r" }],
};

/** @param {{waits?: object[], plans?: any, entries?: any[], sessions?: object[], slow?: boolean}} [given] */
function rig({ waits = [QUESTION, NEWS], plans, entries = [], sessions, slow } = {}) {
  const state = { waits, sent: [], records: [], timeline: [], asked: [] };
  const linked = [{ id: "s1", label: "shop", cwd: "/shop", linked: true, ending: false }];
  const gateway = {
    inspect: () => JSON.stringify({ sessions: sessions ?? linked }),
    askSession: async (session, request, params) => {
      if (slow) return new Promise(() => {});
      if (request === "waits.list") return JSON.stringify({ result: { waits: state.waits } });
      state.sent.push([session, request, JSON.parse(params)]);
      state.waits = [];
      return JSON.stringify({ result: { done: true } });
    },
    tellTimeline: (session, level, text) => state.timeline.push(text),
  };
  const features = {
    hostState: () => ({ state: plans ? "running" : "idle" }),
    command:
      () =>
      async ({ args }) => {
        const { do: what, ...rest } = JSON.parse(args);
        state.asked.push([what, rest]);
        return JSON.stringify(what === "waits" ? { answer: plans } : { answer: {} });
      },
  };
  const records = { note: (_, { body }) => state.records.push(body) };
  const requests = new HostRequests();
  const inbox = new Inbox({ gateway, features, records, entries: () => entries });
  inbox.serve(requests);
  const ask = async (method, params = {}, from = "control") => {
    const text = await requests.answer({ method, params: JSON.stringify(params), from });
    const { result, error } = JSON.parse(text);
    return error ?? result;
  };
  return { ask, state };
}

test("items are in classes, the oldest first, and an id stays with its item", async () => {
  const later = { ...QUESTION, key: "q2", at: 9 };
  const { ask, state } = rig({ waits: [NEWS, later, QUESTION] });
  const first = await ask("inbox.list");
  assert.deepEqual(
    first.items.map((item) => [item.class, item.at, item.who]),
    [5, 9, 1].map((at) => [
      at === 1 ? "knows" : "blocks",
      at,
      { label: "shop", session: "s1", folder: "/shop" },
    ]),
  );
  assert.deepEqual(first.counts, { blocks: 2, decides: 0, knows: 1 });
  assert.ok(first.items.every(({ id, key }) => /^[a-z0-9]{4}$/.test(id) && key === undefined));
  state.waits = [QUESTION];
  const [again] = (await ask("inbox.list")).items;
  assert.deepEqual([again.id, again.digest], [first.items[0].id, first.items[0].digest]);
});

test("an answer reaches its session once, leaves a record and a line, and the next is GONE", async () => {
  const { ask, state } = rig();
  const [{ id, digest }] = (await ask("inbox.list")).items;
  await ask("inbox.answer", { id, digest, act: "decline" });
  assert.deepEqual(state.sent, [["s1", "waits.answer", { act: "decline", values: {}, key: "q" }]]);
  const [{ gate, by, via, kind, outcome }] = state.records;
  assert.deepEqual(
    [gate, by, via, kind, outcome],
    ["inbox", "user", "terminal", "question", "decline"],
  );
  assert.equal(state.timeline.length, 1);
  assert.equal((await ask("inbox.answer", { id, digest, act: "decline" })).code, "GONE");
  assert.equal(state.sent.length, 1);
});

test("what has changed since it was shown is CHANGED, and is not answered", async () => {
  const { ask, state } = rig();
  const [{ id, digest }] = (await ask("inbox.list")).items;
  for (const change of [{ title: "Other" }, { text: "y" }, { form: [{ name: "a" }] }]) {
    state.waits = [{ ...QUESTION, ...change }];
    assert.equal((await ask("inbox.answer", { id, digest, act: "decline" })).code, "CHANGED");
  }
  assert.deepEqual(state.sent, []);
});

test("a feature gets nothing of it, and a session has no such requests for features", async () => {
  const { ask } = rig();
  for (const method of ["inbox.list", "inbox.answer", "inbox.read"]) {
    assert.equal((await ask(method, {}, "feature")).code, "DENIED", method);
  }
});

test("bad requests are INVALID: missing texts, an unknown act, values that are no object, a long text", async () => {
  const { ask, state } = rig();
  const [{ id, digest }] = (await ask("inbox.list")).items;
  const bad = [
    {},
    { id, digest },
    { id: 7, digest, act: "decline" },
    { id, digest, act: "approve-once" },
    { id, digest, act: "decline", values: [] },
    { id, digest, act: "decline", text: "x".repeat(5000) },
  ];
  for (const given of bad) assert.equal((await ask("inbox.answer", given)).code, "INVALID");
  assert.deepEqual(state.sent, []);
});

test("what is to know is marked as read; what blocks is not", async () => {
  const { ask } = rig();
  const [question, news] = (await ask("inbox.list")).items;
  assert.equal((await ask("inbox.read", { id: question.id })).code, "GONE");
  assert.deepEqual(await ask("inbox.read", { id: news.id }), { read: [news.id] });
  assert.deepEqual(
    (await ask("inbox.list")).items.map(({ id }) => id),
    [question.id],
  );
  assert.deepEqual(await ask("inbox.read", { all: true }), { read: [] });
});

test("a decision about a plan goes to the plans, and an act that asks needs its text", async () => {
  const hint = { id: "retry-hint", label: "Retry with a hint", key: "h", asks: "What?" };
  const item = {
    ...{ key: "p/n/1", kind: "node-failed", class: "blocks", at: 1, title: "t", text: "" },
    ...{ acts: [hint], who: { label: "plan / n", plan: "p", node: "n" } },
  };
  const { ask, state } = rig({ waits: [], plans: [item] });
  const [{ id, digest }] = (await ask("inbox.list")).items;
  assert.equal((await ask("inbox.answer", { id, digest, act: "retry-hint" })).code, "INVALID");
  await ask("inbox.answer", { id, digest, act: "retry-hint", text: "look at b" });
  assert.deepEqual(state.asked.at(-1), [
    "decide",
    { planId: "p", nodeId: "n", act: "retry-hint", values: {}, text: "look at b" },
  ]);
});

test("entries of configs that wait for consent are one item a file, without acts", async () => {
  const entry = (name, state = "waiting") => ({ name, state, file: "/shop/tap.config.json" });
  const entries = [entry("a"), entry("b"), entry("b"), entry("c", "running")];
  const { ask } = rig({ waits: [], entries });
  const { items } = await ask("inbox.list");
  assert.deepEqual(
    items.map(({ kind, text, acts, terminal }) => [kind, text, acts, terminal]),
    [["consent", "a\nb", [], "copilot-tap allow /shop/tap.config.json"]],
  );
});

test("at most 200 items; a session that does not answer, or is older, has none", async () => {
  const many = Array.from({ length: 300 }, (_, i) => ({ ...QUESTION, key: `q${i}`, at: i }));
  const { ask } = rig({ waits: many });
  assert.equal((await ask("inbox.list")).items.length, 200);
  const older = rig({
    sessions: [{ id: "x", label: "x", cwd: "/", linked: false, ending: false }],
  });
  assert.deepEqual((await older.ask("inbox.list")).items, []);
});
