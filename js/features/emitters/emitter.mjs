// One emitter: when it runs is the schedule's business, what its lines are worth the feed's. It carries out what they
// decide, and records each run.

import { messageOf } from "../../base/errors.mjs";
import { shortened } from "../../base/visible.mjs";
import { Feed } from "./feed.mjs";
import { Schedule } from "./schedule.mjs";

/** @typedef {import("../../base/emitter-spec.mjs").EmitterSpec} EmitterSpec */
/** @typedef {import("../../feature-host/line-streams.mjs").ProgramEnd} ProgramEnd */
/** @typedef {import("../../feature-host/line-streams.mjs").EndJudgement} EndJudgement */
/** @typedef {import("./schedule.mjs").Decision} Decision */
/** @typedef {import("./schedule.mjs").ScheduleState} ScheduleState */
/** @typedef {ScheduleState & {running?: boolean}} FormerState */
/** @typedef {import("./feed.mjs").Owner} Owner */
/** @typedef {import("./feed.mjs").Parts} Parts */
/**
 * @typedef {object} Run
 * @property {number} number
 * @property {number} at Unix ms
 * @property {string} trace
 * @property {string} [session]
 * @property {{kept: number, dropped: number, injected: number}} before
 * @property {string} [stopped] why it was ended
 *
 * @typedef {{status: "ok" | "failed" | "stopped", exitCode?: number, signal?: string, error?: string}} Outcome
 *
 * @typedef {object} How
 * @property {boolean} [watched] its end is told to the model, whatever it is
 * @property {string} [gap] what was not read, where it goes on after a restart
 * @property {FormerState} [former]
 * @property {boolean} [allowed] by the user, as an entry of a config
 */

const MOST_TIMER = 2 ** 31 - 1;
/** Of a text in the record of a run. */
const MOST_TEXT = 500;

const hex = (/** @type {number} */ bytes) =>
  [...crypto.getRandomValues(new Uint8Array(bytes))]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");

/** A command that was cut off by the end of its process runs again: that was no run of `maxRuns`. @param {EmitterSpec} spec @param {FormerState} former */
const resumed = ({ kind }, { running, ...schedule }) =>
  running && kind !== "prompt" ? { ...schedule, runs: schedule.runs - 1 } : schedule;

export class Emitter {
  id = `e-${crypto.randomUUID().slice(0, 8)}`;
  spec;
  feed;
  since;
  allowed;
  #parts;
  #schedule;
  #watched;
  #gap;
  /** @type {Run | undefined} */
  #run;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  /** @type {{close: () => Promise<void>} | undefined} */
  #files;
  /** Why no further run follows; "": one may. */
  #ended = "";
  /** @type {(() => void)[]} */
  #onRunEnd = [];
  /** Of the session, for prompts. @type {"busy" | "idle" | undefined} */
  #activity;
  /** What an http emitter has last seen. @type {string | undefined} */
  #seen;

  /** @param {EmitterSpec} spec @param {Owner} owner @param {Parts} parts @param {How} [how] */
  constructor(spec, owner, parts, how = {}) {
    const { watched = false, gap = "", former, allowed = false } = how;
    this.spec = spec;
    this.since = parts.now();
    this.#parts = parts;
    this.allowed = allowed;
    this.#watched = watched;
    this.#gap = gap;
    const subscribe = spec.subscribe && spec.kind !== "prompt";
    this.feed = new Feed({ ...spec, subscribe }, owner, parts);
    this.#schedule = new Schedule(spec, this.since, former && resumed(spec, former));
  }

  get owner() {
    return this.feed.owner;
  }

  /** @returns {Promise<void>} rejected with a RangeError where a rule is wrong */
  async begin() {
    await this.feed.open(this.spec, (end) => this.#programEnded(end));
    if (this.#gap) this.feed.note(this.#gap, "surface");
    if (this.spec.onChange) await this.#watch(this.spec.onChange);
    await this.#look();
  }

  // ---- time ----------------------------------------------------------------------------------------

  /** Carries out what is due now. */
  async #look() {
    if (this.#ended) return;
    if (this.spec.kind === "prompt") {
      const session = await this.#parts.target(this.owner).catch(() => undefined);
      if (this.#ended) return;
      if (this.#run?.session !== undefined && session?.id !== this.#run.session) this.sessionGone();
      this.#heard(session?.activity === "idle" && this.#run === undefined ? "idle" : "busy");
    }
    this.#apply(this.#schedule.tick(this.#parts.now()));
  }

  /** @param {"busy" | "idle"} activity of the session */
  #heard(activity) {
    if (activity === this.#activity) return;
    this.#activity = activity;
    this.#apply(this.#schedule.session(this.#parts.now(), activity));
  }

  /** The session has finished its turn. @param {string} session */
  sessionIdle(session) {
    if (this.spec.kind !== "prompt" || this.#ended) return;
    if (this.#run?.session === session) this.#endRun({ status: "ok" });
    void this.#look();
  }

  /** A prompt ends with its session. */
  sessionGone() {
    if (this.spec.kind === "prompt") this.#endRun({ status: "stopped" });
  }

  /** @param {readonly string[]} globs */
  async #watch(globs) {
    const files = await this.#parts.services.workspace.watch({
      folder: this.owner.folder,
      globs,
      onChange: () => {
        if (!this.#ended) this.#apply(this.#schedule.changed(this.#parts.now()));
      },
      onFailed: (/** @type {string} */ reason) => {
        this.feed.note(`changes of files are not seen any more: ${reason}`, "inject");
        void this.stop("nothing can begin a run");
      },
    });
    if (this.#ended) await files.close();
    else this.#files = files;
  }

  /** @param {Decision[]} decisions */
  #apply(decisions) {
    for (const decision of decisions) {
      if (decision.do === "start") this.#start(decision.run);
      else if (decision.do === "kill") void this.#stopRun("the next run is due");
      else if (decision.do === "skip") {
        this.feed.note(`a run was left out: ${decision.why}`, "keep");
      } else if (decision.do === "done") this.#finish(decision.why);
    }
    this.#wake();
    if (decisions.length > 0) this.#parts.onChange();
  }

  #wake() {
    clearTimeout(this.#timer);
    const at = this.#ended ? undefined : this.#schedule.wakeAt;
    if (at === undefined) return;
    const wait = Math.min(Math.max(at - this.#parts.now(), 1), MOST_TIMER);
    this.#timer = setTimeout(() => void this.#look(), wait);
  }

  // ---- runs ----------------------------------------------------------------------------------------

  /** @param {number} number */
  #start(number) {
    const { kept, dropped, injected } = this.feed.counters();
    const before = { kept, dropped, injected };
    this.#run = { number, at: this.#parts.now(), trace: hex(16), before };
    const { kind } = this.spec;
    const works = { command: this.#execute, prompt: this.#prompt, http: this.#fetch };
    works[kind].call(this, number).catch((error) => {
      this.feed.note(`run ${number} did not start: ${messageOf(error)}`, "inject");
      this.#endRun({ status: "failed", error: messageOf(error) });
    });
  }

  async #execute() {
    const { command, argv, cwd, env, includeStderr: stderr } = this.spec;
    const traceparent = `00-${this.#run?.trace}-${hex(8)}-01`;
    await this.#requirePermission("bash", { command: command ?? argv?.join(" ") ?? "" });
    if (this.#run?.stopped !== undefined) return this.#endRun({ status: "stopped" });
    const { folder } = this.owner;
    await this.feed.start({ command, argv, folder, cwd, env, stderr, traceparent });
    if (this.#run?.stopped !== undefined) void this.feed.stopProgram();
  }

  /**
   * The work is the agent's wherever it comes from: the rules and gates for such a tool hold.
   * @param {string} tool @param {object} args
   */
  async #requirePermission(tool, args) {
    const session = await this.#parts.target(this.owner);
    if (session === undefined) {
      if (this.allowed) return; // in the background
      throw new Error("no session is there whose rules would say whether it may run");
    }
    const { permissions } = this.#parts.services;
    const { allowed, reason, by } = await permissions.check({ session: session.id, tool, args });
    if (allowed) return;
    throw new Error(`denied${by ? ` by ${by}` : ""}: ${reason ?? `a rule for ${tool}`}`);
  }

  /** @param {number} number */
  async #prompt(number) {
    const session = await this.#parts.target(this.owner);
    if (!session) throw new Error("no session is there");
    if (this.#run) this.#run.session = session.id;
    const { name, prompt = "" } = this.spec;
    await this.#parts.teller.prompt(session.id, name, number, prompt);
    this.feed.note(`run ${number}: ${prompt}`, "keep");
    this.#heard("busy");
  }

  /** What has changed since the last look is the run's lines. */
  async #fetch() {
    const { url = "", jsonPath } = this.spec;
    const run = this.#run;
    await this.#requirePermission("web_fetch", { url });
    const { valueOf } = await import("./http.mjs");
    const value = await valueOf(this.#parts.services, url, jsonPath);
    if (this.#run !== run || this.#ended) return;
    const isFirst = this.#seen === undefined;
    if (isFirst) this.feed.note(`at first: ${shortened(value, MOST_TEXT)}`, "keep");
    else if (value !== this.#seen) this.feed.take(value, { isExpected: true });
    this.#seen = value;
    this.#endRun({ status: "ok" });
  }

  /** @param {ProgramEnd} end @returns {EndJudgement} */
  #programEnded({ code, signal }) {
    const stopped = this.#run?.stopped !== undefined;
    const good = code === 0;
    // The entry of the end is in the feed when this has returned.
    queueMicrotask(() => {
      const status = stopped ? "stopped" : good ? "ok" : "failed";
      this.#endRun({ status, exitCode: code, signal });
    });
    const isExpected = stopped || (good && !this.spec.continuous);
    return { isExpected, mustInject: this.#watched && !stopped };
  }

  /** @param {Outcome} outcome */
  #endRun({ status, ...end }) {
    const run = this.#run;
    if (!run) return;
    this.#run = undefined;
    this.#record(run, status, end);
    for (const resolve of this.#onRunEnd.splice(0)) resolve();
    if (!this.#ended) this.#apply(this.#schedule.ended(this.#parts.now(), status === "ok"));
    this.#parts.onChange();
  }

  /** @param {Run} run @param {Outcome["status"]} status @param {Omit<Outcome, "status">} end */
  #record(run, status, { exitCode, signal, error }) {
    const { name, command, argv } = this.spec;
    const { kept, dropped, injected } = this.feed.counters();
    const text = command ?? argv?.join(" ");
    const body = {
      ...{ emitter: name, id: this.id, run: run.number, start: run.at, status },
      durationMs: Math.max(0, this.#parts.now() - run.at),
      ...(text !== undefined && { command: shortened(text, MOST_TEXT) }),
      ...(exitCode !== undefined && { exitCode }),
      ...(signal !== undefined && { signal }),
      ...(error !== undefined && { error: shortened(error, MOST_TEXT) }),
      kept: kept - run.before.kept,
      dropped: dropped - run.before.dropped,
      injected: injected - run.before.injected,
    };
    const session = this.owner.session ?? run.session;
    const whose = { trace: run.trace, ...(session !== undefined && { session }) };
    this.#parts.services.records
      .append({ collection: "emitter_run", ...whose, body })
      .catch((failed) => this.#parts.onDiagnostic(`a run was not recorded: ${messageOf(failed)}`));
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
    this.sessionGone();
    this.feed.note("the session was cleared; the emitter goes on in the next one", "keep");
    void this.#look();
  }

  /** @param {string} why */
  #finish(why) {
    void this.#files?.close();
    this.#ended ||= why;
    clearTimeout(this.#timer);
  }

  /** @param {string} why for its stream @returns {Promise<void>} once nothing of it runs */
  async stop(why) {
    this.#schedule.stop();
    this.#finish("stopped");
    this.feed.note(`stopped: ${why}`, "keep");
    await this.#stopRun(why);
    this.#parts.onChange();
  }

  /** @returns {"running" | "waiting" | "ended"} */
  get state() {
    if (this.#run) return "running";
    return this.#ended ? "ended" : "waiting";
  }

  /** Why it has ended. */
  get why() {
    return this.#ended;
  }

  get runs() {
    return this.#schedule.runs;
  }

  /** @param {number} count @returns {number[]} Unix ms */
  nextRuns(count) {
    return this.#schedule.nextRuns(count);
  }

  /** What a process that follows needs. */
  saved() {
    const { spec, owner } = this;
    const { rules, subscribe, delivery } = this.feed;
    const now = { ...spec, rules, ...(spec.kind !== "prompt" && { subscribe, delivery }) };
    const { allowed } = this;
    const schedule = { ...this.#schedule.state, running: this.#run !== undefined };
    return { spec: now, owner, allowed, schedule, watched: this.#watched };
  }
}
