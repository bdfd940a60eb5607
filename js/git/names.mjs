// What goes into a command line of git or into a ref is checked here first: names of branches and refs, ids of plans
// and nodes, commits, paths, messages.

import { randomBytes } from "node:crypto";
import { visible } from "../base/visible.mjs";
import { GitError } from "./git-error.mjs";

/** What agents leave there is evidence and no part of the work. */
export const EVIDENCE = ".orchestrator";

const MOST_NAME = 200;
const MOST_MESSAGE = 64 * 1024;
const MOST_PATH = 1024;
const ID = /^[a-zA-Z0-9_-]{1,64}$/;
const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
/** The characters and sequences that `git check-ref-format` refuses. */
// eslint-disable-next-line no-control-regex
const NOT_IN_REF = /[\u0000-\u0020\u007f~^:?*[\\]|\.\.|@\{|\/\/|^\/|\/$|\.$/;
const BAD_PART = /^\.|\.lock$/i;

/** @param {string} what @param {unknown} value @param {string} why */
const invalid = (what, value, why) =>
  new GitError(
    "INVALID",
    `${what}: ${visible(JSON.stringify(value) ?? "nothing").slice(0, 200)} ${why}`,
  );

/** @param {string} what @param {unknown} value @param {number} most @returns {string} */
function text(what, value, most) {
  if (typeof value !== "string" || value === "") throw invalid(what, value, "is not a text");
  if (value.length > most) throw invalid(what, value, `has more than ${most} characters`);
  return value;
}

/** @param {string} name @returns {string | undefined} why it cannot be a ref's name */
function refProblem(name) {
  if (NOT_IN_REF.test(name)) {
    return "has a blank, a control character, one of ~ ^ : ? * [ \\, or .. // @{, or ends with / or .";
  }
  if (name.split("/").some((part) => BAD_PART.test(part))) {
    return "has a part that begins with . or ends with .lock";
  }
  if (visible(name) !== name) return "has characters that cannot be seen";
  if (name.normalize("NFC") !== name) {
    return "is not in composed form (NFC): it looks like another name";
  }
  return undefined;
}

/**
 * @param {unknown} name of a branch, without refs/heads/ @param {string} [what] of the plan it stands in
 * @returns {string} the name
 */
export function checkBranch(name, what = "branch") {
  const value = text(what, name, MOST_NAME);
  const problem = refProblem(value);
  if (problem) throw invalid(what, name, problem);
  if (value.startsWith("-") || value === "@" || value === "HEAD" || value.startsWith("refs/")) {
    throw invalid(what, name, "cannot be the name of a branch");
  }
  return value;
}

/** @param {unknown} name that begins with refs/ @returns {string} */
export function checkRef(name) {
  const value = text("ref", name, 2 * MOST_NAME);
  const problem = value.startsWith("refs/") ? refProblem(value) : "does not begin with refs/";
  if (problem) throw invalid("ref", name, problem);
  return value;
}

/** @param {unknown} id of a plan or a node @param {string} what @returns {string} */
export function checkId(id, what) {
  const value = text(what, id, MOST_NAME);
  if (!ID.test(value)) throw invalid(what, id, "is not 1 to 64 of a-z A-Z 0-9 _ -");
  return value;
}

/** @param {unknown} number of an attempt @returns {number} */
export function checkAttempt(number) {
  if (Number.isSafeInteger(number) && Number(number) >= 1) return Number(number);
  throw invalid("attempt", number, "is not a whole number from 1");
}

/** @param {unknown} commit @returns {string} its full name, in hexadecimal digits */
export function checkCommit(commit) {
  const value = text("commit", commit, MOST_NAME);
  if (!COMMIT.test(value)) throw invalid("commit", commit, "is not the full name of a commit");
  return value;
}

/** @param {unknown} value */
export const isCommit = (value) => typeof value === "string" && COMMIT.test(value);

/**
 * A file or folder below a folder: relative, with /.
 * @param {unknown} path @param {string} what @returns {string}
 */
export function checkInnerPath(path, what) {
  const value = text(what, path, MOST_PATH).replace(/\/+$/, "");
  const parts = value.split(/[\\/]/);
  if (value.includes("\0") || value.includes("\n")) throw invalid(what, path, "has a line break");
  if (/^(?:[\\/]|[A-Za-z]:)/.test(value) || value === "") {
    throw invalid(what, path, "is not a path below the repository");
  }
  if (parts.some((part) => part === ".." || part === "." || part === "")) {
    throw invalid(what, path, "has a part that is empty, . or ..");
  }
  if (parts.some((part) => part.toLowerCase() === ".git")) {
    throw invalid(what, path, "leads into git's own folder");
  }
  return value;
}

/** @param {unknown} message of a commit @returns {string} with one line break at the end */
export function checkMessage(message) {
  const value = text("message", message, MOST_MESSAGE).replace(/\r\n?/g, "\n").trim();
  if (value === "") throw invalid("message", message, "is empty");
  if (value.includes("\0")) throw invalid("message", message, "has a NUL character");
  return `${value}\n`;
}

/** Marks the worktrees of a plan: only its record knows it. */
export const newNonce = () => randomBytes(16).toString("hex");

/** @param {unknown} nonce that marks what was made for a plan @returns {string} */
export function checkNonce(nonce) {
  const value = text("nonce", nonce, MOST_NAME);
  if (!/^[0-9a-zA-Z]{16,64}$/.test(value))
    throw invalid("nonce", nonce, "is not 16 to 64 of 0-9 a-z");
  return value;
}
