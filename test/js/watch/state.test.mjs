// The state of a watcher, its texts, and when it may start a turn, without any program.

import assert from "node:assert/strict";
import { test } from "node:test";
import { WatchState, isWatchSnapshot } from "../../../js/watch/state.mjs";
import { formatReport, formatShown } from "../../../js/watch/text.mjs";

const FOLDER = "/p";

/** @param {string} verdict @param {object[]} [failures] @param {object} [more] @returns {any} */
const cycle = (verdict, failures = [], more = {}) => ({
  ...{ verdict, closedBy: "line", isGuess: false, from: 0, to: 5000, run: 1, firstLine: 1 },
  ...{ lastLine: 9, leftOut: 0, warnings: 0, isRecognized: true, ran: [] },
  failures: failures.map((one) => ({ lines: [], lineNumber: 2, ...one })),
  ...more,
});
const wrong = (/** @type {string} */ file, /** @type {string} */ what, line = "1") => ({
  ...{ file, line, what },
  code: "E1",
});
const open = (/** @type {object} */ more = {}) =>
  new WatchState({ folder: FOLDER, now: 0, ...more });
const texts = { name: "build", command: "tsc", folder: FOLDER, now: 6000 };

test("the same failure on another line is no news, and a changed message is", () => {
  const state = open();
  state.close(cycle("red", [wrong("/p/a.ts", "bad 1")]));
  assert.equal(state.pending?.added.length, 1);
  state.markTold();
  state.close(cycle("red", [wrong("a.ts", "bad 2", "7")]));
  assert.equal(state.pending, undefined, "numbers are no part of it");
  assert.equal(state.failures[0].seen, 2);
  state.close(cycle("red", [{ file: "a.ts", name: "adds", what: "1 is not 2" }]));
  state.markTold();
  state.close(cycle("red", [{ file: "a.ts", name: "adds", what: "it throws" }]));
  assert.deepEqual([state.pending?.added.length, state.pending?.changed.length], [0, 1]);
});

test("a red that is green again before it was sent is no text of its own", () => {
  const state = open();
  state.close(cycle("green"));
  state.markTold();
  state.close(cycle("red", [wrong("a.ts", "bad")], { to: 6000 }));
  state.close(cycle("green", [], { to: 8000 }));
  assert.equal(state.pending, undefined);
  state.close(cycle("red", [wrong("b.ts", "worse")], { to: 9000 }));
  assert.deepEqual(state.pending?.over, [{ from: 6000, to: 8000 }]);
});

test("a text that was taken back was not read", () => {
  const state = open();
  state.close(cycle("green"));
  state.markTold();
  state.close(cycle("red", [wrong("a.ts", "bad")], { to: 6000 }));
  const takeBack = state.markTold();
  state.close(cycle("green", [], { to: 8000 }));
  assert.equal(state.pending?.mended.length, 1);
  takeBack();
  assert.equal(state.pending, undefined, "it is green, as the model knows");
  state.close(cycle("red", [wrong("b.ts", "worse")], { to: 9000 }));
  assert.deepEqual(state.pending?.over, [{ from: 6000, to: 8000 }]);
  assert.equal(state.pending?.added.length, 1);
});

test("the line for the user says in one line what is wrong, and why", () => {
  const state = open();
  const show = () => formatShown(/** @type {any} */ (state.pending), texts);
  state.close(cycle("green", [], { to: 0 }));
  state.markTold();
  const failures = [wrong("/p/src/b.ts", "bad"), wrong("c.ts", "bad")];
  state.close(cycle("red", failures, { to: 26 * 60_000 }));
  const why = "(why: red after 26 min green; /tap-quiet build)";
  assert.equal(show(), `build is red: src/b.ts:1 E1 and 1 more ${why}`);
  state.markTold();
  state.close(cycle("green", [], { to: 26 * 60_000 + 39_000 }));
  assert.equal(show(), "build is green again (39 s)");
  state.close(cycle("crash", [], { exitCode: 139 }));
  assert.equal(show(), "build has crashed (why: exit code 139; /tap-quiet build)");
});

test("each verdict leads to its state", () => {
  const cases = /** @type {const} */ ([
    [cycle("green"), false, "green", "verdict"],
    [cycle("red"), false, "red", "verdict"],
    [cycle("none"), false, "unknown", "no tests"],
    [cycle("crash", [], { exitCode: 2 }), false, "red", "crash"],
    [cycle("unknown", [], { closedBy: "exit" }), true, "unknown", "ended"],
  ]);
  for (const [closed, isEnd, state, why] of cases) {
    const watched = open();
    watched.close(closed, isEnd);
    assert.deepEqual([watched.state, watched.why], [state, why]);
    assert.ok(watched.pending, "it is reported once");
    watched.markTold();
    assert.equal(watched.pending, undefined);
  }
});

test("where only changed files run, a failure stays until its test has passed", () => {
  const state = open({ keepsUnseen: true });
  state.close(
    cycle("red", [
      { file: "a.test.js", name: "a" },
      { file: "b.test.js", name: "b" },
    ]),
  );
  state.close(cycle("green", [], { ran: ["a"] }));
  assert.deepEqual([state.state, state.failures.map(({ name }) => name)], ["red", ["b"]]);
  state.close(cycle("green", [], { ran: ["b"] }));
  assert.equal(state.state, "green");
});

test("each part has a state, and the program is red while one of them is", () => {
  const state = open();
  const part = (/** @type {string} */ name) => ({ part: name, tool: "tsc" });
  state.close(cycle("red", [wrong("a.ts", "bad")], part("web")));
  state.close(cycle("green", [], part("api")));
  assert.equal(state.state, "red");
  assert.deepEqual(state.pending?.redParts, ["web"]);
  state.markTold();
  state.close(cycle("red", [wrong("a.ts", "bad")], part("api")));
  assert.deepEqual(
    state.pending?.added.map(({ part: name }) => name),
    ["api"],
  );
  state.close(cycle("green", [], part("web")));
  const states = (/** @type {WatchState} */ of) => of.parts.map((one) => [one.part, one.state]);
  assert.deepEqual(states(state), [
    ["web", "green"],
    ["api", "red"],
  ]);
  const saved = JSON.parse(JSON.stringify(state.toSnapshot()));
  assert.ok(isWatchSnapshot(saved));
  assert.deepEqual(states(open({ saved })), states(state));
  assert.equal(isWatchSnapshot({ ...saved, parts: [{ part: 1 }] }), false);
  state.close(cycle("green", [], { closedBy: "exit" }));
  assert.deepEqual([state.state, state.failures.length], ["green", 0], "the exit code decides");
  state.close(cycle("unknown", [], { closedBy: "exit" }), true);
  assert.deepEqual([state.why, ...state.parts.map(({ why }) => why)], ["ended", "ended", "ended"]);
  state.close(cycle("red", [wrong("a.ts", "bad")], part("web")));
  assert.equal(state.state, "red", "it runs again");
});

test("a file that is loaded again mends its own failures only", () => {
  const state = open({ keepsUnseen: true });
  state.close(cycle("red", [wrong("src/a.vue", "bad"), wrong("src/b.vue", "bad")]));
  state.close(cycle("green", [], { isGuess: true, ran: ["/src/a.vue"] }));
  assert.deepEqual([state.state, state.failures.map(({ file }) => file)], ["red", ["src/b.vue"]]);
  state.close(cycle("green", [], { isGuess: true, ran: ["src/b.vue"] }));
  assert.equal(state.state, "green");
});

test("a state that was saved goes on, and a damaged one is refused", () => {
  const state = open();
  state.close(cycle("red", [wrong("a.ts", "bad")]));
  state.markTold();
  const saved = JSON.parse(JSON.stringify(state.toSnapshot()));
  assert.ok(isWatchSnapshot(saved));
  const next = open({ saved });
  next.close(cycle("red", [wrong("a.ts", "bad")]));
  assert.equal(next.pending, undefined);
  for (const damaged of [undefined, {}, { ...saved, failures: [{}] }, { ...saved, told: 1 }])
    assert.equal(isWatchSnapshot(damaged), false);
});

test("a text has places, new failures first, at most 20 lines, and counts the rest", () => {
  const state = open();
  state.close(cycle("red", [wrong("/p/a.ts", "old")]));
  state.markTold();
  const many = Array.from({ length: 50 }, (_, index) => wrong(`/p/f${index}.ts`, "bad \x1b[31m"));
  state.close(cycle("red", [wrong("a.ts", "old"), ...many], { leftOut: 9950, to: 6000 }));
  const report = /** @type {any} */ (state.pending);
  const text = formatReport(report, texts);
  const lines = text.split("\n");
  assert.match(lines[0], /^Watcher build \(tsc\) is RED since .* 10001 failures, 50 new\.$/);
  assert.equal(lines[1], "f0.ts:1  E1  bad \\x1b[31m");
  assert.equal(lines.filter((line) => /^f\d+\.ts/.test(line)).length, 20);
  assert.match(text, /As before: a\.ts E1\./);
  assert.match(text, /Left out: 9980 \(f20\.ts 1, /);
  assert.equal(
    formatShown(report, texts),
    "build is red: f0.ts:1 E1 and 9999 more (why: 50 new; /tap-quiet build)",
  );
});

test("a red without a known failure shows the last lines and names the entry", () => {
  const state = open();
  state.close(cycle("red", [], { exitCode: 1 }));
  const report = /** @type {any} */ (state.pending);
  const text = formatReport(report, { ...texts, tool: "tsc", lastLines: ["Segmentation fault"] });
  assert.match(
    text,
    /the entry tsc did not recognize this output\. The last lines:\n {4}Segmentation/,
  );
});
