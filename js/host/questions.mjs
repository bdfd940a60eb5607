// Questions to the feature host: each has a number, and one answer or none in time.

export class Questions {
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
  ask(message, mostMs, left) {
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
  answered({ number, text }) {
    this.#open.get(number)?.(String(text));
  }

  /** @param {string} why there will be no answers */
  answerAll(why) {
    for (const answer of [...this.#open.values()]) answer(`tap: ${why}`);
  }
}
