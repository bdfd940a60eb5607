// When a gateway without sessions leaves: not while work of features holds it, nor while a command waits for what it
// has asked for. What the feature host does for a command, such as a merge, would be cut off in its middle.

/** @typedef {import("./holds.mjs").Hold} Hold */

export class Leaving {
  #options;
  /** Why nobody needs this gateway, but for what keeps it. */
  #reason = "";
  /** Requests of commands that have no answer yet. */
  #requests = 0;
  /** For the next request of the same command. @type {NodeJS.Timeout | undefined} */
  #grace;

  /**
   * @param {object} options
   * @param {() => Hold[]} options.holds @param {number} options.graceMs how long it waits after an answer
   * @param {import("../base/log.mjs").Log} options.log @param {(reason: string) => void} options.leave
   */
  constructor(options) {
    this.#options = options;
  }

  /** The gateway has had no session for the grace time, or another follows it. @param {string} reason */
  mayLeave(reason) {
    const { log, leave } = this.#options;
    const kept = this.#keptFor();
    if (kept === "" || !reason.includes("no session")) return leave(reason);
    this.#reason = reason;
    log("info", `${reason}, and the gateway stays for ${kept}`);
  }

  #keptFor() {
    const holds = this.#options.holds().map(({ what, feature }) => `${what} (${feature})`);
    const requests = this.#requests > 0 ? ["a command that waits for its answer"] : [];
    return [...holds, ...requests].join(", ");
  }

  sessionOpened() {
    this.#reason = "";
    clearTimeout(this.#grace);
    this.#grace = undefined;
  }

  /** A hold was set or released, or the last request was answered a while ago. */
  look() {
    if (this.#reason === "" || this.#grace || this.#keptFor() !== "") return;
    this.#options.leave(this.#reason);
  }

  /** A command waits for this. @template T @param {Promise<T>} answer @returns {Promise<T>} */
  async during(answer) {
    this.#requests += 1;
    try {
      return await answer;
    } finally {
      this.#requests -= 1;
      if (this.#requests === 0) this.#waitForMore();
    }
  }

  #waitForMore() {
    if (this.#reason === "") return;
    this.#grace ??= setTimeout(() => {
      this.#grace = undefined;
      this.look();
    }, this.#options.graceMs).unref();
  }
}
