// Installs a release of this package next to the existing ones, then switches to it with one rename. Whatever
// interrupts this, the entry names a complete release: the former one until the rename.

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
 *   | {step: "check" | "place" | "switch" | "tidy"}} Progress `place` and the later ones: it is done
 * @typedef {{force?: boolean, onProgress?: (progress: Progress) => void}} InstallOptions
 * @typedef {{id: string, version: string, before: InstallState, copied: boolean}} InstallResult
 */

/** Leads to the release in use, for people and for PYTHONPATH. */
export const CURRENT = "current";
/** In a project: install writes this file if it does not exist. */
export const GITIGNORE = ".gitignore";
export const IGNORE_ALL = "*\n";
export const INCOMING = /^\.incoming-\d+$/;
const ENTRY_PART = /^\.extension-\d+\.mjs$/;

/** @param {unknown} error @returns {string} */
const errorCode = (error) => /** @type {NodeJS.ErrnoException} */ (error)?.code ?? "";

const PERMISSIONS = "see whose it is and what its permissions are, then run this again";
const FILE = "a file is in the place of a folder: move it away, then run this again";
/** @type {Record<string, [reason: string, advice: string]>} */
const REASONS = {
  ENOSPC: ["the disk is full", "make room, then run this again"],
  EDQUOT: ["your disk quota is used up", "make room, then run this again"],
  EFBIG: [
    "a file may not be as large as it is (ulimit -f)",
    "raise that limit, then run this again",
  ],
  EROFS: ["its file system is read-only", "another COPILOT_HOME can be named with --home"],
  EACCES: ["you may not", PERMISSIONS],
  EPERM: ["you may not", PERMISSIONS],
  ENOTDIR: ["it is not a folder", FILE],
  EEXIST: ["it is there already", FILE],
};

const UNCHANGED = "What was installed is as it was";

/**
 * @param {unknown} error @param {string} folder @param {string} [state] what has become of what was there
 * @returns {unknown} with what to do, where that is known
 */
export function explainError(error, folder, state = UNCHANGED) {
  const known = REASONS[errorCode(error)];
  if (known === undefined) return error;
  const [reason, advice] = known;
  const place = /** @type {NodeJS.ErrnoException} */ (error).path ?? folder;
  const message = `${place} cannot be written: ${reason}. ${state}`;
  return new InstallError("NOT_WRITABLE", message, advice, error);
}

/** The leftovers of an interrupted install. The lock is held, so nobody is writing them. @param {string} folder */
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

/** At once, and without following a link in its place. @param {string} folder @param {string} name @param {string | Buffer} content */
function replace(folder, name, content) {
  const part = path.join(folder, `.extension-${process.pid}.mjs`);
  fs.rmSync(part, { force: true });
  writeSynced(part, content);
  renameWithRetry(part, path.join(folder, name));
  syncFolder(folder);
}

/** A convenience, which some file systems do not have. @param {string} folder @param {string} id */
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

/** One that cannot be removed now is removed by a later install. @param {string} release */
function tryToRemove(release) {
  try {
    fs.rmSync(release, { recursive: true, force: true });
  } catch {
    // as said
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
 * Copies the release, unless it is there as it should be.
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
 * @param {{root: string, plan: import("./copy.mjs").PlannedFile[], digest: string, tell: (progress: Progress) => void}} what
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
      `the copy of ${root} does not run on this machine: ${failure}; what was installed is as it was`,
      `this compiles it for this machine, or says what that needs:\nnode ${quoteWord(path.join(root, "js", "install", "installer.mjs"))}`,
    );
  }
  renameWithRetry(incoming, release);
  syncFolder(releases);
}

/** It is for this machine and its platform. One's own .gitignore is left to its owner. @param {string} folder */
function keepOutOfCommits(folder) {
  const file = path.join(folder, GITIGNORE);
  if (!fs.lstatSync(file, { throwIfNoEntry: false })) replace(folder, GITIGNORE, IGNORE_ALL);
}

/** @param {Target} target @param {boolean} force @returns {InstallState} */
function requireAcceptable(target, force) {
  checkPath(target);
  const present = inspect(target);
  if (present.state === "nothing" || present.state === "installed" || force) return present;
  const { what, advice } = notOurs(target, present);
  throw new InstallError(
    "NOT_OURS",
    `${what}; nothing was changed`,
    `${advice}\n--force puts an ${ENTRY} that runs this tap in the place of that one, which is kept as ${FORMER_ENTRY}`,
  );
}

/**
 * @param {string} root the package that is to run @param {Target} target @param {InstallOptions} [options]
 * @returns {InstallResult}
 * @throws {InstallError} with what to do; what was installed before is still
 */
export function install(root, target, { force = false, onProgress = () => {} } = {}) {
  const { folder } = target;
  try {
    requireAcceptable(target, force); // the lock makes the folder, which is not for one that is refused
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
    // The next install does it.
  }
  // Where nothing was installed before, nothing stays: a folder would be in the way of a link.
  for (const made of [path.join(folder, RELEASES), folder]) {
    try {
      fs.rmdirSync(made);
    } catch {
      // There is something in it, or it is not there.
    }
  }
}
