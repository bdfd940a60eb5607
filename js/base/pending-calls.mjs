// The calls of one session that wait for their outcome, whichever SessionPort they went to: a link that
// breaks settles its own, and the next one goes on counting.

/** @typedef {import("./addon.js").CallOutcome} CallOutcome */

export class PendingCalls {
  #last = 0;
  /** @type {Map<number, (outcome: CallOutcome) => void>} */
  #waiting = new Map();

  /**
   * @param {import("./addon.js").SessionPort} port
   * @param {string} tool @param {unknown} args @param {number} [timeoutMs]
   * @returns {{id: number, result: Promise<CallOutcome>}} the result settles once and never rejects
   */
  call(port, tool, args, timeoutMs) {
    const id = ++this.#last;
    const json = JSON.stringify(args ?? {});
    /** @type {Promise<CallOutcome>} */
    const result = new Promise((resolve) => this.#waiting.set(id, resolve));
    port.call(id, tool, json, timeoutMs);
    return { id, result };
  }

  /** For the port's onSettled. @param {(number | CallOutcome)[]} pairs */
  settle(pairs) {
    for (let i = 0; i < pairs.length; i += 2) {
      const id = /** @type {number} */ (pairs[i]);
      this.#waiting.get(id)?.(/** @type {CallOutcome} */ (pairs[i + 1]));
      this.#waiting.delete(id);
    }
  }
}
