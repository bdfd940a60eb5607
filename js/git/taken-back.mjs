// Files of a checkout that a landing which was cut off has written: each that has what the new commit has, or the
// beginning of it, gets what the old commit has. A file with anything else is the user's. Names are their bytes, as
// Latin-1: they may be no UTF-8.

import fs from "node:fs/promises";
import { posix } from "node:path";
import { changesBetween } from "./changes.mjs";
import { stayIn } from "./checkouts.mjs";
import { placeOf } from "./index-file.mjs";
import { readRegular } from "./regular-file.mjs";

const LINK = "120000";
/** A longer one that is not whole is not looked into, and stays. */
const MOST_FILE = 256 * 1024 * 1024;
/** The line before an object. */
const MOST_LINE = 128;
const TAKE_BACK_MS = 1_800_000;

/** @typedef {import("./repository.mjs").Repository} Repository */
/** @typedef {import("./changes.mjs").Change} Change */

/** @param {string} root @param {string} name @returns {Promise<import("node:fs").Stats | undefined | null>} null: a link or a file is in the place of one of its folders */
async function find(root, name) {
  for (let at = posix.dirname(name); at !== "."; at = posix.dirname(at)) {
    const stat = await fs.lstat(placeOf(root, at)).catch(() => undefined);
    if (stat && !stat.isDirectory()) return null;
  }
  return fs.lstat(placeOf(root, name)).catch(() => undefined);
}

/** @param {string} root */
const within = (root) => ({
  ...{ cwd: root, env: stayIn(root), network: true, timeoutMs: TAKE_BACK_MS },
  encoding: /** @type {const} */ ("latin1"),
});

/** @param {Repository} repository @param {string} root @param {Change} change */
async function isBeginning(repository, root, { path: name, mode, object }) {
  const file = placeOf(root, name);
  const isLink = mode === LINK;
  const read = isLink ? fs.readlink(file, "latin1") : readRegular(file, MOST_FILE, "latin1");
  const text = await read.catch(() => undefined);
  if (text === undefined) return false;
  // Of its name, only attributes depend.
  const input = Buffer.from(`${object} ${name.replaceAll("\n", "?")}\n`, "latin1");
  const limits = { ...within(root), input, mostBytes: text.length + MOST_LINE, cuts: true };
  const { stdout, cut } = await repository.ask(["cat-file", "--filters", "--batch"], limits);
  if (!stdout.startsWith(`${object} blob `)) return false;
  const content = stdout.slice(stdout.indexOf("\n") + 1, cut ? undefined : -1);
  return isLink ? content === text : content.startsWith(text);
}

/** @param {Repository} repository @param {string} root @param {Change[]} changes @returns {Promise<Set<Change>>} those that the landing has written */
async function writtenOf(repository, root, changes) {
  /** @type {Change[]} */
  const there = [];
  for (const change of changes) {
    const stat = await find(root, change.path);
    if (change.mode === LINK ? stat?.isSymbolicLink() : stat?.isFile()) there.push(change);
  }
  // Git would take these names for others. The rest is looked into, one after the other: also what a filter has
  // changed, since that may leave out what the user has added.
  const files = there.filter((one) => one.mode !== LINK && !/^"|\n|\r$/.test(one.path));
  const input = Buffer.from(files.map((file) => `${file.path}\n`).join(""), "latin1");
  const args = ["hash-object", "--no-filters", "--stdin-paths"];
  const { stdout } = await repository.ask(args, { ...within(root), input });
  const objects = stdout.split("\n");
  const written = new Set(files.filter(({ object }, at) => objects[at] === object));
  for (const change of there) {
    if (!written.has(change) && (await isBeginning(repository, root, change))) written.add(change);
  }
  return written;
}

/** A file, and the folders that are empty then. @param {string} root @param {string} name */
async function remove(root, name) {
  await fs.rm(placeOf(root, name), { force: true });
  try {
    for (let at = name; (at = posix.dirname(at)) !== ".";) await fs.rmdir(placeOf(root, at));
  } catch {
    // One of them is not empty.
  }
}

/** Git has written its new index, but not moved the branch. @param {Repository} repository @param {string} root @param {string} from @param {string} to */
async function takeBackIndex(repository, root, from, to) {
  const where = { cwd: root, env: stayIn(root) };
  const args = ["diff-index", "--cached", "--quiet", to];
  const { code } = await repository.ask(args, { ...where, codes: [0, 1] });
  if (code === 0) await repository.change(["read-tree", "-m", from], where);
}

/**
 * @param {Repository} repository
 * @param {{path: string, from: string, to: string, had: string[]}} what had: files that stay
 */
export async function takeBack(repository, { path: place, from, to, had }) {
  const root = await fs.realpath(place);
  await takeBackIndex(repository, root, from, to);
  const args = ["diff-files", "--name-only", "-z", "--ignore-submodules=dirty"];
  const changed = new Set((await repository.ask(args, within(root))).stdout.split("\0"));
  const before = new Set(had);
  const changes = (await changesBetween(repository, from, to, "latin1")).filter(
    ({ path: name, kind }) => (kind === "A" ? !before.has(name) : changed.has(name)),
  );
  const written = await writtenOf(repository, root, changes);
  for (const change of changes) {
    if (change.kind === "A" && written.has(change)) await remove(root, change.path);
  }
  // What was in the place of a new file has room again.
  let old = "";
  for (const change of changes) {
    const { path: name, kind } = change;
    const isBack = written.has(change) || (await find(root, name)) === undefined;
    if (kind !== "A" && isBack) old += `${name}\0`;
  }
  if (old === "") return;
  const limits = { ...within(root), input: Buffer.from(old, "latin1") };
  await repository.change(["checkout-index", "--force", "--index", "-z", "--stdin"], limits);
}
