// Copies a release, so that it is complete and on the disk before other files refer to it.

import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { IN_USE } from "../lib/release-use.mjs";

/**
 * @typedef {{to: string, from?: string, content?: string, size: number}} PlannedFile
 *   either a file to copy, or its content
 * @typedef {(done: {files: number, bytes: number}) => void} OnProgress
 */

/** @param {PlannedFile} file @returns {Buffer} */
const readContent = ({ from, content }) =>
  from === undefined ? Buffer.from(content ?? "") : fs.readFileSync(from);

/** @param {Iterable<[name: string, content: Buffer]>} files */
function digest(files) {
  const hash = createHash("sha256");
  for (const [name, content] of files) {
    hash.update(`${name}\0${content.length}\0`).update(content);
  }
  return hash.digest("hex");
}

/** @param {PlannedFile[]} plan */
export const digestPlan = (plan) => digest(plan.map((file) => [file.to, readContent(file)]));

/** @param {string} folder @param {string} [below] @returns {string[] | undefined} undefined if an entry is neither file nor folder */
function listFiles(folder, below = "") {
  /** @type {string[]} */
  const files = [];
  for (const entry of fs.readdirSync(path.join(folder, below), { withFileTypes: true })) {
    const name = path.posix.join(below, entry.name);
    // Running programs create these.
    if (name === IN_USE || entry.name === "__pycache__") continue;
    if (entry.isFile()) files.push(name);
    else if (entry.isDirectory()) files.push(...(listFiles(folder, name) ?? [""]));
    else return undefined;
  }
  return files;
}

/**
 * Whether the folder has exactly the planned files: an additional module could be loaded instead of a planned module.
 * @param {PlannedFile[]} plan @param {string} folder @param {string} expected
 */
export function isComplete(plan, folder, expected) {
  try {
    if (!fs.lstatSync(folder).isDirectory()) return false;
    const names = (listFiles(folder) ?? []).sort();
    if (
      names.join("\0") !==
      plan
        .map(({ to }) => to)
        .sort()
        .join("\0")
    )
      return false;
    const read = (/** @type {string} */ name) => fs.readFileSync(path.join(folder, name));
    return digest(plan.map(({ to }) => [to, read(to)])) === expected;
  } catch {
    return false;
  }
}

/** Syncs a folder's entries. Windows neither supports nor needs it. @param {string} folder */
export function syncFolder(folder) {
  if (process.platform === "win32") return;
  const descriptor = fs.openSync(folder, "r");
  try {
    fs.fsyncSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}

/** @param {string} file @param {Buffer | string} content @param {number} [mode] */
export function writeSynced(file, content, mode = 0o644) {
  const descriptor = fs.openSync(file, "wx", mode);
  try {
    fs.writeFileSync(descriptor, content);
    fs.fsyncSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}

/** @param {PlannedFile[]} plan @param {string} folder that does not exist yet @param {OnProgress} onProgress */
export function copyPlan(plan, folder, onProgress) {
  fs.mkdirSync(folder);
  const folders = new Set([folder]);
  let bytes = 0;
  plan.forEach((file, index) => {
    const target = path.join(folder, file.to);
    for (let at = path.dirname(target); !folders.has(at); at = path.dirname(at)) folders.add(at);
    fs.mkdirSync(path.dirname(target), { recursive: true });
    const content = readContent(file);
    writeSynced(target, content, file.to.endsWith("cli.mjs") ? 0o755 : 0o644);
    bytes += content.length;
    onProgress({ files: index + 1, bytes });
  });
  for (const each of folders) syncFolder(each);
}

// Retries renames that Windows refuses for a moment while a scanner has the new files open.

const PATIENCE_MS = 2000;
const PAUSE_MS = 50;
const FOR_A_MOMENT = new Set(["EPERM", "EBUSY", "EACCES"]);

/** @param {string} from @param {string} to */
export function renameWithRetry(from, to, platform = process.platform) {
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      fs.renameSync(from, to);
      return;
    } catch (error) {
      const { code } = /** @type {NodeJS.ErrnoException} */ (error);
      const mayPass = platform === "win32" && FOR_A_MOMENT.has(code ?? "");
      if (!mayPass || performance.now() >= end) throw error;
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
  }
}
