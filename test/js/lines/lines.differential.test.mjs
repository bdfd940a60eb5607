// Holds native/lines to JavaScript: the same lines as by TextDecoder and String methods, and for
// each line the same first rule as by RegExp. The core's side is the executable lines_oracle
// (test/native/lines). How patterns differ from RegExp is in pattern.differential.test.mjs; the ones
// here do not.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Random } from "../../../tools/chaos/random.mjs";
import { ask, sized } from "../../support/oracle.mjs";
import { ROUNDS } from "../../support/rounds.mjs";

const seed = Number(process.env.TAP_TEST_SEED ?? 20_261_122) >>> 0;
const COUNT = 900 * ROUNDS;

/** @typedef {{patterns: string[], output: Buffer}} Case */
/** @typedef {[rule: number, line: string][]} Answer */

/** @param {Case[]} cases @returns {Answer[]} */
function askOracle(cases) {
  const input = cases.flatMap(({ patterns, output }) => [
    sized(
      patterns
        .map(
          (one) => `${one}
`,
        )
        .join(""),
    ),
    sized(output),
  ]);
  const answers = ask("lines_oracle", Buffer.concat(input), cases.length, `seed ${seed}:`);
  return answers.map((text) => JSON.parse(text));
}

const escape = "\x1b";
const colour = new RegExp(`${escape}\\[[0-9;]*m`, "g");

/** @param {string} pattern */
const regExpOf = (pattern) =>
  pattern.startsWith("(?i)") ? new RegExp(pattern.slice(4), "iu") : new RegExp(pattern, "u");

/** The same, by JavaScript's own means. @param {Case} one @returns {Answer} */
function answerOf({ patterns, output }) {
  const rules = patterns.map(regExpOf);
  // A line feed is never part of another character: to decode before is to decode after the split.
  const lines = new TextDecoder("utf-8", { ignoreBOM: true }).decode(output).split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line) => {
    const states = line.replaceAll(colour, "").replace(/\r+$/, "").split("\r");
    // A NUL has no width: it begins no text in the place of another.
    const [first, ...others] = states;
    const last = others.map((state) => state.replace(/^\0+/, "")).findLast(Boolean) ?? first;
    const text = last.replaceAll("\0", "\\x00");
    return [rules.findIndex((rule) => rule.test(text)), text];
  });
}

const words = [
  ...["ERROR", "error", "fail", "Task", "taſk", "diSK", "\u212aelvin", "kelvin", "abc", "aab", "b"],
  ...["12", " ", ".", "-", "é", "É", "漢", "😀", "\u00e5", "\0", "\x1b[1;31m", "\x1b[0m"],
];
const parts = [
  ...["ERROR", "error", "fail", "task", "disk", "kelvin", "abc", "aa", "b", "k", "s", "é", "漢"],
  ...[
    "\\d",
    "\\d+",
    ".",
    ".*",
    "^",
    "$",
    "a+",
    "b?",
    "[ab]",
    "[^a]",
    "\\.",
    " ",
    "a{2}",
    "(?:ab)*",
  ],
  ...["(?:ERROR|fail)", "(task|abc)", "(?=a)", "(?!b)", "(?:aab)+"],
];
const invalid = [
  [0xff],
  [0xc3],
  [0xe2, 0x82],
  [0xf0, 0x9f, 0x98],
  [0xed, 0xa0, 0x80],
  [0xc0, 0x80],
];

/** @param {Random} random */
function writePattern(random) {
  const sequence = () =>
    Array.from({ length: 1 + random.below(4) }, () => random.pick(parts)).join("");
  const pattern = random.below(4) === 0 ? `${sequence()}|${sequence()}` : sequence();
  return random.below(2) === 0 ? `(?i)${pattern}` : pattern;
}

/** @param {Random} random */
function writeOutput(random) {
  const pieces = Array.from({ length: random.below(60) }, () => {
    switch (random.below(9)) {
      case 0:
      case 1:
        return Buffer.from(random.pick(["\n", "\n", "\r\n", "\r", "\n\n"]));
      case 2:
        return Buffer.from(random.below(3) === 0 ? random.pick(invalid) : []);
      default:
        return Buffer.from(random.pick(words));
    }
  });
  return Buffer.concat(pieces);
}

test("lines and first rules are those of TextDecoder and RegExp", () => {
  const random = new Random(seed);
  const cases = Array.from({ length: COUNT }, () => ({
    patterns: Array.from({ length: 1 + random.below(5) }, () => writePattern(random)),
    output: writeOutput(random),
  }));
  const count = { lines: 0, ruled: 0 };
  askOracle(cases).forEach((found, index) => {
    const expected = answerOf(cases[index]);
    assert.deepEqual(found, expected, `seed ${seed}: ${JSON.stringify(cases[index].patterns)}`);
    count.lines += found.length;
    count.ruled += found.filter(([rule]) => rule >= 0).length;
  });
  // Both answers must be frequent, or the comparison says little.
  assert.ok(count.lines > 3 * COUNT, `${count.lines} lines`);
  const share = count.ruled / count.lines;
  assert.ok(share > 0.2 && share < 0.8, `${share} of the lines met a rule`);
});
