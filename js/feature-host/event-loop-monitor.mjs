// Tracks which feature's code runs: each entrance into a feature carries its id through timers and promises. So a
// blocked event loop can be attributed, and timers that a feature leaves behind are found.

import { AsyncLocalStorage, createHook } from "node:async_hooks";

/** A longer block is a diagnostic: a waiting person notices it. */
export const BLOCKED_MS = 500;
const TIMERS = ["Timeout", "Immediate"];
/** The references are not cleaned below this number. */
const MIN_SWEEP = 256;

/** @param {any} timer @returns {boolean} whether it may still fire */
const isAlive = (timer) => timer !== undefined && !timer._destroyed;

/** The timers of a feature. References to timers that have fired are removed occasionally. */
export class Timers {
  /** @type {WeakRef<any>[]} */
  #references = [];
  #most = MIN_SWEEP;

  /** @param {object} timer */
  add(timer) {
    if (this.#references.length >= this.#most) {
      this.#references = this.#references.filter((reference) => isAlive(reference.deref()));
      this.#most = Math.max(MIN_SWEEP, 2 * this.#references.length);
    }
    this.#references.push(new WeakRef(timer));
  }

  /** Number of references, including timers that have fired. */
  get size() {
    return this.#references.length;
  }

  /** @returns {any[]} timers that may still fire */
  listPending() {
    return this.#references.map((reference) => reference.deref()).filter(isAlive);
  }
}

export class EventLoopMonitor {
  #owner = /** @type {AsyncLocalStorage<string>} */ (new AsyncLocalStorage());
  /** Start times of the present entrances. @type {number[]} */
  #entrances = [];
  /** @type {Map<string, Timers>} */
  #timers = new Map();
  #onBlocked;
  #hook;
  /** End of the last reported block. */
  #reportedUntil = 0;

  /** @param {(id: string, ms: number) => void} onBlocked */
  constructor(onBlocked) {
    this.#onBlocked = onBlocked;
    this.#hook = createHook({
      init: (_id, type, _trigger, resource) => {
        const owner = TIMERS.includes(type) && this.#owner.getStore();
        if (owner) this.#timers.get(owner)?.add(resource);
      },
      before: () => void this.#entrances.push(performance.now()),
      after: () => this.#checkDuration(this.#entrances.pop()),
    }).enable();
  }

  /** @param {number} [begun] @param {string} [owner] */
  #checkDuration(begun, owner = this.#owner.getStore()) {
    const now = performance.now();
    if (begun === undefined || owner === undefined || now - begun < BLOCKED_MS) return;
    if (begun < this.#reportedUntil) return; // a nested entrance reported it
    this.#reportedUntil = now;
    this.#owner.exit(() => this.#onBlocked(owner, Math.round(now - begun)));
  }

  /** Runs a feature's code under its id. @template T @param {string} id @param {() => T} work @returns {T} */
  enter(id, work) {
    if (!this.#timers.has(id)) this.#timers.set(id, new Timers());
    const begun = performance.now();
    try {
      return this.#owner.run(id, work);
    } finally {
      this.#checkDuration(begun, id);
    }
  }

  /** Runs the host's own code, without a feature's id. @template T @param {() => T} work @returns {T} */
  leave(work) {
    return this.#owner.exit(work);
  }

  /** The feature whose code runs, also in the handler of an uncaught exception. @returns {string | undefined} */
  owner() {
    return this.#owner.getStore();
  }

  /** Ends the remaining timers of a feature. @param {string} id @returns {number} their number */
  clearTimers(id) {
    const left = this.#timers.get(id)?.listPending() ?? [];
    for (const timer of left) {
      clearTimeout(timer);
      clearImmediate(timer);
    }
    this.#timers.delete(id);
    return left.length;
  }

  stop() {
    this.#hook.disable();
  }
}
