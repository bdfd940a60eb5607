// Installs a release of this package next to the existing ones, then switches to it with a single rename. At every
// interruption, the entry names a complete release: the former release until the rename.

import fs from "node:fs";
import path from "node:path";
import { isInUse, RELEASES } from "../lib/release-use.mjs";
import { quoteWord } from "../lib/visible.mjs";
import {
  copyPlan,
  digestPlan,
  isComplete,
  syncFolder,
  writeSynced,
  renameWithRetry,
} from "./copy.mjs";
import {
  entryText,
  isReleaseId,
  releaseId,
  ENTRY,
  FORMER_ENTRY,
  keepEntry,
  makePackage,
} from "./extension-folder.mjs";
import { withLock } from "./lock.mjs";
import { findLoadFailure, releasePlan } from "./release-plan.mjs";
import { InstallError } from "./install-error.mjs";
import { checkPath, inspect, notOurs } from "./target.mjs";

/** @typedef {import("./target.mjs").Target} Target */
/** @typedef {import("./target.mjs").InstallState} InstallState */
/**
 * @typedef {{step: "copy", files: number, bytes: number, allFiles: number, allBytes: number}
 *   | {step: "check" | "place" | "switch" | "tidy"}} Progress `place` and later steps: done
 * @typedef {{force?: boolean, onProgress?: (progress: Progress) => void}} InstallOptions
 * @typedef {{id: string, version: string, before: InstallState, copied: boolean}} InstallResult
 */

/** A link to the release in use, for people and for PYTHONPATH. */
export const CURRENT = "current";
/** In a project: install writes this file if it does not exist. */
export const GITIGNORE = ".gitignore";
export const IGNORE_ALL = "*\n";
export const INCOMING = /^\.incoming-\d+$/;
const ENTRY_PART = /^\.extension-\d+\.mjs$/;

/** @param {unknown} error @returns {string} */
const errorCode = (error) => /** @type {NodeJS.ErrnoException} */ (error)?.code ?? "";

const PERMISSIONS = "check its owner and its permissions, then run this again";
const FILE = "a file is in the place of a folder: move it away, then run this again";
/** @type {Record<string, [reason: string, advice: string]>} */
const REASONS = {
  ENOSPC: ["the disk is full", "make room, then run this again"],
  EDQUOT: ["your disk quota is used up", "make room, then run this again"],
  EFBIG: [
    "a file may not be as large as it is (ulimit -f)",
    "raise that limit, then run this again",
  ],
  EROFS: ["its file system is read-only", "name a different COPILOT_HOME with --home"],
  EACCES: ["you may not", PERMISSIONS],
  EPERM: ["you may not", PERMISSIONS],
  ENOTDIR: ["it is not a folder", FILE],
  EEXIST: ["it exists already", FILE],
};

const UNCHANGED = "The installed release is unchanged";

/**
 * @param {unknown} error @param {string} folder @param {string} [state] the state of the installed release
 * @returns {unknown} with a next step, if the error is known
 */
export function explainError(error, folder, state = UNCHANGED) {
  const known = REASONS[errorCode(error)];
  if (known === undefined) return error;
  const [reason, advice] = known;
  const place = /** @type {NodeJS.ErrnoException} */ (error).path ?? folder;
  const message = `${place} cannot be written: ${reason}. ${state}`;
  return new InstallError("NOT_WRITABLE", message, advice, error);
}

/** Removes parts of an interrupted install. REQUIRES: the lock. @param {string} folder */
export function removeLeftovers(folder) {
  const releases = path.join(folder, RELEASES);
  const names = fs.existsSync(releases) ? fs.readdirSync(releases) : [];
  for (const name of names.filter((each) => INCOMING.test(each))) {
    fs.rmSync(path.join(releases, name), { recursive: true, force: true });
  }
  for (const name of fs.readdirSync(folder).filter((each) => ENTRY_PART.test(each))) {
    fs.rmSync(path.join(folder, name), { force: true });
  }
}

/** Atomic, and does not follow a link in its place. @param {string} folder @param {string} name @param {string | Buffer} content */
function replace(folder, name, content) {
  const part = path.join(folder, `.extension-${process.pid}.mjs`);
  fs.rmSync(part, { force: true });
  writeSynced(part, content);
  renameWithRetry(part, path.join(folder, name));
  syncFolder(folder);
}

/** Optional: some file systems have no links. @param {string} folder @param {string} id */
function pointTo(folder, id) {
  if (process.platform === "win32") return;
  const part = path.join(folder, RELEASES, `.incoming-${process.pid}`);
  try {
    fs.symlinkSync(path.join(RELEASES, id), part);
    fs.renameSync(part, path.join(folder, CURRENT));
    makePackage(folder);
  } catch {
    fs.rmSync(part, { force: true });
  }
}

/** A later install tries again. @param {string} release */
function tryToRemove(release) {
  try {
    fs.rmSync(release, { recursive: true, force: true });
  } catch {
    // It may be in use.
  }
}

/** @param {string} folder @param {(string | undefined)[]} kept ids */
function removeOldReleases(folder, kept) {
  const releases = path.join(folder, RELEASES);
  const old = fs.readdirSync(releases).filter((name) => isReleaseId(name) && !kept.includes(name));
  for (const name of old) {
    const release = path.join(releases, name);
    if (!isInUse(release)) tryToRemove(release);
  }
}

/**
 * Copies the release, unless it exists and is complete.
 * @param {string} root @param {string} folder @param {(progress: Progress) => void} tell
 */
function placeRelease(root, folder, tell) {
  const plan = releasePlan(root);
  const digest = digestPlan(plan);
  const { version } = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8"));
  const releases = path.join(folder, RELEASES);
  for (let again = 0; ; again += 1) {
    const id = releaseId(version, digest, again);
    const release = path.join(releases, id);
    if (isComplete(plan, release, digest)) return { id, version, copied: false };
    if (fs.existsSync(release)) continue;
    copyTo(release, { root, plan, digest, tell });
    return { id, version, copied: true };
  }
}

/**
 * Copies the release to a temporary folder, and renames it once it is complete and runs.
 * @param {string} release not there yet
 * @param {{root: string, plan: import("./copy.mjs").PlannedFile[], digest: string, tell: (progress: Progress) => void}}
 *   options
 */
function copyTo(release, { root, plan, digest, tell }) {
  const releases = path.dirname(release);
  const allBytes = plan.reduce((sum, { size }) => sum + size, 0);

  const incoming = path.join(releases, `.incoming-${process.pid}`);
  fs.mkdirSync(releases, { recursive: true });
  copyPlan(plan, incoming, (done) =>
    tell({ step: "copy", ...done, allFiles: plan.length, allBytes }),
  );
  tell({ step: "check" });
  if (!isComplete(plan, incoming, digest)) {
    const message = `the files of ${root} changed while they were copied`;
    throw new InstallError("SOURCE_CHANGED", message, "run this again");
  }
  const failure = findLoadFailure(incoming);
  if (failure !== undefined) {
    throw new InstallError(
      "DOES_NOT_RUN",
      `the copy of ${root} does not run on this machine: ${failure}; the installed release is unchanged`,
      `this compiles it for this machine, or lists missing tools:\nnode ${quoteWord(path.join(root, "js", "install", "installer.mjs"))}`,
    );
  }
  renameWithRetry(incoming, release);
  syncFolder(releases);
}

/** The release is only for this machine. An existing .gitignore is not changed. @param {string} folder */
function keepOutOfCommits(folder) {
  const file = path.join(folder, GITIGNORE);
  if (!fs.lstatSync(file, { throwIfNoEntry: false })) replace(folder, GITIGNORE, IGNORE_ALL);
}

/** @param {Target} target @param {boolean} force @returns {InstallState} */
function requireAcceptable(target, force) {
  checkPath(target);
  const present = inspect(target);
  if (present.state === "nothing" || present.state === "installed" || force) return present;
  const { problem, advice } = notOurs(target, present);
  throw new InstallError(
    "NOT_OURS",
    `${problem}; no files were changed`,
    `${advice}\n--force replaces that ${ENTRY} and keeps it as ${FORMER_ENTRY}`,
  );
}

/**
 * @param {string} root the package to install @param {Target} target @param {InstallOptions} [options]
 * @returns {InstallResult}
 * @throws {InstallError} with a next step; the installed release is unchanged
 */
export function install(root, target, { force = false, onProgress = () => {} } = {}) {
  const { folder } = target;
  try {
    requireAcceptable(target, force); // first: the lock creates the folder
    return withLock(folder, () => {
      const before = requireAcceptable(target, force);
      removeLeftovers(folder);
      const { id, version, copied } = placeRelease(root, folder, onProgress);
      onProgress({ step: "place" });
      if (before.state !== "installed") keepEntry(folder);
      if (target.scope === "project") keepOutOfCommits(folder);
      replace(folder, ENTRY, entryText(id));
      onProgress({ step: "switch" });
      pointTo(folder, id);
      const former = before.state === "installed" ? before.id : undefined;
      if (former !== id) removeOldReleases(folder, [id, former]);
      onProgress({ step: "tidy" });
      return { id, version, before, copied };
    });
  } catch (error) {
    tidyAfterFailure(folder);
    throw explainError(error, folder);
  }
}

/** @param {string} folder */
function tidyAfterFailure(folder) {
  const part = path.join(folder, RELEASES, `.incoming-${process.pid}`);
  try {
    fs.rmSync(part, { recursive: true, force: true });
    fs.rmSync(path.join(folder, `.extension-${process.pid}.mjs`), { force: true });
  } catch {
    // The next install removes it.
  }
  // Remove empty folders, which would be in the way of a link.
  for (const made of [path.join(folder, RELEASES), folder]) {
    try {
      fs.rmdirSync(made);
    } catch {
      // It is not empty, or does not exist.
    }
  }
}
