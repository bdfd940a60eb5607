// The one validator. A schema is one table of fields: it reads a value that anybody may have made, says what is wrong
// with each part of it, and is the JSON Schema that a model gets. Nothing here throws.

import { formatSuggestion } from "../lib/suggestion.mjs";
import { nameProblem, shortenText, visible } from "../lib/visible.mjs";
import { formatDuration, parseDuration } from "./emitter-values.mjs";

/** @typedef {readonly (string | number)[]} Path */
/**
 * @typedef {object} FieldProblem
 * @property {Path} path
 * @property {string} field the same as a program writes it, such as eventFilter[2].match; empty: the whole
 * @property {string} text what is expected instead
 * @property {boolean} isKey it is about the name of the field
 */
/**
 * @template T
 * @typedef {object} Schema
 * @property {(value: any, place: Place) => T | undefined} read undefined: it was refused, and the place says why
 * @property {Record<string, unknown>} [json] as JSON Schema; undefined: a model does not see it
 * @property {boolean} [required]
 * @property {unknown} [usual] what an object has where the field is not given
 */

const MAX_PROBLEMS = 20;
const MAX_NAME_BYTES = 128;

/** @param {unknown} value @returns {value is Record<string, any>} */
export const isMap = (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** @param {string} text */
export const quoteText = (text) => `"${visible(shortenText(text, 60))}"`;

/** @param {unknown} value for a message */
function describeValue(value) {
  if (value === null || value === undefined) return "null";
  if (typeof value === "string") return quoteText(value);
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return Array.isArray(value) ? "a list" : isMap(value) ? "an object" : typeof value;
}

/** @param {Path} path */
const formatPath = (path) =>
  path
    .map((step) => {
      if (typeof step === "number") return `[${step}]`;
      return /^[A-Za-z_]\w{0,59}$/.test(step) ? `.${step}` : `[${quoteText(step)}]`;
    })
    .join("")
    .replace(/^\./, "");

/** Where a value is in what was given, and what was found there. */
export class Place {
  /** @param {Path} [path] @param {{problems: FieldProblem[], notes: string[]}} [report] */
  constructor(path = [], report = { problems: [], notes: [] }) {
    this.path = path;
    this.report = report;
  }

  /** @param {string | number} step */
  at(step) {
    return new Place([...this.path, step], this.report);
  }

  /** @param {string} text @param {boolean} [isKey] @returns {undefined} */
  problem(text, isKey = false) {
    const { problems } = this.report;
    if (problems.length >= MAX_PROBLEMS) return;
    problems.push({ path: this.path, field: formatPath(this.path), text, isKey });
  }

  /** @param {string} wanted @param {unknown} value @returns {undefined} */
  expected(wanted, value) {
    return this.problem(`expected ${wanted}, found ${describeValue(value)}`);
  }

  /** What was read, but has no effect. @param {string} text */
  note(text) {
    if (!this.report.notes.includes(text)) this.report.notes.push(text);
  }
}

/**
 * @template T @param {Schema<T>} schema @param {unknown} value
 * @returns {{ok: true, value: T, notes: string[]} | {ok: false, problems: FieldProblem[]}}
 */
export function readValue(schema, value) {
  const place = new Place();
  const read = schema.read(value, place);
  const { problems, notes } = place.report;
  return problems.length > 0
    ? { ok: false, problems }
    : { ok: true, value: /** @type {T} */ (read), notes };
}

/** One line. @param {FieldProblem} problem */
export const formatProblem = ({ field, text }) => (field === "" ? text : `${field}: ${text}`);

/** @param {Schema<any>} schema */
export const toJsonSchema = (schema) => schema.json;

/** With more of JSON Schema, such as bounds where nothing else checks them. @template T @param {object} more @param {Schema<T>} schema @returns {Schema<T>} */
export const shown = (more, schema) => ({ ...schema, json: { ...schema.json, ...more } });

/** With a word for the model. @template T @param {string} description @param {Schema<T>} schema @returns {Schema<T>} */
export const about = (description, schema) => shown({ description }, schema);

/** @template T @param {Schema<T>} schema @returns {Schema<T>} a model does not see it */
export const hidden = (schema) => ({ ...schema, json: undefined });

/** @template T @param {Schema<T>} schema @returns {Schema<T>} */
export const required = (schema) => ({ ...schema, required: true });

/** @template T @param {T} value @param {Schema<T>} schema @returns {Schema<T>} */
export const usually = (value, schema) => ({ ...schema, usual: value });

/**
 * With one more check, which may make another value of it.
 * @template T @template R @param {Schema<T>} schema @param {(value: T, place: Place) => R | undefined} check
 * @returns {Schema<R>}
 */
export const refine = (schema, check) => ({
  json: schema.json,
  read(value, place) {
    const read = schema.read(value, place);
    return read === undefined ? undefined : check(read, place);
  },
});

/** @type {Schema<any>} */
export const anything = { json: {}, read: (value) => value };

/** @type {Schema<boolean>} */
export const flag = {
  json: { type: "boolean" },
  read: (value, place) =>
    typeof value === "boolean" ? value : place.expected("true or false", value),
};

/** @param {string} text @param {number} most characters @returns {string} what is expected; empty: it is fine */
function findTextProblem(text, most) {
  if (text.length > most) return `at most ${most} characters`;
  if (text.includes("\0")) return "a text without a zero byte";
  return /\p{Surrogate}/u.test(text) ? "a text without half a surrogate pair" : "";
}

/**
 * @param {{most?: number, what?: string, blank?: boolean, raw?: boolean}} [how] most: characters; blank: it may be;
 *   raw: it may have a zero byte, which ends a text for the system
 * @returns {Schema<string>}
 */
export const text = ({ most = Infinity, what = "a text", blank = false, raw = false } = {}) => ({
  json: { type: "string" },
  read(value, place) {
    if (typeof value !== "string") return place.expected(what, value);
    const isLong = value.length > most;
    const problem = raw && !isLong ? "" : findTextProblem(value, most);
    if (problem !== "") return place.expected(problem, value);
    return blank || value.trim() !== ""
      ? value
      : place.expected(`${what} that is not empty`, value);
  },
});

/** That the user and the model see. @type {Schema<string>} */
export const label = refine(text({ what: "a name", blank: true, raw: true }), (given, place) => {
  const isLong = Buffer.byteLength(given) > MAX_NAME_BYTES;
  const problem = isLong ? `a name of at most ${MAX_NAME_BYTES} bytes` : nameProblem(given);
  return problem === "" ? given : place.problem(`expected ${problem}`);
});

/**
 * @template {string} T @param {readonly T[]} words @param {{anyCase?: boolean}} [how]
 * @returns {Schema<T>}
 */
export const choice = (words, { anyCase = false } = {}) => ({
  json: { enum: words },
  read(value, place) {
    const word =
      anyCase && typeof value === "string" ? value.slice(0, 64).trim().toLowerCase() : value;
    const found = words.find((one) => (anyCase ? one.toLowerCase() : one) === word);
    if (found !== undefined) return found;
    return place.expected(`one of ${words.map((one) => `"${one}"`).join(", ")}`, value);
  },
});

/** @param {number} least @param {number} [most] @returns {Schema<number>} */
export const integer = (least, most = Number.MAX_SAFE_INTEGER) => ({
  json: { type: "integer" },
  read: (value, place) =>
    Number.isInteger(value) && value >= least && value <= most
      ? value
      : place.expected(
          least === most ? String(least) : `a whole number from ${least} to ${most}`,
          value,
        ),
});

/** @param {number} least @param {number} [most] @returns {Schema<number>} */
export const decimal = (least, most = Number.MAX_SAFE_INTEGER) => ({
  json: { type: "number" },
  read: (value, place) =>
    Number.isFinite(value) && value >= least && value <= most
      ? value
      : place.expected(`a number from ${least} to ${most}`, value),
});

/** @param {number} least ms @param {number} most ms @returns {Schema<number>} ms */
export const duration = (least, most) => ({
  json: { type: "string" },
  read(value, place) {
    const ms = typeof value === "string" ? parseDuration(value) : undefined;
    if (ms !== undefined && ms >= least && ms <= most) return ms;
    const range = `from ${formatDuration(least)} to ${formatDuration(most)}`;
    return place.expected(`a time ${range}, such as "30s", "5m" or "2h"`, value);
  },
});

/** A regular expression of JavaScript. @param {string} flags @param {number} most characters @returns {Schema<RegExp>} */
export const pattern = (flags, most) =>
  refine(text({ most, raw: true }), (source, place) => {
    try {
      return new RegExp(source, flags);
    } catch (error) {
      return place.problem(visible(/** @type {Error} */ (error).message));
    }
  });

/**
 * @template T @param {Schema<T>} item @param {{most?: number, least?: number, what?: string}} [how] what: "providers"
 * @returns {Schema<T[]>} without the items that were refused
 */
export const list = (item, { most = Infinity, least = 0, what = "items" } = {}) => ({
  json: { type: "array", items: item.json },
  read(value, place) {
    if (!Array.isArray(value)) return place.expected("a list", value);
    const { length } = value;
    if (length > most)
      return place.at(most).problem(`expected at most ${most} ${what}, found ${length}`);
    if (length < least) return place.problem("expected a list that is not empty");
    return value.flatMap((one, at) => item.read(one, place.at(at)) ?? []);
  },
});

/**
 * An object with any names.
 * @template T @param {Schema<T>} item
 * @param {{most?: number, what?: string, checkName?: (name: string) => string}} [how] checkName: "": it is fine
 * @returns {Schema<Record<string, T>>}
 */
export const named = (item, { most = Infinity, what = "names", checkName = () => "" } = {}) => ({
  json: { type: "object", additionalProperties: item.json },
  read(value, place) {
    if (!isMap(value)) return place.expected("an object", value);
    const { length } = Object.keys(value);
    if (length > most) return place.problem(`expected at most ${most} ${what}, found ${length}`);
    const entries = Object.entries(value).map(([name, one]) => {
      const problem = checkName(name);
      if (problem !== "") place.at(name).problem(problem, true);
      return [name, item.read(one, place.at(name))];
    });
    return Object.fromEntries(entries.filter(([, one]) => one !== undefined));
  },
});

/**
 * The first schema whose kind of value is given.
 * @template A @template B
 * @param {"string" | "number" | "object" | "array"} kind @param {Schema<A>} one of that kind @param {Schema<B>} other
 * @returns {Schema<A | B>} a model sees the other
 */
export const either = (kind, one, other) => ({
  json: other.json,
  read(value, place) {
    const isOne = kind === (Array.isArray(value) ? "array" : typeof value);
    return isOne ? one.read(value, place) : other.read(value, place);
  },
});

/**
 * @typedef {object} ObjectRules
 * @property {string[]} [one] of these fields one is given
 * @property {string[]} [most] of these fields at most one is given
 * @property {string[]} [some] of these fields at least one is given
 * @property {boolean} [isOpen] other fields are left out, and no mistake
 * @property {(read: any, place: Place, given: Record<string, any>) => any} [finish] what its fields need of one
 *   another; makes the value
 */

/** @param {string[]} names */
const formatNames = (names) =>
  names
    .map((name) => `"${name}"`)
    .join(", ")
    .replace(/, ([^,]*)$/, " or $1");

/** @param {ObjectRules} rules @param {(name: string) => boolean} has @param {Place} place @param {string} what */
function checkPresence({ one = [], most = [], some = [] }, has, place, what) {
  for (const names of [one, some]) {
    if (names.length > 0 && !names.some(has))
      place.at(names[0]).problem(`is missing: give ${formatNames(names)}`);
  }
  for (const names of [one, most]) {
    const [first, ...more] = names.filter(has);
    for (const name of more)
      place.at(name).problem(`leave it out, or "${first}": ${what} has one of them`);
  }
}

/** @param {Record<string, Schema<any>>} fields @param {boolean} isOpen */
function toObjectSchema(fields, isOpen) {
  const seen = Object.entries(fields).filter(([, { json }]) => json !== undefined);
  const needed = seen.filter((field) => field[1].required).map(([name]) => name);
  const isWhole = !isOpen && seen.length === Object.keys(fields).length;
  return {
    type: "object",
    ...(isWhole && { additionalProperties: false }),
    ...(needed.length > 0 && { required: needed }),
    ...((isWhole || seen.length > 0) && {
      properties: Object.fromEntries(seen.map(([name, { json }]) => [name, json])),
    }),
  };
}

/**
 * @param {string} what for messages, such as "a provider"
 * @param {Record<string, Schema<any>>} fields @param {ObjectRules} [rules]
 * @returns {Schema<any>} the fields that are given, and those that usually have a value
 */
export const object = (
  what,
  fields,
  { isOpen = false, finish = (read) => read, ...rules } = {},
) => ({
  json: toObjectSchema(fields, isOpen),
  read(value, place) {
    if (!isMap(value)) return place.expected(`an object for ${what}`, value);
    const has = (/** @type {string} */ name) =>
      Object.hasOwn(value, name) && value[name] !== undefined;
    const known = Object.keys(fields);
    const unknown = Object.keys(value).filter((one) => !isOpen && !Object.hasOwn(fields, one));
    for (const name of unknown.slice(0, MAX_PROBLEMS)) {
      const hint = formatSuggestion(name, known);
      place.at(name).problem(`unknown field ${quoteText(name)} in ${what}: ${hint}`, true);
    }
    checkPresence(rules, has, place, what);
    /** @type {Record<string, unknown>} */
    const read = {};
    for (const [name, field] of Object.entries(fields)) {
      const one = has(name) ? field.read(value[name], place.at(name)) : field.usual;
      if (one !== undefined) read[name] = one;
      if (field.required && !has(name)) place.at(name).problem(`is missing: ${what} needs it`);
    }
    return finish(read, place, value);
  },
});

/** The JSON Schema of a tool's arguments. @param {Record<string, Schema<any>>} [fields] @returns {any} */
export const toParameters = (fields = {}) => toJsonSchema(object("the arguments", fields));
