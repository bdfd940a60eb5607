// binding.gyp asks: `node js/install/addon-units.mjs <source> …`, with paths below native/, prints what the
// compiler is to be given instead. A unit includes several sources: nearly all of the time went into
// headers that every one of them needs. base/ needs few of them, and stays as it is: in a unit, less
// of it is inlined, which cost 10 % more instructions in decoding JSON.

import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const folder = path.join(root, "build", "units");

const SOURCES_IN_A_UNIT = 12;

/** @param {string[]} all @returns {string[]} files below the root; units are written where they differ */
export function writeUnits(all) {
  fs.mkdirSync(folder, { recursive: true });
  const alone = all.filter((source) => source.startsWith("base/"));
  const sources = all.filter((source) => !alone.includes(source));
  const count = Math.ceil(sources.length / SOURCES_IN_A_UNIT);
  const units = Array.from({ length: count }, (_, index) => {
    const own = sources.slice(index * SOURCES_IN_A_UNIT, (index + 1) * SOURCES_IN_A_UNIT);
    const text = own.map((source) => `#include "${source}"\n`).join("");
    const file = path.join(folder, `unit${index + 1}.cc`);
    if (!fs.existsSync(file) || fs.readFileSync(file, "utf8") !== text) {
      fs.writeFileSync(file, text);
    }
    return `build/units/${path.basename(file)}`;
  });
  const former = fs.readdirSync(folder).filter((name) => !units.includes(`build/units/${name}`));
  for (const name of former) fs.rmSync(path.join(folder, name));
  return [...alone.map((source) => `native/${source}`), ...units];
}

if (process.argv[1] && fs.realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  process.stdout.write(`${writeUnits(process.argv.slice(2)).join(" ")}\n`);
}
