// The worktrees of plans after their work: given back, removed, and what was in them landed.

import { PlanError } from "./plan-error.mjs";

/** @typedef {import("./plans.mjs").Plans} Plans */

export class Worktrees {
  #plans;
  #note;
  /** What is on its way out, by plan. @type {Map<string, Promise<void>>} */
  #tidying = new Map();
  /** Of the last removal of a plan. @type {{done?: number, total?: number}} */
  progress = {};

  /** @param {Plans} plans @param {(text: string) => void} note a diagnostic */
  constructor(plans, note) {
    this.#plans = plans;
    this.#note = note;
  }

  /** One after the other, so that the end of a plan comes after all. @param {string} planId @param {() => Promise<void>} work */
  #inTurn(planId, work) {
    const before = this.#tidying.get(planId) ?? Promise.resolve();
    const done = before.then(work);
    const settled = done.catch(() => {});
    this.#tidying.set(planId, settled);
    return done;
  }

  /** A node is done with its worktree. @param {{planId: string, node: string}} effect */
  cleanUp({ planId, node }) {
    return this.#inTurn(planId, async () => {
      const worktree = this.#worktreeOf(planId, node);
      if (!worktree) return;
      const plan = await this.#plans.openPlan(planId);
      if (plan.head.cleanUpSuccessfulWork === false) return;
      if (worktree.sessionId) await plan.forgetSessions([worktree.sessionId]);
      const { removed, pooled, message } = await plan.giveBack(worktree);
      if (!removed && !pooled) this.#note(`plan ${planId}/${node}: ${message}`);
    });
  }

  /** @param {string} planId @param {string} node @returns {any} what was recorded of its worktree */
  #worktreeOf(planId, node) {
    const { attempt } = this.#plans.view({ view: "node", planId, nodeId: node });
    return this.#allOf(planId, node).find((one) => one.attempt === attempt);
  }

  /** Each attempt from the start has one of its own; the last attempt that had it counts. @param {string} planId @param {string} node @returns {any[]} */
  #allOf(planId, node) {
    const seen = this.#plans.view({ view: "node", planId, nodeId: node });
    /** @type {Map<string, any>} */
    const byPath = new Map();
    for (const { attempt, steps } of seen.attempts) {
      const { worktree, sessionId } = Object.assign({}, ...steps);
      if (!worktree?.path) continue;
      const of = { plan: planId, node, attempt, known: seen.commit };
      byPath.set(worktree.path, { ...worktree, sessionId, ...of });
    }
    return [...byPath.values()];
  }

  /** Nothing of the plan runs any more. @param {string} planId */
  close(planId) {
    return this.#inTurn(planId, async () => {
      const plan = await this.#plans.openPlan(planId);
      for (const { removed, message } of await plan.pool.drain()) {
        if (!removed) this.#note(`plan ${planId}: ${message}`);
      }
      await plan.git.expireKept(plan.repository, { now: Date.now() });
      // A retry may have come meanwhile.
      const { endedAt } = this.#plans.view({ view: "plan", planId });
      if (endedAt !== undefined) await this.#plans.closed(planId);
    });
  }

  /** What could not be landed before. @param {string} planId */
  async land(planId) {
    const { git, repository, head, facts } = await this.#plans.openPlan(planId);
    const { unlanded } = this.#plans.view({ view: "plan", planId });
    if (!unlanded) throw new PlanError("WRONG_STATE", "nothing of the plan waits to be landed");
    const target = head.targetBranch;
    const landing = { plan: planId, target, base: facts.baseCommit };
    const taken = await git.integrate(repository, landing);
    if (taken.status === "conflict") {
      throw new PlanError(
        "MERGE_CONFLICT",
        `the branch ${target} has changed the same in ${taken.conflicts.join(", ")}: merge refs/tap/${planId}/result by hand`,
      );
    }
    const landed = await git.land(repository, {
      plan: planId,
      target,
      create: facts.createsTarget,
    });
    if (landed.status !== "landed")
      throw new PlanError(landed.status.toUpperCase(), String(landed.message));
    await this.#plans.ask({ input: "landed", planId, detail: { commit: landed.commit } });
    await this.#plans.describe(planId);
    return landed;
  }

  /** @param {string} planId */
  async remove(planId) {
    const seen = this.#plans.view({ view: "plan", planId });
    if (seen.endedAt === undefined)
      throw new PlanError("WRONG_STATE", `plan ${planId} has not ended: cancel it first`);
    const plan = await this.#plans.openPlan(planId);
    const { nodes } = this.#plans.view({ view: "graph", planId });
    const stay = [];
    const sessions = [];
    try {
      for (const [done, { id }] of nodes.entries()) {
        this.progress = { done, total: nodes.length };
        for (const { known, sessionId, ...worktree } of this.#allOf(planId, id)) {
          const record = { ...worktree, known: [known].filter(Boolean) };
          const why = "the plan was deleted";
          const { removed, message } = await plan.git.removeWorktree(plan.worktrees, record, {
            why,
          });
          if (!removed) stay.push(message);
          if (sessionId) sessions.push(sessionId);
        }
      }
    } finally {
      this.progress = {};
    }
    await plan.forgetSessions([...new Set(sessions)]);
    await this.#plans.forget(planId);
    return { stay };
  }
}
