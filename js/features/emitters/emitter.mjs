// One emitter: when it runs is the schedule's business, what its lines are worth the feed's. It carries out what they
// decide, and records each run.

import { errorMessage } from "../../lib/values.mjs";
import { shortenRedacted } from "../../lib/redact.mjs";
import { Feed } from "./streams.mjs";
import {
  computeDigest,
  createRandomHex,
  MAX_RECORD_TEXT,
  createEmitterId,
  toOneLine,
  recordRun,
  requirePermission,
  toRunSnapshot,
  toTraceparent,
} from "./run.mjs";
import { Schedule } from "./schedule.mjs";

/** @typedef {import("../../config/emitter-spec.mjs").EmitterSpec} EmitterSpec */
/** @typedef {import("../../feature-host/line-streams.mjs").ProgramEnd} ProgramEnd */
/** @typedef {import("../../feature-host/line-streams.mjs").EndJudgement} EndJudgement */
/** @typedef {import("./schedule.mjs").Decision} Decision */
/** @typedef {import("./schedule.mjs").ScheduleState} ScheduleState */
/** @typedef {import("./streams.mjs").Owner} Owner */
/** @typedef {import("./streams.mjs").Parts} Parts */
/** @typedef {import("./run.mjs").Run} Run */
/** @typedef {import("./run.mjs").Outcome} Outcome */
/** @typedef {import("./store.mjs").EmitterSnapshot} EmitterSnapshot */

/** @typedef {ScheduleState & {running?: boolean}} FormerState */
/** @typedef {import("./watcher.mjs").Watcher} Watcher */
/**
 * @typedef {object} EmitterOptions
 * @property {string} [id] of one that goes on
 * @property {string} [gap] what was not read, where it goes on after a restart
 * @property {FormerState} [former]
 * @property {string} [path] PATH of the session that has asked for it
 * @property {string} [seen] digest of what an http emitter has last seen
 * @property {boolean} [allowed] by the user, as an entry of a config
 * @property {unknown} [state] of a watcher, as it was saved
 */

const MAX_TIMER_MS = 2 ** 31 - 1;
/** From a prompt to its turn: the gateway waits 2 s for its record. */
const TURN_MS = 10_000;

/** A command that was cut off by the end of its process runs again: `maxRuns` does not count the one that was cut off. @param {EmitterSpec} spec @param {FormerState} former */
const toResumedState = ({ kind }, { running, ...schedule }) => {
  if (!running || kind === "prompt") return schedule;
  return { ...schedule, runs: schedule.runs - 1, cut: (schedule.cut ?? 0) + 1 };
};

export class Emitter {
  id;
  spec;
  feed;
  since;
  allowed;
  #parts;
  #schedule;
  #gap;
  #path;
  /** @type {Run | undefined} */
  #run;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  /** @type {NodeJS.Timeout | undefined} */
  #turnTimer;
  /** @type {{close: () => Promise<void>} | undefined} */
  #files;
  /** Why no further run follows; "": one may. */
  #endReason = "";
  /** Of one whose output has a state. @type {Watcher | undefined} */
  watcher;
  /** @type {import("./watch-hints.mjs").WatchHints | undefined} */
  #hints;
  /** What runs in place of the command. @type {import("./watcher.mjs").Plan | undefined} */
  #plan;
  #savedState;
  /** How its last run in this process has ended. @type {({run: number} & Outcome) | undefined} */
  lastRun;
  /** @type {(() => void)[]} */
  #onRunEnd = [];
  /** Of the session, for prompts. @type {"busy" | "idle" | undefined} */
  #activity;
  /** Of what an http emitter has last seen: its digest. */
  #lastDigest;
  /** As it was saved last; undefined: it has changed. @type {EmitterSnapshot | undefined} */
  #snapshot;

  /** @param {EmitterSpec} spec @param {Owner} owner @param {Parts} parts @param {EmitterOptions} [how] */
  constructor(spec, owner, parts, how = {}) {
    const { id = createEmitterId(), gap = "", former, path, seen, allowed = false, state } = how;
    this.#savedState = state;
    this.id = id;
    this.#lastDigest = seen;
    this.#path = path;
    this.spec = spec;
    this.since = parts.now();
    this.#parts = parts;
    this.allowed = allowed;
    this.#gap = gap;
    const subscribe = spec.subscribe && spec.kind !== "prompt";
    this.feed = new Feed({ ...spec, subscribe }, owner, {
      ...parts,
      onChange: () => this.#markChanged(),
    });
    this.#schedule = new Schedule(spec, this.since, former && toResumedState(spec, former));
  }

  get owner() {
    return this.feed.owner;
  }

  /** Nothing of it runs yet. @returns {Promise<void>} rejected with a RangeError where a rule is wrong */
  async open() {
    const read = await this.#openWatcher();
    await this.feed.open(
      { ...this.spec, ...read },
      (end) => this.#handleProgramEnd(end),
      (cycles) => {
        this.#hints?.handleCycles(cycles);
        this.watcher?.handleCycles(cycles, this.#run?.stopped !== undefined);
      },
    );
    if (this.spec.onChange) await this.#watch(this.spec.onChange);
  }

  /** Where its output is to have a state: how it is read. */
  async #openWatcher() {
    if (!this.spec.watch) return undefined;
    const { planWatch, Watcher } = await import("./watcher.mjs");
    const plan = await planWatch(this.spec, this.owner.folder, this.#parts.services);
    const { folder } = plan;
    this.#plan = plan;
    const { rules } = this.feed;
    const isOwn = (/** @type {{match: string}} */ { match }) =>
      rules.some((one) => one.match === match);
    this.feed.rules = [...rules, ...plan.rules.filter((one) => !isOwn(one))];
    const { createDesktop, createHints } = await import("./watch-hints.mjs");
    this.#hints = createHints(this, plan.tool, this.#parts);
    const onWake = this.spec.watch.notify ? createDesktop(this, this.#parts) : () => {};
    const feed = this.feed;
    const parts = { ...this.#parts, onWake, onChange: () => this.#markChanged() };
    this.watcher = new Watcher({
      ...{ spec: this.spec, plan, folder, feed, parts },
      saved: this.#savedState,
    });
    const { matcher, tools } = plan;
    return { matcher, tools };
  }

  /** @returns {Promise<void>} once what is due at once has begun */
  async begin() {
    if (this.#gap) this.feed.note(this.#gap, "surface");
    await this.#runDue();
    const [first] = this.nextRuns(1);
    // What has not run has no record: this one shows that it is there, and until when it waits.
    if (this.runs === 0 && this.spec.cron !== undefined && first !== undefined) {
      this.feed.note(`the first run is at ${new Date(first).toISOString()}`, "keep");
    }
  }

  /** It never was: nothing of it is left. */
  async discard() {
    this.#finish("discarded");
    await this.feed.close();
  }

  // ---- time ----------------------------------------------------------------------------------------

  /** Carries out what is due now. */
  async #runDue() {
    if (this.#endReason) return;
    if (this.spec.kind === "prompt") {
      const session = await this.#parts.target(this.owner).catch(() => undefined);
      if (this.#endReason) return;
      if (this.#run?.session !== undefined && session?.id !== this.#run.session)
        this.handleSessionEnd();
      this.#updateActivity(
        session?.activity === "idle" && this.#run === undefined ? "idle" : "busy",
      );
    }
    this.#apply(this.#schedule.tick(this.#parts.now()));
  }

  /** @param {"busy" | "idle"} activity of the session */
  #updateActivity(activity) {
    if (activity === this.#activity) return;
    this.#activity = activity;
    this.#apply(this.#schedule.setActivity(this.#parts.now(), activity));
  }

  /** The session has finished its turn. @param {string} session */
  handleSessionIdle(session) {
    if (this.owner.session === undefined || this.owner.session === session) {
      void this.watcher?.check();
    }
    if (this.spec.kind !== "prompt" || this.#endReason) return;
    if (this.#run?.session === session) this.#endRun({ status: "ok" });
    void this.#runDue();
  }

  /** A prompt ends with its session. */
  handleSessionEnd() {
    if (this.spec.kind === "prompt") this.#endRun({ status: "stopped" });
  }

  /** @param {readonly string[]} globs */
  async #watch(globs) {
    const files = await this.#parts.services.workspace.watch({
      folder: this.owner.folder,
      globs,
      onChange: () => {
        if (!this.#endReason) this.#apply(this.#schedule.recordChange(this.#parts.now()));
      },
      onFailed: (/** @type {string} */ reason) => {
        this.feed.note(`changes of files are not seen any more: ${reason}`, "inject");
        void this.stop("nothing can begin a run");
      },
    });
    if (this.#endReason) await files.close();
    else this.#files = files;
  }

  /** @param {Decision[]} decisions */
  #apply(decisions) {
    this.#snapshot = undefined;
    for (const decision of decisions) {
      if (decision.do === "start") this.#start(decision.run);
      else if (decision.do === "kill") void this.#stopRun("the next run is due");
      else if (decision.do === "skip") {
        this.feed.note(`a run was left out: ${decision.why}`, "keep");
      } else if (decision.do === "done") this.#finish(decision.why);
    }
    this.#scheduleWake();
    if (decisions.length > 0) this.#markChanged();
  }

  #scheduleWake() {
    clearTimeout(this.#timer);
    const at = this.#endReason ? undefined : this.#schedule.wakeAt;
    if (at === undefined) return;
    const wait = Math.min(Math.max(at - this.#parts.now(), 1), MAX_TIMER_MS);
    this.#timer = setTimeout(() => void this.#runDue(), wait);
  }

  // ---- runs ----------------------------------------------------------------------------------------

  /** @param {number} number */
  #start(number) {
    const { kept, dropped, injected } = this.feed.counters();
    const before = { kept, dropped, injected };
    this.#run = {
      number,
      at: this.#parts.now(),
      trace: createRandomHex(16),
      span: createRandomHex(8),
      before,
    };
    this.feed.setRun(number, toTraceparent(this.#run));
    const { kind } = this.spec;
    const works = { command: this.#execute, prompt: this.#prompt, http: this.#fetch };
    const run = this.#run;
    works[kind].call(this, number).catch((error) => {
      if (this.#run === run) this.#failRun(number, toOneLine(errorMessage(error)));
    });
  }

  /** @param {number} number @param {string} why */
  #failRun(number, why) {
    if (this.spec.kind === "prompt") return this.#rejectRun(why);
    const what = this.spec.kind === "http" ? "failed" : "did not start";
    this.feed.note(`run ${number} ${what}: ${why}`, "inject");
    this.#endRun({ status: "failed", error: why });
  }

  /** The session did not take the prompt, which does not count as a run. @param {string} why */
  #rejectRun(why) {
    this.#run = undefined;
    this.feed.note(`a run was left out: ${why}`, "surface");
    for (const resolve of this.#onRunEnd.splice(0)) resolve();
    if (!this.#endReason) this.#apply(this.#schedule.rejectRun(this.#parts.now()));
    this.#markChanged();
  }

  async #execute() {
    const { cwd, includeStderr: stderr, sandbox } = this.spec;
    const { command, argv } = this.#plan ?? this.spec;
    const env = { ...this.#plan?.env, ...this.spec.env };
    const { traceparent } = this.feed;
    const variables = Object.keys(env).length > 0 && { env };
    const asked = { command: command ?? argv?.join(" ") ?? "", ...variables };
    await requirePermission(this, "bash", asked, this.#parts);
    if (this.#run?.stopped !== undefined) return this.#endRun({ status: "stopped" });
    const { folder } = this.owner;
    const path = this.#path;
    const where = { folder, cwd, env, path, sandbox };
    await this.feed.start({ command, argv, ...where, stderr, traceparent });
    this.#hints?.handleRun();
    if (this.#run?.stopped !== undefined) void this.feed.stopProgram();
  }

  /** @param {number} number */
  async #prompt(number) {
    const run = this.#run;
    const session = await this.#parts.target(this.owner);
    if (!session) throw new Error("no session is there");
    if (!run || this.#run !== run) return;
    run.session = session.id;
    const { name, prompt = "" } = this.spec;
    await this.#parts.notifications.prompt(session.id, name, number, prompt, this.feed.traceparent);
    if (this.#run !== run) return;
    this.feed.note(`run ${number}: ${prompt}`, "keep");
    this.#updateActivity("busy");
    clearTimeout(this.#turnTimer);
    this.#turnTimer = setTimeout(() => void this.#checkTurn(run), TURN_MS);
  }

  /** A prompt that could not be recorded is not sent, so no turn begins or ends. @param {Run} run */
  async #checkTurn(run) {
    const session = await this.#parts.target(this.owner).catch(() => undefined);
    if (this.#run !== run || session?.id !== run.session || session?.activity !== "idle") return;
    this.#rejectRun("no turn has begun with its prompt");
    void this.#runDue();
  }

  /** What has changed since the last look is the run's lines. */
  async #fetch() {
    const { url = "", jsonPath } = this.spec;
    const run = this.#run;
    await requirePermission(this, "web_fetch", { url }, this.#parts);
    const { fetchValue } = await import("./http.mjs");
    const value = await fetchValue(this.#parts.services, url, jsonPath);
    const seen = await computeDigest(value);
    if (this.#run !== run || this.#endReason) return;
    if (this.#lastDigest === undefined) {
      this.feed.note(`at first: ${shortenRedacted(toOneLine(value), MAX_RECORD_TEXT)}`, "keep");
    } else if (seen !== this.#lastDigest) this.feed.post(value);
    this.feed.touch();
    this.#lastDigest = seen;
    this.#endRun({ status: "ok" });
  }

  /** @param {ProgramEnd} end @returns {EndJudgement} */
  #handleProgramEnd({ code, signal }) {
    const stopped = this.#run?.stopped !== undefined;
    const good = code === 0;
    // The entry of the end is in the feed when this has returned.
    queueMicrotask(() => {
      const status = stopped ? "stopped" : good ? "ok" : "failed";
      this.#endRun({ status, exitCode: code, signal });
    });
    if (this.watcher) return { isExpected: true };
    const isExpected = stopped || (good && !this.spec.continuous);
    return { isExpected };
  }

  /** @param {Outcome} outcome */
  #endRun({ status, ...end }) {
    const run = this.#run;
    if (!run) return;
    this.#run = undefined;
    this.#hints?.close();
    this.lastRun = { run: run.number, status, ...end };
    recordRun(this, run, { status, ...end }, this.#parts);
    for (const resolve of this.#onRunEnd.splice(0)) resolve();
    if (!this.#endReason) this.#apply(this.#schedule.endRun(this.#parts.now(), status === "ok"));
    this.#markChanged();
  }

  /** @param {string} why */
  async #stopRun(why) {
    const run = this.#run;
    if (!run) return;
    run.stopped ??= why;
    const ended = new Promise((resolve) => this.#onRunEnd.push(() => resolve(undefined)));
    if (this.spec.kind !== "command") this.#endRun({ status: "stopped" });
    else if (this.feed.isRunning) await this.feed.stopProgram();
    await ended;
  }

  // ---- the whole -----------------------------------------------------------------------------------

  /** Another session has it now: after /clear. @param {Owner} owner */
  adopt(owner) {
    this.feed.owner = owner;
    this.#markChanged();
    this.handleSessionEnd();
    void this.watcher?.check();
    this.feed.note("the session was cleared; the emitter goes on in the next one", "keep");
    void this.#runDue();
  }

  /** @param {string} why */
  #finish(why) {
    void this.#files?.close();
    this.#endReason ||= why;
    this.feed.clearDeadline();
    clearTimeout(this.#timer);
    clearTimeout(this.#turnTimer);
  }

  /** @param {string} why for its stream @returns {Promise<void>} once nothing of it runs */
  async stop(why) {
    const isOver = this.state === "ended";
    this.#schedule.stop();
    this.#finish("stopped");
    if (!isOver) this.feed.note(`stopped: ${why}`, "keep");
    await this.#stopRun(why);
    this.watcher?.close();
    this.#markChanged();
  }

  /** @returns {"running" | "waiting" | "ended"} */
  get state() {
    if (this.#run) return "running";
    return this.#endReason ? "ended" : "waiting";
  }

  /** Why it has ended. */
  get endReason() {
    return this.#endReason;
  }

  get runs() {
    return this.#schedule.runs;
  }

  /** @param {number} count @returns {number[]} Unix ms */
  nextRuns(count) {
    return this.#schedule.nextRuns(count);
  }

  /** What is saved of it is another now. */
  #markChanged() {
    this.#snapshot = undefined;
    this.#parts.onChange();
  }

  /**
   * What a process that follows needs. Each start of an emitter asks all of them, of which few have changed.
   * @returns {EmitterSnapshot}
   */
  toSnapshot() {
    if (this.#snapshot) return this.#snapshot;
    const { id, spec, owner } = this;
    const { rules, subscribe, delivery } = this.feed;
    const now = { ...spec, rules, ...(spec.kind !== "prompt" && { subscribe, delivery }) };
    const { allowed } = this;
    const schedule = { ...this.#schedule.state, running: this.#run !== undefined };
    const path = this.#path;
    const seen = this.#lastDigest;
    const run = this.#run && toRunSnapshot(this.#run);
    const state = this.watcher?.state.toSnapshot();
    const saved = { id, spec: now, owner, path, seen, allowed, schedule, run, state };
    return (this.#snapshot = saved);
  }
}
