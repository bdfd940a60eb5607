// Lines of an emitter, or those posted to a stream: which are kept, shown and put before the model.

import { errorMessage } from "../../lib/values.mjs";

/** @typedef {import("../../feature-host/line-streams.mjs").LineStream} LineStream */
/** @typedef {import("../../feature-host/line-streams.mjs").LineEffects} LineEffects */
/** @typedef {import("../../feature-host/line-streams.mjs").EndJudgement} EndJudgement */
/** @typedef {import("../../feature-host/line-streams.mjs").ProgramEnd} ProgramEnd */
/** @typedef {import("../../feature-host/line-streams.mjs").LineProgram} LineProgram */
/** @typedef {import("../../config/emitter-rules.mjs").Rule} LineRule */
/** @typedef {import("../../lib/addon.js").LineOutcome} LineOutcome */
/** @typedef {import("../../link/control.mjs").InspectedSession} InspectedSession */
/** @typedef {import("../../config/emitter-spec.mjs").StreamSpec} StreamSpec */

/**
 * @typedef {object} Owner whose it is
 * @property {string} [session] of what is temporary
 * @property {string} folder the workspace
 * @property {number} cliPid of the session's CLI
 *
 * @typedef {object} Parts
 * @property {import("../../feature-host/installation.mjs").Context["services"]} services
 * @property {import("./notification-limiter.mjs").NotificationLimiter} notifications
 * @property {import("./wake-turns.mjs").WakeTurns} turns of watchers
 * @property {(line: string) => void} onWake a watcher starts a turn
 * @property {() => number} now Unix ms
 * @property {(owner: Owner) => Promise<InspectedSession | undefined>} target the session that hears of it now
 * @property {() => void} onChange
 * @property {(text: string) => void} onDiagnostic
 *
 * @typedef {object} FeedOptions
 * @property {string} name of the emitter, or of the stream
 * @property {string} stream
 * @property {readonly LineRule[]} rules
 * @property {boolean} subscribe @property {"important" | "all"} delivery
 * @property {number} [expectEvery] ms
 * @property {"modelOwned" | "userOwned"} [managedBy]
 */

/** Runs whose lines may be recorded together: those of about a second. */
const MAX_TRACES = 16;

export class Feed {
  name;
  stream;
  owner;
  rules;
  subscribe;
  delivery;
  managedBy;
  /** Of the run. @type {string | undefined} */
  traceparent;
  /** Lines that nobody was there to hear. */
  missedCounts = { surfaced: 0, injected: 0 };
  #parts;
  /** Of the last runs, by their numbers. @type {Map<number, string>} */
  #traces = new Map();
  /** @type {LineStream} */
  #lines = /** @type {any} */ (undefined);

  /** @param {FeedOptions} options @param {Owner} owner @param {Parts} parts */
  constructor({ name, stream, rules, subscribe, delivery, managedBy }, owner, parts) {
    this.name = name;
    this.stream = stream;
    this.owner = owner;
    this.rules = rules;
    this.subscribe = subscribe;
    this.delivery = delivery;
    this.managedBy = managedBy ?? "modelOwned";
    this.#parts = parts;
  }

  /**
   * @param {{expectEvery?: number, cwd?: string, matcher?: string, tools?: string}} options @param {(end: ProgramEnd) => EndJudgement} onEnded
   * @param {(cycles: Pick<LineEffects, "opened" | "closed" | "slow">) => void} [onCycles] where there is a `matcher`
   * @returns {Promise<void>} rejected with a RangeError where a rule or the folder is wrong
   */
  async open({ expectEvery, cwd, matcher, tools }, onEnded, onCycles) {
    this.#lines = await this.#parts.services.process.lines({
      ...(cwd !== undefined && { place: { folder: this.owner.folder, cwd } }),
      delivery: this.#getDelivery(),
      rules: this.rules,
      expectEvery,
      onEffects: (/** @type {LineEffects} */ effects) => {
        if (effects.opened !== undefined || effects.closed || effects.slow) onCycles?.(effects);
        void this.#deliver(effects);
      },
      onRows: (/** @type {string} */ json) => this.#recordLines(json),
      onEnded,
    });
    if (matcher !== undefined) this.#lines.setMatcher(matcher, tools);
  }

  #getDelivery() {
    return this.subscribe ? this.delivery : "off";
  }

  /** @param {LineEffects} effects */
  async #deliver({ surfaced, injects, notices }) {
    const session = (await this.#parts.target(this.owner).catch(() => undefined))?.id;
    const { notifications } = this.#parts;
    if (session === undefined) {
      this.missedCounts.surfaced += surfaced.length;
      for (const { lines } of injects) this.missedCounts.injected += lines.length;
      return;
    }
    for (const { text, source } of surfaced) {
      notifications.show(session, this.name, source === "stderr" ? `(stderr) ${text}` : text);
    }
    for (const notice of notices)
      notifications.show(session, this.name, this.#formatNotice(notice), "warning");
    for (const { lines, leftOut } of injects) {
      await notifications.inject(session, this, lines, leftOut);
    }
  }

  /** @param {LineEffects["notices"][number]} notice */
  #formatNotice({ kind, rule, surfaced, injected, isTotal }) {
    if (kind === "slowRule") {
      return `rule ${rule + 1} takes too long for some lines, which count as not matched`;
    }
    const when = isTotal ? " in this run" : "";
    const what = `${surfaced} lines not shown, ${injected} not put before the model`;
    return `too many lines${when}: ${what}; tap_stream_history has them`;
  }

  /** Lines for the record store. @param {string} json */
  #recordLines(json) {
    const { session } = this.owner;
    const more = { emitter: this.name };
    const traces = Object.fromEntries(this.#traces);
    this.#parts.services.records
      .lines({ stream: this.stream, lines: json, more, traces, ...(session && { session }) })
      .catch((error) =>
        this.#parts.onDiagnostic(`lines were not recorded: ${errorMessage(error)}`),
      );
  }

  /** What follows is of this run, whose number is that of its record. @param {number} run @param {string} [traceparent] */
  setRun(run, traceparent) {
    this.traceparent = traceparent;
    if (traceparent !== undefined) this.#traces.set(run, traceparent.split("-")[1]);
    const [first] = this.#traces.keys();
    if (this.#traces.size > MAX_TRACES) this.#traces.delete(first);
    this.#lines.setRun(run);
  }

  /** Begins a run. @param {LineProgram} program */
  start(program) {
    return this.#lines.start(program);
  }

  get isRunning() {
    return this.#lines.isRunning;
  }

  /** Of the last run, where it was to have a sandbox: whether it had one. */
  get isSandboxed() {
    return this.#lines.isSandboxed;
  }

  /** Ends the program of the run. */
  stopProgram() {
    return this.#lines.stop();
  }

  /** Whole lines that no program has written. @param {string} text */
  post(text) {
    this.#lines.post(text);
  }

  /** Something other than a line has come, and ends a silence. */
  touch() {
    this.#lines.heard();
  }

  /** From now on a silence is not told. */
  clearDeadline() {
    this.#lines?.expectEvery(0);
  }

  /** An entry of the emitter's own. @param {string} text @param {LineOutcome} outcome */
  note(text, outcome) {
    this.#lines.note(text, outcome);
  }

  /** @param {readonly LineRule[]} rules @throws {RangeError} with the index `rule` */
  setRules(rules) {
    this.#lines.setRules([...rules]);
    this.rules = rules;
    this.#parts.onChange();
  }

  /** @param {boolean} subscribe @param {"important" | "all"} delivery */
  setInjector(subscribe, delivery) {
    this.subscribe = subscribe;
    this.delivery = delivery;
    this.#lines.setDelivery(this.#getDelivery());
    this.#parts.onChange();
  }

  /** A config says now what it is. @param {Pick<FeedOptions, "rules" | "subscribe" | "delivery" | "managedBy">} said */
  applySpec({ rules, subscribe, delivery, managedBy }) {
    if (JSON.stringify(rules) !== JSON.stringify(this.rules)) this.setRules(rules);
    if (subscribe !== this.subscribe || delivery !== this.delivery) {
      this.setInjector(subscribe, delivery);
    }
    this.managedBy = managedBy ?? this.managedBy;
  }

  /** @param {Parameters<LineStream["history"]>[0]} [query] */
  history(query) {
    return this.#lines.history(query);
  }

  /** @param {readonly LineRule[]} rules @param {number} last */
  test(rules, last) {
    return this.#lines.test([...rules], last);
  }

  counters() {
    return this.#lines.counters();
  }

  /** What nobody has heard, once. @returns {string} empty: nothing */
  drainMissedCounts() {
    const { surfaced, injected } = this.missedCounts;
    this.missedCounts = { surfaced: 0, injected: 0 };
    if (surfaced + injected === 0) return "";
    const count = `${surfaced + injected} ${surfaced + injected === 1 ? "line" : "lines"}`;
    return `${count} came without a session, ${injected} for the model; tap_stream_history has them`;
  }

  /** @returns {Promise<void>} nothing of it is left, its history included */
  async close() {
    await this.#lines?.close();
  }
}

// Streams without an emitter: those that a session posts to, and those that the configs of a folder name.

/** Of one owner. */
export const MAX_STREAMS = 50;

/** Whose something is, as a word. @param {Pick<Owner, "session" | "folder">} owner */
export const ownerKey = ({ session, folder }) =>
  session === undefined ? `folder ${folder}` : `session ${session}`;

/** @param {Feed[]} feeds @returns {Map<string, Feed[]>} by the name of the stream */
export function groupByStream(feeds) {
  /** @type {Map<string, Feed[]>} */
  const streams = new Map();
  for (const feed of feeds) streams.set(feed.stream, [...(streams.get(feed.stream) ?? []), feed]);
  return streams;
}

export class Streams {
  #parts;
  /** By owner, then by name. @type {Map<string, Map<string, Feed>>} */
  #streams = new Map();

  /** @param {() => Parts} parts */
  constructor(parts) {
    this.#parts = parts;
  }

  /** @returns {Map<string, Owner>} of all that is there, by key */
  owners() {
    const all = [...this.#streams].filter(([, named]) => named.size > 0);
    return new Map(all.map(([key, named]) => [key, [...named.values()][0].owner]));
  }

  /** @param {string} key @returns {Feed[]} */
  listFeeds(key) {
    return [...(this.#streams.get(key)?.values() ?? [])];
  }

  /** What belonged to a session belongs to the one that follows. @param {string} key @param {Owner} next */
  adopt(key, next) {
    const named = this.#streams.get(key);
    if (!named) return;
    this.#streams.delete(key);
    const there = this.#streams.get(ownerKey(next)) ?? new Map();
    for (const [name, feed] of named) {
      if (there.has(name)) continue;
      there.set(name, feed);
      feed.owner = next;
    }
    this.#streams.set(ownerKey(next), there);
  }

  /** @param {string} key @returns {Promise<void>} nothing of them is left */
  async close(key) {
    const feeds = this.listFeeds(key);
    this.#streams.delete(key);
    for (const feed of feeds) await feed.close();
  }

  /**
   * A stream that something can be posted to: that of a config, or the session's own.
   * @param {InspectedSession} session @param {Pick<StreamSpec, "name"> & Partial<StreamSpec>} spec
   * @returns {Promise<Feed>}
   */
  async open({ id, cwd, cliPid }, spec) {
    const ofFolder = this.#streams.get(`folder ${cwd}`)?.get(spec.name);
    return ofFolder ?? this.#openStream({ session: id, folder: cwd, cliPid }, spec);
  }

  /** The streams that the configs of a folder name, and no others. @param {InspectedSession} session @param {StreamSpec[]} specs */
  async set({ cwd, cliPid }, specs) {
    const owner = { folder: cwd, cliPid };
    const key = ownerKey(owner);
    const named = new Map(specs.map((spec) => [spec.name, spec]));
    for (const [name, feed] of this.#streams.get(key) ?? []) {
      if (named.has(name)) continue;
      this.#streams.get(key)?.delete(name);
      await feed.close();
    }
    if (this.#streams.get(key)?.size === 0) this.#streams.delete(key);
    for (const spec of named.values()) {
      const there = this.#streams.get(key)?.get(spec.name);
      if (there) there.applySpec(spec);
      else await this.#openStream(owner, spec);
    }
  }

  /** @param {Owner} owner @param {Pick<StreamSpec, "name"> & Partial<StreamSpec>} spec */
  async #openStream(owner, spec) {
    const { name, rules = [], subscribe = false, delivery = "important" } = spec;
    const key = ownerKey(owner);
    const named = this.#streams.get(key) ?? new Map();
    const there = named.get(name);
    if (there) return there;
    if (named.size >= MAX_STREAMS) {
      throw new RangeError(`there are ${MAX_STREAMS} streams: use one of them`);
    }
    const { managedBy = "modelOwned" } = spec;
    const options = { name, stream: name, rules, subscribe, delivery, managedBy };
    const feed = new Feed(options, owner, this.#parts());
    await feed.open({}, () => ({ isExpected: true }));
    const now = this.#streams.get(key) ?? new Map();
    const other = now.get(name); // it has come in the meantime
    if (other) await feed.close();
    this.#streams.set(key, now.set(name, other ?? feed));
    return other ?? feed;
  }
}
