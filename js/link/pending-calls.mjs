// The pending calls of a link.

/** @typedef {import("../lib/addon.js").CallOutcome} CallOutcome */

/** @typedef {(outcome: CallOutcome) => void} Settle */
/**
 * @typedef {object} CallOrigin the origin of a call
 * @property {string} [toolCallId] the CLI's id of it
 * @property {string} [traceparent] the CLI's span of it
 */

/** A power of two, as each size is. */
const FIRST_SIZE = 16;

export class PendingCalls {
  #last = 0;
  #count = 0;
  /**
   * The settle functions and ids of pending calls; a call's place is the end of its id in binary. Not a Map:
   * with permanent changes a Map is rehashed repeatedly, and V8 chains each of its tables to the next, so
   * an old table keeps all functions that were settled since.
   * @type {(Settle | undefined)[]}
   */
  #waiting = new Array(FIRST_SIZE).fill(undefined);
  /** @type {number[]} */
  #ids = new Array(FIRST_SIZE).fill(0);

  /**
   * @param {import("../lib/addon.js").SessionPort} port
   * @param {string} tool @param {unknown} args @param {number | undefined} timeoutMs
   * @param {Settle} settle is called once
   * @param {CallOrigin} [origin]
   * @returns {number} the call's id
   */
  call(port, tool, args, timeoutMs, settle, origin) {
    const json = JSON.stringify(args ?? {});
    if (json === undefined) throw new TypeError(`${typeof args} is not JSON`);
    const id = this.#put(settle);
    port.call(id, tool, json, timeoutMs, origin?.toolCallId, origin?.traceparent);
    return id;
  }

  /**
   * Like call, with a promise.
   * @param {import("../lib/addon.js").SessionPort} port
   * @param {string} tool @param {unknown} args @param {number} [timeoutMs]
   * @returns {{id: number, result: Promise<CallOutcome>}} the result rejects only if `args` are not JSON
   */
  startCall(port, tool, args, timeoutMs) {
    let id = 0;
    /** @type {Promise<CallOutcome>} */
    const result = new Promise((resolve) => {
      id = this.call(port, tool, args, timeoutMs, resolve);
    });
    return { id, result };
  }

  /** For the port's onSettled. @param {(number | CallOutcome)[]} pairs */
  settle(pairs) {
    for (let i = 0; i < pairs.length; i += 2) {
      const settle = this.#remove(/** @type {number} */ (pairs[i]));
      settle?.(/** @type {CallOutcome} */ (pairs[i + 1]));
    }
  }

  /** @param {Settle} settle @returns {number} a new id, with a free place */
  #put(settle) {
    if (2 * ++this.#count > this.#waiting.length) this.#grow();
    const last = this.#waiting.length - 1;
    do this.#last += 1;
    while (this.#waiting[this.#last & last] !== undefined);
    this.#waiting[this.#last & last] = settle;
    this.#ids[this.#last & last] = this.#last;
    return this.#last;
  }

  /** @param {number} id @returns {Settle | undefined} */
  #remove(id) {
    const place = id & (this.#waiting.length - 1);
    if (this.#ids[place] !== id) return undefined;
    const settle = this.#waiting[place];
    if (settle !== undefined) --this.#count;
    this.#waiting[place] = undefined;
    return settle;
  }

  /** Doubles the table. Pending calls had distinct places, so their new places are distinct, too. */
  #grow() {
    const [waiting, ids] = [this.#waiting, this.#ids];
    this.#waiting = new Array(2 * waiting.length).fill(undefined);
    this.#ids = new Array(2 * waiting.length).fill(0);
    for (const [place, settle] of waiting.entries()) {
      if (settle === undefined) continue;
      this.#waiting[ids[place] & (this.#waiting.length - 1)] = settle;
      this.#ids[ids[place] & (this.#waiting.length - 1)] = ids[place];
    }
  }
}
