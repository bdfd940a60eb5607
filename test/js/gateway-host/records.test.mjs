// Who may write which records into the store of a host.

import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import { HostRecords } from "../../../js/gateway-host/records.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

const TRACE = "0a".repeat(16);

/** @param {import("node:test").TestContext} t */
function opened(t) {
  /** @type {Map<string, (params: any, from: string) => any>} */
  const handlers = new Map();
  const parts = {
    files: { home: "", records: path.join(temporaryFolder(t), "tap", "records.sqlite") },
    gateway: { setRecords: () => {} },
    log: () => {},
    requests: { register: (method, handler) => handlers.set(method, handler) },
  };
  const records = new HostRecords(/** @type {any} */ (parts));
  records.open({});
  t.after(() => records.close());
  const ask = async (method, from, params) => handlers.get(method)?.(params, from);
  return { ask, records };
}

/** @param {import("node:test").TestContext} t */
const place = (t) => opened(t).ask;

test("the user gives a collection and a body, and the store the rest", async (t) => {
  const ask = place(t);
  const record = { collection: "eval", body: { case: "one" } };
  assert.equal(await ask("records.commit", "control", record), true);
  await ask("records.append", "control", { ...record, source: "copilot-tap" });
  for (const [field, value] of Object.entries({
    ...{ at: 9e15, source: "weather", session: "s1", trace: TRACE },
    ["a\u001bb"]: 1,
  })) {
    const given = { ...record, [field]: value };
    const said = new RegExp(`^${field.replace("\u001b", String.raw`\\x1b`)}: `);
    await assert.rejects(
      ask("records.append", "control", given),
      { code: "INVALID", message: said },
      field,
    );
  }
  await assert.rejects(ask("records.append", "control", { collection: "goal", body: {} }), {
    code: "DENIED",
  });
  const { text } = await ask("records.query", "control", {});
  const { records } = JSON.parse(text);
  assert.ok(records.length > 0);
  for (const { source, session, at } of records) {
    assert.deepEqual([source, session], ["copilot-tap", undefined]);
    assert.ok(Math.abs(Date.now() - at) < 60_000);
  }
});

test("a trace has 32 hexadecimal digits, also that of a feature", async (t) => {
  const ask = place(t);
  const record = { collection: "goal", body: { goal: "g" }, source: "builtin:goals" };
  assert.equal(await ask("records.commit", "feature", { ...record, trace: TRACE }), true);
  const lines = { stream: "log", lines: "[]" };
  for (const trace of ["", "abc", `${TRACE}0`, "x".repeat(32), 7, null, {}]) {
    for (const [method, given] of [
      ["records.append", record],
      ["records.commit", record],
      ["records.lines", lines],
    ]) {
      const wanted = { code: "INVALID", message: /^trace: expected 32 hexadecimal digits/ };
      await assert.rejects(ask(method, "feature", { ...given, trace }), wanted);
    }
  }
});

test("a line of a stream has the trace of its run", async (t) => {
  const { ask } = opened(t);
  const now = Date.now();
  const lines = JSON.stringify([1, 2, 3].map((run) => ({ at: now + run, run, text: `of ${run}` })));
  const traces = { 1: "1b".repeat(16), 2: "2b".repeat(16) };
  await ask("records.lines", "feature", { stream: "log", lines, traces });
  const { text } = await ask("records.query", "control", { collection: "stream_entry" });
  assert.deepEqual(
    JSON.parse(text).records.map(({ trace }) => trace),
    [undefined, traces[2], traces[1]],
  );
  const wrong = { stream: "log", lines, traces: { 1: "abc" } };
  await assert.rejects(ask("records.lines", "feature", wrong), { code: "INVALID" });
});

test("records: false leaves rows of notify alone, also of features and the user, until it is taken back", async (t) => {
  const { ask, records } = opened(t);
  /** Writes one of each; says which were kept. */
  const write = async (/** @type {string} */ name) => {
    const given = (/** @type {string} */ collection) => ({ collection, body: { name } });
    const kept = [];
    for (const collection of ["goal", "review"]) {
      if (await ask("records.commit", "feature", given(collection))) kept.push(collection);
    }
    await ask("records.append", "feature", given("emitter_run"));
    await ask("records.append", "control", given("eval"));
    const lines = JSON.stringify([{ at: Date.now(), text: name }]);
    await ask("records.lines", "feature", { stream: "log", lines });
    records.note("session", { session: "s1", source: "tap", body: { name } });
    return kept;
  };
  const rows = async () => (await ask("records.stats", "control", {})).collections;
  records.configure({ records: false });
  assert.deepEqual(await write("off"), []);
  assert.deepEqual(await rows(), []);
  records.configure({});
  assert.deepEqual(await write("on"), ["goal", "review"]);
  const names = (await rows()).map((/** @type {any} */ { name }) => name);
  assert.deepEqual(names.sort(), [
    ...["emitter_run", "eval", "goal", "review"],
    ...["session", "stream_entry"],
  ]);
  records.configure({ records: false });
  assert.deepEqual(await write("off"), []);
  assert.ok((await rows()).every((/** @type {any} */ one) => one.rows === 1));
});
