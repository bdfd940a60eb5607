// Whether a branch can be made: git has none of a name below another one, `main/sub` beside `main`.

import { inQuotes, visible } from "../base/visible.mjs";
import { GitError } from "./git-error.mjs";
import { checkBranch } from "./names.mjs";
import { branchRef, readRefs } from "./refs.mjs";

/** @typedef {import("./repository.mjs").Repository} Repository */

/** @param {string} branch @returns {string[]} what it would be below: of `a/b/c` it is `a` and `a/b` */
const above = (branch) =>
  branch
    .split("/")
    .slice(0, -1)
    .map((_, at, parts) => parts.slice(0, at + 1).join("/"));

/**
 * @param {string} branch @param {string[]} branches that there are
 * @returns {string | undefined} the one in its way
 */
export const inTheWay = (branch, branches) =>
  branches.includes(branch)
    ? undefined
    : branches.find((one) => above(branch).includes(one) || one.startsWith(`${branch}/`));

/** @param {string} branch @param {string} other */
export const takenText = (branch, other) =>
  `${inQuotes(visible(branch))} cannot be made while there is the branch ${inQuotes(visible(other))}: git has no branch below another one.`;

/** @param {Repository} repository @param {string} branch checked @returns {Promise<string | undefined>} the one in its way */
export async function takenBy(repository, branch) {
  const refs = await readRefs(repository, [branch, ...above(branch)].map(branchRef));
  const heads = branchRef("").length;
  return inTheWay(
    branch,
    refs.map(({ ref }) => ref.slice(heads)),
  );
}

/** @param {Repository} repository @param {string} target @throws {GitError} where it is not there and cannot be made */
export async function requireFreeName(repository, target) {
  const other = await takenBy(repository, checkBranch(target, "targetBranch"));
  if (other === undefined) return;
  throw new GitError("NAME_TAKEN", `${takenText(target, other)} Choose another targetBranch.`);
}
