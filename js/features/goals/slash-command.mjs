// /tap-goal: the user's own way to goals. The model cannot type it.

import { shortenText, visible } from "../../lib/visible.mjs";
import { endGoal, listGoals, MAX_OPEN_GOALS, listOtherGoals, recordGoal } from "./ledger.mjs";
import { findObstacles } from "./tools.mjs";

/** @typedef {import("../../feature-host/installation.mjs").Context} Context */

const DROP = /^drop (g-[0-9a-f]{8})$/;
const MAX_STATEMENT = 2000;

const clipText = (/** @type {string} */ text) => shortenText(visible(text), 200);

/** @param {Context["services"]} services @param {{id: string, cwd: string}} session */
async function formatOpenGoals(services, { id, cwd }) {
  const open = (await listGoals(services, id)).filter(({ state }) => state === "open");
  const lines = [];
  for (const goal of open) {
    const { missing } = await findObstacles(services, goal);
    lines.push(`${goal.id}: ${clipText(goal.statement)}`);
    lines.push(...(missing.length > 0 ? missing.map((text) => `  lacks ${text}`) : ["  complete"]));
  }
  for (const goal of await listOtherGoals(services, id, cwd)) {
    lines.push(`${goal.id} (of another session): ${clipText(goal.statement)}`);
  }
  if (lines.length === 0) return "tap: no goal is open. /tap-goal <statement> sets one";
  return `tap: goals of this folder\n${lines.join("\n")}`;
}

/** @param {Context} context @param {{args: string, session: {id: string, cwd: string}}} typed @returns {Promise<string>} for the timeline */
export async function runGoalCommand({ services, prompts, grants }, { args, session }) {
  const statement = args.trim();
  if (statement === "") return formatOpenGoals(services, session);
  const [, dropped] = DROP.exec(statement) ?? [];
  const all = [
    ...(await listGoals(services, session.id)),
    ...(await listOtherGoals(services, session.id, session.cwd)),
  ];
  const open = all.filter(({ state }) => state === "open");
  if (dropped) {
    // The user knows the id that the timeline named; the model's evidence gave the goal another one.
    const goal = open.find(({ id, amends }) => id === dropped || amends === dropped);
    if (!goal) return `tap: no open goal ${dropped} in this folder`;
    await endGoal(services, goal, "dropped", "by the user");
    return `tap: the goal ${goal.id} is dropped: ${clipText(goal.statement)}`;
  }
  if (statement.length > MAX_STATEMENT) return `tap: expected at most ${MAX_STATEMENT} characters`;
  if (open.filter((goal) => goal.session === session.id).length >= MAX_OPEN_GOALS) {
    return `tap: ${MAX_OPEN_GOALS} goals are open; /tap-goal drop <id> ends one`;
  }
  const goal = {
    session: session.id,
    cwd: session.cwd,
    statement,
    by: /** @type {const} */ ("user"),
  };
  const id = await recordGoal(services, { ...goal, evidence: [], prohibited: [] });
  if (!grants.includes("prompt")) return `tap: the goal ${id} is set`;
  const told = await prompts
    .start(
      `The user has set the goal ${id}: ${statement}\nOpen the tool group goals with tap_tools, then name its evidence: call tap_set_goal with this statement.`,
      { session: session.id },
    )
    .then(() => "the model is told")
    .catch((error) => `the model could not be told: ${error.message}`);
  return `tap: the goal ${id} is set; ${told}. /tap-goal drop ${id} ends it`;
}
