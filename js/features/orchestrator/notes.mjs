// What is worth knowing of a plan that has no mistakes, before it runs.

import { inLine, visible } from "../../base/visible.mjs";

const MOST_NAMED = 5;

/** @param {string[]} names */
const some = (names) =>
  visible(names.slice(0, MOST_NAMED).map(inLine).join(", ")) +
  (names.length > MOST_NAMED ? ", …" : "");

/** @param {string[]} changed files of the user's checkout @returns {string[]} */
export function uncommittedNotes(changed) {
  if (changed.length === 0) return [];
  const count = `${changed.length} uncommitted ${changed.length === 1 ? "change" : "changes"}`;
  return [`your checkout has ${count} (${some(changed)}); no worktree of the plan has them`];
}

/** @param {Record<string, string[]>} missing of a checkout, by the field that names them @returns {string[]} */
export const missingNotes = (missing) =>
  Object.entries(missing)
    .filter(([, names]) => names.length > 0)
    .map(
      ([field, names]) =>
        `${field}: your checkout does not have ${some(names)}; unless that changes, no worktree gets it`,
    );
