// The checks, in the order in which a call depends on the checked parts. After the first failure, the rest is skipped,
// since it depends on the failed part.

import { ACCESS_CHECKS, GATEWAY_CHECKS } from "./checks-gateway.mjs";
import { INSTALLATION_CHECKS } from "./checks-installation.mjs";
import { NEEDS, PARTS } from "./checks-parts.mjs";
import { TOOL_CHECKS, SESSION_CHECK, WAITING_CHECK } from "./checks-session.mjs";

/** @typedef {import("./facts.mjs").Facts} Facts */
/** @typedef {import("./findings.mjs").Finding} Finding */
/**
 * @typedef {object} Check
 * @property {string} id stable, for programs
 * @property {string} title
 * @property {(place: Facts) => Finding | undefined} run
 * @property {(place: Facts) => string} [seen] the observation if the check passes
 * @property {"tool" | "all"} [only] with a requested tool, or without
 *
 * @typedef {"passed" | "warning" | "failed" | "skipped"} Status `skipped`: it depends on a failed check
 * @typedef {{id: string, title: string, status: Status, seen?: string, finding?: Finding}} Result
 */

/** @type {Check[]} */
export const CHECKS = [
  ...INSTALLATION_CHECKS,
  ...NEEDS,
  ...GATEWAY_CHECKS,
  ...PARTS,
  SESSION_CHECK,
  WAITING_CHECK,
  ...ACCESS_CHECKS,
  ...TOOL_CHECKS,
];

/** @param {Facts} place @returns {Result[]} a result for each check */
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
