// Merges that need no checkout: whether two commits merge, and into which tree; and commits with such trees.

import { randomBytes } from "node:crypto";
import fs from "node:fs/promises";
import { join } from "node:path";
import { withLock } from "../lib/keyed-mutex.mjs";
import { isAlive } from "../lib/process-liveness.mjs";
import { formatOutput, GitError, toGitError } from "./errors.mjs";
import { checkCommit, checkMessage } from "./git.mjs";
import { getAttributeView } from "./repository.mjs";

/** @typedef {import("./repository.mjs").Repository} Repository */

// Merges with a git that cannot merge without a checkout (older than 2.38): in a worktree made for one merge, in git's
// own folder.

const SCRATCH_MERGE_MS = 600_000;
const PREFIX = "scratch-";

/** @param {Repository} repository @param {string} place */
async function removeScratch(repository, place) {
  await fs.rm(place, { recursive: true, force: true });
  const args = ["worktree", "remove", "--force", "--force", place];
  await withLock(repository.commonDir, () => repository.change(args, { codes: [0, 128] }));
}

/** Those of processes that have ended. @param {Repository} repository @param {string} folder */
async function sweep(repository, folder) {
  for (const name of await fs.readdir(folder)) {
    const [, pid] = /^scratch-(\d+)-/.exec(name) ?? [];
    if (pid !== undefined && !isAlive(Number(pid)))
      await removeScratch(repository, join(folder, name));
  }
}

/**
 * @param {Repository} repository @param {string} ours @param {string} theirs both checked @param {AbortSignal} [signal]
 * @returns {Promise<Probe>}
 */
export async function mergeInScratch(repository, ours, theirs, signal) {
  const folder = await repository.ownFolder();
  await sweep(repository, folder);
  const name = `${PREFIX}${process.pid}-${randomBytes(6).toString("hex")}`;
  const place = join(folder, name);
  const add = ["worktree", "add", "--quiet", "--no-checkout", "--detach", "--lock", place, ours];
  try {
    await withLock(repository.commonDir, () => repository.change(add, { signal }));
    const where = { cwd: place, signal, lasting: true, timeoutMs: SCRATCH_MERGE_MS };
    await repository.change(["reset", "--hard", "--quiet", ours], { ...where, network: true });
    return await runMerge(repository, theirs, where);
  } finally {
    await removeScratch(repository, place);
  }
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
 * @typedef {{tree?: undefined, conflicts: string[], notes: string[]}} Conflict conflicts: files; notes: what git says
 *   about each
 * @typedef {Clean | Conflict} Probe
 */

/** @param {Repository} repository */
const usesScratch = async (repository) =>
  repository.merges === "scratch" || !(await repository.git.isAtLeast(2, 38));

/**
 * One result out of `-z --name-only`: a tree, files until an empty field, then what git says.
 * @param {string[]} fields @param {boolean} clean @returns {Probe}
 */
function readResult([tree, ...rest], clean) {
  if (clean) return { tree };
  const end = rest.indexOf("");
  const conflicts = rest.slice(0, end === -1 ? undefined : end).filter(Boolean);
  const said = end === -1 ? [] : rest.slice(end + 1);
  const notes = said.map((one) => one.trim()).filter((one) => /^CONFLICT \(.*\):/.test(one));
  return { conflicts, notes: notes.slice(0, MAX_NOTES) };
}

/**
 * @param {Repository} repository @param {string} ours @param {string} theirs @param {{signal?: AbortSignal}} [options]
 * @returns {Promise<Probe>}
 */
export async function probe(repository, ours, theirs, { signal } = {}) {
  checkCommit(ours);
  checkCommit(theirs);
  if (await usesScratch(repository)) return mergeInScratch(repository, ours, theirs, signal);
  const { env, cwd } = await getAttributeView(repository, ours);
  const args = ["merge-tree", "--write-tree", "-z", "--name-only", ours, theirs];
  const limits = { cwd, env, signal, codes: [0, 1], lasting: true, timeoutMs: MERGE_MS };
  const ended = await repository.git.run(args, limits);
  // A conflict has a tree; this is a failure of git.
  if (ended.code === 1 && ended.stdout === "") throw toGitError(["merge-tree"], ended);
  return readResult(ended.stdout.split("\0"), ended.code === 0);
}

/**
 * Many at once, with the attributes of the first.
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
  const limits = { cwd, env, signal, input, lasting: true, timeoutMs: MERGE_MS };
  const { stdout } = await repository.git.run(args, limits);
  return readMany(stdout, pairs.length);
}

/** Each: 0 or 1 for clean, the tree, files, an empty field, another. @param {string} text @param {number} count @returns {Probe[]} */
function readMany(text, count) {
  const fields = text.split("\0");
  /** @type {Probe[]} */
  const probes = [];
  for (let at = 0; probes.length < count;) {
    const end = fields.indexOf("", at);
    if (end < at + 2)
      throw new GitError("GIT_FAILED", "git merge-tree gave fewer results than asked for.");
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

/** With the time of the latest of these, a merge of them is the same commit each time. @param {Repository} repository @param {string[]} commits */
export async function readMergeDates(repository, commits) {
  const { stdout } = await repository.query(["show", "--no-patch", "--format=%ct", ...commits]);
  const latest = `@${Math.max(...stdout.trim().split("\n").map(Number))} +0000`;
  return { GIT_AUTHOR_DATE: latest, GIT_COMMITTER_DATE: latest };
}

/**
 * @typedef {{status: "merged", commit: string}} Merged
 * @typedef {{status: "conflict", ours: string[], theirs: string, conflicts: string[], notes: string[]}} Conflicting
 */

/** Those with which a commit conflicts; all, where it does so only with what they are together. @param {Repository} repository @param {string[]} commits @param {string} theirs @param {{signal?: AbortSignal}} options */
async function findConflicting(repository, commits, theirs, options) {
  if (commits.length === 1) return commits;
  const pairs = commits.map((ours) => /** @type {[string, string]} */ ([ours, theirs]));
  const probes = await probeAll(repository, pairs, options);
  const found = commits.filter((_, at) => probes[at].conflicts);
  return found.length > 0 ? found : commits;
}

/**
 * Several commits as one, with all of them as parents; a second time it is the same one. One that has all others in it
 * is the result itself.
 * @param {Repository} repository @param {string[]} commits the first is what the others are merged into
 * @param {string} message @param {{signal?: AbortSignal}} [options]
 * @returns {Promise<Merged | Conflicting>} theirs: the one that could not be merged into those before it;
 *   ours: those of them that it conflicts with
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

/** Those that are in no other, in the order given. @param {Repository} repository @param {string[]} commits */
async function findIndependent(repository, commits) {
  const unique = [...new Set(commits)];
  if (unique.length === 1) return unique;
  const { stdout } = await repository.query(["merge-base", "--independent", ...unique], {
    codes: [0, 1],
  });
  const kept = new Set(stdout.split("\n"));
  const found = unique.filter((one) => kept.has(one));
  return found.length === 0 ? unique : found;
}

// What changed between two commits.

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
 * @param {Partial<import("./git.mjs").RunOptions>} [options] encoding: latin1 where paths may be no UTF-8
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

/**
 * @param {Repository} repository @param {string} from @param {string} to
 * @returns {Promise<{files: Lines[], insertions: number, deletions: number}>}
 */
export async function linesBetween(repository, from, to) {
  const flags = ["--numstat", "-z", "-M", "--no-ext-diff", "--no-textconv"];
  const args = ["diff", ...flags, checkCommit(from), checkCommit(to), "--"];
  const files = readNumstat((await repository.query(args)).stdout);
  const sum = (/** @type {"insertions" | "deletions"} */ what) =>
    files.reduce((total, one) => total + one[what], 0);
  return { files, insertions: sum("insertions"), deletions: sum("deletions") };
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
