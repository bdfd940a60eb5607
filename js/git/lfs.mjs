// Git LFS in a worktree that has a store. git-lfs writes new files to the store, and reads the repository's own files
// as an alternate. New files are imported into the repository after a check of their SHA-256.

import crypto from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import fs from "node:fs/promises";
import path from "node:path";
import { pipeline } from "node:stream/promises";
import { findProgram } from "../process/sandbox.mjs";
import { GitError } from "./errors.mjs";
import { readRegular } from "./repository.mjs";

/** Per store. */
const MAX_FILES = 10_000;
const MAX_BYTES = 8 * 2 ** 30;
const OBJECT = /^([0-9a-f]{2})([0-9a-f]{2})[0-9a-f]{60}$/;
const MAX_ATTRIBUTES = 1024 * 1024;

/** @param {string} text */
const createLfsError = (text) =>
  new GitError("NO_LFS", `${text} Retry the node from the start, with fewer or other files.`);

/** @param {string} common git's folder of the repository */
const lfsFolder = (common) => path.join(common, "lfs");

/**
 * Creates the folders of a store for git-lfs, if the repository has files of git-lfs.
 * @param {string} store @param {string} common @returns {Promise<string>} the alternate by which git-lfs finds the
 *   repository's files; "": there are no such files
 */
export async function createLfsFolders(store, common) {
  const stat = await fs.lstat(lfsFolder(common)).catch(() => undefined);
  if (!stat?.isDirectory()) return "";
  const folders = [
    "lfs/objects",
    "lfs/tmp",
    "lfs/tap",
    "lfs-alternate/objects",
    "lfs-alternate/lfs",
  ];
  for (const name of folders) await fs.mkdir(path.join(store, name), { recursive: true });
  return path.join(lfsFolder(common), "tap", "objects");
}

/**
 * Without git-lfs, git would take pointers for the files.
 * @param {string} worktree @param {string} [search] as PATH @throws {GitError} NO_LFS
 */
export async function requireLfs(worktree, search) {
  const file = path.join(worktree, ".gitattributes");
  const text = await readRegular(file, MAX_ATTRIBUTES).catch(() => "");
  if (!/^[^#\n]*\sfilter=lfs(?:\s|$)/m.test(text)) return;
  try {
    findProgram("git-lfs", worktree, search);
  } catch {
    const problem =
      "This commit has files of Git LFS, and git-lfs is not on the PATH of the session or the terminal that made the plan.";
    throw new GitError("NO_LFS", `${problem} Install git-lfs, run \`git lfs install\`, and retry.`);
  }
}

/** @param {string} store @returns {Promise<string[]>} the files of its objects */
async function listFiles(store) {
  const folders = [path.join(store, "lfs", "objects")];
  /** @type {string[]} */
  const files = [];
  for (let folder; (folder = folders.pop()) !== undefined;) {
    const stat = await fs.lstat(folder).catch(() => undefined);
    if (!stat?.isDirectory()) throw createLfsError(`"${folder}" is no folder.`);
    for (const entry of await fs.readdir(folder, { withFileTypes: true })) {
      const file = path.join(folder, entry.name);
      if (entry.isDirectory()) folders.push(file);
      else if (entry.isFile()) files.push(file);
      else throw createLfsError(`"${file}" is no regular file.`);
      if (files.length + folders.length > MAX_FILES)
        throw createLfsError(`The node has more than ${MAX_FILES} new files of Git LFS.`);
    }
  }
  return files;
}

/** @param {string} file @param {AbortSignal} [signal] */
async function computeSha256(file, signal) {
  const hash = crypto.createHash("sha256");
  await pipeline(createReadStream(file), hash, { signal }).catch((error) => {
    throw signal?.aborted ? new GitError("CANCELLED", "The check of a file was cancelled.") : error;
  });
  return hash.digest("hex");
}

/**
 * Imports new files of the store into the repository. The copy is checked, so that nobody can change a checked file.
 * @param {string} store @param {string} common @param {AbortSignal} [signal]
 * @throws {GitError} NO_LFS: a file does not match its name, or the files are too many or too large
 */
export async function importLfsFiles(store, common, signal) {
  if (!existsSync(path.join(store, "lfs"))) return;
  let bytes = 0;
  for (const file of await listFiles(store)) {
    const name = path.basename(file);
    const [, first, second] = OBJECT.exec(name) ?? [];
    if (first === undefined) throw createLfsError(`"${file}" is no file of Git LFS.`);
    const target = path.join(lfsFolder(common), "objects", first, second, name);
    if (existsSync(target)) continue;
    if ((bytes += (await fs.stat(file)).size) > MAX_BYTES)
      throw createLfsError(`The node has more than ${MAX_BYTES} bytes of new files of Git LFS.`);
    const copy = path.join(lfsFolder(common), "tmp", `tap-${crypto.randomUUID()}`);
    await fs.mkdir(path.dirname(copy), { recursive: true });
    try {
      await fs.copyFile(file, copy, fs.constants.COPYFILE_FICLONE);
      if ((await computeSha256(copy, signal)) !== name)
        throw createLfsError(`"${file}" does not match the SHA-256 in its name.`);
      await fs.mkdir(path.dirname(target), { recursive: true });
      await fs.rename(copy, target);
    } finally {
      await fs.rm(copy, { force: true });
    }
  }
}
