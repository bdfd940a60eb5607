// What is in a worktree and not in the commit where it started, new files too. The worktree, its index and the objects
// of the repository stay as they are.

import crypto from "node:crypto";
import fs from "node:fs/promises";
import path from "node:path";
import { addOf, allBut } from "./checkouts.mjs";
import { MOST_DIFF } from "./changes.mjs";
import { checkCommit, EVIDENCE } from "./names.mjs";
import { broughtTo, inside } from "./ownership.mjs";
import { beyondSetup } from "./setup.mjs";

/** Filters of the user's may reach other machines. */
const LOOK_MS = 60_000;

/** @typedef {import("./repository.mjs").Repository} Repository */

/**
 * @param {Repository} repository @param {{path: string, admin: string, commit: string}} worktree commit: where it started
 * @param {{mostBytes?: number, signal?: AbortSignal}} [options]
 * @returns {Promise<{text: string, cut: boolean}>} hostile text; ignored files and what the setup has left are not in it
 */
export async function diffOfWork(repository, worktree, { mostBytes = MOST_DIFF, signal } = {}) {
  const { admin, commit } = worktree;
  const flags = ["--no-color", "--no-ext-diff", "--no-textconv", "-M"];
  const look = async (/** @type {object} */ where, /** @type {string[]} */ ...more) => {
    const args = ["diff", ...more, ...flags, checkCommit(commit), "--"];
    const { stdout, cut } = await repository.ask(args, { ...where, mostBytes, cuts: true });
    return { text: stdout, cut };
  };
  const how = { signal, without: [EVIDENCE] };
  const own = await beyondSetup(repository, worktree, how, (where) => look(where, "--cached"));
  if (own) return own;
  const index = path.join(admin, `tap-diff-${crypto.randomUUID()}`);
  await fs.copyFile(path.join(admin, "index"), index);
  const { cwd, env } = inside(worktree);
  const limits = { signal, lasting: true, network: true, timeoutMs: LOOK_MS };
  const where = { ...limits, cwd, env: { ...env, GIT_INDEX_FILE: index } };
  try {
    const without = [EVIDENCE, ...(await broughtTo(admin))];
    const add = await addOf(repository);
    await repository.change([...add, "--intent-to-add", ...allBut(without)], where);
    return await look(where);
  } finally {
    await Promise.all([index, `${index}.lock`].map((file) => fs.rm(file, { force: true })));
  }
}
