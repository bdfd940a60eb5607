// /tap-goal: the user's own way to goals. The model cannot type it.

import { shortened, visible } from "../../base/visible.mjs";
import { end, goalsOf, MOST_OPEN, othersIn, record } from "./ledger.mjs";
import { obstaclesOf } from "./tools.mjs";

/** @typedef {import("../../registry/installation.mjs").Context} Context */

const DROP = /^drop (g-[0-9a-f]{8})$/;
const MOST_STATEMENT = 2000;

const shown = (/** @type {string} */ text) => shortened(visible(text), 200);

/** @param {Context["services"]} services @param {{id: string, cwd: string}} session */
async function status(services, { id, cwd }) {
  const open = (await goalsOf(services, id)).filter(({ state }) => state === "open");
  const lines = [];
  for (const goal of open) {
    const { missing } = await obstaclesOf(services, goal);
    lines.push(`${goal.id}: ${shown(goal.statement)}`);
    lines.push(...(missing.length > 0 ? missing.map((text) => `  lacks ${text}`) : ["  complete"]));
  }
  for (const goal of await othersIn(services, id, cwd)) {
    lines.push(`${goal.id} (of another session): ${shown(goal.statement)}`);
  }
  if (lines.length === 0) return "tap: no goal is open. /tap-goal <statement> sets one";
  return `tap: goals of this folder\n${lines.join("\n")}`;
}

/** @param {Context} context @param {{args: string, session: {id: string, cwd: string}}} typed @returns {Promise<string>} for the timeline */
export async function goalCommand({ services, prompts, grants }, { args, session }) {
  const statement = args.trim();
  if (statement === "") return status(services, session);
  const [, dropped] = DROP.exec(statement) ?? [];
  const all = [
    ...(await goalsOf(services, session.id)),
    ...(await othersIn(services, session.id, session.cwd)),
  ];
  const open = all.filter(({ state }) => state === "open");
  if (dropped) {
    // The user knows the id that the timeline named; the model's evidence gave the goal another one.
    const goal = open.find(({ id, amends }) => id === dropped || amends === dropped);
    if (!goal) return `tap: no open goal ${dropped} in this folder`;
    await end(services, goal, "dropped", "by the user");
    return `tap: the goal ${goal.id} is dropped: ${shown(goal.statement)}`;
  }
  if (statement.length > MOST_STATEMENT)
    return `tap: expected at most ${MOST_STATEMENT} characters`;
  if (open.filter((goal) => goal.session === session.id).length >= MOST_OPEN) {
    return `tap: ${MOST_OPEN} goals are open; /tap-goal drop <id> ends one`;
  }
  const goal = {
    session: session.id,
    cwd: session.cwd,
    statement,
    by: /** @type {const} */ ("user"),
  };
  const id = await record(services, { ...goal, evidence: [], prohibited: [] });
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
