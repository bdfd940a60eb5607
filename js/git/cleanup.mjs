// Removes a worktree, if tap made it and no process uses it, after a snapshot of its contents. A removal that fails
// returns the reason.

import fs from "node:fs/promises";
import path from "node:path";
import { withLock } from "../lib/keyed-mutex.mjs";
import { deleteFolder } from "../process/run.mjs";
import {
  archiveCommit,
  archiveTree,
  chooseIgnored,
  snapshotContents,
  writeTree,
} from "./archive.mjs";
import { resolveGitDir } from "./checkouts.mjs";
import { GitError } from "./errors.mjs";
import { checkId, checkNonce } from "./git.mjs";
import { importObjects, removeStore } from "./private-store.mjs";
import { processesUsing } from "./processes.mjs";
import { entryExists, switchOffFilters } from "./repository.mjs";
import {
  adminsFolder,
  findAdmin,
  isOwnedByOther,
  listAdmins,
  mainRoot,
  readHeads,
  readNonce,
  readWorktreeFolder,
} from "./worktree-admin.mjs";
import { asidePath, defaultFolder, hasSubmodules, restoreAside, Worktrees } from "./worktrees.mjs";

/** @typedef {import("./repository.mjs").Repository} Repository */

/** Folders with this prefix are archived and wait for deletion. */
const TRASH_PREFIX = ".removed-";
const TRASH_NAME = /^\.removed-(\w+)-/;
/** Folders with this name (asidePath of worktrees) may not be archived yet. */
const ASIDE_NAME = /^\.aside-(\w+)-/;

/**
 * The caller's record of a worktree.
 * @typedef {object} WorktreeRecord
 * @property {string} plan
 * @property {string} node
 * @property {string} path
 * @property {string} nonce
 * @property {string} [commit] where it started
 * @property {string[]} [known] commits that are known to have refs
 *
 * @typedef {import("./archive.mjs").Archive} Archive
 *
 * @typedef {object} Removal
 * @property {boolean} removed
 * @property {Archive} [kept] the snapshot
 * @property {string[]} [omitted] ignored files and folders that are too large to be kept
 * @property {string} [code] why it was not removed
 * @property {string} [message]
 * @property {import("./processes.mjs").FolderProcess[]} [holders]
 */

/** @param {string} code @param {string} message @param {Partial<Removal>} [rest] @returns {Removal} */
export const notRemoved = (code, message, rest) => ({ removed: false, code, message, ...rest });

/** @param {string} place @param {import("./processes.mjs").FolderProcess[]} holders */
export function inUseBy(place, holders) {
  const names = holders.map(({ pid, name }) => `${pid} (${name})`).join(", ");
  const text = `"${place}" stays: process ${names} works in it. End it first.`;
  return notRemoved("HELD", text, { holders });
}

/** @param {unknown} error @param {string} place @returns {Removal} */
export function toNotRemoved(error, place) {
  if (error instanceof GitError) {
    return notRemoved(error.code, `"${place}" stays: ${error.message}`);
  }
  const { code = "", message } = /** @type {NodeJS.ErrnoException} */ (error);
  const isHeld = ["EBUSY", "EPERM", "EACCES", "ENOTEMPTY"].includes(code);
  return notRemoved(isHeld ? "HELD" : "FAILED", `"${place}" stays: ${message}`);
}

/** @param {string} folder @param {WorktreeRecord} record */
const trashPath = (folder, record) =>
  path.join(folder, `${TRASH_PREFIX}${record.nonce}-${path.basename(record.path)}`);

/** Git may have been killed between moving a worktree and storing its new path. @param {Worktrees} worktrees @param {string} place @param {string} nonce */
async function finishMove({ repository }, place, nonce) {
  const admin = await resolveGitDir(place).catch(() => undefined);
  if (admin === undefined || path.dirname(admin) !== adminsFolder(repository)) return;
  const known = await readWorktreeFolder(admin);
  if (known === "" || known === place || (await readNonce(admin)) !== nonce) return;
  if (!(await entryExists(known)))
    await fs.writeFile(path.join(admin, "gitdir"), `${place}/.git\n`);
}

/**
 * After a crash: the records with a folder, a folder of an interrupted removal, or a registration in git.
 * REQUIRES: no other code changes the plan's worktrees meanwhile.
 * @template {WorktreeRecord} R
 * @param {Worktrees} worktrees @param {{plan: string, nonce: string}} of @param {R[]} records
 * @returns {Promise<R[]>}
 */
export async function findLeftovers(worktrees, { plan, nonce }, records) {
  const folder = await worktrees.folder();
  const names = new Set(await fs.readdir(folder));
  for (const name of names) {
    if (name.startsWith(`${plan}-`)) await finishMove(worktrees, path.join(folder, name), nonce);
  }
  const known = new Set(
    await Promise.all((await listAdmins(worktrees.repository)).map(readWorktreeFolder)),
  );
  return records.filter(
    (record) =>
      names.has(path.basename(record.path)) ||
      names.has(path.basename(trashPath(folder, record))) ||
      names.has(path.basename(asidePath(record.path, record.nonce))) ||
      known.has(record.path),
  );
}

/**
 * @param {Worktrees} worktrees @param {WorktreeRecord} record
 * @param {{signal?: AbortSignal, why?: string, isAsked?: boolean}} [options] isAsked: as of chooseIgnored
 * @returns {Promise<Removal>} a second time: removed
 */
export async function removeWorktree(worktrees, record, { why = "removed", ...options } = {}) {
  checkId(record.plan, "plan");
  checkId(record.node, "node");
  checkNonce(record.nonce);
  const folder = await worktrees.folder();
  const outside = path.dirname(record.path) !== folder;
  if (outside) return notRemoved("NOT_OURS", `"${record.path}" is not in "${folder}".`);
  const remove = () => removeUnderLock(worktrees, folder, record, { ...options, why });
  return withLock(`remove ${record.path}`, remove).catch((error) =>
    toNotRemoved(error, record.path),
  );
}

/** @param {Worktrees} worktrees @param {string} folder @param {WorktreeRecord} record @param {import("./archive.mjs").SnapshotOptions} options @returns {Promise<Removal>} */
async function removeUnderLock(worktrees, folder, record, options) {
  const { repository } = worktrees;
  const trash = trashPath(folder, record);
  await deleteFolder(trash);
  const admin = await findAdmin(repository, record.path);
  const isOurs = admin !== undefined && (await readNonce(admin)) === record.nonce;
  if (isOurs) await restoreAside(record.path, record.nonce);
  const there = await entryExists(record.path);
  if ((there || admin) && !isOurs) {
    return notRemoved("NOT_OURS", `"${record.path}" stays: tap has not made it for this plan.`);
  }
  const left = await keepAside(worktrees, record);
  if (!admin) return { removed: true, ...left };
  const place = { ...record, admin };
  if (there) return { ...left, ...(await snapshotAndRemove(worktrees, place, trash, options)) };
  let kept;
  const unknown = (await readHeads(admin)).filter((head) => !record.known?.includes(head));
  for (const head of unknown) {
    await importObjects(repository, place, [head]);
    const refs = ["for-each-ref", "--count=1", "--contains", head];
    const { code, stdout } = await repository.query(refs, { codes: [0, 129] });
    if (code !== 0 || stdout !== "") continue; // no commit, or not lost
    kept = await archiveCommit(repository, record, head, "the folder was gone");
  }
  await unregister(repository, place);
  return { removed: true, ...left, ...(kept && { kept }) };
}

/** Archives the folder of an interrupted removal that git no longer knows. @param {Worktrees} worktrees @param {WorktreeRecord} record */
async function keepAside(worktrees, { path: place, nonce, plan, node }) {
  const aside = asidePath(place, nonce);
  if (!(await entryExists(aside))) return {};
  const { kept } = await snapshotFolder(worktrees, aside, { plan, node });
  await deleteFolder(aside);
  return kept ? { kept } : {};
}

/** @typedef {WorktreeRecord & {admin: string}} Placed */

/** @param {Worktrees} worktrees @param {Placed} place @param {string} trash @param {import("./archive.mjs").SnapshotOptions} options @returns {Promise<Removal>} */
async function snapshotAndRemove({ repository }, place, trash, options) {
  if ((await fs.lstat(place.path)).isSymbolicLink()) {
    return notRemoved("NOT_OURS", `"${place.path}" stays: it is a link.`);
  }
  const holders = (await processesUsing(place.path)) ?? [];
  if (holders.length > 0) return inUseBy(place.path, holders);
  const aside = asidePath(place.path, place.nonce);
  // Submodules find each other by the name of the folder.
  const early = (await hasSubmodules(place.path))
    ? await snapshotContents(repository, place, options)
    : undefined;
  await fs.rename(place.path, aside);
  let snapshot = early;
  try {
    const late = (await processesUsing(aside)) ?? [];
    if (late.length > 0) {
      await fs.rename(aside, place.path);
      return inUseBy(place.path, late);
    }
    snapshot ??= await snapshotContents(repository, { ...place, path: aside }, options);
  } catch (error) {
    await fs.rename(aside, place.path);
    throw error;
  }
  await fs.rename(aside, trash);
  await unregister(repository, place);
  await deleteFolder(trash);
  const { kept, omitted } = snapshot;
  return { removed: true, ...(kept && { kept }), ...(omitted.length > 0 && { omitted }) };
}

/** As `git worktree remove` does it. @param {Repository} repository @param {{admin: string}} place whose folder is gone */
async function unregister(repository, { admin }) {
  await removeStore(admin); // first: the store is found through git's own folder
  await withLock(repository.commonDir, async () => {
    await fs.rm(admin, { recursive: true, force: true });
    await fs.rmdir(adminsFolder(repository)).catch(() => {}); // others are in it
  });
}

/**
 * Checkouts for checks of a plan that still exist, also under the name of an interrupted removal.
 * @param {Worktrees} worktrees @param {string} plan @returns {Promise<{node: string, attempt: number, path: string}[]>}
 */
export async function findCheckouts(worktrees, plan) {
  const folder = await worktrees.folder();
  const found = new Map();
  for (const entry of await fs.readdir(folder)) {
    const name = entry.replace(TRASH_NAME, "").replace(ASIDE_NAME, "");
    const [, node, attempt] = /-(.+)-(\d+)-checks$/.exec(name.slice(plan.length)) ?? [];
    if (!name.startsWith(`${plan}-`) || node === undefined) continue;
    found.set(name, { node, attempt: Number(attempt), path: path.join(folder, name) });
  }
  return [...found.values()];
}

// Orphans: folders among the worktrees that are unknown to git or to every plan. tap reports them, and removes a
// single folder on request.

const MAX_FILES = 500_000;
/** The plan name in snapshots of folders without a plan. */
const ORPHANS = "orphans";

/**
 * @typedef {object} Orphan
 * @property {string} path
 * @property {"unregistered" | "forgotten" | "removed"} kind git does not know it; tap made it for a plan that is not
 *   known; a removal was interrupted after the snapshot
 */

/**
 * @param {Worktrees} worktrees
 * @param {{paths: Iterable<string>, nonces: Iterable<string>}} known from the records of plans
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
    const kind = await classifyFolder(worktrees, place, nonces);
    if (kind) found.push({ path: place, kind });
  }
  return found;
}

/** @param {Worktrees} worktrees @param {string} place @param {Set<string>} nonces @returns {Promise<Orphan["kind"] | undefined>} */
async function classifyFolder({ repository }, place, nonces) {
  const [, trash] = TRASH_NAME.exec(path.basename(place)) ?? [];
  if (trash !== undefined) return nonces.has(trash) ? undefined : "removed";
  const [, aside] = ASIDE_NAME.exec(path.basename(place)) ?? [];
  if (aside !== undefined) return nonces.has(aside) ? undefined : "unregistered";
  const admin = await findAdmin(repository, place);
  if (admin === undefined) return "unregistered";
  const nonce = await readNonce(admin);
  // The user made this worktree.
  if (nonce === "" || nonces.has(nonce)) return undefined;
  return (await isOwnedByOther(admin, repository.owner)) ? undefined : "forgotten";
}

/** A name for the snapshot. @param {string} place */
const toNodeId = (place) =>
  path
    .basename(place)
    .replace(/[^a-zA-Z0-9_-]/g, "_")
    .slice(0, 64);

/**
 * Removes it after a snapshot at refs/tap/kept/orphans/<name>.
 * @param {Worktrees} worktrees @param {{path: string}} orphan
 * @param {{nonces: Iterable<string>}} known from the records of plans
 * @returns {Promise<Removal>}
 */
export async function removeOrphan(worktrees, { path: place }, { nonces }) {
  const folder = await worktrees.folder();
  if (path.dirname(place) !== folder)
    return notRemoved("NOT_OURS", `"${place}" is not in "${folder}".`);
  try {
    const kind = await classifyFolder(worktrees, place, new Set(nonces));
    if (kind === undefined)
      return notRemoved(
        "NOT_OURS",
        `"${place}" stays: tap did not make this worktree, or a plan uses it.`,
      );
    if (kind === "forgotten") return await removeForgotten(worktrees, place);
    const [, aside] = ASIDE_NAME.exec(path.basename(place)) ?? [];
    const wanted = path.join(folder, path.basename(place).replace(ASIDE_NAME, ""));
    const admin = aside && (await findAdmin(worktrees.repository, wanted));
    if (admin && (await readNonce(admin)) === aside)
      return await removeForgotten(worktrees, wanted);
    if ((await fs.lstat(place)).isSymbolicLink()) {
      return notRemoved("NOT_OURS", `"${place}" stays: it is a link.`);
    }
    const holders = (await processesUsing(place)) ?? [];
    if (holders.length > 0) return inUseBy(place, holders);
    const of = { plan: ORPHANS, node: toNodeId(place) };
    const rest = kind === "removed" ? {} : await snapshotFolder(worktrees, place, of);
    await deleteFolder(place);
    return { removed: true, ...rest };
  } catch (error) {
    if (/** @type {any} */ (error).code === "ENOENT") return { removed: true };
    return toNotRemoved(error, place);
  }
}

/** @param {Worktrees} worktrees @param {string} place */
async function removeForgotten(worktrees, place) {
  const admin = await findAdmin(worktrees.repository, place);
  const nonce = admin ? await readNonce(admin) : "";
  const record = { plan: ORPHANS, node: toNodeId(place), path: place, nonce };
  return removeWorktree(worktrees, record, { why: "no plan knows it", isAsked: true });
}

/** A snapshot of a folder that git does not know, with its ignored files. @param {Worktrees} worktrees @param {string} place @param {{plan: string, node: string}} of */
async function snapshotFolder({ repository }, place, of) {
  const names = await fs.readdir(place);
  if (names.every((name) => name === ".git")) {
    const git = await fs.lstat(path.join(place, ".git")).catch(() => undefined);
    if (!git?.isDirectory()) return { omitted: [] };
  }
  if ((await fs.lstat(path.join(place, ".git")).catch(() => undefined))?.isDirectory()) {
    throw new GitError(
      "NESTED_REPOSITORY",
      "it is a separate repository. Move it to a different folder.",
    );
  }
  const index = path.join(await repository.ownFolder(), `orphan-${of.node}-${process.pid}`);
  await fs.rm(index, { force: true });
  const folders = { GIT_DIR: repository.commonDir, GIT_WORK_TREE: place };
  const off = await switchOffFilters(repository);
  const where = { cwd: place, env: { ...off, ...folders, GIT_INDEX_FILE: index } };
  try {
    const flags = ["--others", "--ignored", "--exclude-standard", "--directory", "-z"];
    const { stdout } = await repository.query(["ls-files", ...flags], where);
    const ignored = stdout.split("\0").filter(Boolean);
    const { files, omitted } = await chooseIgnored(place, ignored, { isAsked: true });
    const tree = await writeTree(repository, where, { without: [], files });
    const links = await repository.query(["ls-tree", "-r", "-z", tree]);
    const [, nested] = /(?:^|\0)160000 [^\t]*\t([^\0]*)/.exec(links.stdout) ?? [];
    if (nested !== undefined) {
      throw new GitError(
        "NESTED_REPOSITORY",
        `"${nested}" in it is a separate repository. Move it to a different folder.`,
      );
    }
    return {
      kept: await archiveTree(repository, of, tree, [], "git did not know the folder"),
      omitted,
    };
  } finally {
    await fs.rm(index, { force: true });
  }
}

/** @param {string} folder @param {number} [most] files that are counted @returns {Promise<{bytes: number, complete: boolean}>} on the disk */
export async function diskUse(folder, most = MAX_FILES) {
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

// Searches the orphans of a repository while plans work. A folder that a plan has just made is not an orphan.

/** For an estimated size. */
const MAX_ESTIMATE_FILES = 20_000;
/** The id of the plan in a folder's name, also while the folder waits for deletion. */
const OF_PLAN = /^(?:\.(?:removed|aside)-\w+-)?(p[a-z0-9]{8})-/;

/** @typedef {{path: string, nonce: string}} WorktreeMark */
/**
 * The recorded worktrees of a plan; "live": the plan has not ended and makes more; undefined: the plan is not known.
 * @typedef {(planId: string) => Promise<WorktreeMark[] | "live" | undefined>} FindMarks
 */
/** @typedef {Orphan & {bytes: number, complete: boolean}} SizedOrphan */

/** @param {Repository} repository @returns {Promise<{folder: string, beside: boolean}[]>} its folders of worktrees */
async function listWorktreeFolders(repository) {
  const root = await mainRoot(repository);
  const places = [];
  for (const beside of [false, true]) {
    const place = defaultFolder(root, beside);
    const folder = await fs.realpath(place).catch(() => "");
    // A link in the repository may lead to folders that are not tap's.
    if (folder !== "" && (beside || folder === place)) places.push({ folder, beside });
  }
  return places;
}

/** @param {string} folder @param {string[]} names @param {FindMarks} recordedOf */
async function collectMarks(folder, names, recordedOf) {
  /** @type {{paths: string[], nonces: string[]}} */
  const known = { paths: [], nonces: [] };
  for (const name of names) {
    const plan = OF_PLAN.exec(name)?.[1];
    const recorded = plan && (await recordedOf(plan));
    if (!recorded) continue;
    if (recorded === "live") known.paths.push(path.join(folder, name));
    else {
      known.paths.push(...recorded.map((mark) => mark.path));
      known.nonces.push(...recorded.map(({ nonce }) => nonce));
    }
  }
  return known;
}

/**
 * @param {Repository} repository @param {FindMarks} recordedOf
 * @param {{sizes?: boolean}} [options] sizes: with the size of each on the disk
 * @returns {Promise<SizedOrphan[]>}
 */
export async function searchOrphans(repository, recordedOf, { sizes = true } = {}) {
  const found = [];
  for (const place of await listWorktreeFolders(repository)) {
    found.push(...(await searchFolder(repository, place, recordedOf, sizes)));
  }
  return found;
}

/**
 * @param {Repository} repository @param {{folder: string, beside: boolean}} at @param {FindMarks} recordedOf
 * @param {boolean} sizes @returns {Promise<SizedOrphan[]>}
 */
async function searchFolder(repository, { folder, beside }, recordedOf, sizes) {
  const worktrees = new Worktrees(repository, { beside });
  const look = async () => {
    const known = await collectMarks(folder, await fs.readdir(folder), recordedOf);
    return findOrphans(worktrees, known);
  };
  const first = await look();
  if (first.length === 0) return [];
  // A plan records a worktree before it makes it, so the second search knows folders that were new to the first.
  const second = new Map((await look()).map((orphan) => [orphan.path, orphan]));
  const found = [];
  for (const { path: place } of first) {
    const orphan = second.get(place);
    if (!orphan) continue;
    const use = sizes ? await diskUse(place) : { bytes: 0, complete: false };
    found.push({ ...orphan, ...use });
  }
  return found;
}

/**
 * Removes an orphan that searchOrphans found, after checking again that it is an orphan.
 * @param {Repository} repository @param {string} place @param {FindMarks} recordedOf
 * @returns {Promise<Removal>}
 */
export async function cleanOrphan(repository, place, recordedOf) {
  const at = (await listWorktreeFolders(repository)).find(
    ({ folder }) => path.dirname(place) === folder,
  );
  if (at === undefined) {
    return notRemoved("NOT_OURS", `"${place}" is not among the worktrees of this repository.`);
  }
  const known = await collectMarks(at.folder, [path.basename(place)], recordedOf);
  if (known.paths.includes(place)) {
    return notRemoved("NOT_OURS", `"${place}" stays: a plan has it.`);
  }
  return removeOrphan(new Worktrees(repository, at), { path: place }, known);
}

/** The size of all worktree folders; `complete` is false if there are too many files. @param {Repository} repository */
export async function worktreeUse(repository) {
  const use = { worktrees: 0, bytes: 0, complete: true };
  for (const { folder } of await listWorktreeFolders(repository)) {
    const { bytes, complete } = await diskUse(folder, MAX_ESTIMATE_FILES);
    use.worktrees += (await fs.readdir(folder)).length;
    use.bytes += bytes;
    use.complete &&= complete;
  }
  return use;
}
