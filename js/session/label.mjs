// What a session is called wherever it is listed: its folder and git branch, which one thinks in, and
// the beginning of what it is about.

import fs from "node:fs";
import path from "node:path";

const MOST_TITLE = 20;
const MOST_BYTES = 4096;
const FLAGS = fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0);

/** The folder may be anybody's: no pipe is waited for, and no device is read. @param {string} file @returns {string | undefined} */
function contentOf(file) {
  let handle;
  try {
    handle = fs.openSync(file, FLAGS);
    if (!fs.fstatSync(handle).isFile()) return undefined;
    const buffer = Buffer.alloc(MOST_BYTES);
    return buffer.toString("utf8", 0, fs.readSync(handle, buffer, 0, MOST_BYTES, 0)).trim();
  } catch {
    return undefined;
  } finally {
    if (handle !== undefined) fs.closeSync(handle);
  }
}

/** Where git keeps what belongs to this work tree; of a linked one `.git` is a file. @param {string} cwd */
function gitFolder(cwd) {
  for (let folder = path.resolve(cwd); ; folder = path.dirname(folder)) {
    const git = path.join(folder, ".git");
    const stat = fs.statSync(git, { throwIfNoEntry: false });
    if (stat?.isDirectory()) return git;
    const [, elsewhere] = /^gitdir: (.+)$/m.exec((stat?.isFile() && contentOf(git)) || "") ?? [];
    if (elsewhere) return path.resolve(folder, elsewhere);
    if (folder === path.dirname(folder)) return undefined;
  }
}

/** The git branch of a folder, without starting git: every label needs it. @param {string} cwd */
function branchOf(cwd) {
  try {
    const folder = gitFolder(cwd);
    const head = folder === undefined ? undefined : contentOf(path.join(folder, "HEAD"));
    return /^ref: refs\/heads\/(.+)$/.exec(head ?? "")?.[1] ?? "";
  } catch {
    return "";
  }
}

/** @param {string} title @returns {string} */
function shortened(title) {
  const characters = [...title.replace(/\s+/g, " ").trim()];
  if (characters.length <= MOST_TITLE) return characters.join("");
  return `${characters.slice(0, MOST_TITLE).join("").trimEnd()}…`;
}

/**
 * @param {{cwd: string, name?: string, title?: string}} session `name`: what it is called in place of its
 *   folder; `title`: what the CLI calls it, as a rule the first prompt
 */
export function labelOf({ cwd, name, title = "" }) {
  const branch = name === undefined ? branchOf(cwd) : "";
  const place = (name ?? (path.basename(cwd) || cwd)) + (branch && ` (${branch})`);
  const about = shortened(title);
  return about ? `${place} · "${about}"` : place;
}
