// What a permission request of the CLI gets. With a wall the kernel holds a session's commands, and the CLI its own
// tools; without one nothing does. What is refused in both is what no job of tap may ever do.

import fs from "node:fs";
import path from "node:path";
import { isInside } from "../lib/paths.mjs";
import { matchesHost } from "../lib/values.mjs";
import { shortenText, visible, wrapInQuotes } from "../lib/visible.mjs";

/**
 * For tools for files, all resolved. `folders`: of the session alone; `shared`: where others may write meanwhile.
 * @typedef {{cwd: string, folders: string[], shared: string[]}} FileBounds
 */
/** `files`: of a session with a wall. @typedef {{hosts: string[], tools: string[], files?: FileBounds}} Bounds */
/** @typedef {"files" | "search" | undefined} ToolKind what asks to read or write */

// Hosts in what an agent asks for.

/** @param {unknown} value */
const quoteName = (value) => wrapInQuotes(visible(shortenText(String(value), 300)));

const SCHEMES = /^(https?|ftps?|wss?|ssh|git|sftp):[/\\]+/i;

/** @param {string} word @returns {string | undefined} the host of a URL, or of `user@host:path` */
export function parseHost(word) {
  if (/^file:/i.test(word)) return undefined;
  const begin = /^[a-z][a-z0-9+.-]*:\/\//i.exec(word) ?? SCHEMES.exec(word);
  if (!begin) return /^[\w.-]+@([\w.-]+):/.exec(word)?.[1].toLowerCase();
  const authority = /^[/\\]*([^/?#]*)/.exec(word.slice(begin[0].length))?.[1] ?? "";
  // Programs do not agree on such a one: it is no host that could be allowed.
  if (/\\|\s|@.*@/.test(authority)) return authority;
  const host = /^(?:[^@]*@)?(\[[^\]]+\]|[^:]+)/.exec(authority)?.[1];
  return host?.toLowerCase().replace(/\.$/, "");
}

/** @param {string} host @param {{hosts: string[]}} bounds @returns {string} why not; "": it may */
const findHostRefusal = (host, { hosts }) =>
  hosts.some((one) => matchesHost(parseHost(one) ?? one, host))
    ? ""
    : `tap: this job may not reach ${quoteName(host)}. Allowed hosts: ${hosts.map(visible).join(", ") || "none"}.`;

// Paths as the file system resolves them.

const SEPARATOR = path.sep === "/" ? /\// : /[\\/]/;

const MAX_LINKS = 40;

/**
 * Links resolved, also where the end of the path does not exist yet. Behind a link, .. is the folder above its target.
 * @param {string} file absolute @returns {string}
 * @throws {Error} where links lead round
 */
export function resolved(file) {
  let { root: at } = path.parse(file);
  const parts = file.slice(at.length).split(SEPARATOR).reverse();
  for (let links = 0; parts.length > 0;) {
    const next = path.resolve(at, String(parts.pop()));
    const target = linkTarget(next);
    if (target === "") {
      const whole = path.join(next, ...parts.reverse());
      return parts.includes("..") ? resolved(whole) : whole;
    }
    if (target !== undefined) {
      if (++links > MAX_LINKS) throw new Error(`too many links: ${file}`);
      const { root } = path.parse(target);
      at = path.resolve(at, root);
      parts.push(...target.slice(root.length).split(SEPARATOR).reverse());
    } else at = next;
  }
  return at;
}

/** @param {string} file @returns {string | undefined} where it leads; undefined: it is not a link; "": there is nothing */
function linkTarget(file) {
  try {
    const stat = fs.lstatSync(file, { throwIfNoEntry: false });
    if (!stat) return "";
    return stat.isSymbolicLink() ? fs.readlinkSync(file) : undefined;
  } catch {
    return "";
  }
}

/**
 * For a kinder message than that of the network.
 * @param {unknown} text of a command
 */
export const looksLikePush = (text) =>
  String(text)
    .replaceAll("\\\n", "")
    .split(/[;&|()\n]+/)
    .some((part) => /^\s*(\w+=\S*\s+)*git(\s+(-[Cc]\s+\S+|-\S+))*\s+push(\s|$)/.test(part));

/**
 * Without links, in both ways to read a path: .. may be behind a link.
 * @param {unknown} file @param {FileBounds} bounds @returns {{at: string, folder?: string}[]}
 */
function locate(file, { cwd, folders }) {
  const name = String(file);
  const whole = path.isAbsolute(name) ? name : `${cwd}${path.sep}${name}`;
  return [path.resolve(whole), whole].map((one) => {
    const at = resolved(one);
    return { at, folder: [cwd, ...folders].find((folder) => isInside(at, folder)) };
  });
}

/** @param {any} request @param {FileBounds} bounds */
function writeRefusal({ fileName, fileEdits = [] }, bounds) {
  const edited = fileEdits.flatMap((/** @type {any} */ { before, after }) => [
    before?.path,
    after?.path,
  ]);
  for (const file of [fileName, ...edited.filter(Boolean)]) {
    for (const { at, folder } of locate(file, bounds)) {
      if (folder === undefined)
        return `tap: this tool writes in ${quoteName(bounds.cwd)} only. What else you may write, write by a command.`;
      if (path.relative(folder, at).toLowerCase().split(/[\\/]/).includes(".git"))
        return `tap: ${quoteName(file)} is git's own. Use git's commands.`;
    }
  }
  return "";
}

/** The CLI has looked whether it may be read at all. @param {any} request @param {FileBounds} bounds */
function readRefusal({ path: file }, bounds) {
  const isShared = locate(file, bounds).some(
    ({ at, folder }) => folder === undefined && bounds.shared.some((one) => isInside(at, one)),
  );
  if (!isShared) return "";
  return `tap: this tool does not read ${quoteName(file)}. What you may read there, read by a command.`;
}

/** @param {any} request @param {Bounds} bounds @param {ToolKind} tool */
function fileRefusal(request, { files }, tool) {
  if (!files) return "";
  const writes = request.kind === "write";
  if (tool === undefined) return "tap: a job does not read or write by that tool.";
  if (tool === "search") return writes ? "tap: a search does not write." : "";
  return writes ? writeRefusal(request, files) : readRefusal(request, files);
}

/** @type {Record<string, (request: any, bounds: Bounds, tool: ToolKind) => string>} */
const KINDS = {
  read: fileRefusal,
  write: fileRefusal,
  shell: ({ fullCommandText }) =>
    looksLikePush(fullCommandText)
      ? "tap: a job never pushes. Commit at most; what is committed is taken from here."
      : "",
  url: ({ url }, bounds) => findHostRefusal(parseHost(String(url)) ?? String(url), bounds),
  "custom-tool": ({ toolName }, { tools }) =>
    tools.includes(toolName) ? "" : `tap: ${quoteName(toolName)} was not lent to this job.`,
};

/** @typedef {import("./job.mjs").Refusal} Refusal */
/** By the CLI's kind of a request. @type {Record<string, Refusal["kind"]>} */
const REFUSAL_KINDS = { read: "read", write: "write", shell: "command", url: "host" };

/** What a refused request was about. @param {any} request of the CLI @returns {Refusal} hostile texts */
export function describeRequest({ kind, requestSandboxBypass, toolCallId, ...request }) {
  const { url, path: file, fileName, fullCommandText, toolName = kind } = request;
  const host = url === undefined ? undefined : (parseHost(String(url)) ?? url);
  return {
    kind: requestSandboxBypass ? "bypass" : (REFUSAL_KINDS[kind] ?? "tool"),
    target: String(fullCommandText ?? fileName ?? file ?? host ?? toolName),
    ...(toolCallId && { call: String(toolCallId) }),
  };
}

/**
 * @param {any} request of the CLI @param {Bounds} bounds @param {ToolKind} [tool]
 * @returns {string} why not, for the model; "": it may
 */
export function findRefusal(request, bounds, tool) {
  const kind = String(request?.kind);
  const decide = Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined;
  if (!decide) return `tap: a job has no permission of the kind ${quoteName(kind)}.`;
  if (request.requestSandboxBypass) return "tap: a job does not leave the sandbox.";
  if (request.managedApprovalRequired) return "tap: your organisation wants a person to decide.";
  try {
    return decide(request, bounds, tool);
  } catch {
    return "tap: the request could not be read.";
  }
}
