// The tools of one session, by provider, as the gateway last said; and the handlers that carry a
// call to it.

import fs from "node:fs";
import path from "node:path";
import { programFolder } from "../lib/paths.mjs";
import { STATUS_TOOL } from "../lib/status-tool.mjs";
import { errorMessage } from "../lib/values.mjs";
import { findToolNames, LiveSyncUnavailable } from "./copilot-session.mjs";

/** @typedef {import("./copilot-session.mjs").SessionTool} SessionTool */
/** @typedef {import("./copilot-session.mjs").CopilotSessionAdapter} CopilotSessionAdapter */

/** @typedef {{digest: string, definitions: ToolDefinition[]}} ProviderTools */
/** @typedef {{name: string, description: string, parameters: Record<string, unknown>, timeout?: number}} ToolDefinition */
/**
 * @typedef {object} ToolsEvent the gateway's `tools` message
 * @property {number} revision
 * @property {boolean} reload
 * @property {{provider: string, digest: string, definitions: ToolDefinition[]}[]} set
 * @property {string[]} drop
 */

export class ToolTable {
  /** @type {Map<string, ProviderTools>} */
  #providers;

  /** @param {Map<string, ProviderTools>} [providers] */
  constructor(providers = new Map()) {
    this.#providers = providers;
  }

  /** This table with that change. @param {ToolsEvent} event */
  with(event) {
    const providers = new Map(this.#providers);
    for (const name of event.drop) providers.delete(name);
    for (const { provider, digest, definitions } of event.set) {
      providers.set(provider, { digest, definitions });
    }
    return new ToolTable(providers);
  }

  /** What the gateway is told that we have. @returns {Record<string, string>} */
  digests() {
    return Object.fromEntries([...this.#providers].map(([name, { digest }]) => [name, digest]));
  }

  /**
   * Sorted by provider, then as declared: a changed order would cost the model's prompt cache.
   * @returns {ToolDefinition[]}
   */
  definitions() {
    return [...this.#providers]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([, { definitions }]) => definitions);
  }

  /** Whose tool this is. @param {string} tool @returns {string | undefined} */
  findProvider(tool) {
    for (const [provider, { definitions }] of this.#providers) {
      if (definitions.some(({ name }) => name === tool)) return provider;
    }
    return undefined;
  }

  /** What the CLI is given: tap_status first, even where no gateway serves it, then the others. */
  withStatus() {
    const tools = this.definitions();
    const served = tools.find(({ name }) => name === STATUS_TOOL.name);
    return [served ?? STATUS_TOOL, ...tools.filter((tool) => tool !== served)];
  }

  /** Those of these names that are tools of ours. @param {string[]} names */
  filterOwn(names) {
    const known = new Set(this.definitions().map((tool) => tool.name));
    return names.filter((name) => known.has(name));
  }

  /** Without these tools. @param {string[]} names */
  without(names) {
    const refused = new Set(names);
    return new ToolTable(
      new Map(
        [...this.#providers].map(([provider, { digest, definitions }]) => [
          provider,
          { digest, definitions: definitions.filter((tool) => !refused.has(tool.name)) },
        ]),
      ),
    );
  }
}

// How a session joins the CLI: what it waits for before, and what it does where the CLI takes not all.

/** @typedef {(config: {tools: SessionTool[], skillDirectories?: string[]}) => Promise<any>} JoinSession the SDK's */

/** Without a gateway a session waits so long for its first tools; later ones are swapped in. */
const FIRST_TOOLS_MS = 8000;

/** Skills that tap brings along. The CLI finds them nowhere else, and an older one ignores the field. */
const SKILLS = path.join(programFolder, "skills");
const withSkills = () => (fs.existsSync(SKILLS) ? { skillDirectories: [SKILLS] } : {});

/** The tools that come before the session has joined. */
export class FirstTools {
  /** @type {ToolsEvent | undefined} */
  #event;
  /** @type {(() => void) | undefined} */
  #onEvent;

  /** The gateway's latest word. @param {ToolsEvent} event */
  put(event) {
    this.#event = event;
    this.#onEvent?.();
  }

  /** Once. @returns {ToolsEvent | undefined} */
  consume() {
    const event = this.#event;
    this.#event = undefined;
    return event;
  }

  /** For some time only, since there may be no gateway. @returns {Promise<void>} */
  wait() {
    if (this.#event) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, FIRST_TOOLS_MS);
      this.#onEvent = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  stopWaiting() {
    this.#onEvent?.();
  }
}

/**
 * Without the tools that the CLI refuses: one bad name would cost the whole join.
 * @param {JoinSession} joinSession @param {ToolTable} wanted
 * @param {{toTools: (table: ToolTable) => SessionTool[], log: import("../lib/log.mjs").Log}} options
 */
export async function joinWithAcceptedTools(joinSession, wanted, { toTools, log }) {
  /** @type {string[]} */
  const refused = [];
  for (let table = wanted; ;) {
    try {
      const session = await joinSession({ tools: toTools(table), ...withSkills() });
      return { session, table, refused };
    } catch (error) {
      log("error", `the join failed: ${errorMessage(error)}`);
      const [, ...left] = table.withStatus().map((tool) => tool.name);
      if (left.length === 0) throw error;
      const culprits = table.filterOwn(findToolNames(errorMessage(error)));
      const dropped = culprits.length > 0 ? culprits : left;
      refused.push(...dropped);
      table = table.without(dropped);
    }
  }
}

// The tools that one session has in force in the CLI, and how they change: one synchronisation after
// another, each answered to the gateway.

/**
 * The CLI may lose a swap that it takes while a turn begins: all requests of the turn then offer the tools of before,
 * until the CLI is sent a list that differs from the lost one, as each swap does (CopilotSessionAdapter). A swap is
 * therefore sent once more if the turn's first request comes before its answer, or this soon after it. On a busy
 * machine a swap takes a second, and so does the beginning of a turn.
 */
const UNSURE_MS = 5000;

/**
 * @typedef {object} SessionToolsOptions
 * @property {Pick<import("./session-runner.mjs").Link, "send">} link
 * @property {import("./calls.mjs").SessionCalls} calls
 * @property {Pick<import("./hooks.mjs").SessionHooks, "asking" | "answered">} hooks
 * @property {"auto" | "live" | "reload"} sync
 * @property {SessionTool[]} [ownTools] kept beside those of the providers
 * @property {import("../lib/log.mjs").Log} log
 */

export class SessionTools {
  #options;
  #link;
  #log;
  /** @type {"live" | "reload"} */
  #mode;
  /** In force in the CLI. */
  #table = new ToolTable();
  /** @type {Map<string, ToolDefinition>} removed in this turn, and still answered for */
  #removed = new Map();
  /** One change of tools after another. */
  #syncing = Promise.resolve();
  #reloading = false;
  /** A turn that begins before may have lost the last swap: performance.now(). */
  #unsureUntil = -Infinity;
  /** Of the turn no request has begun. */
  #isTurnNew = true;
  /** @type {CopilotSessionAdapter | undefined} */
  #session;
  /** Settled when the gateway has heard the names of the CLI's own tools. */
  #builtinsSent = Promise.resolve();

  /** @param {SessionToolsOptions} options */
  constructor(options) {
    this.#options = options;
    this.#link = options.link;
    this.#log = options.log;
    this.#mode = options.sync === "reload" ? "reload" : "live";
  }

  /** How the gateway is to change them. */
  get mode() {
    return this.#mode;
  }

  /** This process will end because we asked for it. */
  get reloading() {
    return this.#reloading;
  }

  /** What the gateway is told that we have. */
  digests() {
    return this.#table.digests();
  }

  /** Whose tool it is. @param {string} tool */
  findProvider(tool) {
    return this.#table.findProvider(tool);
  }

  /**
   * A join with those of the event, as far as the CLI takes them, which are then in force.
   * @param {JoinSession} joinSession
   * @param {ToolsEvent | undefined} first without one: those of before
   */
  async join(joinSession, first) {
    const wanted = first ? this.#table.with(first) : this.#table;
    const { session, table, refused } = await joinWithAcceptedTools(joinSession, wanted, {
      toTools: (wishes) => this.#tools(wishes),
      log: this.#log,
    });
    this.#table = table;
    return { session, refused };
  }

  /** @param {CopilotSessionAdapter} session @param {Promise<void>} named no tools are changed before */
  serve(session, named) {
    this.#session = session;
    this.#builtinsSent = named;
  }

  /** Puts those in force that are here now: for a session that did not join with them. */
  async install() {
    await this.#session?.swapTools(this.#tools(this.#table), []);
  }

  /** @param {ToolsEvent} event */
  change(event) {
    this.#syncing = this.#syncing.then(() => this.#apply(event));
  }

  /** What the CLI says of its turns. @param {string} type of the event */
  observe(type) {
    if (type === "user.message" || type === "session.idle") this.#isTurnNew = true;
    if (type !== "assistant.turn_start" || !this.#isTurnNew) return;
    this.#isTurnNew = false;
    if (performance.now() < this.#unsureUntil)
      this.#syncing = this.#syncing.then(() => this.#repeat());
  }

  /** The last swap once more. What comes in a turn whose first request has begun is not lost. */
  async #repeat() {
    try {
      await this.#session?.swapTools(this.#tools(this.#table), this.#removedTools());
    } catch (error) {
      this.#log("warning", `the tools could not be repeated: ${errorMessage(error)}`);
    }
  }

  /** @param {number} revision @param {string[]} refused @param {string} why */
  answer(revision, refused, why) {
    if (refused.length === 0) this.#link.send({ type: "synced", revision });
    else this.#link.send({ type: "sync.failed", revision, message: why, refused });
  }

  /** The turn is over: nobody calls any more what has gone in it. */
  forgetRemoved() {
    if (this.#removed.size === 0) return;
    this.#removed.clear();
    this.#session?.setHandlers(this.#tools(this.#table));
  }

  /**
   * One synchronisation: the tools of the event are in force, or the gateway hears why not.
   * @param {ToolsEvent} event
   * @returns {Promise<void>}
   */
  async #apply(event) {
    const session = this.#session;
    if (!session) return;
    await this.#builtinsSent;
    const next = this.#table.with(event);
    // Nothing that the CLI would see.
    if (JSON.stringify(next.withStatus()) === JSON.stringify(this.#table.withStatus())) {
      this.#table = next;
      return this.answer(event.revision, [], "");
    }
    try {
      if (event.reload) return await this.#reload(session, next);
      this.#keepRemoved(this.#table, next);
      await this.#swap(session, next);
      this.#table = next;
      const count = next.withStatus().length - 1;
      this.#log("info", `revision ${event.revision}: ${count} provider tools`);
      this.answer(event.revision, [], "");
    } catch (error) {
      const { hooks } = this.#options;
      if (error instanceof LiveSyncUnavailable && hooks.asking) {
        await hooks.answered();
        return this.#apply(event);
      }
      this.#onSyncError(event, next, error);
    }
  }

  /** @param {CopilotSessionAdapter} session @param {ToolTable} next */
  async #swap(session, next) {
    this.#unsureUntil = Infinity;
    try {
      await session.swapTools(this.#tools(next), this.#removedTools());
    } finally {
      this.#unsureUntil = performance.now() + UNSURE_MS;
    }
  }

  /** @param {CopilotSessionAdapter} session @param {ToolTable} next */
  async #reload(session, next) {
    this.#log("info", "reloading to change the tools");
    this.#reloading = true;
    session.setHandlers(this.#tools(next));
    try {
      await session.reload();
    } finally {
      this.#reloading = false;
    }
  }

  /** @param {ToolsEvent} event @param {ToolTable} next @param {unknown} error */
  #onSyncError(event, next, error) {
    const message = errorMessage(error);
    this.#log("warning", `revision ${event.revision} failed: ${message}`);
    this.#session?.setHandlers([...this.#removedTools(), ...this.#tools(this.#table)]);
    if (error instanceof LiveSyncUnavailable && this.#options.sync === "auto") {
      this.#mode = "reload";
      this.#link.send({ type: "update", mode: "reload" });
    } else {
      const refused = next.filterOwn(findToolNames(message));
      this.#link.send({ type: "sync.failed", revision: event.revision, message, refused });
    }
  }

  /**
   * A tool that has just gone may still be called in this turn; silence is never an answer.
   * @param {ToolTable} former @param {ToolTable} next
   */
  #keepRemoved(former, next) {
    const names = new Set(next.withStatus().map((tool) => tool.name));
    for (const tool of former.definitions()) {
      if (!names.has(tool.name)) this.#removed.set(tool.name, tool);
    }
    for (const name of names) this.#removed.delete(name);
  }

  #removedTools() {
    return [...this.#removed.values()].map((tool) => this.#options.calls.toTool(tool));
  }

  /** @param {ToolTable} table @returns {SessionTool[]} */
  #tools(table) {
    const ours = table.withStatus().map((tool) => this.#options.calls.toTool(tool));
    return [...(this.#options.ownTools ?? []), ...ours];
  }
}
