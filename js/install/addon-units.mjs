// binding.gyp runs `node js/install/addon-units.mjs <hot or cold> <source> …`, with paths below native/. It writes a
// file for the compiler that includes these sources, and prints its name. Headers that every source needs take most of
// the compile time, so many sources are compiled together. There are as many units as jobs (node-gyp.mjs).
//
// The path of calls, pushes and lines is compiled for speed; the rest, which is as large, for size.

import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const folder = path.join(root, "build", "units");

const HOT = [
  /^(ws|lines|link|protocol\/provider|protocol\/link|gateway\/(calls(?!\/file_)|streams|records))\//,
  /^base\/(json|encoding|pattern|utf8)/,
  /^protocol\/(field_reader|hook_rules|tool_result|trace_context)\./,
  /^gateway\/core\/(provider_inputs|session_inputs)\./,
  /^gateway\/hooks\/fence\./,
  /^gateway\/registry\/(providers|party|tool_names)\./,
  /^uv\/(server|stream|provider_socket|link_socket|session_port|flush_scheduler)\./,
  /^addon\/(session_class|strings)\./,
];

/** @typedef {"hot" | "cold"} Unit */

/** @param {string} source below native/ @returns {Unit} */
export const chooseUnit = (source) =>
  HOT.some((pattern) => pattern.test(source)) ? "hot" : "cold";

/** @param {Unit} unit @param {string[]} sources of both @returns {string} the unit, below the root; written only if it differs */
export function writeUnit(unit, sources) {
  fs.mkdirSync(folder, { recursive: true });
  const own = sources.filter((source) => chooseUnit(source) === unit);
  const text = own.map((source) => `#include "${source}"\n`).join("");
  const file = path.join(folder, `${unit}.cc`);
  if (!fs.existsSync(file) || fs.readFileSync(file, "utf8") !== text) fs.writeFileSync(file, text);
  return `build/units/${unit}.cc`;
}

if (process.argv[1] && fs.realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const [unit, ...sources] = process.argv.slice(2);
  process.stdout.write(`${writeUnit(/** @type {Unit} */ (unit), sources)}\n`);
}
