// The codes of native/protocol/errors.h, read from its text: without compiling it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { root } from "../../tools/commands.mjs";

const ROW = /\{ErrorCode::\w+,\s*"(\w+)",\s*(true|false),\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\}/g;

/** @param {string} literals of C++, next to each other */
const joined = (literals) =>
  [...literals.matchAll(/"(?:[^"\\]|\\.)*"/g)].map(([literal]) => JSON.parse(literal)).join("");

/** @returns {{name: string, fatal: boolean, advice: string}[]} in the order of the table */
export function errorTable() {
  const text = readFileSync(path.join(root, "native/protocol/errors.h"), "utf8");
  const rows = [...text.matchAll(ROW)];
  assert.equal(rows.length, text.match(/\{ErrorCode::/g)?.length, "each row of errors.h is read");
  return rows.map(([, name, fatal, advice]) => ({
    name,
    fatal: fatal === "true",
    advice: joined(advice),
  }));
}
