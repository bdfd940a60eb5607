// Notices that the session is idle although no event says so. The CLI may lose `session.idle`: where a swap of tools
// ended together with a turn, `assistant.idle` was the last that came. The CLI knows, if it is asked.

/** `session.idle` follows `assistant.idle` within milliseconds, if nothing is queued. */
const FIRST_MS = 250;
/** Subagents and queued prompts may take long: it is asked again, twice as late each time. */
const MOST_MS = 8000;

/** An end of work is near. */
const ENDING = ["assistant.idle", "abort"];
/** The session is idle, or works, and more events will come. */
const CERTAIN = ["session.idle", "session.shutdown", "user.message", "assistant.turn_start"];

export class IdleWatch {
  #isProcessing;
  #onIdle;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;

  /** @param {() => Promise<boolean>} isProcessing asks the CLI @param {() => void} onIdle no event has said it */
  constructor(isProcessing, onIdle) {
    this.#isProcessing = isProcessing;
    this.#onIdle = onIdle;
  }

  /** @param {string} type of an event */
  saw(type) {
    if (CERTAIN.includes(type)) this.stop();
    else if (ENDING.includes(type)) this.#askIn(FIRST_MS);
  }

  stop() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** @param {number} ms */
  #askIn(ms) {
    clearTimeout(this.#timer);
    const timer = setTimeout(async () => {
      const processing = await this.#isProcessing().catch(() => true);
      if (this.#timer !== timer) return; // an event has come meanwhile
      if (processing) return this.#askIn(Math.min(2 * ms, MOST_MS));
      this.stop();
      this.#onIdle();
    }, ms);
    this.#timer = timer;
  }
}
