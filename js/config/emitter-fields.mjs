// Reads the fields of an object that somebody else has made: each of its kind, bounded, and known. What is wrong is
// collected with its place; nothing here throws.

import { parseDuration, formatDuration } from "./emitter-values.mjs";
import { formatSuggestion } from "../lib/suggestion.mjs";
import { nameProblem, shortenText, visible } from "../lib/visible.mjs";

/** @typedef {readonly (string | number)[]} FieldPath */
/**
 * @typedef {object} FieldProblem
 * @property {string} field such as eventFilter[2].match; empty: the whole
 * @property {FieldPath} path the same, step by step
 * @property {string} text what is expected instead
 */

const MAX_PROBLEMS = 20;
const MAX_NAME_BYTES = 128;
/** They would be properties of every object, where names become keys. */
const RESERVED = ["__proto__", "constructor", "prototype", "toString", "valueOf", "hasOwnProperty"];
const MAX_COUNT = 2 ** 31 - 1;

/** @param {string} text */
export const quoteText = (text) => `"${visible(shortenText(text, 60))}"`;

/** @param {unknown} value for a message */
function describeValue(value) {
  if (value === null) return "null";
  if (typeof value === "string") return quoteText(value);
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return Array.isArray(value) ? "a list" : typeof value === "object" ? "an object" : typeof value;
}

/** @param {FieldPath} path */
const formatPath = (path) =>
  path
    .map((step) => (typeof step === "number" ? `[${step}]` : `.${visible(shortenText(step, 60))}`))
    .join("")
    .replace(/^\./, "");

/** @param {string} text @param {number} most characters @returns {string} what is expected; empty: it is fine */
export function textProblem(text, most) {
  if (text.length > most) return `at most ${most} characters, found ${text.length}`;
  if (text.includes("\0")) return "a text without a zero byte";
  if (/\p{Surrogate}/u.test(text)) return "a text without half a surrogate pair";
  return "";
}

/** A name that the user and the model see. @param {string} name @returns {string} what is expected, or nothing */
export function labelProblem(name) {
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) return `a name of at most ${MAX_NAME_BYTES} bytes`;
  const problem = nameProblem(name);
  if (problem !== "") return problem;
  if (RESERVED.includes(name) || /^tap-/i.test(name)) {
    return `another name: ${quoteText(name)} is reserved`;
  }
  return name.includes("@") ? 'a name without "@", which stands before the name of a provider' : "";
}

export class FieldReport {
  /** @type {FieldProblem[]} */
  problems = [];
  /** What was read, but has no effect. @type {string[]} */
  notes = [];

  /** @param {FieldPath} path @param {string} text */
  problem(path, text) {
    if (this.problems.length >= MAX_PROBLEMS) return;
    this.problems.push({ field: formatPath(path), path: [...path], text });
  }

  /** @param {string} text */
  note(text) {
    if (!this.notes.includes(text)) this.notes.push(text);
  }
}

export class Fields {
  #record;
  #report;
  #path;
  /** Whether it was an object at all. */
  isObject;

  /** @param {Record<string, unknown> | undefined} given @param {FieldReport} report @param {FieldPath} path of it */
  constructor(given, report, path) {
    this.isObject = given !== undefined;
    this.#record = given ?? {};
    this.#report = report;
    this.#path = path;
  }

  /**
   * @param {unknown} given @param {FieldReport} report @param {FieldPath} path @param {string} what it is
   * @param {readonly string[]} known
   * @returns {Fields} without a field where it is not an object
   */
  static of(given, report, path, what, known) {
    if (typeof given !== "object" || given === null || Array.isArray(given)) {
      report.problem(path, `expected an object for ${what}, found ${describeValue(given)}`);
      return new Fields(undefined, report, path);
    }
    const record = /** @type {Record<string, unknown>} */ (given);
    for (const name of Object.keys(record)) {
      if (known.includes(name)) continue;
      report.problem(
        [...path, name],
        `unknown field ${quoteText(name)} in ${what}: ${formatSuggestion(name, known)}`,
      );
      if (report.problems.length >= MAX_PROBLEMS) break;
    }
    return new Fields(record, report, path);
  }

  /** @param {string} name @returns {unknown} */
  get(name) {
    return Object.hasOwn(this.#record, name) ? this.#record[name] : undefined;
  }

  /** @param {string} name */
  has(name) {
    return this.get(name) !== undefined;
  }

  /** Of an object without it. @param {string} name */
  isMissing(name) {
    return this.isObject && !this.has(name);
  }

  /** @param {string} name @returns {(string | number)[]} */
  path(name) {
    return [...this.#path, name];
  }

  /** @param {string} name @param {string} text */
  problem(name, text) {
    this.#report.problem(this.path(name), text);
  }

  /**
   * @param {string} name @param {number} most characters @param {string} what is expected
   * @returns {string | undefined}
   */
  text(name, most, what = "a text") {
    const value = this.get(name);
    if (value === undefined) return undefined;
    const problem = typeof value === "string" ? textProblem(value, most) : what;
    if (typeof value === "string" && problem === "" && value.trim() !== "") return value;
    this.problem(
      name,
      `expected ${problem || `${what} that is not empty`}, found ${describeValue(value)}`,
    );
    return undefined;
  }

  /** @param {string} name @returns {string | undefined} */
  label(name) {
    const value = this.get(name);
    if (value === undefined) return undefined;
    const problem = typeof value === "string" ? labelProblem(value) : "a name";
    if (typeof value === "string" && problem === "") return value;
    this.problem(
      name,
      `expected ${problem}${typeof value === "string" ? "" : `, found ${describeValue(value)}`}`,
    );
    return undefined;
  }

  /** @param {string} name @returns {boolean | undefined} */
  boolean(name) {
    const value = this.get(name);
    if (value === undefined) return undefined;
    if (typeof value === "boolean") return value;
    this.problem(name, `expected true or false, found ${describeValue(value)}`);
    return undefined;
  }

  /** @param {string} name @param {number} most @returns {number | undefined} */
  count(name, most = MAX_COUNT) {
    const value = this.get(name);
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= most) {
      return value;
    }
    this.problem(name, `expected a whole number from 1 to ${most}, found ${describeValue(value)}`);
    return undefined;
  }

  /**
   * One of a few words, in any case.
   * @template {string} T
   * @param {string} name @param {readonly T[]} words
   * @returns {T | undefined}
   */
  word(name, words) {
    const value = this.get(name);
    if (value === undefined) return undefined;
    const word = typeof value === "string" ? value.slice(0, 64).trim().toLowerCase() : "";
    const known = words.find((one) => one.toLowerCase() === word);
    if (known !== undefined) return known;
    const choice = words.map((one) => `"${one}"`).join(", ");
    this.problem(name, `expected one of ${choice}, found ${describeValue(value)}`);
    return undefined;
  }

  /** @param {string} name @param {number} least ms @param {number} most ms @returns {number | undefined} ms */
  duration(name, least, most) {
    const value = this.get(name);
    if (value === undefined) return undefined;
    const ms = typeof value === "string" ? parseDuration(value) : undefined;
    if (ms !== undefined && ms >= least && ms <= most) return ms;
    const range = `from ${formatDuration(least)} to ${formatDuration(most)}`;
    this.problem(
      name,
      `expected a time ${range}, such as "30s", "5m" or "2h", found ${describeValue(value)}`,
    );
    return undefined;
  }

  /** @param {string} name @param {number} most @returns {readonly unknown[] | undefined} */
  list(name, most) {
    const value = this.get(name);
    if (value === undefined) return undefined;
    if (Array.isArray(value) && value.length <= most) return value;
    const length = Array.isArray(value) ? `${value.length}` : describeValue(value);
    this.problem(name, `expected a list of at most ${most}, found ${length}`);
    return undefined;
  }

  /**
   * @param {string} name @param {number} most of them @param {number} mostCharacters of each
   * @returns {string[] | undefined} not empty
   */
  texts(name, most, mostCharacters) {
    const items = this.list(name, most);
    if (items === undefined) return undefined;
    if (items.length === 0) this.problem(name, "expected a list that is not empty");
    const bad = items.findIndex(
      (item) => typeof item !== "string" || textProblem(item, mostCharacters) !== "",
    );
    if (bad < 0) return items.length > 0 ? /** @type {string[]} */ ([...items]) : undefined;
    const item = items[bad];
    const problem = typeof item === "string" ? textProblem(item, mostCharacters) : "a text";
    this.#report.problem(
      [...this.path(name), bad],
      `expected ${problem}, found ${describeValue(item)}`,
    );
    return undefined;
  }

  /** Those of an object in a field. @param {string} name @param {string} what @param {readonly string[]} known */
  fields(name, what, known) {
    return Fields.of(this.get(name), this.#report, this.path(name), what, known);
  }
}
