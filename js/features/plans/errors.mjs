// What a tool or a person did wrong, or why a plan cannot go on.

import { selectFailureLines } from "../../lib/failure-lines.mjs";
import { redactLines } from "../../lib/redact.mjs";
import { truncateText, visible } from "../../lib/visible.mjs";

const MAX_ID_LENGTH = 64;

export class PlanError extends Error {
  /** @param {string} code @param {string} message @param {object} [detail] */
  constructor(code, message, detail = {}) {
    super(message);
    this.code = code;
    this.detail = detail;
  }
}

/** A plan whose repository is gone has less to say, and nothing that could be removed. @param {any} error */
export function ignoreMissingRepository(error) {
  if (error.code !== "NOT_A_REPOSITORY") throw error;
  return undefined;
}

/** @typedef {{path: string, message: string, node?: string}} Problem node: the id of the one that it is in */

/** Problems with the ids of their nodes. @param {{problems?: Problem[]}} detail @param {unknown} nodes that were given */
export function addNodeIds(detail, nodes) {
  const idAt = (/** @type {string} */ path) => {
    const [, at] = /^nodes\[(\d+)\]/.exec(path) ?? [];
    const id = Array.isArray(nodes) && at !== undefined ? nodes[Number(at)]?.id : undefined;
    return typeof id === "string" ? { node: truncateText(visible(id), MAX_ID_LENGTH) } : {};
  };
  const problems = detail.problems?.map((one) => ({ ...one, ...idAt(one.path) }));
  return { ...detail, ...(problems && { problems }) };
}

/** @param {Problem} problem */
export const problemText = ({ path, message, node }) =>
  `${path || "the plan"}: ${message}${node ? ` (node ${node})` : ""}`;

// How a phase ends that does not succeed.

const LAST_LINES = 20;
const MAX_LAST_LINE = 400;
const MAX_LAST_TEXT = 4000;

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
export class RetryLater extends Error {
  /** @param {"stale" | "interrupted"} outcome @param {string} message @param {number} [until] Unix ms @param {object} [detail] */
  constructor(outcome, message, until = 0, detail = {}) {
    super(message);
    this.outcome = outcome;
    this.until = until;
    this.detail = detail;
  }
}

/** @param {string} text @returns {string} its last lines and those around failures, shown */
export const formatLastLines = (text) =>
  selectFailureLines(redactLines(text.trimEnd().replaceAll("\r\n", "\n")).split("\n"), LAST_LINES)
    .map((line) => truncateText(line, MAX_LAST_LINE))
    .join("\n")
    .slice(-MAX_LAST_TEXT);

/** @param {string} command @param {any} error */
export function toStartError(command, error) {
  const why = { ENOENT: "is not on the plan's PATH", EACCES: "may not be executed" }[
    /** @type {"ENOENT" | "EACCES"} */ (error.cause?.code)
  ];
  if (!why) return error;
  if (String(error.cause.path).endsWith("/bwrap") && !command.endsWith("bwrap")) {
    const advice = "Install bubblewrap again, then retry the node: copilot-tap sandbox shows it.";
    return new PhaseFailed("NO_SANDBOX", `bwrap ${why} any more, so nothing ran. ${advice}`);
  }
  return new PhaseFailed("NO_PROGRAM", `The program "${visible(command)}" ${why}.`);
}
