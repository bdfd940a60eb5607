// What is in a worktree and not in the commit where it started, new files too. The worktree, its index and the objects
// of the repository stay as they are.

import crypto from "node:crypto";
import fs from "node:fs/promises";
import path from "node:path";
import { allBut } from "./checkouts.mjs";
import { MOST_DIFF } from "./changes.mjs";
import { EVIDENCE } from "./commits.mjs";
import { checkCommit } from "./names.mjs";
import { broughtTo, inside } from "./ownership.mjs";

/** Filters of the user's may reach other machines. */
const LOOK_MS = 60_000;

/** @typedef {import("./repository.mjs").Repository} Repository */

/**
 * @param {Repository} repository @param {{path: string, admin: string, commit: string}} worktree commit: where it started
 * @param {{mostBytes?: number, signal?: AbortSignal}} [options]
 * @returns {Promise<{text: string, cut: boolean}>} hostile text; ignored files are not in it
 */
export async function diffOfWork(repository, worktree, { mostBytes = MOST_DIFF, signal } = {}) {
  const { admin, commit } = worktree;
  const index = path.join(admin, `tap-diff-${crypto.randomUUID()}`);
  await fs.copyFile(path.join(admin, "index"), index);
  const { cwd, env } = inside(worktree);
  const limits = { signal, lasting: true, network: true, timeoutMs: LOOK_MS };
  const where = { ...limits, cwd, env: { ...env, GIT_INDEX_FILE: index } };
  try {
    const without = [EVIDENCE, ...(await broughtTo(admin))];
    await repository.change(["add", "--intent-to-add", ...allBut(without)], where);
    const flags = ["--no-color", "--no-ext-diff", "--no-textconv", "-M"];
    const args = ["diff", ...flags, checkCommit(commit), "--"];
    const { stdout, cut } = await repository.ask(args, { ...where, mostBytes, cuts: true });
    return { text: stdout, cut };
  } finally {
    await Promise.all([index, `${index}.lock`].map((file) => fs.rm(file, { force: true })));
  }
}
