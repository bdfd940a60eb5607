// What the user alone reads about a watcher: that it is silent, or slow, or known by words only. And notifications of
// the desktop.

import { inLine, visible } from "../../lib/visible.mjs";
import { formatSpan } from "../../watch/text.mjs";

/** @typedef {import("./streams.mjs").Parts} Parts */
/** @typedef {import("./emitter.mjs").Emitter} Emitter */

const SILENT_MS = 10_000;
const UNKNOWN_MS = 10_000;
const MIN_RUNNING_MS = 60_000;
const RUNNING_FACTOR = 10;
const LAST_CYCLES = 5;
const NOTIFY_MS = 60_000;
const MAX_BODY = 300;

/** @param {number[]} of */
const findMedian = (of) => of.toSorted((a, b) => a - b)[Math.floor(of.length / 2)] ?? 0;

export class WatchHints {
  #name;
  #isUnknown;
  #show;
  #countLines;
  /** @type {number[]} ms */
  #durations = [];
  /** @type {Set<string>} */
  #shown = new Set();
  /** @type {Map<string, NodeJS.Timeout>} */
  #timers = new Map();

  /**
   * @param {{name: string, tool: string, show: (text: string) => void, countLines: () => number}} watcher
   */
  constructor({ name, tool, show, countLines }) {
    this.#name = inLine(name);
    this.#isUnknown = tool === "general";
    this.#show = show;
    this.#countLines = countLines;
  }

  /** @param {string} key @param {number} ms @param {() => void} work */
  #after(key, ms, work) {
    clearTimeout(this.#timers.get(key));
    this.#timers.set(key, setTimeout(work, ms).unref());
  }

  /** @param {string} key @param {string} text */
  #showOnce(key, text) {
    if (this.#shown.has(key)) return;
    this.#shown.add(key);
    this.#show(text);
  }

  handleRun() {
    const before = this.#countLines();
    this.#after("silent", SILENT_MS, () => {
      if (this.#countLines() > before) return;
      this.#showOnce(
        "silent",
        "has written nothing for 10 s; it may need a terminal, or an option such as --watchAll that works without",
      );
    });
    if (this.#isUnknown) this.#after("unknown", UNKNOWN_MS, () => this.#showUnknown());
  }

  #showUnknown() {
    if (!this.#isUnknown) return;
    this.#showOnce(
      "unknown",
      'no entry knows this command: words such as "error" and "failed", and a failing exit code, decide. ' +
        `To be exact: copilot-tap watch --name ${this.#name} --red <pattern> --green <pattern> -- <command>`,
    );
  }

  /** @param {{opened?: number, closed?: import("../../watch/state.mjs").Cycle[], slow?: string[]}} cycles */
  handleCycles({ opened, closed = [], slow = [] }) {
    for (const field of slow)
      this.#showOnce(
        `slow ${field}`,
        `the pattern ${visible(field)} takes too long for some lines, which count as not matched`,
      );
    // A tool that its output shows is no unknown one.
    if (closed.some(({ tool }) => tool !== undefined)) this.#isUnknown = false;
    if (closed.length > 0) this.#showUnknown();
    for (const { from, to } of closed)
      this.#durations = [...this.#durations, to - from].slice(-LAST_CYCLES);
    if (closed.length > 0) clearTimeout(this.#timers.get("running"));
    if (opened === undefined) return;
    const most = Math.max(MIN_RUNNING_MS, RUNNING_FACTOR * findMedian(this.#durations));
    this.#after("running", most, () => this.#show(`still running, for ${formatSpan(most)}`));
  }

  close() {
    for (const timer of this.#timers.values()) clearTimeout(timer);
  }
}

/** A fixed script: the texts are its arguments. */
const APPLE_SCRIPT = [
  "on run argv",
  "display notification (item 2 of argv) with title (item 1 of argv)",
  "end run",
].flatMap((line) => ["-e", line]);

/** @param {string} title @param {string} body @param {string} platform */
export const toNotification = (title, body, platform) =>
  platform === "darwin"
    ? { command: "osascript", args: [...APPLE_SCRIPT, title, body] }
    : { command: "notify-send", args: ["--app-name=tap", "--", title, escapeMarkup(body)] };

/** @param {string} text */
const escapeMarkup = (text) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** At most one a minute. */
export class Desktop {
  #run;
  #now;
  #onMissing;
  #last = -Infinity;
  #isMissing = false;

  /**
   * @param {{run: (program: {command: string, args: string[]}) => Promise<{code: number | null}>, now: () => number,
   *   onMissing: (text: string) => void}} parts
   */
  constructor({ run, now, onMissing }) {
    this.#run = run;
    this.#now = now;
    this.#onMissing = onMissing;
  }

  /** @param {string} name of the watcher @param {string} text hostile @param {string} platform */
  async show(name, text, platform) {
    if (this.#isMissing || this.#now() - this.#last < NOTIFY_MS) return;
    this.#last = this.#now();
    const body = visible(text.split("\n").slice(0, 2).join(" ")).slice(0, MAX_BODY);
    const program = toNotification(`tap: ${inLine(name)}`, body, platform);
    const code = await this.#run(program).then(
      (result) => result.code,
      () => undefined,
    );
    if (code === 0) return;
    this.#isMissing = true;
    const why = code === undefined ? "is not installed" : `ended with exit code ${code}`;
    this.#onMissing(`no notification: ${program.command} ${why}`);
  }
}

/** In the timeline of the session that hears of an emitter. @param {Emitter} emitter @param {Parts} parts */
const createShow =
  ({ owner, spec }, parts) =>
  (/** @type {string} */ text) =>
    void parts
      .target(owner)
      .then((session) => parts.notifications.show(session?.id, spec.name, text))
      .catch(() => {});

/** @param {Emitter["spec"]} spec */
const isExact = ({ watch }) => (watch?.red ?? watch?.green) !== undefined;

/** @param {Emitter} emitter @param {string} tool @param {Parts} parts */
export const createHints = (emitter, tool, parts) =>
  new WatchHints({
    ...{
      name: emitter.spec.name,
      tool: isExact(emitter.spec) ? "" : tool,
      show: createShow(emitter, parts),
    },
    countLines: () => emitter.feed.counters().lines,
  });

/** Of the desktop this process knows where it is. */
const DESKTOP_VARIABLES = ["DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "DISPLAY"];

/**
 * A notification of the desktop for each turn that the watcher starts.
 * @param {Emitter} emitter @param {Parts} parts @returns {(line: string) => void}
 */
export function createDesktop(emitter, parts) {
  const { services, now } = parts;
  const { env, platform } = process;
  const variables = DESKTOP_VARIABLES.flatMap((name) => (env[name] ? [[name, env[name]]] : []));
  const run = (/** @type {{command: string, args: string[]}} */ program) =>
    services.process.run({ ...program, cwd: "/", env: Object.fromEntries(variables) });
  const desktop = new Desktop({ run, now, onMissing: createShow(emitter, parts) });
  return (line) => void desktop.show(emitter.spec.name, line, platform);
}
