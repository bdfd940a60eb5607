// Parts of emitters alone: what the model is told, and what a former process has left.

import assert from "node:assert/strict";
import { test } from "node:test";
import { readEmitter } from "../../../js/config/emitter-spec.mjs";
import { Emitter } from "../../../js/features/emitters/emitter.mjs";
import { recordRun } from "../../../js/features/emitters/run.mjs";
import { EmitterStore } from "../../../js/features/emitters/store.mjs";
import { resolveOwner, SessionList } from "../../../js/features/emitters/manager.mjs";
import { NotificationLimiter } from "../../../js/features/emitters/notification-limiter.mjs";
import { lineView, fitList, fitNewest } from "../../../js/features/emitters/views.mjs";
import { createSinks } from "../../../js/feature-host/sinks.mjs";
import { MAX_RESULT_BYTES } from "../../../js/feature-host/results.mjs";

const FEED = { name: "build", stream: "build" };

function telling() {
  const said = {
    ...{ events: /** @type {any[]} */ ([]), model: /** @type {string[]} */ ([]) },
    waits: false,
  };
  const teller = new NotificationLimiter(
    /** @type {any} */ ({
      events: { emit: async (_channel, event) => void said.events.push(event) },
      notify: {
        model: async (text) => void said.model.push(text),
        withdraw: async () => said.waits,
      },
      prompts: { start: async (text) => void said.model.push(text) },
    }),
  );
  return { teller, said };
}

test("the end of a run is told beside many lines, and what has no room is counted", async () => {
  const { teller, said } = telling();
  const lines = Array.from({ length: 600 }, (_, index) => ({
    number: index + 1,
    at: 0,
    run: 1,
    line: index + 1,
    text: "error",
  }));
  lines.push({ number: 601, at: 0, run: 1, line: 0, text: "run 1 ended with exit code 7" });
  await teller.inject("s", FEED, lines, 5);
  const [text] = said.model;
  assert.ok(text.length <= 3000, `${text.length}`);
  assert.match(text, /^Emitter build, stream build:\n\[run 1, line 1, [-\d :]+\] error\n/);
  assert.match(text, /\nrun 1 ended with exit code 7\n/);
  const shown = text.split("\n").filter((line) => line.startsWith("[run 1, line")).length;
  assert.ok(text.endsWith(`\n[${600 - shown + 5} more lines: tap_stream_history has them]`), text);
});

test("a line that is too long for one text is cut with a mark, and short lines beside it are whole", async () => {
  const { teller, said } = telling();
  const long = (/** @type {number} */ line) => ({
    ...{ number: line, at: 0, run: 1, line },
    text: `ERROR ${"x".repeat(5000)}`,
  });
  await teller.inject("s", FEED, [long(1)], 0);
  const short = { number: 2, at: 0, run: 1, line: 2, text: "short" };
  const end = { number: 4, at: 0, run: 1, line: 0, text: "run 1 ended with exit code 7" };
  await teller.inject("s", FEED, [long(1), short, long(3), end], 0);
  const [alone, together] = said.model.map((text) => text.split("\n"));
  assert.match(alone[1], /^\[run 1, line 1, [-\d :]+\] ERROR x{2800,}… \(\d{4} more\)$/);
  assert.equal(alone.length, 2);
  assert.match(together[2], /^\[run 1, line 2, [-\d :]+\] short$/);
  assert.equal(together[4], end.text);
  for (const text of [together[1], together[3]]) assert.match(text, /x{1300,}… \(\d{4} more\)$/);
  for (const text of said.model) assert.ok(text.length <= 3000, `${text.length}`);
});

test("lines that wait still and those that follow are one digest, those that were read are not repeated", async () => {
  const { teller, said } = telling();
  const line = (/** @type {number} */ number) => [
    { ...{ number, at: 0, run: 1, line: number }, text: `error ${number}` },
  ];
  await teller.inject("s", FEED, line(1), 2);
  said.waits = true;
  await teller.inject("s", FEED, line(2), 3);
  assert.match(said.model[1], /error 1\n.*error 2\n\[5 more lines/);
  said.waits = false;
  await teller.inject("s", FEED, line(3), 0);
  assert.doesNotMatch(said.model[2], /error [12]|more lines/);
});

test("lines beyond what the timeline takes are counted, and the count is shown", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let now = 0;
  const shown = /** @type {any[]} */ ([]);
  const sinks = createSinks({
    ...{ granted: ["event"], channels: ["lines"], closed: () => "", onDenied: () => {} },
    port: /** @type {any} */ ({ emit: async (_channel, event) => void shown.push(event.summary) }),
    diagnostics: /** @type {any} */ ({ add: () => {} }),
    clock: () => now,
  });
  const limiter = new NotificationLimiter(/** @type {any} */ (sinks));
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  for (let index = 0; index < 50; index += 1) limiter.show("s", "build", `line ${index}`);
  await settle();
  assert.equal(shown.length, 20);
  // What comes meanwhile does not take the room of the count.
  now = 1500;
  for (let index = 0; index < 50; index += 1) limiter.show("s", "test", `line ${index}`);
  t.mock.timers.tick(2000);
  await settle();
  assert.equal(shown.length, 21);
  assert.match(shown[20], /not shown: 50 of test, 30 of build; tap_stream_history has them/);
});

test("half a secret is in no text that is cut: for the model, in a record, in a result", async () => {
  const { teller, said } = telling();
  const secret = "https://user:hunter2hunter2@host.example/";
  const records = /** @type {any[]} */ ([]);
  const append = async (/** @type {any} */ record) => void records.push(record.body);
  const parts = /** @type {any} */ ({ now: () => 2, services: { records: { append } } });
  const shown = [];
  for (const most of [500, 1000, 2900]) {
    for (let before = most - 60; before < most; before += 1) {
      const text = `${"y".repeat(before)} ${secret} ${"z".repeat(5000)}`;
      const line = { number: 1, run: 1, line: 1, text };
      await teller.inject("s", FEED, [line], 0);
      shown.push(lineView(/** @type {any} */ ({ ...line, at: 1, outcome: "keep" })).text);
      const run = { number: 1, at: 1, trace: "", span: "", before: {} };
      const emitter = { spec: { command: text }, owner: {}, nextRuns: () => [] };
      const feed = { counters: () => ({}) };
      const outcome = /** @type {const} */ ({ status: "failed", error: text });
      recordRun(
        /** @type {any} */ ({ ...emitter, feed }),
        /** @type {any} */ (run),
        outcome,
        parts,
      );
    }
  }
  const all = [...said.model, ...shown, ...records.map((body) => JSON.stringify(body))];
  assert.ok(all.length > 500, `${all.length}`);
  assert.deepEqual(
    all.filter((text) => /hunter2/.test(text)),
    [],
  );
});

test("a list and a history fit into a result, in any script", () => {
  const text = "エラー".repeat(200);
  const about = /** @type {const} */ ({ outcome: "keep", source: "stdout", at: 1, run: 1 });
  const lines = Array.from({ length: 60 }, (_, n) =>
    lineView(/** @type {any} */ ({ ...about, number: n, line: n + 1, text })),
  );
  const bytesOf = (/** @type {unknown} */ answer) => Buffer.byteLength(JSON.stringify(answer));
  const newest = fitNewest(lines);
  assert.ok(newest.length > 5, `${newest.length}`);
  assert.equal(newest.at(-1), lines.at(-1));
  assert.ok(bytesOf(newest) <= MAX_RESULT_BYTES, `${bytesOf(newest)}`);
  const names = Array.from({ length: 40 }, (_, n) => `${n}`);
  const brief = (/** @type {string} */ name) => ({ name, what: "説明".repeat(150) });
  const { list, left } = fitList(names, (name) => ({ ...brief(name), text }), brief);
  assert.deepEqual([list.length + left, left > 0], [40, true]);
  assert.ok(bytesOf(list) <= MAX_RESULT_BYTES, `${bytesOf(list)}`);
});

test("a line in a result keeps its tabs, and ends with a whole character", () => {
  const show = (/** @type {string} */ text) =>
    lineView(/** @type {any} */ ({ text, number: 1, at: 1, run: 1, line: 1 })).text;
  assert.equal(show("a\tb\x1b"), "a\tb\\x1b");
  for (const before of [998, 999, 1000]) {
    assert.ok(show(`${"a".repeat(before)}😀😀😀`).isWellFormed(), String(before));
  }
});

test("a prompt keeps its lines", async () => {
  const { teller, said } = telling();
  await teller.prompt("s", "look", 2, "first\nsecond");
  assert.deepEqual(said.model, ["Prompt of emitter look, run 2:\nfirst\nsecond"]);
});

/** @param {unknown} value of the file @param {number} [version] @param {number} [hangs] */
function saving(value, version = 1, hangs = 0) {
  const asked = /** @type {any[]} */ ([]);
  const note =
    (/** @type {string} */ name) =>
    async (/** @type {any[]} */ ...args) =>
      void asked.push([name, ...args]);
  const services = {
    files: {
      read: async () => {
        if (value === undefined) throw new Error("no JSON");
        return { version, value };
      },
      setAside: async (/** @type {string} */ name) => {
        asked.push(["setAside", name]);
        return "/aside";
      },
      write: note("write"),
      remove: note("remove"),
    },
    holds: { set: note("hold"), release: note("release") },
  };
  const diagnostics = { add: note("diagnostic") };
  return { saved: new EmitterStore(/** @type {any} */ ({ services, diagnostics, hangs })), asked };
}

const WHOLE = {
  spec: { name: "a", stream: "a", kind: "command", rules: [], env: {} },
  owner: { folder: "/w", session: "s" },
  schedule: { runs: 1, failures: 0, due: null },
};

test("what is not an emitter in the file is left out", async () => {
  const odd = [null, 1, "x", [], {}, { spec: null }, { ...WHOLE, owner: null }];
  const wrong = { ...WHOLE, schedule: { runs: "many", failures: 0, due: null } };
  const { saved, asked } = saving([...odd, wrong, WHOLE]);
  assert.deepEqual(await saved.read(), [WHOLE]);
  assert.deepEqual(asked[0], ["setAside", "emitters"]);
  assert.match(asked[1].join(), /diagnostic,.* 8 of 9 emitters are not whole; .* \/aside/);
  assert.deepEqual(
    asked.slice(2),
    [["write", "emitters", 1, [WHOLE]]],
    "what is whole still holds",
  );
});

test("a file of emitters that cannot be read is kept aside and told, and holds nothing", async () => {
  for (const [value, version, why] of /** @type {const} */ ([
    [undefined, 1, /no JSON/],
    ["none", 1, /another form/],
    [[WHOLE], 99, /version 99/],
  ])) {
    const { saved, asked } = saving(value, version);
    assert.deepEqual(await saved.read(), []);
    assert.deepEqual(
      asked.map(([name]) => name),
      ["setAside", "diagnostic", "release"],
    );
    assert.match(asked[1][1], why);
    assert.equal(saved.trouble, asked[1][1]);
  }
  const { saved, asked } = saving([WHOLE]);
  assert.deepEqual([await saved.read(), asked, saved.trouble], [[WHOLE], [], ""]);
});

test("what ran in two hosts that hung is set aside, and said", async () => {
  assert.deepEqual(await saving([WHOLE], 1, 1).saved.read(), [WHOLE]);
  const { saved, asked } = saving([WHOLE], 1, 2);
  assert.deepEqual(await saved.read(), []);
  const names = asked.map(([name]) => name);
  assert.deepEqual(names, ["setAside", "diagnostic", "release"]);
  assert.equal(saved.trouble, asked[1][1]);
});

test("a hold is there while something runs, and is released however late its answer is", async () => {
  const { saved, asked } = saving([]);
  await Promise.all([saved.write([/** @type {any} */ (WHOLE)], 1), saved.write([], 0)]);
  const names = asked.map(([name]) => name);
  assert.deepEqual(names, ["hold", "write", "release", "remove"]);
});

/** A stream of lines that does nothing. @type {any} */
const LINES = new Proxy(
  {},
  {
    get: (_of, name) =>
      name === "then" ? undefined : () => ({ kept: 0, dropped: 0, injected: 0 }),
  },
);

test("what is saved of an emitter is made again only where something has changed", async (t) => {
  let now = 1_000_000;
  const parts = /** @type {any} */ ({
    services: {
      process: { lines: async () => LINES },
      permissions: { check: () => new Promise(() => {}) }, // no run ends
    },
    ...{ now: () => now, onChange: () => {}, target: async () => ({ id: "s" }) },
  });
  const read = readEmitter({ name: "a", command: "true", every: "1h" }, { origin: "tool" });
  assert.ok(read.ok);
  const owner = { folder: "/w", session: "s", cliPid: 7 };
  const emitter = new Emitter(read.spec, owner, parts);
  await emitter.open();
  t.after(() => void emitter.discard());
  await emitter.begin();
  const { schedule } = emitter.toSnapshot();
  assert.deepEqual(schedule, { runs: 1, failures: 0, due: now + 3_600_000, running: true });
  assert.equal(emitter.toSnapshot(), emitter.toSnapshot());
  emitter.feed.setRules([{ match: "x", outcome: "drop" }]);
  assert.equal(emitter.toSnapshot().spec.rules.length, 1);
  emitter.feed.setInjector(false, "all");
  assert.deepEqual(
    [emitter.toSnapshot().spec.subscribe, emitter.toSnapshot().spec.delivery],
    [false, "all"],
  );
  emitter.adopt({ ...owner, session: "next" });
  assert.equal(emitter.toSnapshot().owner.session, "next");
  now += 3_600_000;
  await emitter.begin(); // a run is due, and the first has not ended
  assert.equal(emitter.toSnapshot().schedule.due, now + 3_600_000);
});

test("a prompt that starts no turn is left out, and the next one is sent", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let [now, activity] = [1_000_000, "idle"];
  const prompts = /** @type {string[]} */ ([]);
  const parts = /** @type {any} */ ({
    services: { process: { lines: async () => LINES }, records: { append: async () => {} } },
    notifications: { prompt: async (/** @type {any[]} */ ...args) => void prompts.push(args[3]) },
    ...{ now: () => now, onChange: () => {}, target: async () => ({ id: "s", activity }) },
  });
  const pass = async (/** @type {number} */ ms) => {
    now += ms;
    t.mock.timers.tick(ms);
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
  };
  for (const every of [undefined, "10s", "idle"]) {
    const asked = { name: "a", prompt: "look", ...(every && { every }) };
    const read = readEmitter(asked, { origin: "tool" });
    assert.ok(read.ok);
    const emitter = new Emitter(read.spec, { folder: "/w", session: "s", cliPid: 7 }, parts);
    await emitter.open();
    await emitter.begin();
    await pass(every === "idle" ? 2000 : 1);
    assert.deepEqual([prompts.splice(0), emitter.state, emitter.runs], [["look"], "running", 1]);
    await pass(9000);
    assert.equal(emitter.state, "running", "its turn may still begin");
    await pass(1000);
    for (let i = 0; i < 12 && prompts.length === 0; i += 1) await pass(1000);
    assert.deepEqual([prompts.splice(0), emitter.runs], [["look"], 1], `again, every ${every}`);
    activity = "busy";
    await pass(10_000);
    assert.equal(emitter.state, "running", "its turn has begun");
    activity = "idle";
    emitter.handleSessionIdle("s");
    assert.notEqual(emitter.state, "running");
    await emitter.stop("the test ends");
  }
});

test("a session of the same CLI and folder follows another, and nobody else does", () => {
  const owner = { session: "one", folder: "/w", cliPid: 7 };
  const session = (/** @type {object} */ fields) =>
    /** @type {any} */ ({ id: "two", cwd: "/w", cliPid: 7, ...fields });
  assert.equal(resolveOwner(owner, [session({ id: "one" })]), owner);
  assert.deepEqual(resolveOwner(owner, [session({})]), { ...owner, session: "two" });
  for (const other of [{ cwd: "/x" }, { cliPid: 8 }]) {
    assert.equal(resolveOwner(owner, [session(other)]), undefined);
  }
  assert.equal(resolveOwner({ ...owner, cliPid: 0 }, [session({ cliPid: 0 })]), undefined);
  const folder = { folder: "/w", cliPid: 7 };
  assert.equal(resolveOwner(folder, []), undefined);
  assert.equal(resolveOwner(folder, [], true), folder);
});

test("of the sessions of a folder one with a process hears, although another was used later", async () => {
  const gone = { id: "gone", cwd: "/a", ending: false, linked: false, inUse: 9 };
  const there = { id: "there", cwd: "/a", ending: false, linked: true, inUse: 1 };
  const targetOf = async (/** @type {object[]} */ all) => {
    const services = /** @type {any} */ ({ sessions: { list: async () => all } });
    const owner = /** @type {any} */ ({ folder: "/a" });
    return (await new SessionList(services).findTarget(owner))?.id;
  };
  assert.equal(await targetOf([gone, there]), "there");
  assert.equal(await targetOf([gone]), "gone", "it may come back");
});

test("a run that is stopped while its program starts ends with it", async () => {
  const program = {
    isRunning: false,
    stops: 0,
    begin: () => {},
    ended: (/** @type {any} */ _end) => ({}),
  };
  const lines = new Proxy(LINES, {
    get: (of, name) => {
      if (name === "isRunning") return program.isRunning;
      if (name === "start")
        return () =>
          new Promise((resolve) => {
            program.begin = () => ((program.isRunning = true), resolve(1));
          });
      if (name === "stop")
        return async () => {
          program.stops += 1;
          program.isRunning = false;
          program.ended({ signal: "SIGTERM" });
        };
      return of[name];
    },
  });
  const parts = /** @type {any} */ ({
    services: {
      process: {
        lines: async (/** @type {any} */ { onEnded }) => ((program.ended = onEnded), lines),
      },
      permissions: { check: async () => ({ allowed: true }) },
      records: { append: async () => {} },
    },
    ...{ now: () => 1_000_000, onChange: () => {}, target: async () => ({ id: "s" }) },
  });
  const read = readEmitter({ name: "a", command: "true" }, { origin: "tool" });
  assert.ok(read.ok);
  const emitter = new Emitter(read.spec, { folder: "/w", session: "s", cliPid: 7 }, parts);
  await emitter.open();
  await emitter.begin();
  await new Promise(setImmediate);
  const stopped = emitter.stop("the test");
  program.begin();
  await new Promise(setImmediate);
  assert.equal(program.stops, 1);
  await stopped;
  assert.equal(emitter.state, "ended");
});
