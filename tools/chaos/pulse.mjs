// For how long this process did not run, although it was to: stopped, or kept from the processor.

import process from "node:process";

const BEAT_MS = 100;
/** A beat that is late because the process itself was busy for that long. */
const BUSY_MS = 1000;

/** Milliseconds that all processes count from the same moment, whatever the wall clock does. */
export const clock = () => Number(process.hrtime.bigint() / 1000n) / 1000;

export class Pulse {
  #beatAt = clock();
  #usage = process.cpuUsage();
  #sum = 0;
  #timer;
  /** The longest so far. */
  most = 0;

  /** @param {(ms: number) => void} [onBusy] this process itself has held up its event loop */
  constructor(onBusy = () => {}) {
    this.#timer = setInterval(() => this.#beat(onBusy), BEAT_MS).unref();
  }

  /** In all, until now. */
  get lateMs() {
    return this.#sum + Math.max(0, clock() - this.#beatAt - BEAT_MS);
  }

  /** @param {(ms: number) => void} onBusy */
  #beat(onBusy) {
    const now = clock();
    const late = Math.max(0, now - this.#beatAt - BEAT_MS);
    const { user, system } = process.cpuUsage(this.#usage);
    if (late > BUSY_MS && (user + system) / 1000 > BUSY_MS) onBusy((user + system) / 1000);
    this.#sum += late;
    this.most = Math.max(this.most, late);
    this.#beatAt = now;
    this.#usage = process.cpuUsage();
  }

  stop() {
    clearInterval(this.#timer);
  }
}
