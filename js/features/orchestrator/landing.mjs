// What of a plan waits to land, lands; and what its result holds is what its state says.

import { PlanError } from "./plan-error.mjs";
import { landAdvice, untestedText } from "./untested.mjs";

const TRIES = 5;

/** @typedef {import("./plans.mjs").Plans} Plans */
/** @typedef {import("./plan-folder.mjs").OpenPlan} OpenPlan */

/** As where a node lands. */
const CODES = /** @type {Record<string, string>} */ ({ taken: "NAME_TAKEN", gone: "TARGET_GONE" });

/** @param {OpenPlan} plan @param {string} result that the engine has said may land */
async function landNow(plan, result) {
  const { id, git, repository, facts, head } = plan;
  const target = head.targetBranch;
  const create = facts.createsTarget === true;
  if (plan.checks()) return git.land(repository, { plan: id, target, create, expect: result });
  const taken = await git.integrate(repository, plan.landing());
  if (taken.status === "integrated" && taken.waits)
    return {
      status: /** @type {const} */ ("moved"),
      message: untestedText(id, target),
      commit: "",
    };
  if (taken.status !== "conflict") return git.land(repository, { plan: id, target, create });
  throw new PlanError(
    "MERGE_CONFLICT",
    `the branch ${target} has changed the same in ${taken.conflicts.join(", ")}: merge refs/tap/${id}/result by hand`,
  );
}

/**
 * What could not be landed before. Where its checks have not seen what would land, they run again, and it lands once
 * they have passed.
 * @param {Plans} plans @param {string} planId
 * @returns {Promise<{commit?: string, checks?: string[]}>} commit: it has landed; checks: nodes of which that is done now
 */
export function land(plans, planId) {
  return landWaiting(plans, planId).catch(async (error) => {
    const landed = error.code === "WRONG_STATE" && (await landedBefore(plans, planId));
    if (landed) return { commit: landed };
    throw error;
  });
}

/** Somebody else may have landed it at the same moment. @param {Plans} plans @param {string} planId @returns {Promise<string | undefined>} */
async function landedBefore(plans, planId) {
  const { endedAt, leftToLand, landing } = plans.view({ view: "plan", planId });
  if (endedAt === undefined || leftToLand || landing) return undefined;
  const { git, repository, head } = await plans.openPlan(planId);
  if (!head.targetBranch) return undefined;
  return git.landedResult(repository, { plan: planId, target: head.targetBranch });
}

/** @param {Plans} plans @param {string} planId @returns {Promise<{commit?: string, checks?: string[]}>} */
async function landWaiting(plans, planId) {
  const plan = await plans.openPlan(planId);
  const { git, repository, head } = plan;
  const target = head.targetBranch;
  const seen = plans.view({ view: "plan", planId });
  if (!seen.leftToLand && !seen.landing)
    throw new PlanError("WRONG_STATE", "nothing of the plan waits to be landed");
  await plans.making.requireUnprotected(git, repository, target);
  // What went wrong when the plan ended is not known any more.
  if (plan.unsettled || seen.endedAt !== undefined) await plan.settleResult();
  for (let left = TRIES; ; --left) {
    const { result, follows } = await git.resultOf(repository, plan.landing());
    await plans.ask({ input: "land", planId, ...(result && { result }), follows });
    const { landing } = plans.view({ view: "plan", planId });
    if (landing) return { checks: landing };
    const landed = await landNow(plan, String(result));
    if (landed.status === "landed") {
      await plans.ask({ input: "landed", planId, detail: { commit: landed.commit } });
      await plans.ends.describe(planId);
      return landed;
    }
    const isRace = landed.status === "moved" || landed.status === "lost";
    if (!isRace || left === 1) {
      const { status, message } = landed;
      const then = status === "gone" ? `, then: ${landAdvice(planId)}` : "";
      throw new PlanError(CODES[status] ?? status.toUpperCase(), `${message}${then}`);
    }
  }
}

/** Where its landing could not be stopped any more, that is said. @param {Plans} plans @param {OpenPlan} plan @param {string} nodeId @returns {Promise<boolean>} */
async function hasLanded(plans, { id: planId, git, repository, facts, head }, nodeId) {
  const node = `${planId}/${nodeId}`;
  const target = head.targetBranch;
  const found = await git.landedOf(repository, { target, base: facts.baseCommit, node });
  if (!found) return false;
  const { files, insertions, deletions } = await git.linesBetween(repository, ...found);
  const changes = { files: files.length, insertions, deletions };
  const whole = await git.landedResult(repository, { plan: planId, target });
  const detail = { landed: found[1], changes, ...(whole && { result: whole }) };
  await plans.tell({ input: "landed", planId, nodeId, detail });
  return true;
}

/** @param {Plans} plans @param {string} planId @param {string[]} nodes @returns {string[]} all commits of theirs */
const commitsOf = (plans, planId, nodes) =>
  nodes.flatMap((nodeId) => {
    const { commit, attempts } = plans.view({ view: "node", planId, nodeId });
    const said = (/** @type {"commit" | "baseCommit"} */ what) =>
      attempts.flatMap((/** @type {any} */ { phases }) =>
        phases.flatMap((/** @type {any} */ { detail }) => detail?.[what] ?? []),
      );
    const made = commit ? [commit, ...said("commit")] : said("commit");
    return made.length > 0 ? made : said("baseCommit"); // one that only checks
  });

/** @param {Plans} plans @param {string} planId @returns {string[]} commits of leaves that are in its result, and have not landed */
export const waitingOf = (plans, planId) =>
  commitsOf(plans, planId, plans.view({ view: "plan", planId }).waiting ?? []);

/**
 * After a crash, or an end that came too late: no leaf is in the result that has not succeeded, and what is on the
 * target has. To be called while no node of the plan lands.
 * @param {Plans} plans @param {string} planId @param {AbortSignal} [signal] of the wait for the git of a former host
 */
export async function settleResult(plans, planId, signal) {
  const plan = await plans.openPlan(planId);
  const { git, repository, facts, head } = plan;
  const target = head.targetBranch;
  if (!target) return;
  const left = await git.settleBegun(repository, target, signal);
  if (left) plans.note(`plan ${planId}: ${left}`);
  const { nodes } = plans.view({ view: "graph", planId });
  /** @type {string[]} */
  const good = [];
  /** @type {string[]} */
  const others = [];
  for (const { id, status, phase, attempt, dependents } of nodes) {
    if (!attempt || dependents.length > 0) continue;
    const isLate = status === "canceled" && phase === "merge-ri";
    const isGood = status === "succeeded" || (isLate && (await hasLanded(plans, plan, id)));
    (isGood ? good : others).push(id);
  }
  if (others.length === 0) return;
  // Nodes without changes of their own may have the same commit.
  const kept = new Set(commitsOf(plans, planId, good));
  const leaves = commitsOf(plans, planId, others).filter((commit) => !kept.has(commit));
  const create = facts.createsTarget === true;
  await git.takeOut(repository, { plan: planId, target, leaves, create });
}
