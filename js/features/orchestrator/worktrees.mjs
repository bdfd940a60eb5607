// The worktrees of plans after their work: given back, removed, and what was in them landed.

import { messageOf } from "../../base/errors.mjs";
import { inTurn } from "../../base/in-turn.mjs";
import { visible } from "../../base/visible.mjs";
import { PlanError, unlessGone } from "./plan-error.mjs";

/** @typedef {import("./plans.mjs").Plans} Plans */

/** The plan cannot be deleted again. @param {number} count of worktrees that stay @param {string} root of the checkout */
const cleanText = (count, root) => {
  const them = count === 1 ? "it" : "them";
  return `Then copilot-tap plan clean, in ${visible(root)}, keeps what is in ${them}, and removes ${them}.`;
};

export class Worktrees {
  #plans;
  #note;
  /** Of the last removal of a plan. @type {{done?: number, total?: number}} */
  progress = {};

  /** @param {Plans} plans @param {(text: string) => void} note a diagnostic */
  constructor(plans, note) {
    this.#plans = plans;
    this.#note = note;
  }

  /** One after the other, so that the end of a plan comes after all. @param {string} planId @param {() => Promise<void>} work */
  #inTurn(planId, work) {
    return inTurn(`worktrees ${planId}`, work);
  }

  /** A node is done with its worktree. @param {{planId: string, node: string}} effect */
  async cleanUp({ planId, node }) {
    // Its next attempt may work in another one before this one's turn comes.
    const { attempt } = this.#plans.view({ view: "node", planId, nodeId: node });
    const worktree = this.#allOf(planId, node).find((one) => one.attempt === attempt);
    if (worktree) await this.#giveBack(planId, worktree);
  }

  /** @param {string} planId @param {any} worktree what was recorded of it */
  #giveBack(planId, worktree) {
    return this.#inTurn(planId, async () => {
      const plan = await this.#plans.openPlan(planId);
      if (plan.head.cleanUpSuccessfulWork === false) return;
      if (worktree.sessionId) await plan.forgetSessions([worktree.sessionId]);
      const { removed, pooled, message } = await plan.giveBack(worktree);
      if (!removed && !pooled) this.#note(`plan ${planId}/${worktree.node}: ${message}`);
    });
  }

  /** Before anything of the plan runs: what a former host had on its way out, or in its pool. @param {string} planId */
  async goOn(planId) {
    const plan = await this.#plans.openPlan(planId);
    await plan.settleResult(AbortSignal.abort()).catch((error) => {
      plan.unsettled = true;
      this.#noteOf(planId, error);
    });
    if (plan.head.cleanUpSuccessfulWork === false) return;
    const { nodes } = this.#plans.view({ view: "graph", planId });
    // A node that lands again has begun its next attempt, and nobody else removes the worktree of the one before.
    const done = nodes
      .filter((/** @type {any} */ { attempt }) => attempt)
      .flatMap((/** @type {any} */ { id }) => this.#allOf(planId, id))
      .filter((/** @type {any} */ { succeeded }) => succeeded);
    if (done.length === 0) return;
    const of = { plan: planId, nonce: plan.facts.nonce };
    for (const worktree of await plan.git.remainsOf(plan.worktrees, of, done)) {
      void this.#giveBack(planId, worktree).catch((error) => this.#noteOf(planId, error));
    }
  }

  /** @param {string} planId @param {unknown} error */
  #noteOf(planId, error) {
    this.#note(`plan ${planId}: ${messageOf(error)}`);
  }

  /** Each attempt from the start has one of its own; the last attempt that had it counts; succeeded: of one of them, so that none works in it any more. @param {string} planId @param {string} node @returns {any[]} */
  #allOf(planId, node) {
    const seen = this.#plans.view({ view: "node", planId, nodeId: node });
    /** @type {Map<string, any>} */
    const byPath = new Map();
    for (const { attempt, status, steps } of seen.attempts) {
      const { worktree, sessionId } = Object.assign({}, ...steps);
      if (!worktree?.path) continue;
      // A merge that was shown to its checks is made again when it lands.
      const shown = steps.map((/** @type {any} */ { shows }) => shows);
      const known = [seen.commit, ...shown].filter(Boolean);
      const succeeded = status === "succeeded" || byPath.get(worktree.path)?.succeeded === true;
      const of = { plan: planId, node, attempt, succeeded };
      byPath.set(worktree.path, { ...worktree, sessionId, ...of, known });
    }
    return [...byPath.values()];
  }

  /**
   * A node that had its worktree elsewhere, before its plan was imported, can only begin again.
   * @template {Record<string, any>} T @param {T} input the retry that is asked for @returns {T}
   */
  retryOf(input) {
    const { planId, nodeId } = input;
    const { attempts, landsAgain } = this.#plans.view({ view: "node", planId, nodeId });
    if (landsAgain) return input; // its phase makes a worktree if it needs one
    const { worktree } = Object.assign({}, ...(attempts.at(-1)?.steps ?? []));
    return worktree && !worktree.path ? { ...input, from: "start" } : input;
  }

  /** Nothing of the plan runs any more. @param {string} planId @param {number} endedAt since then */
  close(planId, endedAt) {
    return this.#inTurn(planId, async () => {
      await this.#drain(planId).catch((error) => this.#noteOf(planId, error));
      await this.#plans.closed(planId, endedAt);
    });
  }

  /** @param {string} planId */
  async #drain(planId) {
    const plan = await this.#plans.openPlan(planId);
    for (const { removed, message } of await plan.pool.drain()) {
      if (!removed) this.#note(`plan ${planId}: ${message}`);
    }
    await plan.git.expireKept(plan.repository, { now: Date.now() });
  }

  /** @param {string} planId */
  async remove(planId) {
    const seen = this.#plans.view({ view: "plan", planId });
    if (seen.endedAt === undefined)
      throw new PlanError("WRONG_STATE", `plan ${planId} has not ended: cancel it first`);
    await this.#plans.ends.untilClosed(planId); // git of ours is at work in its worktrees until then
    const plan = await this.#plans.openPlan(planId).catch(unlessGone);
    if (plan === undefined) return this.#forgetAlone(planId, seen.facts.repo);
    const { nodes } = this.#plans.view({ view: "graph", planId });
    const stay = [];
    const sessions = [];
    try {
      for (const [done, { id }] of nodes.entries()) {
        this.progress = { done, total: nodes.length };
        for (const { sessionId, ...record } of this.#allOf(planId, id)) {
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
    const unmarked = (/** @type {unknown} */ error) => this.#noteOf(planId, error);
    await plan.git.markDeleted(plan.repository, planId).catch(unmarked);
    await this.#plans.forget(planId);
    return { stay, ...(stay.length > 0 && { next: cleanText(stay.length, plan.repository.root) }) };
  }

  /** @param {string} planId @param {string} repo that is gone, or elsewhere for a while */
  async #forgetAlone(planId, repo) {
    await this.#plans.forget(planId);
    const next = `${visible(repo)} is gone. Where it is back, copilot-tap plan clean there keeps and removes what is left.`;
    return { stay: [], next };
  }
}
