// Untrusted regular expressions, matched in a separate thread with a time limit, so that a slow pattern does
// not block this process. The syntax is JavaScript's with the flag `u`, or without it if the pattern is invalid then.

import { Worker } from "node:worker_threads";
import { errorMessage } from "./values.mjs";

/** In characters. */
export const MAX_PATTERN = 1024;
/** Of a text, in characters. The rest is ignored. */
export const MAX_SUBJECT = 1024 * 1024;
/** For a single pattern, without the start of the thread. */
export const PATTERN_MS = 200;
/** For the thread to start on a busy machine. */
const START_MS = 10_000;
const MAX_HEAP_MB = 64;

/**
 * @typedef {{pattern: string, text: string}} PatternJob
 * @typedef {"yes" | "no" | "late"} MatchResult `late`: it took too long; the result is unknown
 */

/** @param {string} pattern @returns {RegExp} @throws {SyntaxError} */
export function compilePattern(pattern) {
  try {
    return new RegExp(pattern, "u");
  } catch {
    return new RegExp(pattern);
  }
}

/** @param {string} pattern @returns {string} why it is not accepted; "" if it is */
export function patternProblem(pattern) {
  if (pattern.length > MAX_PATTERN) return `expected at most ${MAX_PATTERN} characters`;
  try {
    compilePattern(pattern);
    return "";
  } catch (error) {
    return errorMessage(error);
  }
}

/**
 * Matches jobs in sequence, until a job takes too long.
 * @param {PatternJob[]} jobs @param {boolean} untilFirst
 * @returns {Promise<MatchResult[]>} fewer than jobs if the last is late, or is the first that matches
 */
function runThread(jobs, untilFirst) {
  return new Promise((resolve) => {
    const worker = new Worker(new URL("./timed-patterns-thread.mjs", import.meta.url), {
      workerData: jobs,
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
      env: {},
    });
    /** @type {MatchResult[]} */
    const matched = [];
    /** @type {NodeJS.Timeout | undefined} */
    let timer;
    const end = () => {
      clearTimeout(timer);
      void worker.terminate();
      resolve(matched);
    };
    const late = () => {
      matched.push("late");
      end();
    };
    const wait = (/** @type {number} */ ms) => {
      clearTimeout(timer);
      timer = setTimeout(late, ms);
    };
    wait(START_MS);
    worker.on("message", (/** @type {"ready" | MatchResult} */ message) => {
      if (message !== "ready") matched.push(message);
      if (matched.length === jobs.length || (untilFirst && message === "yes")) end();
      else wait(PATTERN_MS);
    });
    worker.on("error", late); // such as no memory left
  });
}

/**
 * @param {PatternJob[]} jobs each pattern without a problem
 * @param {{untilFirst?: boolean}} [options] `untilFirst`: stop after the first match, or after a job that takes too
 *   long
 * @returns {Promise<MatchResult[]>} in their order
 */
export async function matchAll(jobs, { untilFirst = false } = {}) {
  const bounded = jobs.map(({ pattern, text }) => ({ pattern, text: text.slice(0, MAX_SUBJECT) }));
  /** @type {MatchResult[]} */
  const all = [];
  while (all.length < jobs.length) {
    all.push(...(await runThread(bounded.slice(all.length), untilFirst)));
    if (untilFirst) break;
  }
  return all;
}
