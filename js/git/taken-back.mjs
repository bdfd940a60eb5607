// Files of a checkout that a landing which was cut off has written: each that has what the new commit has, or the
// beginning of it, gets what the old commit has. A file with anything else is the user's.

import fs from "node:fs/promises";
import path from "node:path";
import { changesBetween } from "./changes.mjs";
import { statusOf, stayIn } from "./checkouts.mjs";

const SUBMODULE = "160000";
const LINK = "120000";
/** A longer one is not looked into, and stays. */
const MOST_FILE = 256 * 1024 * 1024;

/** @typedef {import("./repository.mjs").Repository} Repository */
/** @typedef {import("./changes.mjs").Change} Change */

/** @param {string} root @param {string} name @returns {Promise<boolean>} whether a link or a file is in the place of one of its folders */
async function isElsewhere(root, name) {
  for (let at = path.dirname(name); at !== "."; at = path.dirname(at)) {
    const stat = await fs.lstat(path.join(root, at)).catch(() => undefined);
    if (stat && !stat.isDirectory()) return true;
  }
  return false;
}

/** @param {Repository} repository @param {string} root @param {string} to @param {Change} change @param {import("node:fs").Stats} stat */
async function isOfLanding(repository, root, to, { path: name, mode }, stat) {
  if (mode === SUBMODULE || stat.size > MOST_FILE) return false;
  const isLink = stat.isSymbolicLink();
  if (isLink !== (mode === LINK) || !(isLink || stat.isFile())) return false;
  const flags = isLink ? ["blob"] : ["--filters"];
  const where = { encoding: /** @type {const} */ ("latin1"), network: true, env: stayIn(root) };
  const limits = { ...where, cwd: root, mostBytes: MOST_FILE };
  const { stdout } = await repository.ask(["cat-file", ...flags, `${to}:${name}`], limits);
  const file = path.join(root, name);
  if (isLink) return (await fs.readlink(file, "latin1")) === stdout;
  return stdout.startsWith(await fs.readFile(file, "latin1"));
}

/** Folders that are empty now. @param {string} root @param {string} name of a file that is gone */
async function removeFolders(root, name) {
  for (let at = path.dirname(name); at !== "."; at = path.dirname(at)) {
    const isGone = await fs.rmdir(path.join(root, at)).then(
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

/**
 * @param {Repository} repository
 * @param {{path: string, from: string, to: string, had: string[]}} what had: files that stay
 */
export async function takeBack(repository, { path: place, from, to, had }) {
  const root = await fs.realpath(place);
  await takeBackIndex(repository, root, from, to);
  const { tracked, cut } = await statusOf(repository, root, { untracked: "no" });
  const changed = new Set(tracked.map((entry) => entry.path));
  const before = new Set(had);
  const changes = (await changesBetween(repository, from, to)).filter(({ path: name, kind }) =>
    kind === "A" ? !before.has(name) : cut || changed.has(name),
  );
  const look = async (/** @type {Change} */ change) => {
    if (await isElsewhere(root, change.path)) return "elsewhere";
    const stat = await fs.lstat(path.join(root, change.path)).catch(() => undefined);
    if (!stat) return "gone";
    const isOurs = change.kind !== "D" && (await isOfLanding(repository, root, to, change, stat));
    return isOurs ? "ours" : "theirs";
  };
  for (const change of changes) {
    if (change.kind !== "A" || (await look(change)) !== "ours") continue;
    await fs.rm(path.join(root, change.path), { force: true });
    await removeFolders(root, change.path);
  }
  /** What was in the place of a new file has room again. @type {string[]} */
  const old = [];
  for (const change of changes) {
    if (change.kind === "A") continue;
    if (["gone", "ours"].includes(await look(change))) old.push(change.path);
  }
  if (old.length === 0) return;
  const input = old.map((name) => `${name}\0`).join("");
  const where = { cwd: root, env: stayIn(root), input, network: true, timeoutMs: 1_800_000 };
  await repository.change(["checkout-index", "--force", "--index", "-z", "--stdin"], where);
}
