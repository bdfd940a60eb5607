// Plans that were deleted: refs/tap/deleted/<plan> says when, and what the plan had committed keeps its refs for a
// while.

import { KEPT_MS } from "./kept.mjs";
import { commitsOf, DELETED, deletedRef, moveRefs, planRefs, readRefs } from "./refs.mjs";

/** @typedef {import("./repository.mjs").Repository} Repository */

/** Only one host has a plan, so nobody else moves this ref. @param {Repository} repository @param {string} plan */
export async function markDeleted(repository, plan) {
  const ref = deletedRef(plan);
  const tree = await repository.change(["mktree"], { input: "" });
  const input = `Plan ${plan} was deleted\n`;
  const { stdout } = await repository.change(["commit-tree", tree.stdout.trim()], { input });
  const [from] = await commitsOf(repository, [ref]);
  await moveRefs(repository, [{ ref, from, to: stdout.trim() }]);
}

/**
 * Lets go of what plans had committed that were deleted long ago.
 * @param {Repository} repository
 * @param {{now: number, ms?: number, isThere: (plan: string) => boolean}} when isThere: it was not deleted after all, or
 *   has been imported since
 * @returns {Promise<string[]>} the refs that were deleted
 */
export async function expireDeleted(repository, { now, ms = KEPT_MS, isThere }) {
  /** @type {string[]} */
  const gone = [];
  for (const { ref, commit, at } of await readRefs(repository, [DELETED])) {
    const plan = ref.slice(DELETED.length + 1);
    if (at >= now - ms || plan.includes("/") || isThere(plan)) continue;
    const refs = [...(await readRefs(repository, [planRefs(plan)])), { ref, commit }];
    const moves = refs.map((one) => ({ ref: one.ref, from: one.commit, to: undefined }));
    if (await moveRefs(repository, moves)) gone.push(...refs.map((one) => one.ref));
  }
  return gone;
}
