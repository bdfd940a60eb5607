// What begins by itself, before anything has loaded the emitters: what a config names and the user allows. Where a
// config names only what he has not allowed, or has mistakes, it is looked at until that changes.

/** What keeps both hosts while emitters run. */
export const HOLD = "running";
/** Until a changed config or consent is seen. */
const POLL_MS = 3000;

/** @template T */
export class AutoStart {
  #services;
  #begin;
  /** Of the next look, by session. @type {Map<string, NodeJS.Timeout>} */
  #timers = new Map();
  #isClosed = false;

  /** @param {import("../../feature-host/service-access.mjs").Services} services @param {() => Promise<T>} begin */
  constructor(services, begin) {
    this.#services = services;
    this.#begin = begin;
  }

  /** @param {string} session @param {string} [stamp] of what was read last @returns {Promise<T | undefined>} undefined: nothing begins */
  async checkConfig(session, stamp) {
    const asked = { session, ...(stamp !== undefined && { stamp }) };
    // A refusal: the session has ended. Else the answer may only be late.
    const read = await this.#services.emitters
      .configured(asked)
      .catch((error) => (error instanceof RangeError ? undefined : { same: true, stamp }));
    clearTimeout(this.#timers.get(session));
    this.#timers.delete(session);
    if (this.#isClosed || read === undefined) return undefined;
    if (!read.same) {
      const { emitters, streams, problems } = read;
      const isAllowed = emitters.some((/** @type {any} */ one) => one.allowed);
      if (isAllowed || streams.length > 0) {
        const begun = await this.#begin().catch(() => undefined);
        if (begun !== undefined || this.#isClosed) return begun;
        read.stamp = undefined; // so that it is tried again
      } else if (emitters.length + problems.length === 0) return undefined;
    }
    const again = () => void this.checkConfig(session, read.stamp);
    this.#timers.set(session, setTimeout(again, POLL_MS).unref());
    return undefined;
  }

  close() {
    this.#isClosed = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
  }
}
