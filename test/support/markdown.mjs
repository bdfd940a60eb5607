// Reading our own documentation: its code blocks, in order, with the words that order the steps of a test
// with each.

import assert from "node:assert/strict";

/**
 * A block's line is ```` ```language word word ````. Words are `run`, `tap`, `step` and so on, or `name=value`.
 * @typedef {{language: string, words: string[], code: string, line: number}} Block
 * @param {string} text
 * @returns {{blocks: Block[], prose: string}} prose has the blocks' lines emptied
 */
export function parseMarkdown(text) {
  /** @type {Block[]} */
  const blocks = [];
  const prose = [];
  /** @type {{fence: string, lines: string[], language: string, words: string[], line: number} | undefined} */
  let block;
  text.split("\n").forEach((line, index) => {
    const fence = /^ {0,3}(`{3,})([^`]*)$/.exec(line);
    if (fence && !block) {
      const [language = "", ...words] = fence[2].trim().split(/\s+/);
      block = { fence: fence[1], language, words, lines: [], line: index + 1 };
    } else if (block && fence?.[1].startsWith(block.fence) && fence[2].trim() === "") {
      const { language, words, lines, line: start } = block;
      blocks.push({ language, words, code: `${lines.join("\n")}\n`, line: start });
      block = undefined;
    } else if (block) {
      block.lines.push(line);
    }
    prose.push(fence || block ? "" : line);
  });
  assert.equal(block, undefined, `the block of line ${block?.line} is not closed`);
  return { blocks, prose: prose.join("\n") };
}

/** The value of a word `name=value`. @param {Block} block @param {string} name */
export const valueOf = ({ words }, name) =>
  words.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1);

/** @param {string} line */
const cellsOf = (line) =>
  line
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());

/**
 * The rows of the table that has exactly this heading.
 * @param {string} text of a page @param {string[]} heading @returns {string[][]}
 */
export function tableIn(text, heading) {
  const lines = text.split("\n");
  const wanted = heading.join("|").toLowerCase();
  const at = lines.findIndex((line) => cellsOf(line).join("|").toLowerCase() === wanted);
  if (at < 0) throw new Error(`no table has the heading ${heading.join(", ")}`);
  const rows = lines.slice(at + 2);
  const end = rows.findIndex((line) => !line.startsWith("|"));
  return rows.slice(0, end < 0 ? rows.length : end).map(cellsOf);
}
