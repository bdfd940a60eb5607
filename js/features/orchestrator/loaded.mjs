// Which plans are in memory: those that go on, and the ended ones looked at last. The journal has all of them.

/** Ended plans that stay, however long ago somebody looked at them. */
const MOST_ENDED = 8;
/** Whoever works on a plan looks at it more often than that. */
const IDLE_MS = 60_000;

export class Loaded {
  #isEnded;
  #unload;
  #most;
  #idleMs;
  /** When each was looked at, the latest last. @type {Map<string, number>} */
  #usedAt = new Map();
  /** @type {NodeJS.Timeout | undefined} */
  #timer;

  /**
   * @param {object} of
   * @param {(planId: string) => boolean} of.isEnded nothing of it is left to be done
   * @param {(planId: string) => boolean} of.unload whether it is out of memory
   * @param {number} [of.most] @param {number} [of.idleMs]
   */
  constructor({ isEnded, unload, most = MOST_ENDED, idleMs = IDLE_MS }) {
    this.#isEnded = isEnded;
    this.#unload = unload;
    this.#most = most;
    this.#idleMs = idleMs;
  }

  /** @param {string} planId @param {number} [now] */
  used(planId, now = Date.now()) {
    this.#usedAt.delete(planId);
    this.#usedAt.set(planId, now);
    if (this.#usedAt.size > this.#most) this.#later();
  }

  /** @param {string} planId */
  forget(planId) {
    this.#usedAt.delete(planId);
  }

  #later() {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.tidy();
    }, this.#idleMs).unref();
  }

  /** Unloads the ended plans beyond the limit, once they are idle. @param {number} [now] */
  tidy(now = Date.now()) {
    const ended = [...this.#usedAt].filter(([planId]) => this.#isEnded(planId));
    for (const [planId, at] of ended.slice(0, Math.max(0, ended.length - this.#most))) {
      if (now - at >= this.#idleMs && this.#unload(planId)) this.#usedAt.delete(planId);
      else this.#later();
    }
  }

  close() {
    clearTimeout(this.#timer);
  }
}
