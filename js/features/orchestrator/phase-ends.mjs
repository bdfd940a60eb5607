// How a phase ends that does not succeed.

import { shownLines } from "../../base/redact.mjs";
import { visible } from "../../base/visible.mjs";

const LAST_LINES = 20;
const MOST_LAST = 4000;

/** Why a phase has failed, for people and for what comes next. */
export class PhaseFailed extends Error {
  /** @param {string} code @param {string} message @param {Record<string, unknown>} [detail] */
  constructor(code, message, detail = {}) {
    super(message);
    this.code = code;
    this.detail = detail;
  }
}

/** What is to be tried again from here, or from the checks. */
export class Again extends Error {
  /** @param {"stale" | "interrupted"} outcome @param {string} message @param {number} [until] Unix ms @param {object} [detail] */
  constructor(outcome, message, until = 0, detail = {}) {
    super(message);
    this.outcome = outcome;
    this.until = until;
    this.detail = detail;
  }
}

/** @param {string} text @returns {string} its last lines, shown */
export const lastLinesOf = (text) =>
  shownLines(text.trimEnd().replaceAll("\r\n", "\n"))
    .split("\n")
    .slice(-LAST_LINES)
    .join("\n")
    .slice(-MOST_LAST);

/** @param {string} command @param {any} error */
export function notStarted(command, error) {
  const why = { ENOENT: "is not on the plan's PATH", EACCES: "may not be executed" }[
    /** @type {"ENOENT" | "EACCES"} */ (error.cause?.code)
  ];
  if (!why) return error;
  return new PhaseFailed("NO_PROGRAM", `The program "${visible(command)}" ${why}.`);
}
