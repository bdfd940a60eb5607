// A job in its run: its events, its reasons to stop, and its result.

import { toOutcome } from "./job.mjs";
import { Progress } from "./progress.mjs";
import { noTotals } from "./usage.mjs";

/** @typedef {import("./job.mjs").Job} Job */
/** @typedef {import("./job.mjs").Result} Result */
/** @typedef {import("./job.mjs").WorkerEvent} WorkerEvent */

const TICK_MS = 250;

/** @param {Job} job @param {string} tool @param {unknown} args @returns {Promise<string>} the reason for a refusal; "": allowed */
export async function checkSessionRules(job, tool, args) {
  try {
    return String((await job.mayUse(tool, args)) ?? "");
  } catch {
    return "tap: the rules of the session that started this job could not be asked.";
  }
}

/** The state of a running job, and the wait for its next change. */
export class JobRun {
  progress;
  #job;
  #onEvent;
  #startedAt = performance.now();
  #timer;
  #wake = () => {};
  /** @type {string | undefined} */
  #lossReason;

  /** @param {Job} job @param {(event: WorkerEvent) => void} onEvent */
  constructor(job, onEvent) {
    this.#job = job;
    this.#onEvent = onEvent;
    this.progress = new Progress(job, this.#startedAt);
    this.#timer = setInterval(() => {
      this.progress.tick(performance.now());
      this.#checkSettled();
    }, TICK_MS);
    job.signal?.addEventListener("abort", this.#onAbort);
    if (job.signal?.aborted) this.#onAbort();
  }

  #onAbort = () => {
    this.progress.stop(toOutcome("ABORTED", "the job was cancelled"));
    this.#checkSettled();
  };

  #checkSettled() {
    const { over, stopping } = this.progress;
    if (over || stopping || this.#lossReason !== undefined) this.#wake();
  }

  /** @param {any} event of the CLI */
  handleEvent(event) {
    for (const shown of this.progress.handleEvent(event, performance.now())) this.#show(shown);
    this.#checkSettled();
  }

  /** @param {import("./job.mjs").Refusal} refusal @param {string} why */
  refusePermission(refusal, why) {
    for (const shown of this.progress.refusePermission(refusal, why)) this.#show(shown);
  }

  /** @param {WorkerEvent} event */
  #show(event) {
    try {
      this.#onEvent(event);
    } catch {
      // an error of the caller
    }
  }

  /** The server ended: no more events arrive. @param {string} why */
  markLost(why) {
    this.#lossReason ??= why;
    this.#checkSettled();
  }

  /** Waits until the job is over, must stop, or is lost. */
  async waitUntilSettled() {
    const settled = new Promise((resolve) => (this.#wake = () => resolve(undefined)));
    this.#checkSettled();
    await settled;
  }

  get isLost() {
    return this.#lossReason !== undefined && !this.progress.over;
  }

  /** @param {Partial<Result>} more @returns {Result} */
  result(more = {}) {
    clearInterval(this.#timer);
    this.#job.signal?.removeEventListener("abort", this.#onAbort);
    const { turns, summary, used, refusals } = this.progress;
    const sessionMs = Math.round(performance.now() - this.#startedAt);
    return {
      ...this.progress.outcome(this.#lossReason),
      sessionId: this.#job.sessionId,
      turns,
      summary,
      refusals,
      session: "kept",
      ...more,
      usage: { ...(more.usage ?? used), sessionMs },
    };
  }
}

/** The result of a job that never started. @param {Job} job @param {import("./job.mjs").Outcome} outcome @returns {Result} */
export const createUnstartedResult = (job, outcome) => ({
  ...outcome,
  sessionId: String(job.sessionId),
  turns: 0,
  summary: "",
  refusals: 0,
  session: "kept",
  usage: { ...noTotals(), sessionMs: 0 },
});
