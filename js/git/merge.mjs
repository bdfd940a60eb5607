// Merges without a checkout: whether two commits merge, and into which tree; and commits with such trees.

import fs from "node:fs/promises";
import os from "node:os";
import { basename, isAbsolute, join } from "node:path";
import { withLock } from "../lib/keyed-mutex.mjs";
import { isAlive } from "../lib/process-liveness.mjs";
import { probeSandbox } from "../process/sandbox-probe.mjs";
import { formatOutput, GitError, toGitError } from "./errors.mjs";
import { checkCommit, checkMessage } from "./git.mjs";
import { createStore, importObjects, removeStore } from "./private-store.mjs";
import { getAttributeView } from "./repository.mjs";
import {
  adminsFolder,
  listAdmins,
  readWorktreeFolder,
  worktreeOptions,
} from "./worktree-admin.mjs";

/** @typedef {import("./repository.mjs").Repository} Repository */

// Merges in a temporary worktree: for a git that cannot merge without a checkout (older than 2.38), and for merge
// drivers. It is outside of the user's checkout, since a driver such as npm's searches its files upwards.

const SCRATCH_MERGE_MS = 600_000;

/** @param {Repository} repository @param {string} place @param {string} admin git's folder of it */
async function removeScratch(repository, place, admin) {
  await removeStore(admin);
  if (place !== "") await fs.rm(place, { recursive: true, force: true });
  const args = ["worktree", "remove", "--force", "--force", place];
  await withLock(repository.commonDir, () => repository.change(args, { codes: [0, 128] }));
}

/** Removes the temporary worktrees of processes that have ended. @param {Repository} repository */
async function sweep(repository) {
  for (const admin of await listAdmins(repository)) {
    const [, pid] = /^tap-scratch-(\d+)-/.exec(basename(admin)) ?? [];
    if (pid === undefined || isAlive(Number(pid))) continue;
    const place = await readWorktreeFolder(admin);
    const isScratch = isAbsolute(place) && basename(place) === basename(admin);
    await removeScratch(repository, isScratch ? place : "", admin);
  }
}

/**
 * If this machine has a sandbox, the programs of the user's config run in it: they may start files of the worktree.
 * @param {Repository} repository @param {string} ours checked @param {AbortSignal | undefined} signal
 * @param {(where: Partial<import("./git.mjs").RunOptions>) => Promise<Probe>} merge
 * @returns {Promise<Probe>}
 */
async function mergeInScratch(repository, ours, signal, merge) {
  await sweep(repository);
  const made = await fs.mkdtemp(join(os.tmpdir(), `tap-scratch-${process.pid}-`));
  const place = await fs.realpath(made);
  const admin = join(adminsFolder(repository), basename(place));
  const add = ["worktree", "add", "--quiet", "--no-checkout", "--detach", "--lock", place, ours];
  try {
    await withLock(repository.commonDir, () => repository.change(add, { signal }));
    if ((await probeSandbox({ env: repository.git.env })).state === "ok") await createStore(admin);
    const limits = { signal, lasting: true, timeoutMs: SCRATCH_MERGE_MS };
    const where = { ...worktreeOptions({ path: place, admin }), ...limits };
    await repository.change(["reset", "--hard", "--quiet", ours], { ...where, network: true });
    const found = await merge(where);
    if (found.tree)
      await importObjects(repository, { path: place, admin }, [found.tree], { signal });
    return found;
  } finally {
    await removeScratch(repository, place, admin);
  }
}

/** @typedef {{name: string, command: string}} Driver */

/** The user's merge drivers that are commands. @param {Repository} repository @returns {Promise<{drivers: Driver[], preset: string | undefined}>} preset: for files without a driver */
async function listDrivers(repository) {
  const args = ["config", "-z", "--get-regexp", String.raw`^merge\.(default|.*\.driver)$`];
  const { stdout } = await repository.query(args, { codes: [0, 1] });
  const all = stdout.matchAll(/merge\.(?:default|([^\0\n]*)\.driver)\n([^\0]*)\0/g);
  const found = [...all].map(([, name, command]) => ({ name, command }));
  // A setting in an argument ends its name at the first "=".
  const odd = found.find(({ name }) => name?.includes("="));
  if (odd)
    throw new GitError(
      "INVALID",
      `The merge driver "${odd.name}" of your git config has a "=" in its name: rename it.`,
    );
  const preset = found.findLast(({ name }) => name === undefined)?.command;
  return { drivers: found.filter(({ name }) => name !== undefined), preset };
}

/** @param {Repository} repository @param {string} ours @param {string} theirs @returns {Promise<Driver[]>} all drivers, if a changed file uses any of them */
async function findDrivers(repository, ours, theirs) {
  const { drivers, preset } = await listDrivers(repository);
  if (drivers.length === 0) return drivers;
  const changes = await changesBetween(repository, ours, theirs, { encoding: "latin1" });
  const input = Buffer.from(changes.map((change) => `${change.path}\0`).join(""), "latin1");
  const view = await getAttributeView(repository, ours);
  const { stdout } = await repository.query(["check-attr", "-z", "--stdin", "merge"], {
    ...view,
    input,
  });
  const values = stdout.split("\0").filter((_, at) => at % 3 === 2);
  const used = new Set(values.map((value) => (value === "unspecified" ? preset : value)));
  return drivers.some(({ name }) => used.has(name)) ? drivers : [];
}

/** @param {Repository} repository @param {string} theirs @param {Partial<import("./git.mjs").RunOptions>} where @returns {Promise<Probe>} */
async function runMerge(repository, theirs, where) {
  const flags = ["--no-commit", "--no-ff", "--no-stat", "--quiet", "--no-verify-signatures"];
  const settings = ["rerere.enabled=false", "merge.autoStash=false", "core.safecrlf=false"];
  const args = ["merge", ...flags, theirs];
  const ended = await repository.change(args, { ...where, settings, codes: [0, 1, 2] });
  if (ended.code === 0) {
    return { tree: (await repository.change(["write-tree"], where)).stdout.trim() };
  }
  const list = ["diff", "--name-only", "--diff-filter=U", "-z"];
  const { stdout } = await repository.query(list, where);
  const conflicts = stdout.split("\0").filter(Boolean);
  if (conflicts.length === 0) {
    throw new GitError(
      "GIT_FAILED",
      `git merge failed: ${formatOutput(ended.stderr || ended.stdout)}`,
    );
  }
  const notes = ended.stdout.split("\n").filter((line) => line.startsWith("CONFLICT ("));
  return { conflicts, notes };
}

const MAX_NOTES = 50;
const MERGE_MS = 600_000;

/**
 * @typedef {{tree: string, conflicts?: undefined}} Clean
 * @typedef {{tree?: undefined, conflicts: string[], notes: string[]}} Conflict conflicts: files; notes: git's line
 *   about each
 * @typedef {Clean | Conflict} Probe
 */

/** @param {Repository} repository */
const usesScratch = async (repository) =>
  repository.merges === "scratch" || !(await repository.git.isAtLeast(2, 38));

/**
 * A single result out of `-z --name-only`: a tree, files until an empty field, then git's messages.
 * @param {string[]} fields @param {boolean} clean @returns {Probe}
 */
function readResult([tree, ...rest], clean) {
  if (clean) return { tree };
  const end = rest.indexOf("");
  const conflicts = rest.slice(0, end === -1 ? undefined : end).filter(Boolean);
  const messages = end === -1 ? [] : rest.slice(end + 1);
  const notes = messages
    .map((message) => message.trim())
    .filter((message) => /^CONFLICT \(.*\):/.test(message));
  return { conflicts, notes: notes.slice(0, MAX_NOTES) };
}

/**
 * @param {Repository} repository @param {string} ours @param {string} theirs @param {{signal?: AbortSignal}} [options]
 * @returns {Promise<Probe>}
 */
export async function probe(repository, ours, theirs, { signal } = {}) {
  checkCommit(ours);
  checkCommit(theirs);
  const merge = (/** @type {Partial<import("./git.mjs").RunOptions>} */ where) =>
    runMergeTree(repository, ours, theirs, where);
  if (await usesScratch(repository)) {
    return mergeInScratch(repository, ours, signal, (where) => runMerge(repository, theirs, where));
  }
  const drivers = await findDrivers(repository, ours, theirs);
  if (drivers.length === 0) {
    const view = await getAttributeView(repository, ours);
    return merge({ ...view, signal, lasting: true, timeoutMs: MERGE_MS });
  }
  // A driver's output must not mix with git's answer.
  const settings = drivers.map(({ name, command }) => `merge.${name}.driver=(${command}\n) >&2`);
  return mergeInScratch(repository, ours, signal, (where) => merge({ ...where, settings }));
}

/** @param {Repository} repository @param {string} ours @param {string} theirs @param {Partial<import("./git.mjs").RunOptions>} where @returns {Promise<Probe>} */
async function runMergeTree(repository, ours, theirs, where) {
  const args = ["merge-tree", "--write-tree", "-z", "--name-only", ours, theirs];
  const ended = await repository.change(args, { ...where, codes: [0, 1] });
  // A conflict has a tree. Without a tree, git failed.
  if (ended.code === 1 && ended.stdout === "") throw toGitError(["merge-tree"], ended);
  return readResult(ended.stdout.split("\0"), ended.code === 0);
}

/**
 * Probes many pairs at once, with the attributes of the first commit, and without the user's merge drivers: files with
 * a driver do not conflict.
 * @param {Repository} repository @param {[string, string][]} pairs @param {{signal?: AbortSignal}} [options]
 * @returns {Promise<Probe[]>} in their order
 */
export async function probeAll(repository, pairs, { signal } = {}) {
  pairs.flat().forEach(checkCommit);
  if (pairs.length === 0) return [];
  if ((await usesScratch(repository)) || !(await repository.git.isAtLeast(2, 39))) {
    /** @type {Probe[]} */
    const probes = [];
    for (const [ours, theirs] of pairs)
      probes.push(await probe(repository, ours, theirs, { signal }));
    return probes;
  }
  const { env, cwd } = await getAttributeView(repository, pairs[0][0]);
  const args = ["merge-tree", "--stdin", "--name-only", "--no-messages"];
  const input = pairs.map((pair) => `${pair.join(" ")}\n`).join("");
  const { drivers } = await listDrivers(repository);
  const settings = drivers.map(({ name }) => `merge.${name}.driver=true`);
  const limits = { cwd, env, signal, input, settings, lasting: true, timeoutMs: MERGE_MS };
  const { stdout } = await repository.git.run(args, limits);
  return readMany(stdout, pairs.length);
}

/** Per pair: 0 or 1 for clean, the tree, files, and two empty fields. @param {string} text @param {number} count @returns {Probe[]} */
function readMany(text, count) {
  const fields = text.split("\0");
  /** @type {Probe[]} */
  const probes = [];
  for (let at = 0; probes.length < count;) {
    const end = fields.indexOf("", at);
    if (end < at + 2)
      throw new GitError("GIT_FAILED", "git merge-tree returned fewer results than requested.");
    probes.push(readResult(fields.slice(at + 1, end), fields[at] === "1"));
    at = end + 1;
  }
  return probes;
}

/** @param {Repository} repository @param {string} ancestor @param {string} commit */
export async function isAncestor(repository, ancestor, commit) {
  if (ancestor === commit) return true;
  const args = ["merge-base", "--is-ancestor", checkCommit(ancestor), checkCommit(commit)];
  return (await repository.query(args, { codes: [0, 1] })).code === 0;
}

/** @param {Repository} repository @param {string} commit @returns {Promise<string>} */
export async function resolveTree(repository, commit) {
  const args = ["rev-parse", "--verify", `${checkCommit(commit)}^{tree}`];
  return (await repository.query(args)).stdout.trim();
}

/**
 * @param {Repository} repository @param {string} tree @param {string[]} parents @param {string} message
 * @param {Record<string, string>} [env] @returns {Promise<string>}
 */
export async function commitTree(repository, tree, parents, message, env = {}) {
  const all = parents.flatMap((parent) => ["-p", checkCommit(parent)]);
  const args = ["commit-tree", ...all, checkCommit(tree)];
  return (await repository.change(args, { input: checkMessage(message), env })).stdout.trim();
}

/** The time of the latest of these commits, so that a merge of them is the same commit each time. @param {Repository} repository @param {string[]} commits */
export async function readMergeDates(repository, commits) {
  const { stdout } = await repository.query(["show", "--no-patch", "--format=%ct", ...commits]);
  const latest = `@${Math.max(...stdout.trim().split("\n").map(Number))} +0000`;
  return { GIT_AUTHOR_DATE: latest, GIT_COMMITTER_DATE: latest };
}

/**
 * @typedef {{status: "merged", commit: string}} Merged
 * @typedef {{status: "conflict", ours: string[], theirs: string, conflicts: string[], notes: string[]}} Conflicting
 */

/** The commits with which `theirs` conflicts; all, if it conflicts only with their merge. @param {Repository} repository @param {string[]} commits @param {string} theirs @param {{signal?: AbortSignal}} options */
async function findConflicting(repository, commits, theirs, options) {
  if (commits.length === 1) return commits;
  const pairs = commits.map((ours) => /** @type {[string, string]} */ ([ours, theirs]));
  const probes = await probeAll(repository, pairs, options);
  const found = commits.filter((_, at) => probes[at].conflicts);
  return found.length > 0 ? found : commits;
}

/**
 * Merges several commits, with all of them as parents. A second call returns the same commit. A commit that contains
 * all others is the result itself.
 * @param {Repository} repository @param {string[]} commits the others are merged into the first
 * @param {string} message @param {{signal?: AbortSignal}} [options]
 * @returns {Promise<Merged | Conflicting>} theirs: the commit that could not be merged into those before it;
 *   ours: the earlier commits that it conflicts with
 */
export async function mergeCommits(repository, commits, message, { signal } = {}) {
  if (commits.length === 0) throw new GitError("INVALID", "There is no commit to merge.");
  commits.forEach(checkCommit);
  const heads = await findIndependent(repository, commits);
  const env = heads.length > 1 ? await readMergeDates(repository, heads) : {};
  let all = heads[0];
  for (const [index, theirs] of heads.entries()) {
    if (index === 0) continue;
    const found = await probe(repository, all, theirs, { signal });
    if (found.conflicts) {
      const { conflicts, notes } = /** @type {Conflict} */ (found);
      const ours = await findConflicting(repository, heads.slice(0, index), theirs, { signal });
      return { status: "conflict", ours, theirs, conflicts, notes };
    }
    const isLast = index === heads.length - 1;
    all = await commitTree(repository, found.tree, isLast ? heads : [all, theirs], message, env);
  }
  return { status: "merged", commit: all };
}

/** The commits that no other contains, in the order given. @param {Repository} repository @param {string[]} commits */
async function findIndependent(repository, commits) {
  const unique = [...new Set(commits)];
  if (unique.length === 1) return unique;
  const { stdout } = await repository.query(["merge-base", "--independent", ...unique], {
    codes: [0, 1],
  });
  const kept = new Set(stdout.split("\n"));
  const found = unique.filter((commit) => kept.has(commit));
  return found.length === 0 ? unique : found;
}

// The differences between two commits.

export const MAX_DIFF_BYTES = 64 * 1024;

/** @typedef {{path: string, kind: string, mode: string, object: string}} Change kind: A, M, D or T; mode, object: after it */
/** @typedef {{path: string, from?: string, insertions: number, deletions: number, binary: boolean}} Lines */

/** @param {string} text of `--raw -z --no-renames` @returns {Change[]} */
export const readRaw = (text) =>
  [...text.matchAll(/:\d+ (\d+) \S+ (\S+) ([A-Z])\0([^\0]+)\0/g)].map(
    ([, mode, object, kind, path]) => ({ path, kind, mode, object }),
  );

/**
 * @param {Repository} repository @param {string} from a commit or a tree @param {string} to
 * @param {Partial<import("./git.mjs").RunOptions>} [options] encoding: latin1 if paths may not be UTF-8
 * @returns {Promise<Change[]>}
 */
export async function changesBetween(repository, from, to, options) {
  if (from === to) return [];
  const args = [
    "diff-tree",
    "-r",
    "-z",
    "--raw",
    "--no-renames",
    checkCommit(from),
    checkCommit(to),
  ];
  return readRaw((await repository.query(args, options)).stdout);
}

/** @param {string} text of `--numstat -z` @returns {Lines[]} */
function readNumstat(text) {
  const fields = text.split("\0");
  /** @type {Lines[]} */
  const all = [];
  for (let i = 0; i < fields.length - 1; ++i) {
    const [insertions, deletions, name] = fields[i].split(/\t(.*?)\t/s);
    const counts = {
      insertions: Number(insertions) || 0,
      deletions: Number(deletions) || 0,
      binary: insertions === "-",
    };
    if (name !== "") all.push({ path: name, ...counts });
    else {
      all.push({ path: fields[i + 2], from: fields[i + 1], ...counts });
      i += 2;
    }
  }
  return all;
}

/** @typedef {{files: Lines[], insertions: number, deletions: number}} LineCounts */

const LINE_FLAGS = ["--numstat", "-z", "-M", "--no-ext-diff", "--no-textconv"];

/** @param {string} text of `--numstat -z` @returns {LineCounts} */
function countLines(text) {
  const files = readNumstat(text);
  const sum = (/** @type {"insertions" | "deletions"} */ field) =>
    files.reduce((total, file) => total + file[field], 0);
  return { files, insertions: sum("insertions"), deletions: sum("deletions") };
}

/** @param {Repository} repository @param {string} from @param {string} to @returns {Promise<LineCounts>} */
export async function linesBetween(repository, from, to) {
  if (from === to) return countLines("");
  const args = ["diff", ...LINE_FLAGS, checkCommit(from), checkCommit(to), "--"];
  return countLines((await repository.query(args)).stdout);
}

/**
 * The same for a commit whose only parent is known.
 * @param {Repository} repository @param {string} parent @param {string} commit
 * @returns {Promise<LineCounts | undefined>} undefined: it has other parents, or is not a commit
 */
export async function linesOnTop(repository, parent, commit) {
  const flags = ["--no-color", "--no-show-signature", "--format=%H %P", ...LINE_FLAGS];
  const { stdout } = await repository.query(["show", ...flags, checkCommit(commit), "--"]);
  const end = stdout.indexOf("\0");
  if (stdout.slice(0, end) !== `${commit} ${parent}`) return undefined;
  return countLines(stdout.slice(end + 1).replace(/^\n/, ""));
}

/**
 * @param {Repository} repository @param {string} from @param {string} to
 * @param {{mostBytes?: number, signal?: AbortSignal}} [options]
 * @returns {Promise<{text: string, cut: boolean}>}
 */
export async function diffBetween(
  repository,
  from,
  to,
  { mostBytes = MAX_DIFF_BYTES, signal } = {},
) {
  const flags = ["--no-color", "--no-ext-diff", "--no-textconv", "-M"];
  const args = ["diff", ...flags, checkCommit(from), checkCommit(to), "--"];
  const { stdout, cut } = await repository.query(args, { mostBytes, cuts: true, signal });
  return { text: stdout, cut };
}
