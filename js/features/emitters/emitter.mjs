// One emitter: when it runs is the schedule's business, what its lines are worth the feed's. It carries out what they
// decide, and records each run.

import { messageOf } from "../../base/errors.mjs";
import { beginningOf } from "../../base/redact.mjs";
import { Feed } from "./feed.mjs";
import {
  digestOf,
  hex,
  MOST_TEXT,
  newId,
  oneLine,
  recordRun,
  requirePermission,
  savedRun,
  traceparentOf,
} from "./run.mjs";
import { Schedule } from "./schedule.mjs";

/** @typedef {import("../../base/emitter-spec.mjs").EmitterSpec} EmitterSpec */
/** @typedef {import("../../feature-host/line-streams.mjs").ProgramEnd} ProgramEnd */
/** @typedef {import("../../feature-host/line-streams.mjs").EndJudgement} EndJudgement */
/** @typedef {import("./schedule.mjs").Decision} Decision */
/** @typedef {import("./schedule.mjs").ScheduleState} ScheduleState */
/** @typedef {ScheduleState & {running?: boolean}} FormerState */
/** @typedef {import("./feed.mjs").Owner} Owner */
/** @typedef {import("./feed.mjs").Parts} Parts */
/** @typedef {import("./run.mjs").Run} Run */
/** @typedef {import("./run.mjs").Outcome} Outcome */
/** @typedef {import("./saved.mjs").Saved} Saved */
/**
 * @typedef {object} How
 * @property {string} [id] of one that goes on
 * @property {boolean} [watched] its end is told to the model, whatever it is
 * @property {string} [gap] what was not read, where it goes on after a restart
 * @property {FormerState} [former]
 * @property {string} [path] PATH of the session that has asked for it
 * @property {string} [seen] digest of what an http emitter has last seen
 * @property {boolean} [allowed] by the user, as an entry of a config
 */

const MOST_TIMER = 2 ** 31 - 1;
/** From a prompt to its turn: the gateway waits 2 s for its record. */
const TURN_MS = 10_000;

/** A command that was cut off by the end of its process runs again: `maxRuns` does not count the one that was cut off. @param {EmitterSpec} spec @param {FormerState} former */
const resumed = ({ kind }, { running, ...schedule }) => {
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
  #watched;
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
  #ended = "";
  /** How its last run in this process has ended. @type {({run: number} & Outcome) | undefined} */
  lastRun;
  /** @type {(() => void)[]} */
  #onRunEnd = [];
  /** Of the session, for prompts. @type {"busy" | "idle" | undefined} */
  #activity;
  /** Of what an http emitter has last seen: its digest. */
  #seen;
  /** As it was saved last; undefined: it has changed. @type {Saved | undefined} */
  #saved;

  /** @param {EmitterSpec} spec @param {Owner} owner @param {Parts} parts @param {How} [how] */
  constructor(spec, owner, parts, how = {}) {
    const { id = newId(), watched = false, gap = "", former, path, seen, allowed = false } = how;
    this.id = id;
    this.#seen = seen;
    this.#path = path;
    this.spec = spec;
    this.since = parts.now();
    this.#parts = parts;
    this.allowed = allowed;
    this.#watched = watched;
    this.#gap = gap;
    const subscribe = spec.subscribe && spec.kind !== "prompt";
    this.feed = new Feed({ ...spec, subscribe }, owner, {
      ...parts,
      onChange: () => this.#changed(),
    });
    this.#schedule = new Schedule(spec, this.since, former && resumed(spec, former));
  }

  get owner() {
    return this.feed.owner;
  }

  /** Nothing of it runs yet. @returns {Promise<void>} rejected with a RangeError where a rule is wrong */
  async open() {
    await this.feed.open(this.spec, (end) => this.#programEnded(end));
    if (this.spec.onChange) await this.#watch(this.spec.onChange);
  }

  /** @returns {Promise<void>} once what is due at once has begun */
  async begin() {
    if (this.#gap) this.feed.note(this.#gap, "surface");
    await this.#look();
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
    this.#saved = undefined;
    for (const decision of decisions) {
      if (decision.do === "start") this.#start(decision.run);
      else if (decision.do === "kill") void this.#stopRun("the next run is due");
      else if (decision.do === "skip") {
        this.feed.note(`a run was left out: ${decision.why}`, "keep");
      } else if (decision.do === "done") this.#finish(decision.why);
    }
    this.#wake();
    if (decisions.length > 0) this.#changed();
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
    this.#run = { number, at: this.#parts.now(), trace: hex(16), span: hex(8), before };
    this.feed.setRun(number, traceparentOf(this.#run));
    const { kind } = this.spec;
    const works = { command: this.#execute, prompt: this.#prompt, http: this.#fetch };
    const run = this.#run;
    works[kind].call(this, number).catch((error) => {
      if (this.#run === run) this.#failed(number, oneLine(messageOf(error)));
    });
  }

  /** @param {number} number @param {string} why */
  #failed(number, why) {
    if (this.spec.kind === "prompt") return this.#refused(why);
    const what = this.spec.kind === "http" ? "failed" : "did not start";
    this.feed.note(`run ${number} ${what}: ${why}`, "inject");
    this.#endRun({ status: "failed", error: why });
  }

  /** The session did not take the prompt, which does not count as a run. @param {string} why */
  #refused(why) {
    this.#run = undefined;
    this.feed.note(`a run was left out: ${why}`, "surface");
    for (const resolve of this.#onRunEnd.splice(0)) resolve();
    if (!this.#ended) this.#apply(this.#schedule.refused(this.#parts.now()));
    this.#changed();
  }

  async #execute() {
    const { command, argv, cwd, env, includeStderr: stderr } = this.spec;
    const { traceparent } = this.feed;
    const variables = Object.keys(env).length > 0 && { env };
    const asked = { command: command ?? argv?.join(" ") ?? "", ...variables };
    await requirePermission(this, "bash", asked, this.#parts);
    if (this.#run?.stopped !== undefined) return this.#endRun({ status: "stopped" });
    const { folder } = this.owner;
    const path = this.#path;
    await this.feed.start({ command, argv, folder, cwd, env, path, stderr, traceparent });
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
    await this.#parts.teller.prompt(session.id, name, number, prompt, this.feed.traceparent);
    if (this.#run !== run) return;
    this.feed.note(`run ${number}: ${prompt}`, "keep");
    this.#heard("busy");
    clearTimeout(this.#turnTimer);
    this.#turnTimer = setTimeout(() => void this.#expectTurn(run), TURN_MS);
  }

  /** A prompt that could not be recorded is not sent, so no turn begins or ends. @param {Run} run */
  async #expectTurn(run) {
    const session = await this.#parts.target(this.owner).catch(() => undefined);
    if (this.#run !== run || session?.id !== run.session || session?.activity !== "idle") return;
    this.#refused("no turn has begun with its prompt");
    void this.#look();
  }

  /** What has changed since the last look is the run's lines. */
  async #fetch() {
    const { url = "", jsonPath } = this.spec;
    const run = this.#run;
    await requirePermission(this, "web_fetch", { url }, this.#parts);
    const { valueOf } = await import("./http.mjs");
    const value = await valueOf(this.#parts.services, url, jsonPath);
    const seen = await digestOf(value);
    if (this.#run !== run || this.#ended) return;
    if (this.#seen === undefined) {
      this.feed.note(`at first: ${beginningOf(oneLine(value), MOST_TEXT)}`, "keep");
    } else if (seen !== this.#seen) this.feed.post(value);
    this.feed.heard();
    this.#seen = seen;
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
    this.lastRun = { run: run.number, status, ...end };
    recordRun(this, run, { status, ...end }, this.#parts);
    for (const resolve of this.#onRunEnd.splice(0)) resolve();
    if (!this.#ended) this.#apply(this.#schedule.ended(this.#parts.now(), status === "ok"));
    this.#changed();
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
    this.#changed();
    this.sessionGone();
    this.feed.note("the session was cleared; the emitter goes on in the next one", "keep");
    void this.#look();
  }

  /** @param {string} why */
  #finish(why) {
    void this.#files?.close();
    this.#ended ||= why;
    this.feed.expectNothing();
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
    this.#changed();
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

  /** What is saved of it is another now. */
  #changed() {
    this.#saved = undefined;
    this.#parts.onChange();
  }

  /**
   * What a process that follows needs. Each start of an emitter asks all of them, of which few have changed.
   * @returns {Saved}
   */
  saved() {
    if (this.#saved) return this.#saved;
    const { id, spec, owner } = this;
    const { rules, subscribe, delivery } = this.feed;
    const now = { ...spec, rules, ...(spec.kind !== "prompt" && { subscribe, delivery }) };
    const { allowed } = this;
    const schedule = { ...this.#schedule.state, running: this.#run !== undefined };
    const path = this.#path;
    const seen = this.#seen;
    const watched = this.#watched;
    const run = this.#run && savedRun(this.#run);
    return (this.#saved = { id, spec: now, owner, path, seen, allowed, schedule, watched, run });
  }
}
