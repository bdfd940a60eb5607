// Lines of parts as text for a terminal.

import { Output } from "../../views/output.mjs";

/** Made safe. @param {import("../../views/output.mjs").Part[][]} lines @returns {string[]} */
export function painted(lines) {
  /** @type {string[]} */
  const texts = [];
  const out = /** @type {any} */ ({
    isTTY: true,
    write: (/** @type {string} */ line) => texts.push(line),
  });
  const output = new Output({}, { out, columns: Infinity });
  for (const line of lines) output.say(...line);
  return texts.map((line) => line.slice(0, -1));
}
