// The worktrees of a plan, used by many attempts: moving a worktree and changing some files is much faster than writing
// and deleting all of them. The contents of an idle worktree are archived at its next use or removal, since a person
// may change them until then.

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

/** @typedef {Removal & {pooled: boolean}} Release pooled: it is in the pool; neither pooled nor removed: see code and message */
/** @typedef {{worktree: Worktree, known: string[], since?: number}} Idle since: ms since 1970, start of its last use */

export class WorktreePool {
  /** When an attempt got its worktree, by git's folder of it: ms since 1970. @type {Map<string, number>} */
  #since = new Map();
  /** @type {Idle[]} */
  #idle = [];

  /**
   * @param {import("./worktrees.mjs").Worktrees} worktrees
   * @param {{most: number, onStay?: (removal: Removal) => void}} options most: idle worktrees; onStay: an idle worktree
   *   could not be archived and was not removed
   */
  constructor(worktrees, { most, onStay = () => {} }) {
    this.worktrees = worktrees;
    this.maxIdle = most;
    this.onStay = onStay;
  }

  get size() {
    return this.#idle.length;
  }

  /** @param {WorktreeRequest} wanted @returns {Promise<Worktree>} before untracked files are copied into it */
  async acquire(wanted) {
    const worktree = await this.#acquire(wanted);
    this.#since.set(worktree.admin, Date.now() - CLOCK_SKEW_MS);
    return worktree;
  }

  /** @param {WorktreeRequest} wanted @returns {Promise<Worktree>} */
  async #acquire(wanted) {
    // An attempt resumes its own worktree after a crash; git would move a pooled worktree into it.
    const place = await this.worktrees.worktreePath(wanted);
    const places = [place, asidePath(place, wanted.nonce)];
    const isBegun = (await Promise.all(places.map(entryExists))).includes(true);
    for (let idle; !isBegun && (idle = this.#idle.pop());) {
      try {
        if (!(await this.worktrees.isReusable(idle.worktree)))
          throw new GitError("CHANGED", `"${idle.worktree.path}" was changed in the pool.`);
        const keep = (/** @type {Worktree} */ moved) => this.#keep(idle, moved, wanted.signal);
        return await this.worktrees.reuse(idle.worktree, wanted, keep);
      } catch (error) {
        if (isGitError(error, "CANCELLED", "INVALID", "DISK_FULL")) {
          this.#idle.push(idle);
          throw error;
        }
        const removal = await this.#remove(idle); // a person changed it
        if (!removal.removed) this.onStay(removal);
      }
    }
    return this.worktrees.add(wanted);
  }

  /** @param {Idle} idle @param {Worktree} moved at its new path @param {AbortSignal} [signal] @returns {Promise<boolean>} whether it differs from its commit */
  async #keep({ known, since }, moved, signal) {
    const { repository } = this.worktrees;
    const why = "its worktree is used again";
    const { dirty } = await snapshotContents(repository, { ...moved, known }, { signal, why });
    return dirty || hasStrays(moved, repository.hexDigits, since);
  }

  /**
   * Takes a worktree back. A worktree that cannot be used again is archived and removed.
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

  /** @param {Idle} idle */
  #remove({ worktree, known }) {
    const record = { ...worktree, known };
    return removeWorktree(this.worktrees, record, { why: "the pool is closed" });
  }

  /** Removes idle worktrees. @returns {Promise<(Removal & {path: string})[]>} */
  drain() {
    const all = this.#idle.splice(0);
    return Promise.all(
      all.map(async (idle) => ({ path: idle.worktree.path, ...(await this.#remove(idle)) })),
    );
  }
}
