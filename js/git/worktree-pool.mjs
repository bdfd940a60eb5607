// The worktrees of a plan, used again by one attempt after another: moving one and changing some files is much faster
// than writing and deleting all of them.

import { processesUsing } from "./processes.mjs";
import { isGitError } from "./errors.mjs";
import { hasStrays } from "./worktree-status.mjs";
import { detach } from "./worktree-admin.mjs";
import { CLOCK_SKEW_MS, entryExists } from "./repository.mjs";
import { inUseBy, snapshotContents, toNotRemoved, removeWorktree } from "./cleanup.mjs";

/** @typedef {import("./worktrees.mjs").Worktree} Worktree */
/** @typedef {import("./worktrees.mjs").WorktreeRequest} WorktreeRequest */
/** @typedef {import("./cleanup.mjs").Removal} Removal */

/** @typedef {Removal & {pooled: boolean}} Release pooled: it is in the pool; neither: it stays, see code and message */

export class WorktreePool {
  /** When an attempt got its worktree, by git's folder of it: ms since 1970. @type {Map<string, number>} */
  #since = new Map();
  /** @type {{worktree: Worktree, dirty: boolean, known: string[]}[]} */
  #idle = [];

  /** @param {import("./worktrees.mjs").Worktrees} worktrees @param {{most: number}} options most: that wait for their next use */
  constructor(worktrees, { most }) {
    this.worktrees = worktrees;
    this.maxIdle = most;
  }

  get size() {
    return this.#idle.length;
  }

  /** @param {WorktreeRequest} wanted @returns {Promise<Worktree>} nothing is brought into it yet */
  async acquire(wanted) {
    const worktree = await this.#acquire(wanted);
    this.#since.set(worktree.admin, Date.now() - CLOCK_SKEW_MS);
    return worktree;
  }

  /** @param {WorktreeRequest} wanted @returns {Promise<Worktree>} */
  async #acquire(wanted) {
    // What an attempt has begun before a crash is its own; git would move another worktree into it.
    const isBegun = await entryExists(await this.worktrees.worktreePath(wanted));
    const one = isBegun ? undefined : this.#idle.pop();
    if (one) {
      try {
        return await this.worktrees.reuse(one.worktree, wanted, one);
      } catch (error) {
        if (isGitError(error, "CANCELLED", "INVALID", "DISK_FULL")) {
          this.#idle.push(one);
          throw error;
        }
        await this.#remove(one); // it was changed by hand; another one is made
      }
    }
    return this.worktrees.add(wanted);
  }

  /**
   * Keeps what is in a worktree and takes it back; one that cannot be used again is removed.
   * @param {Worktree} worktree @param {{known?: string[], signal?: AbortSignal, why?: string}} [options] known: commits
   *   that have refs
   * @returns {Promise<Release>}
   */
  async release(worktree, { known = [], signal, why = "given back" } = {}) {
    const { repository } = this.worktrees;
    const place = { ...worktree, known: [worktree.commit, ...known] };
    const since = this.#since.get(worktree.admin);
    this.#since.delete(worktree.admin);
    try {
      const holders = (await processesUsing(worktree.path)) ?? [];
      if (holders.length > 0) return { ...inUseBy(worktree.path, holders), pooled: false };
      const fits = this.#idle.length < this.maxIdle && (await entryExists(worktree.path));
      if (!fits || !(await this.worktrees.isReusable(worktree))) {
        return { ...(await removeWorktree(this.worktrees, place, { signal, why })), pooled: false };
      }
      const { dirty, kept, omitted } = await snapshotContents(repository, place, { signal, why });
      await detach(repository, worktree);
      const isLike = !dirty && !(await hasStrays(worktree, repository.hexDigits, since));
      this.#idle.push({ worktree, dirty: !isLike, known: place.known });
      const rest = { ...(kept && { kept }), ...(omitted.length > 0 && { omitted }) };
      return { removed: false, pooled: true, ...rest };
    } catch (error) {
      return { ...toNotRemoved(error, worktree.path), pooled: false };
    }
  }

  /** @param {{worktree: Worktree, known: string[]}} one */
  #remove({ worktree, known }) {
    const record = { ...worktree, known };
    return removeWorktree(this.worktrees, record, { why: "the pool is closed" });
  }

  /** Removes those that wait. @returns {Promise<(Removal & {path: string})[]>} */
  drain() {
    const idle = this.#idle.splice(0);
    return Promise.all(
      idle.map(async (one) => ({ path: one.worktree.path, ...(await this.#remove(one)) })),
    );
  }
}
