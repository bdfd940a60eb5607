// /tap-plan: the user's own way to plans. `copilot-tap plan` asks it with JSON, and gets JSON.

import { messageOf } from "../../base/errors.mjs";
import { inLine, visible } from "../../base/visible.mjs";
import { asked } from "./asked.mjs";
import { land } from "./landing.mjs";
import { serve, statusOf } from "./tools.mjs";

const USAGE =
  "/tap-plan, /tap-plan show <id>, or pause, resume, cancel, retry, land or delete, and an id";
const WORDS = /** @type {Record<string, string>} */ ({
  pause: "pause_copilot_plan",
  resume: "resume_copilot_plan",
  cancel: "cancel_copilot_plan",
  retry: "retry_copilot_plan",
  delete: "delete_copilot_plan",
});

/** @typedef {import("./plans.mjs").Plans} Plans */
/** @typedef {import("./plans.mjs").Asker} Asker */

/** @param {{planId: string, name: string, status: string, total: number}} plan */
const planLine = ({ planId, name, status, total }) =>
  `  ${planId}  ${status}, ${total} ${total === 1 ? "node" : "nodes"}: ${visible(name ?? "")}`;

/** @param {Plans} plans @param {string} planId */
function shown(plans, planId) {
  const { name, summary, nodes, omitted } = statusOf(plans, planId);
  const lines = nodes.slice(0, 30).map((/** @type {any} */ node) => {
    const last = plans.lineOf(planId, node.id);
    const why = node.error ? `: ${node.error}` : last ? `: ${last}` : "";
    return `  ${inLine(node.id)}: ${node.status}${node.phase && node.status === "running" ? ` (${node.phase})` : ""}${why}`;
  });
  const more = nodes.length - 30 + (omitted ?? 0);
  return [
    `tap: plan ${planId} (${visible(name)}): ${summary}`,
    ...lines,
    ...(more > 0 ? [`  … and ${more} more`] : []),
  ].join("\n");
}

/** @param {Plans} plans @param {string} args @param {Asker} session */
async function typed(plans, args, session) {
  const [word = "list", id = ""] = args.trim().split(/\s+/).filter(Boolean);
  if (word === "list") {
    const all = plans.list(session.cwd).slice(0, 20).map(planLine);
    return all.length > 0 ? `tap: plans\n${all.join("\n")}` : "tap: there is no plan";
  }
  const planId = await plans.require(id);
  if (word === "show") return shown(plans, planId);
  if (word === "land") {
    const { commit, checks = [] } = await land(plans, planId);
    return commit
      ? `tap: plan ${planId} has landed: ${commit.slice(0, 10)}`
      : `tap: the checks of ${checks.map(inLine).join(", ")} run on what would land; then it lands. /tap-plan show ${planId} shows it`;
  }
  if (!WORDS[word]) return `tap: expected ${USAGE}`;
  const done = /** @type {any} */ (await serve(plans, WORDS[word], { planId }, session));
  if (word !== "delete") return shown(plans, planId);
  const { stay, next = [] } = done;
  return [`tap: plan ${planId} is deleted`, ...stay.map(visible)].concat(next).join("\n");
}

/**
 * @param {Plans} plans @param {string} args @param {Asker} session @param {AbortSignal} [left] who has asked is gone
 * @returns {Promise<string | object>} an object answers JSON
 */
export async function run(plans, args, session, left) {
  if (!args.trimStart().startsWith("{")) {
    return typed(plans, args, session).catch((error) => `tap: ${messageOf(error)}`);
  }
  try {
    return { answer: await asked(plans, args, session, left) };
  } catch (error) {
    const { code, detail } = /** @type {any} */ (error);
    return { error: { code, message: messageOf(error), ...detail } };
  }
}
