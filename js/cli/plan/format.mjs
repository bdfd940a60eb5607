// How plans and nodes are drawn, in any of the views.

import { inLine } from "../../lib/visible.mjs";
import { bad, faint, good, strong, styled, warning } from "../../views/output.mjs";
import { formatCount } from "../../views/wording.mjs";

/** @typedef {import("../../views/output.mjs").Part} Part */
/** @typedef {{id: string, name: string, group?: string, status: string, phase?: string, attempt?: number,
 *   error?: string, line?: string, dependencies?: string[], replacedBy?: string, sandboxed?: false,
 *   refusals?: number, note?: string}} Node */
/** @typedef {Record<string, any> & {planId: string, name: string, status: string, nodes: Node[]}} Plan */

/** @type {Record<string, {sign: string, paint: (text: unknown) => Part}>} */
const STATUSES = {
  pending: { sign: "·", paint: faint },
  ready: { sign: "○", paint: strong },
  scheduled: { sign: "○", paint: strong },
  running: { sign: "●", paint: (text) => styled("cyan", text) },
  succeeded: { sign: "✔", paint: good },
  failed: { sign: "✖", paint: bad },
  blocked: { sign: "⊘", paint: warning },
  canceled: { sign: "–", paint: warning },
  paused: { sign: "‖", paint: warning },
  partial: { sign: "✖", paint: warning },
};

/** Of a line, also where it goes into a file. */
const MAX_WIDTH = 160;

/** @param {import("../../views/output.mjs").Output} output @returns {number} of its lines */
export const getLineWidth = ({ width }) => Math.min(width, MAX_WIDTH);

/** @param {string} status */
const getStyle = (status) => STATUSES[status] ?? STATUSES.pending;
/** @param {string} status @returns {Part} */
export const formatSign = (status) => getStyle(status).paint(getStyle(status).sign);
/** @param {string} status @returns {Part} */
export const formatStatus = (status) => getStyle(status).paint(status);

/** @param {Node} node */
export function formatState({ status, phase, attempt = 0, replacedBy, sandboxed }) {
  const more = [
    ...(sandboxed === false ? ["not sandboxed"] : []), // first: a narrow column cuts the end
    ...(replacedBy === undefined ? [] : [`replaced by ${inLine(replacedBy)}`]),
    ...(phase && (status === "running" || status === "failed") ? [phase] : []),
    ...(attempt > 1 ? [`attempt ${attempt}`] : []),
  ];
  return `${status}${more.length > 0 ? ` (${more.join(", ")})` : ""}`;
}

/** By part of a budget: the option of `resume` that raises it. @type {Record<string, string>} */
const RAISES = { aiCredits: " --budget <credits>", tokens: " --tokens <count>" };

/** @param {Plan} plan @returns {string} why nothing goes on; "": it does */
export function formatPause({ planId, pausedFor, spent = [] }) {
  if (pausedFor === undefined) return "";
  const how = spent.map((/** @type {string} */ part) => RAISES[part]).join("");
  const why = how === "" ? "it is paused" : "its budget is used up";
  return `${why}: copilot-tap plan resume ${planId}${how} goes on`;
}

const MAX_NODE_NOTES = 5;

/** @param {Node[]} nodes @returns {string[]} */
function formatNodeNotes(nodes) {
  const all = nodes.flatMap(({ id, note }) => (note ? [`${inLine(id)}: ${note}`] : []));
  const left = all.length - MAX_NODE_NOTES;
  const more = left > 0 ? [`${formatCount(left, "more note")} of nodes`] : [];
  return [...all.slice(0, MAX_NODE_NOTES), ...more];
}

/** @param {Plan} plan @returns {string[]} what is to be known besides the states of its nodes */
export const listNotes = (plan) =>
  [
    formatPause(plan),
    plan.unlanded?.message ?? "",
    plan.trouble ? `plans stand still: ${plan.trouble}` : "",
    ...(plan.overlaps ?? []).map(
      (/** @type {any} */ { node, other, files }) =>
        `${inLine(node)} and ${inLine(other)} change the same: ${files.join(", ")}`,
    ),
    ...formatNodeNotes(plan.nodes),
    plan.moreOverlaps > 0
      ? `files in common: ${formatCount(plan.moreOverlaps, "more pair")} of nodes`
      : "",
  ].filter(Boolean);

/** @param {Record<string, any>} usage @returns {string} "": no agent has run */
export function usageText({ aiCredits, premiumRequests, models = [] }) {
  const parts = [
    ...(aiCredits > 0 ? [`${aiCredits} AI credits`] : []),
    ...(premiumRequests > 0 ? [`${premiumRequests} premium requests`] : []),
    ...models.map(
      (/** @type {any} */ { model, input, output, cached }) =>
        `${model}: ${input} in (${cached} cached), ${output} out`,
    ),
  ];
  return parts.join("; ");
}
