// Paths as the file system resolves them.

import fs from "node:fs";
import path from "node:path";

const SEPARATOR = path.sep === "/" ? /\// : /[\\/]/;

const MAX_LINKS = 40;

/**
 * Links resolved, also where the end of the path does not exist yet. Behind a link, .. is the folder above its target.
 * @param {string} file absolute @returns {string}
 * @throws {Error} where links lead round
 */
export function resolved(file) {
  let { root: at } = path.parse(file);
  const parts = file.slice(at.length).split(SEPARATOR).reverse();
  for (let links = 0; parts.length > 0;) {
    const next = path.resolve(at, String(parts.pop()));
    const target = linkTarget(next);
    if (target === "") {
      const whole = path.join(next, ...parts.reverse());
      return parts.includes("..") ? resolved(whole) : whole;
    }
    if (target !== undefined) {
      if (++links > MAX_LINKS) throw new Error(`too many links: ${file}`);
      const { root } = path.parse(target);
      at = path.resolve(at, root);
      parts.push(...target.slice(root.length).split(SEPARATOR).reverse());
    } else at = next;
  }
  return at;
}

/** @param {string} file @returns {string | undefined} where it leads; undefined: it is not a link; "": there is nothing */
function linkTarget(file) {
  try {
    const stat = fs.lstatSync(file, { throwIfNoEntry: false });
    if (!stat) return "";
    return stat.isSymbolicLink() ? fs.readlinkSync(file) : undefined;
  } catch {
    return "";
  }
}
