// Decides permission requests of the CLI. With a wall, the kernel restricts a session's commands, and the CLI restricts
// its own tools. Without a wall only these checks do. Actions that are forbidden to all jobs are refused in both cases.

import fs from "node:fs";
import path from "node:path";
import { isInside } from "../lib/paths.mjs";
import { matchesHost } from "../lib/values.mjs";
import { shortenText, visible, wrapInQuotes } from "../lib/visible.mjs";

/**
 * For tools for files, all resolved. `folders`: of the session alone; `shared`: other programs may write there.
 * @typedef {{cwd: string, folders: string[], shared: string[]}} FileBounds
 */
/** `files`: only for a session with a wall. @typedef {{hosts: string[], tools: string[], files?: FileBounds}} Bounds */
/** @typedef {"files" | "search" | undefined} ToolKind the kind of tool that reads or writes */

// Hosts in the requests of an agent.

/** @param {unknown} value */
const quoteName = (value) => wrapInQuotes(visible(shortenText(String(value), 300)));

const SCHEMES = /^(https?|ftps?|wss?|ssh|git|sftp):[/\\]+/i;

/** @param {string} word @returns {string | undefined} the host of a URL, or of `user@host:path` */
export function parseHost(word) {
  if (/^file:/i.test(word)) return undefined;
  const begin = /^[a-z][a-z0-9+.-]*:\/\//i.exec(word) ?? SCHEMES.exec(word);
  if (!begin) return /^[\w.-]+@([\w.-]+):/.exec(word)?.[1].toLowerCase();
  const authority = /^[/\\]*([^/?#]*)/.exec(word.slice(begin[0].length))?.[1] ?? "";
  // Programs disagree about such an authority, so it must not match an allowed host.
  if (/\\|\s|@.*@/.test(authority)) return authority;
  const host = /^(?:[^@]*@)?(\[[^\]]+\]|[^:]+)/.exec(authority)?.[1];
  return host?.toLowerCase().replace(/\.$/, "");
}

/** @param {string} host @param {{hosts: string[]}} bounds @returns {string} the reason for a refusal; "": allowed */
const findHostRefusal = (host, { hosts }) =>
  hosts.some((allowed) => matchesHost(parseHost(allowed) ?? allowed, host))
    ? ""
    : `tap: this job may not reach ${quoteName(host)}. Allowed hosts: ${hosts.map(visible).join(", ") || "none"}.`;

// Paths as the file system resolves them.

const SEPARATOR = path.sep === "/" ? /\// : /[\\/]/;

const MAX_LINKS = 40;

/**
 * Resolves links, also if the end of the path does not exist yet. After a link, .. is the folder above its target.
 * @param {string} file absolute @returns {string}
 * @throws {Error} for a cycle of links
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

/** @param {string} file @returns {string | undefined} its target; undefined: not a link; "": it does not exist */
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
 * For a clearer message than the network's.
 * @param {unknown} text of a command
 */
export const looksLikePush = (text) =>
  String(text)
    .replaceAll("\\\n", "")
    .split(/[;&|()\n]+/)
    .some((part) => /^\s*(\w+=\S*\s+)*git(\s+(-[Cc]\s+\S+|-\S+))*\s+push(\s|$)/.test(part));

/**
 * Resolves a path in both readings: .. may follow a link.
 * @param {unknown} file @param {FileBounds} bounds @returns {{at: string, folder?: string}[]}
 */
function locate(file, { cwd, folders }) {
  const name = String(file);
  const given = path.isAbsolute(name) ? name : `${cwd}${path.sep}${name}`;
  return [path.resolve(given), given].map((whole) => {
    const at = resolved(whole);
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
        return `tap: this tool writes in ${quoteName(bounds.cwd)} only. Use a command to write other allowed files.`;
      if (path.relative(folder, at).toLowerCase().split(/[\\/]/).includes(".git"))
        return `tap: ${quoteName(file)} belongs to git. Use git's commands.`;
    }
  }
  return "";
}

/** The CLI has already checked whether reading is allowed at all. @param {any} request @param {FileBounds} bounds */
function readRefusal({ path: file }, bounds) {
  const isShared = locate(file, bounds).some(
    ({ at, folder }) =>
      folder === undefined && bounds.shared.some((shared) => isInside(at, shared)),
  );
  if (!isShared) return "";
  return `tap: this tool does not read ${quoteName(file)}. Use a command to read allowed files there.`;
}

/** @param {any} request @param {Bounds} bounds @param {ToolKind} tool */
function fileRefusal(request, { files }, tool) {
  if (!files) return "";
  const writes = request.kind === "write";
  if (tool === undefined) return "tap: a job must not read or write with that tool.";
  if (tool === "search") return writes ? "tap: a search does not write." : "";
  return writes ? writeRefusal(request, files) : readRefusal(request, files);
}

/** @type {Record<string, (request: any, bounds: Bounds, tool: ToolKind) => string>} */
const KINDS = {
  read: fileRefusal,
  write: fileRefusal,
  shell: ({ fullCommandText }) =>
    looksLikePush(fullCommandText)
      ? "tap: git push is not allowed. Commit; tap collects the commits."
      : "",
  url: ({ url }, bounds) => findHostRefusal(parseHost(String(url)) ?? String(url), bounds),
  "custom-tool": ({ toolName }, { tools }) =>
    tools.includes(toolName) ? "" : `tap: ${quoteName(toolName)} is not a tool of this job.`,
};

/** @typedef {import("./job.mjs").Refusal} Refusal */
/** By the CLI's kind of a request. @type {Record<string, Refusal["kind"]>} */
const REFUSAL_KINDS = { read: "read", write: "write", shell: "command", url: "host" };

/** The subject of a refused request. @param {any} request of the CLI @returns {Refusal} hostile texts */
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
 * @returns {string} the reason for a refusal, for the model; "": allowed
 */
export function findRefusal(request, bounds, tool) {
  const kind = String(request?.kind);
  const decide = Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined;
  if (!decide) return `tap: a job has no permission of the kind ${quoteName(kind)}.`;
  if (request.requestSandboxBypass) return "tap: a job must not leave the sandbox.";
  if (request.managedApprovalRequired)
    return "tap: your organisation requires a person's approval.";
  try {
    return decide(request, bounds, tool);
  } catch {
    return "tap: the request could not be read.";
  }
}
