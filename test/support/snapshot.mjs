// A text that people read, against what was accepted of it: test/snapshots/<name>.txt. A change of its words shows
// there, in the diff of the commit, and in no test.

import { AssertionError } from "node:assert";
import fs from "node:fs";
import path from "node:path";
import { programFolder } from "../../js/lib/paths.mjs";

export const SNAPSHOTS = path.join(programFolder, "test", "snapshots");
/** Lines around a difference. */
const CONTEXT = 2;

/** @param {string[]} lines @param {string[]} others @returns {number} how many are the same at the beginning */
function countSame(lines, others) {
  const at = lines.findIndex((line, index) => line !== others[index]);
  return at < 0 ? lines.length : at;
}

/**
 * The lines from the first that differs to the last, as `diff` marks them.
 * @param {string} accepted @param {string} text
 */
export function compareLines(accepted, text) {
  const [old, now] = [accepted, text].map((whole) => whole.split("\n"));
  const start = countSame(old, now);
  const rest = [old, now].map((lines) => lines.slice(start).toReversed());
  const end = countSame(rest[0], rest[1]);
  const mark = (/** @type {string} */ sign, /** @type {string[]} */ lines) =>
    lines.map((line) => `${sign} ${line}`);
  return [
    `line ${start + 1}:`,
    ...mark(" ", old.slice(Math.max(0, start - CONTEXT), start)),
    ...mark("-", old.slice(start, old.length - end)),
    ...mark("+", now.slice(start, now.length - end)),
    ...mark(" ", old.slice(old.length - end).slice(0, CONTEXT)),
  ].join("\n");
}

/**
 * Fails where the text is not the accepted text; with TAP_ACCEPT=1 accepts it.
 * @param {string} name such as help/status @param {string} text
 */
export function checkSnapshot(name, text) {
  const file = path.join(SNAPSHOTS, `${name}.txt`);
  if (process.env.TAP_ACCEPT === "1") {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    return fs.writeFileSync(file, text);
  }
  const accepted = fs.existsSync(file) ? fs.readFileSync(file, "utf8") : "";
  if (text === accepted) return;
  const [here, suite] = [file, process.argv[1]].map((place) => path.relative(programFolder, place));
  const message = [
    `it differs from ${here}; ${compareLines(accepted, text)}`,
    `to accept it: TAP_ACCEPT=1 node --test ${suite}`,
  ].join("\n");
  throw new AssertionError({ message, stackStartFn: checkSnapshot });
}
