// `copilot-tap plan land`: what waits lands, after its checks where these have not seen what would land.

import { inLine } from "../../lib/visible.mjs";
import { formatCount } from "../../views/wording.mjs";
import { EXIT, Failure, runInterruptible } from "../exit.mjs";
import { parseReference } from "./client.mjs";
import { createChangePrinter, followPlan, printFailures } from "./follow.mjs";
import { showProgress } from "../progress.mjs";

/** @typedef {import("../commands/plan.mjs").ActionContext} ActionContext */
/** @typedef {import("./format.mjs").Plan} Plan */

/** @param {ActionContext} asked */
export async function land({ target, output, ask }) {
  const { planId } = parseReference(target, { node: "no" });
  const answer = await ask({ do: "land", planId });
  const { checks } = answer;
  if (!checks) {
    return output.result(answer, () => output.print(`plan ${planId} has landed: ${answer.commit}`));
  }
  output.item({ planId, checks }, () => {
    const whose =
      checks.length > 3 ? formatCount(checks.length, "node") : checks.map(inLine).join(", ");
    output.print(`its checks have not seen what would land: they run again (${whose})`);
  });
  const plan = await runInterruptible((ending) =>
    followChecks({ output, ask }, { planId, checks }, ending),
  );
  if (plan === undefined) {
    throw new Failure(`the checks of plan ${planId} go on, and it lands after them`, {
      advice: `copilot-tap plan show ${planId} shows it, copilot-tap plan cancel ${planId} ends it`,
      code: "INTERRUPTED",
      exit: EXIT.interrupted,
    });
  }
  return printEnd({ output, ask }, plan, checks);
}

/**
 * Until none of them is on its way. A terminal says how far that is, and what became of each at the end.
 * @param {Pick<ActionContext, "output" | "ask">} asked @param {{planId: string, checks: string[]}} what
 * @param {AbortSignal} ending
 */
async function followChecks({ output, ask }, { planId, checks }, ending) {
  const teller = createChangePrinter(output);
  const live = output.json || !process.stderr.isTTY;
  let far = {};
  /** @param {Plan} plan */
  const printChanges = (plan) => teller({ ...plan, nodes: ownNodes(plan, checks) });
  /** @param {Plan} plan */
  const see = (plan) => {
    far = { done: checks.length - listPendingChecks(plan, checks).length, total: checks.length };
    if (live) printChanges(plan);
  };
  const until = (/** @type {Plan} */ plan) => listPendingChecks(plan, checks).length === 0;
  const following = followPlan(ask, planId, see, ending, { until });
  const plan = await showProgress("checks", async () => far, following);
  if (plan && !live) printChanges(plan);
  return plan;
}

/** @param {Plan} plan @param {string[]} checks */
const ownNodes = ({ nodes }, checks) => nodes.filter(({ id }) => checks.includes(id));

/** @param {Plan} plan @param {string[]} checks */
const listPendingChecks = ({ landing = [] }, checks) =>
  checks.filter((/** @type {string} */ id) => landing.includes(id));

/**
 * @param {Pick<ActionContext, "output" | "ask">} asked @param {Plan} plan @param {string[]} checks
 * @returns {Promise<number>} the exit code
 */
async function printEnd({ output, ask }, plan, checks) {
  const { planId, unlanded, error } = plan;
  const left = (plan.leftToLand ?? []).filter((/** @type {string} */ id) => checks.includes(id));
  const isOnTheWay = listPendingChecks(plan, checks).length > 0;
  const landed = left.length === 0 && !isOnTheWay;
  await printFailures(ask, output, { ...plan, nodes: ownNodes(plan, checks) });
  output.item(
    { planId, status: plan.status, landed, leftToLand: left, ...(error && { error }) },
    () => {
      if (landed) return output.print(`plan ${planId} has landed on ${plan.targetBranch}`);
      if (isOnTheWay)
        return output.print(`plan ${planId} is paused: copilot-tap plan resume ${planId}`);
      output.print(`not landed: ${left.map(inLine).join(", ")}`);
      output.print(unlanded?.message ?? `copilot-tap plan land ${planId} runs the checks again`);
    },
  );
  return landed ? EXIT.done : EXIT.notDone;
}
