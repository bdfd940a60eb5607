// Merges with a git that cannot merge without a checkout (older than 2.38): in a worktree made for one merge, in git's
// own folder.

import { randomBytes } from "node:crypto";
import fs from "node:fs/promises";
import path from "node:path";
import { isAlive } from "../base/alive.mjs";
import { GitError, lastSaid } from "./git-error.mjs";
import { inTurn } from "../base/in-turn.mjs";

const MERGE_MS = 600_000;
const PREFIX = "scratch-";

/** @typedef {import("./repository.mjs").Repository} Repository */

/** @param {Repository} repository @param {string} place */
async function remove(repository, place) {
  await fs.rm(place, { recursive: true, force: true });
  const args = ["worktree", "remove", "--force", "--force", place];
  await inTurn(repository.commonDir, () => repository.change(args, { codes: [0, 128] }));
}

/** Those of processes that have ended. @param {Repository} repository @param {string} folder */
async function sweep(repository, folder) {
  for (const name of await fs.readdir(folder)) {
    const [, pid] = /^scratch-(\d+)-/.exec(name) ?? [];
    if (pid !== undefined && !isAlive(Number(pid)))
      await remove(repository, path.join(folder, name));
  }
}

/**
 * @param {Repository} repository @param {string} ours @param {string} theirs both checked @param {AbortSignal} [signal]
 * @returns {Promise<import("./merges.mjs").Probe>}
 */
export async function mergeInScratch(repository, ours, theirs, signal) {
  const folder = await repository.ownFolder();
  await sweep(repository, folder);
  const name = `${PREFIX}${process.pid}-${randomBytes(6).toString("hex")}`;
  const place = path.join(folder, name);
  const add = ["worktree", "add", "--quiet", "--no-checkout", "--detach", "--lock", place, ours];
  try {
    await inTurn(repository.commonDir, () => repository.change(add, { signal }));
    const where = { cwd: place, signal, lasting: true, timeoutMs: MERGE_MS };
    await repository.change(["reset", "--hard", "--quiet", ours], { ...where, network: true });
    return await merge(repository, theirs, where);
  } finally {
    await remove(repository, place);
  }
}

/** @param {Repository} repository @param {string} theirs @param {Partial<import("./run-git.mjs").RunOptions>} where @returns {Promise<import("./merges.mjs").Probe>} */
async function merge(repository, theirs, where) {
  const flags = ["--no-commit", "--no-ff", "--no-stat", "--quiet", "--no-verify-signatures"];
  const settings = ["rerere.enabled=false", "merge.autoStash=false", "core.safecrlf=false"];
  const args = ["merge", ...flags, theirs];
  const ended = await repository.change(args, { ...where, settings, codes: [0, 1, 2] });
  if (ended.code === 0) {
    return { tree: (await repository.change(["write-tree"], where)).stdout.trim() };
  }
  const list = ["diff", "--name-only", "--diff-filter=U", "-z"];
  const { stdout } = await repository.ask(list, where);
  const conflicts = stdout.split("\0").filter(Boolean);
  if (conflicts.length === 0) {
    throw new GitError("GIT_FAILED", `git merge failed: ${lastSaid(ended.stderr || ended.stdout)}`);
  }
  const notes = ended.stdout.split("\n").filter((line) => line.startsWith("CONFLICT ("));
  return { conflicts, notes };
}
