// docs/style.md: no page has one of its words to avoid, nor a cell that is too long to be read.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { root } from "../../../tools/commands.mjs";
import { countWords, readProse } from "../../../tools/words.mjs";
import { parseMarkdown } from "../../support/markdown.mjs";

const MOST_OF_A_CELL = 160;
/** Its tables name tests, which are looked up, not read. */
const LONG_CELLS = /^SECURITY\.md$/;

const read = (file) => readFileSync(path.join(root, file), "utf8");
const pages = execFileSync(
  "git",
  ["ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
  { cwd: root, encoding: "utf8" },
)
  .split("\n")
  .filter((file) => file && existsSync(path.join(root, file)));

/** The first column of the table under the heading. */
const words = read("docs/style.md")
  .split("## Words to avoid")[1]
  .split("\n")
  .filter((line) => line.startsWith("| ") && !line.startsWith("| Avoid"))
  .map((line) => line.split("|")[1].trim());

/** The words to avoid in a text, names in backquotes left out. @param {string} text */
function avoided(text) {
  const prose = text.replace(/`[^`\n]+`/g, "");
  return words.filter((word) => new RegExp(`\\b${word.replace(/ /g, "\\s+")}\\b`, "i").test(prose));
}

/** Cells with more characters than a reader takes in. @param {string} text */
const longCells = (text) =>
  text
    .split("\n")
    .filter((line) => line.startsWith("|"))
    .flatMap((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim()))
    .filter((cell) => cell.length > MOST_OF_A_CELL);

describe("style", () => {
  test("no page has a word to avoid", () => {
    assert.ok(words.length > 5, "the table is read");
    const found = pages
      .filter((file) => file !== "docs/style.md")
      .flatMap((file) =>
        avoided(parseMarkdown(read(file)).prose).map((word) => `${file}: ${word}`),
      );
    assert.deepEqual(found, []);
  });

  test("no cell of a table has more than 160 characters", () => {
    const found = pages
      .filter((file) => !LONG_CELLS.test(file))
      .flatMap((file) => longCells(read(file)).map((cell) => `${file}: ${cell.slice(0, 60)}…`));
    assert.deepEqual(found, []);
  });

  test("what is wrong is noticed, also over two lines", () => {
    assert.deepEqual(avoided("it lasts for\never"), ["for ever"]);
    assert.equal(longCells(`| ${"a".repeat(161)} | b |`).length, 1);
  });

  test("words are counted in comments, texts and pages, and not in code", () => {
    const js = 'const what = one("none"); // nothing, said `another`\nlog("what is said");';
    assert.equal(countWords(readProse("a.mjs", js)).found, 5);
    assert.equal(countWords(readProse("a.py", '"""What it does."""\none = "x"  # none')).found, 2);
    assert.equal(
      countWords(readProse("a.md", "What `one` is.\n\n```js\nnothing();\n```")).found,
      1,
    );
  });
});
