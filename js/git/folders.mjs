// Folders that a plan names for its programs, and places that these folders must not contain, as found on the disk.

import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { resolveLinks } from "./repository.mjs";
import { mainRoot } from "./worktree-admin.mjs";
import { defaultFolder } from "./worktrees.mjs";

/**
 * named: absolute, with links; real: without links; why: the reason why it cannot be used
 * @typedef {{name: string, named: string, real?: string, why?: string}} InspectedFolder
 */
/**
 * All without links.
 * @typedef {object} ReservedPlaces
 * @property {string[]} checkouts the user's own
 * @property {string[]} git its folders
 * @property {string} worktrees where those of plans are
 * @property {string} home the user's @property {string} cliHome <COPILOT_HOME>
 */

/** @param {string} root @param {string} name @returns {Promise<InspectedFolder>} */
async function inspectFolder(root, name) {
  const named = path.resolve(root, name);
  try {
    const real = await fs.realpath(named);
    const isFolder = (await fs.stat(real)).isDirectory();
    // On Windows a name without links may have several forms.
    const same = process.platform === "win32" ? { named: real } : { named };
    return { name, ...same, ...(isFolder ? { real } : { why: "is not a folder" }) };
  } catch (error) {
    const { code } = /** @type {any} */ (error);
    const isGone = code === "ENOENT" || code === "ENOTDIR";
    return { name, named, why: isGone ? "is not there" : `cannot be read (${code})` };
  }
}

/** @param {string} root of the checkout @param {string[]} names from the root, or absolute @returns {Promise<InspectedFolder[]>} */
export const inspectFolders = (root, names) =>
  Promise.all(names.map((name) => inspectFolder(root, name)));

/**
 * @param {import("./repository.mjs").Repository} repository
 * @param {{cliHome: string, beside?: boolean, home?: string}} where beside: worktrees are not in the checkout
 * @returns {Promise<ReservedPlaces>}
 */
export async function findReservedPlaces(repository, { cliHome, beside = false, home }) {
  const main = await mainRoot(repository);
  const resolveAll = (/** @type {string[]} */ all) => Promise.all(all.map(resolveLinks));
  const [worktrees, realHome, realCliHome] = await resolveAll([
    defaultFolder(main, beside),
    home ?? os.homedir(),
    cliHome,
  ]);
  return {
    checkouts: [...new Set([repository.root, main])],
    git: await resolveAll([repository.commonDir, repository.gitDir]),
    ...{ worktrees, home: realHome, cliHome: realCliHome },
  };
}
