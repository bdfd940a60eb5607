// The gate of goals: what it says while evidence is missing. It can only deny.

import { shownLine } from "../../base/redact.mjs";
import { shortened } from "../../base/visible.mjs";
import { goalsOf } from "./ledger.mjs";
import { obstaclesOf } from "./tools.mjs";

/** Of a reason. */
const MOST_REASON = 2000;

/**
 * @param {import("../../registry/installation.mjs").Context} context @param {string} session
 * @returns {Promise<true | string>} a text: why not
 */
export async function judge({ services }, session) {
  const open = (await goalsOf(services, session)).filter(({ state }) => state === "open");
  const lacking = [];
  for (const goal of open) {
    const { missing } = await obstaclesOf(services, goal);
    if (missing.length === 0) continue;
    const statement = shortened(shownLine(goal.statement), 100);
    lacking.push(`the goal ${goal.id} (${statement}) lacks ${missing.join("; ")}`);
  }
  if (lacking.length === 0) return true;
  return shortened(`${lacking.join(". ")}. Call tap_verify_goal_output for details`, MOST_REASON);
}
