// Background work of a feature: started and ended by the host. A task gets a signal and the sinks. Its exception
// becomes a diagnostic of its feature.

import { errorMessage } from "../lib/values.mjs";

/** From the signal until the host stops waiting for a task. */
export const TASK_END_MS = 5000;
const UNITS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const MAX_INTERVAL_MS = 2 ** 31 - 1;

/** @typedef {(context: {signal: AbortSignal} & import("./sinks.mjs").Sinks) => unknown} Task */

/** Parses `30s`, `5m`, `2h`, `1d`. @param {string} schedule @returns {number | undefined} ms */
export function parseInterval(schedule) {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(schedule) ?? [];
  const ms = Number(count) * (UNITS[/** @type {keyof typeof UNITS} */ (unit)] ?? NaN);
  return ms >= 1000 && ms <= MAX_INTERVAL_MS ? ms : undefined;
}

export class Tasks {
  #sinks;
  #enter;
  #add;
  #controller = new AbortController();
  /** Present runs, by task. @type {Map<string, Promise<void>>} */
  #running = new Map();
  /** @type {NodeJS.Timeout[]} */
  #timers = [];
  /** @type {Set<string>} */
  #names = new Set();

  /**
   * @param {import("./sinks.mjs").Sinks} sinks @param {<T>(work: () => T) => T} enter
   * @param {(text: string) => void} add adds a diagnostic
   */
  constructor(sinks, enter, add) {
    this.#sinks = sinks;
    this.#enter = enter;
    this.#add = add;
  }

  get names() {
    return [...this.#names];
  }

  /** @param {string} name @param {Task} task @param {string} [schedule] absent: it runs once, now */
  start(name, task, schedule) {
    this.#names.add(name);
    const every = schedule === undefined ? undefined : parseInterval(schedule);
    if (schedule !== undefined && every === undefined) {
      this.#names.delete(name);
      return this.#add(`task ${name}: its schedule "${schedule}" is not like 30s, 5m, 2h or 1d`);
    }
    this.#run(name, task);
    if (every === undefined) return undefined;
    const timer = setInterval(() => this.#running.has(name) || this.#run(name, task), every);
    this.#timers.push(timer);
  }

  /** @param {string} name @param {Task} task */
  #run(name, task) {
    const { signal } = this.#controller;
    const run = Promise.resolve()
      .then(() => this.#enter(() => task({ signal, ...this.#sinks })))
      .catch((error) => {
        if (!signal.aborted) this.#add(`task ${name} failed: ${errorMessage(error)}`);
      })
      .then(() => void this.#running.delete(name));
    this.#running.set(name, run);
  }

  /** @param {string} reason @param {number} [mostMs] @returns {Promise<void>} when they have ended, or after mostMs */
  async stop(reason, mostMs = TASK_END_MS) {
    for (const timer of this.#timers) clearInterval(timer);
    this.#controller.abort(new Error(reason));
    if (this.#running.size === 0) return;
    /** @type {NodeJS.Timeout | undefined} */
    let timer;
    const late = new Promise((resolve) => (timer = setTimeout(resolve, mostMs, "late")));
    const ended = Promise.all(this.#running.values());
    const outcome = await Promise.race([ended, late]);
    clearTimeout(timer);
    if (outcome !== "late") return;
    const names = [...this.#running.keys()].join(", ");
    this.#add(`task ${names} has not ended within ${mostMs / 1000} s: its processes are ended`);
  }
}
