// The message for a text that was not accepted.

import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";
import { checkSnapshot, compareLines, SNAPSHOTS } from "./snapshot.mjs";

const lines = (/** @type {string} */ text) => text.split(" ").join("\n");

test("the lines that differ are shown, with those around them", () => {
  const cases = [
    ["a b c d e f", "a b c x y e f", "line 4:\n  b\n  c\n- d\n+ x\n+ y\n  e\n  f"],
    ["a b", "a b c", "line 3:\n  a\n  b\n+ c"],
    ["a a", "a", "line 2:\n  a\n- a"],
  ];
  for (const [accepted, text, shown] of cases) {
    assert.equal(compareLines(lines(accepted), lines(text)), shown);
  }
});

test("a text without an accepted version fails, and names the way to accept it", (t) => {
  const { TAP_ACCEPT } = process.env;
  delete process.env.TAP_ACCEPT;
  t.after(() => TAP_ACCEPT !== undefined && (process.env.TAP_ACCEPT = TAP_ACCEPT));
  assert.throws(() => checkSnapshot("help/missing", "new\n"), {
    name: "AssertionError",
    message: /test\/snapshots\/help\/missing\.txt; [^]*\n\+ new\n[^]*TAP_ACCEPT=1 node --test /,
  });
  assert.ok(!fs.existsSync(`${SNAPSHOTS}/help/missing.txt`));
});
