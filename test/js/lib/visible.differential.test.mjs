// The table of characters is what its generator writes, and C++ and JavaScript show every
// character alike. C++'s side is the executable visible_oracle (test/native/base).

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { FILE, formatTable } from "../../../packaging/characters.mjs";
import { nameProblem, visible } from "../../../js/lib/visible.mjs";
import { root } from "../../../tools/commands.mjs";
import { ask } from "../../support/oracle.mjs";

const LAST = 0x10ffff;
const isSurrogate = (/** @type {number} */ point) => point >= 0xd800 && point <= 0xdfff;

/** @param {string[]} texts @returns {string[]} what C++ makes of each */
const askOracle = (texts) => ask("visible_oracle", `${texts.join("\n")}\n`, texts.length);

/** @param {string[]} texts */
function assertAlike(texts) {
  const answers = askOracle(texts);
  for (const [index, text] of texts.entries()) {
    const ours = `${visible(text)}\t${nameProblem(text)}`;
    if (answers[index] !== ours) assert.equal(answers[index], ours, JSON.stringify(text));
  }
}

const checkedIn = fs.readFileSync(path.join(root, FILE), "utf8");
/** Another Node.js has the data of another Unicode: it may not know a character that the table has. */
const isSameUnicode = checkedIn.includes(`from Unicode ${process.versions.unicode};`);
const isKnown = (/** @type {string} */ character) => isSameUnicode || !/\p{Cn}/u.test(character);

test("the table of characters is what packaging/characters.mjs writes", () => {
  const expected = isSameUnicode ? formatTable() : checkedIn;
  assert.ok(checkedIn === expected, `${FILE}: run node packaging/characters.mjs`);
});

describe("C++ and JavaScript show alike", () => {
  test("every character, by itself", () => {
    const texts = [];
    for (let point = 0; point <= LAST; point += 1) {
      if (point === 0x0a || isSurrogate(point) || !isKnown(String.fromCodePoint(point))) continue;
      texts.push(String.fromCodePoint(point), `a${String.fromCodePoint(point)}b`);
    }
    assertAlike(texts);
  });

  test("what stands together, in any order", () => {
    const parts = [
      ...["a", "1", "#", " ", "\u200d", "\u200c", "\ufe0f", "\ufe0e", "\u20e3", "\u2764", "\u00a9"],
      ...[
        "\u{1f468}",
        "\u{1f3fd}",
        "\u{1f3f4}",
        "\u{e0067}",
        "\u0645",
        "\u064b",
        "\u0915",
        "\u094d",
      ],
      ...["\u0301", "\u200b", "\t", "\u001b"],
    ];
    const texts = [];
    for (const one of parts) {
      for (const two of parts) {
        for (const three of parts) texts.push(one + two + three, `\u{1f468}${one}${two}${three}`);
      }
    }
    assertAlike(texts);
  });
});
