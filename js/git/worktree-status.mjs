// The index of a worktree, read without git: files that git was instructed to overlook, and entries that git does not
// show, such as empty folders and pipes.

import { lstatSync } from "node:fs";
import fs from "node:fs/promises";
import path from "node:path";
import { GitError } from "./errors.mjs";
import { gitFolder } from "./private-store.mjs";
import { isSparse, worktreeOptions } from "./worktree-admin.mjs";
import { entryExists } from "./repository.mjs";

/** Before the name of the object: times, device, inode, mode, owner and size. */
const STAT_BYTES = 40;
/** Git reads a larger index, in the sandbox. Some two million files fit. */
const MAX_INDEX_BYTES = 256 * 1024 * 1024;
/** Of all names. In version 4 a few bytes can stand for a long name; git has a limit, too. */
const MAX_NAMES_BYTES = 256 * 1024 * 1024;
const TOO_LARGE =
  "The names in the worktree's index are longer than 256 MB in all: its program has damaged it. Retry the node from the start.";
const HEADER_BYTES = 12;
const ASSUME_UNCHANGED = 0x8000;
const HAS_MORE = 0x4000;
const SKIP_WORKTREE = 0x4000;
/** Bits for the sides of a conflict. */
const STAGE = 0x3000;

/** Read only names with flags. */
export const MARKED_ONLY = { all: false };

/** @typedef {{path: string, admin: string}} Place */
/** @typedef {{names: string[], assumed: string[], skipped: string[], hasConflicts: boolean}} Index names: their bytes, as Latin-1; assumed, skipped: files that git overlooks */

/** The number of characters to cut from the previous name, and the end of that number. @param {Buffer} bytes @param {number} at */
function readVarint(bytes, at) {
  let byte = bytes[at++];
  let cut = byte & 127;
  while (byte & 128) {
    byte = bytes[at++];
    cut = ((cut + 1) << 7) | (byte & 127);
  }
  return { cut, at };
}

/** @param {Index} index @param {string} name @param {number} flags @param {number} more */
function addEntry(index, name, flags, more) {
  index.names.push(name);
  if (flags & STAGE) index.hasConflicts = true;
  if (flags & ASSUME_UNCHANGED) index.assumed.push(name);
  if (more & SKIP_WORKTREE) index.skipped.push(name);
}

/** @param {Buffer} bytes @returns {number} 0: it is not an index */
const readVersion = (bytes) =>
  bytes.length < HEADER_BYTES || bytes.toString("latin1", 0, 4) !== "DIRC"
    ? 0
    : bytes.readUInt32BE(4);

/** @param {Buffer} bytes @param {number} at */
function flagsAt(bytes, at) {
  const flags = bytes.readUInt16BE(at);
  return flags & HAS_MORE
    ? { flags, more: bytes.readUInt16BE(at + 2), size: 4 }
    : { flags, more: 0, size: 2 };
}

/** @param {number} flags @param {number} more */
const isMarked = (flags, more) =>
  (flags & (STAGE | ASSUME_UNCHANGED)) !== 0 || (more & SKIP_WORKTREE) !== 0;

/**
 * @param {Buffer} bytes @param {number} hexDigits of the name of an object
 * @param {{all?: boolean}} [options] all: false: names without flags are not needed
 * @returns {Index | undefined} undefined: not known
 * @throws {GitError} TOO_LARGE
 */
export function readIndex(bytes, hexDigits, { all = true } = {}) {
  const version = readVersion(bytes);
  if (version < 2 || version > 4) return undefined;
  /** @type {Index} */
  const index = { names: [], assumed: [], skipped: [], hasConflicts: false };
  let [at, last, room] = [HEADER_BYTES, "", MAX_NAMES_BYTES];
  for (let left = bytes.readUInt32BE(8); left > 0; --left) {
    const start = at;
    at += STAT_BYTES + hexDigits / 2;
    if (at + 4 > bytes.length) return undefined;
    const { flags, more, size } = flagsAt(bytes, at);
    at += size;
    let before = "";
    if (version === 4) {
      const found = readVarint(bytes, at);
      before = last.slice(0, last.length - found.cut);
      at = found.at;
    }
    const end = bytes.indexOf(0, at);
    if (end < 0) return undefined;
    if (all || version === 4 || isMarked(flags, more)) {
      last = before + bytes.toString("latin1", at, end);
      if ((room -= last.length) < 0) throw new GitError("TOO_LARGE", TOO_LARGE);
      addEntry(index, last, flags, more);
    }
    at = version === 4 ? end + 1 : start + ((end - start + 8) & ~7);
  }
  // A split index has most entries in a second file.
  const isSplit = bytes.toString("latin1", at, at + 4) === "link";
  return isSplit ? undefined : index;
}

/** @param {Place} place @param {number} hexDigits @param {{all?: boolean}} [options] as of readIndex @returns {Promise<Index | undefined>} */
export async function loadIndex({ admin }, hexDigits, options) {
  const file = path.join(gitFolder(admin), "index");
  const stat = await fs.lstat(file).catch(() => undefined);
  if (!stat?.isFile() || stat.size > MAX_INDEX_BYTES) return undefined;
  return readIndex(await fs.readFile(file), hexDigits, options);
}

/** The entries of the index by folder, "" for the root. @param {string[]} names @returns {Map<string, Set<string>>} */
function byFolder(names) {
  /** @type {Map<string, Set<string>>} */
  const all = new Map([["", new Set([".git"])]]);
  const add = (/** @type {string} */ name) => {
    const at = name.lastIndexOf("/");
    const folder = name.slice(0, Math.max(at, 0));
    const there = all.get(folder);
    if (there) there.add(name.slice(at + 1));
    else {
      all.set(folder, new Set([name.slice(at + 1)]));
      add(folder);
    }
  };
  names.forEach(add);
  return all;
}

/** For the file system. @param {string} root @param {string} name its bytes, as Latin-1 */
export const toBytePath = (root, name) =>
  Buffer.concat([Buffer.from(`${root}/`), Buffer.from(name, "latin1")]);

/** @param {string} root @param {string} folder */
async function readEntries(root, folder) {
  const options = /** @type {const} */ ({ withFileTypes: true, encoding: "buffer" });
  const all = await fs.readdir(toBytePath(root, folder), options).catch(() => []);
  return all.map((entry) => {
    const name = entry.name.toString("latin1");
    const isSpecial = !entry.isFile() && !entry.isSymbolicLink() && !entry.isDirectory();
    return { entry, name, full: folder === "" ? name : `${folder}/${name}`, isSpecial };
  });
}

/** Whether a folder got or lost an entry. @param {Place} place @param {string[]} names of the index, in its order @param {number} since ms since 1970 */
function hasChanged({ path: root }, names, since) {
  const changed = (/** @type {string} */ folder) => {
    const stat = lstatSync(toBytePath(root, folder), { throwIfNoEntry: false });
    // Programs that unpack archives restore the mtime.
    return stat !== undefined && stat.ctimeMs >= since;
  };
  let last = "";
  return names.some((name) => {
    if (name.startsWith(last) && !name.includes("/", last.length)) return false;
    const before = last;
    last = name.slice(0, name.lastIndexOf("/") + 1);
    for (let at = last.length; at > 0; at = last.lastIndexOf("/", at - 2) + 1) {
      const folder = last.slice(0, at);
      if (before.startsWith(folder)) break; // checked before, with its parents
      if (changed(folder)) return true;
    }
    return false;
  });
}

/**
 * Entries in the folders of an index that are not in it: pipes and the like, and folders. Git finds the files.
 * @param {Place} place @param {string[]} names of the index
 * @returns {Promise<{folders: string[], specials: string[]}>}
 */
async function findStrays({ path: root }, names) {
  const strays = { folders: /** @type {string[]} */ ([]), specials: /** @type {string[]} */ ([]) };
  for (const [folder, known] of byFolder(names)) {
    for (const { entry, name, full, isSpecial } of await readEntries(root, folder)) {
      if (isSpecial) strays.specials.push(full);
      else if (entry.isDirectory() && !known.has(name)) strays.folders.push(full);
    }
  }
  return strays;
}

/**
 * Whether there are entries that `git status` does not show.
 * @param {Place} place @param {number} hexDigits @param {number} [since] ms since 1970: there were no such entries then
 */
export async function hasStrays(place, hexDigits, since) {
  const index = await loadIndex(place, hexDigits);
  if (!index) return true;
  // The root folder changes when it is renamed, so it is always read.
  const isSame = since !== undefined && !hasChanged(place, index.names, since);
  const top = () => [...new Set(index.names.map((name) => name.split("/", 1)[0]))];
  const { folders, specials } = await findStrays(place, isSame ? top() : index.names);
  return folders.length + specials.length > 0;
}

/** Deletes pipes and empty folders, but no file. @param {string} root @param {string} folder */
async function sweepFolder(root, folder) {
  for (const { entry, full, isSpecial } of await readEntries(root, folder)) {
    if (entry.isDirectory()) await sweepFolder(root, full);
    else if (isSpecial) await fs.rm(toBytePath(root, full), { force: true });
  }
  await fs.rmdir(toBytePath(root, folder)).catch(() => {});
}

/** Removes entries that `git clean` leaves. @param {Place} place @param {number} hexDigits */
export async function removeStrays(place, hexDigits) {
  const index = await loadIndex(place, hexDigits);
  if (!index) return;
  const { folders, specials } = await findStrays(place, index.names);
  for (const name of specials) await fs.rm(toBytePath(place.path, name), { force: true });
  for (const name of folders) await sweepFolder(place.path, name);
}

/** The names that exist. Files of a missing folder are not looked up. @param {string} root @param {string[]} names */
async function filterExisting(root, names) {
  /** @type {Map<string, Promise<boolean>>} */
  const folders = new Map([["", Promise.resolve(true)]]);
  /** @type {(name: string) => Promise<boolean>} */
  const hasFolder = (name) => {
    const folder = name.slice(0, Math.max(name.lastIndexOf("/"), 0));
    const known = folders.get(folder);
    if (known) return known;
    const found = hasFolder(folder).then((isIn) => isIn && entryExists(toBytePath(root, folder)));
    folders.set(folder, found);
    return found;
  };
  const found = [];
  for (const name of names) {
    if ((await hasFolder(name)) && (await entryExists(toBytePath(root, name)))) found.push(name);
  }
  return found;
}

/** For an index that only git can read, such as a split index. @param {import("./repository.mjs").Repository} repository @param {Place} place */
async function listMarked(repository, place) {
  const look = { ...worktreeOptions(place), encoding: /** @type {const} */ ("latin1") };
  const { stdout } = await repository.query(["ls-files", "-v", "-z"], look);
  const all = stdout.split("\0").filter(Boolean);
  const named = (/** @type {RegExp} */ tag) =>
    all.filter((line) => tag.test(line)).map((line) => line.slice(2));
  return { assumed: named(/^[a-z]/), skipped: named(/^s/i) };
}

/**
 * Makes git see overlooked files again. A missing file may belong to a sparse checkout: it stays overlooked.
 * @param {import("./repository.mjs").Repository} repository @param {Place} place
 * @returns {Promise<boolean>} whether there were such files
 */
export async function clearIndexFlags(repository, place) {
  const { assumed, skipped } =
    (await loadIndex(place, repository.hexDigits, MARKED_ONLY)) ??
    (await listMarked(repository, place));
  const isPartial = skipped.length > 0 && (await isSparse(place.admin));
  const all = [
    { how: "--no-assume-unchanged", names: assumed },
    {
      how: "--no-skip-worktree",
      names: isPartial ? await filterExisting(place.path, skipped) : skipped,
    },
  ];
  for (const { how, names } of all) {
    if (names.length === 0) continue;
    const input = Buffer.from(`${names.join("\0")}\0`, "latin1");
    await repository.change(["update-index", how, "-z", "--stdin"], {
      ...worktreeOptions(place),
      input,
    });
  }
  return all.some(({ names }) => names.length > 0);
}
