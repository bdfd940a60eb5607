// The user's checkouts, read only: their changes, their branches, and a merge or rebase in progress.

import fs from "node:fs/promises";
import path from "node:path";
import { GitError } from "./errors.mjs";
import { branchRef } from "./refs.mjs";
import { gitFolder } from "./private-store.mjs";
import { exists, readRegular } from "./repository.mjs";

/** @typedef {import("./repository.mjs").Repository} Repository */

const MAX_ENTRIES = 10_000;

/**
 * @typedef {object} Entry
 * @property {string} path
 * @property {string} state two letters of git's short status: "??" untracked, "UU" and the like in conflict
 * @property {string} submodule "" for no submodule, otherwise its changes: "c" its commit, "m" files, "u" new files
 *
 * @typedef {{entries: Entry[], tracked: Entry[], cut: boolean}} Status `tracked`: without untracked files
 */

/** Operations that can be in progress in a checkout: the file or folder that shows it, its name, how to end it. */
const OPERATIONS = [
  ["MERGE_HEAD", "a merge", "git merge --abort"],
  ["rebase-merge", "a rebase", "git rebase --abort"],
  ["rebase-apply", "a rebase or `git am`", "git rebase --abort"],
  ["CHERRY_PICK_HEAD", "a cherry-pick", "git cherry-pick --abort"],
  ["REVERT_HEAD", "a revert", "git revert --abort"],
  ["BISECT_LOG", "a bisection", "git bisect reset"],
];

/** @param {string} gitDir of a checkout @returns {Promise<{what: string, end: string} | undefined>} */
export async function findOperation(gitDir) {
  for (const folder of new Set([gitDir, gitFolder(gitDir)])) {
    for (const [file, name, end] of OPERATIONS) {
      if (await exists(path.join(folder, file))) return { what: name, end };
    }
  }
  return undefined;
}

/** @param {string} record of `git status --porcelain=v2 -z` @returns {Entry | undefined} */
function readEntry(record) {
  const kind = record[0];
  if (kind === "?" || kind === "!") {
    return { path: record.slice(2), state: kind + kind, submodule: "" };
  }
  if (kind !== "1" && kind !== "u") return undefined;
  const [, state, sub] = record.split(" ", 3);
  const before = kind === "1" ? 8 : 10;
  const name = record.split(" ").slice(before).join(" ");
  return { path: name, state, submodule: sub[0] === "S" ? parseSubmoduleState(sub) : "" };
}

/** Git does not search above a checkout without .git. @param {string} folder */
export const getCeilingEnvironment = (folder) => ({
  GIT_CEILING_DIRECTORIES: path.dirname(folder),
});

/**
 * A pattern, because `git add` fails if a literal exclude is ignored as well. The leading backslash makes it a pattern.
 * @param {string} name
 */
const toGlobPattern = (name) => `\\${name[0]}${name.slice(1).replace(/[\\*?[]/g, "\\$&")}`;

/** Pathspecs. @param {string[]} without paths from the top of the worktree to exclude */
export const formatPathspecs = (without) => [
  ...["--", ":/"],
  ...without
    .map(toGlobPattern)
    .flatMap((pattern) => [pattern, `${pattern}/**`].map((all) => `:(exclude,top,glob)${all}`)),
];

/** `git add` includes files outside of a sparse checkout. @param {Repository} repository */
export const getAddArguments = async (repository) =>
  (await repository.git.isAtLeast(2, 34)) ? ["add", "--sparse"] : ["add"];

/** @param {string} flags "S", then C, M, U or dots */
const parseSubmoduleState = (flags) => flags.slice(1).replaceAll(".", "").toLowerCase() || "s";

/**
 * @param {Repository} repository @param {string} [folder] a checkout of it; the user's
 * @param {object} [options]
 * @param {AbortSignal} [options.signal]
 * @param {"normal" | "no" | "all"} [options.untracked] normal: a folder of untracked files is a single entry that ends
 *   with /
 * @param {boolean} [options.ignored] ignored files are listed, too
 * @param {string[]} [options.without] paths that are left out
 * @param {boolean} [options.reading] false: the index may be refreshed
 * @param {Record<string, string>} [options.env] that names the folders
 * @param {import("../process/sandbox.mjs").Policy} [options.sandbox]
 * @returns {Promise<Status>}
 */
export async function readStatus(repository, folder, options = {}) {
  const { signal, untracked = "normal", ignored = false, without = [], reading = true } = options;
  const { env = getCeilingEnvironment(folder ?? repository.root) } = options;
  const flags = ["--porcelain=v2", "-z", "--no-renames", "--ignore-submodules=none"];
  if (ignored) flags.push("--ignored=traditional");
  const args = ["status", ...flags, `--untracked-files=${untracked}`, ...formatPathspecs(without)];
  const { sandbox } = options;
  const where = { signal, reading, env, sandbox, ...(folder && { cwd: folder }) };
  const { stdout } = await repository.query(args, where);
  const all = stdout.split("\0").flatMap((record) => readEntry(record) ?? []);
  const entries = all.slice(0, MAX_ENTRIES);
  const tracked = entries.filter(({ state }) => state !== "??" && state !== "!!");
  return { entries, tracked, cut: all.length > MAX_ENTRIES };
}

/**
 * The state of the user's checkout, for a comparison with a later state.
 * @param {Repository} repository @param {AbortSignal} [signal] @param {"normal" | "all"} [untracked] as of readStatus
 * @returns {Promise<Map<string, string>>} by path
 */
export async function fingerprintCheckout(repository, signal, untracked = "normal") {
  const { entries } = await readStatus(repository, undefined, { signal, untracked });
  /** @type {Map<string, string>} */
  const seen = new Map();
  for (const { path: name, state } of entries) {
    const stat = await fs.lstat(path.join(repository.root, name)).catch(() => undefined);
    seen.set(name, `${state} ${stat?.size} ${stat?.mtimeMs}`);
  }
  return seen;
}

/** @param {Map<string, string>} before @param {Map<string, string>} after @returns {string[]} paths that changed */
export function compareFingerprints(before, after) {
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].filter((name) => before.get(name) !== after.get(name)).sort();
}

/**
 * @typedef {object} Checkout
 * @property {string} path
 * @property {string} head a commit; "" in a bare repository
 * @property {string} branch its full ref; "" with a detached HEAD
 * @property {boolean} bare
 */

/** @param {Repository} repository @returns {Promise<Checkout[]>} the main checkout first */
export async function listCheckouts(repository) {
  const hasNul = await repository.git.isAtLeast(2, 36);
  const args = ["worktree", "list", "--porcelain", ...(hasNul ? ["-z"] : [])];
  const { stdout } = await repository.change(args, { reading: true });
  const end = hasNul ? "\0" : "\n";
  return stdout.split(end + end).flatMap((record) => {
    const lines = record.split(end).filter(Boolean);
    if (lines.length === 0) return [];
    const field = (/** @type {string} */ name) =>
      lines.find((line) => line.startsWith(`${name} `))?.slice(name.length + 1) ?? "";
    const flag = (/** @type {string} */ name) => lines.some((line) => line.split(" ")[0] === name);
    const at = { path: field("worktree"), head: field("HEAD"), branch: field("branch") };
    return [{ ...at, bare: flag("bare") }];
  });
}

/** @param {string} folder of a checkout @returns {Promise<string>} git's folder of it */
export async function resolveGitDir(folder) {
  const link = path.join(folder, ".git");
  if ((await fs.lstat(link)).isDirectory()) return link;
  const [, target] = /^gitdir: (.+)$/m.exec(await readRegular(link)) ?? [];
  if (target === undefined)
    throw new GitError("NOT_A_REPOSITORY", `"${link}" names no repository.`);
  return path.resolve(folder, target);
}

/** A branch that is being rebased or bisected is in use, although it is not checked out. */
const IN_USE = ["rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START"];

/** @param {string} gitDir @param {string} branch */
async function isInUse(gitDir, branch) {
  for (const file of IN_USE) {
    const name = (await readRegular(path.join(gitDir, file)).catch(() => "")).trim();
    if (name === branchRef(branch) || name === branch) return true;
  }
  return false;
}

/** @typedef {{path: string, gitDir: string | undefined}} BranchCheckout gitDir: undefined where its .git cannot be read */

/** Where a branch is checked out. @param {Repository} repository @param {string} branch checked @returns {Promise<BranchCheckout[]>} */
export async function findBranchCheckouts(repository, branch) {
  const all = await listCheckouts(repository);
  const maybe = all.filter(
    ({ bare, branch: ref }) => !bare && ["", branchRef(branch)].includes(ref),
  );
  const found = maybe.map(async ({ path: place, branch: own }) => {
    // If its folder is temporarily missing, its index could be outdated.
    const gitDir = await resolveGitDir(place).catch(() => undefined);
    const holds = own !== "" || (gitDir !== undefined && (await isInUse(gitDir, branch)));
    return holds ? [{ path: place, gitDir }] : [];
  });
  return (await Promise.all(found)).flat();
}

/**
 * @param {Repository} repository @param {BranchCheckout} checkout
 * @returns {Promise<{isThere: boolean, clean: boolean, changed: string[], operation: string}>} isThere: false if its
 *   folder or its .git is missing; clean: no tracked file has changes, and no operation is in progress
 */
export async function inspectCheckout(repository, { path: place, gitDir }) {
  if (!gitDir) return { isThere: false, clean: false, changed: [], operation: "" };
  const [{ tracked }, operation] = await Promise.all([
    readStatus(repository, place, { untracked: "no" }),
    findOperation(gitDir),
  ]);
  const changed = tracked.map((entry) => entry.path);
  const clean = changed.length === 0 && operation === undefined;
  return { isThere: true, clean, changed, operation: operation?.what ?? "" };
}
