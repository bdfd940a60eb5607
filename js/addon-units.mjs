// binding.gyp asks: `node js/addon-units.mjs <source> …`, with paths below native/, prints what the
// compiler is to be given instead. A unit includes several sources: nearly all of the time went into
// headers that every one of them needs.

import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const folder = path.join(root, "build", "units");

const SOURCES_IN_A_UNIT = 12;

/** @param {string[]} sources @returns {string[]} files below the root, written where they differ */
export function writeUnits(sources) {
  fs.mkdirSync(folder, { recursive: true });
  const count = Math.ceil(sources.length / SOURCES_IN_A_UNIT);
  return Array.from({ length: count }, (_, index) => {
    const own = sources.slice(index * SOURCES_IN_A_UNIT, (index + 1) * SOURCES_IN_A_UNIT);
    const text = own.map((source) => `#include "${source}"\n`).join("");
    const file = path.join(folder, `unit${index + 1}.cc`);
    if (!fs.existsSync(file) || fs.readFileSync(file, "utf8") !== text) {
      fs.writeFileSync(file, text);
    }
    return `build/units/${path.basename(file)}`;
  });
}

if (process.argv[1] && fs.realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  process.stdout.write(`${writeUnits(process.argv.slice(2)).join(" ")}\n`);
}
