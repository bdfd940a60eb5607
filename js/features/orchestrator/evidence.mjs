// What a node has found, in place of changes or beside them: a file of JSON, `{summary, findings}`.

import { messageOf } from "../../base/errors.mjs";
import { shownLine, shownLines } from "../../base/redact.mjs";
import { inLine, visible } from "../../base/visible.mjs";

const MOST_BYTES = 32 * 1024;
const MOST_SUMMARY = 4000;
const MOST_NAMED = 5;
const MOST_DEPTH = 32;

/** @typedef {import("./node-run.mjs").NodeRun} NodeRun */
/** @typedef {import("../../git/left-commits.mjs").Left} Left */
/** @typedef {{summary: string, findings: unknown[]}} Evidence */
/** problem: why the file cannot be used; "": there is no file @typedef {{evidence?: Evidence, problem?: string}} Found */

/** @param {string} node */
const fileOf = (node) => `.orchestrator/evidence/${node}.json`;

/** The same with its escapes made visible. @param {any} value of JSON @param {number} [depth] @returns {any} */
function shown(value, depth = 0) {
  if (typeof value === "string") return shownLines(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth === MOST_DEPTH) return "…";
  const inner = (/** @type {any} */ one) => shown(one, depth + 1);
  if (Array.isArray(value)) return value.map(inner);
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [shownLine(key), inner(one)]),
  );
}

/** @param {string} text hostile @returns {Found} */
export function readEvidence(text) {
  /** @type {any} */
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { problem: `it is not JSON (${visible(messageOf(error))})` };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { problem: "it is not an object" };
  }
  const { summary, findings } = value;
  if (typeof summary !== "string" || summary.trim() === "") {
    return { problem: "it has no text as `summary`" };
  }
  const all = Array.isArray(findings) ? findings : [];
  return {
    evidence: { summary: shownLines(summary).slice(0, MOST_SUMMARY), findings: shown(all) },
  };
}

/** @param {Left} left @returns {string} what it has made and does not count, and where it is */
export function leftText({ commits, branches, ref }) {
  const some = commits.slice(-MOST_NAMED).map((one) => one.slice(0, 10));
  const names = branches.slice(0, MOST_NAMED).map((one) => visible(inLine(one)));
  const more = commits.length > MOST_NAMED ? "…, " : "";
  const made = `${commits.length === 1 ? "the commit" : `${commits.length} commits`} (${more}${some.join(", ")})`;
  const where = names.length > 0 ? `on the branch ${names.join(", ")}` : "on no branch";
  return `it made ${made} ${where} and then checked out another one; ${ref} keeps that`;
}

/**
 * @param {string} node its id @param {string} problem of its evidence; "": it has none
 * @param {Left} [left] commits that it has made and left
 */
export function noEvidenceText(node, problem, left) {
  const head = "There is no evidence of work: nothing was changed";
  const file = fileOf(node);
  if (left) {
    return `${head} where the work ended, but ${leftText(left)}. Let the work end on its last commit, or merge that there.`;
  }
  if (problem === "") {
    return `${head}. Where that is right, set expectsNoChanges, or write ${file} with a summary.`;
  }
  return `${head}, and ${file} is there, but ${problem}. Where that is right, correct the file, or set expectsNoChanges.`;
}

/** @param {NodeRun} run @returns {Promise<{evidence?: Evidence, problem: string}>} */
export async function evidenceOf({ git, worktree, node }) {
  try {
    const { evidence, problem = "" } = readEvidence(
      await git.readInside(worktree, fileOf(node.id), MOST_BYTES),
    );
    return { evidence, problem };
  } catch (error) {
    const { name, cause, message } = /** @type {any} */ (error);
    if (cause?.code === "ENOENT" || cause?.code === "ENOTDIR") return { problem: "" };
    if (name === "GitError") return { problem: visible(message).replace(/\.$/, "") };
    return { problem: `it is no regular file, or has more than ${MOST_BYTES / 1024} KB` };
  }
}

/** For the log of a node that has succeeded nevertheless. @param {string} node @param {string} problem @param {Left} [left] */
export const ignoredText = (node, problem, left) =>
  [
    ...(problem === "" ? [] : [`${fileOf(node)} cannot be used as evidence: ${problem}`]),
    ...(left ? [`not in its commit: ${leftText(left)}`] : []),
  ].join("\n");
