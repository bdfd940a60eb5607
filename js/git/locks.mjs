// Locks of git that were left over: git was killed while it held them.

import fs from "node:fs/promises";
import path from "node:path";
import { holdersOf } from "./holders.mjs";
import { readRegular } from "./regular-file.mjs";

/** A git that has just started may not be seen yet. */
const YOUNG_MS = 1500;
/** An update of a ref takes milliseconds. */
const STALE_REF_MS = 10_000;
/** Where nobody can say who is at work in a folder. */
const UNKNOWN_MS = 60_000;

/** @param {string} lockFile @param {number} age in ms */
const isStaleRefLock = (lockFile, age) =>
  /[\\/]refs[\\/]tap[\\/].*\.lock$/.test(lockFile) && age > STALE_REF_MS;

/** The worktree to which a folder of git belongs, if it is one of ours. @param {string} admin */
async function ownWorktreeOf(admin) {
  try {
    await fs.access(path.join(admin, "tap"));
    return path.dirname((await readRegular(path.join(admin, "gitdir"))).trim());
  } catch {
    return undefined;
  }
}

/**
 * Removes the lock, if it is on something that only tap uses and nobody is at work there.
 * @param {string} lockFile @returns {Promise<boolean>} whether it is gone
 */
export async function lockIsFree(lockFile) {
  const stat = await fs.stat(lockFile).catch(() => undefined);
  if (stat === undefined) return true;
  const age = Date.now() - stat.mtimeMs;
  if (!isStaleRefLock(lockFile, age)) {
    const worktree = await ownWorktreeOf(path.dirname(lockFile));
    if (worktree === undefined || age < YOUNG_MS) return false;
    const holders = await holdersOf(worktree);
    if (holders === undefined ? age < UNKNOWN_MS : holders.length > 0) return false;
  }
  await fs.rm(lockFile, { force: true });
  return true;
}
