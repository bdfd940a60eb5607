// Copies (sharing blocks if the file system can) of the user's untracked files in a worktree, or links to them.

import { constants } from "node:fs";
import fs from "node:fs/promises";
import path from "node:path";
import { IGNORED_FOLDERS, readGlobs } from "../lib/globs.mjs";
import { isInside } from "../lib/paths.mjs";
import { GitError } from "./errors.mjs";
import { checkCommit, checkInnerPath } from "./git.mjs";
import { readCopiedPaths, writeCopiedPaths } from "./worktree-admin.mjs";
import { exists, entryExists } from "./repository.mjs";

/** @typedef {{path: string, why: "missing" | "exists" | "outside"}} Skipped */

/** Each match is an exclude when git reads a node's work. */
const MAX_MATCHES = 200;
/** Files and folders that a pattern may visit. */
const MAX_VISITED = 100_000;
const SKIPPED_FOLDERS = new Set([...IGNORED_FOLDERS, ".worktrees"]);

/** @param {string} pattern */
function compilePattern(pattern) {
  try {
    return readGlobs([pattern]);
  } catch (error) {
    const text = `copy: ${/** @type {Error} */ (error).message}`;
    throw new GitError("INVALID", text, { cause: error });
  }
}

/** @param {string} root of a checkout @param {string} pattern as globs.mjs has them @returns {Promise<string[]>} files, sorted */
async function findMatches(root, pattern) {
  const { bases, matches } = compilePattern(pattern);
  const folders = [...bases];
  /** @type {string[]} */
  const found = [];
  let visited = 0;
  for (const folder of folders) {
    const entries = await fs
      .readdir(path.join(root, folder), { withFileTypes: true })
      .catch(() => []);
    for (const entry of entries) {
      const name = path.posix.join(folder, entry.name);
      if (entry.isDirectory()) {
        if (!SKIPPED_FOLDERS.has(entry.name)) folders.push(name);
      } else if (matches(name)) found.push(name);
      if (++visited > MAX_VISITED || found.length > MAX_MATCHES) {
        const most = `more than ${MAX_MATCHES} files match, or more than ${MAX_VISITED} are searched`;
        throw new GitError("TOO_LARGE", `copy: "${pattern}": ${most}. Choose a narrower pattern.`);
      }
    }
  }
  return found.sort();
}

/** An existing name is not a pattern: folders may be called [id]. @param {string} root @param {string} name */
const isPattern = async (root, name) =>
  /[*?[{]/.test(name) && !(await entryExists(path.join(root, name)));

/**
 * Replaces patterns by the untracked files that they match in the checkout. A pattern without a match stays.
 * @param {import("./repository.mjs").Repository} repository @param {string[]} names @returns {Promise<string[]>}
 */
export async function expandPatterns(repository, names) {
  const { root } = repository;
  /** @type {string[]} */
  const all = [];
  for (const name of names) {
    if (!(await isPattern(root, name))) {
      all.push(name);
      continue;
    }
    const found = await findMatches(root, checkInnerPath(name, "copy"));
    const paths = found.map((file) => `:(top,literal)${file}`);
    const args = ["ls-files", "-z", "--", ...paths];
    const tracked = found.length > 0 ? (await repository.query(args)).stdout.split("\0") : [];
    all.push(...(found.length > 0 ? found.filter((file) => !tracked.includes(file)) : [name]));
  }
  return [...new Set(all)];
}

/** Creates the parent folder of a place, without following links out. @param {string} root @param {string} place */
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
  const filter = async (/** @type {string} */ file) => {
    if (!(await fs.lstat(file)).isSymbolicLink()) return true;
    const real = await fs.realpath(file).catch(() => root);
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

/** @param {{copy?: unknown, link?: unknown}} lists paths below a checkout @throws {GitError} if a path leads out of it */
export function checkUntrackedPaths(lists) {
  for (const list of /** @type {const} */ (["copy", "link"])) {
    const names = lists[list];
    if (Array.isArray(names)) names.forEach((name) => checkInnerPath(name, list));
  }
}

/**
 * @param {string} root of a checkout @param {{copy?: string[], link?: string[]}} lists paths below it, checked
 * @returns {Promise<{copy: string[], link: string[]}>} paths that do not exist, and patterns without a match
 */
export async function findMissingPaths(root, { copy: copied = [], link: linked = [] }) {
  const missing = async (/** @type {string[]} */ names, hasPatterns = false) => {
    const there = await Promise.all(
      names.map(async (name) =>
        hasPatterns && (await isPattern(root, name))
          ? (await findMatches(root, name)).length > 0
          : exists(path.join(root, name)),
      ),
    );
    return names.filter((_, at) => !there[at]);
  };
  return { copy: await missing(copied, true), link: await missing(linked) };
}

/**
 * @param {import("./repository.mjs").Repository} repository @param {string} commit @param {string[]} names
 * @returns {Promise<string[]>} names that are a file or a folder of the commit
 */
export async function findTracked(repository, commit, names) {
  const paths = names.map((name) => path.posix.normalize(name).replace(/\/$/, ""));
  const args = ["ls-tree", "--name-only", "-z", checkCommit(commit), "--", ...paths];
  const found = new Set((await repository.query(args)).stdout.split("\0"));
  return names.filter((_, at) => found.has(paths[at]));
}

/**
 * Does not overwrite files. Copied files are not part of commits, snapshots and cleaning.
 * @param {string} root of the user's checkout, without links
 * @param {{path: string, admin: string}} worktree
 * @param {{copy?: string[], link?: string[]}} lists paths below the root
 * @returns {Promise<{brought: string[], skipped: Skipped[]}>}
 */
export async function copyUntrackedFiles(root, worktree, { copy: copied = [], link: linked = [] }) {
  const wanted = [
    ...copied.map((file) => ({ name: checkInnerPath(file, "copy"), how: copy })),
    ...linked.map((file) => ({ name: checkInnerPath(file, "link"), how: link })),
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
