// Those who wait for something of any plan to change.

export class Waiting {
  /** @type {Set<() => void>} */
  #waiting = new Set();

  /** How many there are. */
  get size() {
    return this.#waiting.size;
  }

  /** Something has changed. */
  wake() {
    for (const done of this.#waiting) done();
  }

  /**
   * Until something changes, at most that long, and no longer than somebody waits for it.
   * @param {number} ms @param {AbortSignal} [left] nobody does @returns {Promise<void>}
   */
  change(ms, left) {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        left?.removeEventListener("abort", done);
        this.#waiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      left?.addEventListener("abort", done);
      this.#waiting.add(done);
      if (left?.aborted) done();
    });
  }
}
