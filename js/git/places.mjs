// Folders and files that others name: taken only where they lie in what they may lie in, links resolved.

import fs from "node:fs/promises";
import path from "node:path";
import { copilotHome } from "../base/paths.mjs";
import { inQuotes, visible } from "../base/visible.mjs";
import { GitError } from "./git-error.mjs";
import { checkBranch, checkInnerPath } from "./names.mjs";
import { branchRef, commitsOf } from "./refs.mjs";
import { readRegular } from "./regular-file.mjs";

/** @param {string} root @param {string} place both without links */
function isWithin(root, place) {
  const way = path.relative(root, place);
  return way.split(path.sep)[0] !== ".." && !path.isAbsolute(way);
}

/** @param {string} place @param {string} what */
const realOf = (place, what) =>
  fs.realpath(place).catch((error) => {
    throw new GitError("INVALID", `${what}: "${place}" is not there (${error.code}).`, {
      cause: error,
    });
  });

/**
 * @param {string} root @param {string} place from the root
 * @param {{anywhere?: boolean}} [options] anywhere: it may lie outside, as a person may say
 * @returns {Promise<string>}
 */
export async function resolveInside(root, place, { anywhere = false } = {}) {
  const real = await realOf(path.resolve(root, place), "repo");
  if (anywhere || isWithin(await realOf(root, "folder"), real)) return real;
  throw new GitError("OUTSIDE", `repo: "${place}" is outside of the session's folder "${root}".`);
}

/**
 * What is in a folder that no agent may write in; "": nothing.
 * @param {string} folder @param {string} root of the user's checkout @param {string} home of the CLI; none with a link
 */
function forbiddenIn(folder, root, home) {
  if (isWithin(folder, root)) return "your own checkout";
  if (folder.toLowerCase().split(path.sep).includes(".git")) return "git's own files";
  // There are tap's config and what was allowed: who may write them may run anything.
  return isWithin(folder, home) || isWithin(home, folder) ? "files of the Copilot CLI" : "";
}

/** @param {string} root @param {string} one */
const realFolder = (root, one) =>
  fs.realpath(path.resolve(root, one)).catch(({ code }) => {
    const why = code === "ENOENT" ? "is not there" : `cannot be looked into (${code})`;
    const text = `allowedFolders: ${inQuotes(visible(one))} ${why}. Create it, or take it out of the plan.`;
    throw new GitError("NO_FOLDER", text);
  });

/**
 * Folders that an agent may write in besides its worktree. The user's checkout and the folders above it are refused. A
 * folder that does not exist is refused, too: whoever makes it later could make it a link to anywhere.
 * @param {string} root of the checkout, without links @param {string[]} folders from the root, also outside
 * @param {string} [cliHome] <COPILOT_HOME>
 * @returns {Promise<string[]>} absolute
 */
export async function resolveFolders(root, folders, cliHome = copilotHome()) {
  const home = await fs.realpath(cliHome).catch(() => cliHome);
  return Promise.all(
    folders.map(async (one) => {
      const real = await realFolder(root, one);
      const why = forbiddenIn(real, root, home);
      if (why === "") return real;
      const text = `allowedFolders: ${inQuotes(visible(one))} has ${why} in it. Name a folder inside the checkout or beside it.`;
      throw new GitError("OUTSIDE", text);
    }),
  );
}

/** A small file of a worktree. @param {{path: string}} worktree @param {string} name @param {number} most bytes @returns {Promise<string>} */
export async function readInside(worktree, name, most) {
  const file = await realOf(path.join(worktree.path, checkInnerPath(name, "file")), "file");
  const root = await realOf(worktree.path, "worktree");
  if (!isWithin(root, file)) throw new GitError("INVALID", `"${name}" leads out of the worktree.`);
  return readRegular(file, most);
}

/** @param {import("./repository.mjs").Repository} repository @param {string} branch @returns {Promise<string | undefined>} its commit */
export async function branchTip(repository, branch) {
  const [commit] = await commitsOf(repository, [branchRef(checkBranch(branch, "targetBranch"))]);
  return commit;
}
