// When a watcher may start a turn of the model. No clock: each call gets the time.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const GAP = 30 * SECOND;
const MAX_GAP = 10 * MINUTE;
const CALM = 10 * MINUTE;

/** In a row, without a turn of the user's. */
export const MAX_ATTEMPTS = 3;
export const WAKES_PER_HOUR = 12;
/** An editor that saves while its user types breaks a build often. */
export const HOLD_MS = 2 * SECOND;

/**
 * @typedef {"gap" | "hour" | "attempts" | "quiet" | "busy"} Obstacle
 * @typedef {{at: number} | {obstacle: Obstacle, until?: number}} Verdict `at`: from then on
 */

export class Wakes {
  attempts = 0;
  #hold;
  #most;
  /** @type {number[]} */
  #times = [];
  #gap = GAP;
  #quietUntil = 0;

  /** @param {{hold?: number, most?: number}} [options] `hold` ms; `most`: in an hour */
  constructor({ hold = HOLD_MS, most = WAKES_PER_HOUR } = {}) {
    this.#hold = hold;
    this.#most = most;
  }

  /** @param {number} until Unix ms; Infinity: until the session ends; 0: no longer */
  quiet(until) {
    this.#quietUntil = until;
  }

  /** @param {number} now */
  isQuiet(now) {
    return now < this.#quietUntil;
  }

  /** @param {number} now @returns {number} wakes in the last hour */
  count(now) {
    return this.#times.filter((at) => now - at < HOUR).length;
  }

  /**
   * @param {number} changedAt when the state changed @param {number} now @param {boolean} isBusy
   * @returns {Verdict}
   */
  decide(changedAt, now, isBusy) {
    if (this.isQuiet(now)) return { obstacle: "quiet", until: this.#quietUntil };
    if (this.attempts >= MAX_ATTEMPTS) return { obstacle: "attempts" };
    if (isBusy) return { obstacle: "busy" };
    const last = this.#times.at(-1);
    if (this.count(now) >= this.#most) {
      return { obstacle: "hour", until: this.#times[this.#times.length - this.#most] + HOUR };
    }
    const due = changedAt + this.#hold;
    return { at: last === undefined ? due : Math.max(due, last + this.#gap) };
  }

  /** It has started a turn. @param {number} now */
  wake(now) {
    const last = this.#times.at(-1);
    const isSoon = last !== undefined && now - last < 2 * this.#gap;
    if (isSoon) this.#gap = Math.min(this.#gap * 2, MAX_GAP);
    else if (last === undefined || now - last > CALM) this.#gap = GAP;
    this.#times = [...this.#times.filter((at) => now - at < HOUR), now];
    this.attempts += 1;
  }

  /** It is green again, or the user has started a turn. */
  reset() {
    this.attempts = 0;
  }
}
