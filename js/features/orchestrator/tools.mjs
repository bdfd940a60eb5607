// What the tools answer: JSON alone, within 32 KB.

import { ToolError } from "../../../sdk/node/errors.mjs";
import { shownLines } from "../../base/redact.mjs";
import { visible } from "../../base/visible.mjs";
import { fitted } from "./fitted.mjs";
import { outcomeText } from "./news.mjs";
import { attemptsOf, diffSoFar, nextOf, nodeView, picked } from "./node-view.mjs";
import { bounded, pageOfAllNodes, pageOfGroups, pageOfNamed, pageOfNodes } from "./pages.mjs";
import { pageOfPlans } from "./pages.mjs";
import { PlanError, problemText, unlessGone } from "./plan-error.mjs";
import { unknownFields } from "./mistakes.mjs";
import { JOB_KEYS, NODE_KEYS, PLAN_KEYS } from "./parameters.mjs";
import { attemptOf, requireAttempt, requirePhase, shownTail, wholeLog } from "./phase-logs.mjs";

const MOST_WAIT_S = 60;
const MOST_DIFF = 12_000;
const MOST_LOG = 16_000;
const MOST_OVERLAPS = 8000;

/** @typedef {import("./plans.mjs").Plans} Plans */
/** @typedef {import("./plans.mjs").Asker} Asker */

/** @param {object} answer */
const text = (answer) => JSON.stringify(answer);

/** With the overlaps that have room: nodes are what is asked for, and each has its own. @param {Record<string, any>} plan */
function withSomeOverlaps({ overlaps = [], ...plan }) {
  let room = MOST_OVERLAPS;
  const some = overlaps.filter((/** @type {object} */ one) => {
    room -= Buffer.byteLength(text(one));
    return room >= 0;
  });
  const more = overlaps.length - some.length;
  return {
    ...plan,
    ...(some.length > 0 && { overlaps: some }),
    ...(more > 0 && { moreOverlaps: more }),
  };
}

/** @param {Plans} plans @param {string} planId @param {{nodes?: string[], cursor?: string}} [asked] */
export function statusOf(plans, planId, { nodes, cursor } = {}) {
  const { facts, ...plan } = plans.view({ view: "plan", planId });
  const answer = {
    ...withSomeOverlaps(plan),
    baseBranch: facts.baseBranch,
    summary: outcomeText(plan),
    ...(plans.trouble && { trouble: plans.trouble }),
  };
  if (!Array.isArray(nodes)) {
    return pageOfAllNodes(plans, answer, { planId, total: plan.total, cursor });
  }
  const viewOf = (/** @type {string} */ nodeId) =>
    brief(plans.view({ view: "node", planId, nodeId }));
  return pageOfNamed(answer, nodes, viewOf, cursor);
}

/** @param {Record<string, any>} node */
const brief = ({ id, name, group, status, phase, attempt, error }) => ({
  ...{ id, name, ...(group && { group }), status, phase, attempt, ...(error && { error }) },
});

/** @param {Plans} plans @param {{planId: string, notes: string[]}} made */
function madeAnswer(plans, { planId, notes }) {
  const { status } = plans.view({ view: "plan", planId });
  const { nodes, rest } = plans.view({ view: "nodes", planId, inOrder: true, most: 500 });
  const answer = { planId, status, ...(notes.length > 0 && { notes }) };
  const all = nodes.map((/** @type {any} */ node) => ({ id: node.id, status: node.status }));
  const next =
    status === "paused"
      ? "It is paused and starts nothing: resume_copilot_plan begins it."
      : "Continue with other work: tap tells you when the plan ends. wait_copilot_plan waits for it.";
  return bounded({ ...answer, next }, all, { rest, cursorAfter: String });
}

/** @param {{id: string, overlaps?: any[]}} node @returns {{node: string, files: string[]}[]} others that change the same */
const overlapsOf = ({ id, overlaps = [] }) =>
  overlaps.map(({ node, other, files }) => ({ node: node === id ? other : node, files }));

/** Of a conflict whose other side is known by its files only. @param {ReturnType<typeof overlapsOf>} overlaps @param {string} nodeId @param {string[]} files */
function inConflict(overlaps, nodeId, files) {
  const others = overlaps.filter((one) => one.files.some((file) => files.includes(file)));
  return others.length > 0 ? [nodeId, ...new Set(others.map(({ node }) => node))] : undefined;
}

/** @param {Plans} plans @param {string} planId @param {string} nodeId */
async function failureContext(plans, planId, nodeId) {
  const node = plans.view({ view: "node", planId, nodeId });
  const last = node.attempts.at(-1);
  const failed = last?.phases.find((/** @type {any} */ one) => one.status === "failed");
  if (!failed) {
    const why = node.error ? `: it ${node.error}` : "";
    throw new PlanError("WRONG_STATE", `node ${nodeId} has not failed: it is ${node.status}${why}`);
  }
  const { error, exitCode = null, lastLines = "", files, ...detail } = failed.detail ?? {};
  const overlaps = overlapsOf(node);
  const nodes = detail.nodes ?? (files && inConflict(overlaps, nodeId, files));
  const facts = Object.assign({}, ...last.steps);
  const diff = await plans
    .openPlan(planId)
    .then(({ git, repository }) => diffSoFar(git, repository, node, { mostBytes: MOST_DIFF }))
    .catch(unlessGone);
  return {
    ...{ nodeId, phase: failed.phase, error, exitCode, lastLines, files, nodes },
    ...{ diff: shownLines(diff?.text ?? ""), dependencies: node.dependencies },
    ...(overlaps.length > 0 && { overlaps }),
    worktreePath: facts.worktree?.path,
    next: nextOf({ phase: failed.phase, code: error?.code }),
  };
}

/** @param {Plans} plans @param {string} planId @param {string} nodeId @param {{phase?: string, attempt?: number}} [asked] without a phase: of all */
async function logsOf(plans, planId, nodeId, { phase, attempt } = {}) {
  const node = plans.view({ view: "node", planId, nodeId });
  requireAttempt(node, attempt);
  if (phase === undefined) {
    const asked = { attempt, most: MOST_LOG, show: shownLines };
    return { nodeId, phase: node.phase, ...(await wholeLog(plans, planId, node, asked)) };
  }
  requirePhase(phase);
  const number = attempt ?? attemptOf(node, phase, node.attempt ?? 1);
  const name = `${node.id}-${number}-${phase}`;
  const log = await shownTail(plans, { plan: planId, name, most: MOST_LOG });
  return { nodeId, phase, attempt: number, ...log };
}

/** @param {Plans} plans @param {string} planId @param {Record<string, any>} asked @param {AbortSignal} [signal] */
async function wait(plans, planId, { until = "end", timeout = MOST_WAIT_S }, signal) {
  const end = performance.now() + Math.min(Math.max(timeout, 0), MOST_WAIT_S) * 1000;
  const look = () => {
    const { endedAt, status, counts } = plans.view({ view: "plan", planId });
    return { endedAt, state: text({ status, counts }) };
  };
  const first = look().state;
  for (;;) {
    const { endedAt, state } = look();
    const left = end - performance.now();
    if (endedAt || left <= 0 || signal?.aborted || (until === "change" && state !== first)) {
      return statusOf(plans, planId);
    }
    await plans.waiting.change(left, signal);
  }
}

/** @param {Plans} plans @param {string} planId @param {{from?: string, instructions?: string}} how */
async function retryAll(plans, planId, { from, instructions }) {
  const { nodes } = plans.view({ view: "graph", planId });
  const retried = [];
  const detail = instructions ? { instructions } : undefined;
  for (const { id } of nodes) {
    const { status } = plans.view({ view: "node", planId, nodeId: id });
    if (status !== "failed" && status !== "canceled") continue;
    // One that waits for another follows with that one.
    const done = await plans.ask({ input: "retry", planId, nodeId: id, from, detail }).then(
      () => true,
      () => false,
    );
    if (done) retried.push(id);
  }
  if (retried.length === 0)
    throw new PlanError("WRONG_STATE", "no node of the plan failed or was canceled");
  return { planId, retried, status: plans.view({ view: "plan", planId }).status };
}

/** @param {Plans} plans @param {string} planId @param {string} group */
async function cancelGroup(plans, planId, group) {
  groupOf(plans, planId, group);
  const { nodes } = plans.view({ view: "nodes", planId, group, most: 10_000 });
  /** @type {string[]} */
  const canceled = [];
  for (const { id, status } of nodes) {
    if (["succeeded", "failed", "blocked", "canceled"].includes(status)) continue;
    await plans.ask({ input: "cancel", planId, nodeId: id }).then(
      () => canceled.push(id),
      () => {},
    );
  }
  return { planId, group, canceled };
}

/** @param {Plans} plans @param {string} planId @param {string} group */
function groupOf(plans, planId, group) {
  const { groups } = plans.view({ view: "groups", planId });
  const found = groups.find((/** @type {any} */ one) => one.group === group);
  if (found) return found;
  const names = groups.map((/** @type {any} */ one) => one.group).join(", ");
  throw new PlanError(
    "UNKNOWN_GROUP",
    `the plan has no group "${visible(group)}". There are: ${names || "none"}`,
  );
}

const NO_WORK = { path: "work", code: "INVALID_PLAN", message: "is missing: what the job does" };

/** The node is the arguments themselves. @template T @param {Promise<T>} made @returns {Promise<T>} */
const withOwnPaths = (made) =>
  made.catch((error) => {
    for (const problem of error.detail?.problems ?? []) {
      problem.path = problem.path.replace(/^nodes\[0\]\.?/, "");
      delete problem.node;
    }
    throw error;
  });

/**
 * By tool, what it does. `planId` is there already where the tool has one.
 * @type {Record<string, (plans: Plans, args: any, asker: Asker, signal?: AbortSignal) => unknown>}
 */
export const HANDLERS = {
  create_copilot_plan: async (plans, args, asker) =>
    madeAnswer(plans, await plans.create(args, asker)),
  create_copilot_job: async (plans, args, asker) => {
    const found = unknownFields(args, JOB_KEYS);
    if (args.work === undefined) found.push(NO_WORK);
    const known = picked(args, JOB_KEYS);
    const node = { ...picked(known, NODE_KEYS), id: args.id ?? "job" };
    const plan = { ...picked(known, PLAN_KEYS), nodes: [node] };
    return madeAnswer(plans, await withOwnPaths(plans.create(plan, asker, { found })));
  },
  get_copilot_plan_status: (plans, { planId, nodes, cursor }) =>
    statusOf(plans, planId, { nodes, cursor }),
  list_copilot_plans: (plans, { status, cursor }, { cwd }) => {
    const all = plans.list(cwd).filter((one) => status === undefined || one.status === status);
    return pageOfPlans(all, cwd, cursor);
  },
  wait_copilot_plan: (plans, args, _asker, signal) => wait(plans, args.planId, args, signal),
  pause_copilot_plan: async (plans, { planId }) => {
    await plans.ask({ input: "pause", planId, reason: "asked" });
    return statusOf(plans, planId);
  },
  resume_copilot_plan: async (plans, { planId, budget }, asker) => {
    const plan = plans.view({ view: "plan", planId });
    if (budget) await plans.making.requireBudget(plan, budget, asker);
    await plans.ask({ input: "resume", planId, budget });
    return statusOf(plans, planId);
  },
  cancel_copilot_plan: async (plans, { planId }) => {
    await plans.ask({ input: "cancel", planId });
    return statusOf(plans, planId);
  },
  delete_copilot_plan: async (plans, { planId }) => ({
    planId,
    deleted: true,
    ...(await plans.worktrees.remove(planId)),
  }),
  retry_copilot_plan: (plans, { planId, ...how }) => retryAll(plans, planId, how),
  create_copilot_node: async (plans, { planId, ...node }, asker) => {
    await withOwnPaths(plans.add(planId, [node], asker));
    return nodeView(plans, planId, node.id);
  },
  add_copilot_nodes: async (plans, { planId, nodes, ...rest }, asker) => {
    if (!Array.isArray(nodes))
      throw new PlanError("INVALID_PLAN", "`nodes` is not a list of nodes");
    await plans.add(planId, nodes, asker, unknownFields(rest, ["planId", "nodes"]));
    return statusOf(plans, planId);
  },
  list_copilot_nodes: (plans, { planId, ...asked }) => pageOfNodes(plans, planId, asked),
  get_copilot_node: (plans, { planId, nodeId }) => nodeView(plans, planId, nodeId),
  get_copilot_node_details: (plans, { planId, nodeId }) => nodeView(plans, planId, nodeId),
  get_copilot_node_logs: (plans, { planId, nodeId, phase, attempt }) =>
    logsOf(plans, planId, nodeId, { phase, attempt }),
  get_copilot_node_attempts: (plans, { planId, nodeId }) => ({
    attempts: attemptsOf(plans, planId, plans.view({ view: "node", planId, nodeId })),
  }),
  get_copilot_node_failure_context: (plans, { planId, nodeId }) =>
    failureContext(plans, planId, nodeId),
  retry_copilot_node: async (plans, args, asker) => {
    const { planId, nodeId, from = "failed-phase", instructions } = args;
    if (instructions) await plans.requireOwn(planId, asker);
    const detail = instructions ? { instructions } : undefined;
    await plans.ask({ input: "retry", planId, nodeId, from, detail });
    return nodeView(plans, planId, nodeId);
  },
  get_copilot_group_status: (plans, { planId, group }) => groupOf(plans, planId, group),
  list_copilot_groups: (plans, { planId, cursor }) => pageOfGroups(plans, planId, cursor),
  cancel_copilot_group: (plans, { planId, group }) => cancelGroup(plans, planId, group),
};

/** Those whose arguments no schema has checked. */
const NEED_PLAN = ["create_copilot_node", "add_copilot_nodes"];
const NOT_FOUND = ["UNKNOWN_PLAN", "UNKNOWN_NODE", "UNKNOWN_GROUP"];

/** What the model reads: everything that is wrong, each with its place. @param {any} error @returns {unknown} */
function failureOf(error) {
  const isOwn = (/** @type {any} */ one) => one instanceof PlanError || one?.name === "GitError";
  const why = [error, error.cause].find(isOwn);
  if (typeof why?.code !== "string") return error;
  const { code, detail = {}, message } = why;
  const { problems = [], more = 0 } = detail;
  const lines = problems.map(problemText);
  if (more > 0) lines.push(`and ${more} more`);
  const all = [`${code}: ${message}`, ...lines].join("\n");
  return new ToolError(NOT_FOUND.includes(code) ? "NOT_FOUND" : "INVALID_ARGUMENTS", all);
}

/** @param {Plans} plans @param {string} name @param {any} args @param {Asker} asker @param {AbortSignal} [signal] */
export async function serve(plans, name, args, asker, signal) {
  if (args.planId === undefined && NEED_PLAN.includes(name)) {
    throw new PlanError("INVALID_PLAN", "`planId` is missing; list_copilot_plans has ids");
  }
  const given =
    args.planId === undefined ? args : { ...args, planId: await plans.require(args.planId) };
  return HANDLERS[name](plans, given, asker, signal);
}

/** For the model. @param {Plans} plans @param {string} name @param {any} args @param {Asker} asker @param {AbortSignal} [signal] */
export async function answer(plans, name, args, asker, signal) {
  try {
    return fitted(await serve(plans, name, args, asker, signal));
  } catch (error) {
    throw failureOf(error);
  }
}
