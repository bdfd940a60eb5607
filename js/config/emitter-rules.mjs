// The rules of an emitter's filter, as tools and configs give them. The limits are those of native/lines/rules.h.

import { Fields, FieldReport, textProblem } from "./emitter-fields.mjs";

/** @typedef {import("./emitter-fields.mjs").FieldPath} FieldPath */
/** @typedef {"drop" | "keep" | "surface" | "inject"} Outcome each includes the ones before it */
/**
 * @typedef {object} Rule the first that matches a line decides
 * @property {string} match a pattern, as in filter.set
 * @property {Outcome} outcome
 * @property {string} [not] a pattern that must not match
 * @property {number} [cooldown] ms: the outcome at most once in so long
 * @property {number} [count] the outcome only for each n-th match
 * @property {{lines: number, time: number}} [window] one digest of so many lines, or of those in this time (ms)
 * @property {true} [capture] named groups become metadata
 */

/** @type {readonly Outcome[]} */
export const OUTCOMES = ["drop", "keep", "surface", "inject"];
export const MAX_RULES = 50;
export const MAX_PATTERN_BYTES = 1024;
export const MAX_RULE_MS = 86_400_000;
export const MAX_COUNT = 1_000_000;
export const MAX_WINDOW_LINES = 1000;

const RULE_FIELDS = ["match", "outcome", "not", "cooldown", "count", "window", "capture"];
/** The short form of a filter in a call of a tool, in the order in which the patterns decide. */
export const PATTERNS = ["excludePattern", "notifyPattern", "includePattern"];
const CASELESS = "(?i)";

/** @param {string} text @param {number} most bytes */
function patternProblem(text, most) {
  const problem = textProblem(text, most);
  if (problem !== "") return problem;
  return Buffer.byteLength(text) > most ? `a pattern of at most ${most} bytes` : "";
}

/** A pattern may be empty: it matches every line. @param {Fields} fields @param {string} name @param {number} [most] */
function readPattern(fields, name, most = MAX_PATTERN_BYTES) {
  const value = fields.get(name);
  if (value === undefined) return undefined;
  const problem =
    typeof value === "string"
      ? patternProblem(value, most)
      : 'a regular expression as a text, such as "error|failed"';
  if (typeof value === "string" && problem === "") return value;
  fields.problem(name, `expected ${problem}`);
  return undefined;
}

/** @param {Fields} fields @returns {Rule["window"]} */
function readWindow(fields) {
  if (!fields.has("window")) return undefined;
  const window = fields.fields("window", '"window"', ["lines", "time"]);
  const lines = window.count("lines", MAX_WINDOW_LINES);
  const time = window.duration("time", 1, MAX_RULE_MS);
  if (window.isMissing("lines") || window.isMissing("time")) {
    fields.problem("window", 'expected { "lines", "time" }, such as { "lines": 20, "time": "1m" }');
  }
  return lines === undefined || time === undefined ? undefined : { lines, time };
}

/** What the parts of a rule need of one another. @param {Fields} fields @param {Outcome | undefined} outcome */
function checkParts(fields, outcome) {
  if (outcome === "drop" || outcome === "keep") {
    for (const name of ["cooldown", "count", "window"].filter((one) => fields.has(one))) {
      fields.problem(
        name,
        'leave it out, or use the outcome "surface" or "inject", which it is for',
      );
    }
  }
  if (fields.has("cooldown") && fields.has("window")) {
    fields.problem(
      "cooldown",
      "leave it out: a rule with a window has no cooldown, its window is one",
    );
  }
}

/** Only what is there. @template {object} T @param {T} parts @returns {T} */
const omitUndefined = (parts) =>
  /** @type {T} */ (
    Object.fromEntries(Object.entries(parts).filter(([, part]) => part !== undefined))
  );

/** @param {unknown} given @param {FieldReport} report @param {FieldPath} path @returns {Rule} */
function readRule(given, report, path) {
  const fields = Fields.of(given, report, path, "a rule", RULE_FIELDS);
  for (const name of ["match", "outcome"].filter((one) => fields.isMissing(one))) {
    fields.problem(name, 'is missing: a rule is { "match": "error", "outcome": "inject" }');
  }
  const outcome = fields.word("outcome", OUTCOMES);
  checkParts(fields, outcome);
  return {
    match: readPattern(fields, "match") ?? "",
    outcome: outcome ?? "keep",
    ...omitUndefined({
      not: readPattern(fields, "not"),
      cooldown: fields.duration("cooldown", 1, MAX_RULE_MS),
      count: fields.count("count", MAX_COUNT),
      window: readWindow(fields),
      capture: fields.boolean("capture") ? /** @type {const} */ (true) : undefined,
    }),
  };
}

/** @param {Fields} fields @param {string} name @returns {Rule[]} */
const readRuleList = (fields, name, /** @type {FieldReport} */ report) =>
  (fields.list(name, MAX_RULES) ?? []).map((rule, i) =>
    readRule(rule, report, [...fields.path(name), i]),
  );

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

/** The rules that `eventFilter` lists, or that the patterns stand for. @param {Fields} fields @param {FieldReport} report */
export function readFilter(fields, report) {
  if (!fields.has("eventFilter")) {
    const most = MAX_PATTERN_BYTES - CASELESS.length;
    return toRules(PATTERNS.map((name) => readPattern(fields, name, most)));
  }
  for (const name of PATTERNS.filter((one) => fields.has(one))) {
    fields.problem(name, 'leave it out, or write it as a rule of "eventFilter"');
  }
  return readRuleList(fields, "eventFilter", report);
}

/**
 * The rules that a tool changes a filter to: `given` has `eventFilter` or the patterns.
 * @param {Record<string, unknown>} given
 * @returns {{ok: true, rules: readonly Rule[]}
 *   | {ok: false, problems: import("./emitter-fields.mjs").FieldProblem[]}}
 */
export function readRules(given) {
  const report = new FieldReport();
  const fields = Fields.of(given, report, [], "a filter", ["eventFilter", ...PATTERNS]);
  const rules = readFilter(fields, report);
  const { problems } = report;
  return problems.length > 0 ? { ok: false, problems } : { ok: true, rules };
}
