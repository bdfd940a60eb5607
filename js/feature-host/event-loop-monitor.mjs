// Whose code runs: each entrance into a feature carries its id through timers and promises. So a blocked event loop
// has a name, and timers that a feature leaves behind are found.

import { AsyncLocalStorage, createHook } from "node:async_hooks";

/** Longer is a diagnostic: a person who waits notices it. */
export const BLOCKED_MS = 500;
const TIMERS = ["Timeout", "Immediate"];
/** Fewer references to timers of a feature are not looked through. */
const MIN_SWEEP = 256;

/** @param {any} timer @returns {boolean} whether it may still fire */
const isAlive = (timer) => timer !== undefined && !timer._destroyed;

/** The timers of a feature: those that have fired are forgotten now and then. */
export class Timers {
  /** @type {WeakRef<any>[]} */
  #references = [];
  #most = MIN_SWEEP;

  /** @param {object} timer */
  add(timer) {
    if (this.#references.length >= this.#most) {
      this.#references = this.#references.filter((one) => isAlive(one.deref()));
      this.#most = Math.max(MIN_SWEEP, 2 * this.#references.length);
    }
    this.#references.push(new WeakRef(timer));
  }

  /** How many references there are, also to timers that have fired. */
  get size() {
    return this.#references.length;
  }

  /** @returns {any[]} those that may still fire */
  listPending() {
    return this.#references.map((one) => one.deref()).filter(isAlive);
  }
}

export class EventLoopMonitor {
  #owner = /** @type {AsyncLocalStorage<string>} */ (new AsyncLocalStorage());
  /** When each entrance that runs has begun. @type {number[]} */
  #entrances = [];
  /** @type {Map<string, Timers>} */
  #timers = new Map();
  #onBlocked;
  #hook;
  /** Until when the loop was blocked, as was last said. */
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
    if (begun < this.#reportedUntil) return; // an entrance within this one
    this.#reportedUntil = now;
    this.#owner.exit(() => this.#onBlocked(owner, Math.round(now - begun)));
  }

  /** Runs a feature's code in its name. @template T @param {string} id @param {() => T} work @returns {T} */
  enter(id, work) {
    if (!this.#timers.has(id)) this.#timers.set(id, new Timers());
    const begun = performance.now();
    try {
      return this.#owner.run(id, work);
    } finally {
      this.#checkDuration(begun, id);
    }
  }

  /** Runs the host's own code, which no feature answers for. @template T @param {() => T} work @returns {T} */
  leave(work) {
    return this.#owner.exit(work);
  }

  /** Whose code runs now, also in the handler of an exception that nothing caught. @returns {string | undefined} */
  owner() {
    return this.#owner.getStore();
  }

  /** Ends the timers that are left of a feature. @param {string} id @returns {number} how many there were */
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
