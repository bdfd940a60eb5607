// All plans of the user: what the engine asks for is carried out here, and what happens is told it. The engine
// (native/plan/) decides; its journal has every step before it is taken.

import { withLock } from "../../lib/keyed-mutex.mjs";
import { redactLine } from "../../lib/redact.mjs";
import { sleep } from "../../lib/timers.mjs";
import { errorMessage } from "../../lib/values.mjs";
import { inLine, plainLines, truncateText, visible } from "../../lib/visible.mjs";
import { addNodeIds, PlanError } from "./errors.mjs";
import { settleResult } from "./landing.mjs";
import { NodeRun } from "./node-runner.mjs";
import { MODEL_NOTICES, noticeText, PlanNotifier, Spans } from "./notifications.mjs";
import { openPlan } from "./plan-context.mjs";
import { hasAgents } from "./sandbox-consent.mjs";
import {
  checkChanges,
  checkNodes,
  PlanPreflight,
  preparePlan,
  probeOverlaps,
} from "./validation.mjs";
import { NODE_KEYS } from "./tool-schemas.mjs";
import { pick, sortPlans } from "./views.mjs";
import { Leftovers, WorktreeLifecycle } from "./worktree-lifecycle.mjs";

/** @typedef {import("../../feature-host/installation.mjs").Context} Context */
/** @typedef {import("../../link/control.mjs").InspectedSession} InspectedSession */
/** @typedef {import("./validation.mjs").Mistake} Mistake */

// Which plans are in memory: those that go on, and the ended ones looked at last. The journal has all of them.

/** Ended plans that stay, however long ago somebody looked at them. */
const MAX_ENDED = 8;
/** Whoever works on a plan looks at it more often than that. */
const IDLE_MS = 60_000;

export class PlanCache {
  #isEnded;
  #unload;
  #most;
  #idleMs;
  /** When each was looked at, the latest last. @type {Map<string, number>} */
  #usedAt = new Map();
  /** @type {NodeJS.Timeout | undefined} */
  #timer;

  /**
   * @param {object} of
   * @param {(planId: string) => boolean} of.isEnded nothing of it is left to be done
   * @param {(planId: string) => boolean} of.unload whether it is out of memory
   * @param {number} [of.most] @param {number} [of.idleMs]
   */
  constructor({ isEnded, unload, most = MAX_ENDED, idleMs = IDLE_MS }) {
    this.#isEnded = isEnded;
    this.#unload = unload;
    this.#most = most;
    this.#idleMs = idleMs;
  }

  /** @param {string} planId @param {number} [now] */
  touch(planId, now = Date.now()) {
    this.#usedAt.delete(planId);
    this.#usedAt.set(planId, now);
    if (this.#usedAt.size > this.#most) this.#scheduleEviction();
  }

  /** @param {string} planId */
  forget(planId) {
    this.#usedAt.delete(planId);
  }

  #scheduleEviction() {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.evict();
    }, this.#idleMs).unref();
  }

  /** Unloads the ended plans beyond the limit, once they are idle. @param {number} [now] */
  evict(now = Date.now()) {
    const ended = [...this.#usedAt].filter(([planId]) => this.#isEnded(planId));
    for (const [planId, at] of ended.slice(0, Math.max(0, ended.length - this.#most))) {
      if (now - at >= this.#idleMs && this.#unload(planId)) this.#usedAt.delete(planId);
      else this.#scheduleEviction();
    }
  }

  close() {
    clearTimeout(this.#timer);
  }
}

// What is known of a plan without its journal, what its end is followed by, and that it holds the gateway until then.
// All of it can be done again by the next host.

/** The gateway's host may have no descriptor or no room at the moment. */
const MAX_RELEASES = 60;
const RETRY_MS = 1000;
const MAX_CLOSE_CHECKS = 600;
const CLOSE_CHECK_MS = 50;

export class PlanLifecycle {
  #plans;
  #summaries;
  #holds;

  #note;

  /** @param {PlanManager} plans @param {Map<string, PlanSummary>} known @param {any} holds the service @param {(text: string) => void} note a diagnostic */
  constructor(plans, known, holds, note) {
    this.#note = note;
    this.#plans = plans;
    this.#summaries = known;
    this.#holds = holds;
  }

  /** @param {string} planId */
  #view(planId) {
    return this.#plans.view({ view: "plan", planId });
  }

  /** A plan that cannot hold the gateway goes on as long as there is one, and with the next one. @param {string} planId */
  async hold(planId) {
    const name = visible(this.#view(planId).name).slice(0, 80);
    try {
      await this.#holds.set(`plan-${planId}`, `plan ${planId} (${name})`);
    } catch (error) {
      this.#note(`plan ${planId} does not hold the gateway: ${errorMessage(error)}`);
    }
  }

  /** @param {string} planId */
  async #release(planId) {
    for (let left = MAX_RELEASES; left > 0; --left) {
      try {
        return await this.#holds.release(`plan-${planId}`);
      } catch (error) {
        if (left === 1) throw error;
        // Nobody waits for it once the gateway is gone.
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS).unref());
      }
    }
  }

  /** Keeps what is to be known of a plan without its journal. @param {string} planId @param {boolean} [over] whether nothing of it is left to be done */
  async describe(planId, over) {
    if (!this.#plans.engine.state().plans.includes(planId)) return this.#describeEnded(planId);
    const { name, status, total, createdAt, facts } = this.#view(planId);
    const { repo, cwd, session } = facts;
    const { about: before = {}, ended: was = false } = this.#summaries.get(planId) ?? {};
    const ended = over ?? was;
    const about = { ...before, name, status, total, repo, cwd, session, createdAt };
    const changedAt = Date.now();
    this.#summaries.set(planId, { ended, changedAt, about });
    await this.#plans.engine.describe(planId, ended, changedAt, JSON.stringify(about));
  }

  /** One that is not in memory: only what it is known by may have changed. @param {string} planId */
  async #describeEnded(planId) {
    const { ended, changedAt, about } = /** @type {PlanSummary} */ (this.#summaries.get(planId));
    await this.#plans.engine.describe(planId, ended, changedAt, JSON.stringify(about));
  }

  /** @param {string} planId */
  async begin(planId) {
    await Promise.all([this.hold(planId), this.describe(planId, false)]);
  }

  /**
   * Carries out what may begin an ended plan again: the next host has to know of that before.
   * @template T @param {string} planId @param {() => Promise<T>} work @returns {Promise<T>} what it returns
   */
  withReopenedPlan(planId, work) {
    return this.#withLock(planId, async () => {
      if (!this.#summaries.get(planId)?.ended) return work();
      await this.begin(planId);
      const refusal = await work();
      if (this.#view(planId).endedAt !== undefined) await this.#recordEnd(planId);
      return refusal;
    });
  }

  /** Else a plan that begins again while its end is recorded would be recorded as ended. @template T @param {string} planId @param {() => Promise<T>} work */
  #withLock(planId, work) {
    return withLock(`end ${planId}`, work);
  }

  /** A plan has ended: what follows from that, also where a former host has done a part of it. @param {string} planId */
  async handleEnd(planId) {
    const { signal } = this.#plans.ending;
    await settleResult(this.#plans, planId, signal).catch((error) => {
      if (!signal.aborted) this.#note(`plan ${planId}: ${errorMessage(error)}`);
    });
    if (signal.aborted) return;
    const seen = this.#view(planId);
    if (seen.endedAt === undefined) return; // a retry has come meanwhile
    await this.describe(planId);
    if (this.#summaries.get(planId)?.about.toldOf !== seen.endedAt) {
      const { about } = this.#summaries.get(planId) ?? { about: {} };
      about.toldOf = seen.endedAt; // before it is told: another look may come meanwhile
      await this.#plans.notifier.notifyModel(seen, "ended").catch(() => {});
      if (!about.traced) void this.#plans.spans.recordPlan(seen);
      about.traced = true;
    }
    await this.#plans.worktrees.close(planId, seen.endedAt);
  }

  /** What follows from the end of a plan is done, or fails. @param {string} planId */
  async waitUntilClosed(planId) {
    for (let left = MAX_CLOSE_CHECKS; left > 0 && !this.#summaries.get(planId)?.ended; --left) {
      await sleep(CLOSE_CHECK_MS);
    }
  }

  /**
   * Nothing is left to be done, unless the plan has begun again.
   * @param {string} planId @param {number} endedAt the end from which that follows @returns {Promise<boolean>} whether it is closed
   */
  close(planId, endedAt) {
    return this.#withLock(planId, async () => {
      if (this.#view(planId).endedAt !== endedAt) return false;
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

// What names a plan, and what it marks its worktrees with.

const PLAN_ID = 8;
const ID_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789";

/** Of the worktrees of a plan: that tap has made them. */
export const createNonce = () => crypto.randomUUID().replaceAll("-", "");

/** Short, and read without a mistake: no i, l, o, 0 or 1. */
export const createPlanId = () => {
  const letters = crypto.getRandomValues(new Uint8Array(PLAN_ID));
  return `p${[...letters].map((one) => ID_LETTERS[one % ID_LETTERS.length]).join("")}`;
};

// Those who wait for something of any plan to change.

export class ChangeSignal {
  /** @type {Set<() => void>} */
  #waiters = new Set();

  /** How many there are. */
  get size() {
    return this.#waiters.size;
  }

  /** Something has changed. */
  wake() {
    for (const done of this.#waiters) done();
  }

  /**
   * Until something changes, at most that long, and no longer than somebody waits for it.
   * @param {number} ms @param {AbortSignal} [left] nobody does @returns {Promise<void>}
   */
  wait(ms, left) {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        left?.removeEventListener("abort", done);
        this.#waiters.delete(done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      left?.addEventListener("abort", done);
      this.#waiters.add(done);
      if (left?.aborted) done();
    });
  }
}

const MAX_LINE = 200;
/** Each may have 10,000 nodes. */
const MAX_LIVE_PLANS = 32;

/** @typedef {{ended: boolean, changedAt: number, about: any, isNew?: boolean}} PlanSummary ended: nothing of it is left to be done; isNew: nothing is known of it yet */
/** @typedef {{cli: string, sdk: string}} Cli */
/**
 * A session; without an id: a person at a terminal, its PATH, and the CLI on it; consents: he has said yes to what the
 * plan opens of its sandbox.
 * @typedef {{id: string, cwd: string, path?: string, cli?: Cli, consents?: boolean}} Asker
 */

/** @param {string} why @param {string} outcome */
const createJournalError = (why, outcome) =>
  new PlanError(
    "JOURNAL_UNWRITABLE",
    `the journal of plans cannot be written (${visible(why)}), so ${outcome}: free some space on its disk`,
  );

export class PlanManager {
  #context;
  #services;
  /** @type {import("../../feature-host/plan-services.mjs").Engine | undefined} */
  #engine;
  #models;
  /** Those that can be asked for, with what is known of each. @type {Map<string, PlanSummary>} */
  #summaries = new Map();
  /** @type {Map<string, Promise<import("./plan-context.mjs").PlanContext>>} */
  #open = new Map();
  /** By plan and node. @type {Map<string, NodeRun>} */
  #runs = new Map();
  /** The last line of each, by plan and node. @type {Map<string, string>} */
  #lines = new Map();
  changeSignal = new ChangeSignal();
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #trouble = "";
  /** Of those that wait for the journal. @type {Set<() => void>} */
  #stops = new Set();
  /** With the host. */
  ending = new AbortController();
  /** Inputs that the engine has had. */
  changes = 0;
  /** The folder of all logs. */
  logs = "";

  /** @param {Context} context @param {import("./models.mjs").AvailableModels} models */
  constructor(context, models) {
    this.#models = models;
    this.#context = context;
    this.#services = context.services;
    this.preflight = new PlanPreflight(context.services);
    this.spans = new Spans(context.services);
    const note = (/** @type {string} */ text) => context.diagnostics.add(text);
    this.note = note;
    this.worktrees = new WorktreeLifecycle(this, note);
    this.leftovers = new Leftovers(this, context);
    this.lifecycle = new PlanLifecycle(this, this.#summaries, context.services.holds, note);
    this.cache = new PlanCache({
      isEnded: (planId) => this.#summaries.get(planId)?.ended === true,
      unload: (planId) => {
        this.#open.delete(planId);
        return this.engine.unload(planId);
      },
    });
    this.notifier = new PlanNotifier(context, this.#summaries, (planId) =>
      this.lifecycle.describe(planId),
    );
  }

  get engine() {
    return /** @type {import("../../feature-host/plan-services.mjs").Engine} */ (this.#engine);
  }

  /** Why nothing goes on: the journal cannot be written. "": all is well. */
  get trouble() {
    return this.#trouble;
  }

  /** Opens the journal; what ran when the last host ended goes on. */
  async start() {
    const { maxWorkers, maxAgents, workerMemory } = await this.#services.settings.plans();
    const { plans, known, folder } = await this.#services.plans.open({
      ...{ maxWorkers, maxAgents, workerMemory },
      onEffect: (/** @type {string} */ json) => void this.#applyEffect(JSON.parse(json)),
      onTrouble: (/** @type {string} */ why) => this.#noteTrouble(why),
      onSleep: (/** @type {string} */ why) => this.notifier.noteSleep(why),
    });
    this.#engine = plans;
    this.logs = folder;
    const { aside } = plans.state();
    if (aside) this.notifier.noteDamage(aside);
    for (const { planId, ...rest } of known) this.#summaries.set(planId, rest);
    for (const [id, { ended }] of this.#summaries) {
      if (ended) continue;
      const problem = await plans.load(id);
      if (problem) this.#context.diagnostics.add(`plan ${id} cannot be read: ${problem}`);
      else await this.lifecycle.hold(id);
    }
    for (const id of this.engine.state().plans) {
      await this.#logErrors(id, () => this.worktrees.resume(id));
    }
    await this.submit({ input: "recover" });
    for (const id of this.engine.state().plans) {
      // What followed from its end, a former host may have had no time for.
      const { endedAt } = this.view({ view: "plan", planId: id });
      if (endedAt !== undefined) void this.#logErrors(id, () => this.lifecycle.handleEnd(id));
    }
    this.leftovers.scanForOrphans();
  }

  /** @param {string} planId @param {() => Promise<void>} work */
  async #logErrors(planId, work) {
    try {
      await work();
    } catch (error) {
      if (!this.ending.signal.aborted)
        this.#context.diagnostics.add(`plan ${planId}: ${errorMessage(error)}`);
    }
  }

  /** @param {string} why */
  #noteTrouble(why) {
    this.#trouble = why;
    this.#context.diagnostics.add(this.notifier.notifyTrouble(why));
    if (why !== "") this.#stops.forEach((stop) => stop());
  }

  /** Until the journal has it, or cannot be written: then it is written later. @template T @param {Promise<T>} taken @returns {Promise<T>} */
  async #waitForJournal(taken) {
    /** @type {() => void} */
    let stop = () => {};
    const stopped = new Promise((_, reject) => {
      stop = () => reject(createJournalError(this.#trouble, "the request is carried out later"));
    });
    this.#stops.add(stop);
    try {
      return await Promise.race([taken, /** @type {Promise<never>} */ (stopped)]);
    } finally {
      this.#stops.delete(stop);
    }
  }

  /** An input of the engine. @param {object} input @returns {Promise<string>} why it was refused, as JSON; "": taken */
  async submit(input) {
    const refusal = await this.engine.input(JSON.stringify(input));
    this.#setTimer();
    this.changes += 1;
    this.changeSignal.wake();
    return refusal;
  }

  /** An input that somebody asked for. @param {{input: string, planId?: string, [field: string]: any}} input */
  async submitOrThrow(input) {
    const { planId = "" } = input;
    this.#requireJournal();
    const given = input.input === "retry" ? this.worktrees.adjustRetry(input) : input;
    const taken = this.lifecycle.withReopenedPlan(planId, () => this.submit(given));
    // The refs of an import are removed where it fails.
    const refusal = await (input.input === "import" ? taken : this.#waitForJournal(taken));
    if (refusal === "") return;
    const { code, message, ...detail } = JSON.parse(refusal);
    throw new PlanError(code, message, addNodeIds(detail, input.plan?.nodes ?? input.nodes));
  }

  /**
   * Retries that the journal takes together: nodes that start meanwhile do not slow down the rest.
   * @param {string} planId @param {{input: "retry", planId: string, nodeId: string}[]} inputs
   * @returns {Promise<string[]>} as submit() returns it, of each
   */
  submitRetries(planId, inputs) {
    this.#requireJournal();
    const submitAll = () =>
      Promise.all(inputs.map((one) => this.submit(this.worktrees.adjustRetry(one))));
    return this.#waitForJournal(this.lifecycle.withReopenedPlan(planId, submitAll));
  }

  #requireJournal() {
    if (this.#trouble !== "") throw createJournalError(this.#trouble, "nothing was done");
  }

  #setTimer() {
    clearTimeout(this.#timer);
    const { wakeAt } = this.engine.state();
    if (wakeAt === undefined || this.ending.signal.aborted) return;
    const ms = Math.min(Math.max(wakeAt - Date.now(), 1), 2 ** 30);
    this.#timer = setTimeout(() => void this.submit({ input: "due" }), ms);
  }

  // ---- effects -------------------------------------------------------------------------------------

  /** @param {Record<string, any>} effect */
  async #applyEffect(effect) {
    const { planId } = effect;
    try {
      if (effect.effect === "run") await this.#run(effect);
      else if (effect.effect === "stop") await this.#stop(effect);
      else if (effect.effect === "clean-up") {
        await this.worktrees.cleanUp(/** @type {any} */ (effect));
      } else if (effect.effect === "probe") await probeOverlaps(this, effect);
      else await this.#notify(effect);
    } catch (error) {
      if (this.ending.signal.aborted) return;
      this.#context.diagnostics.add(`plan ${planId}: ${effect.effect}: ${errorMessage(error)}`);
    }
  }

  /** @param {string} planId */
  openPlan(planId) {
    const open = this.#open.get(planId) ?? openPlan(this, this.#services, planId);
    this.#open.set(planId, open);
    open.catch(() => this.#open.delete(planId));
    return open;
  }

  /** @param {Record<string, any>} effect */
  async #run(effect) {
    const { planId, node, phase, current } = effect;
    const key = `${planId}/${node.id}`;
    /** @type {NodeRun | undefined} */
    let run;
    try {
      const plan = await this.openPlan(planId);
      run = new NodeRun({
        ...{ plan, effect, services: this.#services, spans: this.spans },
        tell: (input) => this.submit(input),
        onAgent: (workers, cli) => void this.#models.fetchFromWorkers(workers, cli),
        requirePermission: (use) =>
          this.preflight.requirePermission(/** @type {any} */ (plan.facts), use, run?.signal),
        findSession: async () =>
          plan.facts.session && this.preflight.findSession(plan.facts.session),
        onLine: (id, line) =>
          this.#lines.set(`${planId}/${id}`, truncateText(redactLine(plainLines(line)), MAX_LINE)),
      });
      this.#runs.set(key, run);
      this.#services.plans.awake(key, true).catch(() => {});
      await run.runPhase();
      const seen = this.view({ view: "node", planId, nodeId: node.id });
      void this.spans.recordAttempt(plan, seen, current.attempt, phase);
    } catch (error) {
      // The repository cannot be opened any more.
      const of = { planId, nodeId: node.id, attempt: current.attempt, phase };
      const { code = "FAILED" } = /** @type {any} */ (error);
      const detail = { error: { code, message: errorMessage(error) } };
      await this.submit({ input: "phase-ended", ...of, outcome: "failed", detail });
    } finally {
      if (this.#runs.get(key) === run) {
        this.#runs.delete(key);
        this.#services.plans.awake(key, false).catch(() => {});
      }
      if (run?.signal.aborted && !this.ending.signal.aborted) {
        await this.submit({ input: "stopped", planId, nodeId: node.id });
      }
    }
  }

  /** @param {Record<string, any>} effect */
  async #stop({ planId, node }) {
    const run = this.#runs.get(`${planId}/${node}`);
    if (run) run.stop();
    else await this.submit({ input: "stopped", planId, nodeId: node });
  }

  /** @param {Record<string, any>} effect */
  async #notify({ planId, kind, node }) {
    const seen = this.view({ view: "plan", planId });
    this.notifier.show(seen, noticeText(kind, seen, node));
    const { nodes } = kind === "ended" ? this.view({ view: "graph", planId }) : { nodes: [] };
    this.notifier.record(seen, kind, node, nodes);
    if (kind === "ended") return this.lifecycle.handleEnd(planId);
    if (!MODEL_NOTICES.includes(kind)) return;
    await this.lifecycle.describe(planId);
    await this.notifier.notifyModel(seen, kind, node);
  }

  /** Its worktrees are gone: there is nothing left to be done. @param {string} planId @param {number} endedAt before they went */
  async completeClose(planId, endedAt) {
    if (await this.lifecycle.close(planId, endedAt)) this.#open.delete(planId);
  }

  /** @param {string} planId */
  async forget(planId) {
    await this.engine.remove(planId);
    await this.#services.plans.removeLogs(planId);
    this.#summaries.delete(planId);
    this.#open.delete(planId);
    this.cache.forget(planId);
  }

  // ---- plans ---------------------------------------------------------------------------------------

  /** @param {object} asked @returns {any} */
  view(asked) {
    const answer = JSON.parse(this.engine.view(JSON.stringify(asked)));
    if (!answer.refused) {
      this.cache.touch(/** @type {any} */ (asked).planId);
      return answer;
    }
    const { code, message } = answer.refused;
    throw new PlanError(code, message);
  }

  /** @param {string} planId */
  has(planId) {
    return this.#summaries.has(planId);
  }

  /** Takes an ended plan from the journal. @param {string} planId its id, or how that begins @returns {Promise<string>} its id */
  async require(planId) {
    if (typeof planId !== "string" || !this.#summaries.has(planId)) {
      const found = [...this.#summaries.keys()].filter(
        (id) => typeof planId === "string" && planId !== "" && id.startsWith(planId),
      );
      if (found.length === 1) return this.require(found[0]);
      if (found.length > 1) {
        const some = found.slice(0, 10).join(", ");
        throw new PlanError("AMBIGUOUS", `several plans begin so: ${some}`);
      }
      throw new PlanError(
        "UNKNOWN_PLAN",
        `there is no plan ${visible(String(planId)).slice(0, 64)}; list_copilot_plans lists those that there are`,
      );
    }
    if (!this.engine.state().plans.includes(planId)) {
      const problem = await this.engine.load(planId);
      const isHere = this.engine.state().plans.includes(planId); // somebody else has taken it, too
      if (problem && !isHere)
        throw new PlanError("UNREADABLE", `plan ${planId} cannot be read: ${problem}`);
    }
    this.cache.touch(planId);
    return planId;
  }

  /**
   * @param {Record<string, any>} given as docs/plans.md has it @param {Asker} asker
   * @param {{planId?: string, found?: Mistake[]}} [how] found: what is wrong already
   * @returns {Promise<{planId: string, notes: string[]}>}
   */
  async create(given, asker, { planId = createPlanId(), found } = {}) {
    const { facts, notes, target } = await preparePlan(this, given, asker, found);
    const plan = target === undefined ? given : { ...given, targetBranch: target };
    this.#requireRoom();
    await this.preflight.requireApproval(plan, asker, { root: facts.repo });
    await this.adopt(planId, { input: "create", plan, facts });
    this.leftovers.queueScan(facts.repo);
    return { planId, notes };
  }

  #requireRoom() {
    if (this.engine.state().live < MAX_LIVE_PLANS) return;
    const text = `${MAX_LIVE_PLANS} plans have not ended: cancel one, or wait`;
    throw new PlanError("TOO_MANY", text);
  }

  /** A plan that is new here. @param {string} planId @param {{input: string, facts: object, [field: string]: any}} input of the engine */
  async adopt(planId, input) {
    this.#requireRoom();
    this.#summaries.set(planId, { ended: false, changedAt: Date.now(), about: {}, isNew: true });
    try {
      await this.submitOrThrow({
        ...input,
        planId,
        facts: { ...input.facts, nonce: createNonce() },
      });
    } catch (error) {
      this.#summaries.delete(planId);
      throw error;
    }
    // One that was imported may have ended.
    const { endedAt } = this.view({ view: "plan", planId });
    await (endedAt === undefined
      ? this.lifecycle.begin(planId)
      : this.lifecycle.describe(planId, true));
  }

  /** Whether it could be made; nothing is. @param {Record<string, any>} given @param {Asker} asker */
  async validate(given, asker) {
    const { notes } = await preparePlan(this, given, asker);
    return { notes };
  }

  /**
   * @param {{planId: string, nodeId?: string, from?: string}} given of the call @param {Asker} asker
   * @param {string} what "pause"
   */
  requireControl({ planId, nodeId, from }, asker, what) {
    const seen = this.view({ view: "plan", planId });
    const listStarts = () => {
      const { head, nodes } = this.view({ view: "graph", planId });
      return {
        ...head,
        nodes: nodes
          .filter((/** @type {any} */ one) => one.status !== "succeeded" && !one.replacedBy)
          .map((/** @type {any} */ node) => ({
            ...pick(node, NODE_KEYS),
            retryInstructions: this.#readRetryInstructions(planId, node),
          })),
      };
    };
    const starts = /^(?:resume|retry)/.test(what) ? listStarts : undefined;
    const act =
      nodeId === undefined
        ? what
        : `${what} (node ${inLine(nodeId)}, ${from ?? "from where it failed"})`;
    return this.preflight.requireControl(seen, asker, act, starts);
  }

  /** Of a retry that has not begun. @param {string} planId @param {any} node @returns {string | undefined} */
  #readRetryInstructions(planId, { id, status, attempt }) {
    if (!attempt || !["pending", "ready", "blocked"].includes(status)) return undefined;
    const { attempts } = this.view({ view: "node", planId, nodeId: id });
    return attempts.at(-1).request?.instructions;
  }

  /** @param {string} planId @param {Asker} asker */
  requireOwner(planId, asker) {
    return this.preflight.requireOwner(this.view({ view: "plan", planId }).facts, asker);
  }

  /**
   * @param {string} planId @param {unknown[]} nodes @param {Asker} asker @param {Mistake[]} [known] what is wrong already
   * @param {{reopens?: boolean, replaces?: string}} [how] a person's: a plan that has ended goes on; which node the new
   *   one takes the place of
   */
  async add(planId, nodes, asker, known, how = {}) {
    await this.requireOwner(planId, asker);
    await checkNodes(this, { planId, nodes, ...how }, asker, known);
    await this.preflight.requireApproval({ nodes }, asker, this.#openingContext(planId));
    await this.submitOrThrow({ input: "add", planId, nodes, ...how });
  }

  /** @param {string} planId @param {string} nodeId @param {unknown} changes fields of the node @param {Asker} asker */
  async edit(planId, nodeId, changes, asker) {
    await this.requireOwner(planId, asker);
    await checkChanges(this, { planId, changes }, asker);
    const node = this.view({ view: "node", planId, nodeId });
    const edited = { ...node, .../** @type {object} */ (changes) };
    // An agent gets nothing that only a command had.
    const before = hasAgents([node]) || !hasAgents([edited]) ? { nodes: [node] } : undefined;
    const toPath = (/** @type {string} */ path) => path.replace(/^nodes\[0\]\./, "");
    const context = { ...this.#openingContext(planId), before, toPath };
    await this.preflight.requireApproval({ nodes: [edited] }, asker, context);
    await this.submitOrThrow({ input: "edit", planId, nodeId, changes });
  }

  /** What is given for a plan is beside what that says. @param {string} planId */
  #openingContext(planId) {
    const { head } = this.view({ view: "graph", planId });
    return { root: this.view({ view: "plan", planId }).facts.repo, ofPlan: head };
  }

  /** All plans, in the order of their pages; not one that is still being made. @param {string} cwd the asker's */
  list(cwd) {
    const made = [...this.#summaries].filter(([, { isNew = false }]) => !isNew);
    const all = made.map(([planId, { changedAt, about }]) => {
      const live = this.engine.state().plans.includes(planId);
      const status = live ? this.view({ view: "plan", planId }).status : about.status;
      return { planId, changedAt, ...about, status };
    });
    return sortPlans(all, cwd);
  }

  /** The last line that each running node printed. @param {string} planId @param {string} node */
  lastLine(planId, node) {
    return this.#runs.has(`${planId}/${node}`) ? (this.#lines.get(`${planId}/${node}`) ?? "") : "";
  }

  /** @param {object} asked */
  readLog(asked) {
    return this.#services.plans.readLog(asked);
  }

  async close() {
    this.ending.abort();
    clearTimeout(this.#timer);
    this.cache.close();
    for (const run of this.#runs.values()) run.stop();
  }
}
