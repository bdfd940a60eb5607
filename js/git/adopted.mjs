// What a plan that ran elsewhere needs of a repository: its commits, and refs that keep them.

import { markDeleted } from "./deleted.mjs";
import { GitError } from "./git-error.mjs";
import { without } from "./integration.mjs";
import { checkCommit } from "./names.mjs";
import {
  attemptRef,
  commitsOf,
  deletedRef,
  integrationRef,
  moveRefs,
  planRefs,
  readRefs,
  resultRef,
} from "./refs.mjs";

/** With a number behind it, still an id. */
const MOST_KEPT_ID = 56;

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
 * What another run of the same plan has left here, and what this one must not take for its own, gets refs that an
 * unknown plan would have: they expire as those of a deleted one.
 * @param {Repository} repository @param {string} plan @param {import("./refs.mjs").Ref[]} others
 */
async function setAside(repository, plan, others) {
  for (let number = 1; ; ++number) {
    const apart = `${plan.slice(0, MOST_KEPT_ID)}-${number}`;
    const taken = await readRefs(repository, [planRefs(apart), deletedRef(apart)]);
    if (taken.length > 0) continue;
    await markDeleted(repository, apart);
    return others.flatMap(({ ref, commit }) => [
      { ref: `${planRefs(apart)}${ref.slice(planRefs(plan).length)}`, from: undefined, to: commit },
      { ref, from: commit, to: undefined },
    ]);
  }
}

/**
 * The refs in which leaves wait, without those: nobody has checked them here. Nothing where what is left is not known.
 * @param {Repository} repository @param {string} plan @param {Map<string, string>} there commits by ref
 * @param {{result: string, waiting?: string[]}} landed
 * @returns {Promise<[string, string][]>}
 */
async function landedEnds(repository, plan, there, { result, waiting = [] }) {
  const [ours, theirs] = [integrationRef(plan), resultRef(plan)];
  const held = { integration: there.get(ours), result: there.get(theirs) };
  const { integration, result: left } = await without(repository, held, waiting);
  if (!integration || !left || left !== result) return [];
  return [
    [ours, integration],
    [theirs, left],
  ];
}

/**
 * Each attempt gets the ref that it had where it was made, and no other has one; it is not deleted any more.
 * @param {Repository} repository @param {string} plan @param {Made[]} made
 * @param {{result: string, waiting?: string[]}} [landed] the result that has landed, as far as the plan knows, "" for
 *   none; and commits of leaves that wait on top of it
 * @returns {Promise<() => Promise<void>>} puts all back as it was
 */
export async function keepMade(repository, plan, made, landed = { result: "" }) {
  const refs = await readRefs(repository, [planRefs(plan)]);
  const there = new Map(refs.map(({ ref, commit }) => [ref, commit]));
  const wanted = new Map(
    made.map(({ node, attempt, commit }) => [attemptRef(plan, node, attempt), commit]),
  );
  for (const [ref, commit] of await landedEnds(repository, plan, there, landed)) {
    wanted.set(ref, commit);
  }
  const others = refs.filter(({ ref, commit }) => wanted.get(ref) !== commit);
  /** @type {import("./refs.mjs").Move[]} */
  const set = [...wanted].flatMap(([ref, to]) =>
    there.get(ref) === to ? [] : [{ ref, from: undefined, to }],
  );
  // It is a plan again: no other home may let go of its refs.
  const [deleted] = await commitsOf(repository, [deletedRef(plan)]);
  if (deleted) set.push({ ref: deletedRef(plan), from: deleted, to: undefined });
  const aside = others.length > 0 ? await setAside(repository, plan, others) : [];
  // A ref may go and come: not in one transaction.
  for (const moves of [aside, set]) {
    if (moves.length === 0 || (await moveRefs(repository, moves))) continue;
    throw new GitError("LOST_RACE", "Somebody else has set refs of this plan. Try again.");
  }
  const back = [set, aside].map((moves) =>
    moves.map(({ ref, from, to }) => ({ ref, from: to, to: from })),
  );
  return async () => {
    for (const moves of back) if (moves.length > 0) await moveRefs(repository, moves);
  };
}
