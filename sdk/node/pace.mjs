// The rate of messages. The gateway reads a provider that sends more than 200 messages at once, then 100 a
// second, more slowly, and in the end closes its connection; answers do not count.

const BURST = 150;
const PER_SECOND = 90;

/** The bytes that may wait in the socket before calls to send must wait: far below a harmful amount. */
export const MAX_BUFFERED = 16 * 1024 * 1024;

/** Milliseconds between two attempts: up to double each time, with jitter. */
export function backoff(/** @type {number} */ attempt, /** @type {boolean} */ refused) {
  const [first, most] = refused ? [1000, 10_000] : [100, 2000];
  return Math.min(most, first * 2 ** Math.min(attempt, 10)) * (0.5 + Math.random() / 2);
}

export class Pace {
  #left = BURST;
  #at = performance.now();

  /** Whether a further message may be sent now. */
  take() {
    const now = performance.now();
    this.#left = Math.min(BURST, this.#left + ((now - this.#at) / 1000) * PER_SECOND);
    this.#at = now;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}
