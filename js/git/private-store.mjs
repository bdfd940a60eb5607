// The private part of git for a worktree whose programs run in a sandbox: an object store, and a copy of git's folder
// of the worktree. The programs may write both. In the sandbox they cover the repository's own folders, which stay
// unchanged. Commits leave the store as a pack that git checks.

import crypto from "node:crypto";
import { existsSync } from "node:fs";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { deleteFolder } from "../process/run.mjs";
import { GitError, isGitError } from "./errors.mjs";
import { isCommit } from "./git.mjs";
import { createLfsFolders, importLfsFiles } from "./lfs.mjs";
import { readRegular } from "./repository.mjs";

/** @typedef {import("./repository.mjs").Repository} Repository */
/** @typedef {{path: string, admin: string}} Place */

const MAX_OBJECTS = 500_000;
const MAX_LIST_BYTES = 64 * 1024 * 1024;
const MAX_PACK_BYTES = 2 ** 31;
/** A smaller pack is unpacked into loose objects, as git's own fetch does. */
const UNPACK_BELOW = 100;
const PACK_MS = 600_000;
const MAX_LOG_BYTES = 64 * 1024 * 1024;
/** Refs that protect commits from garbage collection; the HEAD of a worktree is deleted with it. */
export const ALL_REFS = "--branches --tags --remotes --glob=refs/stash --glob=refs/tap".split(" ");
/** tap's files in git's folder of a worktree: programs of a plan do not write them. */
const OWN_FILE = /^tap(?:-|$)/;

/** @param {string} admin git's folder of a worktree */
const commonFolder = (admin) => path.dirname(path.dirname(admin));

const ALTERNATES = path.join("objects", "info", "alternates");
/** In the sandbox, the repository's objects are at this path. @param {string} admin @param {string} lfs see createLfsFolders */
const formatAlternates = (admin, lfs) =>
  [path.join(commonFolder(admin), "tap"), ...(lfs ? [lfs] : [])]
    .map((folder) => `${folder}\n`)
    .join("");

/** @param {string} admin */
export const storeFolder = (admin) =>
  path.join(commonFolder(admin), "tap", "nodes", path.basename(admin));

/** @param {string} admin git's folder of a worktree, or of a checkout */
export const hasStore = (admin) =>
  path.basename(path.dirname(admin)) === "worktrees" && existsSync(storeFolder(admin));

/** The folder with the index and HEAD of a worktree. @param {string} admin as git names it, also in the sandbox @returns {string} */
export const gitFolder = (admin) =>
  hasStore(admin) ? path.join(storeFolder(admin), "admin") : admin;

/**
 * The sandbox of tap's own git in such a worktree: without network, and without folders of the plan.
 * @param {Place} place @returns {import("../process/sandbox.mjs").Policy | undefined} undefined: it has no store
 */
export function createGitPolicy({ path: cwd, admin }) {
  if (!hasStore(admin)) return undefined;
  const repository = { common: commonFolder(admin), admin, own: storeFolder(admin) };
  const noFolders = { writable: [], readable: [], caches: [], hosts: [] };
  return { cwd, repository, ...noFolders, sandbox: "on" };
}

/**
 * Does not block on a pipe, and follows no link. Keeps the times, since git compares the times of index and files.
 * @param {string} from @param {string} to
 */
export async function copyRegular(from, to) {
  const stat = await fs.lstat(from);
  if (!stat.isFile()) throw new GitError("BROKEN_WORKTREE", `"${from}" is no regular file.`);
  await fs.copyFile(from, to);
  await fs.utimes(to, stat.atimeMs / 1000, stat.mtimeMs / 1000);
}

/** @param {string} from @param {string} to does not exist */
async function copyFolder(from, to) {
  await fs.mkdir(to);
  for (const entry of await fs.readdir(from, { withFileTypes: true })) {
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)];
    if (entry.isDirectory()) await copyFolder(source, target);
    else if (entry.isFile() && !OWN_FILE.test(entry.name)) await copyRegular(source, target);
  }
}

/** Copies git's folder of the worktree as it is now, and replaces an older store. @param {string} admin */
export async function createStore(admin) {
  await removeStore(admin);
  const store = storeFolder(admin);
  const made = `${store}.new`;
  await fs.rm(made, { recursive: true, force: true });
  const folders = ["tmp", "objects/info", "objects/pack"];
  for (const name of folders) await fs.mkdir(path.join(made, name), { recursive: true });
  const alternates = formatAlternates(admin, await createLfsFolders(made, commonFolder(admin)));
  await fs.writeFile(path.join(made, ALTERNATES), alternates);
  await fs.writeFile(path.join(made, "alternates"), alternates);
  await copyFolder(admin, path.join(made, "admin"));
  await fs.rename(made, store);
  await notePublished(admin);
}

/** @param {string} admin */
export async function removeStore(admin) {
  if (!hasStore(admin)) return;
  const gone = `${storeFolder(admin)}.gone-${crypto.randomUUID()}`;
  await fs.rename(storeFolder(admin), gone);
  await deleteFolder(gone);
}

const OLD_MS = 30 * 86_400_000;

/** Stores of worktrees that git no longer knows. @param {string} common @param {number} [now] ms since 1970 */
export async function deleteOldStores(common, now = Date.now()) {
  const folder = path.join(common, "tap", "nodes");
  for (const name of await fs.readdir(folder).catch(() => [])) {
    const place = path.join(folder, name);
    const stat = await fs.lstat(place).catch(() => undefined);
    const isUsed = existsSync(path.join(common, "worktrees", name));
    if (stat && !isUsed && now - stat.mtimeMs > OLD_MS) await deleteFolder(place);
  }
}

/** Copies submodules that were added since. @param {string} admin */
export async function refreshModules(admin) {
  if (!hasStore(admin)) return;
  const [from, to] = [admin, gitFolder(admin)].map((folder) => path.join(folder, "modules"));
  await fs.rm(to, { recursive: true, force: true });
  if (existsSync(from)) await copyFolder(from, to);
}

/** Removes files of programs. The folder stays, since each program needs it at its start. @param {string} admin */
export async function emptyTemporaryFolder(admin) {
  if (!hasStore(admin)) return;
  const folder = path.join(storeFolder(admin), "tmp");
  await fs.chmod(folder, 0o755);
  for (const name of await fs.readdir(folder)) await deleteFolder(path.join(folder, name));
}

// The user's git, and a person in the worktree, use git's own folder of it, with the commit that was checked out or
// taken over last. Changes that the person makes there are copied into the store.

/** @param {string} admin */
const publishedFile = (admin) => path.join(storeFolder(admin), "published");

/** @param {string} folder */
async function readState(folder) {
  const head = (await readRegular(path.join(folder, "HEAD")).catch(() => "")).trim();
  const stat = await fs.lstat(path.join(folder, "index")).catch(() => undefined);
  return { head, state: `${head} ${stat?.mtimeMs} ${stat?.size}` };
}

/** @param {string} admin */
async function notePublished(admin) {
  await fs.writeFile(publishedFile(admin), (await readState(admin)).state);
}

/** @param {string} from @param {string} to @param {string} name */
async function replaceFile(from, to, name) {
  const next = path.join(to, `${name}.tap-new`);
  await copyRegular(path.join(from, name), next);
  await fs.rename(next, path.join(to, name));
}

/** Copies the checkout of tap's git to git's own folder. In the store, only tap's git and filters have run. @param {string} admin */
export async function publishCheckout(admin) {
  if (!hasStore(admin)) return;
  const folder = gitFolder(admin);
  const shared = (await fs.readdir(folder)).filter((name) => name.startsWith("sharedindex."));
  for (const name of [...shared, "index", "HEAD"]) await replaceFile(folder, admin, name);
  await notePublished(admin);
}

/** Restores the index of tap's git: an index of a program may wrongly call a file unchanged. @param {string} admin */
export async function resetIndex(admin) {
  if (hasStore(admin)) await copyIndex(admin);
}

/** @param {string} admin */
async function copyIndex(admin) {
  // A program may have created a link with a known name.
  const next = path.join(gitFolder(admin), `tap-index-${crypto.randomUUID()}`);
  await copyRegular(path.join(admin, "index"), next);
  await fs.rename(next, path.join(gitFolder(admin), "index"));
}

/**
 * Replaces an index that programs may have written by the published index. Until the next program starts, only tap's
 * git reads and writes it.
 * @param {string} admin @returns {Promise<boolean>} false: the store's checkout was not published, or has several index
 *   files
 */
export async function restoreIndex(admin) {
  if (!hasStore(admin)) return false;
  const folder = gitFolder(admin);
  const [own, published] = await Promise.all([folder, admin].map(readState));
  const isSplit = (await fs.readdir(admin)).some((name) => name.startsWith("sharedindex."));
  if (own.head !== published.head || isSplit) return false;
  await copyIndex(admin);
  return true;
}

/**
 * A person may have committed or staged files in the worktree. Then the store starts again as a copy of git's own
 * folder, with all objects of the store. REQUIRES: no program of the node runs.
 * @param {string} admin @param {() => Promise<void>} detach HEAD: a branch of the user's cannot move inside
 */
export async function adoptChanges(admin, detach) {
  if (!hasStore(admin) || !existsSync(admin)) return;
  const before = await readRegular(publishedFile(admin)).catch(() => "");
  if ((await readState(admin)).state === before) return;
  await detach();
  const folder = gitFolder(admin);
  const made = `${folder}.new`;
  await fs.rm(made, { recursive: true, force: true });
  await copyFolder(admin, made);
  const log = path.join("logs", "HEAD");
  const entries = await readRegular(path.join(folder, log), MAX_LOG_BYTES).catch(() => "");
  const later = await readRegular(path.join(admin, log), MAX_LOG_BYTES).catch(() => "");
  await fs.mkdir(path.join(made, "logs"), { recursive: true });
  await fs.writeFile(path.join(made, log), entries + later);
  await fs.rm(folder, { recursive: true, force: true });
  await fs.rename(made, folder);
  await notePublished(admin);
}

/** Git ends with "BUG: reverse reflog parser" where HEAD is detached and its log begins with an empty line. @param {string} admin */
export async function trimReflog(admin) {
  const folder = path.join(gitFolder(admin), "logs");
  if (!(await fs.lstat(folder).catch(() => undefined))?.isDirectory()) return; // a link leads elsewhere
  const file = path.join(folder, "HEAD");
  const text = await readRegular(file, MAX_LOG_BYTES, "latin1").catch(() => "");
  if (!text.startsWith("\n")) return;
  const next = path.join(gitFolder(admin), `tap-log-${crypto.randomUUID()}`);
  await fs.writeFile(next, text.replace(/^\n+/, ""), { encoding: "latin1", flag: "wx" });
  await fs.rename(next, file);
}

// ---- objects ---------------------------------------------------------------------------------------

/** Files and folders of an object store. */
const MAX_STORE_ENTRIES = 1_000_000;

/**
 * Rejects pipes, devices and links: git would block on a pipe, or read a device or a link's target without an end.
 * @param {string} admin
 * @throws {GitError} BAD_OBJECTS: the store has entries that are neither files nor folders; TOO_LARGE
 */
export async function checkStore(admin) {
  if (!hasStore(admin)) return;
  const store = storeFolder(admin);
  const folders = [path.join(store, "objects")];
  const refuse = (/** @type {string} */ file) => {
    const text = `"${file}" is no regular file, and git would wait for it. Retry the node from the start.`;
    throw new GitError("BAD_OBJECTS", text);
  };
  if (!(await fs.lstat(folders[0]).catch(() => undefined))?.isDirectory()) refuse(folders[0]);
  for (let folder, count = 0; (folder = folders.pop()) !== undefined;) {
    const entries = await fs.readdir(folder, { withFileTypes: true });
    if ((count += entries.length) > MAX_STORE_ENTRIES)
      throw new GitError("TOO_LARGE", `"${store}" has more than ${MAX_STORE_ENTRIES} files.`);
    for (const entry of entries) {
      const file = path.join(folder, entry.name);
      if (entry.isDirectory()) folders.push(file);
      else if (!entry.isFile()) refuse(file);
    }
  }
  // The file may name a folder with such entries.
  const alternates = path.join(store, ALTERNATES);
  const expected = await readRegular(path.join(store, "alternates")).catch(() =>
    formatAlternates(admin, ""),
  );
  if ((await readRegular(alternates).catch(() => "")) === expected) return;
  await fs.mkdir(path.dirname(alternates), { recursive: true });
  await fs.writeFile(`${alternates}.tap-new`, expected);
  await fs.rename(`${alternates}.tap-new`, alternates);
}

/** @param {unknown} error */
function toImportError(error) {
  if (!isGitError(error, "GIT_FAILED", "DAMAGED", "TOO_LARGE")) return error;
  const { message } = /** @type {GitError} */ (error);
  const text = `The commits cannot be imported from the worktree: ${message} Retry the node from the start.`;
  const code = isGitError(error, "TOO_LARGE") ? "TOO_LARGE" : "BAD_OBJECTS";
  return new GitError(code, text, { cause: error });
}

/**
 * Imports commits and trees of a worktree's store into the repository, with all objects that they need.
 * @param {Repository} repository @param {Place} place
 * @param {string[]} wanted their names
 * @param {{base?: string, signal?: AbortSignal}} [options] base: a commit that the repository has
 * @returns {Promise<void>}
 * @throws {GitError} BAD_OBJECTS: they are broken or incomplete, or as in checkStore; TOO_LARGE; NO_LFS
 */
export async function importObjects(repository, place, wanted, { base, signal } = {}) {
  if (!hasStore(place.admin) || wanted.length === 0) return;
  await checkStore(place.admin);
  await importLfsFiles(storeFolder(place.admin), commonFolder(place.admin), signal);
  const file = path.join(storeFolder(place.admin), `pack-${crypto.randomUUID()}`);
  // The worktree itself is not needed, and may be gone.
  const cwd = await fs.realpath(await fs.mkdtemp(path.join(os.tmpdir(), "tap-import-")));
  const sandbox = createGitPolicy({ ...place, path: cwd });
  const inside = {
    ...{ cwd, sandbox, signal, lasting: true, timeoutMs: PACK_MS },
    env: { GIT_DIR: place.admin },
  };
  try {
    const known = base ? [base] : await listKnown(repository, signal);
    const input = [...wanted, ...known.map((commit) => `^${commit}`)].join("\n");
    await writePack(repository, file, { ...inside, input: `${input}\n` });
    const count = await countObjects(file);
    if (count === 0) return;
    if (count > MAX_OBJECTS)
      throw new GitError(
        "TOO_LARGE",
        `It has ${count} new objects; at most ${MAX_OBJECTS} can be imported. Keep generated files out of the commit.`,
      );
    await readPack(repository, file, count, signal);
  } catch (error) {
    throw toImportError(error);
  } finally {
    await fs.rm(file, { force: true });
    await fs.rmdir(cwd).catch(() => {});
  }
}

/** @param {Repository} repository @param {AbortSignal} [signal] @returns {Promise<string[]>} the commits of ALL_REFS */
async function listKnown(repository, signal) {
  const args = ["rev-parse", ...ALL_REFS];
  const { stdout } = await repository.query(args, { signal, mostBytes: MAX_LIST_BYTES });
  return stdout.split("\n").filter(Boolean);
}

/** @param {string} file a pack @returns {Promise<number>} */
async function countObjects(file) {
  const pack = await fs.open(file);
  try {
    const { buffer, bytesRead } = await pack.read(Buffer.alloc(12), 0, 12, 0);
    return bytesRead === 12 ? buffer.readUInt32BE(8) : 0;
  } finally {
    await pack.close();
  }
}

/** Writes the objects that the repository does not have. @param {Repository} repository @param {string} file @param {Partial<import("./git.mjs").RunOptions>} options */
async function writePack(repository, file, options) {
  const pack = await fs.open(file, "wx", 0o600);
  try {
    const args = ["pack-objects", "--revs", "--local", "--stdout", "--quiet"];
    await repository.query(args, { ...options, outputFile: pack.fd });
    const { size } = await pack.stat();
    if (size > MAX_PACK_BYTES)
      throw new GitError(
        "TOO_LARGE",
        `It has ${size} bytes of new objects; at most 2 GiB can be imported. Keep large files out of the commit.`,
      );
  } finally {
    await pack.close();
  }
}

/**
 * Outside of the sandbox. Git checks each object, and that no object is missing.
 * @param {Repository} repository @param {string} file @param {number} count @param {AbortSignal} [signal]
 */
async function readPack(repository, file, count, signal) {
  const args =
    count < UNPACK_BELOW
      ? ["unpack-objects", "-q", "--strict"]
      : ["index-pack", "--stdin", "--strict"];
  const options = { signal, lasting: true, timeoutMs: PACK_MS, inputFile: file };
  await repository.change(args, options);
}

/**
 * Imports the program's commits at the end of a phase. An error is ignored here: the node's commit fails later with the
 * reason.
 * @param {Repository} repository @param {Place & {commit: string}} worktree commit: where it started
 * @param {{signal?: AbortSignal}} [options]
 */
export async function takeOverWork(repository, worktree, options) {
  if (!hasStore(worktree.admin)) return;
  const { head } = await readState(gitFolder(worktree.admin));
  if (!isCommit(head)) return;
  await takeOver(repository, worktree, head, options).catch((error) => {
    if (!isGitError(error)) throw error;
  });
}

/**
 * Imports the commit that a program left in its worktree, and publishes it to the user's git.
 * @param {Repository} repository @param {Place & {commit: string}} worktree commit: where it started
 * @param {string} commit @param {{signal?: AbortSignal}} [options]
 */
export async function takeOver(repository, worktree, commit, { signal } = {}) {
  const { admin } = worktree;
  if (!hasStore(admin) || (await readState(admin)).head === commit) return;
  await importObjects(repository, worktree, [commit], { base: worktree.commit, signal });
  const next = path.join(admin, "HEAD.tap-new");
  await fs.writeFile(next, `${commit}\n`);
  await fs.rename(next, path.join(admin, "HEAD"));
  const index = { GIT_DIR: admin, GIT_INDEX_FILE: path.join(admin, "index") };
  // The index keeps its entries of unchanged files, so that git need not read them.
  await repository.change(["read-tree", "--reset", "-i", commit], { signal, env: index });
  await notePublished(admin);
}
