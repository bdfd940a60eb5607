// All plans of the user: what the engine asks for is carried out here, and what happens is told it. The engine
// (native/plan/) decides; its journal has every step before it is taken.

import { messageOf } from "../../base/errors.mjs";
import { shownLine } from "../../base/redact.mjs";
import { visible } from "../../base/visible.mjs";
import { NodeRun } from "./node-run.mjs";
import { Loaded } from "./loaded.mjs";
import { Making } from "./making.mjs";
import { Leftovers } from "./leftovers.mjs";
import { checkNodes, preparedPlan } from "./mistakes.mjs";
import { News, noticeText, TOLD } from "./news.mjs";
import { named, PlanError } from "./plan-error.mjs";
import { probe } from "./overlaps.mjs";
import { Ends } from "./plan-ends.mjs";
import { inOrder } from "./pages.mjs";
import { openPlan } from "./plan-folder.mjs";
import { newId, newNonce } from "./plan-ids.mjs";
import { Spans } from "./spans.mjs";
import { Waiting } from "./waiting.mjs";
import { Worktrees } from "./worktrees.mjs";

const MOST_LINE = 200;
/** Each may have 10,000 nodes. */
const MOST_LIVE = 32;

/** @typedef {import("../../registry/installation.mjs").Context} Context */
/** @typedef {import("../../base/control.mjs").InspectedSession} InspectedSession */
/** @typedef {{ended: boolean, changedAt: number, about: any, isNew?: boolean}} Known ended: nothing of it is left to be done; isNew: nothing is known of it yet */
/** @typedef {{cli: string, sdk: string}} Cli */
/** @typedef {import("./mistakes.mjs").Mistake} Mistake */
/**
 * A session; without an id: a person at a terminal, its PATH, and the CLI on it.
 * @typedef {{id: string, cwd: string, path?: string, cli?: Cli}} Asker
 */

export class Plans {
  #context;
  #services;
  /** @type {import("../../feature-host/plan-work.mjs").Engine | undefined} */
  #engine;
  #models;
  /** Those that can be asked for, with what is known of each. @type {Map<string, Known>} */
  #known = new Map();
  /** @type {Map<string, Promise<import("./plan-folder.mjs").OpenPlan>>} */
  #open = new Map();
  /** By plan and node. @type {Map<string, NodeRun>} */
  #running = new Map();
  /** The last line of each, by plan and node. @type {Map<string, string>} */
  #lines = new Map();
  waiting = new Waiting();
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #trouble = "";
  /** With the host. */
  ending = new AbortController();
  /** Inputs that the engine has had. */
  changes = 0;
  /** The folder of all logs. */
  logs = "";

  /** @param {Context} context @param {import("./offered-models.mjs").OfferedModels} models */
  constructor(context, models) {
    this.#models = models;
    this.#context = context;
    this.#services = context.services;
    this.making = new Making(context.services);
    this.spans = new Spans(context.services);
    const note = (/** @type {string} */ text) => context.diagnostics.add(text);
    this.note = note;
    this.worktrees = new Worktrees(this, note);
    this.leftovers = new Leftovers(this, context);
    this.ends = new Ends(this, this.#known, context.services.holds, note);
    this.loaded = new Loaded({
      isEnded: (planId) => this.#known.get(planId)?.ended === true,
      unload: (planId) => {
        this.#open.delete(planId);
        return this.engine.unload(planId);
      },
    });
    this.news = new News(context, this.#known, (planId) => this.ends.describe(planId));
  }

  get engine() {
    return /** @type {import("../../feature-host/plan-work.mjs").Engine} */ (this.#engine);
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
      onEffect: (/** @type {string} */ json) => void this.#carryOut(JSON.parse(json)),
      onTrouble: (/** @type {string} */ why) => this.#noteTrouble(why),
      onSleep: (/** @type {string} */ why) => this.news.noteSleep(why),
    });
    this.#engine = plans;
    this.logs = folder;
    for (const { planId, ...rest } of known) this.#known.set(planId, rest);
    for (const [id, { ended }] of this.#known) {
      if (ended) continue;
      const problem = await plans.load(id);
      if (problem) this.#context.diagnostics.add(`plan ${id} cannot be read: ${problem}`);
      else await this.ends.hold(id);
    }
    for (const id of this.engine.state().plans) {
      await this.#quietly(id, () => this.worktrees.goOn(id));
    }
    await this.tell({ input: "recover" });
    for (const id of this.engine.state().plans) {
      // What followed from its end, a former host may have had no time for.
      const { endedAt } = this.view({ view: "plan", planId: id });
      if (endedAt !== undefined) void this.#quietly(id, () => this.ends.settle(id));
    }
    this.leftovers.lookAround();
  }

  /** @param {string} planId @param {() => Promise<void>} work */
  async #quietly(planId, work) {
    try {
      await work();
    } catch (error) {
      if (!this.ending.signal.aborted)
        this.#context.diagnostics.add(`plan ${planId}: ${messageOf(error)}`);
    }
  }

  /** @param {string} why */
  #noteTrouble(why) {
    this.#trouble = why;
    this.#context.diagnostics.add(this.news.tellTrouble(why));
  }

  /** An input of the engine. @param {object} input @returns {Promise<string>} why it was refused, as JSON; "": taken */
  async tell(input) {
    const refusal = await this.engine.input(JSON.stringify(input));
    this.#setTimer();
    this.changes += 1;
    this.waiting.wake();
    return refusal;
  }

  /** An input that somebody asked for. @param {{input: string, planId?: string, [field: string]: any}} input */
  async ask(input) {
    const { planId = "" } = input;
    const given = input.input === "retry" ? this.worktrees.retryOf(input) : input;
    const refusal = await this.ends.mayBegin(planId, () => this.tell(given));
    if (refusal === "") return;
    const { code, message, ...detail } = JSON.parse(refusal);
    throw new PlanError(code, message, named(detail, input.plan?.nodes ?? input.nodes));
  }

  #setTimer() {
    clearTimeout(this.#timer);
    const { wakeAt } = this.engine.state();
    if (wakeAt === undefined || this.ending.signal.aborted) return;
    const ms = Math.min(Math.max(wakeAt - Date.now(), 1), 2 ** 30);
    this.#timer = setTimeout(() => void this.tell({ input: "due" }), ms);
  }

  // ---- effects -------------------------------------------------------------------------------------

  /** @param {Record<string, any>} effect */
  async #carryOut(effect) {
    const { planId } = effect;
    try {
      if (effect.effect === "run") await this.#run(effect);
      else if (effect.effect === "stop") await this.#stop(effect);
      else if (effect.effect === "clean-up") {
        await this.worktrees.cleanUp(/** @type {any} */ (effect));
      } else if (effect.effect === "probe") await probe(this, effect);
      else await this.#notice(effect);
    } catch (error) {
      if (this.ending.signal.aborted) return;
      this.#context.diagnostics.add(`plan ${planId}: ${effect.effect}: ${messageOf(error)}`);
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
        tell: (input) => this.tell(input),
        onAgent: (workers, cli) => void this.#models.learnFrom(workers, cli),
        requirePermission: (use) => this.making.requirePermission(plan.facts.session, use),
        findSession: async () => plan.facts.session && this.making.sessionFor(plan.facts.session),
        onLine: (id, line) =>
          this.#lines.set(`${planId}/${id}`, shownLine(line).slice(0, MOST_LINE)),
      });
      this.#running.set(key, run);
      this.#services.plans.awake(key, true).catch(() => {});
      await run.carryOut();
      const seen = this.view({ view: "node", planId, nodeId: node.id });
      void this.spans.attempt(plan, seen, current.attempt, phase);
    } catch (error) {
      // The repository cannot be opened any more.
      const of = { planId, nodeId: node.id, attempt: current.attempt, phase };
      const { code = "FAILED" } = /** @type {any} */ (error);
      const detail = { error: { code, message: messageOf(error) } };
      await this.tell({ input: "phase-ended", ...of, outcome: "failed", detail });
    } finally {
      if (this.#running.get(key) === run) {
        this.#running.delete(key);
        this.#services.plans.awake(key, false).catch(() => {});
      }
      if (run?.signal.aborted && !this.ending.signal.aborted) {
        await this.tell({ input: "stopped", planId, nodeId: node.id });
      }
    }
  }

  /** @param {Record<string, any>} effect */
  async #stop({ planId, node }) {
    const run = this.#running.get(`${planId}/${node}`);
    if (run) run.stop();
    else await this.tell({ input: "stopped", planId, nodeId: node });
  }

  /** @param {Record<string, any>} effect */
  async #notice({ planId, kind, node }) {
    const seen = this.view({ view: "plan", planId });
    this.news.show(seen, noticeText(kind, seen, node));
    this.news.record(seen, kind, node);
    if (kind === "ended") return this.ends.settle(planId);
    if (!TOLD.includes(kind)) return;
    await this.ends.describe(planId);
    await this.news.tellModel(seen, kind, node);
  }

  /** Its worktrees are gone: there is nothing left to be done. @param {string} planId @param {number} endedAt before they went */
  async closed(planId, endedAt) {
    if (await this.ends.close(planId, endedAt)) this.#open.delete(planId);
  }

  /** @param {string} planId */
  async forget(planId) {
    await this.engine.remove(planId);
    await this.#services.plans.removeLogs(planId);
    this.#known.delete(planId);
    this.#open.delete(planId);
    this.loaded.forget(planId);
  }

  // ---- plans ---------------------------------------------------------------------------------------

  /** @param {object} asked @returns {any} */
  view(asked) {
    const answer = JSON.parse(this.engine.view(JSON.stringify(asked)));
    if (!answer.refused) {
      this.loaded.used(/** @type {any} */ (asked).planId);
      return answer;
    }
    const { code, message } = answer.refused;
    throw new PlanError(code, message);
  }

  /** @param {string} planId */
  has(planId) {
    return this.#known.has(planId);
  }

  /** Takes an ended plan from the journal. @param {string} planId its id, or how that begins @returns {Promise<string>} its id */
  async require(planId) {
    if (typeof planId !== "string" || !this.#known.has(planId)) {
      const found = [...this.#known.keys()].filter(
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
    this.loaded.used(planId);
    return planId;
  }

  /**
   * @param {Record<string, any>} given as docs/plans.md has it @param {Asker} asker
   * @param {{planId?: string, found?: Mistake[]}} [how] found: what is wrong already
   * @returns {Promise<{planId: string, notes: string[]}>}
   */
  async create(given, asker, { planId = newId(), found } = {}) {
    const { facts, notes } = await preparedPlan(this, given, asker, found);
    this.#requireRoom();
    await this.making.requireAll(given, asker);
    await this.adopt(planId, { input: "create", plan: given, facts });
    this.leftovers.look(facts.repo);
    return { planId, notes };
  }

  #requireRoom() {
    if (this.engine.state().live < MOST_LIVE) return;
    const text = `${MOST_LIVE} plans have not ended: cancel one, or wait`;
    throw new PlanError("TOO_MANY", text);
  }

  /** A plan that is new here. @param {string} planId @param {{input: string, facts: object, [field: string]: any}} input of the engine */
  async adopt(planId, input) {
    this.#requireRoom();
    this.#known.set(planId, { ended: false, changedAt: Date.now(), about: {}, isNew: true });
    try {
      await this.ask({ ...input, planId, facts: { ...input.facts, nonce: newNonce() } });
    } catch (error) {
      this.#known.delete(planId);
      throw error;
    }
    // One that was imported may have ended.
    const { endedAt } = this.view({ view: "plan", planId });
    await (endedAt === undefined ? this.ends.begin(planId) : this.ends.describe(planId, true));
  }

  /** Whether it could be made; nothing is. @param {Record<string, any>} given @param {Asker} asker */
  async validate(given, asker) {
    const { notes } = await preparedPlan(this, given, asker);
    return { notes };
  }

  /** @param {string} planId @param {Asker} asker */
  requireOwn(planId, asker) {
    return this.making.requireOwn(this.view({ view: "plan", planId }).facts, asker);
  }

  /** @param {string} planId @param {unknown[]} nodes @param {Asker} asker @param {Mistake[]} [known] what is wrong already */
  async add(planId, nodes, asker, known) {
    await this.requireOwn(planId, asker);
    await checkNodes(this, { planId, nodes }, asker, known);
    await this.making.requireAll({ nodes }, asker);
    await this.ask({ input: "add", planId, nodes });
  }

  /** All plans, in the order of their pages; not one that is still being made. @param {string} cwd the asker's */
  list(cwd) {
    const made = [...this.#known].filter(([, { isNew = false }]) => !isNew);
    const all = made.map(([planId, { changedAt, about }]) => {
      const live = this.engine.state().plans.includes(planId);
      const status = live ? this.view({ view: "plan", planId }).status : about.status;
      return { planId, changedAt, ...about, status };
    });
    return inOrder(all, cwd);
  }

  /** The last line that each running node printed. @param {string} planId @param {string} node */
  lineOf(planId, node) {
    return this.#running.has(`${planId}/${node}`)
      ? (this.#lines.get(`${planId}/${node}`) ?? "")
      : "";
  }

  /** @param {object} asked */
  readLog(asked) {
    return this.#services.plans.readLog(asked);
  }

  async close() {
    this.ending.abort();
    clearTimeout(this.#timer);
    this.loaded.close();
    for (const run of this.#running.values()) run.stop();
  }
}
