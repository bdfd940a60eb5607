// The executables of test/native that print the core's results, for a comparison with JavaScript.
// `npm test -- js` builds them.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { root } from "../../tools/commands.mjs";

/** Where such a program is. @param {string} name */
export function oracle(name) {
  const folder = process.env.TAP_NATIVE_BUILD ?? path.join(root, "build-native");
  const file = path.join(folder, process.platform === "win32" ? `${name}.exe` : name);
  assert.ok(
    existsSync(file),
    `${file} is missing. Build it: cmake -S . -B build-native && ` +
      `cmake --build build-native --target ${name} ` +
      "(or set TAP_NATIVE_BUILD to the folder where it is).",
  );
  return file;
}

/** 32 bits, as the oracles read them. @param {number} value */
export function uint32(value) {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

/** With its length before it. @param {Buffer | string} part */
export const sized = (part) => {
  const bytes = Buffer.from(part);
  return Buffer.concat([uint32(bytes.length), bytes]);
};

/**
 * Asks once about many cases.
 * @param {string} name @param {Buffer | string} input @param {number} count of the cases
 * @param {string} [how] a text of a failure, to make it happen again
 * @returns {string[]} a line for each case
 */
export function ask(name, input, count, how = "") {
  const run = spawnSync(oracle(name), { input, maxBuffer: 2 ** 30 });
  assert.equal(run.status, 0, `${how} ${name} failed: ${run.stderr} ${run.error ?? ""}`);
  const lines = run.stdout.toString("utf8").split("\n");
  assert.equal(lines.pop(), "", "the last line is complete");
  assert.equal(lines.length, count);
  return lines;
}
