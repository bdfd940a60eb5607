// The rules of an emitter's filter, as tools and configs give them. The limits are those of native/lines/rules.h.

import { formatDuration } from "./emitter-values.mjs";
import {
  about,
  choice,
  duration,
  flag,
  hidden,
  integer,
  list,
  object,
  readValue,
  refine,
  required,
  text,
} from "./schema.mjs";

/** @typedef {"drop" | "keep" | "surface" | "inject"} Outcome each includes the ones before it */
/**
 * @typedef {object} Rule the first that matches a line decides
 * @property {string} match a pattern, as in filter.set
 * @property {Outcome} outcome
 * @property {string} [not] a pattern that must not match
 * @property {number} [cooldown] ms: the outcome at most once in so long
 * @property {number} [count] the outcome only for each n-th match
 * @property {{lines: number, time: number}} [window] one digest of so many lines, or of those in this time (ms)
 * @property {number} [before] one text with so many lines before the match
 * @property {number} [after] with so many after it @property {string} [until] or with those up to the first that it matches
 * @property {true} [capture] named groups become metadata
 */

/** @type {readonly Outcome[]} */
export const OUTCOMES = ["drop", "keep", "surface", "inject"];
export const MAX_RULES = 50;
export const MAX_PATTERN_BYTES = 1024;
export const MAX_RULE_MS = 86_400_000;
export const MAX_COUNT = 1_000_000;
export const MAX_WINDOW_LINES = 1000;
export const MAX_CONTEXT_LINES = 24;

/** The short form of a filter in a call of a tool, in the order in which the patterns decide. */
export const PATTERNS = ["excludePattern", "notifyPattern", "includePattern"];
const CASELESS = "(?i)";

/** It may be empty: it matches every line. @param {number} [most] bytes */
const createPattern = (most = MAX_PATTERN_BYTES) =>
  refine(
    text({ most, blank: true, what: 'a regular expression as a text, such as "error|failed"' }),
    (given, place) =>
      Buffer.byteLength(given) > most
        ? place.problem(`expected a pattern of at most ${most} bytes`)
        : given,
  );

/** The lines around a match. */
export const CONTEXT_FIELDS = {
  before: hidden(integer(1, MAX_CONTEXT_LINES)),
  after: hidden(integer(1, MAX_CONTEXT_LINES)),
  until: hidden(createPattern()),
};
const CONTEXT = Object.keys(CONTEXT_FIELDS);

/** @type {import("./schema.mjs").Schema<Rule>} */
const rule = object(
  "a rule",
  {
    match: required(createPattern()),
    outcome: required(choice(OUTCOMES, { anyCase: true })),
    not: hidden(createPattern()),
    cooldown: hidden(duration(1, MAX_RULE_MS)),
    count: hidden(integer(1, MAX_COUNT)),
    window: hidden(
      object('"window"', {
        lines: required(integer(1, MAX_WINDOW_LINES)),
        time: required(duration(1, MAX_RULE_MS)),
      }),
    ),
    ...CONTEXT_FIELDS,
    capture: hidden(refine(flag, (isOn) => isOn || undefined)),
  },
  {
    finish(read, place, given) {
      const isQuiet = read.outcome === "drop" || read.outcome === "keep";
      for (const name of ["cooldown", "count", "window", ...CONTEXT]) {
        if (!isQuiet || given[name] === undefined) continue;
        const why = 'leave it out, or use the outcome "surface" or "inject", which it is for';
        place.at(name).problem(why);
      }
      if (given.cooldown !== undefined && given.window !== undefined) {
        const why = "leave it out: a rule with a window has no cooldown, its window is one";
        place.at("cooldown").problem(why);
      }
      for (const name of CONTEXT.filter((one) => given.window && given[one] !== undefined))
        place.at(name).problem("leave it out: a rule with a window gathers only its matches");
      return read;
    },
  },
);

const pattern = createPattern(MAX_PATTERN_BYTES - CASELESS.length);

/** Of a filter, in tap_start_emitter and tap_set_event_filter. */
export const filterFields = {
  eventFilter: about(
    "Rules; the first whose regex match fits a line decides, none: keep. Also not, cooldown, count, window {lines, time}, before, after (lines), until, capture.",
    list(rule, { most: MAX_RULES, what: "rules" }),
  ),
  includePattern: about("Older form of rules, as the next two.", pattern),
  excludePattern: pattern,
  notifyPattern: pattern,
};

/** @param {(string | undefined)[]} patterns those of PATTERNS, which ignore case @returns {Rule[]} */
export function toRules([exclude, notify, include]) {
  /** @type {Rule[]} */
  const rules = [];
  if (exclude) rules.push({ match: CASELESS + exclude, outcome: "drop" });
  if (notify) rules.push({ match: CASELESS + notify, outcome: "inject" });
  if (include) {
    rules.push({ match: CASELESS + include, outcome: "keep" }, { match: "", outcome: "drop" });
  }
  return rules;
}

/**
 * The rules that `eventFilter` lists, or that the patterns stand for.
 * @param {any} read @param {import("./schema.mjs").Place} place @param {Record<string, any>} given @returns {Rule[]}
 */
export function toFilter(read, place, given) {
  if (given.eventFilter === undefined) return toRules(PATTERNS.map((name) => read[name]));
  for (const name of PATTERNS.filter((one) => given[one] !== undefined))
    place.at(name).problem('leave it out, or write it as a rule of "eventFilter"');
  return read.eventFilter ?? [];
}

/** @type {import("./schema.mjs").Schema<readonly Rule[]>} */
const filter = object("a filter", filterFields, { finish: toFilter });

/** The rules that a tool changes a filter to. @param {Record<string, unknown>} given has `eventFilter` or the patterns */
export const readRules = (given) => readValue(filter, given);

/** As a config has them. @param {readonly Rule[]} rules */
export const toFilterEntry = (rules) =>
  rules.length === 0
    ? undefined
    : rules.map(({ cooldown, window, ...one }) => ({
        ...one,
        ...(cooldown !== undefined && { cooldown: formatDuration(cooldown) }),
        ...(window && { window: { lines: window.lines, time: formatDuration(window.time) } }),
      }));
