// Marks of the worktrees that tap made: git's folder of a worktree has a nonce that only the plan's record has. It is
// there from the moment in which git makes that folder, as the reason of a lock, and in a file. The file also names the
// file with the plan's record, since several hosts may work in a repository.

import { lstatSync, readFileSync } from "node:fs";
import fs from "node:fs/promises";
import path from "node:path";
import { isInside } from "../lib/paths.mjs";
import { listCheckouts, resolveGitDir } from "./checkouts.mjs";
import { GitError } from "./errors.mjs";
import { isCommit } from "./git.mjs";
import { adoptChanges, createGitPolicy, gitFolder, trimReflog } from "./private-store.mjs";
import { exists, readRegular } from "./repository.mjs";

/** @typedef {import("./repository.mjs").Repository} Repository */

const OWNER_FILE = "tap";
const COPIES_FILE = "tap-brought";

/** The reason of the lock. @param {string} nonce */
export const lockReason = (nonce) => `tap ${nonce}`;

/** @param {string} file @returns {Promise<string>} trimmed; "" if it does not exist */
const readTrimmed = async (file) => (await readRegular(file).catch(() => "")).trim();

/** The node whose work is in a worktree; "checks": it is not the work of a node. @typedef {{plan: string, node: string} | "checks"} Holder */

/**
 * @param {string} admin git's folder of a worktree @param {string} nonce
 * @param {string} owner the file in which its plan is recorded; "": unknown
 * @param {Holder} holder
 */
export function writeOwner(admin, nonce, owner, holder) {
  const name = holder === "checks" ? holder : `${holder.plan}/${holder.node}`;
  return fs.writeFile(path.join(admin, OWNER_FILE), `${nonce}\n${owner}\n${name}\n`);
}

/** @param {string} admin @returns {Promise<Holder | undefined>} undefined: it is not known */
export async function readHolder(admin) {
  const [, , name = ""] = (await readTrimmed(path.join(admin, OWNER_FILE))).split("\n");
  if (name === "checks") return name;
  const [plan, node] = name.split("/");
  return node ? { plan, node } : undefined;
}

/** Whether it is a sparse checkout. @param {string} admin */
export const isSparse = (admin) => exists(path.join(gitFolder(admin), "info", "sparse-checkout"));

/** @param {string} admin @returns {Promise<string>} the nonce; "": tap did not make it */
export async function readNonce(admin) {
  const [marked] = (await readTrimmed(path.join(admin, OWNER_FILE))).split("\n");
  if (marked !== "") return marked;
  return /^tap (\w+)$/.exec(await readTrimmed(path.join(admin, "locked")))?.[1] ?? "";
}

/** Whether an attempt made its worktree a sparse checkout, or changed the sparse patterns. @param {string} admin */
export async function isSparseSince(admin) {
  const settings = ["config.worktree", path.join("info", "sparse-checkout")];
  const files = settings.map((name) => path.join(gitFolder(admin), name));
  const [since, ...all] = await Promise.all(
    [path.join(admin, OWNER_FILE), ...files].map((file) =>
      fs.lstat(file).then(
        (stat) => stat.mtimeMs,
        () => 0,
      ),
    ),
  );
  return all.some((at) => at > since);
}

/** Whether a different host records its plan. @param {string} admin @param {string} owner the file of this host */
export async function isOwnedByOther(admin, owner) {
  const [, recorded = ""] = (await readTrimmed(path.join(admin, OWNER_FILE))).split("\n");
  if (recorded === "" || recorded === owner) return false;
  return exists(recorded);
}

/** @param {string} admin @returns {Promise<string>} the worktree's folder as git knows it; "": unknown */
export async function readWorktreeFolder(admin) {
  const link = await readTrimmed(path.join(admin, "gitdir"));
  return link === "" ? "" : path.dirname(link);
}

// Programs in a worktree can write git's folder of it. Git reads settings there, and runs programs of settings, such as
// filters.

const FILES = ["HEAD", "commondir", "gitdir", "index", "config.worktree"];
/** For each file but the index, which is not read here. */
const MAX_FILE_BYTES = 64 * 1024;
/** Git itself writes these lines for a sparse checkout. */
const SPARSE_LINE =
  /^(?:\[(?:core|index)\]|(?:sparseCheckout|sparseCheckoutCone|sparse) ?= ?(?:true|false))$/i;

/** @param {string} file @returns {string[]} its lines; empty if it does not exist */
function readLines(file) {
  try {
    return readFileSync(file, "utf8")
      .split("\n")
      .map((line) => line.trim());
  } catch {
    return [];
  }
}

/** A copy of the user's settings that git put into a new worktree. @param {string} admin */
const settingsFile = (admin) =>
  path.join(path.dirname(path.dirname(admin)), "tap", `settings-${path.basename(admin)}`);

/** Called after git made the worktree, before programs run there. @param {string} admin */
export async function noteSettings(admin) {
  await fs.rm(settingsFile(admin), { force: true });
  const own = path.join(admin, "config.worktree");
  if (!(await exists(own))) return;
  await fs.mkdir(path.dirname(settingsFile(admin)), { recursive: true });
  await fs.copyFile(own, settingsFile(admin));
}

/** @param {string} admin @returns {string} the file with forged settings; "" if there is no such file */
function findForged(admin) {
  const common = path.dirname(path.dirname(admin));
  const folder = gitFolder(admin);
  for (const name of FILES) {
    const stat = lstatSync(path.join(folder, name), { throwIfNoEntry: false });
    if (stat && !(stat.isFile() && (name === "index" || stat.size <= MAX_FILE_BYTES))) return name;
  }
  const [leads] = readLines(path.join(folder, "commondir"));
  if (leads !== undefined && path.resolve(admin, leads) !== common) return "commondir";
  const own = readLines(path.join(folder, "config.worktree")).filter(Boolean);
  if (own.length === 0) return "";
  const users = new Set(readLines(settingsFile(admin)));
  const isKnown = (/** @type {string} */ line) => users.has(line) || SPARSE_LINE.test(line);
  return own.every(isKnown) ? "" : "config.worktree";
}

/**
 * Options for git in a worktree, in its sandbox if it has a store. Both folders are named: if its .git file was
 * deleted, git would search upwards and find the user's checkout.
 * @param {{path: string, admin: string}} worktree
 * @throws {GitError} BROKEN_WORKTREE: its folder would give git foreign settings, or block it
 */
export function worktreeOptions({ path: cwd, admin }) {
  const sandbox = createGitPolicy({ path: cwd, admin });
  const forged = findForged(admin);
  if (forged) {
    const text = `"${path.join(admin, forged)}" was changed, so git does not run there. Copy the files that you need out of the worktree, and retry the node from the start.`;
    throw new GitError("BROKEN_WORKTREE", text, { path: cwd });
  }
  return { cwd, env: { GIT_DIR: admin, GIT_WORK_TREE: cwd }, ...(sandbox && { sandbox }) };
}

/** The HEAD of the worktree: a commit, or "ref: " and a ref; "" before the first checkout. @param {string} admin */
export const readHead = (admin) => readTrimmed(path.join(gitFolder(admin), "HEAD"));

/** @param {Repository} repository @param {{path: string, admin: string}} place @returns {Promise<string>} a commit, or "" */
export async function resolveHead(repository, place) {
  const head = await readHead(place.admin);
  return isCommit(head) ? head : queryHead(repository, worktreeOptions(place));
}

/** @param {Repository} repository @param {Partial<import("./git.mjs").RunOptions>} where */
async function queryHead(repository, where) {
  const args = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"];
  return (await repository.query(args, { codes: [0, 1, 128], ...where })).stdout.trim();
}

/** The HEADs of the worktree and of its store, which differ if a person checked out a commit. @param {string} admin @returns {Promise<string[]>} commits */
export async function readHeads(admin) {
  const files = [...new Set([gitFolder(admin), admin])].map((folder) => path.join(folder, "HEAD"));
  const heads = new Set(await Promise.all(files.map(readTrimmed)));
  return [...heads].filter((head) => isCommit(head) && !/^0+$/.test(head));
}

/** Copies a person's changes in the worktree into its store. @param {Repository} repository @param {{path: string, admin: string}} worktree */
export async function adoptPersonsChanges(repository, worktree) {
  const { sandbox: _, ...outside } = worktreeOptions(worktree);
  await adoptChanges(worktree.admin, async () => {
    const head = await readTrimmed(path.join(worktree.admin, "HEAD"));
    if (head.startsWith("ref:")) await detachHead(repository, outside);
  });
  await trimReflog(worktree.admin);
}

/**
 * Detaches HEAD, so that later commits do not move a branch.
 * @param {Repository} repository @param {{path: string, admin: string}} worktree @param {string} [to] a commit;
 *   default: the branch's
 */
export async function detach(repository, worktree, to) {
  const head = await readHead(worktree.admin);
  // Zeros: git was killed while it made the worktree, before a checkout.
  if (!head.startsWith("ref:") && !/^0+$/.test(head)) return;
  await detachHead(repository, worktreeOptions(worktree), to);
}

/** @param {Repository} repository @param {Partial<import("./git.mjs").RunOptions>} where @param {string} [to] */
async function detachHead(repository, where, to) {
  const commit = to ?? (await queryHead(repository, { ...where, codes: [0, 1] }));
  if (commit === "") return; // a branch without a commit
  await repository.change(["update-ref", "--no-deref", "HEAD", commit], where);
}

/** Whether git wrote all of its files before it was interrupted. @param {string} admin */
export async function isWhole(admin) {
  const files = ["HEAD", "commondir", "gitdir"].map((name) => readTrimmed(path.join(admin, name)));
  return (await Promise.all(files)).every((text) => text !== "");
}

/** @param {Repository} repository */
export const adminsFolder = (repository) => path.join(repository.commonDir, "worktrees");

/** @param {Repository} repository @returns {Promise<string[]>} git's folders of all worktrees but the main checkout */
export async function listAdmins(repository) {
  const folder = adminsFolder(repository);
  const names = await fs.readdir(folder).catch(() => []);
  return names.map((name) => path.join(folder, name));
}

/**
 * Git's folder of the worktree at a path, even if the worktree itself is missing.
 * @param {Repository} repository @param {string} worktree @returns {Promise<string | undefined>}
 */
export async function findAdmin(repository, worktree) {
  const named = await resolveGitDir(worktree).catch(() => undefined);
  const isThere = named && path.dirname(named) === adminsFolder(repository);
  if (isThere && (await readWorktreeFolder(named)) === worktree) return named;
  for (const admin of await listAdmins(repository)) {
    if ((await readWorktreeFolder(admin)) === worktree) return admin;
  }
  return undefined;
}

/** Paths of the user's untracked files that were copied into a worktree. @param {string} admin @returns {Promise<string[]>} */
export async function readCopiedPaths(admin) {
  const text = await readTrimmed(path.join(admin, COPIES_FILE));
  return text === "" ? [] : JSON.parse(text);
}

/** @param {string} admin @param {string[]} paths */
export const writeCopiedPaths = (admin, paths) =>
  fs.writeFile(path.join(admin, COPIES_FILE), JSON.stringify(paths));

/** The main checkout, which has the folders for worktrees. @param {Repository} repository */
export async function mainRoot(repository) {
  const { root, gitDir, commonDir } = repository;
  if (gitDir === commonDir) return root;
  const [main] = await listCheckouts(repository);
  if (main === undefined || main.bare) return root;
  const place = await fs.realpath(main.path);
  if (!isInside(place, commonDir)) return place;
  // A submodule: git lists its folder in the outer repository's .git.
  const args = ["rev-parse", "--show-toplevel"];
  const { stdout } = await repository.query(args, { cwd: commonDir, codes: [0, 128] });
  return stdout.trim() || root;
}
