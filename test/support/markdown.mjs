// Reading our own documentation: its code blocks, in order, with the words that say what a test does
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
