// The session's data for the gateway: its label, and the CLI's environment.

import fs from "node:fs";
import path from "node:path";

const MAX_PATH_BYTES = 32_768;
const MAX_TEXT_BYTES = 4096;
const CONTROL = /[\u0000-\u001f\u007f]/; // eslint-disable-line no-control-regex

/** Variables of the CLI, by the field of the registration. */
const RUNTIME = {
  sdkPath: "COPILOT_SDK_PATH",
  cliVersion: "COPILOT_CLI_BINARY_VERSION",
  copilotHome: "COPILOT_HOME",
  distDir: "COPILOT_CLI_DIST_DIR",
};

/** Whether the gateway accepts it in a registration. @param {string | undefined} text @param {number} most bytes */
const isGood = (text, most) =>
  text !== undefined && text !== "" && Buffer.byteLength(text) <= most && !CONTROL.test(text);

/**
 * @param {Record<string, string | undefined>} env @param {string} execPath the CLI's own binary, which also runs as
 *   Node.js
 * @returns {{path?: string, runtime?: Record<string, string>}} fields of `register`
 */
export function sessionEnvironment(env, execPath) {
  const known = Object.entries(RUNTIME).map(([field, name]) => [field, env[name]]);
  const all = [["execPath", execPath], ...known].filter(([, text]) => isGood(text, MAX_TEXT_BYTES));
  return {
    ...(isGood(env.PATH, MAX_PATH_BYTES) && { path: env.PATH }),
    ...(all.length > 0 && { runtime: Object.fromEntries(all) }),
  };
}

// A session's label in lists: its folder and git branch, and the start of its title.

const MAX_TITLE_LENGTH = 20;
const MAX_GIT_FILE_BYTES = 4096;
const FLAGS = fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0);

/** Does not block on pipes and devices, since the folder is untrusted. @param {string} file @returns {string | undefined} */
function readContent(file) {
  let handle;
  try {
    handle = fs.openSync(file, FLAGS);
    if (!fs.fstatSync(handle).isFile()) return undefined;
    const buffer = Buffer.alloc(MAX_GIT_FILE_BYTES);
    return buffer.toString("utf8", 0, fs.readSync(handle, buffer, 0, MAX_GIT_FILE_BYTES, 0)).trim();
  } catch {
    return undefined;
  } finally {
    if (handle !== undefined) fs.closeSync(handle);
  }
}

/** Git's folder of this work tree. In a linked work tree `.git` is a file. @param {string} cwd */
function gitFolder(cwd) {
  for (let folder = path.resolve(cwd); ; folder = path.dirname(folder)) {
    const git = path.join(folder, ".git");
    const stat = fs.statSync(git, { throwIfNoEntry: false });
    if (stat?.isDirectory()) return git;
    const [, target] = /^gitdir: (.+)$/m.exec((stat?.isFile() && readContent(git)) || "") ?? [];
    if (target) return path.resolve(folder, target);
    if (folder === path.dirname(folder)) return undefined;
  }
}

/** The git branch of a folder. Read without git, since every label needs it. @param {string} cwd */
function readBranch(cwd) {
  try {
    const folder = gitFolder(cwd);
    const head = folder === undefined ? undefined : readContent(path.join(folder, "HEAD"));
    return /^ref: refs\/heads\/(.+)$/.exec(head ?? "")?.[1] ?? "";
  } catch {
    return "";
  }
}

/** @param {string} title @returns {string} */
function truncateTitle(title) {
  const characters = [...title.replace(/\s+/g, " ").trim()];
  if (characters.length <= MAX_TITLE_LENGTH) return characters.join("");
  return `${characters.slice(0, MAX_TITLE_LENGTH).join("").trimEnd()}…`;
}

/**
 * @param {{cwd: string, name?: string, title?: string}} session `name`: replaces the folder's name; `title`: the CLI's
 *   title, usually from the first prompt
 */
export function formatLabel({ cwd, name, title = "" }) {
  const branch = name === undefined ? readBranch(cwd) : "";
  const place = (name ?? (path.basename(cwd) || cwd)) + (branch && ` (${branch})`);
  const about = truncateTitle(title);
  return about ? `${place} · "${about}"` : place;
}
