// The extension.mjs that `tap install` writes: it names the release that runs. Renamed into place, it is
// the one step that makes another release the installed one.

import fs from "node:fs";
import path from "node:path";
import { writePrivate } from "../lib/host-files.mjs";
import { programFolder } from "../lib/paths.mjs";
import { renameWithRetry, syncFolder, writeSynced } from "./copy.mjs";

const ENTRY_SIGN = "// Written by `tap install`; `tap uninstall` removes it.";
const ID = /^\d[\w.+-]{0,80}-[0-9a-f]{12}(\.\d+)?$/;

/**
 * @param {string} version @param {string} digest hexadecimal
 * @param {number} again how often there is a damaged one of that digest, which is not touched: it may be in use
 */
export const releaseId = (version, digest, again) =>
  `${version}-${digest.slice(0, 12)}${again === 0 ? "" : `.${again}`}`;

/** @param {string} id @returns {string} the version in it */
export const parseVersion = (id) => id.slice(0, id.lastIndexOf("-"));

/** @param {string} id */
export const isReleaseId = (id) => ID.test(id);

/** The module of a release that an entry starts. */
const START = "js/extension/start.mjs";
/** The same in older releases: their entries are ours, too. */
const OLDER_STARTS = ["js/session/start.mjs"];

/** @param {string} id @param {string} [start] */
export const entryText = (id, start = START) => `${ENTRY_SIGN}
import { joinSession } from "@github/copilot-sdk/extension";
import { start } from "./releases/${id}/${start}";

await start(joinSession);
`;

/** The release that an entry names. @param {string} text @returns {string | undefined} if the entry is not one of ours */
export function releaseNamedBy(text) {
  const id = /^import .* from "\.\/releases\/([^/"]+)\//m.exec(text)?.[1];
  if (id === undefined || !isReleaseId(id)) return undefined;
  return [START, ...OLDER_STARTS].some((start) => text === entryText(id, start)) ? id : undefined;
}

// What --force finds in the entry's place is kept beside it, under a name of its own each time;
// uninstall puts the last one back.

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

/** The target of a link, or the content of a file; undefined for anything else. @param {string} place */
function readContent(place) {
  const stat = fs.lstatSync(place, { throwIfNoEntry: false });
  if (stat?.isSymbolicLink()) return { link: true, content: Buffer.from(fs.readlinkSync(place)) };
  return stat?.isFile()
    ? { link: false, content: fs.readFileSync(place), mode: stat.mode & 0o777 }
    : undefined;
}

/** @param {string} a @param {string} b places */
function isSame(a, b) {
  const [one, other] = [readContent(a), readContent(b)];
  return one !== undefined && one.link === other?.link && one.content.equals(other.content);
}

/** A link stays a link, also one that leads nowhere. The entry stays until it is replaced. @param {string} folder */
export function keepEntry(folder) {
  const entry = path.join(folder, ENTRY);
  if (!fs.lstatSync(entry, { throwIfNoEntry: false })) return;
  const { last, next } = formerEntries(folder);
  const place = path.join(folder, next);
  const found = readContent(entry);
  if (found === undefined) {
    renameWithRetry(entry, place); // a folder, say: no file can be renamed over it
    return;
  }
  // An install that was interrupted has kept it already.
  if (last !== undefined && isSame(entry, path.join(folder, last))) return;
  const part = path.join(folder, `.extension-${process.pid}.mjs`);
  fs.rmSync(part, { force: true });
  if (found.link) fs.symlinkSync(fs.readlinkSync(entry), part);
  else writeSynced(part, found.content, found.mode);
  renameWithRetry(part, place);
  syncFolder(folder);
}

/**
 * Instead of the entry that install has written.
 * @param {string} folder @returns {boolean} whether there is one again that was there before install
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

/** Of an entry that install has kept, and then not replaced. @param {string} folder */
export function removeNeedlessCopy(folder) {
  const { last } = formerEntries(folder);
  const former = last === undefined ? undefined : path.join(folder, last);
  if (former && isSame(path.join(folder, ENTRY), former)) fs.rmSync(former, { force: true });
}

// Makes the extension's folder a package under a name that no update changes: what `npm install` and
// `copilot-tap new` link to. It leads to the release that is installed.

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

/** Somebody else's stays. @param {string} folder of the extension */
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
