// Requests to the feature host with their answers, and the waits for its first report.

/** It has not reported in time, but may report later. */
export class FeatureHostNotReady extends Error {}

/** It has given up and is not restarted. */
export class FeatureHostFailed extends Error {
  final = true;

  /** @param {string} why */
  constructor(why) {
    super(
      `${why}. To start it again, end all sessions, run copilot-tap stop, and start a session; ` +
        "copilot-tap doctor shows the problem",
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

  /** @param {Error} [error] if there will be no report */
  settle(error) {
    for (const done of [...this.#waiting]) done(error);
  }
}

// Questions to the feature host: each has a number, and a single answer or a timeout.

export class FeatureHostRpc {
  #send;
  #count = 0;
  /** Questions without an answer. @type {Map<number, (text: string) => void>} */
  #open = new Map();

  /** @param {(message: object) => void} send */
  constructor(send) {
    this.#send = send;
  }

  /**
   * @param {object} message @param {number} mostMs
   * @param {AbortSignal} [left] aborted when the client has left: the feature host is notified, and still answers
   * @returns {Promise<string>} rejects without an answer in time
   */
  request(message, mostMs, left) {
    return new Promise((resolve, reject) => {
      const number = ++this.#count;
      const onLeft = () => this.#send({ type: "left", number });
      const timer = setTimeout(() => {
        this.#open.delete(number);
        left?.removeEventListener("abort", onLeft);
        const why = `the feature host has not answered within ${mostMs / 1000} s; the request may still be running`;
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

  /** @param {{number: number, text: string}} answer unvalidated */
  settle({ number, text }) {
    this.#open.get(number)?.(String(text));
  }

  /** @param {string} why there will be no answers */
  settleAll(why) {
    for (const answer of [...this.#open.values()]) answer(`tap: ${why}`);
  }
}
