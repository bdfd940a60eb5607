// Lines of an emitter, or those posted to a stream: which are kept, shown and put before the model.

import { messageOf } from "../../base/errors.mjs";

/** @typedef {import("../../feature-host/line-streams.mjs").LineStream} LineStream */
/** @typedef {import("../../feature-host/line-streams.mjs").LineEffects} LineEffects */
/** @typedef {import("../../feature-host/line-streams.mjs").EndJudgement} EndJudgement */
/** @typedef {import("../../feature-host/line-streams.mjs").ProgramEnd} ProgramEnd */
/** @typedef {import("../../feature-host/line-streams.mjs").LineProgram} LineProgram */
/** @typedef {import("../../base/emitter-rules.mjs").Rule} LineRule */
/** @typedef {import("../../base/addon.js").LineOutcome} LineOutcome */
/** @typedef {import("../../base/control.mjs").InspectedSession} InspectedSession */
/**
 * @typedef {object} Owner whose it is
 * @property {string} [session] of what is temporary
 * @property {string} folder the workspace
 * @property {number} cliPid of the session's CLI
 *
 * @typedef {object} Parts
 * @property {import("../../registry/installation.mjs").Context["services"]} services
 * @property {import("./teller.mjs").Teller} teller
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
const MOST_RUNS = 16;

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
  unheard = { surfaced: 0, injected: 0 };
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
   * @param {{expectEvery?: number}} options @param {(end: ProgramEnd) => EndJudgement} onEnded
   * @returns {Promise<void>} rejected with a RangeError where a rule is wrong
   */
  async open({ expectEvery }, onEnded) {
    this.#lines = await this.#parts.services.process.lines({
      delivery: this.#injector(),
      rules: this.rules,
      expectEvery,
      onEffects: (/** @type {LineEffects} */ effects) => void this.#tell(effects),
      onRows: (/** @type {string} */ json) => this.#keep(json),
      onEnded,
    });
  }

  #injector() {
    return this.subscribe ? this.delivery : "off";
  }

  /** @param {LineEffects} effects */
  async #tell({ surfaced, injects, notices }) {
    const session = (await this.#parts.target(this.owner).catch(() => undefined))?.id;
    const { teller } = this.#parts;
    if (session === undefined) {
      this.unheard.surfaced += surfaced.length;
      for (const { lines } of injects) this.unheard.injected += lines.length;
      return;
    }
    for (const { text, source } of surfaced) {
      teller.show(session, this.name, source === "stderr" ? `(stderr) ${text}` : text);
    }
    for (const notice of notices)
      teller.show(session, this.name, this.#noticeText(notice), "warning");
    for (const { lines, leftOut } of injects) {
      await teller.inject(session, this, lines, leftOut);
    }
  }

  /** @param {LineEffects["notices"][number]} notice */
  #noticeText({ kind, rule, surfaced, injected, isTotal }) {
    if (kind === "slowRule") {
      return `rule ${rule + 1} takes too long for some lines, which count as not matched`;
    }
    const when = isTotal ? " in this run" : "";
    const what = `${surfaced} lines not shown, ${injected} not put before the model`;
    return `too many lines${when}: ${what}; tap_stream_history has them`;
  }

  /** Lines for the record store. @param {string} json */
  #keep(json) {
    const { session } = this.owner;
    const more = { emitter: this.name };
    const traces = Object.fromEntries(this.#traces);
    this.#parts.services.records
      .lines({ stream: this.stream, lines: json, more, traces, ...(session && { session }) })
      .catch((error) => this.#parts.onDiagnostic(`lines were not recorded: ${messageOf(error)}`));
  }

  /** What follows is of this run, whose number is that of its record. @param {number} run @param {string} [traceparent] */
  setRun(run, traceparent) {
    this.traceparent = traceparent;
    if (traceparent !== undefined) this.#traces.set(run, traceparent.split("-")[1]);
    const [first] = this.#traces.keys();
    if (this.#traces.size > MOST_RUNS) this.#traces.delete(first);
    this.#lines.setRun(run);
  }

  /** Begins a run. @param {LineProgram} program */
  start(program) {
    return this.#lines.start(program);
  }

  get isRunning() {
    return this.#lines.isRunning;
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
  heard() {
    this.#lines.heard();
  }

  /** From now on a silence is not told. */
  expectNothing() {
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
    this.#lines.setDelivery(this.#injector());
    this.#parts.onChange();
  }

  /** A config says now what it is. @param {Pick<FeedOptions, "rules" | "subscribe" | "delivery" | "managedBy">} said */
  become({ rules, subscribe, delivery, managedBy }) {
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
  takeUnheard() {
    const { surfaced, injected } = this.unheard;
    this.unheard = { surfaced: 0, injected: 0 };
    if (surfaced + injected === 0) return "";
    const count = `${surfaced + injected} ${surfaced + injected === 1 ? "line" : "lines"}`;
    return `${count} came without a session, ${injected} for the model; tap_stream_history has them`;
  }

  /** @returns {Promise<void>} nothing of it is left, its history included */
  async close() {
    await this.#lines?.close();
  }
}
