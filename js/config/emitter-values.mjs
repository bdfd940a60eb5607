// The small languages in an emitter's fields: durations (30s, 5m), cron patterns, folders, and paths into JSON.

import { createRequire } from "node:module";
import path from "node:path";
import { errorMessage } from "../lib/values.mjs";
import { visible } from "../lib/visible.mjs";

/** Each with the words for it. @type {readonly [number, ...string[]][]} */
const UNITS = [
  [1, "ms"],
  [1000, "s", "sec", "secs", "second", "seconds"],
  [60_000, "m", "min", "mins", "minute", "minutes"],
  [3_600_000, "h", "hr", "hrs", "hour", "hours"],
  [86_400_000, "d", "day", "days"],
];
const MS = new Map(UNITS.flatMap(([ms, ...words]) => words.map((word) => [word, ms])));
const MAX_DURATION_TEXT = 40;

/** @param {string} text such as "30s", "5 minutes" or "every 2h" @returns {number | undefined} ms */
export function parseDuration(text) {
  if (text.length > MAX_DURATION_TEXT) return undefined;
  const words = text
    .trim()
    .toLowerCase()
    .replace(/^every /, "");
  const [, digits, unit] = /^([0-9]{1,9}) ?([a-z]+)$/.exec(words.trim()) ?? [];
  const ms = MS.get(unit);
  return ms === undefined ? undefined : Number(digits) * ms;
}

/** @param {number} ms a whole number @returns {string} the shortest text that parseDuration reads as it */
export function formatDuration(ms) {
  const [size, unit] = UNITS.findLast(([one]) => ms > 0 && ms % one === 0) ?? UNITS[0];
  return `${ms / size}${unit}`;
}

// Times of a cron pattern. The library is loaded with the first pattern.

/** Where a pattern is judged: the same answer on any day. */
const REFERENCE = Date.UTC(2026, 0, 1);
/** 29 February has been on each weekday by then. A search without an end takes long enough to delay others. */
const MAX_WAIT_MS = 44 * 366 * 86_400_000;

/** Patterns that were read; the oldest go first. @type {Map<string, import("croner").Cron>} */
const cronCache = new Map();
const MAX_CACHED = 100;

/** @param {string} pattern five fields @param {string | undefined} timezone @param {Date} [stopAt] */
function createCron(pattern, timezone, stopAt) {
  const { Cron } = /** @type {typeof import("croner")} */ (
    createRequire(import.meta.url)("croner")
  );
  return new Cron(pattern, {
    mode: "5-part",
    ...(stopAt && { stopAt }),
    ...(timezone && { timezone }),
  });
}

/**
 * @param {string} pattern five fields @param {string} [timezone] default: that of the computer
 * @returns {string} what is wrong with it; empty: nothing
 */
export function cronProblem(pattern, timezone) {
  try {
    const cron = createCron(pattern, timezone, new Date(REFERENCE + MAX_WAIT_MS));
    return cron.nextRun(new Date(REFERENCE)) ? "" : "it is never due";
  } catch (error) {
    return visible(errorMessage(error).replace(/^CronPattern: /, "")).slice(0, 200);
  }
}

/**
 * The computer's time zone, which may change at any time. A process goes on with the one that it began with until it is
 * made to look again.
 * @param {number} at Unix ms @returns {number} minutes to UTC
 */
export function readZoneOffset(at) {
  if (process.env.TZ === undefined) delete process.env.TZ; // so V8 looks again
  return new Date(at).getTimezoneOffset();
}

/**
 * The first time after another.
 * REQUIRES: cronProblem() has found nothing.
 * @param {string} pattern @param {string | undefined} timezone @param {number} after Unix ms
 * @returns {number} Unix ms; Infinity if no time is left
 */
export function nextCronTime(pattern, timezone, after) {
  const key = `${timezone ?? ""} ${pattern}`;
  const cron = cronCache.get(key) ?? createCron(pattern, timezone);
  if (!cronCache.has(key) && cronCache.size >= MAX_CACHED)
    cronCache.delete([...cronCache.keys()][0]);
  cronCache.set(key, cron);
  return cron.nextRun(new Date(after))?.getTime() ?? Infinity;
}

// Folders and globs of a workspace.

/** On any system: a config is shared between them. @param {string} folder */
const isAbsolute = (folder) =>
  path.posix.isAbsolute(folder) || path.win32.isAbsolute(folder) || /^[a-z]:/i.test(folder);

/** Whether a path leads out of the folder that it is given in. @param {string} relative */
export const isOutside = (relative) =>
  isAbsolute(relative) ||
  path.posix.normalize(relative.replaceAll("\\", "/")).split("/")[0] === "..";

/** A folder of the workspace that is given in full, as it is from there. @param {string} cwd @param {string} folder */
export function toWorkspacePath(cwd, folder) {
  const way = isAbsolute(cwd) ? path.relative(folder, cwd) : cwd;
  return isOutside(way) ? cwd : way || ".";
}

// Which part of a JSON document an emitter watches: $.runs[0].status, runs[0].status or $["a key"].

const MAX_PATH_TEXT = 500;
const MAX_PATH_STEPS = 30;
const STEP = /\.([A-Za-z_][\w-]*)|\[(0|[1-9][0-9]{0,8})\]|\["([^"\\]*)"\]|\['([^'\\]*)'\]/y;

/** @param {string} text @returns {(string | number)[] | undefined} undefined where it is not such a path */
export function parseJsonPath(text) {
  const given = text.trim();
  if (given === "" || given.length > MAX_PATH_TEXT) return undefined;
  const rest = given.startsWith("$") ? given.slice(1) : given.startsWith("[") ? given : `.${given}`;
  const steps = [];
  STEP.lastIndex = 0;
  for (let at = 0; at < rest.length; at = STEP.lastIndex) {
    const found = STEP.exec(rest);
    if (found === null || steps.length === MAX_PATH_STEPS) return undefined;
    const [, name, index, ...keys] = found;
    steps.push(
      index === undefined ? (name ?? keys.find((key) => key !== undefined) ?? "") : Number(index),
    );
  }
  return steps;
}

/** @param {unknown} document @param {readonly (string | number)[]} steps @returns {unknown} undefined if the document lacks it */
export function resolveJsonPath(document, steps) {
  let value = document;
  for (const step of steps) {
    if (typeof value !== "object" || value === null) return undefined;
    if (Array.isArray(value) !== (typeof step === "number") || !Object.hasOwn(value, step))
      return undefined;
    value = /** @type {Record<string | number, unknown>} */ (value)[step];
  }
  return value;
}
