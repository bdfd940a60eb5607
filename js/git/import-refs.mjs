// Imports a plan from a different machine or home: the commits that it needs here, and refs for them.

import path from "node:path";
import { markDeleted } from "./archive.mjs";
import { GitError } from "./errors.mjs";
import { checkCommit } from "./git.mjs";
import { listAdmins, readWorktreeFolder, isOwnedByOther } from "./worktree-admin.mjs";
import {
  attemptRef,
  resolveRefs,
  deletionRef,
  integrationRef,
  moveRefs,
  planRefs,
  readRefs,
  resultRef,
} from "./refs.mjs";

/** @typedef {import("./repository.mjs").Repository} Repository */

/** Short enough for a number behind it. */
const MAX_ID_PREFIX = 56;

/** @typedef {{node: string, attempt: number, commit: string}} AttemptCommit */

/** @param {Repository} repository @param {string[]} commits @returns {Promise<string[]>} those that it does not have */
export async function missingCommits(repository, commits) {
  const all = [...new Set(commits.map(checkCommit))];
  if (all.length === 0) return [];
  const input = all.map((commit) => `${commit}\n`).join("");
  const { stdout } = await repository.query(["cat-file", "--batch-check"], { input });
  const there = new Set(stdout.split("\n").map((line) => line.replace(/ commit \d+$/, "")));
  return all.filter((commit) => !there.has(commit));
}

/**
 * @param {Repository} repository @param {string | undefined} tip of a branch; undefined: it does not exist
 * @param {string[]} commits @returns {Promise<Set<string>>} commits that the branch does not contain
 */
export async function missingOnTarget(repository, tip, commits) {
  const missing = await missingCommits(repository, commits);
  if (tip === undefined) return new Set(commits);
  const there = commits.filter((commit) => !missing.includes(commit));
  const input = [`^${checkCommit(tip)}`, ...there].map((line) => `${line}\n`).join("");
  const { stdout, cut } = await repository.query(["rev-list", "--stdin"], { input, cuts: true });
  if (cut) return new Set(commits); // the branch has a different history: check all landed commits again
  const beyond = new Set(stdout.split("\n"));
  return new Set([...missing, ...there.filter((commit) => beyond.has(commit))]);
}

/**
 * Moves refs of an earlier run of the same plan to the name of an unknown, deleted plan, so that they expire, and this
 * run does not use them.
 * @param {Repository} repository @param {string} plan @param {import("./refs.mjs").Ref[]} others
 */
async function setAside(repository, plan, others) {
  for (let number = 1; ; ++number) {
    const apart = `${plan.slice(0, MAX_ID_PREFIX)}-${number}`;
    const taken = await readRefs(repository, [planRefs(apart), deletionRef(apart)]);
    if (taken.length > 0) continue;
    await markDeleted(repository, apart);
    return others.flatMap(({ ref, commit }) => [
      { ref: `${planRefs(apart)}${ref.slice(planRefs(plan).length)}`, from: undefined, to: commit },
      { ref, from: commit, to: undefined },
    ]);
  }
}

/**
 * A different home may run the plan here: its refs must not be moved.
 * @param {Repository} repository @param {string} plan
 * @param {{others: import("./refs.mjs").Ref[], isDeleted: boolean}} found others: refs that would be moved
 */
async function requireNoOther(repository, plan, { others, isDeleted }) {
  const made = others.find(({ ref }) => ![integrationRef(plan), resultRef(plan)].includes(ref));
  let problem = made && !isDeleted ? `has ${made.ref} here, which the file does not know` : "";
  for (const admin of await listAdmins(repository)) {
    const folder = path.basename(await readWorktreeFolder(admin));
    if (!folder.startsWith(`${plan}-`) || !(await isOwnedByOther(admin, repository.owner)))
      continue;
    problem = `has the worktree ${folder} here, made from a different COPILOT_HOME`;
  }
  if (problem === "") return;
  throw new GitError(
    "PLAN_ELSEWHERE",
    `Plan "${plan}" ${problem}: it may be running there. Delete it there first, or, if it runs nowhere, delete the refs below ${planRefs(plan)}/.`,
  );
}

/**
 * Each attempt gets the ref that it had where it was made. Results to land get no ref: nobody checked them here, so tap
 * makes them again. The plan is no longer marked as deleted.
 * @param {Repository} repository @param {string} plan @param {AttemptCommit[]} made
 * @returns {Promise<() => Promise<void>>} restores the refs of before
 */
export async function importRefs(repository, plan, made) {
  const refs = await readRefs(repository, [planRefs(plan)]);
  const there = new Map(refs.map(({ ref, commit }) => [ref, commit]));
  const wanted = new Map(
    made.map(({ node, attempt, commit }) => [attemptRef(plan, node, attempt), commit]),
  );
  const others = refs.filter(({ ref, commit }) => wanted.get(ref) !== commit);
  /** @type {import("./refs.mjs").Move[]} */
  const set = [...wanted].flatMap(([ref, to]) =>
    there.get(ref) === to ? [] : [{ ref, from: undefined, to }],
  );
  // The plan exists again: other homes must not expire its refs.
  const [deleted] = await resolveRefs(repository, [deletionRef(plan)]);
  await requireNoOther(repository, plan, { others, isDeleted: deleted !== undefined });
  if (deleted) set.push({ ref: deletionRef(plan), from: deleted, to: undefined });
  const aside = others.length > 0 ? await setAside(repository, plan, others) : [];
  // Both lists may have the same ref, so they are two transactions.
  for (const moves of [aside, set]) {
    if (moves.length === 0 || (await moveRefs(repository, moves))) continue;
    throw new GitError("REF_CHANGED", "A different program set refs of this plan. Try again.");
  }
  const back = [set, aside].map((moves) =>
    moves.map(({ ref, from, to }) => ({ ref, from: to, to: from })),
  );
  return async () => {
    for (const moves of back) if (moves.length > 0) await moveRefs(repository, moves);
  };
}
