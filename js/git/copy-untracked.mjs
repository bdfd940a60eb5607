// Untracked things of the user's checkout in a worktree: copies (sharing blocks where the file system can) and links.

import { constants } from "node:fs";
import fs from "node:fs/promises";
import path from "node:path";
import { isInside } from "../lib/paths.mjs";
import { GitError } from "./errors.mjs";
import { checkCommit, checkInnerPath } from "./git.mjs";
import { readCopiedPaths, writeCopiedPaths } from "./worktree-admin.mjs";
import { exists, entryExists } from "./repository.mjs";

/** @typedef {{path: string, why: "missing" | "exists" | "outside"}} Skipped */

/** The folder of a place that is to be made, without links. @param {string} root @param {string} place */
async function makeParent(root, place) {
  const parent = path.dirname(place);
  for (let there = parent; ; there = path.dirname(there)) {
    const real = await fs.realpath(there).catch(() => undefined);
    if (real === undefined) continue;
    if (!isInside(real, root)) {
      throw new GitError(
        "OUTSIDE",
        `"${place}" would be outside of the worktree: a link leads there.`,
      );
    }
    break;
  }
  await fs.mkdir(parent, { recursive: true });
}

/** @param {string} root @param {string} from @param {string} to */
function copy(root, from, to) {
  // A link that leads out of the repository is left out.
  const filter = async (/** @type {string} */ one) => {
    if (!(await fs.lstat(one)).isSymbolicLink()) return true;
    const real = await fs.realpath(one).catch(() => root);
    return real !== root && isInside(real, root);
  };
  return fs.cp(from, to, {
    recursive: true,
    mode: constants.COPYFILE_FICLONE,
    verbatimSymlinks: true,
    preserveTimestamps: true,
    errorOnExist: true,
    force: false,
    filter,
  });
}

/** @param {string} from @param {string} to */
async function link(from, to) {
  const isFolder = (await fs.stat(from)).isDirectory();
  await fs.symlink(from, to, isFolder ? "junction" : "file");
}

/** @param {{copy?: unknown, link?: unknown}} what paths below a checkout @throws {GitError} where one leads out of it */
export function checkUntrackedPaths(what) {
  for (const list of /** @type {const} */ (["copy", "link"])) {
    const names = what[list];
    if (Array.isArray(names)) names.forEach((one) => checkInnerPath(one, list));
  }
}

/**
 * @param {string} root of a checkout @param {{copy?: string[], link?: string[]}} what paths below it, checked
 * @returns {Promise<{copy: string[], link: string[]}>} those that are not there
 */
export async function findMissingPaths(root, { copy: copied = [], link: linked = [] }) {
  const missing = async (/** @type {string[]} */ names) => {
    const there = await Promise.all(names.map((name) => exists(path.join(root, name))));
    return names.filter((_, at) => !there[at]);
  };
  return { copy: await missing(copied), link: await missing(linked) };
}

/**
 * @param {import("./repository.mjs").Repository} repository @param {string} commit @param {string[]} names
 * @returns {Promise<string[]>} those that the commit has, as a file or a folder
 */
export async function findTracked(repository, commit, names) {
  const paths = names.map((name) => path.posix.normalize(name).replace(/\/$/, ""));
  const args = ["ls-tree", "--name-only", "-z", checkCommit(commit), "--", ...paths];
  const found = new Set((await repository.query(args)).stdout.split("\0"));
  return names.filter((_, at) => found.has(paths[at]));
}

/**
 * Whatever is in the way is left as it is. What was brought is no part of commits, snapshots and cleaning.
 * @param {string} root of the user's checkout, without links
 * @param {{path: string, admin: string}} worktree
 * @param {{copy?: string[], link?: string[]}} what paths below the root
 * @returns {Promise<{brought: string[], skipped: Skipped[]}>}
 */
export async function copyUntrackedFiles(root, worktree, { copy: copied = [], link: linked = [] }) {
  const wanted = [
    ...copied.map((one) => ({ name: checkInnerPath(one, "copy"), how: copy })),
    ...linked.map((one) => ({ name: checkInnerPath(one, "link"), how: link })),
  ];
  const brought = await readCopiedPaths(worktree.admin);
  /** @type {Skipped[]} */
  const skipped = [];
  for (const { name, how } of wanted) {
    const from = await fs.realpath(path.join(root, name)).catch(() => undefined);
    const to = path.join(worktree.path, name);
    const inTheWay = await entryExists(to);
    if (inTheWay && brought.includes(name)) continue;
    if (from === undefined) skipped.push({ path: name, why: "missing" });
    else if (from === root || !isInside(from, root)) skipped.push({ path: name, why: "outside" });
    else if (inTheWay) skipped.push({ path: name, why: "exists" });
    else {
      await makeParent(worktree.path, to);
      brought.push(name);
      await writeCopiedPaths(worktree.admin, brought);
      await (how === copy ? copy(root, from, to) : link(from, to));
    }
  }
  return { brought, skipped };
}
