// Which packages of node_modules a package needs at run time, and where they lie in a copy of it: they may
// be its own, its neighbours' (npm, npx), or beside development packages (a checkout).

import fs from "node:fs";
import path from "node:path";
import { quoteWord } from "../lib/visible.mjs";
import { InstallError } from "./install-error.mjs";

/**
 * @typedef {object} Dependency
 * @property {string} from its folder here
 * @property {string} to its folder in a copy, from the copy's root
 */

/** @param {string} folder @returns {any} */
export const readManifest = (folder) =>
  JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8"));

/** Where Node finds the package. @param {string} name @param {string} from @returns {string | undefined} */
function findPackage(name, from) {
  for (let folder = from; ; folder = path.dirname(folder)) {
    const candidate = path.join(folder, "node_modules", name);
    if (fs.existsSync(path.join(candidate, "package.json"))) return fs.realpathSync(candidate);
    if (folder === path.dirname(folder)) return undefined;
  }
}

/** What a package there would get by that name. @param {Map<string, string>} placed @param {string} name @param {string} to */
function findPlaced(placed, name, to) {
  for (let folder = to; ; folder = path.posix.dirname(folder)) {
    const found = placed.get(path.posix.join(folder, "node_modules", name));
    if (found !== undefined || folder === ".") return found;
  }
}

/** @param {any} manifest @returns {[name: string, optional: boolean][]} */
function listNeeds({ dependencies = {}, optionalDependencies = {} }) {
  const names = [...new Set([...Object.keys(dependencies), ...Object.keys(optionalDependencies)])];
  return names.sort().map((name) => [name, Object.hasOwn(optionalDependencies, name)]);
}

/**
 * Breadth first, each as high up as it can be: whoever has placed his own packages before those of
 * his packages are placed is found by these, as he would be by Node.
 * @param {string} root @param {string[]} [except] names that a copy does without
 * @returns {Dependency[]}
 * @throws {InstallError} where one is missing
 */
export function runtimeDependencies(root, except = []) {
  /** @type {Map<string, string>} */
  const placed = new Map();
  const queue = [{ from: fs.realpathSync(root), to: "." }];
  for (const { from, to } of queue) {
    for (const [name, optional] of listNeeds(readManifest(from))) {
      if (except.includes(name)) continue;
      const found = findPackage(name, from);
      if (found === undefined && optional) continue;
      if (found === undefined) {
        const message = `${name} is missing in ${root}; nothing was changed`;
        const advice = `cd ${quoteWord(root)} && npm install --omit=dev`;
        throw new InstallError("INCOMPLETE", message, advice);
      }
      const before = findPlaced(placed, name, to);
      if (before === found) continue;
      const place = path.posix.join(before === undefined ? "." : to, "node_modules", name);
      placed.set(place, found);
      queue.push({ from: found, to: place });
    }
  }
  return [...placed].map(([to, from]) => ({ from, to }));
}
