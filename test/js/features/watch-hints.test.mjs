// What the user alone reads about a watcher, and notifications of the desktop.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Desktop, toNotification, WatchHints } from "../../../js/features/emitters/watch-hints.mjs";

/** @param {import("node:test").TestContext} t @param {string} [tool] */
function setUp(t, tool = "tsc") {
  t.mock.timers.reset();
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const shown = /** @type {string[]} */ ([]);
  const lines = { count: 0 };
  const hints = new WatchHints({
    ...{ name: "build", tool, show: (text) => shown.push(text) },
    countLines: () => lines.count,
  });
  return { hints, shown, lines, pass: (/** @type {number} */ ms) => t.mock.timers.tick(ms) };
}
/** @param {number} ms @param {object} [more] @returns {any} */
const cycle = (ms, more = {}) => ({ from: 0, to: ms, ...more });

test("a program that writes nothing for 10 s is named once", (t) => {
  const { hints, shown, lines, pass } = setUp(t);
  hints.handleRun();
  pass(9_999);
  assert.deepEqual(shown, []);
  pass(1);
  assert.equal(shown.length, 1);
  hints.handleRun();
  pass(10_000);
  assert.equal(shown.length, 1, "once");
  const other = setUp(t);
  other.hints.handleRun();
  other.lines.count += 1;
  pass(10_000);
  assert.deepEqual([other.shown, lines.count], [[], 0]);
});

test("an unknown command is named after 10 s or with its first result, unless its output shows a tool", (t) => {
  const late = setUp(t, "general");
  late.hints.handleRun();
  late.lines.count += 1;
  late.pass(10_000);
  assert.match(late.shown.join(), /--name build --red/);
  const soon = setUp(t, "general");
  soon.hints.handleRun();
  soon.hints.handleCycles({ closed: [cycle(5)] });
  soon.hints.handleCycles({ closed: [cycle(5)] });
  assert.equal(soon.shown.length, 1);
  const known = setUp(t, "general");
  known.hints.handleRun();
  known.lines.count += 1;
  known.hints.handleCycles({ closed: [cycle(5, { part: "cc", tool: "cc" })] });
  known.pass(10_000);
  assert.deepEqual(known.shown, []);
});

test("a cycle that takes ten times as long as the last five is still running, from 60 s on", (t) => {
  const { hints, shown, pass } = setUp(t);
  hints.handleCycles({ opened: 0 });
  pass(59_999);
  assert.deepEqual(shown, []);
  pass(1);
  assert.match(shown.join(), /still running, for 60 s/);
  hints.handleCycles({ closed: [9, 1, 10, 12, 11, 100].map((s) => cycle(s * 1000)) });
  hints.handleCycles({ opened: 0 });
  pass(109_999);
  assert.equal(shown.length, 1);
  pass(1);
  assert.equal(shown.length, 2, "the median is 11 s");
  hints.handleCycles({ opened: 0 });
  hints.handleCycles({ closed: [cycle(1)] });
  pass(1_000_000);
  assert.equal(shown.length, 2);
});

test("a pattern that is too slow is named once", (t) => {
  const { hints, shown } = setUp(t);
  hints.handleCycles({ slow: ["failure[1].at", "red"] });
  hints.handleCycles({ slow: ["red"] });
  assert.deepEqual(
    shown.map((text) => text.match(/pattern (\S+)/)?.[1]),
    ["failure[1].at", "red"],
  );
});

test("a notification has fixed arguments, at most one a minute, and a missing program is named once", async () => {
  const runs = /** @type {string[][]} */ ([]);
  const missing = /** @type {string[]} */ ([]);
  const time = { now: 0, code: 0 };
  const desktop = new Desktop({
    now: () => time.now,
    onMissing: (text) => missing.push(text),
    run: async ({ command, args }) => {
      runs.push([command, ...args]);
      if (time.code < 0) throw new Error("ENOENT");
      return { code: time.code };
    },
  });
  await desktop.show("build", "is <b>red</b>\n--help\nmore", "linux");
  const text = "is &lt;b&gt;red&lt;/b&gt; --help";
  assert.deepEqual(runs, [["notify-send", "--app-name=tap", "--", "tap: build", text]]);
  time.now = 59_999;
  await desktop.show("build", "again", "linux");
  assert.equal(runs.length, 1);
  Object.assign(time, { now: 60_000, code: -1 });
  await desktop.show("build", "again", "linux");
  time.now = 200_000;
  await desktop.show("build", "again", "linux");
  assert.deepEqual([runs.length, missing.length], [2, 1]);
  const { command, args } = toNotification("tap: build", 'red" & quit', "darwin");
  assert.equal(command, "osascript");
  assert.deepEqual(args.slice(-2), ["tap: build", 'red" & quit'], "texts are no script");
});
