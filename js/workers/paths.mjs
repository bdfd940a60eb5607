// Paths as the file system resolves them.

import fs from "node:fs";
import path from "node:path";

/** @param {string} file @param {string} folder both resolved */
export function isInside(file, folder) {
  const way = path.relative(folder, file);
  return way === "" || (way !== ".." && !way.startsWith(`..${path.sep}`) && !path.isAbsolute(way));
}

const SEPARATOR = path.sep === "/" ? /\// : /[\\/]/;

/**
 * Where the system finds a file: behind a link, .. is the folder above the link's target.
 * @param {string} folder absolute @param {string} file @param {(file: string) => string} resolve links
 */
export function reallyAt(folder, file, resolve) {
  const { root } = path.parse(file);
  const parts = file.slice(root.length).split(SEPARATOR);
  if (!parts.includes("..")) return path.resolve(folder, file);
  return parts.reduce(
    (at, part) => (part === ".." ? path.dirname(resolve(at)) : path.resolve(at, part)),
    path.resolve(folder, root),
  );
}

const MOST_LINKS = 40;

/**
 * Links resolved, also where the end of the path does not exist yet.
 * @param {string} file absolute @returns {string}
 * @throws {Error} where links lead round
 */
export function resolved(file, links = 0) {
  try {
    return fs.realpathSync(file);
  } catch {
    const parent = path.dirname(file);
    if (parent === file) return file;
    if (links > MOST_LINKS) throw new Error(`too many links: ${file}`);
    const target = linkTarget(file);
    if (target === undefined) return path.join(resolved(parent, links), path.basename(file));
    return resolved(path.resolve(resolved(parent, links), target), links + 1);
  }
}

/** @param {string} file @returns {string | undefined} where it leads, if it is a link */
function linkTarget(file) {
  try {
    return fs.readlinkSync(file);
  } catch {
    return undefined;
  }
}
