// Those who wait for the first report of the feature host.

/** It has not reported in time; it may still. */
export class NotReady extends Error {}

/** It has given up: nothing starts it again. */
export class GivenUp extends Error {
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
        done(new NotReady(`the feature host does not run: ${text}`));
      }, mostMs);
      this.#waiting.add(done);
    });
  }

  /** @param {Error} [error] there will be no report */
  settle(error) {
    for (const done of [...this.#waiting]) done(error);
  }
}
