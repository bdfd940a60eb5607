// The extension.mjs that `tap install` writes names the release that runs. Renaming it into place is
// the step that switches to a different release.

import fs from "node:fs";
import path from "node:path";
import { writePrivate } from "../lib/host-files.mjs";
import { programFolder } from "../lib/paths.mjs";
import { renameWithRetry, syncFolder, writeSynced } from "./copy.mjs";

const ENTRY_SIGN = "// Written by `tap install`; `tap uninstall` removes it.";
const ID = /^\d[\w.+-]{0,80}-[0-9a-f]{12}(\.\d+)?$/;

/**
 * @param {string} version @param {string} digest hexadecimal
 * @param {number} again number of damaged releases of that digest, which are not changed: they may be in use
 */
export const releaseId = (version, digest, again) =>
  `${version}-${digest.slice(0, 12)}${again === 0 ? "" : `.${again}`}`;

/** @param {string} id @returns {string} the version in it */
export const parseVersion = (id) => id.slice(0, id.lastIndexOf("-"));

/** @param {string} id */
export const isReleaseId = (id) => ID.test(id);

/** The module of a release that an entry imports. */
const START = "js/extension/start.mjs";
/** The module in older releases: their entries are tap's, too. */
const OLDER_STARTS = ["js/session/start.mjs"];

/** @param {string} id @param {string} [start] */
export const entryText = (id, start = START) => `${ENTRY_SIGN}
import { joinSession } from "@github/copilot-sdk/extension";
import { start } from "./releases/${id}/${start}";

await start(joinSession);
`;

/** The release that an entry names. @param {string} text @returns {string | undefined} undefined if tap did not write the entry */
export function releaseNamedBy(text) {
  const id = /^import .* from "\.\/releases\/([^/"]+)\//m.exec(text)?.[1];
  if (id === undefined || !isReleaseId(id)) return undefined;
  return [START, ...OLDER_STARTS].some((start) => text === entryText(id, start)) ? id : undefined;
}

// With --force, an entry of the user's is moved aside, under a new name each time; uninstall restores the last one.

export const ENTRY = "extension.mjs";
export const FORMER_ENTRY = "extension.mjs.before-install";
const FORMER = /^extension\.mjs\.before-install(?:\.([1-9]\d{0,8}))?$/;

/** @param {string} folder @returns {{last: string | undefined, next: string}} names */
function formerEntries(folder) {
  let highest = 0;
  for (const name of fs.readdirSync(folder)) {
    const match = FORMER.exec(name);
    if (match) highest = Math.max(highest, Number(match[1] ?? 1));
  }
  const formatName = (/** @type {number} */ at) =>
    at === 1 ? FORMER_ENTRY : `${FORMER_ENTRY}.${at}`;
  return { last: highest === 0 ? undefined : formatName(highest), next: formatName(highest + 1) };
}

/** The target of a link, or the content of a file; undefined for other entries. @param {string} place */
function readContent(place) {
  const stat = fs.lstatSync(place, { throwIfNoEntry: false });
  if (stat?.isSymbolicLink()) return { link: true, content: Buffer.from(fs.readlinkSync(place)) };
  return stat?.isFile()
    ? { link: false, content: fs.readFileSync(place), mode: stat.mode & 0o777 }
    : undefined;
}

/** @param {string} a @param {string} b places */
function isSame(a, b) {
  const [first, second] = [readContent(a), readContent(b)];
  return first !== undefined && first.link === second?.link && first.content.equals(second.content);
}

/** Keeps links as links, also broken links. The entry stays until it is replaced. @param {string} folder */
export function keepEntry(folder) {
  const entry = path.join(folder, ENTRY);
  if (!fs.lstatSync(entry, { throwIfNoEntry: false })) return;
  const { last, next } = formerEntries(folder);
  const place = path.join(folder, next);
  const found = readContent(entry);
  if (found === undefined) {
    renameWithRetry(entry, place); // such as a folder: no file can be renamed over it
    return;
  }
  // An interrupted install has kept it already.
  if (last !== undefined && isSame(entry, path.join(folder, last))) return;
  const part = path.join(folder, `.extension-${process.pid}.mjs`);
  fs.rmSync(part, { force: true });
  if (found.link) fs.symlinkSync(fs.readlinkSync(entry), part);
  else writeSynced(part, found.content, found.mode);
  renameWithRetry(part, place);
  syncFolder(folder);
}

/**
 * Replaces the entry that install wrote by the entry of before.
 * @param {string} folder @returns {boolean} whether there was an entry before install
 */
export function restoreEntry(folder) {
  const entry = path.join(folder, ENTRY);
  const { last } = formerEntries(folder);
  if (last === undefined) {
    fs.rmSync(entry, { force: true });
    return false;
  }
  const former = path.join(folder, last);
  // Only a file or a link can be renamed over a file.
  if (readContent(former) === undefined) fs.rmSync(entry, { force: true });
  renameWithRetry(former, entry);
  return true;
}

/** Removes the copy of an entry that install did not replace. @param {string} folder */
export function removeNeedlessCopy(folder) {
  const { last } = formerEntries(folder);
  const former = last === undefined ? undefined : path.join(folder, last);
  if (former && isSame(path.join(folder, ENTRY), former)) fs.rmSync(former, { force: true });
}

// Makes the extension's folder a package with a stable name, as a target for links of `npm install` and
// `copilot-tap new`. The package leads to the installed release.

const MANIFEST = "package.json";

/** @param {any} target of an export @returns {any} */
function inCurrent(target) {
  if (typeof target === "string") return target.replace(/^\.\//, "./current/");
  return Object.fromEntries(
    Object.entries(target).map(([condition, inner]) => [condition, inCurrent(inner)]),
  );
}

const PACKAGE_SIGN = "Leads to the tap that is installed here.";

/** @param {string} folder of the extension */
export function leadsToRelease(folder) {
  try {
    return (
      JSON.parse(fs.readFileSync(path.join(folder, MANIFEST), "utf8")).description === PACKAGE_SIGN
    );
  } catch {
    return false;
  }
}

/** Does not replace a package of the user's. @param {string} folder of the extension */
export function makePackage(folder) {
  const file = path.join(folder, MANIFEST);
  const isThere = fs.lstatSync(file, { throwIfNoEntry: false }) !== undefined;
  if (isThere && !leadsToRelease(folder)) return;
  const { exports } = JSON.parse(fs.readFileSync(path.join(programFolder, MANIFEST), "utf8"));
  const manifest = {
    name: "copilot-tap",
    version: "0.0.0",
    description: PACKAGE_SIGN,
    private: true,
    type: "module",
    exports: inCurrent(exports),
  };
  writePrivate(file, `${JSON.stringify(manifest, null, 2)}\n`);
}

/** @param {string} folder of the extension */
export function removePackage(folder) {
  if (leadsToRelease(folder)) fs.rmSync(path.join(folder, MANIFEST), { force: true });
}
