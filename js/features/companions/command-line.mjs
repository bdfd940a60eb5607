// /tap-monitor and /tap-orchestrate: the user's own hand. The model cannot type them.

import { shortened, visible } from "../../base/visible.mjs";
import { orchestratePrompt, reviewPrompt } from "./prompts.mjs";
import { openReviews } from "./reviews.mjs";

/** @typedef {import("../../registry/installation.mjs").Context} Context */
/** @typedef {{args: string, session: {id: string, cwd: string}}} Typed */

const MOST_STREAM = 256;
const MOST_SHOWN = 30;

const shown = (/** @type {string} */ text) => shortened(visible(text), 300);

/** @param {Context["services"]} services @param {string} cwd */
async function list(services, cwd) {
  const open = await openReviews(services, cwd);
  if (open.length === 0) return "tap: no finding of a review is open in this folder";
  const lines = open
    .slice(0, MOST_SHOWN)
    .flatMap(({ review, severity, finding, evidence }) => [
      `${review} ${severity}: ${shown(finding)}`,
      `  ${shown(evidence)}`,
    ]);
  const more = open.length > MOST_SHOWN ? [`and ${open.length - MOST_SHOWN} more`] : [];
  return [`tap: ${open.length} open in this folder`, ...lines, ...more].join("\n");
}

/** @param {Context} context @param {Typed} typed @returns {Promise<string>} for the timeline */
export async function monitor({ services, prompts, grants }, { args, session }) {
  const stream = args.trim();
  if (stream === "list") return list(services, session.cwd);
  if (stream.length > MOST_STREAM)
    return `tap: a stream's name has at most ${MOST_STREAM} characters`;
  if (!grants.includes("prompt")) return "tap: this feature may not start a turn";
  try {
    await prompts.start(reviewPrompt(visible(stream)), { session: session.id });
  } catch (error) {
    return `tap: the model could not be asked: ${/** @type {Error} */ (error).message}`;
  }
  return "tap: the model is asked for a review. /tap-monitor list shows what it finds";
}

/** @param {Context} context @param {Typed} typed @returns {Promise<string>} for the timeline */
export async function orchestrate(context, { args, session }) {
  const task = args.trim();
  if (task === "") return "tap: which task? As in: /tap-orchestrate add a dark theme";
  await context.prompts.start(orchestratePrompt(task), { session: session.id });
  return "tap: the agent is asked to make a plan of the task. /tap-plan shows how it goes";
}
