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
/** The patterns that filters had before they had rules, in the order in which they decide. */
export const OLD_PATTERNS = ["excludePattern", "notifyPattern", "includePattern"];
/** Of a filter in the configs of former versions: its owner and how long it lasts are those of the emitter now. */
const OLD_FIELDS = ["ownership", "managedBy", "lifespan", "scope"];
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

/** As rulesOf() in native/lines/rules.cc. @param {Fields} fields @returns {Rule[]} */
function readOldPatterns(fields) {
  const most = MAX_PATTERN_BYTES - CASELESS.length;
  const [exclude, notify, include] = OLD_PATTERNS.map((name) => readPattern(fields, name, most));
  /** @type {Rule[]} */
  const rules = [];
  if (exclude) rules.push({ match: CASELESS + exclude, outcome: "drop" });
  if (notify) rules.push({ match: CASELESS + notify, outcome: "inject" });
  if (include) {
    rules.push({ match: CASELESS + include, outcome: "keep" }, { match: "", outcome: "drop" });
  }
  return rules;
}

/** A filter as an object: of rules, or of the older patterns. @param {Fields} fields @param {FieldReport} report */
function readFilterObject(fields, report) {
  for (const name of OLD_FIELDS.filter((one) => fields.has(one))) {
    report.note(`"${name}" of a filter has no effect: it is that of its emitter.`);
  }
  if (!fields.has("rules")) return readOldPatterns(fields);
  for (const name of OLD_PATTERNS.filter((one) => fields.has(one))) {
    fields.problem(name, 'leave it out, or write it as one of the "rules"');
  }
  return readRuleList(fields, "rules", report);
}

/**
 * The rules that the fields `eventFilter` (or `classifier`), or the three older patterns say.
 * @param {Fields} fields @param {FieldReport} report @returns {Rule[]}
 */
export function readFilter(fields, report) {
  const name = fields.findName(["eventFilter", "classifier"]);
  if (!fields.has(name)) return readOldPatterns(fields);
  for (const pattern of OLD_PATTERNS.filter((one) => fields.has(one))) {
    fields.problem(pattern, `leave it out, or write it as a rule of "${name}"`);
  }
  if (Array.isArray(fields.get(name))) return readRuleList(fields, name, report);
  const known = ["rules", ...OLD_PATTERNS, ...OLD_FIELDS];
  return readFilterObject(fields.fields(name, `"${name}"`, known), report);
}

/**
 * The rules that a tool changes a filter to: `given` has `eventFilter` or the older patterns.
 * @param {Record<string, unknown>} given
 * @returns {{ok: true, rules: readonly Rule[], notes: string[]}
 *   | {ok: false, problems: import("./emitter-fields.mjs").FieldProblem[]}}
 */
export function readRules(given) {
  const report = new FieldReport();
  const known = ["eventFilter", "classifier", ...OLD_PATTERNS];
  const rules = readFilter(Fields.of(given, report, [], "a filter", known), report);
  const { problems, notes } = report;
  return problems.length > 0 ? { ok: false, problems } : { ok: true, rules, notes };
}
