// What the tools answer: JSON alone, within 32 KB.

import { ToolError } from "../../../sdk/node/errors.mjs";
import { redactLines } from "../../lib/redact.mjs";
import { visible } from "../../lib/visible.mjs";
import {
  truncateResult,
  listAttempts,
  listRefusals,
  diffSoFar,
  formatRetryAdvice,
  viewNode,
  pick,
  fillPage,
  pageAllNodes,
  pageGroups,
  pageNamedNodes,
  pageNodes,
  pagePlans,
  findAttempt,
  requireAttempt,
  requirePhase,
  readTail,
  readWholeLog,
} from "./views.mjs";
import { outcomeText } from "./notifications.mjs";
import { PlanError, problemText, ignoreMissingRepository } from "./errors.mjs";
import { findUnknownFields } from "./validation.mjs";
import { JOB_KEYS, NODE_KEYS, PLAN_KEYS, SANDBOX_KEYS } from "./tool-schemas.mjs";

/** @typedef {import("./plan-manager.mjs").PlanManager} PlanManager */
/** @typedef {import("./plan-manager.mjs").Asker} Asker */

const MAX_WAIT_S = 60;
const MAX_DIFF = 12_000;
const MAX_LOG = 16_000;
const MAX_OVERLAP_BYTES = 8000;
/** Beside the reason of a failure. */
const MAX_REFUSALS = 5;

/** @param {object} answer */
const toJson = (answer) => JSON.stringify(answer);

/** With the overlaps that have room: nodes are what is asked for, and each has its own. @param {Record<string, any>} plan */
function limitOverlaps({ overlaps = [], ...plan }) {
  let room = MAX_OVERLAP_BYTES;
  const some = overlaps.filter((/** @type {object} */ one) => {
    room -= Buffer.byteLength(toJson(one));
    return room >= 0;
  });
  const more = overlaps.length - some.length;
  return {
    ...plan,
    ...(some.length > 0 && { overlaps: some }),
    ...(more > 0 && { moreOverlaps: more }),
  };
}

/** @param {PlanManager} plans @param {string} planId @param {{nodes?: string[], cursor?: string}} [asked] */
export function getPlanStatus(plans, planId, { nodes, cursor } = {}) {
  const { facts, ...plan } = plans.view({ view: "plan", planId });
  const answer = {
    ...limitOverlaps(plan),
    baseBranch: facts.baseBranch,
    summary: outcomeText(plan),
    ...(plans.trouble && { trouble: plans.trouble }),
  };
  if (!Array.isArray(nodes)) {
    return pageAllNodes(plans, answer, { planId, total: plan.total, cursor });
  }
  const viewBrief = (/** @type {string} */ nodeId) =>
    toBrief(plans.view({ view: "node", planId, nodeId }));
  return pageNamedNodes(answer, nodes, viewBrief, cursor);
}

/** @param {Record<string, any>} node */
const toBrief = (node) =>
  pick(node, [
    ...["id", "name", "group", "status", "phase", "attempt", "sandboxed", "refusals", "note"],
    "error",
  ]);

/** @param {PlanManager} plans @param {{planId: string, notes: string[]}} made */
function createPlanAnswer(plans, { planId, notes }) {
  const { status } = plans.view({ view: "plan", planId });
  const { nodes, rest } = plans.view({ view: "nodes", planId, inOrder: true, most: 500 });
  const answer = { planId, status, ...(notes.length > 0 && { notes }) };
  const all = nodes.map((/** @type {any} */ node) => pick(node, ["id", "status", "sandboxed"]));
  const next =
    status === "paused"
      ? "It is paused and starts nothing: resume_copilot_plan begins it."
      : "Continue with other work: tap tells you when the plan ends. wait_copilot_plan waits for it.";
  return fillPage({ ...answer, next }, all, { rest, cursorAfter: String });
}

/** @param {{id: string, overlaps?: any[]}} node @returns {{node: string, files: string[]}[]} others that change the same */
const listOverlaps = ({ id, overlaps = [] }) =>
  overlaps.map(({ node, other, files }) => ({ node: node === id ? other : node, files }));

/** Of a conflict whose other side is known by its files only. @param {ReturnType<typeof listOverlaps>} overlaps @param {string} nodeId @param {string[]} files */
function findConflictingNodes(overlaps, nodeId, files) {
  const others = overlaps.filter((one) => one.files.some((file) => files.includes(file)));
  return others.length > 0 ? [nodeId, ...new Set(others.map(({ node }) => node))] : undefined;
}

/** @param {PlanManager} plans @param {string} planId @param {string} nodeId */
async function getFailureContext(plans, planId, nodeId) {
  const node = plans.view({ view: "node", planId, nodeId });
  const last = node.attempts.at(-1);
  const failed = last?.phases.find((/** @type {any} */ one) => one.status === "failed");
  if (!failed) {
    const why = node.error ? `: it ${node.error}` : "";
    throw new PlanError("WRONG_STATE", `node ${nodeId} has not failed: it is ${node.status}${why}`);
  }
  const { error, exitCode = null, lastLines = "", files, ...detail } = failed.detail ?? {};
  const overlaps = listOverlaps(node);
  const lastRefusals = listRefusals(node).slice(-MAX_REFUSALS);
  const nodes = detail.nodes ?? (files && findConflictingNodes(overlaps, nodeId, files));
  const facts = Object.assign({}, ...last.steps);
  const diff = await plans
    .openPlan(planId)
    .then(({ git, repository }) => diffSoFar(git, repository, node, { mostBytes: MAX_DIFF }))
    .catch(ignoreMissingRepository);
  return {
    ...{ nodeId, phase: failed.phase, error, exitCode, lastLines, files, nodes },
    ...{ diff: redactLines(diff?.text ?? ""), dependencies: node.dependencies },
    ...(overlaps.length > 0 && { overlaps }),
    ...(lastRefusals.length > 0 && { lastRefusals }),
    worktreePath: facts.worktree?.path,
    next: formatRetryAdvice({ phase: failed.phase, code: error?.code }),
  };
}

/** @param {PlanManager} plans @param {string} planId @param {string} nodeId @param {{phase?: string, attempt?: number}} [asked] without a phase: of all */
async function readLogs(plans, planId, nodeId, { phase, attempt } = {}) {
  const node = plans.view({ view: "node", planId, nodeId });
  requireAttempt(node, attempt);
  if (phase === undefined) {
    const asked = { attempt, most: MAX_LOG, show: redactLines };
    return { nodeId, phase: node.phase, ...(await readWholeLog(plans, planId, node, asked)) };
  }
  requirePhase(phase);
  const number = attempt ?? findAttempt(node, phase, node.attempt ?? 1);
  const name = `${node.id}-${number}-${phase}`;
  const log = await readTail(plans, { plan: planId, name, most: MAX_LOG });
  return { nodeId, phase, attempt: number, ...log };
}

/** @param {PlanManager} plans @param {string} planId @param {Record<string, any>} asked @param {AbortSignal} [signal] */
async function waitForPlan(plans, planId, { until = "end", timeout = MAX_WAIT_S }, signal) {
  const end = performance.now() + Math.min(Math.max(timeout, 0), MAX_WAIT_S) * 1000;
  const readState = () => {
    const { endedAt, status, counts } = plans.view({ view: "plan", planId });
    return { endedAt, state: toJson({ status, counts }) };
  };
  const first = readState().state;
  for (;;) {
    const { endedAt, state } = readState();
    const left = end - performance.now();
    if (endedAt || left <= 0 || signal?.aborted || (until === "change" && state !== first)) {
      return getPlanStatus(plans, planId);
    }
    await plans.changeSignal.wait(left, signal);
  }
}

/** The loop runs between two of these. */
const RETRY_BATCH = 250;

/** @param {PlanManager} plans @param {string} planId @param {{from?: string, instructions?: string}} how */
async function retryAll(plans, planId, { from, instructions }) {
  const { nodes } = plans.view({ view: "graph", planId });
  /** @type {string[]} */
  const retried = [];
  const detail = instructions ? { instructions } : undefined;
  const canRetry = (/** @type {string} */ nodeId) => {
    const { status, error } = plans.view({ view: "node", planId, nodeId });
    const waitsForNothing = status === "blocked" && !error; // by an edit of its dependencies
    return status === "failed" || status === "canceled" || waitsForNothing;
  };
  /** @type {string[]} */
  const ids = nodes.map((/** @type {{id: string}} */ { id }) => id).filter(canRetry);
  for (let at = 0; at < ids.length; at += RETRY_BATCH) {
    const some = ids.slice(at, at + RETRY_BATCH);
    const refusals = await plans.submitRetries(
      planId,
      some.map((/** @type {string} */ nodeId) => ({
        input: "retry",
        planId,
        nodeId,
        from,
        detail,
      })),
    );
    // One that waits for another is refused, and follows with that one.
    retried.push(...some.filter((_, one) => refusals[one] === ""));
  }
  if (retried.length === 0)
    throw new PlanError("WRONG_STATE", "no node of the plan failed or was canceled");
  return { planId, retried, status: plans.view({ view: "plan", planId }).status };
}

/** @param {PlanManager} plans @param {string} planId @param {string} group */
async function cancelGroup(plans, planId, group) {
  requireGroup(plans, planId, group);
  const { nodes } = plans.view({ view: "nodes", planId, group, most: 10_000 });
  /** @type {string[]} */
  const canceled = [];
  for (const { id, status } of nodes) {
    if (["succeeded", "failed", "blocked", "canceled"].includes(status)) continue;
    await plans.submitOrThrow({ input: "cancel", planId, nodeId: id }).then(
      () => canceled.push(id),
      () => {},
    );
  }
  return { planId, group, canceled };
}

/** @param {PlanManager} plans @param {string} planId @param {string} group */
function requireGroup(plans, planId, group) {
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
const stripNodePaths = (made) =>
  made.catch((error) => {
    for (const problem of error.detail?.problems ?? []) {
      problem.path = problem.path.replace(/^nodes\[0\]\.?/, "");
      delete problem.node;
    }
    throw error;
  });

/**
 * By tool, what it does. `planId` is there already where the tool has one.
 * @type {Record<string, (plans: PlanManager, args: any, asker: Asker, signal?: AbortSignal) => unknown>}
 */
export const HANDLERS = {
  create_copilot_plan: async (plans, args, asker) =>
    createPlanAnswer(plans, await plans.create(args, asker)),
  create_copilot_job: async (plans, args, asker) => {
    const found = findUnknownFields(args, JOB_KEYS);
    if (args.work === undefined) found.push(NO_WORK);
    const known = pick(args, JOB_KEYS);
    const own = NODE_KEYS.filter((name) => !SANDBOX_KEYS.includes(name)); // those stay the plan's
    const node = { ...pick(known, own), id: args.id ?? "job" };
    const plan = { ...pick(known, PLAN_KEYS), nodes: [node] };
    return createPlanAnswer(plans, await stripNodePaths(plans.create(plan, asker, { found })));
  },
  get_copilot_plan_status: (plans, { planId, nodes, cursor }) =>
    getPlanStatus(plans, planId, { nodes, cursor }),
  list_copilot_plans: (plans, { status, cursor }, { cwd }) => {
    const all = plans.list(cwd).filter((one) => status === undefined || one.status === status);
    return pagePlans(all, cwd, cursor);
  },
  wait_copilot_plan: (plans, args, _asker, signal) => waitForPlan(plans, args.planId, args, signal),
  pause_copilot_plan: async (plans, { planId }) => {
    await plans.submitOrThrow({ input: "pause", planId, reason: "asked" });
    return getPlanStatus(plans, planId);
  },
  resume_copilot_plan: async (plans, { planId, budget }, asker) => {
    const plan = plans.view({ view: "plan", planId });
    if (budget) await plans.preflight.requireBudget(plan, budget, asker);
    await plans.submitOrThrow({ input: "resume", planId, budget });
    return getPlanStatus(plans, planId);
  },
  cancel_copilot_plan: async (plans, { planId }) => {
    await plans.submitOrThrow({ input: "cancel", planId });
    return getPlanStatus(plans, planId);
  },
  delete_copilot_plan: async (plans, { planId }) => ({
    planId,
    deleted: true,
    ...(await plans.worktrees.remove(planId)),
  }),
  retry_copilot_plan: (plans, { planId, ...how }) => retryAll(plans, planId, how),
  create_copilot_node: async (plans, { planId, ...node }, asker) => {
    await stripNodePaths(plans.add(planId, [node], asker));
    return viewNode(plans, planId, node.id);
  },
  add_copilot_nodes: async (plans, { planId, nodes, ...rest }, asker) => {
    if (!Array.isArray(nodes))
      throw new PlanError("INVALID_PLAN", "`nodes` is not a list of nodes");
    await plans.add(planId, nodes, asker, findUnknownFields(rest, ["planId", "nodes"]));
    return getPlanStatus(plans, planId);
  },
  list_copilot_nodes: (plans, { planId, ...asked }) => pageNodes(plans, planId, asked),
  get_copilot_node: (plans, { planId, nodeId }) => viewNode(plans, planId, nodeId),
  get_copilot_node_details: (plans, { planId, nodeId }) => viewNode(plans, planId, nodeId),
  get_copilot_node_logs: (plans, { planId, nodeId, phase, attempt }) =>
    readLogs(plans, planId, nodeId, { phase, attempt }),
  get_copilot_node_attempts: (plans, { planId, nodeId }) => ({
    attempts: listAttempts(plans, planId, plans.view({ view: "node", planId, nodeId })),
  }),
  get_copilot_node_failure_context: (plans, { planId, nodeId }) =>
    getFailureContext(plans, planId, nodeId),
  retry_copilot_node: async (plans, args) => {
    const { planId, nodeId, from = "failed-phase", instructions } = args;
    const detail = instructions ? { instructions } : undefined;
    await plans.submitOrThrow({ input: "retry", planId, nodeId, from, detail });
    return viewNode(plans, planId, nodeId);
  },
  get_copilot_group_status: (plans, { planId, group }) => requireGroup(plans, planId, group),
  list_copilot_groups: (plans, { planId, cursor }) => pageGroups(plans, planId, cursor),
  cancel_copilot_group: (plans, { planId, group }) => cancelGroup(plans, planId, group),
};

/** What changes a plan that is there, as a question says it. @type {Record<string, string>} */
const CHANGES = {
  pause_copilot_plan: "pause",
  resume_copilot_plan: "resume",
  cancel_copilot_plan: "cancel",
  delete_copilot_plan: "delete",
  retry_copilot_plan: "retry",
  retry_copilot_node: "retry a node of",
  cancel_copilot_group: "cancel a group of",
};

/** Those whose arguments no schema has checked. */
const NEED_PLAN = ["create_copilot_node", "add_copilot_nodes"];
const NOT_FOUND = ["UNKNOWN_PLAN", "UNKNOWN_NODE", "UNKNOWN_GROUP"];

/** What the model reads: everything that is wrong, each with its place. @param {any} error @returns {unknown} */
function toToolError(error) {
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

/** @param {PlanManager} plans @param {string} name @param {any} args @param {Asker} asker @param {AbortSignal} [signal] */
export async function callTool(plans, name, args, asker, signal) {
  if (args.planId === undefined && NEED_PLAN.includes(name)) {
    throw new PlanError("INVALID_PLAN", "`planId` is missing; list_copilot_plans has ids");
  }
  const given =
    args.planId === undefined ? args : { ...args, planId: await plans.require(args.planId) };
  if (given.planId && given.instructions) await plans.requireOwner(given.planId, asker);
  if (CHANGES[name]) await plans.requireControl(given, asker, CHANGES[name]);
  return HANDLERS[name](plans, given, asker, signal);
}

/** For the model. @param {PlanManager} plans @param {string} name @param {any} args @param {Asker} asker @param {AbortSignal} [signal] */
export async function callToolForModel(plans, name, args, asker, signal) {
  try {
    return truncateResult(await callTool(plans, name, args, asker, signal));
  } catch (error) {
    throw toToolError(error);
  }
}
