// What `copilot-tap plan` asks: JSON of an object with `do`. What a person does at a terminal is his own act.

import { errorMessage } from "../../lib/values.mjs";
import { inLine, visible } from "../../lib/visible.mjs";
import { PlanError } from "./errors.mjs";
import { exportPlan, importPlan } from "./export-import.mjs";
import { landPlan } from "./landing.mjs";
import { outcomeText } from "./notifications.mjs";
import { callTool, getPlanStatus, HANDLERS } from "./tools.mjs";
import { decide, listWaits } from "./waits.mjs";
import {
  diffSince,
  diffSoFar,
  findAttempt,
  isLeaf,
  listAttempts,
  readHealth,
  readWholeLog,
  requireAttempt,
  requirePhase,
  viewNode,
} from "./views.mjs";

/** @typedef {import("./plan-manager.mjs").PlanManager} PlanManager */
/** @typedef {import("./plan-manager.mjs").Asker} Asker */

const MAX_DIFF = 2 * 1024 * 1024;
const MAX_LOG = 1024 * 1024;
const MAX_NODES = 10_000;
const MAX_WAIT_MS = 10_000;
const TAIL = 2048;
/** Failed nodes whose last line is looked up. */
const MAX_FAILED = 10;

/** @param {PlanManager} plans @param {string} planId */
function viewPlan(plans, planId) {
  const { facts, ...plan } = plans.view({ view: "plan", planId });
  const { repo, baseBranch } = facts;
  const { trouble } = plans;
  return { ...plan, repo, baseBranch, summary: outcomeText(plan), ...(trouble && { trouble }) };
}

/** What it printed last: an agent says so, a program writes it to its log. @param {PlanManager} plans @param {string} planId @param {any} node */
async function readLastLine(plans, planId, { id, attempt, phase, status }) {
  const said = status === "running" ? plans.lastLine(planId, id) : "";
  if (said) return said;
  const { text } = await plans.readLog({
    plan: planId,
    name: `${id}-${attempt}-${phase}`,
    most: TAIL,
  });
  return text
    .trimEnd()
    .split(/[\r\n]+/)
    .at(-1);
}

/** Those that run, and the first of those that failed, get their last line. @param {PlanManager} plans @param {string} planId @param {any[]} nodes */
async function addLines(plans, planId, nodes) {
  const failed = nodes.filter(({ status }) => status === "failed").slice(0, MAX_FAILED);
  const running = nodes.filter(({ status }) => status === "running");
  for (const node of [...running, ...failed]) {
    const line = await readLastLine(plans, planId, node);
    if (node.error !== line) node.line = line;
  }
}

/** @param {PlanManager} plans @param {string} planId */
async function show(plans, planId) {
  const plan = viewPlan(plans, planId); // of the same moment as its nodes
  const { nodes } = plans.view({ view: "graph", planId });
  const shown = nodes.map((/** @type {any} */ node) => {
    const { id, name, group, status, phase, attempt, error, dependencies, replacedBy } = node;
    const { sandboxed, refusals, note } = node;
    const all = { id, name, group, status, phase, attempt, error, dependencies, replacedBy };
    return { ...all, sandboxed, refusals, note };
  });
  await addLines(plans, planId, shown);
  return { ...plan, nodes: shown };
}

/**
 * How the user goes on with an agent's session, in its worktree.
 * @param {PlanManager} plans @param {string} planId @param {any} node @returns {Promise<string | undefined>} undefined:
 *   there is none, or tap may still need it
 */
async function formatByHand(plans, planId, { status, attempts, work }) {
  const { sessionId, worktree } = Object.assign({}, ...(attempts.at(-1)?.steps ?? []));
  if (!sessionId || !worktree?.path || !["failed", "canceled"].includes(status)) return undefined;
  const plan = await plans.openPlan(planId);
  if (!(await plan.git.exists(worktree.path))) return undefined;
  return plan.formatCommandLine({ sessionId, cwd: worktree.path, model: work?.model });
}

/** With what was in worktrees of it that are gone or were made again. @param {PlanManager} plans @param {string} planId @param {string} nodeId */
async function showNode(plans, planId, nodeId) {
  const seen = plans.view({ view: "node", planId, nodeId });
  const all = await plans
    .openPlan(planId)
    .then(({ git, repository }) => git.listArchives(repository, planId))
    .catch(() => []);
  const { ref, commit, at } = all.find(({ node }) => node === seen.id) ?? {};
  const kept = ref && { of: `${planId}/${seen.id}`, ref, commit, at };
  const byHand = await formatByHand(plans, planId, seen).catch(() => undefined);
  return {
    ...(await viewNode(plans, planId, nodeId)),
    ...{ kept, byHand, edited: seen.edited, attempts: listAttempts(plans, planId, seen) },
  };
}

/**
 * Once something has happened since `seen`, or after a while, or when nobody waits for it any more.
 * @param {PlanManager} plans @param {any} asked @param {Asker} _asker @param {AbortSignal} [left]
 */
async function follow(plans, { planId, seen, waitMs = 0, lines }, _asker, left) {
  if (plans.changes === seen) await plans.changeSignal.wait(Math.min(waitMs, MAX_WAIT_MS), left);
  left?.throwIfAborted();
  const { changes } = plans;
  const plan = viewPlan(plans, planId);
  const { nodes } = plans.view({ view: "nodes", planId, most: MAX_NODES });
  if (lines) await addLines(plans, planId, nodes);
  return { ...plan, changes, nodes };
}

/** What all phases have printed. @param {PlanManager} plans @param {any} asked */
async function readOutput(plans, { planId, nodeId }) {
  const node = plans.view({ view: "node", planId, nodeId });
  const whole = await readWholeLog(plans, planId, node, { most: MAX_LOG });
  return { nodeId, status: node.status, phase: node.phase, ...whole };
}

/**
 * A part of a log in whole lines, and which logs there are. Without a phase: of the attempt's first one.
 * @param {PlanManager} plans @param {any} asked
 */
async function readLogPart(plans, { planId, nodeId, phase, attempt, from, most }) {
  const node = plans.view({ view: "node", planId, nodeId });
  if (phase !== undefined) requirePhase(phase);
  requireAttempt(node, attempt);
  const all = node.attempts.flatMap((/** @type {any} */ one) =>
    one.phases.map((/** @type {any} */ { phase: name, status }) => ({
      attempt: one.attempt,
      phase: name,
      ended: status !== "running",
    })),
  );
  const first = all.find((/** @type {any} */ one) => one.attempt === (attempt ?? node.attempt));
  const wanted = {
    attempt: attempt ?? (phase ? findAttempt(node, phase, node.attempt ?? 1) : (node.attempt ?? 1)),
    phase: phase ?? first?.phase ?? "merge-fi",
  };
  const name = `${node.id}-${wanted.attempt}-${wanted.phase}`;
  const isOver = all.some(
    (/** @type {any} */ one) =>
      one.phase === wanted.phase && one.attempt === wanted.attempt && one.ended,
  );
  const whole = isOver ? "ended" : "growing";
  const log = await plans.readLog({ plan: planId, name, from, most, whole });
  return { nodeId, status: node.status, ...wanted, ...log, logs: all };
}

/**
 * @param {PlanManager} plans @param {{planId: string, nodeId?: string}} of without a node: of all that nothing depends on
 * @param {Asker} _asker @param {AbortSignal} [left]
 */
async function diff(plans, { planId, nodeId }, _asker, left) {
  const { facts } = plans.view({ view: "plan", planId });
  const { nodes } = plans.view({ view: "graph", planId });
  const ids = nodeId
    ? [nodeId]
    : nodes.flatMap((/** @type {any} */ one) => (isLeaf(one) ? [one.id] : []));
  const { git, repository } = await plans.openPlan(planId);
  const diffs = [];
  let room = MAX_DIFF;
  for (const id of ids) {
    left?.throwIfAborted();
    const node = plans.view({ view: "node", planId, nodeId: id });
    const most = { mostBytes: Math.max(room, 1) };
    const found = nodeId
      ? await diffSoFar(git, repository, node, most)
      : await diffSince(git, repository, facts.baseCommit, node.commit, most);
    if (!found) continue;
    room -= found.text.length;
    diffs.push({ nodeId: id, ...found });
  }
  return { planId, diffs };
}

/** With an id that the asker has chosen: asked for twice, it is made once. @param {PlanManager} plans @param {any} asked @param {Asker} asker */
async function create(plans, { plan, as }, asker) {
  if (!/^p[a-z0-9]{8}$/.test(as)) throw new RangeError("`as` is not the id of a plan");
  return plans.has(as) ? { planId: as, notes: [] } : plans.create(plan, asker, { planId: as });
}

/** Also to a plan that has ended. @param {PlanManager} plans @param {any} asked @param {Asker} asker */
async function add(plans, { planId, nodes, replaces }, asker) {
  if (!Array.isArray(nodes)) throw new PlanError("INVALID_PLAN", "`nodes` is not a list of nodes");
  await plans.add(planId, nodes, asker, [], { reopens: true, ...(replaces && { replaces }) });
  return viewPlan(plans, planId);
}

/** @param {PlanManager} plans @param {any} asked @param {Asker} asker */
async function edit(plans, { planId, nodeId, changes }, asker) {
  await plans.edit(planId, nodeId, changes, asker);
  return viewNode(plans, planId, nodeId);
}

/**
 * By name, what is answered. What only looks ends with the one who has asked.
 * @type {Record<string, (plans: PlanManager, asked: any, asker: Asker, left?: AbortSignal) => unknown>}
 */
const REQUESTS = {
  validate: (plans, { plan }, asker) => plans.validate(plan, asker),
  create,
  show: (plans, { planId }) => show(plans, planId),
  node: (plans, { planId, nodeId }) => showNode(plans, planId, nodeId),
  follow,
  log: readOutput,
  logs: readLogPart,
  diff,
  health: (plans) => readHealth(plans),
  add,
  edit,
  progress: (plans) => plans.worktrees.progress,
  take: (plans, { planId, nodeId }) => plans.worktrees.take(planId, nodeId),
  land: (plans, { planId }) => landPlan(plans, planId),
  waits: (plans) => listWaits(plans),
  decide: (plans, decision, asker) => decide(plans, decision, asker),
  export: (plans, { planId }) => exportPlan(plans, planId),
  import: (plans, { exported }, asker) => importPlan(plans, exported, asker),
  orphans: (plans, _asked, asker) => plans.leftovers.list(asker),
  clean: (plans, { folder }, asker) => plans.leftovers.clean(String(folder), asker),
  restore: (plans, { of }, asker) => plans.leftovers.restore(of, asker),
};

/** @param {PlanManager} plans @param {string} json @param {Asker} session @param {AbortSignal} [left] who has asked is gone */
export async function handleRequest(plans, json, session, left) {
  const { do: what, cwd = session.cwd, path, cli, yes, ...rest } = JSON.parse(json);
  const isCli = typeof cli?.cli === "string" && typeof cli.sdk === "string";
  const asker = {
    ...{ id: "", cwd, ...(typeof path === "string" && { path }) },
    ...(isCli && { cli: { cli: cli.cli, sdk: cli.sdk } }),
    ...(yes === true && { consents: true }),
  };
  const given =
    rest.planId === undefined ? rest : { ...rest, planId: await plans.require(rest.planId) };
  if (Object.hasOwn(REQUESTS, what)) return REQUESTS[what](plans, given, asker, left);
  if (Object.hasOwn(HANDLERS, what)) return callTool(plans, what, rest.args ?? {}, asker);
  throw new RangeError(`there is no ${visible(String(what))}`);
}

// /tap-plan: the user's own way to plans. `copilot-tap plan` asks it with JSON, and gets JSON.

const USAGE =
  "/tap-plan, /tap-plan show <id>, or pause, resume, cancel, retry, land or delete, and an id";
const WORDS = /** @type {Record<string, string>} */ ({
  pause: "pause_copilot_plan",
  resume: "resume_copilot_plan",
  cancel: "cancel_copilot_plan",
  retry: "retry_copilot_plan",
  delete: "delete_copilot_plan",
});

/** @param {{planId: string, name: string, status: string, total: number}} plan */
const planLine = ({ planId, name, status, total }) =>
  `  ${planId}  ${status}, ${total} ${total === 1 ? "node" : "nodes"}: ${visible(name ?? "")}`;

/** @param {PlanManager} plans @param {string} planId */
function formatPlan(plans, planId) {
  const { name, summary, nodes, omitted } = getPlanStatus(plans, planId);
  const lines = nodes.slice(0, 30).map((/** @type {any} */ node) => {
    const last = plans.lastLine(planId, node.id);
    const why = node.error ? `: ${node.error}` : last ? `: ${last}` : "";
    const more = [
      ...(node.sandboxed === false ? ["not sandboxed"] : []),
      ...(node.phase && node.status === "running" ? [node.phase] : []),
    ].join(", ");
    return `  ${inLine(node.id)}: ${node.status}${more && ` (${more})`}${why}`;
  });
  const more = nodes.length - 30 + (omitted ?? 0);
  return [
    `tap: plan ${planId} (${visible(name)}): ${summary}`,
    ...lines,
    ...(more > 0 ? [`  … and ${more} more`] : []),
  ].join("\n");
}

/** @param {PlanManager} plans @param {string} args @param {Asker} session in which a person types it */
async function handleText(plans, args, session) {
  const [word = "list", id = ""] = args.trim().split(/\s+/).filter(Boolean);
  if (word === "list") {
    const all = plans.list(session.cwd).slice(0, 20).map(planLine);
    return all.length > 0 ? `tap: plans\n${all.join("\n")}` : "tap: there is no plan";
  }
  const planId = await plans.require(id);
  if (word === "show") return formatPlan(plans, planId);
  if (word === "land") {
    const { commit, checks = [] } = await landPlan(plans, planId);
    return commit
      ? `tap: plan ${planId} has landed: ${commit.slice(0, 10)}`
      : `tap: the checks of ${checks.map(inLine).join(", ")} run on what would land; then it lands. /tap-plan show ${planId} shows it`;
  }
  if (!WORDS[word]) return `tap: expected ${USAGE}`;
  const done = /** @type {any} */ (
    await callTool(plans, WORDS[word], { planId }, { ...session, id: "" })
  );
  if (word !== "delete") return formatPlan(plans, planId);
  const { stay, next = [] } = done;
  return [`tap: plan ${planId} is deleted`, ...stay.map(visible)].concat(next).join("\n");
}

/**
 * @param {PlanManager} plans @param {string} args @param {Asker} session @param {AbortSignal} [left] who has asked is gone
 * @returns {Promise<string | object>} an object answers JSON
 */
export async function handleCommand(plans, args, session, left) {
  if (!args.trimStart().startsWith("{")) {
    return handleText(plans, args, session).catch((error) => `tap: ${errorMessage(error)}`);
  }
  try {
    return { answer: await handleRequest(plans, args, session, left) };
  } catch (error) {
    const { code, detail } = /** @type {any} */ (error);
    return { error: { code, message: errorMessage(error), ...detail } };
  }
}
