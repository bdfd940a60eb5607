// What a plan that ran elsewhere needs of a repository: its commits, and refs that keep them.

import { GitError } from "./git-error.mjs";
import { checkCommit } from "./names.mjs";
import { attemptRef, moveRefs, planRefs, readRefs } from "./refs.mjs";

/** @typedef {import("./repository.mjs").Repository} Repository */
/** @typedef {{node: string, attempt: number, commit: string}} Made */

/** @param {Repository} repository @param {string[]} commits @returns {Promise<string[]>} those that it does not have */
export async function missingCommits(repository, commits) {
  const all = [...new Set(commits.map(checkCommit))];
  if (all.length === 0) return [];
  const input = all.map((one) => `${one}\n`).join("");
  const { stdout } = await repository.ask(["cat-file", "--batch-check"], { input });
  const there = new Set(stdout.split("\n").map((line) => line.replace(/ commit \d+$/, "")));
  return all.filter((one) => !there.has(one));
}

/**
 * Each gets the ref that it had where it was made.
 * @param {Repository} repository @param {string} plan @param {Made[]} made
 */
export async function keepMade(repository, plan, made) {
  const wanted = new Map(
    made.map(({ node, attempt, commit }) => [attemptRef(plan, node, attempt), commit]),
  );
  const refs = await readRefs(repository, [planRefs(plan)]);
  const there = new Map(refs.map(({ ref, commit }) => [ref, commit]));
  const moves = [...wanted].flatMap(([ref, to]) => {
    if (!there.has(ref)) return [{ ref, from: undefined, to }];
    if (there.get(ref) === to) return [];
    throw new GitError("EXISTS", `"${ref}" is another commit here than in the plan.`);
  });
  if (moves.length === 0 || (await moveRefs(repository, moves))) return;
  throw new GitError("LOST_RACE", "Somebody else has set refs of this plan. Try again.");
}
