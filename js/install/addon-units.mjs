// binding.gyp asks: `node js/install/addon-units.mjs <source> …`, with paths below native/, writes the files that
// the compiler is given instead of the sources, and prints their names. Such a unit includes many sources:
// most of the time of a compile goes into headers that every source needs. There are as many units as
// jobs (installer.mjs), about equally large, so that both cores are busy until the end.

import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const folder = path.join(root, "build", "units");

const UNITS = 2;

/**
 * The largest source first, each into the unit that is the smallest so far. Within a unit the sources
 * keep their order.
 * @param {string[]} sources @param {(source: string) => number} sizeOf
 * @returns {string[][]}
 */
export function divide(sources, sizeOf) {
  const units = Array.from({ length: UNITS }, () => ({ size: 0, own: new Set() }));
  for (const source of [...sources].sort((a, b) => sizeOf(b) - sizeOf(a))) {
    const smallest = units.reduce((least, unit) => (unit.size < least.size ? unit : least));
    smallest.own.add(source);
    smallest.size += sizeOf(source);
  }
  return units.map(({ own }) => sources.filter((source) => own.has(source)));
}

/** @param {string[]} sources @returns {string[]} the units, below the root; each is written only if it differs */
export function writeUnits(sources) {
  fs.mkdirSync(folder, { recursive: true });
  const sizeOf = (/** @type {string} */ source) =>
    fs.statSync(path.join(root, "native", source)).size;
  const units = divide(sources, sizeOf).map((own, index) => {
    const text = own.map((source) => `#include "${source}"\n`).join("");
    const file = path.join(folder, `unit${index + 1}.cc`);
    if (!fs.existsSync(file) || fs.readFileSync(file, "utf8") !== text) {
      fs.writeFileSync(file, text);
    }
    return `build/units/${path.basename(file)}`;
  });
  const former = fs.readdirSync(folder).filter((name) => !units.includes(`build/units/${name}`));
  for (const name of former) fs.rmSync(path.join(folder, name));
  return units;
}

if (process.argv[1] && fs.realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  process.stdout.write(`${writeUnits(process.argv.slice(2)).join(" ")}\n`);
}
