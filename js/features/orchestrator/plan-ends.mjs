// What is known of a plan without its journal, what its end is followed by, and that it holds the gateway until then.
// All of it can be done again by the next host.

import { messageOf } from "../../base/errors.mjs";
import { inTurn } from "../../base/in-turn.mjs";
import { sleep } from "../../base/patience.mjs";
import { visible } from "../../base/visible.mjs";
import { settleResult } from "./landing.mjs";

/** The gateway's host may have no descriptor or no room at the moment. */
const MOST_RELEASES = 60;
const AGAIN_MS = 1000;
const MOST_LOOKS = 600;
const LOOK_MS = 50;

/** @typedef {import("./plans.mjs").Plans} Plans */
/** @typedef {import("./plans.mjs").Known} Known */

export class Ends {
  #plans;
  #known;
  #holds;

  #note;

  /** @param {Plans} plans @param {Map<string, Known>} known @param {any} holds the service @param {(text: string) => void} note a diagnostic */
  constructor(plans, known, holds, note) {
    this.#note = note;
    this.#plans = plans;
    this.#known = known;
    this.#holds = holds;
  }

  /** @param {string} planId */
  #seen(planId) {
    return this.#plans.view({ view: "plan", planId });
  }

  /** A plan that cannot hold the gateway goes on as long as there is one, and with the next one. @param {string} planId */
  async hold(planId) {
    const name = visible(this.#seen(planId).name).slice(0, 80);
    try {
      await this.#holds.set(`plan-${planId}`, `plan ${planId} (${name})`);
    } catch (error) {
      this.#note(`plan ${planId} does not hold the gateway: ${messageOf(error)}`);
    }
  }

  /** @param {string} planId */
  async #release(planId) {
    for (let left = MOST_RELEASES; left > 0; --left) {
      try {
        return await this.#holds.release(`plan-${planId}`);
      } catch (error) {
        if (left === 1) throw error;
        // Nobody waits for it once the gateway is gone.
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS).unref());
      }
    }
  }

  /** Keeps what is to be known of a plan without its journal. @param {string} planId @param {boolean} [over] whether nothing of it is left to be done */
  async describe(planId, over) {
    if (!this.#plans.engine.state().plans.includes(planId)) return this.#describeEnded(planId);
    const { name, status, total, createdAt, facts } = this.#seen(planId);
    const { repo, cwd, session } = facts;
    const { about: before = {}, ended: was = false } = this.#known.get(planId) ?? {};
    const ended = over ?? was;
    const about = { ...before, name, status, total, repo, cwd, session, createdAt };
    const changedAt = Date.now();
    this.#known.set(planId, { ended, changedAt, about });
    await this.#plans.engine.describe(planId, ended, changedAt, JSON.stringify(about));
  }

  /** One that is not in memory: only what it is known by may have changed. @param {string} planId */
  async #describeEnded(planId) {
    const { ended, changedAt, about } = /** @type {Known} */ (this.#known.get(planId));
    await this.#plans.engine.describe(planId, ended, changedAt, JSON.stringify(about));
  }

  /** @param {string} planId */
  async begin(planId) {
    await Promise.all([this.hold(planId), this.describe(planId, false)]);
  }

  /**
   * Carries out what may begin an ended plan again: the next host has to know of that before.
   * @param {string} planId @param {() => Promise<string>} work @returns {Promise<string>} what it returns
   */
  mayBegin(planId, work) {
    return this.#inTurn(planId, async () => {
      if (!this.#known.get(planId)?.ended) return work();
      await this.begin(planId);
      const refusal = await work();
      if (this.#seen(planId).endedAt !== undefined) await this.#recordEnd(planId);
      return refusal;
    });
  }

  /** Else a plan that begins again while its end is recorded would be recorded as ended. @template T @param {string} planId @param {() => Promise<T>} work */
  #inTurn(planId, work) {
    return inTurn(`end ${planId}`, work);
  }

  /** A plan has ended: what follows from that, also where a former host has done a part of it. @param {string} planId */
  async settle(planId) {
    const { signal } = this.#plans.ending;
    await settleResult(this.#plans, planId, signal).catch((error) => {
      if (!signal.aborted) this.#note(`plan ${planId}: ${messageOf(error)}`);
    });
    if (signal.aborted) return;
    const seen = this.#seen(planId);
    if (seen.endedAt === undefined) return; // a retry has come meanwhile
    await this.describe(planId);
    if (this.#known.get(planId)?.about.toldOf !== seen.endedAt) {
      const { about } = this.#known.get(planId) ?? { about: {} };
      about.toldOf = seen.endedAt; // before it is told: another look may come meanwhile
      await this.#plans.news.tellModel(seen, "ended").catch(() => {});
      if (!about.traced) void this.#plans.spans.plan(seen);
      about.traced = true;
    }
    await this.#plans.worktrees.close(planId, seen.endedAt);
  }

  /** What follows from the end of a plan is done, or fails. @param {string} planId */
  async untilClosed(planId) {
    for (let left = MOST_LOOKS; left > 0 && !this.#known.get(planId)?.ended; --left) {
      await sleep(LOOK_MS);
    }
  }

  /**
   * Nothing is left to be done, unless the plan has begun again.
   * @param {string} planId @param {number} endedAt the end from which that follows @returns {Promise<boolean>} whether it is closed
   */
  close(planId, endedAt) {
    return this.#inTurn(planId, async () => {
      if (this.#seen(planId).endedAt !== endedAt) return false;
      await this.#recordEnd(planId);
      return true;
    });
  }

  /** @param {string} planId */
  async #recordEnd(planId) {
    await this.#release(planId);
    await this.describe(planId, true);
  }
}
