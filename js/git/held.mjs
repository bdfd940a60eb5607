// What the refs of a plan hold: leaves, of which the last ones can be taken out again, so that nothing lands with them.

import { isAncestor } from "./merges.mjs";
import { checkCommit } from "./names.mjs";
import { branchRef, commitsOf, integrationRef, moveRefs, resultRef } from "./refs.mjs";

/** Of the integration, for each leaf that is taken out: its merge, its squash commit, and a merge of the target. */
const STEPS = 3;

/** @typedef {import("./repository.mjs").Repository} Repository */
/** @typedef {{integration: string | undefined, result: string | undefined}} Held */
/** @typedef {Map<string, string[]>} Parents by commit */

/**
 * A commit and those before it, along their first parents.
 * @param {Repository} repository @param {string} commit @param {number} most @returns {Promise<[string, string[]][]>}
 */
async function lineOf(repository, commit, most) {
  const args = ["rev-list", "--first-parent", "--parents", `--max-count=${most}`];
  const { stdout } = await repository.ask([...args, checkCommit(commit)]);
  const lines = stdout.trim().split("\n");
  return lines.map((line) => {
    const [one, ...parents] = line.split(" ");
    return [one, parents];
  });
}

/**
 * Both refs as they were before the last of some leaves.
 * @param {Parents} parents @param {Held} held @param {Set<string>} leaves
 * @returns {Held | undefined} undefined: none of them is the last in the refs
 */
function withoutLast(parents, { integration, result }, leaves) {
  const of = (/** @type {string | undefined} */ commit) => parents.get(String(commit)) ?? [];
  const [merge, squash] = of(integration);
  const [tip, ...others] = squash === result ? of(result) : [];
  if (others.length > 0) return undefined;
  // A leaf that changes nothing has no squash commit.
  const [before, merged] = tip ? of(merge) : [merge, squash];
  return leaves.has(merged) ? { integration: before, result: tip ?? result } : undefined;
}

/**
 * Both refs as they would be without some leaves, as far as these are the last ones in them. No ref is moved.
 * @param {Repository} repository @param {Held} held @param {string[]} leaves commits
 * @returns {Promise<Held>}
 */
export async function without(repository, held, leaves) {
  const { integration, result } = held;
  if (!integration || !result || leaves.length === 0) return held;
  const most = leaves.length + 1;
  const lines = [
    await lineOf(repository, integration, STEPS * most),
    await lineOf(repository, result, most),
  ];
  const parents = new Map(lines.flat());
  const wanted = new Set(leaves);
  /** @type {Held | undefined} */
  let now = held;
  for (let next; (next = withoutLast(parents, now, wanted));) now = next;
  return now;
}

/**
 * Takes leaves that have not landed out of the refs, so that no later leaf carries them along. Does nothing if they are
 * on the target, or if another leaf came after them. Where somebody else moves the refs, that stands.
 * @param {Repository} repository
 * @param {{plan: string, target: string, leaves: string[], create?: boolean}} asked leaves: commits; create: the plan
 *   makes the target, which may not be there yet. Else nothing is done without it: the result is all that there is
 * @returns {Promise<boolean>} whether anything was taken out
 */
export async function takeOut(repository, { plan, target, leaves, create = false }) {
  const refs = [branchRef(target), integrationRef(plan), resultRef(plan)];
  const [at, integration, result] = await commitsOf(repository, refs);
  if (!integration || !result || (!at && !create)) return false;
  if (at && (await isAncestor(repository, result, at))) return false;
  const next = await without(repository, { integration, result }, leaves.map(checkCommit));
  const moves = [
    { ref: refs[1], from: integration, to: next.integration },
    { ref: refs[2], from: result, to: next.result },
  ].filter(({ from, to }) => from !== to);
  return moves.length > 0 && moveRefs(repository, moves);
}

/**
 * What would land, and whether it may land as it is: the target has it, or is where the leaves that wait were put on
 * it. All else in the result has landed, and a target without it has lost it since.
 * @param {Repository} repository
 * @param {{plan: string, target: string, waiting: () => string[], apart?: () => boolean}} asked as of `integrate`
 * @returns {Promise<{result: string | undefined, follows: boolean}>}
 */
export async function resultOf(repository, { plan, target, waiting, apart }) {
  const refs = [branchRef(target), integrationRef(plan), resultRef(plan)];
  const [at, integration, result] = await commitsOf(repository, refs);
  if (!result) return { result, follows: false };
  if (!at || (await isAncestor(repository, result, at))) return { result, follows: true };
  const { result: base } = await without(repository, { integration, result }, waiting());
  const follows = base === at || (!apart?.() && (await isOn(repository, base, at)));
  return { result, follows };
}

/** @param {Repository} repository @param {string | undefined} base @param {string} at */
export const isOn = async (repository, base, at) =>
  base !== undefined && (await isAncestor(repository, base, at));
