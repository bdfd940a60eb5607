// The tables of characters are what their generator writes, and C++ and JavaScript show every
// character alike. C++'s side is the executable visible_oracle (test/native/base).

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { CONFUSABLES } from "../../../packaging/confusables.mjs";
import { BITS, classOf as generatedClass, files } from "../../../packaging/characters.mjs";
import * as characters from "../../../js/base/characters.mjs";
import { nameProblem, visible } from "../../../js/base/visible.mjs";
import { root } from "../../../tools/commands.mjs";

const LAST = 0x10ffff;
const isSurrogate = (/** @type {number} */ point) => point >= 0xd800 && point <= 0xdfff;

/** @returns {string} the path of visible_oracle, which has to be built before */
function findOracle() {
  const folder = process.env.TAP_NATIVE_BUILD ?? path.join(root, "build-native");
  const name = process.platform === "win32" ? "visible_oracle.exe" : "visible_oracle";
  const oracle = path.join(folder, name);
  assert.ok(
    fs.existsSync(oracle),
    `${oracle} is missing. Build it: cmake -S . -B build-native && ` +
      "cmake --build build-native --target visible_oracle " +
      "(or set TAP_NATIVE_BUILD to the folder where it is).",
  );
  return oracle;
}

/** @param {string[]} texts @returns {string[]} what C++ makes of each */
function askOracle(texts) {
  const run = spawnSync(findOracle(), { input: `${texts.join("\n")}\n`, maxBuffer: 2 ** 28 });
  assert.equal(run.status, 0, `visible_oracle failed: ${run.stderr} ${run.error ?? ""}`);
  const lines = run.stdout.toString("utf8").split("\n");
  assert.equal(lines.pop(), "", "the last line is complete");
  assert.equal(lines.length, texts.length);
  return lines;
}

/** @param {string[]} texts */
function assertAlike(texts) {
  const answers = askOracle(texts);
  for (const [index, text] of texts.entries()) {
    const ours = `${visible(text)}\t${nameProblem(text)}`;
    if (answers[index] !== ours) assert.equal(answers[index], ours, JSON.stringify(text));
  }
}

describe("the tables of characters", () => {
  test("are what packaging/characters.mjs writes", () => {
    const written = files();
    for (const [file, text] of Object.entries(written)) {
      const checkedIn = fs.readFileSync(path.join(root, file), "utf8");
      const [, version] = /from Unicode (\S+);/.exec(checkedIn) ?? [];
      // Another Node.js has the data of another Unicode: see the next test.
      if (version !== process.versions.unicode) continue;
      assert.ok(checkedIn === text, `${file}: run node packaging/characters.mjs`);
    }
    assert.equal(Object.keys(written).length, 3);
  });

  test("agree with this Node.js on every character that it knows", () => {
    const stable = BITS.hidden | BITS.pictograph;
    for (let point = 0; point <= LAST; point += 1) {
      if (/\p{Cn}/u.test(String.fromCodePoint(point))) continue;
      const [here, there] = [generatedClass(point), characters.classOf(point)];
      if ((here & stable) !== (there & stable)) {
        assert.equal(here & stable, there & stable, `U+${point.toString(16)}`);
      }
    }
  });

  test("have each character that looks like another in one row", () => {
    const all = CONFUSABLES.flatMap(([one, others]) => [one, ...others]);
    assert.deepEqual(
      all.filter((character, index) => all.indexOf(character) !== index),
      [],
    );
  });
});

describe("C++ and JavaScript show alike", () => {
  test("every character, by itself", () => {
    const texts = [];
    for (let point = 0; point <= LAST; point += 1) {
      if (point === 0x0a || isSurrogate(point)) continue;
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
