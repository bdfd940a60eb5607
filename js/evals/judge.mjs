// Judges the outcome of a run: the checks of a case that code can decide. It has no side effects.

import { createHash } from "node:crypto";
import vm from "node:vm";
import { isMap } from "../config/schema.mjs";
import { createTranscript } from "./transcript.mjs";

/** @typedef {import("./cases.mjs").Case} Case */
/** @typedef {import("./cases.mjs").Example} Example */
/** @typedef {import("./cases.mjs").Assertion} Assertion */
/** @typedef {import("./cases.mjs").CallWanted} CallWanted */
/** @typedef {import("./cases.mjs").TextWanted} TextWanted */
/** @typedef {import("./transcript.mjs").Transcript} Transcript */
/** @typedef {import("./transcript.mjs").Call} Call */
/**
 * The data that was looked up for the assertion with the same index.
 * @typedef {{problem?: string, count?: number, file?: {exists: boolean, text: string, sha256: string}}} AssertionFacts
 */
/** @typedef {{transcript: Transcript, found: AssertionFacts[]}} Evidence */
/** `why`: the actual state; empty if it passed. @typedef {{check: string, passed: boolean, why: string}} Check */

const MATCH_MS = 1000;
const MAX_SHOWN = 200;

// ---- matching -------------------------------------------------------------------------------------

const matching = vm.createContext(Object.create(null));
const matchScript = new vm.Script("pattern.test(text)");

/** With a time limit of a second, since a pattern may take very long. @param {RegExp} pattern @param {string} text @returns {boolean} */
function matches(pattern, text) {
  Object.assign(matching, { pattern, text });
  try {
    return matchScript.runInContext(matching, { timeout: MATCH_MS });
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT")
      throw error;
    throw new Error(`/${pattern.source}/ took longer than ${MATCH_MS / 1000} s`, { cause: error });
  } finally {
    Object.assign(matching, { pattern: undefined, text: undefined });
  }
}

/** @param {string} text */
const normalizeText = (text) => text.toLowerCase().replace(/\s+/g, " ").trim();

/** @param {TextWanted} wanted @param {string} text */
const hasText = ({ text: wanted, match }, text) =>
  match ? matches(match, text) : normalizeText(text).includes(normalizeText(wanted ?? ""));

/** Maps may have additional fields. @param {unknown} wanted @param {unknown} value @returns {boolean} */
function fits(wanted, value) {
  if (isMap(wanted) && wanted.match instanceof RegExp) {
    return matches(wanted.match, typeof value === "string" ? value : (JSON.stringify(value) ?? ""));
  }
  if (Array.isArray(wanted)) {
    const same = Array.isArray(value) && value.length === wanted.length;
    return same && wanted.every((item, at) => fits(item, value[at]));
  }
  if (!isMap(wanted)) return wanted === value;
  return isMap(value) && Object.entries(wanted).every(([name, field]) => fits(field, value[name]));
}

/** @param {CallWanted} wanted @param {Call} call */
const isCall = ({ tool, arguments: args = {} }, call) =>
  call.tool === tool && fits(args, call.arguments);

/** @param {unknown} value */
const formatValue = (value) => {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
};

// ---- the checks -----------------------------------------------------------------------------------

/** @param {CallWanted} wanted */
const callWords = ({ tool, arguments: args }) =>
  args
    ? `${tool} ${formatValue(JSON.stringify(args, (_name, value) => (value instanceof RegExp ? String(value) : value)))}`
    : tool;

/** @param {Call[]} calls */
const callsMade = (calls) =>
  calls.length === 0
    ? "no tool was called"
    : `called: ${formatValue(calls.map(({ tool, failed }) => (failed ? `${tool} (failed)` : tool)).join(", "))}`;

/** @param {TextWanted} wanted */
const textWords = ({ tool, text, match }) =>
  `${tool ? `${tool}: ` : ""}${match ? `/${match.source}/` : `"${formatValue(text)}"`}`;

/** @param {Assertion} assertion */
function assertionWords({ record, file, transcript }) {
  if (record) return `record ${record.collection} ${formatValue(record.where)}`;
  if (file) return `file ${file.path}`;
  return `transcript /${transcript?.match.source}/`;
}

/** @param {import("./cases.mjs").Count} count */
function countWords({ min, max }) {
  if (min === max) return `${min}`;
  return max === Infinity ? `at least ${min}` : `${min} to ${max}`;
}

/** @param {import("./cases.mjs").FileWanted} wanted @param {NonNullable<AssertionFacts["file"]>} file @returns {string} the problem; "" if there is no problem */
function fileTrouble({ exists, match, sha256 }, file) {
  if (file.exists !== exists) return exists ? "it does not exist" : "it exists";
  if (match && !matches(match, file.text)) return `/${match.source}/ is not in it`;
  return sha256 && sha256 !== file.sha256 ? `its SHA-256 is ${file.sha256}` : "";
}

/** @param {Assertion} assertion @param {AssertionFacts} found @param {Transcript} transcript @returns {string} the problem; "" if there is no problem */
function assertionTrouble({ record, file, transcript: wanted }, found, { text }) {
  if (found.problem) return found.problem;
  if (record) {
    const count = found.count ?? 0;
    const { min, max } = record.count;
    return count >= min && count <= max
      ? ""
      : `${count} records, expected ${countWords(record.count)}`;
  }
  if (file) return fileTrouble(file, found.file ?? { exists: false, text: "", sha256: "" });
  return wanted && !matches(wanted.match, text) ? "it is not in the transcript" : "";
}

/** @param {string} check @param {() => string} trouble @returns {Check} */
function runCheck(check, trouble) {
  let why;
  try {
    why = trouble();
  } catch (error) {
    why = /** @type {Error} */ (error).message;
  }
  return { check, passed: why === "", why };
}

/**
 * All checks of the case that code can decide, in the order of its fields.
 * @param {Case} wanted @param {Evidence} evidence @returns {Check[]}
 */
export function judge(wanted, { transcript, found }) {
  const { calls, said } = transcript;
  return [
    ...wanted.must_call.map((expected) =>
      runCheck(`must_call ${callWords(expected)}`, () =>
        calls.some((call) => !call.failed && isCall(expected, call)) ? "" : callsMade(calls),
      ),
    ),
    ...wanted.must_not_call.map((expected) =>
      runCheck(`must_not_call ${callWords(expected)}`, () => {
        const call = calls.find((each) => isCall(expected, each));
        return call ? `called with ${formatValue(call.arguments)}` : "";
      }),
    ),
    ...wanted.observations.map((expected) =>
      runCheck(`observations ${textWords(expected)}`, () => {
        const about = calls.filter(
          ({ tool }) => expected.tool === undefined || expected.tool === tool,
        );
        return about.some(({ result }) => hasText(expected, result)) ? "" : "no tool result has it";
      }),
    ),
    ...wanted.prohibited_claims.map((expected) =>
      runCheck(`prohibited_claims ${textWords(expected)}`, () => {
        const claim = said.find((text) => hasText(expected, text));
        return claim === undefined ? "" : `said: ${formatValue(claim)}`;
      }),
    ),
    ...wanted.assertions.map((expected, at) =>
      runCheck(assertionWords(expected), () =>
        assertionTrouble(expected, found[at] ?? {}, transcript),
      ),
    ),
  ];
}

// ---- examples -------------------------------------------------------------------------------------

/** @param {unknown} wanted a value, or a map of operators @param {unknown} value */
function holds(wanted, value) {
  const conditions = isMap(wanted) ? wanted : { eq: wanted };
  return Object.entries(conditions).every(([operator, other]) => {
    if (operator === "eq") return value === other;
    if (operator === "ne") return value !== other;
    if (operator === "prefix") return String(value ?? "").startsWith(String(other));
    if (value === undefined || typeof value !== typeof other) return false;
    const [a, b] = /** @type {[number, number]} */ ([value, other]);
    return operator === "gt" ? a > b : operator === "lt" && a < b;
  });
}

/** A column, or a field of the body; the name may be a path. @param {Record<string, any>} record @param {string} name */
const readField = (record, name) =>
  name in record
    ? record[name]
    : name
        .split(".")
        .reduce((value, part) => value?.[part], /** @type {any} */ (record.body ?? {}));

/** @param {Example} example @param {Assertion} assertion @returns {AssertionFacts} */
function findInExample({ files = {}, records = [] }, { record, file }) {
  if (record) {
    const fitting = records.filter(
      (stored) =>
        stored.collection === record.collection &&
        Object.entries(record.where).every(([name, wanted]) =>
          holds(wanted, readField(stored, name)),
        ),
    );
    return { count: fitting.length };
  }
  if (!file) return {};
  const exists = Object.hasOwn(files, file.path);
  const text = files[file.path] ?? "";
  return { file: { exists, text, sha256: createHash("sha256").update(text).digest("hex") } };
}

/** @param {Case} wanted @param {Example} example @returns {Evidence} */
function createEvidence(wanted, example) {
  const calls = (example.calls ?? []).map(
    ({ tool, arguments: args = {}, result = "", failed = false }) => ({
      ...{ tool, arguments: args, result, failed },
    }),
  );
  const said = example.answer === undefined ? [] : [example.answer];
  return {
    transcript: createTranscript({ prompt: wanted.prompt, calls, said }),
    found: wanted.assertions.map((assertion) => findInExample(example, assertion)),
  };
}

/**
 * Judges the examples of a case: a case is broken if it cannot distinguish good runs from bad runs.
 * @param {Case} wanted @returns {string[]} problems of the case
 */
export function examplesTrouble(wanted) {
  const failing = (/** @type {Example} */ example) =>
    judge(wanted, createEvidence(wanted, example)).filter(({ passed }) => !passed);
  return [
    ...wanted.examples.pass.flatMap((example, at) =>
      failing(example).map(({ check, why }) => `pass example ${at + 1} fails: ${check}: ${why}`),
    ),
    ...wanted.examples.fail.flatMap((example, at) =>
      failing(example).length === 0 ? [`fail example ${at + 1} passes every check`] : [],
    ),
  ];
}
