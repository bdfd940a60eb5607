// The target follows the result of its plan, by fast-forward. Where it is checked out, git moves it in that checkout,
// if nothing is changed there; elsewhere the ref is moved.

import { inQuotes, visible } from "../base/visible.mjs";
import { stayIn, whereIs } from "./checkouts.mjs";
import { takenBy, takenText } from "./free-name.mjs";
import { GitError, isGitError } from "./git-error.mjs";
import { isAncestor } from "./merges.mjs";
import { checkBranch, checkCommit } from "./names.mjs";
import { branchRef, commitsOf, moveRefs, resultRef } from "./refs.mjs";

const CHECKOUT_MS = 1_800_000;
const OVERWRITTEN = /would be overwritten|local changes|untracked working tree files/i;

/** @typedef {import("./repository.mjs").Repository} Repository */

/**
 * @typedef {object} Landing
 * @property {"landed" | "dirty" | "lost" | "moved" | "gone" | "taken"} status dirty: it is checked out with changes;
 *   lost: it was moved meanwhile; moved: it has commits that the result does not have, so integrate first; gone: it was
 *   deleted; taken: another branch is in its way
 * @property {string} [commit] landed: where the target is
 * @property {boolean} [again] landed: it was there before
 * @property {string} [path] of the checkout
 * @property {string[]} [changed] files in it
 * @property {string} [message]
 */

const TIDY = "Commit or stash that";

/** @param {string} target @param {string} path @param {string[]} changed @param {string} why @param {string} [advice] @returns {Landing} */
const dirty = (target, path, changed, why, advice = TIDY) => ({
  status: "dirty",
  path,
  changed,
  message: `"${target}" is checked out in "${path}", ${why}. ${advice} first.`,
});

/**
 * A branch that does not exist yet. A second time, or where it exists: nothing.
 * @param {Repository} repository @param {string} target @param {string} commit
 * @returns {Promise<boolean>} whether it was made
 */
export function createTarget(repository, target, commit) {
  const ref = branchRef(checkBranch(target, "targetBranch"));
  return moveRefs(repository, [{ ref, from: undefined, to: checkCommit(commit) }]);
}

/**
 * @param {Repository} repository
 * @param {{plan: string, target: string, create?: boolean, expect?: string, signal?: AbortSignal}} what create: the target,
 *   where it does not exist; expect: the result, else it is lost
 * @returns {Promise<Landing>}
 */
export async function land(repository, { plan, target, create = false, expect, signal }) {
  const ref = branchRef(checkBranch(target, "targetBranch"));
  const [at, result] = await commitsOf(repository, [ref, resultRef(plan)]);
  if (result === undefined) {
    throw new GitError("NOTHING_TO_LAND", `Plan "${plan}" has no result to land.`);
  }
  if (expect !== undefined && result !== expect) {
    const message = `The result of plan "${plan}" was moved by somebody else.`;
    return { status: "lost", message };
  }
  if (at === undefined) {
    if (!create) return gone(plan, target);
    const other = await takenBy(repository, target);
    if (other !== undefined) return taken(plan, target, other);
  } else {
    if (await isAncestor(repository, result, at))
      return { status: "landed", commit: at, again: true };
    if (!(await isAncestor(repository, at, result))) {
      return {
        status: "moved",
        message: `"${target}" has new commits that the result does not have.`,
      };
    }
    const place = await whereIs(repository, target);
    if (place) return landInCheckout(repository, { target, result, place, signal });
  }
  const moved = await moveRefs(repository, [{ ref, from: at, to: result }]);
  return moved ? { status: "landed", commit: result, again: false } : lost(target);
}

/** @param {string} plan @param {string} target @returns {Landing} */
const gone = (plan, target) => ({
  status: "gone",
  message: `The branch "${target}" was deleted. Make it again and retry the node, or merge ${resultRef(plan)} by hand.`,
});

/** @param {string} plan @param {string} target @param {string} other @returns {Landing} */
const taken = (plan, target, other) => ({
  status: "taken",
  message: `${takenText(target, other)} Rename or delete ${inQuotes(visible(other))}, and retry the node, or merge ${resultRef(plan)} by hand.`,
});

/** @param {string} target @returns {Landing} */
const lost = (target) => ({ status: "lost", message: `"${target}" was moved by somebody else.` });

/**
 * @param {Repository} repository
 * @param {{target: string, result: string, place: NonNullable<Awaited<ReturnType<typeof whereIs>>>, signal?: AbortSignal}} what
 * @returns {Promise<Landing>}
 */
async function landInCheckout(repository, { target, result, place, signal }) {
  const { path, isThere, clean, changed, operation } = place;
  if (!isThere) {
    const advice = `Bring it back, or remove it with git worktree remove --force --force "${path}"`;
    return dirty(target, path, [], "whose folder or .git is gone", advice);
  }
  if (operation) return dirty(target, path, changed, `in the middle of ${operation}`);
  if (!clean) return dirty(target, path, changed, "which has changes");
  const flags = ["--ff-only", "--quiet", "--no-stat", "--no-verify-signatures", "--no-autostash"];
  const limits = { signal, lasting: true, network: true, timeoutMs: CHECKOUT_MS };
  try {
    await repository.change(["merge", ...flags, result], {
      cwd: path,
      env: stayIn(path),
      ...limits,
    });
  } catch (error) {
    const { said } = /** @type {GitError} */ (error);
    if (isGitError(error) && OVERWRITTEN.test(said)) {
      const files = [...said.matchAll(/^\t(.+)$/gm)].map(([, file]) => file);
      return dirty(target, path, files, "whose files would be overwritten");
    }
    if (isGitError(error) && /fast-forward/i.test(said)) return lost(target);
    throw error;
  }
  const [now] = await commitsOf(repository, [branchRef(target)]);
  if (now === result) return { status: "landed", commit: result, again: false, path };
  return lost(target);
}
