// A watcher whose program ends builds faster than anything reads of them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { readWakeLimits } from "../../../js/features/emitters/wake-turns.mjs";
import { Watcher } from "../../../js/features/emitters/watcher.mjs";
import { Hour } from "../../../js/watch/wakes.mjs";

/** @param {"red" | "green"} verdict @param {number} at */
const createCycle = (verdict, at) => ({
  ...{
    verdict,
    closedBy: /** @type {const} */ ("begin"),
    isGuess: false,
    from: at,
    to: at,
    run: 1,
  },
  ...{ firstLine: 1, lastLine: 2, leftOut: 0, warnings: 0, isRecognized: true, ran: [] },
  failures:
    verdict === "red"
      ? [{ file: "a.ts", code: `T${at}`, what: "x", lines: [], lineNumber: 1 }]
      : [],
});

test("of many builds that end at once, the last state counts, and few changes are recorded", async (t) => {
  let now = 1000;
  const records = /** @type {any[]} */ ([]);
  const parts = /** @type {any} */ ({
    now: () => now,
    onChange: () => {},
    onDiagnostic: assert.fail,
    turns: { limits: readWakeLimits(), getHour: () => new Hour(30) },
    target: async () => undefined,
    services: { records: { append: async (/** @type {any} */ one) => records.push(one.body) } },
  });
  const plan = /** @type {any} */ ({ tool: "tsc", changed: [], runsOn: true, keepsUnseen: false });
  const feed = /** @type {any} */ ({ owner: { folder: "/w" } });
  const spec = /** @type {any} */ ({ name: "w" });
  const watcher = new Watcher({ spec, plan, folder: "/w", feed, parts });
  t.after(() => watcher.close());
  const verdicts = /** @type {const} */ (["green", "red"]);
  const closed = Array.from({ length: 100_001 }, (_, at) => createCycle(verdicts[at % 2], at));
  watcher.handleCycles({ closed }, false);
  assert.equal(watcher.state.state, "green");
  assert.equal(records.length, 1);
  now += 1000;
  watcher.handleCycles({ closed: [createCycle("red", now)] }, false);
  assert.equal(watcher.state.failures[0].code, `T${now}`);
  assert.deepEqual(
    records.map(({ unrecorded }) => unrecorded > 0),
    [false, true],
  );
});
