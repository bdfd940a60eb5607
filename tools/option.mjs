// A number on a tool's command line: --name N.

import process from "node:process";

/** @param {string} name @param {number} otherwise */
export function option(name, otherwise) {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? otherwise : Number(process.argv[at + 1]);
}
