// The checks, in the order in which a call depends on what they look at. What comes after the first that
// has failed depends on it, and is not guessed at.

import { ADMITTING, FINDABLE } from "./checks-gateway.mjs";
import { INSTALLED } from "./checks-installed.mjs";
import { OWN_CONFIG, PARTS } from "./checks-parts.mjs";
import { GIT, PLANS } from "./checks-plans.mjs";
import { OFFERED, SESSION } from "./checks-session.mjs";
import { WAITING } from "./checks-waiting.mjs";

/** @typedef {import("./place.mjs").Place} Place */
/** @typedef {import("./findings.mjs").Finding} Finding */
/**
 * @typedef {object} Check
 * @property {string} id stable, for programs
 * @property {string} title
 * @property {(place: Place) => Finding | undefined} run
 * @property {(place: Place) => string} [seen] what was seen where all is well
 * @property {"tool" | "all"} [only] where a tool is asked about, or where none is
 *
 * @typedef {"passed" | "warning" | "failed" | "skipped"} Status `skipped`: it depends on one that has failed
 * @typedef {{id: string, title: string, status: Status, seen?: string, finding?: Finding}} Result
 */

/** @type {Check[]} */
export const CHECKS = [
  ...INSTALLED,
  ...GIT,
  ...OWN_CONFIG,
  ...FINDABLE,
  ...PARTS,
  ...PLANS,
  SESSION,
  WAITING,
  ...ADMITTING,
  ...OFFERED,
];

/** @param {Place} place @returns {Result[]} of each check */
export function examine(place) {
  let failed = false;
  const asked = place.tool === undefined ? "all" : "tool";
  return CHECKS.filter(({ only = asked }) => only === asked).map(({ id, title, run, seen }) => {
    if (failed) return { id, title, status: "skipped" };
    const finding = run(place);
    failed = finding?.severity === "error";
    if (finding) return { id, title, status: failed ? "failed" : "warning", finding };
    return { id, title, status: "passed", seen: seen?.(place) ?? "" };
  });
}
