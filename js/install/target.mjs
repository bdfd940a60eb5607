// The folder in which tap is installed, and its present content.

import fs from "node:fs";
import path from "node:path";
import { RELEASES } from "../lib/release-use.mjs";
import { isNewer } from "../lib/versions.mjs";
import { quoteWord } from "../lib/visible.mjs";
import { readManifest } from "./dependencies.mjs";
import { leadsToRelease, parseVersion, releaseNamedBy } from "./extension-folder.mjs";
import { InstallError } from "./install-error.mjs";

/**
 * @typedef {object} Target
 * @property {"user" | "project"} scope
 * @property {string} folder that of the extension
 * @property {string[]} guarded folders on the way to it that must not be links
 */

/** @param {string} home COPILOT_HOME @returns {Target} */
export function userTarget(home) {
  const folder = path.join(home, "extensions", "tap");
  return { scope: "user", folder, guarded: [folder] };
}

/** The work tree's top, or the folder itself. @param {string} start */
function projectRoot(start) {
  for (let folder = path.resolve(start); ; folder = path.dirname(folder)) {
    if (fs.existsSync(path.join(folder, ".git"))) return folder;
    if (folder === path.dirname(folder)) return path.resolve(start);
  }
}

/**
 * No folder may be a link, since a repository may contain links to other folders.
 * @param {string} start @returns {Target}
 */
export function projectTarget(start) {
  if (!fs.statSync(start, { throwIfNoEntry: false })?.isDirectory()) {
    throw new InstallError("NO_FOLDER", `${start} is not a folder`, "name the project's folder");
  }
  const root = projectRoot(start);
  const steps = [".github", ".github/extensions", ".github/extensions/tap"];
  const guarded = steps.map((step) => path.join(root, step));
  return { scope: "project", folder: guarded[2], guarded };
}

/**
 * Refuses links and files in the place of folders, before files are written or removed.
 * @param {Target} target @throws {InstallError}
 */
export function checkPath({ folder, guarded }) {
  for (const place of [...guarded, path.join(folder, RELEASES)]) {
    const stat = fs.lstatSync(place, { throwIfNoEntry: false });
    if (stat?.isSymbolicLink()) {
      throw new InstallError(
        "LINK_IN_THE_WAY",
        `${place} is a symbolic link, to ${fs.readlinkSync(place)}; no files were changed`,
        "remove the link and run this again, or update its target",
      );
    }
    if (stat && !stat.isDirectory()) {
      throw new InstallError(
        "FILE_IN_THE_WAY",
        `${place} is not a folder; no files were changed`,
        "move it away, then run this again",
      );
    }
  }
}

/**
 * @typedef {{state: "nothing"} | {state: "installed", id: string, version: string}
 *   | {state: "checkout" | "in-place", version: string} | {state: "foreign"}} InstallState
 */

/** @param {string} folder @returns {string | undefined} the version of the tap in this folder */
function packageThere(folder) {
  if (leadsToRelease(folder)) return undefined;
  try {
    const { name, version } = readManifest(folder);
    return name === "copilot-tap" ? String(version) : undefined;
  } catch {
    return undefined;
  }
}

/** The content of the extension's folder. @param {Target} target @returns {InstallState} */
export function inspect({ folder }) {
  const entry = path.join(folder, "extension.mjs");
  const stat = fs.lstatSync(entry, { throwIfNoEntry: false });
  const text = stat?.isFile() ? fs.readFileSync(entry, "utf8") : "";
  const id = releaseNamedBy(text);
  if (id !== undefined) return { state: "installed", id, version: parseVersion(id) };
  const version = packageThere(folder);
  if (version !== undefined) {
    const isCheckout = fs.existsSync(path.join(folder, ".git"));
    return { state: isCheckout ? "checkout" : "in-place", version };
  }
  return { state: stat ? "foreign" : "nothing" };
}

/** A tap that `install` did not write, and how to update it. @param {Target} target @param {InstallState} present */
export function notOurs({ folder }, { state }) {
  if (state === "checkout") {
    return {
      problem: `${folder} is a checkout of tap`,
      advice: `to update it: cd ${quoteWord(folder)} && git pull && npm install --omit=dev`,
    };
  }
  if (state === "in-place") {
    return {
      problem: `${folder} is a copy of tap that a person put there`,
      advice: `to update it: replace its files, then cd ${quoteWord(folder)} && npm install --omit=dev`,
    };
  }
  const problem = `${path.join(folder, "extension.mjs")} is not tap's`;
  return { problem, advice: "check whose extension it is, and move it away if you do not need it" };
}

// Whether the installed tap is older than this package, for `update`.

/** @typedef {"older" | "same" | "newer"} Relation of the installed release to this package */

/**
 * @param {Target} target @param {string} version of this package
 * @returns {{installed: string, relation: Relation}}
 * @throws {InstallError} if tap is not installed there
 */
export function compareInstalled(target, version) {
  const present = inspect(target);
  if (present.state === "nothing") {
    const message = `tap is not installed in ${target.folder}`;
    throw new InstallError("NOT_INSTALLED", message, "copilot-tap install puts it there");
  }
  if (present.state !== "installed") {
    const { problem, advice } = notOurs(target, present);
    throw new InstallError("NOT_OURS", `${problem}; no files were changed`, advice);
  }
  const installed = present.version;
  if (isNewer(version, installed)) return { installed, relation: "older" };
  return { installed, relation: isNewer(installed, version) ? "newer" : "same" };
}
