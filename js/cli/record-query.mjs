// Which records a user means: conditions, times and sessions as they are typed, and the questions to the
// store that follow.

import { Failure, usage } from "./exit.mjs";
import { findSession } from "./reference.mjs";

/** @typedef {import("../link/control.mjs").Control} Control */
/** @typedef {import("../views/records-view.mjs").StoredRecord} StoredRecord */

/** Records of one question to the store. */
export const MAX_PAGE_SIZE = 1000;

/** The longest first: `!=` is not a field that ends in `!`. */
const OPERATORS = /** @type {const} */ ([
  ["!=", "ne"],
  ["^=", "prefix"],
  ["=", "eq"],
  ["<", "lt"],
  [">", "gt"],
]);
/** As the tool writes an operator. What others have given may have such a field. */
const OF_TOOL = /^(?!(?:arguments|result|event|metadata)\.)(.+)\.(eq|ne|lt|gt|prefix)$/;
const CONDITION = /^([\w.-]{1,64})(!=|\^=|=|<|>)(.*)$/su;
const FORMS = "field=value, field!=value, field<value, field>value or field^=beginning";
const NUMBER = /^-?\d{1,15}(?:\.\d{1,9})?$/;

/** A number, true, false and null are that; all else is text. @param {string} text */
function parseValue(text) {
  if (/^(?:true|false|null)$/.test(text)) return JSON.parse(text);
  if (NUMBER.test(text)) return Number(text);
  if (/^".*"$/s.test(text)) {
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  }
  return text;
}

/** Where the sign and the beginning of the value look like another operator. @param {string} field @param {string} signs @param {string} rest */
function adviceForSigns(field, signs, rest) {
  if (signs === "==") return `write '${field}=${rest}'`;
  const bound = /^=[<>]$|^[<>]=$/.test(signs) && signs.replace("=", "");
  if (bound && /^-?\d{1,15}$/.test(rest)) {
    const next = Number(rest) + (bound === ">" ? -1 : 1);
    return `there is no ${bound}=: for whole numbers, write '${field}${bound}${next}'`;
  }
  if (bound && signs.startsWith(bound)) {
    return `there is no ${bound}=: write '${field}${bound}value'`;
  }
  return `write ${FORMS}; a value that begins with =, < or > needs double quotes`;
}

/**
 * What to write instead of a condition that would find something else, or nothing; undefined: it is right.
 * @param {string} field @param {string} sign @param {string} value
 */
function adviceFor(field, sign, value) {
  const [, named, word] = OF_TOOL.exec(field) ?? [];
  if (named && sign === "=") {
    return `write '${named}${OPERATORS.find(([, name]) => name === word)?.[0]}${value}'`;
  }
  if (sign === "^=") return undefined;
  const [, more, rest] = /^([=<>]+)(.*)$/s.exec(value) ?? [];
  if (more !== undefined) return adviceForSigns(field, sign + more, rest);
  if (!/[<>]/.test(sign) || NUMBER.test(value) || /^".*"$/s.test(value)) return undefined;
  return `write '${field}${sign}100' with a number, or '${field}${sign}"${value}"' to compare texts`;
}

/** @param {string[]} texts such as `tool=get_weather` @returns {Record<string, Record<string, unknown>>} */
export function parseConditions(texts) {
  /** @type {Record<string, Record<string, unknown>>} */
  const where = Object.create(null);
  for (const text of texts) {
    const [, field, sign, value] = CONDITION.exec(text) ?? [];
    const operator = OPERATORS.find(([written]) => written === sign)?.[1];
    if (!field || !operator) {
      throw usage(`"${text}" is not a condition`, `write ${FORMS}`);
    }
    const advice = adviceFor(field, sign, value);
    if (advice) throw usage(`"${text}" is not a condition`, advice);
    where[field] = {
      ...where[field],
      [operator]: operator === "prefix" ? value : parseValue(value),
    };
  }
  return where;
}

const UNITS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/**
 * A time as Unix time in ms: `2h` is two hours ago.
 * @param {string} text @param {string} option that it was given to @param {number} [now]
 */
export function parseTime(text, option, now = Date.now()) {
  const [, count, unit] = /^(\d{1,6})\s*([smhdw])$/.exec(text) ?? [];
  if (count) return now - Number(count) * UNITS[/** @type {keyof typeof UNITS} */ (unit)];
  const at = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(at)) {
    throw usage(
      `${option} does not take "${text}"`,
      "give how long ago (30s, 15m, 2h, 7d) or a time such as 2026-11-22T09:00",
    );
  }
  return at;
}

/**
 * A connected session by its id or label; another one by the beginning of its id.
 * @param {Control} control @param {string} given
 * @returns {Promise<{session: string | {prefix: string}}>}
 */
export async function sessionCondition(control, given) {
  const { sessions } = await control.inspect();
  try {
    return { session: findSession(sessions, given).id };
  } catch (error) {
    const unknown = error instanceof Failure && error.code === "INVALID_SESSION";
    if (!unknown || !/^[\w-]{4,128}$/.test(given)) throw error;
    return { session: { prefix: given } };
  }
}

/**
 * Up to which record somebody has seen the store: its id and its time. Times alone do not say what is new, since a
 * clock may go back; ids begin again with another file.
 * @typedef {{id: number, at: number}} StorePosition
 */

/**
 * The newest record, of any collection; in an empty store one with the id 0.
 * @param {Control} control @param {StorePosition} seen
 * @returns {Promise<{newest: StorePosition, isOther: boolean}>} `isOther`: what was seen is not there, the ids have begun again
 */
export async function newestSince(control, seen) {
  const sql = `SELECT id, at FROM rows WHERE id IN (${seen.id}, (SELECT max(id) FROM rows)) ORDER BY id`;
  /** @type {{rows: [number, number][]}} */
  const { rows } = await control.request("records.sql", { sql });
  const [id, at] = rows.at(-1) ?? [0, 0];
  const isOther = id < seen.id || rows.some(([one, then]) => one === seen.id && then !== seen.at);
  return { newest: { id, at }, isOther };
}

/**
 * The newest that fit, the oldest of them first.
 * @param {Control} control @param {object} query as `records.query` takes it @param {number} count
 * @returns {Promise<StoredRecord[]>}
 */
export async function newestRecords(control, query, count) {
  /** @type {StoredRecord[]} */
  const found = [];
  /** @type {string | undefined} */
  let cursor;
  while (found.length < count) {
    const limit = Math.min(MAX_PAGE_SIZE, count - found.length);
    const page = await control.request("records.query", {
      ...query,
      limit,
      ...(cursor && { cursor }),
    });
    found.push(...page.records);
    cursor = page.cursor;
    if (!cursor || page.records.length === 0) break;
  }
  return found.toReversed();
}
