// Worktrees for attempts of nodes: each at a commit, in a separate folder, marked as tap's. Changes in git's own folder
// run in turn; files are written in parallel.

import fs from "node:fs/promises";
import path from "node:path";
import { findOperation } from "./checkouts.mjs";
import { GitError } from "./errors.mjs";
import { clearIndexFlags, removeStrays } from "./worktree-status.mjs";
import { withLock } from "../lib/keyed-mutex.mjs";
import { isInside } from "../lib/paths.mjs";
import { checkAttempt, checkCommit, checkId, checkInnerPath, checkNonce } from "./git.mjs";
import {
  findAdmin,
  listAdmins,
  readCopiedPaths,
  detach,
  readWorktreeFolder,
  readHead,
  readHeads,
  readHolder,
  worktreeOptions,
  isWhole,
} from "./worktree-admin.mjs";
import {
  isSparseSince,
  lockReason,
  noteSettings,
  mainRoot,
  writeOwner,
  readNonce,
  writeCopiedPaths,
} from "./worktree-admin.mjs";
import { archiveCommit, snapshotContents } from "./archive.mjs";
import { entryExists, exists, readRegular, resolveLinks, updateSubmodules } from "./repository.mjs";
import { forgetSetup } from "./commit-work.mjs";

import { requireLfs } from "./lfs.mjs";
import {
  createStore,
  hasStore,
  importObjects,
  publishCheckout,
  refreshModules,
  removeStore,
  resetIndex,
  restoreIndex,
} from "./private-store.mjs";

/** @typedef {import("./repository.mjs").Repository} Repository */

/** A checkout with filters may reach other machines. */
const CHECKOUT_MS = 1_800_000;

/**
 * @typedef {object} WorktreeRequest
 * @property {string} plan
 * @property {string} node
 * @property {number} attempt
 * @property {string} nonce of the plan: newNonce()
 * @property {string} commit
 * @property {boolean} [isPrivate] programs in it have an object store of their own, in a sandbox
 * @property {boolean} [isForChecks] a second worktree, for the node's checks: changes in it are never committed
 * @property {AbortSignal} [signal]
 *
 * @typedef {object} Worktree
 * @property {string} path
 * @property {string} admin git's own folder of it
 * @property {string} nonce
 * @property {string} plan
 * @property {string} node
 * @property {number} attempt
 * @property {string} commit where it started
 */

/** @param {WorktreeRequest} wanted */
function checkRequest({ plan, node, attempt, nonce, commit }) {
  checkId(plan, "plan");
  checkId(node, "node");
  checkAttempt(attempt);
  checkNonce(nonce);
  checkCommit(commit);
}

/** A commit can contain a link to a file outside of the repository. @param {string} file @param {string} line to add if it is missing */
async function addLine(file, line) {
  const stat = await fs.lstat(file).catch(() => undefined);
  if (stat && !stat.isFile()) {
    const text = `"${file}" is a link, or no file, and tap lists its folder for worktrees there. Put a file in its place.`;
    throw new GitError("INVALID", text, { path: file });
  }
  const text = await readRegular(file).catch(() => "");
  if (text.split(/\r?\n/).includes(line)) return;
  await fs.mkdir(path.dirname(file), { recursive: true });
  const gap = text === "" || text.endsWith("\n") ? "" : "\n";
  await fs.appendFile(file, `${gap}${line}\n`);
}

const FOLDER = ".worktrees";

/** A name that no program searches, for the time of the snapshot. @param {string} place @param {string} nonce */
export const asidePath = (place, nonce) =>
  path.join(path.dirname(place), `.aside-${nonce}-${path.basename(place)}`);

/** Renames a folder back that an interrupted removal had put aside. @param {string} place @param {string} nonce */
export async function restoreAside(place, nonce) {
  const aside = asidePath(place, nonce);
  if ((await entryExists(aside)) && !(await entryExists(place))) await fs.rename(aside, place);
}

/** The default folder for worktrees: in the repository, or next to it. @param {string} root @param {boolean} beside */
export const defaultFolder = (root, beside) =>
  beside ? path.join(path.dirname(root), FOLDER, path.basename(root)) : path.join(root, FOLDER);

/** A commit can contain a link to a folder outside of the repository. @param {string} place */
async function requireOwnFolder(place) {
  const stat = await fs.lstat(place).catch(() => undefined);
  if (!stat?.isSymbolicLink()) return;
  const text = `"${place}" is a link: worktrees go into a folder of the repository. Move it away, or set "worktrees" of the config's "plans" to "beside".`;
  throw new GitError("INVALID", text, { path: place });
}

/** Follows no link. @param {string} root @param {string} name of a folder below it */
async function emptyInside(root, name) {
  const parts = name.split("/");
  for (const at of parts.keys()) {
    const place = path.join(root, ...parts.slice(0, at + 1));
    const stat = await fs.lstat(place).catch(() => undefined);
    const isLast = at === parts.length - 1;
    if (stat && (isLast || !stat.isDirectory())) await fs.rm(place, { recursive: true });
    if (isLast || !stat?.isDirectory()) await fs.mkdir(place);
  }
}

/** As `git worktree move` does it, in the same order. @param {string} admin @param {string} from @param {string} to is not there */
async function moveFolder(admin, from, to) {
  if (from === to) return;
  if (await entryExists(to)) throw new GitError("EXISTS", `"${to}" exists already.`);
  await fs.rename(from, to);
  await fs.writeFile(path.join(admin, "gitdir"), `${to}/.git\n`);
}

export class Worktrees {
  /** @type {Promise<string> | undefined} */
  #ready;
  #options;

  /**
   * @param {Repository} repository
   * @param {{folder?: string, beside?: boolean, gitignore?: boolean}} [options] folder: absolute, or relative to the
   *   main checkout; beside: next to the checkout; gitignore: list the folder in .gitignore, not in .git/info/exclude
   */
  constructor(repository, options = {}) {
    this.repository = repository;
    this.#options = options;
  }

  /** @returns {Promise<string>} the folder for worktrees, without links */
  folder() {
    this.#ready ??= this.#prepare().catch((error) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  async #prepare() {
    const { folder, beside = false, gitignore = false } = this.#options;
    const root = await mainRoot(this.repository);
    const place = folder === undefined ? defaultFolder(root, beside) : path.resolve(root, folder);
    if (folder === undefined && !beside) await requireOwnFolder(place);
    await fs.mkdir(place, { recursive: true }).catch((error) => {
      if (error.code !== "EEXIST" && error.code !== "ENOTDIR") throw error;
      const text = `"${place}" is not a folder, and worktrees belong there. Move it away, and retry.`;
      throw new GitError("EXISTS", text, { path: place, cause: error });
    });
    const real = await fs.realpath(place);
    if (real === root)
      throw new GitError("INVALID", "The folder for worktrees is the repository itself.");
    if (!isInside(real, root)) return real;
    const inner = path.relative(root, real).split(path.sep).join("/");
    const file = gitignore
      ? path.join(root, ".gitignore")
      : await resolveLinks(path.join(this.repository.commonDir, "info", "exclude"));
    await addLine(file, `/${checkInnerPath(inner, "folder")}/`);
    return real;
  }

  /** @param {{plan: string, node: string, attempt: number, isForChecks?: boolean}} of */
  async worktreePath({ plan, node, attempt, isForChecks }) {
    const name = `${checkId(plan, "plan")}-${checkId(node, "node")}-${checkAttempt(attempt)}`;
    return path.join(await this.folder(), isForChecks ? `${name}-checks` : name);
  }

  /**
   * Adds a worktree at a commit. A second call after a crash completes the same worktree.
   * @param {WorktreeRequest} wanted @returns {Promise<Worktree>}
   */
  async add(wanted) {
    checkRequest(wanted);
    const { plan, node, attempt, nonce, commit, signal } = wanted;
    const place = await this.worktreePath(wanted);
    const found = await withLock(this.repository.commonDir, () => this.#resume(place, wanted));
    const begun = found && (await this.#beginAgain(place, found, wanted));
    const admin =
      begun ?? (await withLock(this.repository.commonDir, () => this.#register(place, wanted)));
    const worktree = { path: place, admin, nonce, plan, node, attempt, commit };
    await this.#replaceStore(admin, wanted);
    await this.checkOut(worktree, signal);
    // It may be the worktree of a different attempt, moved here by a host that was killed; or a copy was interrupted.
    if (begun) await this.#empty(worktree, signal);
    return worktree;
  }

  /** @param {string} place @param {string} admin @param {WorktreeRequest} wanted @returns {Promise<string | undefined>} undefined: make a new worktree */
  async #beginAgain(place, admin, wanted) {
    const record = { ...wanted, path: place, admin, known: [wanted.commit] };
    const options = { signal: wanted.signal, why: "its worktree is made again" };
    // Zeros: git was killed before it wrote the commit, so this commit is the only candidate.
    if (/^0+$/.test(await readHead(admin))) await detach(this.repository, record, wanted.commit);
    await snapshotContents(this.repository, record, options);
    if (wanted.isForChecks) {
      // Changes by earlier checks must not affect the next check.
      await withLock(this.repository.commonDir, () => this.#discard(place, admin, wanted));
      return undefined;
    }
    await forgetSetup(admin);
    await this.#writeOwner(admin, wanted);
    return admin;
  }

  /** REQUIRES: its contents are archived. @param {string} admin @param {WorktreeRequest} wanted */
  #replaceStore(admin, { isPrivate }) {
    return isPrivate ? createStore(admin) : removeStore(admin);
  }

  /** @param {string} admin @param {WorktreeRequest} wanted */
  #writeOwner(admin, { nonce, isForChecks, plan, node }) {
    const holder = isForChecks ? "checks" : { plan, node };
    return writeOwner(admin, nonce, this.repository.owner, holder);
  }

  /** @param {string} place @param {WorktreeRequest} wanted @returns {Promise<string>} git's folder of it */
  async #register(place, wanted) {
    const { nonce, commit, signal } = wanted;
    const hasReason = await this.repository.git.isAtLeast(2, 33);
    const lock = hasReason ? ["--lock", "--reason", lockReason(nonce)] : ["--lock"];
    const args = [
      "worktree",
      "add",
      "--quiet",
      "--no-checkout",
      "--detach",
      ...lock,
      place,
      commit,
    ];
    await this.repository.change(args, { signal });
    const admin = await findAdmin(this.repository, place);
    if (admin === undefined) throw new GitError("GIT_FAILED", `git did not make "${place}".`);
    await this.#writeOwner(admin, wanted);
    await noteSettings(admin);
    return admin;
  }

  /** Continues an interrupted call. @param {string} place @param {WorktreeRequest} wanted */
  async #resume(place, wanted) {
    const admin = await this.#findRegistered(place, wanted.nonce);
    if (admin) await restoreAside(place, wanted.nonce);
    const names = await fs.readdir(place).catch(() => undefined);
    if (admin && names?.includes(".git") && (await isWhole(admin))) return admin;
    if (names?.some((name) => name !== ".git") || (names?.length && !admin)) {
      const text = `"${place}" exists already and does not belong to this plan. Move it away.`;
      throw new GitError("EXISTS", text, { path: place });
    }
    if (admin) await this.#discard(place, admin, wanted);
    return undefined;
  }

  /** @param {string} place @param {string} nonce @returns {Promise<string | undefined>} */
  async #findRegistered(place, nonce) {
    const named = await findAdmin(this.repository, place);
    if (named) return (await readNonce(named)) === nonce ? named : undefined;
    for (const admin of await listAdmins(this.repository)) {
      // Git was killed before it wrote the path of the worktree.
      if (!path.basename(admin).startsWith(path.basename(place))) continue;
      if ((await readNonce(admin)) === nonce && (await readWorktreeFolder(admin)) === "")
        return admin;
    }
    return undefined;
  }

  /** For a worktree whose folder was deleted, or never filled. @param {string} place @param {string} admin @param {WorktreeRequest} wanted */
  async #discard(place, admin, { plan, node, commit }) {
    const heads = (await readHolder(admin)) === "checks" ? [] : await readHeads(admin);
    for (const lost of heads.filter((head) => head !== commit)) {
      await importObjects(this.repository, { path: place, admin }, [lost]);
      await archiveCommit(this.repository, { plan, node }, lost, "the folder was gone");
    }
    await removeStore(admin);
    await fs.rm(admin, { recursive: true, force: true });
    await fs.rm(place, { recursive: true, force: true });
  }

  /** Resets its files to the commit; changes are lost. @param {Worktree} worktree @param {AbortSignal} [signal] */
  async checkOut(worktree, signal) {
    const limits = await this.#reset(worktree, signal);
    await publishCheckout(worktree.admin);
    if (!(await this.#hasCommittedSubmodules(worktree))) return;
    // As the user's git would do it: with the network and the user's login, and without the plan's programs.
    await this.#emptySubmodules(worktree, limits);
    const { sandbox: _, ...outside } = limits;
    await updateSubmodules(this.repository, worktree, outside);
    await refreshModules(worktree.admin);
  }

  /** @param {Worktree} worktree @param {AbortSignal} [signal] */
  async #reset(worktree, signal) {
    const { commit } = worktree;
    const limits = {
      ...worktreeOptions(worktree),
      signal,
      lasting: true,
      network: true,
      timeoutMs: CHECKOUT_MS,
    };
    await detach(this.repository, worktree, commit);
    await this.repository.change(["reset", "--hard", "--quiet", commit], limits);
    if (hasStore(worktree.admin)) await requireLfs(worktree.path, this.repository.git.env.PATH);
    return limits;
  }

  /** An untracked .gitmodules is not trusted. @param {Worktree} worktree */
  async #hasCommittedSubmodules({ path: cwd, commit }) {
    if (!(await hasSubmodules(cwd))) return false;
    const args = ["rev-parse", "--verify", "--quiet", `${commit}:.gitmodules`];
    return (await this.repository.query(args, { codes: [0, 1, 128] })).code === 0;
  }

  /** Programs of the worktree may have put repositories in the places of submodules. @param {Worktree} worktree @param {Partial<import("./git.mjs").RunOptions>} where */
  async #emptySubmodules({ path: cwd }, where) {
    const { stdout } = await this.repository.query(["ls-files", "--stage", "-z"], where);
    const links = stdout.matchAll(/(?:^|\0)160000 [^\t\0]+\t([^\0]+)/g);
    for (const [, name] of links) await emptyInside(cwd, name);
  }

  /**
   * Resets all its files to the commit, also files that git overlooks. Programs have run in it, so git enters its
   * submodules only in the sandbox.
   * @param {Worktree} worktree @param {AbortSignal} [signal]
   */
  async restore(worktree, signal) {
    await resetIndex(worktree.admin);
    await clearIndexFlags(this.repository, worktree);
    const limits = await this.#reset(worktree, signal);
    if (await this.#hasCommittedSubmodules(worktree))
      await updateSubmodules(this.repository, worktree, limits);
  }

  /**
   * Gives the worktree a new name and a new commit, for a different attempt.
   * @param {Worktree} worktree @param {WorktreeRequest} wanted
   * @param {(moved: Worktree) => Promise<boolean>} keep archives its contents after the move, and returns whether it
   *   differs from its commit. If it fails, the worktree is moved back
   * @returns {Promise<Worktree>}
   */
  async reuse(worktree, wanted, keep) {
    checkRequest(wanted);
    const { plan, node, attempt, nonce, commit, signal } = wanted;
    const place = await this.worktreePath(wanted);
    const move = (/** @type {string} */ from, /** @type {string} */ to) =>
      withLock(this.repository.commonDir, () => moveFolder(worktree.admin, from, to));
    await move(worktree.path, place);
    const isRestored = await restoreIndex(worktree.admin);
    const isChanged = await keep({ ...worktree, path: place }).catch(async (error) => {
      await move(place, worktree.path);
      throw error;
    });
    // The refreshed index saves the next commands the same work.
    if (isRestored && !isChanged) await publishCheckout(worktree.admin);
    // All commits of the log have refs by now.
    await fs.rm(path.join(worktree.admin, "logs", "HEAD"), { force: true });
    const next = { path: place, admin: worktree.admin, nonce, plan, node, attempt, commit };
    // With a program's index, git may take a changed file for unchanged.
    const isDoubtful = hasStore(next.admin) && !isRestored;
    await this.#replaceStore(next.admin, wanted);
    const dirty = (await clearIndexFlags(this.repository, next)) || isChanged || isDoubtful;
    await this.#writeOwner(next.admin, wanted);
    await forgetSetup(next.admin);
    if (dirty || (await readHead(next.admin)) !== commit) await this.checkOut(next, signal);
    if (dirty || (await readCopiedPaths(next.admin)).length > 0) await this.#empty(next, signal);
    return next;
  }

  /** Removes all files that are not in its commit, and copied files, which the caller copies again. @param {Worktree} worktree @param {AbortSignal} [signal] */
  async #empty(worktree, signal) {
    await writeCopiedPaths(worktree.admin, []);
    const limits = { ...worktreeOptions(worktree), signal, lasting: true };
    await this.repository.change(["clean", "-ffdxq"], limits);
    await removeStrays(worktree, this.repository.hexDigits);
  }

  /** Whether a different attempt can use it. @param {Worktree} worktree */
  async isReusable({ path: cwd, admin }) {
    if ((await findOperation(admin)) !== undefined || (await hasSubmodules(cwd))) return false;
    return !(await isSparseSince(admin));
  }
}

/** @param {string} folder */
export const hasSubmodules = (folder) => exists(path.join(folder, ".gitmodules"));
