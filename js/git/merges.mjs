// Merges that need no checkout: whether two commits merge, and into which tree; and commits with such trees.

import { attributesOf } from "./attributes.mjs";
import { failureOf, GitError } from "./git-error.mjs";
import { checkCommit, checkMessage } from "./names.mjs";
import { mergeInScratch } from "./scratch.mjs";

const MOST_NOTES = 50;
const MERGE_MS = 600_000;

/** @typedef {import("./repository.mjs").Repository} Repository */

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
  return { conflicts, notes: notes.slice(0, MOST_NOTES) };
}

/**
 * @param {Repository} repository @param {string} ours @param {string} theirs @param {{signal?: AbortSignal}} [options]
 * @returns {Promise<Probe>}
 */
export async function probe(repository, ours, theirs, { signal } = {}) {
  checkCommit(ours);
  checkCommit(theirs);
  if (await usesScratch(repository)) return mergeInScratch(repository, ours, theirs, signal);
  const { env, cwd } = await attributesOf(repository, ours);
  const args = ["merge-tree", "--write-tree", "-z", "--name-only", ours, theirs];
  const limits = { cwd, env, signal, codes: [0, 1], lasting: true, timeoutMs: MERGE_MS };
  const ended = await repository.git.run(args, limits);
  // A conflict has a tree; this is a failure of git.
  if (ended.code === 1 && ended.stdout === "") throw failureOf(["merge-tree"], ended);
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
  const { env, cwd } = await attributesOf(repository, pairs[0][0]);
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
  return (await repository.ask(args, { codes: [0, 1] })).code === 0;
}

/** @param {Repository} repository @param {string} commit @returns {Promise<string>} */
export async function treeOf(repository, commit) {
  const args = ["rev-parse", "--verify", `${checkCommit(commit)}^{tree}`];
  return (await repository.ask(args)).stdout.trim();
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
export async function timeOf(repository, commits) {
  const { stdout } = await repository.ask(["show", "--no-patch", "--format=%ct", ...commits]);
  const latest = `@${Math.max(...stdout.trim().split("\n").map(Number))} +0000`;
  return { GIT_AUTHOR_DATE: latest, GIT_COMMITTER_DATE: latest };
}

/**
 * @typedef {{status: "merged", commit: string}} Merged
 * @typedef {{status: "conflict", ours: string[], theirs: string, conflicts: string[], notes: string[]}} Conflicting
 */

/** Those with which a commit conflicts; all, where it does so only with what they are together. @param {Repository} repository @param {string[]} commits @param {string} theirs @param {{signal?: AbortSignal}} options */
async function inConflict(repository, commits, theirs, options) {
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
  const heads = await independent(repository, commits);
  const env = heads.length > 1 ? await timeOf(repository, heads) : {};
  let all = heads[0];
  for (const [index, theirs] of heads.entries()) {
    if (index === 0) continue;
    const found = await probe(repository, all, theirs, { signal });
    if (found.conflicts) {
      const { conflicts, notes } = /** @type {Conflict} */ (found);
      const ours = await inConflict(repository, heads.slice(0, index), theirs, { signal });
      return { status: "conflict", ours, theirs, conflicts, notes };
    }
    const isLast = index === heads.length - 1;
    all = await commitTree(repository, found.tree, isLast ? heads : [all, theirs], message, env);
  }
  return { status: "merged", commit: all };
}

/** Those that are in no other, in the order given. @param {Repository} repository @param {string[]} commits */
async function independent(repository, commits) {
  const unique = [...new Set(commits)];
  if (unique.length === 1) return unique;
  const { stdout } = await repository.ask(["merge-base", "--independent", ...unique], {
    codes: [0, 1],
  });
  const kept = new Set(stdout.split("\n"));
  const found = unique.filter((one) => kept.has(one));
  return found.length === 0 ? unique : found;
}
