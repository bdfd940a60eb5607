// The outputs of a feature: `events` for the user, `notify` for the model, `prompts` as tasks for the model,
// `diagnostics` for its report. Each is bounded in size and rate; omissions are counted and reported.

import { redact } from "../lib/redact.mjs";
import { shortenText } from "../lib/visible.mjs";
import { deniedError, ServiceError } from "./service-access.mjs";

/** @typedef {import("./report.mjs").Diagnostics} Diagnostics */
/**
 * @typedef {object} Port the targets of the sinks
 * @property {(channel: string, event: {level: string} & Shown, session?: string) => Promise<unknown>} emit to the
 *   user
 * @property {(text: string, options: {level: string} & ModelOptions) => Promise<unknown>} model a push of the
 *   level `inject`; settles when it is sent, or rejects
 * @property {(key: string, session: string) => Promise<boolean>} [withdraw] takes back a text that waits
 * @property {(text: string, session: string, traceparent?: string) => Promise<unknown>} [prompt] starts a turn, or
 *   rejects; absent if features must not start turns
 *
 * `key`: replaces the waiting text with the same key; `display`: the line that the user sees; `immediate`: into the
 * turn that runs; `cause`: whose change it is about (docs/session-link.md, "provider.open").
 * @typedef {{session?: string, traceparent?: string, key?: string, display?: string, immediate?: boolean,
 *   cause?: "user" | "model"}} ModelOptions
 *
 * `isWhole`: the line does not name the feature.
 * @typedef {{summary: string, detail?: string, isWhole?: boolean}} Shown
 *
 * @typedef {object} Sinks
 * @property {{emit: (channel: string, event: {level?: string, session?: string} & Shown) => Promise<void>}} events
 * @property {{model: (text: string, options?: {level?: string} & ModelOptions) => Promise<unknown>,
 *   withdraw: (key: string, options: {session: string}) => Promise<boolean>}} notify
 * @property {{start: (text: string, options: {session: string, traceparent?: string}) => Promise<unknown>}} prompts
 * @property {{add: (text: string) => void}} diagnostics
 */

const LEVELS = ["info", "warning", "error"];
const MAX_SUMMARY = 300;
const MAX_DETAIL = 4000;
/** For a text for the model. */
export const MAX_NOTIFY = 3000;
/** For a prompt. A longer prompt is refused, since a cut prompt would be a different task. */
export const MAX_PROMPT = 8500;
/** The number of events at once, refilled each second. */
const BURST = 20;
const PER_SECOND = 5;

/** Limits the rate. */
class Budget {
  #tokens = BURST;
  #at;
  #clock;
  leftOut = 0;

  /** @param {() => number} clock ms */
  constructor(clock) {
    this.#clock = clock;
    this.#at = clock();
  }

  tryAcquire() {
    const now = this.#clock();
    this.#tokens = Math.min(BURST, this.#tokens + ((now - this.#at) / 1000) * PER_SECOND);
    this.#at = now;
    if (this.#tokens < 1) {
      this.leftOut += 1;
      return false;
    }
    this.#tokens -= 1;
    return true;
  }
}

/** @param {unknown} level */
function checkLevel(level = "info") {
  if (LEVELS.includes(/** @type {string} */ (level))) return /** @type {string} */ (level);
  throw new RangeError(`level: expected ${LEVELS.join(" or ")}`);
}

/** @param {unknown} text @param {string} label */
function redactText(text, label) {
  if (typeof text === "string" && text !== "") return redact(text);
  throw new TypeError(`${label}: expected a text that is not empty`);
}

/** The given fields of the options. @param {ModelOptions} given @returns {ModelOptions} */
function pickOptions({ session, traceparent, key, display, immediate, cause }) {
  const line = display && shortenText(redactText(display, "display"), MAX_SUMMARY);
  const fields = Object.entries({ session, traceparent, key, display: line, immediate, cause });
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
}

/** @param {Port} port @param {() => void} admit @returns {Sinks["notify"]} */
const createNotify = (port, admit) => ({
  async model(text, { level, ...options } = {}) {
    const bounded = shortenText(redactText(text, "text"), MAX_NOTIFY);
    const how = { level: checkLevel(level), ...pickOptions(options) };
    admit();
    return port.model(bounded, how);
  },
  async withdraw(key, { session }) {
    admit();
    return (await port.withdraw?.(key, session)) ?? false;
  },
});

/** @param {Port} port @param {() => void} admit @returns {Sinks["prompts"]} */
const createPrompts = (port, admit) => ({
  async start(text, { session, traceparent }) {
    const prompt = redactText(text, "text");
    if (prompt.length > MAX_PROMPT) {
      throw new RangeError(`text: expected at most ${MAX_PROMPT} characters`);
    }
    admit();
    if (port.prompt) return port.prompt(prompt, session, traceparent);
    throw new ServiceError("unavailable", "unavailable: prompts start in the feature host only");
  },
});

/**
 * @param {object} options
 * @param {readonly string[]} options.granted @param {readonly string[]} options.channels that the descriptor names
 * @param {Port} options.port @param {Diagnostics} options.diagnostics
 * @param {() => string} options.closed why the feature has stopped
 * @param {(capability: string) => void} options.onDenied
 * @param {() => number} [options.clock] ms
 * @returns {Sinks} frozen
 */
export function createSinks({ granted, channels, port, diagnostics, closed, onDenied, clock }) {
  const now = clock ?? (() => performance.now());
  const budgets = {
    events: new Budget(now),
    notify: new Budget(now),
    prompts: new Budget(now),
    diagnostics: new Budget(now),
  };
  const admit = (
    /** @type {"events" | "notify" | "prompts"} */ sink,
    /** @type {string} */ capability,
  ) => {
    const why = closed();
    if (why) throw new ServiceError("unavailable", `unavailable: ${why}`);
    if (!granted.includes(capability)) {
      onDenied(capability);
      throw deniedError(capability);
    }
    const budget = budgets[sink];
    if (budget.tryAcquire()) return;
    diagnostics.add(`${sink}: more than ${PER_SECOND} a second; the others are dropped`);
    throw new ServiceError("unavailable", `unavailable: ${budget.leftOut} left out, too many`);
  };
  const events = {
    /** @type {Sinks["events"]["emit"]} */
    async emit(channel, { level, summary, detail, session, isWhole }) {
      const event = {
        level: checkLevel(level),
        summary: shortenText(redactText(summary, "summary"), MAX_SUMMARY),
        ...(detail !== undefined && {
          detail: shortenText(redactText(detail, "detail"), MAX_DETAIL),
        }),
        ...(isWhole && { isWhole }),
      };
      if (!channels.includes(channel)) {
        throw new RangeError(`channel: the descriptor has no such channel: ${channel}`);
      }
      admit("events", "event");
      await port.emit(channel, event, session);
    },
  };
  const own = {
    /** @param {string} text */
    add(text) {
      if (!closed() && budgets.diagnostics.tryAcquire()) diagnostics.add(text);
    },
  };
  return {
    events: Object.freeze(events),
    notify: Object.freeze(createNotify(port, () => admit("notify", "notify"))),
    prompts: Object.freeze(createPrompts(port, () => admit("prompts", "prompt"))),
    diagnostics: Object.freeze(own),
  };
}
