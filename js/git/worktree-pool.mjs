// The worktrees of a plan, used again by one attempt after another: moving one and changing some files is much faster
// than writing and deleting all of them. What is in one that waits is kept when it gets its next use, or is removed:
// until then somebody may still change it.

import { processesUsing } from "./processes.mjs";
import { GitError, isGitError } from "./errors.mjs";
import { hasStrays } from "./worktree-status.mjs";
import { adoptPersonsChanges, detach } from "./worktree-admin.mjs";
import { CLOCK_SKEW_MS, entryExists } from "./repository.mjs";
import { asidePath } from "./worktrees.mjs";
import { snapshotContents } from "./archive.mjs";
import { inUseBy, toNotRemoved, removeWorktree } from "./cleanup.mjs";

/** @typedef {import("./worktrees.mjs").Worktree} Worktree */
/** @typedef {import("./worktrees.mjs").WorktreeRequest} WorktreeRequest */
/** @typedef {import("./cleanup.mjs").Removal} Removal */

/** @typedef {Removal & {pooled: boolean}} Release pooled: it is in the pool; neither: it stays, see code and message */
/** @typedef {{worktree: Worktree, known: string[], since?: number}} Idle since: ms since 1970, when it got its last use */

export class WorktreePool {
  /** When an attempt got its worktree, by git's folder of it: ms since 1970. @type {Map<string, number>} */
  #since = new Map();
  /** @type {Idle[]} */
  #idle = [];

  /**
   * @param {import("./worktrees.mjs").Worktrees} worktrees
   * @param {{most: number, onStay?: (removal: Removal) => void}} options most: that wait for their next use; onStay: one
   *   that waited has something that cannot be kept
   */
  constructor(worktrees, { most, onStay = () => {} }) {
    this.worktrees = worktrees;
    this.maxIdle = most;
    this.onStay = onStay;
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
    const place = await this.worktrees.worktreePath(wanted);
    const places = [place, asidePath(place, wanted.nonce)];
    const isBegun = (await Promise.all(places.map(entryExists))).includes(true);
    for (let one; !isBegun && (one = this.#idle.pop());) {
      try {
        if (!(await this.worktrees.isReusable(one.worktree)))
          throw new GitError("CHANGED", `"${one.worktree.path}" was changed in the pool.`);
        const keep = (/** @type {Worktree} */ moved) => this.#keep(one, moved, wanted.signal);
        return await this.worktrees.reuse(one.worktree, wanted, keep);
      } catch (error) {
        if (isGitError(error, "CANCELLED", "INVALID", "DISK_FULL")) {
          this.#idle.push(one);
          throw error;
        }
        const removal = await this.#remove(one); // it was changed by hand
        if (!removal.removed) this.onStay(removal);
      }
    }
    return this.worktrees.add(wanted);
  }

  /** @param {Idle} one @param {Worktree} moved the same, at its next place @param {AbortSignal} [signal] @returns {Promise<boolean>} whether it is not as its commit */
  async #keep({ known, since }, moved, signal) {
    const { repository } = this.worktrees;
    const why = "its worktree is used again";
    const { dirty } = await snapshotContents(repository, { ...moved, known }, { signal, why });
    return dirty || hasStrays(moved, repository.hexDigits, since);
  }

  /**
   * Takes a worktree back; one that cannot be used again is removed, after what is in it is kept.
   * @param {Worktree} worktree
   * @param {{known?: string[], signal?: AbortSignal, why?: string}} [options] known: commits that have refs
   * @returns {Promise<Release>}
   */
  async release(worktree, { known = [], signal, why = "given back" } = {}) {
    const place = { ...worktree, known: [worktree.commit, ...known] };
    const since = this.#since.get(worktree.admin);
    this.#since.delete(worktree.admin);
    try {
      await adoptPersonsChanges(this.worktrees.repository, worktree);
      const holders = (await processesUsing(worktree.path)) ?? [];
      if (holders.length > 0) return { ...inUseBy(worktree.path, holders), pooled: false };
      const fits = this.#idle.length < this.maxIdle && (await entryExists(worktree.path));
      if (!fits || !(await this.worktrees.isReusable(worktree))) {
        return { ...(await removeWorktree(this.worktrees, place, { signal, why })), pooled: false };
      }
      await detach(this.worktrees.repository, worktree);
      this.#idle.push({ worktree, known: place.known, since });
      return { removed: false, pooled: true };
    } catch (error) {
      return { ...toNotRemoved(error, worktree.path), pooled: false };
    }
  }

  /** @param {Idle} one */
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
