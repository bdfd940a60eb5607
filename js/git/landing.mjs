// The target follows the result of its plan, by fast-forward. Where it is checked out, git moves it in that checkout,
// if nothing is changed there; elsewhere the ref is moved.

import { inQuotes, visible } from "../base/visible.mjs";
import { endBegun, fastForward, inTurnOn } from "./begun-landing.mjs";
import { checkoutsWith, stateOf } from "./checkouts.mjs";
import { takenBy, takenText } from "./free-name.mjs";
import { GitError, isGitError, someOf } from "./git-error.mjs";
import { isAncestor } from "./merges.mjs";
import { checkBranch, checkCommit } from "./names.mjs";
import { headFile, nonceOf } from "./ownership.mjs";
import { branchRef, commitsOf, moveRefs, resultRef } from "./refs.mjs";

const CHANGED = /local changes/i;
const UNTRACKED = /untracked working tree files|would lose untracked files/i;

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
const NODES = "a worktree of a node";
const NODES_ADVICE = "Let that node end, or run git checkout --detach there";

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
export function land(repository, what) {
  checkBranch(what.target, "targetBranch");
  const work = async () => {
    const left = await endBegun(repository, what.target, what.signal);
    const landing = await landInTurn(repository, what);
    if (left === "" || landing.status !== "dirty") return landing;
    return { ...landing, message: `${landing.message} ${left}` };
  };
  return inTurnOn(repository, what.target, work, what.signal);
}

/** @param {Repository} repository @param {Parameters<typeof land>[1]} what @returns {Promise<Landing>} */
async function landInTurn(repository, { plan, target, create = false, expect, signal }) {
  const ref = branchRef(target);
  const [at, result] = await commitsOf(repository, [ref, resultRef(plan)]);
  if (result === undefined) {
    throw new GitError("NOTHING_TO_LAND", `Plan "${plan}" has no result to land.`);
  }
  if (expect !== undefined && result !== expect) {
    const message = `The result of plan "${plan}" was moved by somebody else.`;
    return { status: "lost", message };
  }
  if (at === undefined) {
    if (!create) return gone(target, result);
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
    const places = await checkoutsWith(repository, target);
    if (places.length > 0) {
      const refused = await refusalOf(repository, target, places);
      return refused ?? landInCheckout(repository, places[0], { target, at, result, signal });
    }
  }
  const moved = await moveRefs(repository, [{ ref, from: at, to: result }]);
  return moved ? { status: "landed", commit: result, again: false } : lost(target);
}

/** @param {string} target @param {string} result @returns {Landing} */
const gone = (target, result) => ({
  status: "gone",
  message: `The branch "${target}" was deleted. To make it again with all that waits for it: git branch "${target}" ${result}`,
});

/** @param {string} plan @param {string} target @param {string} other @returns {Landing} */
const taken = (plan, target, other) => ({
  status: "taken",
  message: `${takenText(target, other)} Rename or delete ${inQuotes(visible(other))}, and retry the node, or merge ${resultRef(plan)} by hand.`,
});

/** @param {string} target @returns {Landing} */
const lost = (target) => ({ status: "lost", message: `"${target}" was moved by somebody else.` });

/** @param {Repository} repository @param {string} target @param {import("./checkouts.mjs").Holder[]} places @returns {Promise<Landing | undefined>} */
async function refusalOf(repository, target, places) {
  for (const { path, gitDir } of places) {
    const isOwn = gitDir && (await nonceOf(gitDir)) !== "";
    if (isOwn) return dirty(target, path, [], NODES, NODES_ADVICE);
  }
  const [{ path }, other] = places;
  if (other) {
    const advice = "Check out something else in one of them";
    return dirty(target, path, [], `and in "${other.path}"`, advice);
  }
  const { isThere, clean, changed, operation } = await stateOf(repository, places[0]);
  if (!isThere) {
    const advice = `Bring it back, or remove it with git worktree remove --force --force "${path}"`;
    return dirty(target, path, [], "whose folder or .git is gone", advice);
  }
  if (operation) return dirty(target, path, changed, `in the middle of ${operation}`);
  return clean ? undefined : dirty(target, path, changed, "which has changes");
}

/** @param {string} target @param {string} path @param {unknown} error @returns {Landing | undefined} */
function refusalBy(target, path, error) {
  if (!isGitError(error, "GIT_FAILED")) return undefined;
  const { said } = /** @type {GitError} */ (error);
  if (/fast-forward/i.test(said)) return lost(target);
  const isUntracked = UNTRACKED.test(said);
  if (!isUntracked && !CHANGED.test(said)) return undefined;
  const files = [...said.matchAll(/^\t(.+)$/gm)].map(([, file]) => file.trim());
  const all = someOf(files);
  if (!isUntracked) return dirty(target, path, files, `which has changes in ${all}`);
  const why = `where the landing would overwrite ${all}, which git does not track`;
  return dirty(target, path, files, why, "Move that away");
}

/**
 * @param {Repository} repository @param {import("./checkouts.mjs").Holder} place that is clean
 * @param {{target: string, at: string, result: string, signal?: AbortSignal}} what
 * @returns {Promise<Landing>}
 */
async function landInCheckout(repository, { path, gitDir = "" }, { target, at, result, signal }) {
  if (signal?.aborted) throw new GitError("CANCELLED", "The landing was cancelled.");
  // Git moves whatever is checked out.
  if ((await headFile(gitDir)) !== `ref: ${branchRef(target)}`) return lost(target);
  const refusal = (/** @type {unknown} */ error) => refusalBy(target, path, error);
  try {
    const what = { target, path, gitDir, from: at, to: result };
    await fastForward(repository, what, (error) => refusal(error) !== undefined);
  } catch (error) {
    const refused = refusal(error);
    if (refused) return refused;
    throw error;
  }
  const [now] = await commitsOf(repository, [branchRef(target)]);
  if (now === result) return { status: "landed", commit: result, again: false, path };
  const head = await headFile(gitDir);
  if (head === `ref: ${branchRef(target)}`) return lost(target);
  const text = `Another branch was checked out in "${path}" in the moment in which "${target}" was to land there, and may have the result now. If it does: git reset --keep ORIG_HEAD. Then try again.`;
  throw new GitError("LOST_RACE", text, { path });
}
