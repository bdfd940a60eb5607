// What a node has found, in place of changes or beside them: a file of JSON, `{summary, findings}`.

import { messageOf } from "../../base/errors.mjs";
import { visible } from "../../base/visible.mjs";

const MOST_BYTES = 32 * 1024;
const MOST_SUMMARY = 4000;

/** @typedef {import("./node-run.mjs").NodeRun} NodeRun */
/** @typedef {{summary: string, findings: unknown[]}} Evidence */
/** problem: why what is there is none; "": nothing is there @typedef {{evidence?: Evidence, problem?: string}} Found */

/** @param {string} node */
const fileOf = (node) => `.orchestrator/evidence/${node}.json`;

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
  return { evidence: { summary: summary.slice(0, MOST_SUMMARY), findings: all } };
}

/** @param {string} node its id @param {string} problem of its evidence; "": it has none */
export function noEvidenceText(node, problem) {
  const head = "There is no evidence of work: nothing was changed";
  const file = fileOf(node);
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
    if (name === "GitError") return { problem: visible(message) };
    return { problem: `it is no regular file, or has more than ${MOST_BYTES / 1024} KB` };
  }
}

/** For the log of a node that has changed something. @param {string} node @param {string} problem */
export const ignoredText = (node, problem) =>
  problem === "" ? "" : `${fileOf(node)} is no evidence: ${problem}`;
