// What `copilot-tap plan` asks: JSON of an object with `do`. What a person does at a terminal is his own act.

import { visible } from "../../base/visible.mjs";
import { health } from "./health.mjs";
import { exportPlan, importPlan } from "./importing.mjs";
import { land } from "./landing.mjs";
import { outcomeText } from "./news.mjs";
import { attemptsOf, diffSince, diffSoFar, nodeView } from "./node-view.mjs";
import { attemptOf, requireAttempt, requirePhase, wholeLog } from "./phase-logs.mjs";
import { HANDLERS, serve } from "./tools.mjs";

const MOST_DIFF = 2 * 1024 * 1024;
const MOST_LOG = 1024 * 1024;
const MOST_NODES = 10_000;
const MOST_WAIT_MS = 10_000;
const TAIL = 2048;
/** Failed nodes whose last line is looked up. */
const MOST_FAILED = 10;

/** @typedef {import("./plans.mjs").Plans} Plans */
/** @typedef {import("./plans.mjs").Asker} Asker */

/** @param {Plans} plans @param {string} planId */
function planOf(plans, planId) {
  const { facts, ...plan } = plans.view({ view: "plan", planId });
  const { repo, baseBranch } = facts;
  const { trouble } = plans;
  return { ...plan, repo, baseBranch, summary: outcomeText(plan), ...(trouble && { trouble }) };
}

/** What it printed last: an agent says so, a program writes it to its log. @param {Plans} plans @param {string} planId @param {any} node */
async function lastLine(plans, planId, { id, attempt, phase, status }) {
  const said = status === "running" ? plans.lineOf(planId, id) : "";
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

/** Those that run, and the first of those that failed, get their last line. @param {Plans} plans @param {string} planId @param {any[]} nodes */
async function addLines(plans, planId, nodes) {
  const failed = nodes.filter(({ status }) => status === "failed").slice(0, MOST_FAILED);
  const running = nodes.filter(({ status }) => status === "running");
  for (const node of [...running, ...failed]) {
    const line = await lastLine(plans, planId, node);
    if (node.error !== line) node.line = line;
  }
}

/** @param {Plans} plans @param {string} planId */
async function show(plans, planId) {
  const { nodes } = plans.view({ view: "graph", planId });
  const shown = nodes.map((/** @type {any} */ node) => {
    const { id, name, group, status, phase, attempt, error, dependencies } = node;
    return { id, name, group, status, phase, attempt, error, dependencies };
  });
  await addLines(plans, planId, shown);
  return { ...planOf(plans, planId), nodes: shown };
}

/**
 * Once something has happened since `seen`, or after a while, or when nobody waits for it any more.
 * @param {Plans} plans @param {any} asked @param {Asker} _asker @param {AbortSignal} [left]
 */
async function follow(plans, { planId, seen, waitMs = 0, lines }, _asker, left) {
  if (plans.changes === seen) await plans.waiting.change(Math.min(waitMs, MOST_WAIT_MS), left);
  left?.throwIfAborted();
  const { changes } = plans;
  const { nodes } = plans.view({ view: "nodes", planId, most: MOST_NODES });
  if (lines) await addLines(plans, planId, nodes);
  return { ...planOf(plans, planId), changes, nodes };
}

/** What all phases have printed. @param {Plans} plans @param {any} asked */
async function printed(plans, { planId, nodeId }) {
  const node = plans.view({ view: "node", planId, nodeId });
  const whole = await wholeLog(plans, planId, node, { most: MOST_LOG });
  return { nodeId, status: node.status, phase: node.phase, ...whole };
}

/**
 * A part of a log in whole lines, and which logs there are. Without a phase: of the attempt's first one.
 * @param {Plans} plans @param {any} asked
 */
async function logs(plans, { planId, nodeId, phase, attempt, from, most }) {
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
    attempt: attempt ?? (phase ? attemptOf(node, phase, node.attempt ?? 1) : (node.attempt ?? 1)),
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
 * @param {Plans} plans @param {{planId: string, nodeId?: string}} of without a node: of all that nothing depends on
 * @param {Asker} _asker @param {AbortSignal} [left]
 */
async function diff(plans, { planId, nodeId }, _asker, left) {
  const { facts } = plans.view({ view: "plan", planId });
  const { nodes } = plans.view({ view: "graph", planId });
  const ids = nodeId
    ? [nodeId]
    : nodes.flatMap((/** @type {any} */ one) => (one.dependents.length === 0 ? [one.id] : []));
  const { git, repository } = await plans.openPlan(planId);
  const diffs = [];
  let room = MOST_DIFF;
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

/** With an id that the asker has chosen: asked for twice, it is made once. @param {Plans} plans @param {any} asked @param {Asker} asker */
async function create(plans, { plan, as }, asker) {
  if (!/^p[a-z0-9]{8}$/.test(as)) throw new RangeError("`as` is not the id of a plan");
  return plans.has(as) ? { planId: as, notes: [] } : plans.create(plan, asker, { planId: as });
}

/**
 * By name, what is answered. What only looks ends with the one who has asked.
 * @type {Record<string, (plans: Plans, asked: any, asker: Asker, left?: AbortSignal) => unknown>}
 */
const ASKED = {
  validate: (plans, { plan }, asker) => plans.validate(plan, asker),
  create,
  show: (plans, { planId }) => show(plans, planId),
  node: async (plans, { planId, nodeId }) => ({
    ...(await nodeView(plans, planId, nodeId)),
    attempts: attemptsOf(plans, planId, plans.view({ view: "node", planId, nodeId })),
  }),
  follow,
  log: printed,
  logs,
  diff,
  health: (plans) => health(plans),
  progress: (plans) => plans.worktrees.progress,
  land: (plans, { planId }) => land(plans, planId),
  export: (plans, { planId }) => exportPlan(plans, planId),
  import: (plans, { exported }, asker) => importPlan(plans, exported, asker),
  orphans: (plans, _asked, asker) => plans.leftovers.list(asker),
  clean: (plans, { folder }, asker) => plans.leftovers.clean(String(folder), asker),
  restore: (plans, { of }, asker) => plans.leftovers.restore(of, asker),
};

/** @param {Plans} plans @param {string} json @param {Asker} session @param {AbortSignal} [left] who has asked is gone */
export async function asked(plans, json, session, left) {
  const { do: what, cwd = session.cwd, path, cli, ...rest } = JSON.parse(json);
  const isCli = typeof cli?.cli === "string" && typeof cli.sdk === "string";
  const asker = {
    ...{ id: "", cwd, ...(typeof path === "string" && { path }) },
    ...(isCli && { cli: { cli: cli.cli, sdk: cli.sdk } }),
  };
  const given =
    rest.planId === undefined ? rest : { ...rest, planId: await plans.require(rest.planId) };
  if (Object.hasOwn(ASKED, what)) return ASKED[what](plans, given, asker, left);
  if (Object.hasOwn(HANDLERS, what)) return serve(plans, what, rest.args ?? {}, asker);
  throw new RangeError(`there is no ${visible(String(what))}`);
}
