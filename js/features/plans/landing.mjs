// What of a plan waits to land, lands; and what its result holds is what its state says.

import { formatNames, inLine } from "../../lib/visible.mjs";
import { PlanError } from "./errors.mjs";
import { isLeaf } from "./views.mjs";

/** @typedef {import("./plan-manager.mjs").PlanManager} PlanManager */
/** @typedef {import("./plan-context.mjs").PlanContext} PlanContext */

// Results that wait for a target which has moved since: their checks have not seen what they would land on.

/** @param {PlanManager} plans @param {string} planId @returns {boolean} whether any of its leaves is checked before it lands */
export function hasLeafChecks(plans, planId) {
  const { nodes } = plans.view({ view: "graph", planId });
  return nodes.some((/** @type {any} */ node) => isLeaf(node) && node.postchecks);
}

/** @param {string} planId @param {string} target */
export const untestedText = (planId, target) =>
  `"${target}" is not what the waiting result of the plan was made on. To run the checks on both, and land it: ${landCommand(planId)}`;

/** Of what has landed where the plan ran before. @param {string} planId @param {string} target */
export const elsewhereText = (planId, target) =>
  `What the plan has landed elsewhere is not on "${target}" here. To run its checks here, and land it: ${landCommand(planId)}`;

/** Of checks that fail when they run again. @param {string} planId @param {string} target @param {string} message */
export const formatRecheckFailure = (planId, target, message) =>
  `${message}, on the merge with "${target}". It has not landed. Correct that on "${target}", then: ${landCommand(planId)}. Or do the work again: copilot-tap plan retry ${planId} --from-start. Or let another node do it: copilot-tap plan add ${planId} FILE --replaces NODE`;

/** @param {string} planId */
export const landCommand = (planId) => `copilot-tap plan land ${planId}`;

const MAX_TRIES = 5;

/** Why the target cannot have it. */
const CODES = { taken: "NAME_TAKEN", gone: "TARGET_GONE" };

/**
 * @typedef {{commit: string, again: boolean, tip: string}} Taken commit: of the result that has the leaf
 *
 * What has become of what was to land:
 *   landed    the target has it
 *   waiting   it is in the result, and the target cannot be moved to that now: its checkout has changes (DIRTY), or it
 *             has commits with which others that wait were not checked (MOVED)
 *   stale     what would land is not what was checked, or somebody moves the target again and again
 *   conflict  it does not merge with the target, or with what waits
 *   refused   the target was deleted, or cannot be made
 * @typedef {{state: "waiting", code: string, message: string, files: string[], taken: Taken}} Waiting
 * @typedef {{state: "stale", message: string} | {state: "conflict", found: any}} NotLanded
 * @typedef {{state: "refused", code: string, message: string}} Refused
 * @typedef {{state: "landed", taken: Taken} | Waiting | NotLanded | Refused} Landing
 */

/**
 * The one way to the target.
 * @param {PlanContext} plan
 * @param {object} what
 * @param {string} [what.result] that is to land as it is: nothing is merged
 * @param {string} [what.leaf] a commit, put on the result first
 * @param {string} [what.message] of the leaf's squash commit
 * @param {{tree: string, tip: string}} [what.expect] what the leaf's checks have seen
 * @param {AbortSignal} [what.signal]
 * @returns {Promise<Landing>}
 */
export async function landNow(plan, { result, signal, ...leaf }) {
  const { id, git, repository, facts, head } = plan;
  const target = head.targetBranch;
  const create = facts.createsTarget === true;
  for (let left = MAX_TRIES; ; --left) {
    const found = result
      ? { status: /** @type {const} */ ("integrated"), commit: result, again: true, tip: result }
      : await git.integrate(repository, { ...plan.landingOptions(), ...leaf, signal });
    if (found.status === "conflict") return { state: "conflict", found };
    if (found.status === "moved")
      return { state: "stale", message: "the target has moved since the checks" };
    const taken = { commit: found.commit, again: found.again, tip: found.tip };
    if ("waits" in found && found.waits) {
      const message = untestedText(id, target);
      return { state: "waiting", code: "MOVED", message, files: [], taken };
    }
    const expect = taken.commit;
    const landed = await git.land(repository, { plan: id, target, create, expect, signal });
    const { status, message = "", changed = [] } = landed;
    if (status === "landed") return { state: "landed", taken };
    if (status === "dirty")
      return { state: "waiting", code: "DIRTY", message, files: changed, taken };
    if (status === "gone" || status === "taken")
      return { state: "refused", code: CODES[status], message };
    if (result || left === 1) return { state: "stale", message };
  }
}

/**
 * What could not be landed before. Where its checks have not seen what would land, they run again, and it lands once
 * they have passed.
 * @param {PlanManager} plans @param {string} planId
 * @returns {Promise<{commit?: string, checks?: string[]}>} commit: it has landed; checks: nodes of which that is done now
 */
export function landPlan(plans, planId) {
  return landPendingResult(plans, planId).catch(async (error) => {
    const landed = error.code === "WRONG_STATE" && (await findLandedResult(plans, planId));
    if (landed) return { commit: landed };
    throw error;
  });
}

const MAX_NAMED = 5;

/**
 * Why nothing of it can be landed: of a plan that has ended, what has landed and what has not.
 * @param {PlanManager} plans @param {string} planId
 */
function explainNothingPending(plans, planId) {
  const text = "nothing of the plan waits to be landed";
  const { landed, missing, failed } = sortLeaves(plans, planId);
  const { endedAt, targetBranch } = plans.view({ view: "plan", planId });
  if (endedAt === undefined || !targetBranch || missing.length === 0) return text;
  // One that is blocked waits for another's retry.
  const { id, status } = failed ?? missing[0];
  const before = landed.length > 0 ? ` Landed: ${formatNames(landed, MAX_NAMED)}.` : "";
  const others = formatNames(
    missing.map((one) => one.id),
    MAX_NAMED,
  );
  return `${text}.${before} Not landed: ${others}. Node ${inLine(id)} is ${status}: copilot-tap plan show ${planId}/${inLine(id)}`;
}

/** The nodes whose work lands, by whether it has; and a node that a retry would run again. @param {PlanManager} plans @param {string} planId */
function sortLeaves(plans, planId) {
  const { nodes } = plans.view({ view: "graph", planId });
  /** @type {{id: string, status: string}[]} */
  const leaves = nodes.filter(isLeaf);
  const landed = leaves.filter(({ status }) => status === "succeeded").map(({ id }) => id);
  const failed = nodes.find(
    (/** @type {any} */ { status, replacedBy }) =>
      /^(?:failed|canceled)$/.test(status) && replacedBy === undefined,
  );
  return { landed, missing: leaves.filter(({ status }) => status !== "succeeded"), failed };
}

/** Somebody else may have landed it at the same moment. @param {PlanManager} plans @param {string} planId @returns {Promise<string | undefined>} */
async function findLandedResult(plans, planId) {
  const { endedAt, leftToLand, landing } = plans.view({ view: "plan", planId });
  if (endedAt === undefined || leftToLand || landing) return undefined;
  if (sortLeaves(plans, planId).missing.length > 0) return undefined;
  const { git, repository, head } = await plans.openPlan(planId);
  if (!head.targetBranch) return undefined;
  return git.findLandedResult(repository, { plan: planId, target: head.targetBranch });
}

/** @param {PlanManager} plans @param {string} planId @returns {Promise<{commit?: string, checks?: string[]}>} */
async function landPendingResult(plans, planId) {
  const plan = await plans.openPlan(planId);
  const { git, repository, head } = plan;
  const target = head.targetBranch;
  const seen = plans.view({ view: "plan", planId });
  if (!seen.leftToLand && !seen.landing)
    throw new PlanError("WRONG_STATE", explainNothingPending(plans, planId));
  await plans.preflight.requireUnprotected(git, repository, target);
  // What went wrong when the plan ended is not known any more.
  if (plan.unsettled || seen.endedAt !== undefined) await plan.settleResult();
  for (let left = MAX_TRIES; ; --left) {
    const { result, follows } = await git.checkResult(repository, plan.landingOptions());
    await plans.submitOrThrow({ input: "land", planId, ...(result && { result }), follows });
    const { landing: checks } = plans.view({ view: "plan", planId });
    if (checks) return { checks };
    const landing = await landNow(plan, plan.checks() ? { result } : {});
    if (landing.state === "landed") {
      const { commit } = landing.taken;
      await plans.submitOrThrow({ input: "landed", planId, detail: { commit } });
      await plans.lifecycle.describe(planId);
      return { commit };
    }
    const isRace = landing.state === "stale" || /** @type {any} */ (landing).code === "MOVED";
    if (!isRace || left === 1) throw toLandingError(plan, landing);
  }
}

/** @param {PlanContext} plan @param {Exclude<Landing, {state: "landed"}>} landing */
function toLandingError({ id, head }, landing) {
  if (landing.state === "conflict") {
    const text = `the branch ${head.targetBranch} has changed the same in ${landing.found.conflicts.join(", ")}: merge refs/tap/${id}/result by hand`;
    return new PlanError("MERGE_CONFLICT", text);
  }
  const { code, message } = { code: "MOVED", ...landing };
  const then = code === "TARGET_GONE" ? `, then: ${landCommand(id)}` : "";
  return new PlanError(code, `${message}${then}`);
}

/** Where its landing could not be stopped any more, that is said. @param {PlanManager} plans @param {PlanContext} plan @param {string} nodeId @returns {Promise<boolean>} */
async function recordIfLanded(plans, { id: planId, git, repository, facts, head }, nodeId) {
  const node = `${planId}/${nodeId}`;
  const target = head.targetBranch;
  const found = await git.findLandedCommit(repository, { target, base: facts.baseCommit, node });
  if (!found) return false;
  const { files, insertions, deletions } = await git.linesBetween(repository, ...found);
  const changes = { files: files.length, insertions, deletions };
  const whole = await git.findLandedResult(repository, { plan: planId, target });
  const detail = { landed: found[1], changes, ...(whole && { result: whole }) };
  await plans.submit({ input: "landed", planId, nodeId, detail });
  return true;
}

/** @param {PlanManager} plans @param {string} planId @param {string[]} nodes @returns {string[]} all commits of theirs */
const listCommits = (plans, planId, nodes) =>
  nodes.flatMap((nodeId) => {
    const { commit, attempts } = plans.view({ view: "node", planId, nodeId });
    const listDetails = (/** @type {"commit" | "baseCommit"} */ what) =>
      attempts.flatMap((/** @type {any} */ { phases }) =>
        phases.flatMap((/** @type {any} */ { detail }) => detail?.[what] ?? []),
      );
    const made = commit ? [commit, ...listDetails("commit")] : listDetails("commit");
    return made.length > 0 ? made : listDetails("baseCommit"); // one that only checks
  });

/** @param {PlanManager} plans @param {string} planId @returns {string[]} commits of leaves that are in its result, and have not landed */
export const listPendingCommits = (plans, planId) =>
  listCommits(plans, planId, plans.view({ view: "plan", planId }).waiting ?? []);

/**
 * After a crash, or an end that came too late: no leaf is in the result that has not succeeded, and what is on the
 * target has. To be called while no node of the plan lands.
 * @param {PlanManager} plans @param {string} planId @param {AbortSignal} [signal] of the wait for the git of a former host
 */
export async function settleResult(plans, planId, signal) {
  const plan = await plans.openPlan(planId);
  const { git, repository, facts, head } = plan;
  const target = head.targetBranch;
  if (!target) return;
  const left = await git.recoverLanding(repository, target, signal);
  if (left) plans.note(`plan ${planId}: ${left}`);
  const { nodes } = plans.view({ view: "graph", planId });
  /** @type {string[]} */
  const good = [];
  /** @type {string[]} */
  const others = [];
  for (const { id, status, phase, attempt, dependents, replacedBy } of nodes) {
    if (!attempt || dependents.length > 0) continue;
    const isLate = status === "canceled" && phase === "merge-ri" && replacedBy === undefined;
    const isGood = status === "succeeded" || (isLate && (await recordIfLanded(plans, plan, id)));
    (isGood ? good : others).push(id);
  }
  if (others.length === 0) return;
  // Nodes without changes of their own may have the same commit.
  const kept = new Set(listCommits(plans, planId, good));
  const leaves = listCommits(plans, planId, others).filter((commit) => !kept.has(commit));
  const create = facts.createsTarget === true;
  await git.removePendingLeaves(repository, { plan: planId, target, leaves, create });
}

// Branches that configs protect: no plan is made for them, and none lands on them.

/**
 * @param {import("../../feature-host/service-access.mjs").Services} services @param {typeof import("../../git/index.mjs")} git
 * @param {string} repo the checkout's folder @param {string | undefined} target
 */
export async function requireUnprotected(services, git, repo, target) {
  if (target === undefined) return;
  const { patterns, trouble } = await services.worktree.readProtected(repo);
  if (trouble) {
    const text = `which branches are protected is not known, because a config has a mistake: ${trouble}. Correct it first`;
    throw new PlanError("CONFIG_INVALID", text);
  }
  git.requireUnprotected(target, patterns);
}
