// Commits that an attempt has made in its worktree and then left: they are on another branch, or on none.

import { headLog } from "./head-log.mjs";
import { keepTree } from "./kept.mjs";
import { isAncestor } from "./merges.mjs";
import { commitsOf, keptRef } from "./refs.mjs";

/** Not what somebody else has made: a checkout, or a merge that only goes forward. */
const MADE =
  /^(?:commit|cherry-pick|revert|am)\b|^rebase\b[^:]*\((?:pick|reword|squash|fixup|edit|continue)\)|: Merge made by /;
/** Git lists them in a command line. */
const MOST_TIPS = 20;

/** @typedef {import("./repository.mjs").Repository} Repository */
/** @typedef {import("./worktrees.mjs").Worktree} Worktree */
/** @typedef {{commits: string[], branches: string[], ref: string}} Left the latest commit at the end; ref: has them */

/** @param {import("./head-log.mjs").Logged[]} log @param {string[]} others that are no news @returns {string[]} */
export function madeIn(log, others) {
  const made = log.filter(({ what }) => MADE.test(what)).map(({ commit }) => commit);
  return [...new Set(made)].filter((one) => !others.includes(one));
}

/** @param {Repository} repository @param {string[]} commits @param {string[]} without refs and commits, as arguments of git */
async function reachable(repository, commits, without) {
  const args = ["rev-list", "--ignore-missing", "--stdin", "--not", ...without];
  const { stdout } = await repository.ask(args, { input: `${commits.join("\n")}\n` });
  return new Set(stdout.split("\n"));
}

/** @param {Repository} repository @param {string[]} commits @returns {Promise<string[]>} branches that have any of them */
async function branchesWith(repository, commits) {
  const contains = commits.flatMap((one) => ["--contains", one]);
  const args = ["for-each-ref", "--format=%(refname)", ...contains, "refs/heads"];
  const { stdout } = await repository.ask(args);
  return stdout.split("\n").filter(Boolean);
}

/**
 * @param {Repository} repository @param {Worktree} worktree @param {string} head what the attempt has come to
 * @returns {Promise<Omit<Left, "ref"> | undefined>}
 */
async function findLeft(repository, worktree, head) {
  const { plan, node, commit: start, admin } = worktree;
  const made = madeIn(await headLog(admin), [start, head]);
  if (made.length === 0) return undefined;
  // What another node has left in the same worktree is kept for that one.
  const kept = [`--exclude=${keptRef(plan, node)}`, "--glob=refs/tap"];
  const outside = await reachable(repository, made, [start, head, ...kept]);
  const commits = made.filter((one) => outside.has(one));
  if (commits.length === 0) return undefined;
  const branches = await branchesWith(repository, commits.slice(-MOST_TIPS));
  // What was amended or reset was given up, unless it is all that there is.
  if (branches.length === 0) return head === start ? { commits, branches } : undefined;
  const there = await reachable(repository, branches, [head]);
  return {
    commits: commits.filter((one) => there.has(one)),
    branches: branches.map((one) => one.slice("refs/heads/".length)),
  };
}

/**
 * A second time: they are kept already.
 * @param {Repository} repository @param {Worktree} worktree @param {string} head what the attempt has come to
 * @returns {Promise<Left | undefined>} undefined: none
 */
export async function keepLeft(repository, worktree, head) {
  const left = await findLeft(repository, worktree, head);
  if (left === undefined || left.commits.length === 0) return undefined;
  const { plan, node } = worktree;
  const ref = keptRef(plan, node);
  const last = left.commits.slice(-MOST_TIPS);
  const { stdout } = await repository.ask(["merge-base", "--independent", ...last]);
  const tips = stdout.split("\n").filter(Boolean);
  const [there] = await commitsOf(repository, [ref]);
  const isKept = await Promise.all(
    tips.map((tip) => there !== undefined && isAncestor(repository, tip, there)),
  );
  const lost = tips.filter((_, at) => !isKept[at]);
  if (lost.length > 0) {
    const tree = `${left.commits.at(-1)}^{tree}`;
    await keepTree(repository, worktree, tree, lost, "its commits were left behind");
  }
  return { ...left, ref };
}
