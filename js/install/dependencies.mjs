// The packages of node_modules that a package needs at run time, and their places in a copy of it. They may
// be its own, its neighbours' (npm, npx), or mixed with development packages (a checkout).

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

/** Finds a package as Node does. @param {string} name @param {string} from @returns {string | undefined} */
function findPackage(name, from) {
  for (let folder = from; ; folder = path.dirname(folder)) {
    const candidate = path.join(folder, "node_modules", name);
    if (fs.existsSync(path.join(candidate, "package.json"))) return fs.realpathSync(candidate);
    if (folder === path.dirname(folder)) return undefined;
  }
}

/** The package that Node would find there by that name. @param {Map<string, string>} placed @param {string} name @param {string} to */
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
 * Breadth first, each package as high up as possible. A package's own dependencies are placed before those of its
 * dependencies, so these find the same packages as with Node.
 * @param {string} root @param {string[]} [except] names that a copy does not need
 * @returns {Dependency[]}
 * @throws {InstallError} if a package is missing
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
        const message = `${name} is missing in ${root}; no files were changed`;
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
