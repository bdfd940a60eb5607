// The texts of a session's watchers: which go together, into which turn, and what the user's next prompt carries.

import { readLimit } from "../../lib/limits.mjs";
import { errorMessage } from "../../lib/values.mjs";
import { Hour } from "../../watch/wakes.mjs";

/** @typedef {import("./watcher.mjs").Watcher} Watcher */
/** @typedef {import("../../watch/wakes.mjs").Way} Way */
/** @typedef {import("../../link/control.mjs").InspectedSession} InspectedSession */
/** @typedef {import("./streams.mjs").Owner} Owner */

/** One text of the watchers of a session waits at most. */
const KEY = "watchers";
/** What is due within it shares a turn. */
const TOGETHER_MS = 1000;
const RETRY_MS = 5000;
/** How long it holds what the CLI says of permissions. */
const PERMISSION_MS = 60_000;
/** Of all texts together: the sink's limit has room for their first lines. */
const MAX_TEXTS = 2400;

/** The CLI's own tools that can change files. */
const EDITS =
  /^(?:apply_patch|bash|create|edit|insert|powershell|shell|str_replace|str_replace_editor|task|write|write_bash|write_powershell)$/;

/** @param {{tool: string, provider?: string}} ended a tool call of the model's */
export const canChangeFiles = ({ tool, provider }) =>
  provider === undefined ? EDITS.test(tool) : !/^tap(?:-|$)/.test(provider);

/** @param {NodeJS.ProcessEnv} [env] @returns {import("../../watch/wakes.mjs").WakeLimits & {perSession: number}} */
export const readWakeLimits = (env) => ({
  hold: readLimit("watch-hold-ms", env),
  gap: readLimit("wake-gap-ms", env),
  maxGap: readLimit("wake-gap-max-ms", env),
  perHour: readLimit("wakes-per-hour", env),
  perSession: readLimit("session-wakes-per-hour", env),
  attempts: readLimit("inject-cycles", env),
});

/** What there is of a session. */
class SessionTurns {
  session;
  /** @type {Promise<{close: () => Promise<void>, context: (text: string) => Promise<void>} | undefined> | undefined} */
  following;
  /** The text that may still wait. @type {{watchers: Watcher[], undo: () => void} | undefined} */
  sent;
  /** What the next prompt carries. @type {{text: string, watchers: Map<Watcher, number>} | undefined} */
  carried;
  /** Whether prompts can carry something without a question to the user. */
  mayCarry = { until: 0, is: false };
  /** One step after another. @type {Promise<void>} */
  queue = Promise.resolve();

  /** @param {InspectedSession} session */
  constructor(session) {
    this.session = session;
  }
}

export class WakeTurns {
  limits = readWakeLimits();
  #context;
  #listWatchers;
  #now;
  /** @type {Map<string, SessionTurns>} */
  #sessions = new Map();
  /** By session, or by folder. @type {Map<string, Hour>} */
  #hours = new Map();

  /**
   * @param {Pick<import("../../feature-host/installation.mjs").Context, "events" | "notify" | "services">} context
   * @param {(session: InspectedSession) => Watcher[]} listWatchers @param {() => number} now
   */
  constructor(context, listWatchers, now) {
    this.#context = context;
    this.#listWatchers = listWatchers;
    this.#now = now;
  }

  /** The turns of all watchers of an owner. @param {Owner} owner */
  getHour({ session, folder }) {
    const key = session ?? folder;
    const hour = this.#hours.get(key) ?? new Hour(this.limits.perSession);
    this.#hours.set(key, hour);
    return hour;
  }

  /** @param {InspectedSession} session */
  #get(session) {
    const found = this.#sessions.get(session.id) ?? new SessionTurns(session);
    this.#sessions.set(session.id, found);
    return found;
  }

  /** A watcher has something to say, or the session may hear it now. @param {InspectedSession} session @param {Watcher} watcher */
  check(session, watcher) {
    const turns = this.#get(session);
    turns.queue = turns.queue
      .then(() => this.#check(session, turns, watcher))
      .catch((error) => {
        const why = `the state was not put before the model: ${errorMessage(error)}`;
        this.show(session.id, `${watcher.shownName}: ${why}`, "warning");
        watcher.schedule(RETRY_MS);
      });
    return turns.queue;
  }

  /** @param {InspectedSession} session @param {SessionTurns} turns @param {Watcher} watcher */
  async #check(session, turns, watcher) {
    await this.#follow(turns);
    await this.#takeBack(session.id, turns, watcher);
    const now = this.#now();
    const mayCarry = this.#readMayCarry(session, turns);
    const verdict = watcher.decide(session.activity, now, mayCarry);
    if (verdict && "way" in verdict && verdict.at <= now) {
      await this.#send(session, turns, verdict.way);
    } else if (verdict) watcher.wait(verdict, session.id, now);
    await this.#carry(session, turns);
  }

  /** What it said last may wait still, and is no longer true. @param {string} session @param {SessionTurns} turns @param {Watcher} watcher */
  async #takeBack(session, turns, watcher) {
    const { sent } = turns;
    if (!sent || !sent.watchers.some((one) => one === watcher && one.hasChanged)) return;
    turns.sent = undefined;
    if (await this.#context.notify.withdraw(KEY, { session })) sent.undo();
  }

  /** @param {InspectedSession} session @param {SessionTurns} turns @param {Way} way */
  async #send(session, turns, way) {
    const now = this.#now();
    const mayCarry = turns.mayCarry.is;
    const all = this.#listWatchers(session).flatMap((watcher) => {
      const verdict = watcher.decide(session.activity, now, mayCarry);
      const isDue =
        verdict && "way" in verdict && verdict.way === way && verdict.at <= now + TOGETHER_MS;
      const isCarried = way === "wake" && verdict && "obstacle" in verdict;
      return isDue || isCarried ? [{ watcher, isDue }] : [];
    });
    const due = all.filter(({ isDue }) => isDue).map(({ watcher }) => watcher);
    const most = Math.floor(MAX_TEXTS / all.length);
    const text = all.map(({ watcher }) => watcher.formatText(now, { most })).join("\n\n");
    const display = due.map((watcher) => watcher.formatLine(now)).join("; ");
    const isOwn = due.some((watcher) => watcher.cause === "model");
    // The text has it all: its prompt needs to carry no more.
    if (way === "wake") await this.#setCarried(turns, "", []);
    const { traceparent } = due[0];
    /** @type {import("../../watch/wakes.mjs").Cause} */
    const cause = isOwn ? "model" : "user";
    // A change that comes from now on is news again.
    const marks = all.map(({ watcher, isDue }) => watcher.markSent(now, isDue ? way : undefined));
    const undo = () => marks.forEach((one) => one());
    const how = { session: session.id, key: KEY, display, immediate: way === "turn", cause };
    await this.#context.notify.model(text, { ...how, traceparent }).catch((error) => {
      undo();
      throw error;
    });
    turns.sent = way === "wake" ? { watchers: all.map(({ watcher }) => watcher), undo } : undefined;
  }

  /** What no turn is due for goes with the user's next prompt. @param {InspectedSession} session @param {SessionTurns} turns */
  async #carry(session, turns) {
    const pending = turns.mayCarry.is
      ? this.#listWatchers(session).filter(({ state }) => state.pending !== undefined)
      : [];
    const most = Math.floor(MAX_TEXTS / Math.max(pending.length, 1));
    const now = this.#now();
    const texts = pending.map((one) => one.formatText(now, { most, isCarried: true }));
    await this.#setCarried(turns, texts.join("\n\n"), pending);
  }

  /** @param {SessionTurns} turns @param {string} text @param {Watcher[]} watchers */
  async #setCarried(turns, text, watchers) {
    if (text === (turns.carried?.text ?? "")) return;
    const changes = new Map(watchers.map((one) => [one, one.state.changedAt]));
    turns.carried = text === "" ? undefined : { text, watchers: changes };
    const following = await turns.following;
    // Settles when the session has it in force: nothing waits for that.
    following?.context(text).catch(() => {});
  }

  /** What is not known yet is asked for, and not waited for. @param {InspectedSession} session @param {SessionTurns} turns */
  #readMayCarry({ id, hooksWanted, hooks }, turns) {
    const { mayCarry } = turns;
    const now = this.#now();
    if (hooksWanted) mayCarry.is = hooks === "in-force";
    if (hooksWanted || now < mayCarry.until) return mayCarry.is;
    mayCarry.until = now + PERMISSION_MS;
    // Hooks open a question to the user unless everything is allowed.
    const asked = this.#context.services.sessions.state({ session: id });
    const take = (/** @type {any} */ state) => {
      mayCarry.is = state?.permissionMode === "allow-all";
      const [watcher] = this.#listWatchers(turns.session);
      if (mayCarry.is) void watcher?.check();
    };
    asked.then(take).catch(() => {}); // a later check asks again
    return mayCarry.is;
  }

  /** @param {SessionTurns} turns */
  async #follow(turns) {
    turns.following ??= this.#context.services.sessions
      .follow({
        session: turns.session.id,
        onToolEnded: (/** @type {{tool: string, provider?: string}} */ ended) => {
          if (canChangeFiles(ended)) this.#noteEdit(turns.session);
        },
      })
      .catch(() => (turns.following = undefined)); // the next check tries again
    await turns.following;
  }

  /** @param {InspectedSession} session */
  #noteEdit(session) {
    const now = this.#now();
    for (const watcher of this.#listWatchers(session)) watcher.noteEdit(now);
  }

  /** The user has spoken: the prompt has carried what there was. @param {string} id */
  handlePrompt(id) {
    const turns = this.#sessions.get(id);
    if (!turns?.carried) return;
    const { watchers } = turns.carried;
    for (const [watcher, changedAt] of watchers) {
      if (watcher.state.changedAt === changedAt) watcher.markRead();
    }
    void this.#setCarried(turns, "", []);
  }

  /** A line of tap's own in the timeline. @param {string} session @param {string} summary @param {"info" | "warning"} [level] */
  show(session, summary, level = "info") {
    this.#context.events.emit("lines", { level, summary, session, isWhole: true }).catch(() => {}); // the next text says it
  }

  /** @param {string} id of a session that has ended */
  forget(id) {
    const turns = this.#sessions.get(id);
    this.#sessions.delete(id);
    void turns?.following?.then((following) => following?.close()).catch(() => {});
  }

  close() {
    for (const id of [...this.#sessions.keys()]) this.forget(id);
  }
}
