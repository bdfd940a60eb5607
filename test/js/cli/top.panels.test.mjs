// copilot-tap top: what its panels make of what the gateway says.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { COLLECTIONS, PANELS } from "../../../js/views/top/panels.mjs";
import {
  bindingOf,
  gatewayOf,
  NOW,
  providerOf,
  record,
  seenOf,
  sessionOf,
  User,
} from "./top-rig.mjs";

/** @param {string} id @param {any} seen */
function rowsOf(id, seen) {
  const panel = PANELS.find((one) => one.id === id);
  return panel.rows(seen).map(({ key, cells, details }) => ({
    key,
    cells: cells.map((part) => (typeof part === "string" ? part : part.text)),
    details: Object.fromEntries(details()),
  }));
}

/** @param {Record<string, any[]>} records */
const recorded = (records) => seenOf({ records });

describe("the panels of copilot-tap top", () => {
  test("records without a session, a source or a trace, such as those of a config's emitter", () => {
    const fields = {
      stream: "watch",
      emitter: "watch",
      event: "done",
      text: "done",
      outcome: "queued",
    };
    for (const body of [fields, { ...fields, outcome: "injected" }, {}]) {
      const bare = (collection) => ({ id: 1, collection, at: NOW, v: 1, body });
      const seen = recorded(Object.fromEntries(COLLECTIONS.map((one) => [one, [bare(one)]])));
      for (const { id } of PANELS) {
        for (const { cells, details } of rowsOf(id, seen)) {
          const texts = [...cells, ...Object.values(details)];
          assert.ok(!texts.some((text) => /undefined/.test(text)), `${id}: ${texts}`);
          assert.equal(details.session, undefined, id);
        }
      }
    }
    const [row] = rowsOf(
      "streams",
      recorded({ stream_entry: [{ id: 1, at: NOW, v: 1, body: fields }] }),
    );
    assert.deepEqual(row.cells.slice(0, 4), ["watch", "watch", "", "1"]);
  });

  test("sessions: the latest first, with what is wrong", () => {
    const away = sessionOf({ id: "far", label: "docs", inUse: 0, linked: false, held: [] });
    const asked = sessionOf({ hooks: "pending" });
    const seen = seenOf({ gateway: gatewayOf({ sessions: [away, asked] }) });
    const [first, second] = rowsOf("sessions", seen);
    assert.deepEqual(first.cells, ["shop (main)", "0d6f7c1e", "busy", "0", "1", "asked"]);
    assert.equal(second.cells[2], "away");
    assert.equal(first.details.folder, "/shop");
    assert.match(new User(seen).goTo("sessions").text, /docs: its extension is being replaced/);
  });

  test("providers: state, calls, failures and latency", () => {
    const tool = (fields) => ({
      ...{ provider: "ci", tool: "build", calls: 3, failed: 1, cancelled: 0, perSecond: 0.5 },
      ...{ p50Ms: 4, p95Ms: 90, p99Ms: 95, lastAt: NOW, ...fields },
    });
    const failure = {
      at: NOW - 2000,
      provider: "ci",
      tool: "build",
      code: "INTERNAL",
      message: "no",
    };
    const gateway = gatewayOf({
      providers: [
        providerOf({
          bindings: [bindingOf({ tools: [{ name: "build", description: "Builds." }] })],
        }),
        providerOf({ connection: 5, name: "slow", callsInFlight: 1, waitedMs: 7000 }),
        providerOf({ connection: 6, name: "", bindings: [] }),
        providerOf({ connection: 7, name: "tap", trust: "internal" }),
      ],
      tools: [tool({}), tool({ tool: "log", calls: 1, failed: 0, p95Ms: 20 })],
      failures: [failure],
    });
    const rows = rowsOf("providers", seenOf({ gateway }));
    assert.equal(rows.length, 3, "tap's own are left out");
    assert.deepEqual(rows[0].cells, ["ci", "shop (main)", "idle", "1", "0", "4", "1", "90 ms"]);
    assert.match(rows[0].details.tools, /build: Builds\./);
    assert.match(rows[0].details.calls, /build: 3 calls, 1 failed.*p95 90 ms/);
    assert.match(rows[0].details["last failures"], /2 s ago, build: INTERNAL: no/);
    assert.equal(rows[1].cells[2], "no answer for 7 s");
    assert.equal(rows[2].cells[2], "no hello");
  });

  test("rules: who may deny what in which session", () => {
    const rule = { action: "gate", failOpen: false, gateId: "ci", match: { tool: "shell" } };
    const bindings = [bindingOf({ rules: [rule], context: 12 })];
    const rows = rowsOf(
      "rules",
      seenOf({ gateway: gatewayOf({ providers: [providerOf({ bindings })] }) }),
    );
    assert.deepEqual(
      rows.map(({ cells }) => cells),
      [
        ["shop (main)", "ci", "gate", "tool shell", 'asks "ci"'],
        ["shop (main)", "ci", "context", "every prompt", "12 bytes"],
      ],
    );
  });

  test("calls: those that run, then the last ones, without secrets in their details", () => {
    const call = (sequence, fields) => ({
      ...{ sequence, at: NOW - 1000, ms: 12, session: "0d6f7c1e-6a3b", provider: "ci" },
      ...{
        tool: "build",
        by: "model",
        args: { n: sequence },
        whole: true,
        label: "shop",
        ...fields,
      },
    });
    const gateway = gatewayOf({ providers: [providerOf({ callsInFlight: 2, waitedMs: 3000 })] });
    const calls = [
      call(1),
      call(2, { code: "TIMEOUT", message: "it took too long", whole: false }),
    ];
    const rows = rowsOf("calls", seenOf({ gateway, calls }));
    assert.deepEqual(rows[0].cells, ["now", "", "ci", "2 calls running", "", "for 3 s"]);
    assert.deepEqual(rows[1].cells.slice(1), ["shop", "ci", "build", "TIMEOUT", "12 ms"]);
    assert.equal(rows[1].details.arguments, '{"n":2} …');
    assert.equal(rows[1].details.message, "it took too long");
    assert.equal(rows[2].cells[4], "ok");
  });

  test("spans: the slowest calls first, with the last of their trace", () => {
    const span = (name, durationUs, fields = {}) =>
      record("span", {
        ...{ traceId: "a".repeat(32), spanId: name.padEnd(16, "0"), name, durationUs },
        ...{ startUs: NOW * 1000, status: "ok", ...fields },
      });
    const seen = recorded({
      span: [
        span("execute_tool a", 1000),
        span("session", 90_000_000),
        span("execute_tool b", 2_000_000, { status: "error" }),
        record("span", { traceId: 7 }),
      ],
    });
    const rows = rowsOf("spans", seen);
    assert.deepEqual(
      rows.map(({ cells: [took, name, , , , status] }) => [took, name, status]),
      [
        ["2000 ms", "execute_tool b", "error"],
        ["1.00 ms", "execute_tool a", "ok"],
      ],
    );
    assert.match(rows[0].details["last of its trace"], /execute_tool a {2}1\.00 ms/);
  });

  test("streams: one row each, with its last lines, of providers and of features", () => {
    const seen = recorded({
      push: [
        record("push", { stream: "builds", level: "keep", outcome: "stored", event: "214 is red" }),
        record("push", {
          stream: "builds",
          level: "keep",
          outcome: "stored",
          event: "215\nis green",
        }),
        record("push", { stream: "held", level: "inject", outcome: "injected" }),
      ],
      stream_entry: [record("stream_entry", { stream: "goal:g-1", text: "set" }, { source: "" })],
    });
    const rows = rowsOf("streams", seen);
    assert.deepEqual(
      rows.map(({ cells: [stream, from, , count, , last] }) => [stream, from, count, last]),
      [
        ["goal:g-1", "tap", "1", "set"],
        ["builds", "ci", "2", "215 is green"],
      ],
    );
    assert.match(rows[1].details["last lines"], /\[stored\] 214 is red\n.*215 is green/);
  });

  test("pushes: what a budget has refused, and what the limits are", () => {
    const push = (outcome, fields) =>
      record("push", { stream: "builds", level: "inject", outcome, event: "e" }, fields);
    const limits = [
      { name: "pushes-per-second", value: 10 },
      { name: "inject-cycles", value: 3 },
      { name: "session-inject-cycles", value: 12 },
    ];
    const seen = seenOf({
      gateway: gatewayOf({ limits }),
      records: {
        push: [
          push("injected", { at: NOW - 120_000 }),
          push("queued"),
          push("over budget"),
          push("refused"),
        ],
      },
    });
    const [row] = rowsOf("pushes", seen);
    assert.deepEqual(row.cells.slice(0, 7), ["ci", "s-1", "3", "1", "1", "1", "1"]);
    assert.match(
      new User(seen, { columns: 120, rows: 30 }).goTo("pushes").text,
      /takes 10 pushes a second.* 3 injects.* 12 turns/,
    );
  });

  test("injected: each text once, by its notify record where there is one", () => {
    const trace = "b".repeat(32);
    const seen = recorded({
      push: [
        record("push", {
          stream: "builds",
          level: "inject",
          outcome: "queued",
          event: "214 is red",
        }),
        record("push", { stream: "builds", level: "inject", outcome: "injected" }),
        record(
          "push",
          { stream: "goals", level: "inject", outcome: "injected", event: "x" },
          { trace, source: "builtin:goals" },
        ),
      ],
      notify: [
        record(
          "notify",
          { stream: "goals", prompt: "a goal was set" },
          { trace, source: "builtin:goals" },
        ),
      ],
    });
    const rows = rowsOf("injected", seen);
    assert.equal(rows.length, 2);
    assert.match(rows[0].cells[3], /^notify \d+$/);
    assert.equal(rows[0].cells[2], "builtin:goals/goals");
    assert.equal(rows[0].details.text, "a goal was set");
    assert.match(rows[1].cells[3], /^push \d+$/);
    assert.equal(rows[1].cells[4], "214 is red", "the text of the push that was held");
  });

  test("goals: their state, and which commands ended as required", () => {
    const goal = (body) => record("goal", { goal: "g-1", ...body });
    const seen = recorded({
      goal: [
        goal({ event: "evidence", n: 0, kind: "command", command: "npm test" }),
        goal({ event: "evidence", n: 1, kind: "file", file: "a.md" }),
        goal({ event: "set", statement: "publish", by: "model", cwd: "/shop", parts: 2 }),
        goal({ event: "supplied", n: 1, exitCode: 0, met: true }),
        goal({ event: "ran", n: 2, exitCode: 0, met: true }),
        goal({ event: "ran", n: 2, exitCode: 1, met: false }),
        record("goal", { event: "command", command: "npm test", exitCode: 0 }),
        goal({ event: "ran", n: 0, exitCode: 0, met: true }),
        record("goal", { goal: "g-2", event: "set", statement: "old" }),
        record("goal", { goal: "g-2", event: "dropped" }),
      ],
    });
    const rows = rowsOf("goals", seen);
    assert.deepEqual(
      rows.map(({ cells: [id, state, , commands, , statement] }) => [
        id,
        state,
        commands,
        statement,
      ]),
      [
        ["g-2", "dropped", "0 of 0", "old"],
        ["g-1", "open", "1 of 2", "publish"],
      ],
    );
    assert.match(rows[1].details.events, /ran \{"n":0,"exitCode":0,"met":true\}/);
  });

  test("features: the feature host, what holds it, the store, and each feature", () => {
    const report = (fields) => ({
      ...{ id: "builtin:goals", enabled: true, runtime: "builtin", granted: [], denied: [] },
      ...{ tools: ["tap_set_goal"], hooks: [], commands: ["tap-goal"], channels: [], tasks: [] },
      ...{ skipped: [], diagnostics: [], ...fields },
    });
    const parts = {
      features: [report({}), report({ id: "builtin:x", enabled: false })],
      featureHost: { state: "running", pid: 9, startedAt: NOW - 1000, rss: 44 << 20 },
      holds: [
        { id: "h-1", feature: "builtin:plans", what: "the plan", at: "2026-11-23T08:00:00Z" },
      ],
      records: {
        recording: "all",
        rows: 12,
        bytes: 5000,
        file: "/r",
        dropped: {},
        diagnostics: [],
      },
    };
    const rows = rowsOf("features", seenOf({ parts }));
    const shown = rows.map(({ cells }) => cells.join(" | "));
    assert.match(shown[0], /feature host \| running \| .*44 MB/);
    assert.match(shown[1], /hold h-1 \| holds \| builtin:plans: the plan/);
    assert.match(shown[2], /record store \| on \| 12 records, 5\.0 kB/);
    assert.match(shown[3], /builtin:goals \| on \| tap_set_goal, \/tap-goal/);
    assert.match(shown[4], /builtin:x \| off/);
    const older = new User(seenOf()).goTo("features").text;
    assert.match(older, /This older gateway does not report its features/);
  });

  test("emitters: when one runs next, as its last run says, until then", () => {
    const body = { emitter: "disk", run: 1, status: "ok", durationMs: 1200 };
    const next = (/** @type {number} */ nextAt) => {
      const runs = [record("emitter_run", { ...body, nextAt })];
      return rowsOf("emitters", seenOf({ records: { emitter_run: runs } }))[0].cells[5];
    };
    assert.deepEqual([next(NOW + 60_000), next(NOW - 1)], ["09:01:00", ""]);
  });

  test("emitters: none without one; else of records and of reports", () => {
    assert.match(new User(seenOf()).goTo("emitters").text, /No emitter\./);
    const line = (emitter, run, text, fields) =>
      record("stream_entry", { stream: emitter, emitter, run, text }, { source: "", ...fields });
    const ended = (emitter, run, status, fields) =>
      record("emitter_run", { emitter, run, status, durationMs: 1200, ...fields });
    const report = { emitters: [{ name: "disk", state: "waiting", nextAt: NOW + 60_000 }, null] };
    const seen = seenOf({
      parts: { features: [report] },
      records: {
        emitter_run: [
          ended("disk", 1, "ok"),
          ended("tests", 7, "failed", { exitCode: 1, kept: 3, command: "npm test" }),
        ],
        stream_entry: [
          line("disk", 1, "90 % full"),
          line("tests", 7, "not ok 1"),
          line("watch", 1, "rebuilt"),
          line("tests", 8, "running", { session: "s-2" }),
          record("stream_entry", { stream: "goal:g-1", text: "set" }),
        ],
      },
    });
    const rows = rowsOf("emitters", seen);
    assert.deepEqual(
      rows.map(({ cells: [name, session, state, runs, , next, last] }) =>
        [name, session, state, runs, next, last].join("|"),
      ),
      [
        "disk|s-1|waiting|1|09:01:00|90 % full",
        "tests|s-1|failed|1||not ok 1",
        "watch|s-1|running|0||rebuilt",
        "tests|s-2|running|0||running",
      ],
    );
    assert.match(rows[1].details["last runs"], /run 7 failed: 1200 ms, exit code 1, 3 lines kept$/);
    assert.equal(rows[1].details.command, "npm test");
    assert.equal(new Set(rows.map(({ key }) => key)).size, 4);
  });

  test("take bodies that no version has written", () => {
    const odd = [null, 7, "x", [], {}, { deep: { er: 1 } }];
    const bodies = odd.map((value) => ({
      stream: value,
      event: value,
      goal: value,
      emitter: value,
      text: value,
    }));
    const records = Object.fromEntries(
      ["push", "notify", "stream_entry", "span", "goal", "emitter_run"].map((name) => [
        name,
        bodies.map((body) => record(name, body)),
      ]),
    );
    for (const { id } of PANELS) assert.ok(rowsOf(id, recorded(records)), id);
  });
});
