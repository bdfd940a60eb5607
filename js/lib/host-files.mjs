// The files that a running gateway leaves for others: the descriptor (for sessions) and the token
// (for providers). Both are for this user only, appear at once and in full, and are taken back only
// if they are still ours.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";

/**
 * @typedef {object} Descriptor
 * @property {number} pid
 * @property {number} port
 * @property {string} link
 * @property {string} secret what a session's first frame must carry
 * @property {string} version
 */

/**
 * Writes a temporary file, then renames it: nobody reads half a file, and a symbolic link in its place is
 * replaced, not followed. Where the disk is full nothing is left of it.
 * @param {string} file @param {string} content
 */
export function writePrivate(file, content) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const beside = `${file}.${process.pid}.tmp`;
  fs.rmSync(beside, { force: true });
  try {
    fs.writeFileSync(beside, content, { mode: 0o600, flag: "wx" });
    fs.renameSync(beside, file);
  } catch (error) {
    fs.rmSync(beside, { force: true });
    throw error;
  }
}

/**
 * Of a regular file: a pipe in its place is not waited for.
 * @param {string} file @returns {string | undefined}
 */
export function readIfThere(file) {
  try {
    return fs.lstatSync(file).isFile() ? fs.readFileSync(file, "utf8") : undefined;
  } catch {
    return undefined;
  }
}

/** Removes the file if its content is what we wrote. @param {string} file @param {string} content */
export function removeIfOurs(file, content) {
  if (readIfThere(file) === content) fs.rmSync(file, { force: true });
}

/**
 * Whether it is this user's, and others have none of these permissions.
 * @param {fs.Stats} stat @param {number} permissions
 */
function isOursAlone(stat, permissions) {
  if (process.platform === "win32") return true;
  return stat.uid === process.getuid?.() && (stat.mode & permissions) === 0;
}

/** A file that nobody else could have written. @param {string} file */
export function isOurFile(file) {
  const stat = fs.lstatSync(file);
  return stat.isFile() && isOursAlone(stat, 0o022);
}

/** In a folder that only this user can enter: nobody else can have put it there. @param {string} link */
function isOurLink(link) {
  if (process.platform === "win32") return true;
  const stat = fs.lstatSync(path.dirname(link));
  return stat.isDirectory() && isOursAlone(stat, 0o077);
}

/**
 * Undefined if the file does not exist, cannot be read, or could have been changed by another user: then
 * there is no gateway to link to.
 * @param {string} file @returns {Descriptor | undefined}
 */
export function readDescriptor(file) {
  try {
    if (!isOurFile(file)) return undefined;
    const value = JSON.parse(fs.readFileSync(file, "utf8"));
    const good =
      Number.isInteger(value.pid) &&
      value.pid > 0 &&
      Number.isInteger(value.port) &&
      ["link", "secret", "version"].every((key) => typeof value[key] === "string");
    return good && isOurLink(value.link) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * A folder that only this user can enter. One that belongs to somebody else is refused.
 * @param {string} folder
 */
export function makePrivateFolder(folder) {
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  const stat = fs.lstatSync(folder);
  const uid = process.getuid?.();
  if (!stat.isDirectory() || (uid !== undefined && stat.uid !== uid)) {
    throw new Error(`${folder} is not a folder of this user`);
  }
  if (process.platform !== "win32") fs.chmodSync(folder, 0o700);
}

/** The beginning of the names of the folders below. */
const TEMP_FOLDER_PREFIX = "tap-link-";

/**
 * A new folder below that of temporary files, which only this user can enter. Nobody can have made it
 * beforehand: its name is random.
 * @param {number} mostBytes that its path may have @returns {string}
 */
export function createTempFolder(mostBytes) {
  const sixRandom = 6;
  const places = [os.tmpdir(), "/tmp"];
  const fits = (/** @type {string} */ place) =>
    Buffer.byteLength(path.join(place, TEMP_FOLDER_PREFIX)) + sixRandom <= mostBytes;
  return fs.mkdtempSync(path.join(places.find(fits) ?? "/tmp", TEMP_FOLDER_PREFIX));
}

/** One that createTempFolder has made; nothing where it has not. @param {string} folder */
export function removeTempFolder(folder) {
  if (!path.basename(folder).startsWith(TEMP_FOLDER_PREFIX)) return;
  try {
    fs.rmSync(folder, { recursive: true, force: true });
  } catch {
    // An empty folder is left, which nobody else can use.
  }
}
