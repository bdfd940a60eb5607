// Folders among the worktrees that belong to nobody: git does not know them, or no plan does. They are reported, and
// removed one at a time when somebody asks.

import fs from "node:fs/promises";
import path from "node:path";
import { GitError } from "./git-error.mjs";
import { holdersOf } from "./holders.mjs";
import { keepTree } from "./kept.mjs";
import { adminOf, isOfAnother, nonceOf } from "./ownership.mjs";
import { deleteFolder, heldBy, refusal, removeWorktree, stays } from "./removal.mjs";
import { chooseIgnored, writeTree } from "./snapshot.mjs";

const MOST_WALKED = 500_000;
/** Names of snapshots of what belongs to no plan. */
const ORPHANS = "orphans";

/** @typedef {import("./worktrees.mjs").Worktrees} Worktrees */

/**
 * @typedef {object} Orphan
 * @property {string} path
 * @property {"unregistered" | "forgotten" | "removed"} kind git does not know it; tap has made it for a plan that is
 *   not known; a removal was interrupted after everything was kept
 */

/**
 * @param {Worktrees} worktrees
 * @param {{paths: Iterable<string>, nonces: Iterable<string>}} known what plans have recorded
 * @returns {Promise<Orphan[]>}
 */
export async function findOrphans(worktrees, known) {
  const [paths, nonces] = [new Set(known.paths), new Set(known.nonces)];
  const folder = await worktrees.folder();
  /** @type {Orphan[]} */
  const found = [];
  for (const entry of await fs.readdir(folder, { withFileTypes: true })) {
    const place = path.join(folder, entry.name);
    if (paths.has(place) || !(entry.isDirectory() || entry.isSymbolicLink())) continue;
    const kind = await kindOf(worktrees, place, nonces);
    if (kind) found.push({ path: place, kind });
  }
  return found;
}

/** @param {Worktrees} worktrees @param {string} place @param {Set<string>} nonces @returns {Promise<Orphan["kind"] | undefined>} */
async function kindOf({ repository }, place, nonces) {
  const [, aside] = /^\.removed-(\w+)-/.exec(path.basename(place)) ?? [];
  if (aside !== undefined) return nonces.has(aside) ? undefined : "removed";
  const admin = await adminOf(repository, place);
  if (admin === undefined) return "unregistered";
  const nonce = await nonceOf(admin);
  // Somebody else's worktree is none of our business.
  if (nonce === "" || nonces.has(nonce)) return undefined;
  return (await isOfAnother(admin, repository.owner)) ? undefined : "forgotten";
}

/** A name for the snapshot. @param {string} place */
const nameOf = (place) =>
  path
    .basename(place)
    .replace(/[^a-zA-Z0-9_-]/g, "_")
    .slice(0, 64);

/**
 * After everything in it is kept at refs/tap/kept/orphans/<name>.
 * @param {Worktrees} worktrees @param {{path: string}} orphan
 * @param {{nonces: Iterable<string>}} known what plans have recorded
 * @returns {Promise<import("./removal.mjs").Removal>}
 */
export async function removeOrphan(worktrees, { path: place }, { nonces }) {
  const folder = await worktrees.folder();
  if (path.dirname(place) !== folder) return stays("NOT_OURS", `"${place}" is not in "${folder}".`);
  try {
    const kind = await kindOf(worktrees, place, new Set(nonces));
    if (kind === undefined)
      return stays("NOT_OURS", `"${place}" stays: it is somebody's worktree.`);
    if (kind === "forgotten") return await removeForgotten(worktrees, place);
    if ((await fs.lstat(place)).isSymbolicLink()) {
      return stays("NOT_OURS", `"${place}" stays: it is a link.`);
    }
    const holders = (await holdersOf(place)) ?? [];
    if (holders.length > 0) return heldBy(place, holders);
    const rest = kind === "removed" ? {} : await keepFolder(worktrees, place);
    await deleteFolder(place);
    return { removed: true, ...rest };
  } catch (error) {
    if (/** @type {any} */ (error).code === "ENOENT") return { removed: true };
    return refusal(error, place);
  }
}

/** @param {Worktrees} worktrees @param {string} place */
async function removeForgotten(worktrees, place) {
  const admin = await adminOf(worktrees.repository, place);
  const nonce = admin ? await nonceOf(admin) : "";
  const record = { plan: ORPHANS, node: nameOf(place), path: place, nonce };
  return removeWorktree(worktrees, record, { why: "no plan knows it" });
}

/** Of a folder that git does not know: all of it, ignored files too. @param {Worktrees} worktrees @param {string} place */
async function keepFolder({ repository }, place) {
  const names = await fs.readdir(place);
  if (names.every((name) => name === ".git")) {
    const git = await fs.lstat(path.join(place, ".git")).catch(() => undefined);
    if (!git?.isDirectory()) return { omitted: [] };
  }
  if ((await fs.lstat(path.join(place, ".git")).catch(() => undefined))?.isDirectory()) {
    throw new GitError("NESTED_REPOSITORY", "it is a repository of its own. Move it elsewhere.");
  }
  const of = { plan: ORPHANS, node: nameOf(place) };
  const index = path.join(await repository.ownFolder(), `orphan-${of.node}-${process.pid}`);
  await fs.rm(index, { force: true });
  const folders = { GIT_DIR: repository.commonDir, GIT_WORK_TREE: place };
  const where = { cwd: place, env: { ...folders, GIT_INDEX_FILE: index } };
  try {
    const flags = ["--others", "--ignored", "--exclude-standard", "--directory", "-z"];
    const { stdout } = await repository.ask(["ls-files", ...flags], where);
    const { files, omitted } = await chooseIgnored(place, stdout.split("\0").filter(Boolean));
    const tree = await writeTree(repository, where, { without: [], files });
    const links = await repository.ask(["ls-tree", "-r", "-z", tree]);
    const [, nested] = /(?:^|\0)160000 [^\t]*\t([^\0]*)/.exec(links.stdout) ?? [];
    if (nested !== undefined) {
      throw new GitError(
        "NESTED_REPOSITORY",
        `"${nested}" in it is a repository of its own. Move it elsewhere.`,
      );
    }
    return {
      kept: await keepTree(repository, of, tree, [], "git did not know the folder"),
      omitted,
    };
  } finally {
    await fs.rm(index, { force: true });
  }
}

/** @param {string} folder @param {number} [most] files that are looked at @returns {Promise<{bytes: number, complete: boolean}>} on the disk */
export async function diskUse(folder, most = MOST_WALKED) {
  let [bytes, left] = [0, most];
  const folders = [folder];
  for (let place = folders.pop(); place !== undefined && left > 0; place = folders.pop()) {
    for (const entry of await fs.readdir(place, { withFileTypes: true }).catch(() => [])) {
      const file = path.join(place, entry.name);
      const stat = await fs.lstat(file).catch(() => undefined);
      bytes += stat ? (stat.blocks === undefined ? stat.size : stat.blocks * 512) : 0;
      if (entry.isDirectory()) folders.push(file);
      left -= 1;
    }
  }
  return { bytes, complete: left > 0 };
}

/** @param {Worktrees} worktrees @param {string[]} paths @returns {Promise<{path: string, bytes: number, complete: boolean}[]>} */
export async function diskUses(worktrees, paths) {
  const folder = await worktrees.folder();
  const inside = paths.filter((place) => path.dirname(place) === folder);
  const uses = [];
  for (const place of inside) uses.push({ path: place, ...(await diskUse(place)) });
  return uses;
}
