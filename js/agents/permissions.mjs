// What a permission request of the CLI gets: no, but for what is listed here. It reads the paths, hosts and commands
// that the request names.

import path from "node:path";
import { visible } from "../lib/visible.mjs";
import { pushes, sharedChange } from "./git-policy.mjs";
import { findHostRefusal, parseHost, quoteName } from "./hosts.mjs";
import { isInside, reallyAt } from "./paths.mjs";
import { MAX_PATHS, findPaths } from "./shell/command-paths.mjs";
import { networkUse, parseSegments } from "./shell/shell-command.mjs";
import { AmbiguousCommand } from "./shell/shell-reader.mjs";

/**
 * @typedef {object} Bounds
 * @property {string} cwd resolved
 * @property {string} [checkout] the user's own folder, resolved
 * @property {string[]} folders besides `cwd`, resolved
 * @property {string[]} hosts
 * @property {string[]} tools lent ones
 * @property {string} home of the user
 * @property {(file: string) => string} resolve of an absolute path: links resolved
 * @property {(folder: string) => boolean} exists
 */

const MAX_COMMAND = 64 * 1024;

/** @param {string} file absolute @param {Bounds} bounds */
function outsideRefusal(file, { cwd, checkout, folders, resolve }) {
  const real = resolve(file);
  if ([cwd, ...folders].some((folder) => isInside(real, folder))) return "";
  const why = `tap: ${quoteName(file)} is outside of this job's folders.`;
  if (isInside(cwd, real)) {
    return `${why} Work in ${quoteName(cwd)} only. To go back there, use "cd ${visible(cwd)}", or join all commands by &&.`;
  }
  const same = checkout !== undefined && isInside(real, checkout);
  const instead = path.join(cwd, same ? path.relative(checkout, real) : path.basename(real));
  return `${why} Use ${quoteName(instead)}: work in ${quoteName(cwd)} only.`;
}

/** @param {unknown} file @param {Bounds} bounds */
function pathRefusal(file, bounds) {
  if (typeof file !== "string" || file === "") return "tap: the request names no path.";
  const whole = path.resolve(bounds.cwd, file);
  const really = reallyAt(bounds.cwd, file, bounds.resolve);
  return outsideRefusal(whole, bounds) || (really === whole ? "" : outsideRefusal(really, bounds));
}

/** Also by a link, and in any case: some file systems do not tell them apart. @param {string} file @param {Bounds} bounds */
const isGitInternal = (file, { cwd, resolve }) =>
  [file, resolve(path.resolve(cwd, file))].some((one) =>
    one.toLowerCase().split(/[\\/]/).includes(".git"),
  );

/** @param {any} request @param {Bounds} bounds */
function writeRefusal({ fileName, fileEdits = [] }, bounds) {
  const edited = fileEdits.flatMap((/** @type {any} */ { before, after }) => [
    before?.path,
    after?.path,
  ]);
  const files = [fileName, ...edited.filter(Boolean)];
  const own = files.find((file) => isGitInternal(String(file), bounds));
  if (own !== undefined) return `tap: ${quoteName(own)} is git's own. Use git's commands.`;
  return files.map((file) => pathRefusal(file, bounds)).find(Boolean) ?? "";
}

/** What to do instead of a command of git. @type {Record<string, string>} */
const INSTEAD = { config: 'Use "git -c name=value".', stash: "Commit instead." };

/** @param {import("./shell/shell-command.mjs").Segment[]} segments */
function gitRefusal(segments) {
  if (pushes(segments)) {
    return "tap: a job never pushes. Commit at most; what is committed is taken from here.";
  }
  const shared = sharedChange(segments);
  if (shared === undefined) return "";
  const instead = INSTEAD[shared] ?? "Commit at most, or make a new branch.";
  return `tap: this "git ${shared}" changes what the worktree shares with the user's checkout. ${instead}`;
}

/** @param {string} text @param {any} request @param {Bounds} bounds */
function shellRefusal(text, { possiblePaths = [], possibleUrls = [] }, bounds) {
  const segments = parseSegments(text);
  const git = gitRefusal(segments);
  if (git) return git;
  const { hosts, unnamed } = networkUse(segments);
  const urls = possibleUrls.flatMap((/** @type {any} */ { url }) => parseHost(String(url)) ?? []);
  const host = [...hosts, ...urls].map((one) => findHostRefusal(one, bounds)).find(Boolean);
  if (host) return host;
  if (unnamed.length > 0 && !bounds.hosts.includes("*")) {
    return `tap: ${quoteName(unnamed[0])} reaches the network without naming an allowed host.`;
  }
  const theirs = possiblePaths.filter((/** @type {unknown} */ one) => /[\\/]/.test(String(one)));
  if (theirs.length > MAX_PATHS) throw new AmbiguousCommand("too many paths");
  for (const files of [findPaths(text, segments, bounds), theirs]) {
    for (const file of files) {
      const refused = pathRefusal(file, bounds);
      if (refused) return refused;
    }
  }
  return "";
}

/** @param {any} request @param {Bounds} bounds */
function commandRefusal(request, bounds) {
  const text = String(request.fullCommandText ?? "");
  if (text.length > MAX_COMMAND) return "tap: the command is too long. Put it into a file.";
  /** @type {Map<string, string>} */
  const known = new Map();
  const resolve = (/** @type {string} */ file) => {
    const real = known.get(file) ?? bounds.resolve(file);
    known.set(file, real);
    return real;
  };
  try {
    return shellRefusal(text, request, { ...bounds, resolve });
  } catch (error) {
    if (!(error instanceof AmbiguousCommand)) throw error;
    return `tap: the command cannot be read for sure (${error.message}). Write it in a simpler way, or put it into a file.`;
  }
}

/** @type {Record<string, (request: any, bounds: Bounds) => string>} */
const KINDS = {
  read: ({ path: file }, bounds) => pathRefusal(file, bounds),
  write: writeRefusal,
  shell: commandRefusal,
  url: ({ url }, bounds) => findHostRefusal(parseHost(String(url)) ?? String(url), bounds),
  "custom-tool": ({ toolName }, { tools }) =>
    tools.includes(toolName) ? "" : `tap: ${quoteName(toolName)} was not lent to this job.`,
};

/**
 * @param {any} request of the CLI @param {Bounds} bounds
 * @returns {string} why not, for the model; "": it may
 */
export function refusal(request, bounds) {
  const kind = String(request?.kind);
  const decide = Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined;
  if (!decide) return `tap: a job has no permission of the kind ${quoteName(kind)}.`;
  if (request.requestSandboxBypass) return "tap: a job does not leave the sandbox.";
  if (request.managedApprovalRequired) return "tap: your organisation wants a person to decide.";
  return decide(request, bounds);
}
