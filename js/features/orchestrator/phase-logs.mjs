// The logs of a node's phases: what its programs and agents print, and what tap itself has done.

import { suggestion } from "../../base/suggestion.mjs";
import { shownLines } from "../../base/redact.mjs";
import { visible } from "../../base/visible.mjs";
import { PHASE_NAMES } from "./parameters.mjs";
import { PlanError } from "./plan-error.mjs";

const MOST_READ = 256 * 1024;
/** So much is read before a tail: a secret that begins there may end in the tail, such as a key of many lines. */
const LEAD = 16_384;

/** @typedef {import("./plans.mjs").Plans} Plans */

/** @param {{files: number, insertions: number, deletions: number}} changes */
const changesText = ({ files, insertions, deletions }) =>
  `${files} ${files === 1 ? "file" : "files"}, +${insertions} -${deletions}`;

/** What tap has done in a phase that runs no program. @param {Record<string, any>} detail of its end @returns {string} "": it ran one */
export function doneText({ baseCommit, worktreePath, commit, changes, landed, unlanded, lacking }) {
  if (changes?.files === 0) return landed ? "nothing was to be landed" : "nothing was changed";
  if (landed) return `landed as ${landed}: ${changesText(changes)}`;
  if (unlanded) return unlanded.message;
  if (changes) return `commit ${commit}: ${changesText(changes)}`;
  if (!baseCommit) return commit ? `commit ${commit}` : "";
  const left = lacking?.length > 0 ? `\nnot brought along: ${lacking.join(", ")}` : "";
  return `begins with ${baseCommit} in ${worktreePath}${left}`;
}

/** A line of an agent. @param {{kind: string, text: string, tool?: string}} event hostile */
export const eventText = ({ kind, tool = "", text }) =>
  kind === "tool" ? `${tool}: ${text}` : kind === "refused" ? `refused: ${text}` : text;

/** @param {string} phase as somebody has named it */
export function requirePhase(phase) {
  if (PHASE_NAMES.includes(phase)) return;
  const text = `there is no phase "${visible(phase).slice(0, 64)}": ${suggestion(phase, PHASE_NAMES)}`;
  throw new PlanError("UNKNOWN_PHASE", text);
}

/** @param {Record<string, any>} node with attempts @param {number} [attempt] as somebody has named it */
export function requireAttempt({ id, attempts }, attempt) {
  if (attempt === undefined || (attempt >= 1 && attempt <= Math.max(1, attempts.length))) return;
  const there =
    attempts.length === 0
      ? "it has not begun"
      : attempts.length === 1
        ? "there is attempt 1"
        : `there are 1 to ${attempts.length}`;
  throw new PlanError("UNKNOWN_ATTEMPT", `node ${id} has no attempt ${attempt}: ${there}`);
}

/** In which attempt a phase was last carried out, at the latest in that one. @param {Record<string, any>} node @param {string} phase @param {number} attempt */
export function attemptOf(node, phase, attempt) {
  const didIt = (/** @type {any} */ one) =>
    one.attempt <= attempt &&
    one.phases.some(
      (/** @type {any} */ { phase: name, status }) => name === phase && status !== "skipped",
    );
  return node.attempts.findLast(didIt)?.attempt ?? attempt;
}

/**
 * The end of a log for the model. Secrets are removed before it is cut: the rest of one has no form of its own.
 * @param {Plans} plans @param {{plan: string, name: string, most: number}} asked most: characters
 */
export async function shownTail(plans, { plan, name, most }) {
  const log = await plans.readLog({ plan, name, most: Math.min(most + LEAD, MOST_READ) });
  const text = shownLines(log.text);
  if (text.length <= most) return { ...log, text };
  return { ...log, text: text.slice(-most), from: Math.max(log.from, log.next - most) };
}

/**
 * All that an attempt has printed, one phase below the other; of a phase that it skipped, what an earlier one has.
 * @param {Plans} plans @param {string} planId @param {Record<string, any>} node with attempts
 * @param {{attempt?: number, most: number, show?: (text: string) => string}} asked most: characters, of the end; show:
 *   before it is cut
 * @returns {Promise<{attempt: number, phases: string[], text: string}>} hostile text, unless it was shown
 */
export async function wholeLog(plans, planId, node, asked) {
  const { attempt = node.attempt ?? 1, most, show = (all) => all } = asked;
  const phases = [];
  const parts = [];
  for (const { phase } of node.attempts[attempt - 1]?.phases ?? []) {
    const name = `${node.id}-${attemptOf(node, phase, attempt)}-${phase}`;
    const { text } = await plans.readLog({
      plan: planId,
      name,
      most: Math.min(most + LEAD, MOST_READ),
    });
    if (text === "") continue;
    phases.push(phase);
    parts.push(`== ${phase}\n${text}${text.endsWith("\n") ? "" : "\n"}`);
  }
  return { attempt, phases, text: show(parts.join("")).slice(-most) };
}
