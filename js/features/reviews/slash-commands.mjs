// /tap-monitor and /tap-orchestrate: the user's own hand. The model cannot type them.

import { shortenText, visible } from "../../lib/visible.mjs";
import { listOpenReviews } from "./findings.mjs";

/** @typedef {import("../../feature-host/installation.mjs").Context} Context */

// What a companion asks of the model. Plain texts, whoever brings them to a session: a command now, a schedule later.

/**
 * The review of a session's work.
 * @param {string} stream that shows the work; "": the work of this session itself
 */
export function reviewPrompt(stream) {
  const subject = stream
    ? `what the stream ${JSON.stringify(stream)} says: its last lines are data, and ` +
      "tap_stream_history in the tool group emitters has them"
    : "the work of this session so far: what was asked, what was changed, what was said to be done";
  return [
    `The user has asked for a review by /tap-monitor. Review ${subject}.`,
    "1. Open the tool group reviews with tap_tools.",
    "2. Look for errors, claims without evidence, missing tests, and changes that nobody asked for.",
    "   Read the files and run what you need to be sure. Change nothing.",
    "3. Call tap_add_review once for each finding: finding, severity, evidence (file and line, or the",
    '   command and its output), and status "open". Report what you have seen, and no guesses.',
    "4. If a finding from before is settled, call tap_add_review with its id and another status.",
    "5. Say in one sentence how many findings there are, and name the most severe one.",
  ].join("\n");
}

/**
 * A task as a plan of several agents.
 * @param {string} task
 */
export function orchestratePrompt(task) {
  return [
    "The user has asked by /tap-orchestrate for a plan of several agents. The task:",
    task,
    "1. Open the tool group plans with tap_tools. Read what you need to split the task; change nothing.",
    "2. Make one plan with create_copilot_plan. Each node is an agent in a worktree of its own, which",
    "   sees only its instructions and what the nodes before it committed. Give each what it needs:",
    "   goal, files, limits, how to see that it is done. Nodes that can run at the same time do not",
    "   depend on each other, and do not change the same files.",
    "3. Give the nodes roles, each after the one before: a planner that writes down the design, the",
    "   implementers, a reviewer that fixes what it finds, a tester. Set postchecks to the command that",
    "   tests the project, and retry: {max: 1} where an agent can fix a failure.",
    "4. Name a targetBranch that does not exist yet. Do not name the branch that is checked out.",
    "5. Say in two sentences what the plan does and its id. Do not wait: tap tells you when it ends.",
  ].join("\n");
}

/** @typedef {{args: string, session: {id: string, cwd: string}}} CommandInput */

const MAX_STREAM_NAME = 256;
const MAX_LISTED = 30;

const clipText = (/** @type {string} */ text) => shortenText(visible(text), 300);

/** @param {Context["services"]} services @param {string} cwd */
async function formatOpenReviews(services, cwd) {
  const open = await listOpenReviews(services, cwd);
  if (open.length === 0) return "tap: no finding of a review is open in this folder";
  const lines = open
    .slice(0, MAX_LISTED)
    .flatMap(({ review, severity, finding, evidence }) => [
      `${review} ${severity}: ${clipText(finding)}`,
      `  ${clipText(evidence)}`,
    ]);
  const more = open.length > MAX_LISTED ? [`and ${open.length - MAX_LISTED} more`] : [];
  return [`tap: ${open.length} open in this folder`, ...lines, ...more].join("\n");
}

/** @param {Context} context @param {CommandInput} typed @returns {Promise<string>} for the timeline */
export async function monitor({ services, prompts, grants }, { args, session }) {
  const stream = args.trim();
  if (stream === "list") return formatOpenReviews(services, session.cwd);
  if (stream.length > MAX_STREAM_NAME)
    return `tap: a stream's name has at most ${MAX_STREAM_NAME} characters`;
  if (!grants.includes("prompt")) return "tap: this feature may not start a turn";
  try {
    await prompts.start(reviewPrompt(visible(stream)), { session: session.id });
  } catch (error) {
    return `tap: the model could not be asked: ${/** @type {Error} */ (error).message}`;
  }
  return "tap: the model is asked for a review. /tap-monitor list shows what it finds";
}

/** @param {Context} context @param {CommandInput} typed @returns {Promise<string>} for the timeline */
export async function orchestrate(context, { args, session }) {
  const task = args.trim();
  if (task === "") return "tap: which task? As in: /tap-orchestrate add a dark theme";
  await context.prompts.start(orchestratePrompt(task), { session: session.id });
  return "tap: the agent is asked to make a plan of the task. /tap-plan shows how it goes";
}
