// The files that a running gateway writes for other processes: the descriptor (for sessions) and the token
// (for providers). Both are for this user only, appear atomically, and are removed only
// if they are unchanged.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";

/**
 * @typedef {object} Descriptor
 * @property {number} pid
 * @property {number} port
 * @property {string} link
 * @property {string} secret for a session's first frame
 * @property {string} version
 */

/**
 * Writes a temporary file, then renames it: readers never see half a file, and a symbolic link in its place is
 * replaced, not followed. If the disk is full, the temporary file is removed.
 * @param {string} file @param {string | Buffer} content
 */
export function writePrivate(file, content) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const temporary = `${file}.${process.pid}.tmp`;
  fs.rmSync(temporary, { force: true });
  try {
    fs.writeFileSync(temporary, content, { mode: 0o600, flag: "wx" });
    fs.renameSync(temporary, file);
  } catch (error) {
    fs.rmSync(temporary, { force: true });
    throw error;
  }
}

/**
 * Reads a regular file. Does not block on a pipe.
 * @param {string} file @returns {string | undefined}
 */
export function readIfThere(file) {
  try {
    return fs.lstatSync(file).isFile() ? fs.readFileSync(file, "utf8") : undefined;
  } catch {
    return undefined;
  }
}

/** Removes the file if it still has this content. @param {string} file @param {string} content */
export function removeIfOurs(file, content) {
  if (readIfThere(file) === content) fs.rmSync(file, { force: true });
}

/**
 * Whether it belongs to this user, without these permissions for others.
 * @param {fs.Stats} stat @param {number} permissions
 */
function isOursAlone(stat, permissions) {
  if (process.platform === "win32") return true;
  return stat.uid === process.getuid?.() && (stat.mode & permissions) === 0;
}

/** Whether only this user could have written the file. @param {string} file */
export function isOurFile(file) {
  const stat = fs.lstatSync(file);
  return stat.isFile() && isOursAlone(stat, 0o022);
}

/** Whether it is in a folder that only this user can enter. @param {string} link */
function isOurLink(link) {
  if (process.platform === "win32") return true;
  const stat = fs.lstatSync(path.dirname(link));
  return stat.isDirectory() && isOursAlone(stat, 0o077);
}

/**
 * Undefined if the file does not exist, cannot be read, or could have been changed by other users: then
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
 * A folder that only this user can enter. A folder of a different user is refused.
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

/** Prefix of the names of the folders below. */
const TEMP_FOLDER_PREFIX = "tap-link-";

/**
 * Creates a folder for temporary files that only this user can enter. Its name is random, so it cannot exist
 * beforehand.
 * @param {number} mostBytes limit for its path @returns {string}
 */
export function createTempFolder(mostBytes) {
  const sixRandom = 6;
  const places = [os.tmpdir(), "/tmp"];
  const fits = (/** @type {string} */ place) =>
    Buffer.byteLength(path.join(place, TEMP_FOLDER_PREFIX)) + sixRandom <= mostBytes;
  return fs.mkdtempSync(path.join(places.find(fits) ?? "/tmp", TEMP_FOLDER_PREFIX));
}

/** Removes a folder of createTempFolder, and no other. @param {string} folder */
export function removeTempFolder(folder) {
  if (!path.basename(folder).startsWith(TEMP_FOLDER_PREFIX)) return;
  try {
    fs.rmSync(folder, { recursive: true, force: true });
  } catch {
    // An empty folder stays. Only this user can use it.
  }
}
