// What was in worktrees when they were removed: one commit for each, under refs/tap/kept/<plan>/<node>. An earlier one
// of the same node is a parent of the next, so that none is lost.

import fs from "node:fs/promises";
import path from "node:path";
import { GitError } from "./git-error.mjs";
import { checkId } from "./names.mjs";
import { commitsOf, expireRefs, KEPT, keptRef, moveRefs, readRefs } from "./refs.mjs";

export const KEPT_MS = 30 * 24 * 3600 * 1000;
const TRIES = 5;

/** @typedef {import("./repository.mjs").Repository} Repository */
/** @typedef {{plan: string, node: string}} Of */

/**
 * @param {Repository} repository @param {Of} of
 * @param {(earlier: string[]) => Promise<string>} make a commit that has the earlier one as a parent
 * @returns {Promise<{ref: string, commit: string}>}
 */
async function setKept(repository, { plan, node }, make) {
  const ref = keptRef(plan, node);
  for (let left = TRIES; left > 0; --left) {
    const [earlier] = await commitsOf(repository, [ref]);
    const commit = await make(earlier ? [earlier] : []);
    if (earlier === commit) return { ref, commit };
    if (await moveRefs(repository, [{ ref, from: earlier, to: commit }])) return { ref, commit };
  }
  throw new GitError("LOST_RACE", `"${ref}" is moved by somebody else again and again.`);
}

/**
 * @param {Repository} repository @param {Of} of @param {string} tree
 * @param {string[]} parents @param {string} why
 */
export function keepTree(repository, of, tree, parents, why) {
  return setKept(repository, of, async (earlier) => {
    const all = [...new Set([...parents, ...earlier])].flatMap((parent) => ["-p", parent]);
    const input = `Snapshot of ${of.plan}/${of.node}: ${why}\n`;
    const { stdout } = await repository.change(["commit-tree", ...all, tree], { input });
    return stdout.trim();
  });
}

/** A commit that no ref has. @param {Repository} repository @param {Of} of @param {string} commit @param {string} why */
export const keep = (repository, of, commit, why) =>
  keepTree(repository, of, `${commit}^{tree}`, [commit], why);

/**
 * @param {Repository} repository @param {string} [plan]
 * @returns {Promise<{ref: string, plan: string, node: string, commit: string, at: number}[]>}
 */
export async function listKept(repository, plan) {
  const below = plan === undefined ? KEPT : `${KEPT}/${checkId(plan, "plan")}`;
  return (await readRefs(repository, [below])).map(({ ref, commit, at }) => {
    const [of = "", node = ""] = ref.slice(KEPT.length + 1).split("/");
    return { ref, plan: of, node, commit, at };
  });
}

/** @param {Repository} repository @param {{now: number, ms?: number}} when */
export const expireKept = (repository, { now, ms = KEPT_MS }) =>
  expireRefs(repository, KEPT, now - ms);

/**
 * The files of a snapshot, in a folder that is not there yet or is empty. No worktree: git does not know it.
 * @param {Repository} repository @param {Of} of @param {string} folder absolute
 * @returns {Promise<{commit: string}>}
 */
export async function restoreKept(repository, { plan, node }, folder) {
  const ref = keptRef(plan, node);
  const [commit] = await commitsOf(repository, [ref]);
  if (commit === undefined) {
    throw new GitError("NOTHING_KEPT", `Nothing is kept of node "${node}" of plan "${plan}".`);
  }
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
    const args = ["checkout-index", "--all", "--quiet"];
    await repository.change(args, { cwd: place, env, lasting: true, network: true });
  } finally {
    await fs.rm(index, { force: true });
  }
  return { commit };
}
