// Files of a checkout that a landing which was cut off has written: each that has what the new commit has, or the
// beginning of it, gets what the old commit has. A file with anything else is the user's. Names are their bytes, as
// Latin-1: they may be no UTF-8.

import { createHash } from "node:crypto";
import fs from "node:fs/promises";
import path from "node:path";
import { changesBetween } from "./changes.mjs";
import { stayIn } from "./checkouts.mjs";
import { placeOf } from "./index-file.mjs";

const SUBMODULE = "160000";
const LINK = "120000";
/** A longer one that is not whole is not looked into, and stays. */
const MOST_FILE = 256 * 1024 * 1024;
/** The line before an object. */
const MOST_LINE = 128;
const TAKE_BACK_MS = 1_800_000;

/** @typedef {import("./repository.mjs").Repository} Repository */
/** @typedef {import("./changes.mjs").Change} Change */

/** @param {string} root @param {string} name */
const statOf = (root, name) => fs.lstat(placeOf(root, name)).catch(() => undefined);

/** @param {string} root @param {string} name @returns {Promise<boolean>} whether a link or a file is in the place of one of its folders */
async function isElsewhere(root, name) {
  for (let at = path.posix.dirname(name); at !== "."; at = path.posix.dirname(at)) {
    const stat = await statOf(root, at);
    if (stat && !stat.isDirectory()) return true;
  }
  return false;
}

/** @param {string} root */
const within = (root) => ({
  ...{ cwd: root, env: stayIn(root), network: true, timeoutMs: TAKE_BACK_MS },
  encoding: /** @type {const} */ ("latin1"),
});

/** @param {string} name for git, as in C */
const quoted = (name) =>
  `"${name.replace(/[^ !#-[\]-~]/g, (one) => `\\${one.charCodeAt(0).toString(8).padStart(3, "0")}`)}"\n`;

/** The objects that files would be. @param {Repository} repository @param {string} root @param {string[]} names */
async function objectsOf(repository, root, names) {
  if (names.length === 0) return [];
  const limits = { ...within(root), input: names.map(quoted).join("") };
  return (await repository.ask(["hash-object", "--stdin-paths"], limits)).stdout.split("\n");
}

/** @param {Repository} repository @param {string} root @param {Change & {size: number}} change */
async function isBeginning(repository, root, { path: name, object, size }) {
  if (size > MOST_FILE) return false;
  // Of its name, only attributes depend.
  const input = Buffer.from(`${object} ${name.replaceAll("\n", "?")}\n`, "latin1");
  const limits = { ...within(root), input, mostBytes: size + MOST_LINE, cuts: true };
  const { stdout, cut } = await repository.ask(["cat-file", "--filters", "--batch"], limits);
  const content = stdout.slice(stdout.indexOf("\n") + 1, cut ? undefined : -1);
  return content.startsWith(await fs.readFile(placeOf(root, name), "latin1"));
}

/** @param {Repository} repository @param {string} root @param {Change} change of a link */
async function isSameLink({ hexDigits }, root, { path: name, object }) {
  const to = await fs.readlink(placeOf(root, name), "buffer");
  const hash = createHash(hexDigits === 64 ? "sha256" : "sha1").update(`blob ${to.length}\0`);
  return hash.update(to).digest("hex") === object;
}

/** @param {Repository} repository @param {string} root @param {Change[]} changes @returns {Promise<Set<string>>} names of what the landing has written */
async function writtenOf(repository, root, changes) {
  /** @type {Set<string>} */
  const written = new Set();
  /** @type {(Change & {size: number})[]} */
  const files = [];
  for (const change of changes) {
    const { path: name, kind, mode } = change;
    if (kind === "D" || mode === SUBMODULE || (await isElsewhere(root, name))) continue;
    const stat = await statOf(root, name);
    if (mode === LINK) {
      if (stat?.isSymbolicLink() && (await isSameLink(repository, root, change))) written.add(name);
    } else if (stat?.isFile()) {
      if (stat.size === 0) written.add(name);
      else files.push({ ...change, size: stat.size });
    }
  }
  const names = files.map((file) => file.path);
  const objects = await objectsOf(repository, root, names);
  for (const [at, file] of files.entries()) {
    const isWhole = objects[at] === file.object;
    if (isWhole || (await isBeginning(repository, root, file))) written.add(file.path);
  }
  return written;
}

/** Folders that are empty now. @param {string} root @param {string} name of a file that is gone */
async function removeFolders(root, name) {
  for (let at = path.posix.dirname(name); at !== "."; at = path.posix.dirname(at)) {
    const isGone = await fs.rmdir(placeOf(root, at)).then(
      () => true,
      () => false,
    );
    if (!isGone) return;
  }
}

/** Git has written its new index, but not moved the branch. @param {Repository} repository @param {string} root @param {string} from @param {string} to */
async function takeBackIndex(repository, root, from, to) {
  const where = { cwd: root, env: stayIn(root) };
  const args = ["diff-index", "--cached", "--quiet", to];
  const { code } = await repository.ask(args, { ...where, codes: [0, 1] });
  if (code === 0) await repository.change(["read-tree", "-m", from], where);
}

/** @param {Repository} repository @param {string} root */
async function changedIn(repository, root) {
  const args = ["diff-files", "--name-only", "-z", "--ignore-submodules=dirty"];
  return new Set((await repository.ask(args, within(root))).stdout.split("\0"));
}

/**
 * @param {Repository} repository
 * @param {{path: string, from: string, to: string, had: string[]}} what had: files that stay
 */
export async function takeBack(repository, { path: place, from, to, had }) {
  const root = await fs.realpath(place);
  await takeBackIndex(repository, root, from, to);
  const changed = await changedIn(repository, root);
  const before = new Set(had);
  const changes = (await changesBetween(repository, from, to, "latin1")).filter(
    ({ path: name, kind }) => (kind === "A" ? !before.has(name) : changed.has(name)),
  );
  const written = await writtenOf(repository, root, changes);
  for (const { path: name, kind } of changes) {
    if (kind !== "A" || !written.has(name)) continue;
    await fs.rm(placeOf(root, name), { force: true });
    await removeFolders(root, name);
  }
  /** What was in the place of a new file has room again. */
  let old = "";
  for (const { path: name, kind } of changes) {
    if (kind === "A") continue;
    const isGone = !(await isElsewhere(root, name)) && !(await statOf(root, name));
    if (isGone || written.has(name)) old += `${name}\0`;
  }
  if (old === "") return;
  const limits = { ...within(root), input: Buffer.from(old, "latin1") };
  await repository.change(["checkout-index", "--force", "--index", "-z", "--stdin"], limits);
}
