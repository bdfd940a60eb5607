// The rules that a tool or a config may give are those that the native filter takes: js/config/emitter-rules.mjs and
// native/lines/rules.h agree at each bound, and the older patterns decide alike.

import assert from "node:assert/strict";
import { test } from "node:test";
import { addon } from "../../../js/lib/addon.mjs";
import { formatDuration } from "../../../js/config/emitter-values.mjs";
import {
  MAX_COUNT,
  MAX_PATTERN_BYTES,
  MAX_RULE_MS,
  MAX_RULES,
  MAX_WINDOW_LINES,
  OUTCOMES,
  readRules,
} from "../../../js/config/emitter-rules.mjs";

/** @param {any[]} rules with times in ms @returns {boolean} */
function nativeTakes(rules) {
  try {
    new addon.LineSource({ delivery: "off" }).setRules(rules);
    return true;
  } catch (error) {
    assert.ok(error instanceof RangeError || error instanceof TypeError, String(error));
    return false;
  }
}

/** The same rule as a tool gives it. @param {any} rule */
const asGiven = ({ cooldown, window, ...rule }) => ({
  ...rule,
  ...(cooldown !== undefined && { cooldown: formatDuration(cooldown) }),
  ...(window && { window: { lines: window.lines, time: formatDuration(window.time) } }),
});

// The addon reads 0 as "not there", so -1 stands for too little.
const COOLDOWNS = [undefined, -1, 1, MAX_RULE_MS, MAX_RULE_MS + 1];
const COUNTS = [undefined, -1, 1, MAX_COUNT, MAX_COUNT + 1];
const WINDOWS = [
  undefined,
  { lines: 1, time: 1 },
  { lines: 0, time: 1 },
  { lines: MAX_WINDOW_LINES, time: MAX_RULE_MS },
  { lines: MAX_WINDOW_LINES + 1, time: 1 },
  { lines: 1, time: 0 },
  { lines: 1, time: MAX_RULE_MS + 1 },
];

/** Every combination, without what is undefined. */
const RULES = OUTCOMES.flatMap((outcome) =>
  COOLDOWNS.flatMap((cooldown) =>
    COUNTS.flatMap((count) =>
      WINDOWS.map((window) => {
        const all = { match: "x", outcome, cooldown, count, window };
        return Object.fromEntries(Object.entries(all).filter(([, part]) => part !== undefined));
      }),
    ),
  ),
);

test("at each bound both take a rule, or neither does", () => {
  let taken = 0;
  for (const rule of RULES) {
    const read = readRules({ eventFilter: [asGiven(rule)] });
    assert.equal(read.ok, nativeTakes([rule]), JSON.stringify([rule, read]));
    if (!read.ok) continue;
    taken += 1;
    assert.deepEqual(read.value, [rule]);
  }
  assert.ok(taken > 20, `${taken} are taken`);
});

test("as many rules, and as long patterns", () => {
  for (const count of [MAX_RULES, MAX_RULES + 1]) {
    const rules = Array(count).fill({ match: "x", outcome: "drop" });
    assert.equal(readRules({ eventFilter: rules }).ok, nativeTakes(rules), `${count} rules`);
  }
  for (const match of ["x".repeat(MAX_PATTERN_BYTES), "x".repeat(MAX_PATTERN_BYTES + 1)]) {
    const rules = [{ match, outcome: "drop" }];
    assert.equal(readRules({ eventFilter: rules }).ok, nativeTakes(rules), `${match.length} bytes`);
  }
  const longest = readRules({ notifyPattern: "x".repeat(MAX_PATTERN_BYTES - 4) });
  assert.ok(longest.ok && nativeTakes([...longest.value]));
  assert.equal(readRules({ notifyPattern: "x".repeat(MAX_PATTERN_BYTES - 3) }).ok, false);
});

test("patterns ignore case and decide in their order", () => {
  const read = readRules({
    includePattern: "build|test",
    excludePattern: "noise",
    notifyPattern: "failed",
  });
  assert.ok(read.ok);
  const source = new addon.LineSource({ delivery: "off" });
  const lines = ["BUILD ok", "test NOISE failed", "lint Failed", "lint ok"];
  source.post(lines.join("\n"));
  const tried = JSON.parse(source.test([...read.value], 10)).lines;
  const outcomes = Object.fromEntries(
    tried.map((/** @type {any} */ { text, outcome }) => [text, outcome]),
  );
  assert.deepEqual(
    lines.map((line) => outcomes[line]),
    ["keep", "drop", "inject", "drop"],
  );
});
