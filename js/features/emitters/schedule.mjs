// When an emitter runs: time and events in, decisions out. It has no timer and reads no clock. Time is Unix time and
// may jump; then nothing is caught up, and the emitter is not silent for longer than one interval.

import { nextCronTime, readZoneOffset } from "../../config/emitter-values.mjs";

/** @typedef {import("../../config/emitter-spec.mjs").EmitterSpec} EmitterSpec */
/** @typedef {"first" | "due" | "missed" | "changed" | "idle" | "restart"} Reason */
/**
 * What the caller does, in this order.
 * - start: begin run number `run`, and call ended() when it has ended. No other is running.
 * - skip: a run that was due is left out: one is running, the session is busy, or its time was missed.
 * - queue: it begins when the running one has ended.
 * - kill: end the running one; the next begins when it has ended.
 * - done: there will be no further run.
 * @typedef {{do: "start", run: number, why: Reason}
 *   | {do: "skip", why: "overlap" | "busy" | "missed"}
 *   | {do: "queue"} | {do: "kill"} | {do: "done", why: "maxRuns" | "ended" | "stopped"}} Decision
 */
/**
 * What outlives the process that had it. `cut`: runs that the end of a process cut off, which have their numbers, and
 * do not count for `maxRuns`.
 * @typedef {{runs: number, cut?: number, due: number | null, failures: number}} ScheduleState
 */

/** A run that begins later than this was missed: the computer slept, or the clock was set. */
export const LATE_MS = 60_000;
/** A timer does not count a sleep, so the caller looks at the clock at least so often. */
export const CLOCK_CHECK_MS = 30_000;
export const BACKOFF_MS = 500;
export const MAX_BACKOFF_MS = 30_000;
/** A run of a continuous command that was as long counts as good. */
export const GOOD_RUN_MS = 60_000;
/** How long the session has nothing to do before it counts as idle, and what is between two runs at least. */
export const IDLE_MS = 2000;
export const IDLE_GAP_MS = 10_000;
/** Changes of files count as one until files rest for DEBOUNCE_MS, at most for MAX_DEBOUNCE_MS in all. */
export const DEBOUNCE_MS = 300;
export const MAX_DEBOUNCE_MS = 5000;
/**
 * A change within IN_ROW_MS of a run may be the run's own. After FREE_IN_ROW such runs in a row the next ones wait,
 * each twice as long as the one before, up to MAX_WAIT_MS: what writes its own files does not run without a pause.
 */
export const IN_ROW_MS = 1000;
export const FREE_IN_ROW = 5;
export const MAX_WAIT_MS = 60_000;

/** @param {EmitterSpec} spec */
const isTimed = ({ every, cron }) => every !== undefined || cron !== undefined;

/** @param {EmitterSpec} spec @param {number} after a time that is due, or now @param {number} now */
function nextDue({ every, cron, timezone }, after, now) {
  if (cron !== undefined) return nextCronTime(cron, timezone, Math.max(after, now));
  if (every === undefined) return Infinity;
  // In step with what went before, and never in the past.
  return after + every * Math.max(1, Math.floor((now - after) / every) + 1);
}

/**
 * The next times of an emitter that begins now, as far as they are known.
 * @param {EmitterSpec} spec @param {number} now @param {number} count
 * @param {number} [first] when the next run is due, if that is known already
 * @returns {number[]} Unix ms
 */
export function nextRuns(spec, now, count, first) {
  const times = [];
  const most = Math.min(count, spec.maxRuns ?? Infinity);
  let at = first ?? (spec.cron === undefined ? now : nextDue(spec, now, now));
  for (; isTimed(spec) && times.length < most && at !== Infinity; at = nextDue(spec, at, at)) {
    times.push(at);
  }
  return times;
}

/** @param {EmitterSpec} spec @param {number} now @param {ScheduleState} [former] */
function firstDue(spec, now, former) {
  if (typeof former?.due === "number") return former.due;
  if (spec.idle) return Infinity;
  if (spec.cron !== undefined || (former && isTimed(spec))) return nextDue(spec, now, now);
  // A run that was cut off by the end of its process begins again, within maxRuns.
  return former && spec.onChange ? Infinity : now;
}

export class Schedule {
  #spec;
  /** When the next run is due; Infinity: nobody knows. @type {number} */
  #due = Infinity;
  /** @type {Reason} */
  #reason = "first";
  #last;
  #runs;
  #cut;
  #failures;
  /** When the running one began. @type {number | undefined} */
  #startedAt;
  /** A run begins when the running one has ended. @type {Reason | undefined} */
  #queuedReason;
  #busy = true;
  /** The first of the changes that have had no run. @type {number | undefined} */
  #firstChangeAt;
  #lastStart = -Infinity;
  #lastEnd = -Infinity;
  /** Runs that followed upon another by what changed during it or soon after it. */
  #inRow = 0;
  #isDone = false;
  /** Of the computer, where times of day are meant in it. @type {number | undefined} */
  #zone;

  /**
   * @param {EmitterSpec} spec @param {number} now Unix ms, as all times here
   * @param {ScheduleState} [former] of an emitter that goes on
   */
  constructor(spec, now, former) {
    this.#spec = spec;
    this.#last = now;
    this.#runs = former?.runs ?? 0;
    this.#cut = former?.cut ?? 0;
    this.#failures = former?.failures ?? 0;
    this.#due = firstDue(spec, now, former);
    this.#zone = this.#zoneAt(now);
    if (former) this.#reason = spec.continuous ? "restart" : "due";
    else if (spec.cron !== undefined) this.#reason = "due";
  }

  /** @returns {ScheduleState} to be kept, for a process that follows */
  get state() {
    const due = this.#due === Infinity ? null : this.#due;
    const cut = this.#cut > 0 && { cut: this.#cut };
    return { runs: this.#runs, ...cut, due, failures: this.#failures };
  }

  get isRunning() {
    return this.#startedAt !== undefined;
  }

  get isDone() {
    return this.#isDone;
  }

  get runs() {
    return this.#runs;
  }

  /** When the next run is due, as far as that is known. @returns {number | undefined} */
  get due() {
    return this.#isDone || this.#due === Infinity ? undefined : this.#due;
  }

  /** When tick() has to be called at the latest. @returns {number | undefined} undefined: after an event only */
  get wakeAt() {
    return this.due === undefined || this.#isWaitingForIdle()
      ? undefined
      : Math.min(this.due, this.#last + CLOCK_CHECK_MS);
  }

  /** @param {number} count @returns {number[]} the next times, as far as they are known */
  nextRuns(count) {
    const left = (this.#spec.maxRuns ?? Infinity) - this.#runs;
    const first = Math.max(this.due ?? Infinity, this.#last);
    return this.#isDone ? [] : nextRuns(this.#spec, this.#last, Math.min(count, left), first);
  }

  /** The running one was none: the session did not take its prompt. @param {number} now @returns {Decision[]} */
  rejectRun(now) {
    if (this.#startedAt === undefined) return [];
    this.#advanceClock(now);
    this.#startedAt = undefined;
    this.#queuedReason = undefined;
    this.#runs -= 1;
    if (this.#isDone) return [];
    if (this.#spec.idle) this.#awaitIdle(now);
    else if (!isTimed(this.#spec)) this.#backOff(now, "first");
    return [];
  }

  /** Time has passed. @param {number} now @returns {Decision[]} */
  tick(now) {
    this.#advanceClock(now);
    if (this.#isDone || now < this.#due || this.#isWaitingForIdle()) return [];
    const isLate = now - this.#due > LATE_MS && isTimed(this.#spec) && this.#reason !== "first";
    this.#due = nextDue(this.#spec, this.#due, now);
    this.#firstChangeAt = undefined;
    if (!isLate) return this.#begin(now, this.#reason);
    return this.#spec.missed === "once"
      ? this.#begin(now, "missed")
      : [{ do: "skip", why: "missed" }];
  }

  /** The running one has ended. @param {number} now @param {boolean} good @returns {Decision[]} */
  endRun(now, good) {
    const began = this.#startedAt;
    if (began === undefined) return [];
    this.#advanceClock(now);
    this.#startedAt = undefined;
    this.#lastEnd = now;
    const waiting = this.#queuedReason;
    this.#queuedReason = undefined;
    if (this.#isDone) return [];
    if (this.#runs >= (this.#spec.maxRuns ?? Infinity)) return this.#finish("maxRuns");
    if (waiting !== undefined) return this.#begin(now, waiting);
    if (this.#spec.idle) this.#awaitIdle(now);
    else if (this.#spec.continuous) return this.#restart(now, now - began, good);
    else if (!isTimed(this.#spec) && !this.#spec.onChange) return this.#finish("ended");
    return [];
  }

  /** @param {number} now @param {"busy" | "idle"} state of the session @returns {Decision[]} */
  setActivity(now, state) {
    this.#advanceClock(now);
    this.#busy = state === "busy";
    if (this.#spec.kind !== "prompt" || this.#isDone) return [];
    if (this.#spec.idle) {
      if (this.#busy) this.#due = Infinity;
      else if (!this.isRunning) this.#awaitIdle(now);
      return [];
    }
    return this.tick(now);
  }

  /** Files that it watches have changed. @param {number} now @returns {Decision[]} */
  recordChange(now) {
    this.#advanceClock(now);
    if (!this.#spec.onChange || this.#isDone) return [];
    if (!this.isRunning && now - this.#lastEnd > IN_ROW_MS) this.#inRow = 0;
    const wait = Math.min(DEBOUNCE_MS * 2 ** Math.max(0, this.#inRow - FREE_IN_ROW), MAX_WAIT_MS);
    this.#firstChangeAt ??= now;
    this.#due = Math.min(now + wait, this.#firstChangeAt + Math.max(wait, MAX_DEBOUNCE_MS));
    this.#reason = "changed";
    return this.tick(now);
  }

  /** No run follows. Whether one is still running is the caller's business. @returns {Decision[]} */
  stop() {
    this.#queuedReason = undefined;
    return this.#isDone ? [] : this.#finish("stopped");
  }

  /** The first run of a prompt is not left out for a busy session: it begins when that is idle. */
  #isWaitingForIdle() {
    const isFirst = this.#runs === 0 && this.#spec.cron === undefined && !this.#spec.idle;
    return this.#spec.kind === "prompt" && this.#busy && isFirst;
  }

  /** @param {number} now */
  #zoneAt(now) {
    const { cron, timezone } = this.#spec;
    return cron !== undefined && timezone === undefined ? readZoneOffset(now) : undefined;
  }

  /** In another time zone the next time of day is another. @param {number} now */
  #updateZone(now) {
    const zone = this.#zoneAt(now);
    if (zone !== this.#zone && this.#due > now) this.#due = nextDue(this.#spec, now, now);
    this.#zone = zone;
  }

  /** After a clock that was set back, what was due after a time is as far away as it was. @param {number} now */
  #advanceClock(now) {
    const back = this.#last - now;
    this.#last = now;
    if (!this.#isDone) this.#updateZone(now);
    if (back <= 0) return;
    if (this.#startedAt !== undefined) this.#startedAt -= back;
    if (this.#firstChangeAt !== undefined) this.#firstChangeAt -= back;
    this.#lastStart -= back;
    this.#lastEnd -= back;
    if (this.#spec.cron === undefined) this.#due -= back;
    // A step back of a moment does not make a minute come twice.
    else if (back > LATE_MS) this.#due = nextDue(this.#spec, now, now);
  }

  /** @param {number} now */
  #awaitIdle(now) {
    if (this.#busy) return;
    this.#due = Math.max(now + IDLE_MS, this.#lastStart + IDLE_GAP_MS);
    this.#reason = "idle";
  }

  /** @param {number} now @param {Reason} why @returns {Decision[]} */
  #begin(now, why) {
    const { kind, overlap } = this.#spec;
    const isLast = this.#runs >= (this.#spec.maxRuns ?? Infinity);
    if (isLast) return this.isRunning ? [] : this.#finish("maxRuns");
    if (this.isRunning) {
      const isPending = this.#queuedReason !== undefined;
      if (overlap === "skip" || isPending) return [{ do: "skip", why: "overlap" }];
      this.#queuedReason = why;
      return [{ do: overlap }];
    }
    if (kind === "prompt" && this.#busy) return [{ do: "skip", why: "busy" }];
    this.#runs += 1;
    if (why === "changed") this.#inRow = Math.min(this.#inRow + 1, 32);
    this.#startedAt = now;
    this.#lastStart = now;
    this.#reason = "due";
    return [{ do: "start", run: this.#runs + this.#cut, why }];
  }

  /** A continuous command has ended by itself. @param {number} now @param {number} took @param {boolean} good */
  #restart(now, took, good) {
    const { restart } = this.#spec;
    if (restart === "never" || (restart === "on-failure" && good)) return this.#finish("ended");
    if (took >= GOOD_RUN_MS) this.#failures = 0;
    this.#backOff(now, "restart");
    return [];
  }

  /** @param {number} now @param {Reason} why */
  #backOff(now, why) {
    this.#due = now + Math.min(BACKOFF_MS * 2 ** this.#failures, MAX_BACKOFF_MS);
    this.#failures = Math.min(this.#failures + 1, 16);
    this.#reason = why;
  }

  /** @param {"maxRuns" | "ended" | "stopped"} why @returns {Decision[]} */
  #finish(why) {
    this.#isDone = true;
    this.#due = Infinity;
    return [{ do: "done", why }];
  }
}
