// Paths of a case: relative to its workspace, and inside it.

import path from "node:path";

/** @param {string} name as written in the file of cases @returns {string | undefined} why it is refused */
export function findPathProblem(name) {
  const parts = name.split(/[/\\]/);
  if (path.posix.isAbsolute(name) || path.win32.isAbsolute(name) || parts.includes("..")) {
    return `"${name}" is not a path inside the workspace`;
  }
  if (name.includes("\0") || parts.includes("")) return `"${name}" is not a path of a file`;
  return undefined;
}
