// What a permission request of a session with a wall gets. The kernel holds its commands, and the CLI its own tools:
// what is left to refuse here is what no session of tap may ever do.

import path from "node:path";
import { findHostRefusal, parseHost, quoteName } from "./hosts.mjs";
import { isInside, resolved } from "./paths.mjs";

/**
 * All paths resolved. `folders`: of the session alone; `shared`: where others may write meanwhile.
 * @typedef {{cwd: string, folders: string[], shared: string[], hosts: string[], tools: string[]}} WallBounds
 */

/**
 * For a kinder message than that of the network.
 * @param {unknown} text of a command
 */
export const looksLikePush = (text) =>
  String(text)
    .split(/[;&|()\n]+/)
    .some((part) => /^\s*(\w+=\S*\s+)*git(\s+(-[Cc]\s+\S+|-\S+))*\s+push(\s|$)/.test(part));

/** @param {unknown} file @param {WallBounds} bounds @returns {{at: string, folder?: string}} without links */
function locate(file, { cwd, folders }) {
  const at = resolved(path.resolve(cwd, String(file)));
  return { at, folder: [cwd, ...folders].find((one) => isInside(at, one)) };
}

/** @param {any} request @param {WallBounds} bounds */
function writeRefusal({ fileName, fileEdits = [] }, bounds) {
  const edited = fileEdits.flatMap((/** @type {any} */ { before, after }) => [
    before?.path,
    after?.path,
  ]);
  for (const file of [fileName, ...edited.filter(Boolean)]) {
    const { at, folder } = locate(file, bounds);
    if (folder === undefined)
      return `tap: this tool writes in ${quoteName(bounds.cwd)} only. What else you may write, write by a command.`;
    if (path.relative(folder, at).toLowerCase().split(/[\\/]/).includes(".git"))
      return `tap: ${quoteName(file)} is git's own. Use git's commands.`;
  }
  return "";
}

/** The CLI has looked whether it may be read at all. @param {any} request @param {WallBounds} bounds */
function readRefusal({ path: file }, bounds) {
  const { at, folder } = locate(file, bounds);
  if (folder !== undefined || !bounds.shared.some((one) => isInside(at, one))) return "";
  return `tap: this tool does not read ${quoteName(file)}. What you may read there, read by a command.`;
}

/** @type {Record<string, (request: any, bounds: WallBounds) => string>} */
const KINDS = {
  read: readRefusal,
  write: writeRefusal,
  shell: ({ fullCommandText }) =>
    looksLikePush(fullCommandText)
      ? "tap: a job never pushes. Commit at most; what is committed is taken from here."
      : "",
  url: ({ url }, bounds) => findHostRefusal(parseHost(String(url)) ?? String(url), bounds),
  "custom-tool": ({ toolName }, { tools }) =>
    tools.includes(toolName) ? "" : `tap: ${quoteName(toolName)} was not lent to this job.`,
};

/**
 * @param {any} request of the CLI @param {WallBounds} bounds
 * @param {"files" | "search" | undefined} tool that asks to read or write
 * @returns {string} why not, for the model; "": it may
 */
export function findRefusal(request, bounds, tool) {
  const kind = String(request?.kind);
  const decide = Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined;
  if (!decide) return `tap: a job has no permission of the kind ${quoteName(kind)}.`;
  if (request.requestSandboxBypass) return "tap: a job does not leave the sandbox.";
  if (request.managedApprovalRequired) return "tap: your organisation wants a person to decide.";
  if (kind === "read" || kind === "write") {
    if (tool === undefined) return "tap: a job does not read or write by that tool.";
    if (tool === "search") return kind === "read" ? "" : "tap: a search does not write.";
  }
  try {
    return decide(request, bounds);
  } catch {
    return "tap: the request could not be read.";
  }
}
