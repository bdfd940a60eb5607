// Attributes (merge drivers, line ends) for merges without a checkout: those of the commit that is merged into, as
// `git merge` would see them, and not those that lie in the user's checkout. git reads them from files only, so there
// is a folder with these files and nothing else, which git takes for the checkout.

import { createHash } from "node:crypto";
import fs from "node:fs/promises";
import path from "node:path";
import { exists } from "./regular-file.mjs";

const MOST_KNOWN = 200;

/** @typedef {import("./repository.mjs").Repository} Repository */
/** @typedef {{cwd: string, env: Record<string, string>}} View for git */

/** @type {WeakMap<Repository, Map<string, Promise<View>>>} */
const known = new WeakMap();

/** @param {Repository} repository @param {string} commit @returns {Promise<string>} the entries of its files of attributes, for an index */
async function entriesOf(repository, commit) {
  const empty = (await repository.ask(["hash-object", "-t", "tree", "--stdin"])).stdout.trim();
  const flags = ["-r", "-z", "--raw", "--no-renames", "--no-abbrev"];
  const args = ["diff-tree", ...flags, empty, commit, "--", ":(glob)**/.gitattributes"];
  const { stdout } = await repository.ask(args);
  const entries = stdout.matchAll(/:\d+ (100\d+) \S+ (\S+) [A-Z]\0([^\0]+)\0/g);
  return [...entries].map(([, mode, object, name]) => `${mode} ${object}\t${name}\0`).join("");
}

/** @param {Repository} repository @param {string} folder that does not exist @param {string} entries */
async function writeFiles(repository, folder, entries) {
  const made = `${folder}-${process.pid}-${Math.random().toString(36).slice(2)}`;
  await fs.mkdir(made);
  const env = {
    GIT_DIR: repository.commonDir,
    GIT_WORK_TREE: made,
    GIT_INDEX_FILE: `${made}.index`,
  };
  try {
    if (entries !== "") {
      const add = ["update-index", "--add", "-z", "--index-info"];
      await repository.change(add, { cwd: made, env, input: entries });
      await repository.change(["checkout-index", "--all", "--quiet"], { cwd: made, env });
    }
    await fs.rename(made, folder);
  } catch (error) {
    // Another call was faster.
    if (!["ENOTEMPTY", "EEXIST", "EPERM"].includes(/** @type {any} */ (error).code)) throw error;
  } finally {
    await fs.rm(`${made}.index`, { force: true });
    await fs.rm(made, { recursive: true, force: true });
  }
}

/** @param {Repository} repository @param {string} commit @returns {Promise<View>} */
async function makeView(repository, commit) {
  const entries = await entriesOf(repository, commit);
  const key = createHash("sha256").update(entries).digest("hex").slice(0, 32);
  const folder = path.join(await repository.ownFolder(), `attributes-${key}`);
  if (!(await exists(folder))) await writeFiles(repository, folder, entries);
  return { cwd: folder, env: { GIT_DIR: repository.commonDir, GIT_WORK_TREE: folder } };
}

/** @param {Repository} repository @param {string} commit @returns {Promise<View>} */
export function attributesOf(repository, commit) {
  const views = known.get(repository) ?? new Map();
  known.set(repository, views);
  const there = views.get(commit);
  if (there) return there;
  const made = makeView(repository, commit);
  views.set(commit, made);
  made.catch(() => views.delete(commit));
  if (views.size > MOST_KNOWN) views.delete(views.keys().next().value);
  return made;
}
