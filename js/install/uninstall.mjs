// Removes the files of install, and the files of a gateway that has ended. Open sessions have their code
// in memory, and keep their tools until they end.

import fs from "node:fs";
import path from "node:path";
import { isAlive } from "../lib/process-liveness.mjs";
import { removeIfOurs } from "../lib/host-files.mjs";
import { isInUse, RELEASES } from "../lib/release-use.mjs";
import {
  isReleaseId,
  parseVersion,
  removeNeedlessCopy,
  restoreEntry,
  removePackage,
} from "./extension-folder.mjs";
import {
  CURRENT,
  explainError,
  GITIGNORE,
  IGNORE_ALL,
  INCOMING,
  removeLeftovers,
} from "./install.mjs";
import { InstallError } from "./install-error.mjs";
import { withLock } from "./lock.mjs";
import { checkPath, inspect, notOurs } from "./target.mjs";

/** @typedef {import("./target.mjs").Target} Target */
/** @typedef {import("./target.mjs").InstallState} InstallState */
/**
 * @typedef {object} UninstallOptions
 * @property {boolean} [purge] also remove the user's consent, and `data`
 * @property {string[]} [data] folders of logs, records and the like
 * @typedef {object} UninstallResult
 * @property {string | null} version null if only parts of a release were left
 * @property {boolean} wasInstalled false if an earlier uninstall had left files, which are removed now
 * @property {boolean} gatewayRuns
 * @property {boolean} restored whether the entry of before install is restored
 * @property {string[]} inUse releases that live processes run from: a later uninstall removes them
 * @property {string[]} kept
 */

const CONSENT = "consent.json";
const DESCRIPTOR = /^\.gateway-\d+\.json$/;

/** @param {string} file a descriptor */
function isRunning(file) {
  try {
    const { pid } = JSON.parse(fs.readFileSync(file, "utf8"));
    return Number.isInteger(pid) && pid > 0 && isAlive(pid);
  } catch {
    return false;
  }
}

/** A running gateway removes its files itself when the last session has ended. @param {string} folder */
function removeGatewayFiles(folder) {
  const descriptors = fs.readdirSync(folder).filter((name) => DESCRIPTOR.test(name));
  if (descriptors.some((name) => isRunning(path.join(folder, name)))) return true;
  for (const name of [...descriptors, ".provider-token", ".run"]) {
    fs.rmSync(path.join(folder, name), { recursive: true, force: true });
  }
  return false;
}

/** Removes empty folders, upwards. @param {string[]} folders the innermost first */
function removeEmpty(folders) {
  for (const folder of folders) {
    try {
      fs.rmdirSync(folder);
    } catch {
      return;
    }
  }
}

/** @param {string} folder @returns {string[]} */
function listNames(folder) {
  return fs.existsSync(folder) ? fs.readdirSync(folder) : [];
}

/**
 * The version that is installed, or of which an interrupted uninstall (or first install) left parts.
 * Releases are removed last, so that they show an incomplete uninstall.
 * @param {Target} target @param {InstallState} present @param {UninstallOptions} options
 * @returns {string | null} null if the version is unknown, or was already uninstalled without purge
 * @throws {InstallError} if there are no files of install, and no files to purge
 */
function versionThere(target, present, { purge, data = [] }) {
  if (present.state === "installed") return present.version;
  const names = listNames(path.join(target.folder, RELEASES)).sort();
  const id = names.filter(isReleaseId).at(-1);
  if (id !== undefined) return parseVersion(id);
  if (names.some((name) => INCOMING.test(name))) return null;
  if (present.state === "nothing") {
    const left = [path.join(target.folder, CONSENT), ...data].filter((each) => fs.existsSync(each));
    if (purge && left.length > 0) return null;
    const message = `tap is not installed in ${target.folder}`;
    throw new InstallError("NOT_INSTALLED", message, "--home names a different COPILOT_HOME");
  }
  const { problem } = notOurs(target, present);
  const advice = "install did not put it there; remove it yourself if you do not need it";
  throw new InstallError("NOT_OURS", `${problem}; no files were changed`, advice);
}

/** @param {Target} target @param {string[]} inUse releases @returns {void} */
function removeReleases({ folder, scope }, inUse) {
  const releases = path.join(folder, RELEASES);
  // It keeps the remaining files out of commits.
  if (scope === "project" && inUse.length === 0) {
    removeIfOurs(path.join(folder, GITIGNORE), IGNORE_ALL);
  }
  for (const name of listNames(releases).filter(isReleaseId)) {
    const release = path.join(releases, name);
    if (!inUse.includes(release)) fs.rmSync(release, { recursive: true, force: true });
  }
  removeEmpty([releases]);
}

/**
 * The entry is removed first, so that a new session does not load half a tap.
 * @param {string} folder @param {InstallState} present @returns {boolean} whether there is an entry of before install
 */
function restoreFormerEntry(folder, { state }) {
  if (state === "installed" || state === "nothing") return restoreEntry(folder);
  // An interrupted uninstall has restored this entry, or an install was interrupted before it replaced it.
  removeNeedlessCopy(folder);
  return true;
}

/**
 * @param {Target} target @param {UninstallOptions} options
 * @returns {Omit<UninstallResult, "kept">}
 */
function remove(target, { purge, data = [] }) {
  const { folder, scope } = target;
  const present = inspect(target);
  const version = versionThere(target, present, { purge, data });
  const releases = path.join(folder, RELEASES);
  const inUse = listNames(releases)
    .filter(isReleaseId)
    .map((name) => path.join(releases, name))
    .filter(isInUse);

  const restored = restoreFormerEntry(folder, present);
  removeLeftovers(folder);
  fs.rmSync(path.join(folder, CURRENT), { force: true });
  removePackage(folder);
  const gatewayRuns = scope === "user" && removeGatewayFiles(folder);
  if (purge) fs.rmSync(path.join(folder, CONSENT), { force: true });
  // A running gateway writes to these folders.
  if (purge && !gatewayRuns)
    for (const each of data) fs.rmSync(each, { recursive: true, force: true });
  removeReleases(target, inUse);
  return { version, wasInstalled: present.state === "installed", gatewayRuns, restored, inUse };
}

/**
 * A second call continues an interrupted uninstall.
 * @param {Target} target @param {UninstallOptions} [options]
 * @returns {UninstallResult}
 * @throws {InstallError}
 */
export function uninstall(target, { purge = false, data = [] } = {}) {
  const { folder } = target;
  try {
    checkPath(target);
    versionThere(target, inspect(target), { purge, data }); // first: the lock creates the folder
    const done = withLock(folder, () => remove(target, { purge, data }));
    removeEmpty([...target.guarded].reverse());
    const kept = [path.join(folder, CONSENT), ...data];
    return { ...done, kept: kept.filter((each) => fs.existsSync(each)) };
  } catch (error) {
    throw explainError(error, folder, "Parts of it may be gone: run uninstall again to continue");
  }
}
