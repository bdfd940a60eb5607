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
  #isSending = false;
  /** A turn that it has started has not ended. */
  #isAnswered = true;
  #isPaused = false;
  #hasExited = false;
  #isClosed = false;
  #recordedAt = -Infinity;
  /** Changes since the last record that have none. */
  #unrecorded = 0;

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
    this.wakes = new Wakes({ hold: spec.watch?.hold, most: spec.watch?.wakesPerHour });
  }

  get plan() {
    return this.#plan;
  }

  get tool() {
    return this.#plan.tool;
  }

  /** @param {{opened?: number, closed?: Cycle[]}} cycles @param {boolean} isStopped by tap: what its end looks like says nothing */
  handleCycles({ opened, closed = [] }, isStopped) {
    for (const cycle of closed.slice(-MAX_CLOSED)) {
      const isExit = cycle.closedBy === "exit";
      if (isExit && isStopped) continue;
      this.#hasExited ||= isExit;
      const before = { state: this.state.state, since: this.state.since };
      const isOver = isExit && this.#plan.runsOn;
      if (this.state.close(cycle, isOver)) this.#record(cycle, before.state);
      if (this.state.state === "green") this.wakes.reset();
      this.#showChange(before);
    }
    if (opened !== undefined) this.state.open(opened);
    if (closed.length > 0) this.#parts.onChange();
    void this.check();
  }

  /** Green is shown at once; red with its text. @param {{state: string, since: number}} before */
  #showChange(before) {
    const { state, why } = this.state;
    if (state === before.state || state === "red" || (state === "unknown" && why === "start"))
      return;
    const report = this.state.pending;
    const text = report ? formatShown(report, this.#folder) : undefined;
    if (text !== undefined) void this.#show(text);
    if (state === "green" && before.state === "unknown" && !this.#mayWake(this.state))
      this.state.markTold();
  }

  /** @param {string} text */
  async #show(text) {
    const session = await this.#parts.target(this.#feed.owner).catch(() => undefined);
    if (session) this.#parts.notifications.show(session.id, this.#spec.name, text);
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

  /** A turn of the session has ended. */
  handleIdle() {
    if (this.#isAnswered) {
      this.wakes.reset(); // somebody else has started it
      this.#isPaused = false;
    }
    this.#isAnswered = true;
    void this.check();
  }

  /** Its command runs once, and its end is what was asked for. */
  get isOnce() {
    return !this.#plan.runsOn && !this.#spec.onChange && this.#spec.every === undefined;
  }

  /** Whether such a state starts a turn of its own. @param {Pick<import("../../watch/state.mjs").Report, "state" | "why">} report */
  #mayWake({ state, why }) {
    const { wake = "red" } = this.#spec.watch ?? {};
    if (wake === "never") return false;
    if (wake === "change" || (this.isOnce && this.#hasExited)) return true;
    return state === "red" || why === "ended" || why === "no tests";
  }

  /** Sends what is due, and comes again when more is. */
  async check() {
    clearTimeout(this.#timer);
    const report = this.state.pending;
    if (!report || this.#isSending || this.#isClosed || !this.#mayWake(report)) return;
    const session = await this.#parts.target(this.#feed.owner).catch(() => undefined);
    if (!session || this.#isSending || this.#isClosed) return;
    const now = this.#parts.now();
    const verdict = this.wakes.decide(this.state.changedAt, now, session.activity !== "idle");
    if ("obstacle" in verdict) return this.#wait(verdict, session.id, now);
    if (verdict.at > now) return this.#schedule(verdict.at - now);
    await this.#send(session.id);
  }

  /** @param {{obstacle: string, until?: number}} verdict @param {string} session @param {number} now */
  #wait({ obstacle, until }, session, now) {
    if (until !== undefined && Number.isFinite(until)) this.#schedule(until - now);
    if (obstacle !== "attempts" || this.#isPaused) return;
    this.#isPaused = true;
    const { name } = this.#spec;
    const text = `still red after ${this.wakes.attempts} attempts; no more turns until you write, or run /tap-watch go ${inLine(name)}`;
    this.#parts.notifications.show(session, name, text, "warning");
  }

  /** @param {number} ms */
  #schedule(ms) {
    this.#timer = setTimeout(() => void this.check(), Math.min(Math.max(ms, 1), MAX_TIMER_MS));
  }

  /** @param {string} session */
  async #send(session) {
    const report = this.state.pending;
    if (!report) return;
    this.#isSending = true;
    const { name, command, argv } = this.#spec;
    const now = this.#parts.now();
    const isRead = report.added.length + report.changed.length + report.same.length > 0;
    const lastLines = isRead ? [] : this.#readLastLines(report.run);
    const text = formatReport(report, {
      ...{ name, folder: this.#folder, now, tool: this.#plan.tool, lastLines },
      command: command ?? argv?.join(" ") ?? "",
    });
    try {
      await this.#parts.notifications.report(session, text, this.#feed.traceparent);
      this.state.markTold();
      this.wakes.wake(now);
      this.#isAnswered = false;
      this.#parts.onChange();
    } catch (error) {
      const why = `the state was not put before the model: ${errorMessage(error)}`;
      this.#parts.notifications.show(session, name, why, "warning");
    } finally {
      this.#isSending = false;
    }
    void this.check();
  }

  /** @param {number} run */
  #readLastLines(run) {
    return this.#feed
      .history({ last: LAST_LINES * 2 })
      .filter((line) => line.line > 0 && (run === 0 || line.run === run))
      .slice(-LAST_LINES)
      .map(({ text }) => text);
  }

  /** The model has asked for the state. */
  markRead() {
    this.state.markTold();
    this.#parts.onChange();
  }

  /** Wakes again after a pause. */
  resume() {
    this.wakes.reset();
    this.wakes.quiet(0);
    this.#isPaused = false;
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
        ...{ paused: this.#isPaused, quiet: this.wakes.isQuiet(now) },
      },
    };
  }
}
