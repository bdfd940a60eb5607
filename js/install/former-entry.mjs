// What --force finds in the entry's place is kept beside it, under a name of its own each time;
// uninstall puts the last one back.

import fs from "node:fs";
import path from "node:path";
import { syncFolder, writeSynced } from "./copy.mjs";
import { renamePatiently } from "./rename.mjs";

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
  const nameOf = (/** @type {number} */ at) => (at === 1 ? FORMER_ENTRY : `${FORMER_ENTRY}.${at}`);
  return { last: highest === 0 ? undefined : nameOf(highest), next: nameOf(highest + 1) };
}

/** The target of a link, or the content of a file; undefined for anything else. @param {string} place */
function contentOf(place) {
  const stat = fs.lstatSync(place, { throwIfNoEntry: false });
  if (stat?.isSymbolicLink()) return { link: true, content: Buffer.from(fs.readlinkSync(place)) };
  return stat?.isFile()
    ? { link: false, content: fs.readFileSync(place), mode: stat.mode & 0o777 }
    : undefined;
}

/** @param {string} a @param {string} b places */
function isSame(a, b) {
  const [one, other] = [contentOf(a), contentOf(b)];
  return one !== undefined && one.link === other?.link && one.content.equals(other.content);
}

/** A link stays a link, also one that leads nowhere. The entry stays until it is replaced. @param {string} folder */
export function keepEntry(folder) {
  const entry = path.join(folder, ENTRY);
  if (!fs.lstatSync(entry, { throwIfNoEntry: false })) return;
  const { last, next } = formerEntries(folder);
  const place = path.join(folder, next);
  const found = contentOf(entry);
  if (found === undefined) {
    renamePatiently(entry, place); // a folder, say: no file can be renamed over it
    return;
  }
  // An install that was interrupted has kept it already.
  if (last !== undefined && isSame(entry, path.join(folder, last))) return;
  const part = path.join(folder, `.extension-${process.pid}.mjs`);
  fs.rmSync(part, { force: true });
  if (found.link) fs.symlinkSync(fs.readlinkSync(entry), part);
  else writeSynced(part, found.content, found.mode);
  renamePatiently(part, place);
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
  if (contentOf(former) === undefined) fs.rmSync(entry, { force: true });
  renamePatiently(former, entry);
  return true;
}

/** Of an entry that install has kept, and then not replaced. @param {string} folder */
export function removeNeedlessCopy(folder) {
  const { last } = formerEntries(folder);
  const former = last === undefined ? undefined : path.join(folder, last);
  if (former && isSame(path.join(folder, ENTRY), former)) fs.rmSync(former, { force: true });
}
