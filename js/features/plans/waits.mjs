// What waits for the user in plans: failed nodes, pauses, results that have not landed. And what he decides there.

import { inLine, shortenText, visible, visibleLines } from "../../lib/visible.mjs";
import { PlanError } from "./errors.mjs";
import { landPlan } from "./landing.mjs";
import { outcomeText } from "./notifications.mjs";
import { callTool } from "./tools.mjs";

/** @typedef {import("./plan-manager.mjs").PlanManager} PlanManager */
/** @typedef {import("./plan-manager.mjs").Asker} Asker */
/** @typedef {{planId: string, nodeId?: string, act: string, text?: string}} Decision */

const DAY_MS = 86_400_000;
/** An older failure is history. */
const RECENT_MS = 7 * DAY_MS;
const MAX_FAILED = 10;
const MAX_TEXT_LENGTH = 4096;
const FAILED_STATUSES = ["failed", "partial"];
const ENDED_STATUSES = [...FAILED_STATUSES, "succeeded", "canceled"];

const CANCEL = {
  id: "cancel-plan",
  label: "Cancel the plan",
  key: "c",
  confirm: "What has not ended is stopped. Work that is committed stays.",
};
const RETRY = [
  { id: "retry", label: "Retry from the failed phase", key: "r", primary: true },
  { id: "retry-hint", label: "Retry with a hint", key: "h", asks: "What should the agent know?" },
  {
    id: "retry-start",
    label: "Retry from the start",
    key: "s",
    confirm: "Its worktree is made again. Its former work stays in refs/tap/kept.",
  },
];

/** How many nodes cannot start before this one. @param {{id: string, dependencies: string[]}[]} nodes @param {string} id */
function countWaiting(nodes, id) {
  const waiting = new Set([id]);
  for (let before = 0; before !== waiting.size;) {
    before = waiting.size;
    for (const node of nodes) {
      if (node.dependencies.some((needed) => waiting.has(needed))) waiting.add(node.id);
    }
  }
  return waiting.size - 1;
}

/** @param {PlanManager} plans @param {Record<string, any>} plan */
function listFailedNodes(plans, { planId, name, endedAt }) {
  const { nodes } = plans.view({ view: "graph", planId });
  const failed = nodes.filter(
    (/** @type {any} */ { status, replacedBy }) => status === "failed" && !replacedBy,
  );
  return failed.slice(0, MAX_FAILED).map((/** @type {any} */ { id: nodeId, error = "" }) => {
    const { attempts } = plans.view({ view: "node", planId, nodeId });
    const phase = attempts
      .at(-1)
      ?.phases.findLast((/** @type {any} */ { status }) => status === "failed");
    const count = countWaiting(nodes, nodeId);
    const others =
      count === 1 ? "; 1 node waits for it" : count > 1 ? `; ${count} nodes wait for it` : "";
    const lines = visibleLines(phase?.detail?.lastLines ?? "");
    return {
      ...{ key: `${planId}/${nodeId}/${attempts.length}`, kind: "node-failed" },
      ...{ class: count > 0 ? "blocks" : "decides", at: phase?.endedAt ?? endedAt ?? 0 },
      title: `${shortenText(visible(String(error)), 200)}${others}`,
      text: lines.slice(-MAX_TEXT_LENGTH),
      acts: endedAt === undefined ? [...RETRY, CANCEL] : RETRY,
      terminal: `copilot-tap plan retry ${planId}/${inLine(nodeId)}`,
      who: { label: `${visible(name)} / ${visible(nodeId)}`, plan: planId, node: nodeId },
    };
  });
}

/** @param {Record<string, any>} plan */
function describePlan(plan) {
  const { planId, status, spent = [], leftToLand = [], endedAt, unlanded, changedAt } = plan;
  const shared = {
    ...{ class: "decides", at: endedAt ?? changedAt },
    who: { label: visible(plan.name), plan: planId },
  };
  if (status === "paused") {
    const isBudget = spent.length > 0;
    const asks = isBudget ? { asks: "How many AI credits may it use in all?" } : {};
    const resume = { id: "resume", label: "Go on", key: "r", primary: true, ...asks };
    return [
      {
        ...{ key: `${planId}/paused`, kind: isBudget ? "budget" : "paused", ...shared },
        ...{ title: isBudget ? "Its budget is spent" : "It is paused", text: "" },
        acts: [resume, CANCEL],
        terminal: `copilot-tap plan resume ${planId}${isBudget ? " --budget <credits>" : ""}`,
      },
    ];
  }
  if (endedAt === undefined || leftToLand.length === 0) return [];
  const branch = visible(plan.targetBranch);
  const land = { id: "land", label: "Land it", key: "l", primary: true };
  const confirm = `${branch} moves to the result of plan ${planId}. If ${branch} has moved, the checks run again before.`;
  return [
    {
      ...{ key: `${planId}/land`, kind: "land", ...shared },
      title: `A tested result waits to land on ${branch}`,
      text: unlanded ? visibleLines(String(unlanded.message)) : outcomeText(plan),
      acts: [{ ...land, confirm }],
      terminal: `copilot-tap plan land ${planId}`,
    },
  ];
}

/** @param {PlanManager} plans @param {number} now @returns {Promise<object[]>} */
export async function listWaits(plans, now = Date.now()) {
  const recent = plans.list("/").filter(({ changedAt, status }) => {
    const hasEnded = ENDED_STATUSES.includes(status);
    return status !== "canceled" && (!hasEnded || now - changedAt < RECENT_MS);
  });
  const all = [];
  for (const { planId: id, changedAt } of recent) {
    const planId = await plans.require(id);
    const plan = { ...plans.view({ view: "plan", planId }), changedAt };
    if (plan.status === "canceled") continue;
    all.push(...describePlan(plan), ...listFailedNodes(plans, plan));
  }
  return all;
}

/** @param {PlanManager} plans @param {Decision} decision @param {Asker} asker the user */
export async function decide(plans, { planId, nodeId, act, text }, asker) {
  const retry = (/** @type {object} */ more) =>
    callTool(plans, "retry_copilot_node", { planId, nodeId, ...more }, asker);
  switch (act) {
    case "retry":
      return retry({ from: "failed-phase" });
    case "retry-hint":
      return retry({ from: "failed-phase", instructions: text });
    case "retry-start":
      return retry({ from: "start" });
    case "cancel-plan":
      return callTool(plans, "cancel_copilot_plan", { planId }, asker);
    case "land":
      return landPlan(plans, planId);
    case "resume": {
      const budget = text === undefined ? {} : { budget: { aiCredits: Number(text) } };
      return callTool(plans, "resume_copilot_plan", { planId, ...budget }, asker);
    }
  }
  throw new PlanError("INVALID", `act: there is no ${visible(act)}`);
}
