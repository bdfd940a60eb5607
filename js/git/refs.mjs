// The refs of plans: their names, reading them, and moving several at once, each from its expected value.

import { GitError, isGitError } from "./errors.mjs";
import { checkAttempt, checkCommit, checkId, checkRef } from "./git.mjs";

/** @typedef {import("./repository.mjs").Repository} Repository */

const ROOT = "refs/tap";
/** A plan or a node with such an id gets a ref name that no id can have. */
const RESERVED_PLAN_IDS = ["kept", "deleted"];
const RESERVED_NODE_IDS = ["integration", "result"];
/** @param {string} id @param {string[]} taken */
const escapeReserved = (id, taken) => (taken.includes(id.toLowerCase()) ? `+${id}` : id);
/** @param {unknown} plan */
const planPart = (plan) => escapeReserved(checkId(plan, "plan"), RESERVED_PLAN_IDS);
/** @param {unknown} node */
const nodePart = (node) => escapeReserved(checkId(node, "node"), RESERVED_NODE_IDS);

/** All refs of a plan are below it. @param {string} plan */
export const planRefs = (plan) => `${ROOT}/${planPart(plan)}`;
/** The commit of an attempt. @param {string} plan @param {string} node @param {number} attempt */
export const attemptRef = (plan, node, attempt) =>
  `${planRefs(plan)}/${nodePart(node)}/${checkAttempt(attempt)}`;
/** The leaves, merged with true parents. @param {string} plan */
export const integrationRef = (plan) => `${planRefs(plan)}/integration`;
/** The next commits of the target: a squash commit for each leaf. @param {string} plan */
export const resultRef = (plan) => `${planRefs(plan)}/result`;
/** Snapshots of removed worktrees. */
export const ARCHIVES = `${ROOT}/kept`;
/** @param {string} plan @param {string} node */
export const archiveRef = (plan, node) =>
  `${ARCHIVES}/${checkId(plan, "plan")}/${checkId(node, "node")}`;

/** When plans were deleted. */
export const DELETIONS = `${ROOT}/deleted`;
/** @param {string} plan */
export const deletionRef = (plan) => `${DELETIONS}/${checkId(plan, "plan")}`;

/** @param {string} branch checked */
export const branchRef = (branch) => `refs/heads/${branch}`;

/**
 * @typedef {object} Ref
 * @property {string} ref
 * @property {string} commit the object, or the target of a tag
 * @property {number} at commit time, ms since 1970; 0: it is not a commit
 * @property {string} target the ref that a symbolic ref points to, or ""
 * @property {string} upstream the ref that a branch follows, or ""
 */

const FIELDS = [
  ...["refname", "objecttype", "objectname", "*objecttype", "*objectname"],
  ...["committerdate:unix", "symref", "upstream"],
];

/**
 * @param {Repository} repository
 * @param {string[]} patterns refs, prefixes of refs, or patterns with * in a part
 * @returns {Promise<Ref[]>} the commits among them
 */
export async function readRefs(repository, patterns) {
  const format = FIELDS.map((field) => `%(${field})`).join("%09");
  const { stdout } = await repository.query([
    "for-each-ref",
    `--format=${format}`,
    "--",
    ...patterns,
  ]);
  return stdout.split("\n").flatMap((line) => {
    const [ref, type, object, pointsTo, pointed, at, target, upstream] = line.split("\t");
    const commit = type === "commit" ? object : pointsTo === "commit" ? pointed : undefined;
    return commit === undefined ? [] : [{ ref, commit, at: Number(at) * 1000, target, upstream }];
  });
}

/** @param {Repository} repository @param {string[]} refs @returns {Promise<(string | undefined)[]>} their commits */
export async function resolveRefs(repository, refs) {
  const found = new Map((await readRefs(repository, refs)).map(({ ref, commit }) => [ref, commit]));
  return refs.map((ref) => found.get(ref));
}

/** @typedef {{ref: string, from: string | undefined, to: string | undefined}} Move undefined: it does not exist */

/**
 * Moves all of the refs, or leaves all unchanged.
 * @param {Repository} repository
 * @param {Move[]} moves
 * @returns {Promise<boolean>} false: a ref does not have its expected value
 */
export async function moveRefs(repository, moves) {
  const zeros = "0".repeat(repository.hexDigits);
  const value = (/** @type {string | undefined} */ commit) =>
    commit ? checkCommit(commit) : zeros;
  const lines = moves.map(({ ref, from, to }) => {
    const [old, next] = [value(from), value(to)];
    return to === undefined
      ? `delete ${checkRef(ref)}\0${old}\0`
      : `update ${checkRef(ref)}\0${next}\0${old}\0`;
  });
  const args = ["update-ref", "--no-deref", "-m", "tap", "--stdin", "-z"];
  try {
    await repository.change(args, { input: lines.join("") });
    return true;
  } catch (error) {
    if (isGitError(error, "REF_CHANGED")) return false;
    throw error;
  }
}

/**
 * Sets a ref that only this code sets. A second call finds it set.
 * @param {Repository} repository @param {string} ref @param {string} commit
 */
export async function setRefOnce(repository, ref, commit) {
  if (await moveRefs(repository, [{ ref, from: undefined, to: commit }])) return;
  const [there] = await resolveRefs(repository, [ref]);
  if (there === commit) return;
  throw new GitError(
    "REF_CHANGED",
    `"${ref}" ${there ? `is at ${there}` : "does not exist"}; expected ${commit}.`,
  );
}

/** @param {Repository} repository @param {{plan: string, node: string, attempt: number}} of @param {string} commit */
export const setAttemptRef = (repository, { plan, node, attempt }, commit) =>
  setRefOnce(repository, attemptRef(plan, node, attempt), commit);

/**
 * Deletes refs below a prefix whose commits are older.
 * @param {Repository} repository @param {string} below ARCHIVES, or planRefs(id) @param {number} before ms since 1970
 * @returns {Promise<string[]>} the deleted refs
 */
export async function expireRefs(repository, below, before) {
  if (!checkRef(below).startsWith(`${ROOT}/`)) {
    throw new GitError("INVALID", `"${below}" is not below ${ROOT}/.`);
  }
  const old = (await readRefs(repository, [below])).filter(({ at }) => at < before);
  /** @type {string[]} */
  const gone = [];
  for (const { ref, commit } of old) {
    if (await moveRefs(repository, [{ ref, from: commit, to: undefined }])) gone.push(ref);
  }
  return gone;
}
