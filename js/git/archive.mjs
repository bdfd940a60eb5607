// Snapshots of removed worktrees: a commit for each, under refs/tap/kept/<plan>/<node>. The previous snapshot of the
// node is a parent of the next, so that all stay reachable.

import fs from "node:fs/promises";
import path from "node:path";
import { isInside } from "../lib/paths.mjs";
import { formatPathspecs, listCheckouts, readStatus } from "./checkouts.mjs";
import {
  hasSetupFiles,
  NOT_SPARSE,
  readSetupIgnored,
  withIndexCopy,
  withWorkIndex,
} from "./commit-work.mjs";
import { probeSandbox } from "../process/sandbox-probe.mjs";
import { GitError } from "./errors.mjs";
import { checkId, isCommit } from "./git.mjs";
import { ALL_REFS, gitFolder, importObjects } from "./private-store.mjs";
import {
  archiveRef,
  ARCHIVES,
  branchRef,
  deletionRef,
  DELETIONS,
  expireRefs,
  moveRefs,
  planRefs,
  readRefs,
  resolveRefs,
} from "./refs.mjs";
import { entryExists, readRegular, switchOffFilters } from "./repository.mjs";
import {
  adoptPersonsChanges,
  readCopiedPaths,
  readHolder,
  resolveHead,
  worktreeOptions,
} from "./worktree-admin.mjs";
import { clearIndexFlags } from "./worktree-status.mjs";

/** @typedef {import("./repository.mjs").Repository} Repository */
/** @typedef {import("./worktrees.mjs").Worktree} Worktree */

export const ARCHIVE_MS = 30 * 24 * 3600 * 1000;
const TRIES = 5;

/** @typedef {{plan: string, node: string}} Of */

/**
 * @param {Repository} repository @param {Of} of
 * @param {(earlier: string[]) => Promise<string>} make a commit that has `earlier` as parents
 * @returns {Promise<{ref: string, commit: string}>}
 */
async function updateArchive(repository, { plan, node }, make) {
  const ref = archiveRef(plan, node);
  for (let left = TRIES; left > 0; --left) {
    const [earlier] = await resolveRefs(repository, [ref]);
    const commit = await make(earlier ? [earlier] : []);
    if (earlier === commit) return { ref, commit };
    if (await moveRefs(repository, [{ ref, from: earlier, to: commit }])) return { ref, commit };
  }
  throw new GitError(
    "REF_CHANGED",
    `"${ref}" was changed by other programs in each of ${TRIES} attempts. Try again.`,
  );
}

/**
 * @param {Repository} repository @param {Of} of @param {string} tree
 * @param {string[]} parents @param {string} why
 */
export function archiveTree(repository, of, tree, parents, why) {
  return updateArchive(repository, of, async (earlier) => {
    const all = [...new Set([...parents, ...earlier])].flatMap((parent) => ["-p", parent]);
    const input = `Snapshot of ${of.plan}/${of.node}: ${why}\n`;
    const { stdout } = await repository.change(["commit-tree", ...all, tree], { input });
    return stdout.trim();
  });
}

/** A commit that no ref has. @param {Repository} repository @param {Of} of @param {string} commit @param {string} why */
export const archiveCommit = (repository, of, commit, why) =>
  archiveTree(repository, of, `${commit}^{tree}`, [commit], why);

/**
 * @param {Repository} repository @param {string} [plan]
 * @returns {Promise<{ref: string, plan: string, node: string, commit: string, at: number}[]>}
 */
export async function listArchives(repository, plan) {
  const below = plan === undefined ? ARCHIVES : `${ARCHIVES}/${checkId(plan, "plan")}`;
  return (await readRefs(repository, [below])).map(({ ref, commit, at }) => {
    const [of = "", node = ""] = ref.slice(ARCHIVES.length + 1).split("/");
    return { ref, plan: of, node, commit, at };
  });
}

/** @param {Repository} repository @param {{now: number, ms?: number}} when */
export const expireArchives = (repository, { now, ms = ARCHIVE_MS }) =>
  expireRefs(repository, ARCHIVES, now - ms);

/** Files may be written by a filter of the user's. @param {Repository} repository @param {string} cwd @param {Record<string, string>} env names the folders */
async function writeFiles(repository, cwd, env) {
  const args = ["checkout-index", "--all", "--quiet"];
  const { state } = await probeSandbox({ env: repository.git.env });
  if (state !== "ok" || path.dirname(cwd) === "/") {
    const off = await switchOffFilters(repository);
    await repository.change(args, { cwd, env: { ...off, ...env }, lasting: true });
    return;
  }
  const { root: checkout, commonDir: common } = repository;
  const noFolders = { writable: [], readable: [], caches: [], hosts: [] };
  const folders = { checkout, common, admin: common };
  const sandbox = { cwd, repository: folders, ...noFolders, sandbox: /** @type {const} */ ("on") };
  await repository.change(args, { cwd, env, lasting: true, sandbox });
}

/** @param {Repository} repository @param {Of} of @returns {Promise<string>} its commit */
async function requireArchive(repository, { plan, node }) {
  const [commit] = await resolveRefs(repository, [archiveRef(plan, node)]);
  if (commit !== undefined) return commit;
  throw new GitError("NOTHING_KEPT", `There is no snapshot of node "${node}" of plan "${plan}".`);
}

/**
 * The files of a snapshot, in a folder that is not there yet or is empty. No worktree: git does not know it.
 * @param {Repository} repository @param {Of} of @param {string} folder absolute
 * @returns {Promise<{commit: string}>}
 */
export async function extractArchive(repository, { plan, node }, folder) {
  const commit = await requireArchive(repository, { plan, node });
  if (!path.isAbsolute(folder))
    throw new GitError("INVALID", `"${folder}" is not an absolute path.`);
  const names = await fs.readdir(folder).catch(() => []);
  if (names.length > 0) {
    throw new GitError("EXISTS", `"${folder}" is not empty. Name another folder.`, {
      path: folder,
    });
  }
  await fs.mkdir(folder, { recursive: true });
  const place = await fs.realpath(folder);
  const index = path.join(await repository.ownFolder(), `restore-${plan}-${node}-${process.pid}`);
  const env = { GIT_INDEX_FILE: index, GIT_DIR: repository.commonDir, GIT_WORK_TREE: place };
  try {
    await repository.change(["read-tree", commit], { cwd: place, env });
    await writeFiles(repository, place, env);
  } finally {
    await fs.rm(index, { force: true });
  }
  return { commit };
}

// The commits that a worktree has had checked out: the log of its HEAD.

const MAX_LOG_BYTES = 64 * 1024 * 1024;
const MAX_LOG_ENTRIES = 500;
const MAX_LOG_TAIL = 1024 * 1024;

/** From the file: a git in the sandbox takes longer. @param {string} admin git's folder of the worktree @returns {Promise<string[]>} the latest at the end */
async function readReflog(admin) {
  const file = path.join(gitFolder(admin), "logs", "HEAD");
  const text = await readRegular(file, MAX_LOG_BYTES).catch(() => "");
  const lines = text.slice(-MAX_LOG_TAIL).split("\n"); // a program may have filled it with lines
  const commits = lines.slice(-MAX_LOG_ENTRIES - 1).map((line) => line.split(" ")[1]);
  return commits.filter((commit) => isCommit(commit) && !/^0+$/.test(commit));
}

// A commit of all files of a worktree: changed, new and, up to a size, ignored files. The worktree itself and its HEAD
// are not changed.

/** Ignored files beyond this size are usually built or installed, and can be made again. */
const MAX_IGNORED_BYTES = 16 * 1024 * 1024;
const MAX_IGNORED_FILES = 2000;

/** @typedef {{path: string, admin: string, plan: string, node: string, commit?: string}} Place commit: where it started */

/**
 * @typedef {object} Contents
 * @property {string} head the commit that is checked out; "" without a commit
 * @property {boolean} dirty files differ from `head`
 * @property {boolean} changed files differ from the state that the setup left
 * @property {string[]} ignored files and folders; folders end with a /
 * @property {string[]} lost commits that are reachable from no ref, `head` among them
 * @property {string[]} brought paths that were copied from the user's checkout; they are not part of the work
 */

/**
 * Commits that are reachable from no ref: HEAD, and commits in the worktree's own reflog, left by a reset or a
 * checkout.
 * @param {Repository} repository @param {Place} place @param {string} head @param {Set<string>} known
 * @param {string} [but] a ref that does not count
 * @returns {Promise<string[]>} the latest at the end
 */
async function findUnreferencedCommits(repository, place, head, known, but = "") {
  const all = new Set([...(await readReflog(place.admin)), head]);
  const unknown = [...all].filter(
    (commit) => isCommit(commit) && !/^0+$/.test(commit) && !known.has(commit),
  );
  if (unknown.length === 0) return [];
  const refs = ALL_REFS.flatMap((ref) => [`--exclude=${but}`, ref]);
  const args = ["rev-list", "--ignore-missing", "--stdin", "--not", ...refs];
  const input = [...unknown, ...[...known].map((commit) => `^${commit}`)].join("\n");
  const { stdout } = await repository.query(args, {
    ...worktreeOptions(place),
    input: `${input}\n`,
  });
  const found = new Set(stdout.split("\n"));
  return unknown.filter((commit) => found.has(commit));
}

/**
 * @param {Repository} repository @param {Place} place
 * @param {string[]} known commits that have refs @param {AbortSignal} [signal]
 * @returns {Promise<Contents>}
 * @throws {GitError} SUBMODULE: changes in a submodule cannot be part of a snapshot
 */
export async function inspectWorktree(repository, place, known, signal) {
  await adoptPersonsChanges(repository, place);
  await clearIndexFlags(repository, place);
  const brought = await readCopiedPaths(place.admin);
  const look = {
    signal,
    ignored: true,
    without: brought,
    reading: false,
    ...worktreeOptions(place),
  };
  const { entries } = await readStatus(repository, place.path, look);
  const ignored = entries.filter(({ state }) => state === "!!").map((entry) => entry.path);
  const rest = entries.filter(({ state }) => state !== "!!");
  const inner = rest.find(({ submodule }) => /[cmu]/.test(submodule));
  if (inner) throw submoduleError(`The submodule "${inner.path}" has changes`);
  await checkSubmodules(repository, place);
  const head = await resolveHead(repository, place);
  const lost = await findUnreferencedCommits(repository, place, head, new Set(known));
  const dirty = rest.length > 0;
  const changed = dirty && (await isBeyondSetup(repository, place, head, signal));
  return { head, dirty, changed, ignored, lost, brought };
}

/** @param {Repository} repository @param {Place} place @param {string} head @param {AbortSignal} [signal] */
async function isBeyondSetup(repository, { commit, ...place }, head, signal) {
  if (commit === undefined || head === "" || !(await hasSetupFiles(place.admin))) return true;
  const args = ["diff-index", "--cached", "--quiet", head];
  const how = { signal, without: [] };
  return withWorkIndex(repository, { ...place, commit }, how, async (where) => {
    return (await repository.query(args, { ...where, codes: [0, 1] })).code === 1;
  });
}

/** @param {string} problem */
const submoduleError = (problem) =>
  new GitError("SUBMODULE", `${problem} that a snapshot cannot contain. Push or copy them first.`);

/** @param {string} folder of submodules @returns {Promise<string[]>} git's folders in it, by their paths from there */
async function listModules(folder) {
  const names = await fs.readdir(folder).catch(() => []);
  const found = names.map(async (name) => {
    const place = path.join(folder, name);
    if (!(await fs.lstat(place)).isDirectory()) return [];
    if (!(await entryExists(path.join(place, "HEAD")))) {
      return (await listModules(place)).map((module) => path.join(name, module));
    }
    const inner = await listModules(path.join(place, "modules"));
    return [name, ...inner.map((module) => path.join(name, "modules", module))];
  });
  return (await Promise.all(found)).flat();
}

/** Commits of submodules are in git's folder of the worktree and are deleted with it. @param {Repository} repository @param {Place} place */
async function checkSubmodules(repository, place) {
  const { env: _, ...options } = worktreeOptions(place);
  const pushed = ["--remotes", "--tags"];
  const args = ["rev-list", "--max-count=1", "--ignore-missing", "--stdin", "--all", "HEAD"];
  for (const admin of new Set([gitFolder(place.admin), place.admin])) {
    const folder = path.join(admin, "modules");
    // A link may lead to all files of this machine.
    const isThere = (await fs.lstat(folder).catch(() => undefined))?.isDirectory();
    for (const name of isThere ? await listModules(folder) : []) {
      const env = { GIT_DIR: path.join(place.admin, "modules", name), GIT_WORK_TREE: place.path };
      // No program of the node has written git's own folder. A person may have pushed from there.
      const isOwn = admin === place.admin;
      const known = isOwn
        ? ""
        : await repository.query(["rev-parse", ...pushed], { env, codes: [0, 128] });
      const input = known && known.stdout.replace(/^(?=.)/gm, "^");
      const where = { ...(isOwn ? {} : options), env, input };
      const { stdout } = await repository.query([...args, "--not", ...pushed], where);
      if (stdout.trim() !== "") throw submoduleError("A submodule has commits");
    }
  }
}

/** Folders that a command rebuilds. REBUILT_TAGS are files that mark other such folders. */
const REBUILT_NAMES = new Set(
  "node_modules __pycache__ .venv .tox .gradle .next target build dist coverage".split(" "),
);
const REBUILT_TAGS = ["CACHEDIR.TAG", "pyvenv.cfg", "CMakeCache.txt"];

/** @param {string} folder */
async function isRebuilt(folder) {
  if (REBUILT_NAMES.has(path.basename(folder))) return true;
  const tags = REBUILT_TAGS.map((name) => entryExists(path.join(folder, name)));
  return (await Promise.all(tags)).includes(true);
}

/**
 * How much of the ignored files fits into a snapshot. Git cannot restore ignored files.
 * @typedef {object} Room
 * @property {number} bytes left; below 0: the entry does not fit
 * @property {string[]} files chosen
 * @property {string} nested a repository inside; "" if there is no such repository
 */

/** @param {string} root @param {string} entry @param {Room} room */
async function collectIgnored(root, entry, room) {
  const place = path.join(root, entry);
  const stat = await fs.lstat(place).catch(() => undefined);
  if (stat?.isDirectory()) {
    for (const name of await fs.readdir(place)) {
      if (name === ".git") room.nested = entry;
      else await collectIgnored(root, path.posix.join(entry, name), room);
      if (room.bytes < 0 || room.nested) return;
    }
  } else if (stat?.isFile() || stat?.isSymbolicLink()) {
    room.bytes -= stat.size;
    room.files.push(entry);
    if (room.files.length > MAX_IGNORED_FILES) room.bytes = -1;
  }
}

/** Whether anything was written, or deleted, in a folder. @param {string} place @param {number} since ms since 1970 @returns {Promise<boolean>} */
async function isChanged(place, since) {
  const stat = await fs.lstat(place);
  if (stat.ctimeMs >= since) return true; // the clock of files has steps
  if (!stat.isDirectory()) return false;
  for (const name of await fs.readdir(place)) {
    if (await isChanged(path.join(place, name), since)) return true;
  }
  return false;
}

/**
 * Chooses the entries that fit, in the order in which git lists them.
 * @param {string} root @param {string[]} entries
 * @param {{isAsked?: boolean, setup?: import("./commit-work.mjs").SetupIgnored}} [options] isAsked: a person has
 *   requested the removal; setup: files that the setup will make again
 * @returns {Promise<{files: string[], omitted: string[]}>} omitted: too large, but a command makes them again
 * @throws {GitError} NESTED_REPOSITORY, TOO_LARGE: files that no command makes again
 */
export async function chooseIgnored(root, entries, { isAsked = false, setup } = {}) {
  const chosen = { files: /** @type {string[]} */ ([]), omitted: /** @type {string[]} */ ([]) };
  let bytes = MAX_IGNORED_BYTES;
  for (const entry of entries) {
    const name = entry.replace(/\/$/, "");
    const room = { bytes, files: [...chosen.files], nested: "" };
    await collectIgnored(root, name, room);
    if (room.bytes >= 0 && !room.nested) {
      [bytes, chosen.files] = [room.bytes, room.files];
      continue;
    }
    const place = path.join(root, name);
    const isMade = setup?.entries.includes(entry) && !(await isChanged(place, setup.at));
    if (!isMade && !(await isRebuilt(place))) {
      if (room.nested) throw nestedRepositoryError(room.nested);
      if (!isAsked) throw tooLargeError(entry);
    }
    chosen.omitted.push(entry);
  }
  return chosen;
}

/** @param {string} entry */
const tooLargeError = (entry) =>
  new GitError(
    "TOO_LARGE",
    `"${entry}", which git ignores, does not fit into the ${MAX_IGNORED_BYTES >> 20} MB of ignored files that a snapshot keeps. Move it to a different folder, or delete it.`,
    { path: entry },
  );

/** @param {string} where */
const nestedRepositoryError = (where) =>
  new GitError(
    "NESTED_REPOSITORY",
    `"${where}" is a separate repository, which a snapshot cannot contain. Move it to a different folder.`,
    { path: where },
  );

/**
 * Stages everything in an index that is not the worktree's own.
 * @param {Repository} repository @param {Partial<import("./git.mjs").RunOptions>} where cwd, and env with the index
 * @param {{without: string[], files: string[]}} paths files: ignored files to add
 * @returns {Promise<string>} the tree
 */
export async function writeTree(repository, where, { without, files }) {
  const settings = ["core.safecrlf=false", "advice.addIgnoredFile=false", NOT_SPARSE];
  const limits = { ...where, settings, lasting: true, network: true, timeoutMs: 600_000 };
  await repository.change(["add", "--all", ...formatPathspecs(without)], limits);
  if (files.length > 0) {
    const input = `${files.join("\0")}\0`;
    await repository.change(["update-index", "--add", "-z", "--stdin"], { ...limits, input });
  }
  return (await repository.change(["write-tree"], where)).stdout.trim();
}

/** Repositories inside of it are only links in the tree. @param {Repository} repository @param {string} tree @param {string} head */
export async function checkLinks(repository, tree, head) {
  const args = ["diff-tree", "-r", "-z", "--no-renames", "--diff-filter=AMT", head, tree];
  const { stdout } = await repository.query(args);
  const [, where] = /:\d+ 160000 [^\0]*\0([^\0]+)/.exec(stdout) ?? [];
  if (where !== undefined) throw nestedRepositoryError(where);
}

/**
 * @typedef {{ref: string, commit: string}} Archive
 * @typedef {{kept?: Archive, omitted: string[]}} Snapshot omitted: ignored files that are too large
 * @typedef {{why: string, signal?: AbortSignal, isAsked?: boolean}} SnapshotOptions isAsked: as in chooseIgnored, for
 *   folders without a plan
 */

/**
 * @param {Repository} repository @param {Place} place @param {Contents} contents
 * @param {SnapshotOptions} options
 * @returns {Promise<Snapshot>} without `kept` if refs have all contents
 */
async function createSnapshot(repository, place, contents, { why, signal, isAsked }) {
  const { head, changed, ignored, lost, brought } = contents;
  const setup = await readSetupIgnored(place.admin);
  const { files, omitted } = await chooseIgnored(place.path, ignored, { isAsked, setup });
  if (!changed && files.length === 0 && lost.length === 0) return { omitted };
  return withIndexCopy(place, { signal }, async (where) => {
    const tree = await writeTree(repository, where, { without: brought, files });
    const parents = [...new Set([head, ...lost])].filter(Boolean);
    await importObjects(repository, place, [tree, ...parents], { signal });
    if (head !== "") await checkLinks(repository, tree, head);
    return { kept: await archiveTree(repository, place, tree, parents, why), omitted };
  });
}

/** Whether no file was checked out yet. @param {Place} place */
async function isEmpty(place) {
  if (await entryExists(path.join(gitFolder(place.admin), "index"))) return false;
  const names = await fs.readdir(place.path);
  return names.every((name) => name === ".git");
}

/**
 * Archives the contents of a worktree, before it is removed or reset, for the node whose work it is. Files that checks
 * left are not archived.
 * @param {Repository} repository @param {Place & {known?: string[]}} given known: commits that have refs
 * @param {SnapshotOptions} options
 * @returns {Promise<Snapshot & {dirty: boolean}>} dirty: it differs from its commit
 * @throws {GitError} a part cannot be archived: the worktree must stay
 */
export async function snapshotContents(repository, given, options) {
  const holder = await readHolder(given.admin);
  if (holder === "checks" || (await isEmpty(given))) return { omitted: [], dirty: true };
  const place = options.isAsked ? given : { ...given, ...holder };
  const contents = await inspectWorktree(repository, place, place.known ?? [], options.signal);
  const dirty = contents.dirty || contents.ignored.length > 0;
  if (!dirty && contents.lost.length === 0) return { omitted: [], dirty };
  return { ...(await createSnapshot(repository, place, contents, options)), dirty };
}

// Restores snapshots of removed worktrees: each as a new branch, never in a checkout.

const MAX_NAMES = 100;

/**
 * Creates a branch at a commit, or returns the branch that tap created for it before.
 * @param {Repository} repository @param {string} wanted @param {string} commit @returns {Promise<string>} its name
 */
async function branchFor(repository, wanted, commit) {
  for (let i = 1; i <= MAX_NAMES; ++i) {
    const name = i === 1 ? wanted : `${wanted}-${i}`;
    const ref = branchRef(name);
    const [there] = await resolveRefs(repository, [ref]);
    if (there === commit) return name;
    if (there !== undefined) continue;
    if (await moveRefs(repository, [{ ref, from: undefined, to: commit }])) return name;
  }
  throw new GitError("EXISTS", `There are ${MAX_NAMES} branches "${wanted}-…". Delete some.`);
}

/** Resolves links, also where the last parts do not exist yet. @param {string} folder @returns {Promise<string>} */
async function realEnd(folder) {
  const real = await fs.realpath(folder).catch(() => undefined);
  if (real !== undefined) return real;
  const parent = path.dirname(folder);
  return parent === folder ? folder : path.join(await realEnd(parent), path.basename(folder));
}

/** @param {Repository} repository @param {string} given absolute */
async function requireOutsideCheckouts(repository, given) {
  const folder = await realEnd(given);
  for (const { path: root } of await listCheckouts(repository)) {
    if (!isInside(folder, root)) continue;
    const text = `"${folder}" is in the checkout "${root}". Name a folder outside of it.`;
    throw new GitError("INVALID", text);
  }
}

/**
 * @param {Repository} repository @param {{plan: string, node: string}} of
 * @param {{to?: string}} [options] to: a folder that also gets the files; absolute, empty or not existing
 * @returns {Promise<{branch: string, commit: string, folder?: string}>}
 */
export async function restoreArchive(repository, { plan, node }, { to } = {}) {
  const commit = await requireArchive(repository, { plan, node });
  if (to !== undefined) await requireOutsideCheckouts(repository, to);
  const wanted = `restored-${checkId(plan, "plan")}-${checkId(node, "node")}`;
  const branch = await branchFor(repository, wanted, commit);
  if (to === undefined) return { branch, commit };
  await extractArchive(repository, { plan, node }, to);
  return { branch, commit, folder: to };
}

/** @typedef {{commits: string[], ref: string}} UnreachableCommits commits: the latest at the end; ref: reaches them */

/**
 * Archives commits that an attempt made in its worktree and then left, on no branch, if the attempt ended at its start.
 * Commits that were amended or reset before the final commit are not archived. A second call finds them archived.
 * @param {Repository} repository @param {Worktree} worktree @param {string} head the final commit of the attempt
 * @returns {Promise<UnreachableCommits | undefined>} undefined: no such commits
 */
export async function archiveUnreachableCommits(repository, worktree, head) {
  const { plan, node, commit: start } = worktree;
  if (head !== start) return undefined;
  const ref = archiveRef(plan, node);
  const known = new Set([start]);
  const commits = await findUnreferencedCommits(repository, worktree, head, known, ref);
  if (commits.length === 0) return undefined;
  const lost = await findUnreferencedCommits(repository, worktree, head, known);
  if (lost.length > 0) {
    await importObjects(repository, worktree, lost);
    const tree = `${lost.at(-1)}^{tree}`;
    await archiveTree(repository, worktree, tree, lost, "its commits were left behind");
  }
  return { commits, ref };
}

// Deleted plans: refs/tap/deleted/<plan> has the time, and the plan's commits keep their refs for a while.

/** Only one host runs a plan, so no other process moves this ref. @param {Repository} repository @param {string} plan */
export async function markDeleted(repository, plan) {
  const ref = deletionRef(plan);
  const tree = await repository.change(["mktree"], { input: "" });
  const input = `Plan ${plan} was deleted\n`;
  const { stdout } = await repository.change(["commit-tree", tree.stdout.trim()], { input });
  const [from] = await resolveRefs(repository, [ref]);
  await moveRefs(repository, [{ ref, from, to: stdout.trim() }]);
}

/**
 * Deletes the refs of plans that were deleted long ago.
 * @param {Repository} repository
 * @param {{now: number, ms?: number, isThere: (plan: string) => boolean}} when isThere: the plan exists, since its
 *   deletion failed or it was imported again
 * @returns {Promise<string[]>} the refs that were deleted
 */
export async function expireDeletions(repository, { now, ms = ARCHIVE_MS, isThere }) {
  /** @type {string[]} */
  const gone = [];
  for (const { ref, commit, at } of await readRefs(repository, [DELETIONS])) {
    const plan = ref.slice(DELETIONS.length + 1);
    if (at >= now - ms || plan.includes("/") || isThere(plan)) continue;
    const refs = [...(await readRefs(repository, [planRefs(plan)])), { ref, commit }];
    const moves = refs.map((found) => ({ ref: found.ref, from: found.commit, to: undefined }));
    if (await moveRefs(repository, moves)) gone.push(...refs.map(({ ref: name }) => name));
  }
  return gone;
}
