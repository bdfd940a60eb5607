// What a tool or a person did wrong, or why a plan cannot go on.

import { visible } from "../../base/visible.mjs";

const MOST_ID = 64;

export class PlanError extends Error {
  /** @param {string} code @param {string} message @param {object} [detail] */
  constructor(code, message, detail = {}) {
    super(message);
    this.code = code;
    this.detail = detail;
  }
}

/** A plan whose repository is gone has less to say, and nothing that could be removed. @param {any} error */
export function unlessGone(error) {
  if (error.code !== "NOT_A_REPOSITORY") throw error;
  return undefined;
}

/** @typedef {{path: string, message: string, node?: string}} Problem node: the id of the one that it is in */

/** Problems with the ids of their nodes. @param {{problems?: Problem[]}} detail @param {unknown} nodes that were given */
export function named(detail, nodes) {
  const idAt = (/** @type {string} */ path) => {
    const [, at] = /^nodes\[(\d+)\]/.exec(path) ?? [];
    const id = Array.isArray(nodes) && at !== undefined ? nodes[Number(at)]?.id : undefined;
    return typeof id === "string" ? { node: visible(id).slice(0, MOST_ID) } : {};
  };
  const problems = detail.problems?.map((one) => ({ ...one, ...idAt(one.path) }));
  return { ...detail, ...(problems && { problems }) };
}

/** @param {Problem} problem */
export const problemText = ({ path, message, node }) =>
  `${path || "the plan"}: ${message}${node ? ` (node ${node})` : ""}`;
