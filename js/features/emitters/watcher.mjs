// An emitter with a state: its cycles become a state, and what the model does not know yet becomes one text, which is
// made when it is sent.

import { inLine, shortenText } from "../../lib/visible.mjs";
import { errorMessage } from "../../lib/values.mjs";
import { WatchState, isWatchSnapshot } from "../../watch/state.mjs";
import { formatReport, formatShown } from "../../watch/text.mjs";
import { Wakes } from "../../watch/wakes.mjs";

/** @typedef {import("../../config/emitter-spec.mjs").EmitterSpec} EmitterSpec */
/** @typedef {import("../../watch/state.mjs").Cycle} Cycle */
/** @typedef {import("./streams.mjs").Parts} Parts */
/** @typedef {import("./streams.mjs").Feed} Feed */
/** @typedef {import("../../watch/plan.mjs").Plan} Plan */

const LAST_LINES = 20;
/** In a record of a state. */
const MAX_IDENTITIES = 20;
const MAX_IDENTITY = 200;
const MAX_TIMER_MS = 2 ** 31 - 1;
/** A program can end builds faster than anything reads of them: the last ones of one read count. */
const MAX_CLOSED = 8;
/** Between two records of states. */
const RECORD_MS = 100;

/**
 * @param {EmitterSpec} spec @param {string} workspace @param {Parts["services"]} services
 * @returns {Promise<Plan & {folder: string}>} `folder`: where it runs
 */
export async function planWatch(spec, workspace, services) {
  const { command, argv, cwd, watch = {}, onChange, every, cron } = spec;
  const { plan } = await import("../../watch/plan.mjs");
  const { folder, scripts } = await services.workspace.scripts({ folder: workspace, cwd });
  const isTimed = onChange !== undefined || every !== undefined || cron !== undefined;
  const readScript = (/** @type {string} */ name, /** @type {string} */ other = "") =>
    other === "" && Object.hasOwn(scripts, name) ? scripts[name] : undefined;
  const { tools: own = [] } = await services.emitters.configured({ folder: workspace });
  const options = { ...watch, isTimed, folder, readScript, own };
  return { ...plan(argv ?? command ?? "", options), folder };
}

export class Watcher {
  /** @type {WatchState} */
  state;
  wakes;
  #spec;
  #feed;
  #parts;
  #plan;
  #folder;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  /** The last edit of the model's whose outcome it has not read. @type {number | undefined} */
  #editedAt;
  /** No session was there to hear of a change since then. @type {number | undefined} */
  #awaySince;
  #isPauseShown = false;
  #hasExited = false;
  #isClosed = false;
  #recordedAt = -Infinity;
  /** Changes since the last record that have none. */
  #unrecorded = 0;
  /** When the state changed that it has sent. */
  #sentChange = -1;
  #shownChange = -1;

  /** @param {{spec: EmitterSpec, plan: Plan, folder: string, feed: Feed, parts: Parts, saved?: unknown}} options */
  constructor({ spec, plan, folder, feed, parts, saved }) {
    this.#spec = spec;
    this.#plan = plan;
    this.#folder = folder;
    this.#feed = feed;
    this.#parts = parts;
    const former = isWatchSnapshot(saved) ? saved : undefined;
    const { keepsUnseen } = plan;
    this.state = new WatchState({ folder, now: parts.now(), keepsUnseen, saved: former });
    const { limits } = parts.turns;
    const { hold = limits.hold, wakesPerHour: perHour = limits.perHour } = spec.watch ?? {};
    this.wakes = new Wakes({ ...limits, hold, perHour }, parts.turns.getHour(feed.owner));
  }

  get plan() {
    return this.#plan;
  }

  get tool() {
    return this.#plan.tool;
  }

  get shownName() {
    return inLine(this.#spec.name);
  }

  get traceparent() {
    return this.#feed.traceparent;
  }

  /** Who has changed files before the state. @returns {import("../../watch/wakes.mjs").Cause} */
  get cause() {
    return this.#editedAt === undefined ? "user" : "model";
  }

  /** Since it was sent. */
  get hasChanged() {
    return this.state.changedAt !== this.#sentChange;
  }

  /** The model has used a tool that can change files. @param {number} now */
  noteEdit(now) {
    this.#editedAt = now;
    void this.check();
  }

  /** @param {{opened?: number, closed?: Cycle[]}} cycles @param {boolean} isStopped by tap: what its end looks like says nothing */
  handleCycles({ opened, closed = [] }, isStopped) {
    for (const cycle of closed.slice(-MAX_CLOSED)) {
      const isExit = cycle.closedBy === "exit";
      if (isExit && isStopped) continue;
      this.#hasExited ||= isExit;
      this.#closeCycle(cycle, isExit && this.#plan.runsOn);
    }
    if (opened !== undefined) this.state.open(opened);
    if (closed.length > 0) this.#parts.onChange();
    void this.check();
  }

  /** @param {Cycle} cycle @param {boolean} isOver */
  #closeCycle(cycle, isOver) {
    const { state: former } = this.state;
    const isOther = this.state.close(cycle, isOver);
    const { state } = this.state;
    if (isOther) this.#record(cycle, former);
    const isTransition = state !== former && former !== "unknown";
    if (isOther) this.wakes.change(cycle.to, this.cause, state, isTransition);
    if (former === "unknown" && state === "green" && !this.#startsTurn(this.state)) {
      this.state.markTold();
    }
    // What the model has changed is mended, or has changed nothing.
    const isSeen = this.#editedAt !== undefined && cycle.from > this.#editedAt;
    const isWell = isOther ? state === "green" : isSeen && this.state.pending === undefined;
    if (isWell) this.#editedAt = undefined;
  }

  /** @param {Cycle} cycle @param {string} from */
  #record(cycle, from) {
    const now = this.#parts.now();
    if (now - this.#recordedAt < RECORD_MS && now >= this.#recordedAt) {
      this.#unrecorded += 1;
      return;
    }
    const { name } = this.#spec;
    const { state, failures } = this.state;
    const { session } = this.#feed.owner;
    const unrecorded = this.#unrecorded;
    [this.#recordedAt, this.#unrecorded] = [now, 0];
    const body = {
      ...{ emitter: name, from, to: state, run: cycle.run, failures: failures.length },
      ...{ leftOut: cycle.leftOut, closedBy: cycle.closedBy, part: "" },
      ...(cycle.exitCode !== undefined && { exitCode: cycle.exitCode }),
      ...(unrecorded > 0 && { unrecorded }),
      identities: failures.slice(0, MAX_IDENTITIES).map(({ id }) => shortenText(id, MAX_IDENTITY)),
    };
    this.#parts.services.records
      .append({ collection: "state", ...(session !== undefined && { session }), body })
      .catch((/** @type {unknown} */ error) =>
        this.#parts.onDiagnostic(`a state was not recorded: ${errorMessage(error)}`),
      );
  }

  /** The user has spoken. */
  handlePrompt() {
    this.wakes.reset();
    this.#isPauseShown = false;
    this.#editedAt = undefined;
    void this.check();
  }

  /** Its command runs once, and its end is what was asked for. */
  get isOnce() {
    return !this.#plan.runsOn && !this.#spec.onChange && this.#spec.every === undefined;
  }

  /** Whether such a state starts a turn of its own. @param {Pick<import("../../watch/state.mjs").Report, "state" | "why">} report */
  #startsTurn({ state, why }) {
    const { wake = "red" } = this.#spec.watch ?? {};
    if (wake === "never") return false;
    if (wake === "change" || (this.isOnce && this.#hasExited)) return true;
    return state === "red" || why === "ended" || why === "no tests";
  }

  /** What the model does not know. @param {import("../../watch/state.mjs").Report} report @param {boolean} isCarried */
  #createChange(report, isCarried) {
    const { cause, state } = this;
    return {
      ...{ at: state.changedAt, cause, state: report.state, editedAt: this.#editedAt },
      startsTurn: this.#startsTurn(report) && !isCarried,
      isNever: this.#spec.watch?.wake === "never",
    };
  }

  /**
   * When it is put before the model, and how.
   * @param {"idle" | "busy"} activity @param {number} now @param {boolean} mayCarry prompts can have it
   */
  decide(activity, now, mayCarry) {
    const report = this.state.pending;
    if (!report) return undefined;
    // What has happened while nobody was there starts no turn, if a prompt can have it.
    const isCarried = mayCarry && this.#awaySince !== undefined;
    return this.wakes.decide(this.#createChange(report, isCarried), now, activity);
  }

  /** Sends what is due, and comes again when more is. */
  async check() {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    const session = await this.#parts.target(this.#feed.owner).catch(() => undefined);
    if (this.#isClosed) return;
    if (session) return this.#parts.turns.check(session, this);
    if (this.state.pending) this.#awaySince ??= this.#parts.now();
  }

  /** @param {import("../../watch/wakes.mjs").Verdict} verdict @param {string} session @param {number} now */
  wait(verdict, session, now) {
    const at = "at" in verdict ? verdict.at : verdict.until;
    if (at !== undefined && Number.isFinite(at)) this.schedule(at - now);
    if ("obstacle" in verdict) this.#showChange(verdict.obstacle, session, now);
    if (!this.wakes.isPaused || this.#isPauseShown) return;
    this.#isPauseShown = true;
    const text = `${this.shownName} is still red after ${this.wakes.attempts} attempts; no more wakes until you write or run /tap-watch go ${this.shownName}`;
    this.#parts.turns.show(session, text, "warning");
  }

  /** What starts no turn is shown at once; the rest comes with its text. @param {string} obstacle @param {string} session @param {number} now */
  #showChange(obstacle, session, now) {
    const { changedAt, state } = this.state;
    const isQuiet = state === "green" && obstacle === "quiet";
    if ((obstacle !== "carried" && !isQuiet) || this.#shownChange === changedAt) return;
    this.#shownChange = changedAt;
    this.#parts.turns.show(session, this.formatLine(now));
  }

  /** Looks again later. @param {number} ms */
  schedule(ms) {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => void this.check(), Math.min(Math.max(ms, 1), MAX_TIMER_MS));
  }

  /** For the model. @param {number} now @param {{most: number, isCarried?: boolean}} how */
  formatText(now, { most, isCarried }) {
    const report = this.state.pending;
    if (!report) return "";
    const { name, command, argv } = this.#spec;
    const isRead = report.added.length + report.changed.length + report.same.length > 0;
    const lastLines = isRead ? [] : this.#readLastLines(report.run);
    return formatReport(report, {
      ...{ name, folder: this.#folder, now, tool: this.#plan.tool, lastLines, most, isCarried },
      ...{ awaySince: this.#awaySince, flaps: this.wakes.flaps(now) },
      command: command ?? argv?.join(" ") ?? "",
    });
  }

  /** For the user. @param {number} now */
  formatLine(now) {
    const report = this.state.pending;
    const { name } = this.#spec;
    const how = { name, folder: this.#folder, flaps: this.wakes.flaps(now) };
    return report ? formatShown(report, how) : "";
  }

  /**
   * The model gets the present state.
   * @param {number} now @param {import("../../watch/wakes.mjs").Way} [way] missing: with the text of another watcher
   * @returns {() => void} it was taken back
   */
  markSent(now, way) {
    const report = this.state.pending;
    if (report && way) this.wakes.send(now, way, this.#createChange(report, false));
    if (report && way === "wake") this.#parts.onWake(this.formatLine(now));
    this.#sentChange = this.state.changedAt;
    const [undo, editedAt] = [this.state.markTold(), this.#editedAt];
    this.#editedAt = this.#awaySince = undefined;
    this.#parts.onChange();
    return () => {
      undo();
      this.#editedAt ??= editedAt;
    };
  }

  /** @param {number} run */
  #readLastLines(run) {
    return this.#feed
      .history({ last: LAST_LINES * 2 })
      .filter((line) => line.line > 0 && (run === 0 || line.run === run))
      .slice(-LAST_LINES)
      .map(({ text }) => text);
  }

  /** The model has read the state. */
  markRead() {
    this.markSent(this.#parts.now());
  }

  /** Wakes again after a pause. */
  resume() {
    this.wakes.reset();
    this.wakes.quiet(0);
    this.#isPauseShown = false;
    void this.check();
  }

  /** @param {number} until Unix ms */
  quiet(until) {
    this.wakes.quiet(until);
    void this.check();
  }

  close() {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  /** As `watch show --json`. */
  view() {
    const now = this.#parts.now();
    const { state, since, why, runningSince, failures, leftOut, parts } = this.state;
    return {
      tool: this.#plan.tool,
      ...(this.#plan.changed.length > 0 && { added: this.#plan.changed }),
      parts: [
        {
          ...{ part: "", state, why, since: new Date(since).toISOString() },
          ...(runningSince !== undefined && { running: new Date(runningSince).toISOString() }),
          failures,
          leftOut,
        },
        ...parts.map((one) => ({ ...one, since: new Date(one.since).toISOString() })),
      ],
      wakes: {
        ...{ lastHour: this.wakes.count(now), attempts: this.wakes.attempts },
        ...{ paused: this.wakes.isPaused, quiet: this.wakes.isQuiet(now) },
      },
    };
  }
}
