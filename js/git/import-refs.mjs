// What a plan that ran elsewhere needs of a repository: its commits, and refs that keep them.

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

/** With a number behind it, still an id. */
const MAX_ID_PREFIX = 56;

/** @typedef {{node: string, attempt: number, commit: string}} AttemptCommit */

/** @param {Repository} repository @param {string[]} commits @returns {Promise<string[]>} those that it does not have */
export async function missingCommits(repository, commits) {
  const all = [...new Set(commits.map(checkCommit))];
  if (all.length === 0) return [];
  const input = all.map((one) => `${one}\n`).join("");
  const { stdout } = await repository.query(["cat-file", "--batch-check"], { input });
  const there = new Set(stdout.split("\n").map((line) => line.replace(/ commit \d+$/, "")));
  return all.filter((one) => !there.has(one));
}

/**
 * @param {Repository} repository @param {string | undefined} tip of a branch; undefined: it is not there
 * @param {string[]} commits @returns {Promise<Set<string>>} those that the branch does not have
 */
export async function missingOnTarget(repository, tip, commits) {
  const missing = await missingCommits(repository, commits);
  if (tip === undefined) return new Set(commits);
  const there = commits.filter((one) => !missing.includes(one));
  const input = [`^${checkCommit(tip)}`, ...there].map((line) => `${line}\n`).join("");
  const { stdout, cut } = await repository.query(["rev-list", "--stdin"], { input, cuts: true });
  if (cut) return new Set(commits); // a branch with another history: what landed is checked again
  const beyond = new Set(stdout.split("\n"));
  return new Set([...missing, ...there.filter((one) => beyond.has(one))]);
}

/**
 * What another run of the same plan has left here, and what this one must not take for its own, gets refs that an
 * unknown plan would have: they expire as those of a deleted one.
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
 * Another home may go on with the plan here: what it has is not moved away beneath it.
 * @param {Repository} repository @param {string} plan
 * @param {{others: import("./refs.mjs").Ref[], isDeleted: boolean}} found others: what would be moved
 */
async function requireNoOther(repository, plan, { others, isDeleted }) {
  const made = others.find(({ ref }) => ![integrationRef(plan), resultRef(plan)].includes(ref));
  let what = made && !isDeleted ? `has ${made.ref} here, which the file does not know` : "";
  for (const admin of await listAdmins(repository)) {
    const folder = path.basename(await readWorktreeFolder(admin));
    if (!folder.startsWith(`${plan}-`) || !(await isOwnedByOther(admin, repository.owner)))
      continue;
    what = `has the worktree ${folder} here, made from another COPILOT_HOME`;
  }
  if (what === "") return;
  throw new GitError(
    "PLAN_ELSEWHERE",
    `Plan "${plan}" ${what}: it may go on there. Delete it there first, or, if it goes on nowhere, delete the refs below ${planRefs(plan)}/.`,
  );
}

/**
 * Each attempt gets the ref that it had where it was made. Nothing else gets one: nobody has checked here what is to
 * land, so it is made again. The plan is no longer marked as deleted.
 * @param {Repository} repository @param {string} plan @param {AttemptCommit[]} made
 * @returns {Promise<() => Promise<void>>} puts all back as it was
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
  // It is a plan again: no other home may let go of its refs.
  const [deleted] = await resolveRefs(repository, [deletionRef(plan)]);
  await requireNoOther(repository, plan, { others, isDeleted: deleted !== undefined });
  if (deleted) set.push({ ref: deletionRef(plan), from: deleted, to: undefined });
  const aside = others.length > 0 ? await setAside(repository, plan, others) : [];
  // A ref may go and come: not in one transaction.
  for (const moves of [aside, set]) {
    if (moves.length === 0 || (await moveRefs(repository, moves))) continue;
    throw new GitError("REF_CHANGED", "Somebody else has set refs of this plan. Try again.");
  }
  const back = [set, aside].map((moves) =>
    moves.map(({ ref, from, to }) => ({ ref, from: to, to: from })),
  );
  return async () => {
    for (const moves of back) if (moves.length > 0) await moveRefs(repository, moves);
  };
}
