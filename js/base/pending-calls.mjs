// The calls of one session that wait for their outcome, whichever SessionPort they went to: a link that
// breaks settles its own, and the next one goes on counting.

/** @typedef {import("./addon.js").CallOutcome} CallOutcome */

export class PendingCalls {
  #last = 0;
  /** @type {Map<number, (outcome: CallOutcome) => void>} */
  #waiting = new Map();

  /**
   * @param {import("./addon.js").SessionPort} port
   * @param {string} tool @param {unknown} args @param {number | undefined} timeoutMs
   * @param {(outcome: CallOutcome) => void} settle is called once
   * @returns {number} the call's id
   */
  call(port, tool, args, timeoutMs, settle) {
    const id = ++this.#last;
    const json = JSON.stringify(args ?? {});
    this.#waiting.set(id, settle);
    port.call(id, tool, json, timeoutMs);
    return id;
  }

  /**
   * The same with a promise.
   * @param {import("./addon.js").SessionPort} port
   * @param {string} tool @param {unknown} args @param {number} [timeoutMs]
   * @returns {{id: number, result: Promise<CallOutcome>}} the result rejects only where `args` are no JSON
   */
  start(port, tool, args, timeoutMs) {
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
      const id = /** @type {number} */ (pairs[i]);
      const settle = this.#waiting.get(id);
      this.#waiting.delete(id);
      settle?.(/** @type {CallOutcome} */ (pairs[i + 1]));
    }
  }
}
