// Reasons why a plan cannot run in a repository, checked before tap creates files.

import fs from "node:fs/promises";
import path from "node:path";
import { findOperation, readStatus } from "./checkouts.mjs";
import { expandPatterns, findTracked } from "./copy-untracked.mjs";
import { GitError } from "./errors.mjs";
import { checkBranch } from "./git.mjs";
import { exists } from "./repository.mjs";

/** @typedef {import("./repository.mjs").Repository} Repository */

/** Free space to leave, in addition to the files. */
const SPARE_BYTES = 64 * 1024 * 1024;
/** A file takes whole blocks. */
const BLOCK_BYTES = 4096;

/** Whether the rest of a pattern matches the rest of a name; time is at most their lengths, multiplied. @param {string} pattern @param {string} name */
function matches(pattern, name) {
  const parts = pattern.match(/\*\*+|[^]/g) ?? [];
  let ends = new Set([0]);
  for (const part of parts) {
    const next = new Set();
    if (part[0] === "*") {
      for (let at = Math.min(...ends); at <= name.length; ++at) {
        const continues = next.has(at - 1) && (part !== "*" || name[at - 1] !== "/");
        if (ends.has(at) || continues) next.add(at);
      }
    } else for (const at of ends) if (name[at] === part) next.add(at + 1);
    if (next.size === 0) return false;
    ends = next;
  }
  return ends.has(name.length);
}

/**
 * Whether a branch is protected: `*` stands for any characters but /, `**` for any. Case is ignored, as on some file
 * systems.
 * @param {string} branch @param {readonly string[]} patterns
 */
export const isProtected = (branch, patterns) =>
  patterns.some((pattern) => matches(pattern.toLowerCase(), branch.toLowerCase()));

/** @param {string} targetBranch @param {readonly string[]} patterns @throws {GitError} if it is protected */
export function requireUnprotected(targetBranch, patterns) {
  if (!isProtected(checkBranch(targetBranch, "targetBranch"), patterns)) return;
  const text = `The config protects "${targetBranch}" (protectedBranches). Choose a different targetBranch, and merge it yourself.`;
  throw new GitError("PROTECTED", text);
}

/** @param {Repository} repository @param {string} commit @returns {Promise<number>} bytes, roughly, of a checkout */
export async function checkoutBytes(repository, commit) {
  const partial = await repository.query(["config", "--get", "extensions.partialClone"], {
    codes: [0, 1],
  });
  // Git would fetch every file for its size.
  if (partial.stdout.trim() !== "") return 0;
  const { stdout, cut } = await repository.query(["ls-tree", "-r", "-l", "-z", commit], {
    cuts: true,
  });
  if (cut) return 0;
  let bytes = 0;
  for (const [, size] of stdout.matchAll(/(?:^|\0)\d+ blob [0-9a-f]+ +(\d+)\t/g)) {
    bytes += Math.ceil(Number(size) / BLOCK_BYTES) * BLOCK_BYTES;
  }
  return bytes;
}

/** @param {string} folder that may not exist yet @returns {Promise<number>} bytes */
async function freeBytes(folder) {
  for (let place = folder; ; place = path.dirname(place)) {
    try {
      const { bavail, bsize } = await fs.statfs(place);
      return bavail * bsize;
    } catch (error) {
      if (path.dirname(place) === place) throw error;
    }
  }
}

/**
 * @param {Repository} repository
 * @param {{commit: string, folder: string, count: number, free?: (folder: string) => Promise<number>}} wanted worktrees
 *   at once
 */
export async function checkSpace(repository, { commit, folder, count, free = freeBytes }) {
  const needed = (await checkoutBytes(repository, commit)) * count + SPARE_BYTES;
  const there = await free(folder);
  if (there >= needed) return;
  const mb = (/** @type {number} */ bytes) => `${Math.ceil(bytes / 1024 / 1024)} MB`;
  const checkouts = count === 1 ? "1 checkout needs" : `${count} checkouts need`;
  throw new GitError(
    "NO_SPACE",
    `${checkouts} about ${mb(needed)}; "${folder}" has ${mb(there)} free. Free some space, lower maxParallel, or configure a different folder for worktrees.`,
    { needed, free: there },
  );
}

/**
 * With both settings git uses a different folder for each worktree: its own, or the user's checkout.
 * @param {Repository} repository
 */
async function requireOwnWorktrees(repository) {
  const file = ["config", "--file", path.join(repository.commonDir, "config")];
  const args = [...file, "--type=bool", "--get", "extensions.worktreeConfig"];
  const { stdout } = await repository.query(args, { codes: [0, 1] });
  if (stdout.trim() !== "true") return;
  const worktree = await repository.query([...file, "--get", "core.worktree"], { codes: [0, 1] });
  if (worktree.stdout === "") return;
  const text =
    'The repository has extensions.worktreeConfig, and core.worktree for all worktrees: programs in a worktree would use a different folder. In the main checkout: `git config --worktree core.worktree "$(git config --local core.worktree)" && git config --local --unset core.worktree`.';
  throw new GitError("INVALID", text);
}

/**
 * @param {Repository} repository
 * @param {{targetBranch?: string, protectedBranches?: readonly string[], signal?: AbortSignal}} [plan]
 * @returns {Promise<{changed: string[]}>} the user's uncommitted files, which worktrees do not have
 * @throws {GitError} if a plan cannot work here
 */
export async function checkRepositoryReady(repository, plan = {}) {
  const { targetBranch, protectedBranches = [], signal } = plan;
  if (targetBranch !== undefined) requireUnprotected(targetBranch, protectedBranches);
  const operation = await findOperation(repository.gitDir);
  if (operation) {
    const { what, end } = operation;
    const text = `The repository is in the middle of ${what}. Finish it, or end it with \`${end}\`.`;
    throw new GitError("BUSY", text);
  }
  await requireOwnWorktrees(repository);
  const { entries } = await readStatus(repository, undefined, { signal });
  const dirty = entries.find(({ submodule }) => /[cmu]/.test(submodule));
  if (dirty) {
    const text = `The submodule "${dirty.path}" has changes. Commit them there and here first.`;
    throw new GitError("DIRTY_SUBMODULE", text, { path: dirty.path });
  }
  return { changed: entries.map((entry) => entry.path) };
}

/**
 * The folder of the user's hooks, if a new worktree lacks it: it is in the checkout, in no commit, and not copied. Git
 * then runs no hook, without a message.
 * @param {Repository} repository @param {string} commit of the worktree @param {string[]} brought names of `copy` and
 *   `link`
 * @returns {Promise<string | undefined>} relative to the root
 */
export async function findMissingHooks(repository, commit, brought) {
  const args = ["config", "--get", "core.hooksPath"];
  const { stdout } = await repository.query(args, { codes: [0, 1], hooks: true });
  const name = path.posix.normalize(stdout.trim()).replace(/\/$/, "");
  if (/^[~/.]?$|^[~/]|^\.\.(?:\/|$)|^[A-Za-z]:/.test(name)) return undefined;
  if (!(await exists(path.join(repository.root, name)))) return undefined;
  if ((await findTracked(repository, commit, [name])).length > 0) return undefined;
  const all = (await expandPatterns(repository, brought)).map((copied) =>
    path.posix.normalize(copied),
  );
  const isBrought = all.some(
    (copied) => `${copied}/`.startsWith(`${name}/`) || name.startsWith(`${copied}/`),
  );
  return isBrought ? undefined : name;
}
