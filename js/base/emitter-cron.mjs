// Times of a cron pattern. The library is loaded with the first pattern.

import { createRequire } from "node:module";
import { messageOf } from "./errors.mjs";
import { visible } from "./visible.mjs";

/** Where a pattern is judged: the same answer on any day. */
const REFERENCE = Date.UTC(2026, 0, 1);
/** 29 February has been on each weekday by then. A search without an end takes long enough to delay others. */
const LONGEST_WAIT = 44 * 366 * 86_400_000;

/** Patterns that were read; the oldest go first. @type {Map<string, import("croner").Cron>} */
const read = new Map();
const MOST_READ = 100;

/** @param {string} pattern five fields @param {string | undefined} timezone @param {Date} [stopAt] */
function cronOf(pattern, timezone, stopAt) {
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
    const cron = cronOf(pattern, timezone, new Date(REFERENCE + LONGEST_WAIT));
    return cron.nextRun(new Date(REFERENCE)) ? "" : "it is never due";
  } catch (error) {
    return visible(messageOf(error).replace(/^CronPattern: /, "")).slice(0, 200);
  }
}

/**
 * The computer's time zone, which may change at any time. A process goes on with the one that it began with until it is
 * made to look again.
 * @param {number} at Unix ms @returns {number} minutes to UTC
 */
export function zoneAt(at) {
  if (process.env.TZ === undefined) delete process.env.TZ; // so V8 looks again
  return new Date(at).getTimezoneOffset();
}

/**
 * The first time after another.
 * REQUIRES: cronProblem() has found nothing.
 * @param {string} pattern @param {string | undefined} timezone @param {number} after Unix ms
 * @returns {number} Unix ms; Infinity if no time is left
 */
export function nextCron(pattern, timezone, after) {
  const key = `${timezone ?? ""} ${pattern}`;
  const cron = read.get(key) ?? cronOf(pattern, timezone);
  if (!read.has(key) && read.size >= MOST_READ) read.delete([...read.keys()][0]);
  read.set(key, cron);
  return cron.nextRun(new Date(after))?.getTime() ?? Infinity;
}
