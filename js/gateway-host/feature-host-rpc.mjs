// Requests to the feature host, with their answers, and who waits for its first report.

/** It has not reported in time; it may still. */
export class FeatureHostNotReady extends Error {}

/** It has given up: nothing starts it again. */
export class FeatureHostFailed extends Error {
  final = true;

  /** @param {string} why */
  constructor(why) {
    super(
      `${why}. To start it again, end all sessions, run copilot-tap stop, and begin a session; ` +
        "copilot-tap doctor shows what is wrong",
    );
  }
}

export class Readiness {
  /** @type {Set<(error?: Error) => void>} */
  #waiting = new Set();

  /** @param {number} mostMs @param {() => string} why it is late @returns {Promise<void>} */
  wait(mostMs, why) {
    return new Promise((resolve, reject) => {
      const done = (/** @type {Error | undefined} */ error) => {
        clearTimeout(timer);
        this.#waiting.delete(done);
        if (error) reject(error);
        else resolve();
      };
      const timer = setTimeout(() => {
        const text = why() || `it was not ready within ${mostMs / 1000} s`;
        done(new FeatureHostNotReady(`the feature host does not run: ${text}`));
      }, mostMs);
      this.#waiting.add(done);
    });
  }

  /** @param {Error} [error] there will be no report */
  settle(error) {
    for (const done of [...this.#waiting]) done(error);
  }
}

// Questions to the feature host: each has a number, and one answer or none in time.

export class FeatureHostRpc {
  #send;
  #count = 0;
  /** Those without an answer yet. @type {Map<number, (text: string) => void>} */
  #open = new Map();

  /** @param {(message: object) => void} send */
  constructor(send) {
    this.#send = send;
  }

  /**
   * @param {object} message @param {number} mostMs
   * @param {AbortSignal} [left] aborted when the asker has gone: the feature host is told, and still answers
   * @returns {Promise<string>} rejected where nothing answers in time
   */
  request(message, mostMs, left) {
    return new Promise((resolve, reject) => {
      const number = ++this.#count;
      const onLeft = () => this.#send({ type: "left", number });
      const timer = setTimeout(() => {
        this.#open.delete(number);
        left?.removeEventListener("abort", onLeft);
        const why = `the feature host has not answered within ${mostMs / 1000} s; what was asked may go on`;
        reject(new Error(why));
      }, mostMs);
      timer.unref();
      this.#open.set(number, (text) => {
        clearTimeout(timer);
        this.#open.delete(number);
        left?.removeEventListener("abort", onLeft);
        resolve(text);
      });
      this.#send({ ...message, number });
      left?.addEventListener("abort", onLeft, { once: true });
      if (left?.aborted) onLeft();
    });
  }

  /** @param {{number: number, text: string}} answer as anybody may have written it */
  settle({ number, text }) {
    this.#open.get(number)?.(String(text));
  }

  /** @param {string} why there will be no answers */
  settleAll(why) {
    for (const answer of [...this.#open.values()]) answer(`tap: ${why}`);
  }
}
