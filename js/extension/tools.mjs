// The tools of a session, by provider, from the gateway's last message; and the handlers that send a
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

  /** A copy with the change applied. @param {ToolsEvent} event */
  with(event) {
    const providers = new Map(this.#providers);
    for (const name of event.drop) providers.delete(name);
    for (const { provider, digest, definitions } of event.set) {
      providers.set(provider, { digest, definitions });
    }
    return new ToolTable(providers);
  }

  /** The digests that `register` reports. @returns {Record<string, string>} */
  digests() {
    return Object.fromEntries([...this.#providers].map(([name, { digest }]) => [name, digest]));
  }

  /**
   * Sorted by provider, then in declared order: a changed order would invalidate the model's prompt cache.
   * @returns {ToolDefinition[]}
   */
  definitions() {
    return [...this.#providers]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([, { definitions }]) => definitions);
  }

  /** The provider of a tool. @param {string} tool @returns {string | undefined} */
  findProvider(tool) {
    for (const [provider, { definitions }] of this.#providers) {
      if (definitions.some(({ name }) => name === tool)) return provider;
    }
    return undefined;
  }

  /** The CLI's list: tap_status first, even if no gateway serves it, then the others. */
  withStatus() {
    const tools = this.definitions();
    const served = tools.find(({ name }) => name === STATUS_TOOL.name);
    return [served ?? STATUS_TOOL, ...tools.filter((tool) => tool !== served)];
  }

  /** The names that are tools of this table. @param {string[]} names */
  filterOwn(names) {
    const known = new Set(this.definitions().map((tool) => tool.name));
    return names.filter((name) => known.has(name));
  }

  /** A copy without these tools. @param {string[]} names */
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

// How a session joins the CLI: its wait before the join, and its retries if the CLI refuses tools.

/** @typedef {(config: {tools: SessionTool[], skillDirectories?: string[]}) => Promise<any>} JoinSession the SDK's */

/** Without a gateway, a session waits this long for its first tools; later tools are swapped in. */
const FIRST_TOOLS_MS = 8000;

/** tap's skills. The CLI does not find them otherwise, and an older CLI ignores the field. */
const SKILLS = path.join(programFolder, "skills");
const withSkills = () => (fs.existsSync(SKILLS) ? { skillDirectories: [SKILLS] } : {});

/** Tools that arrive before the session has joined. */
export class FirstTools {
  /** @type {ToolsEvent | undefined} */
  #event;
  /** @type {(() => void) | undefined} */
  #onEvent;

  /** Stores the gateway's latest message. @param {ToolsEvent} event */
  put(event) {
    this.#event = event;
    this.#onEvent?.();
  }

  /** Returns the message once. @returns {ToolsEvent | undefined} */
  consume() {
    const event = this.#event;
    this.#event = undefined;
    return event;
  }

  /** With a time limit, since there may be no gateway. @returns {Promise<void>} */
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
 * Joins without the tools that the CLI refuses, since a single bad name would fail the whole join.
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

// The tools of a session that are in force in the CLI, and their changes: synchronisations run in sequence,
// and the gateway gets a result for each.

/**
 * The CLI may lose a swap while a turn begins: all requests of the turn then offer the former tools,
 * until the CLI gets a list that differs from the lost list, as each swap does (CopilotSessionAdapter). A swap is
 * therefore repeated if the turn's first request comes before its answer, or this soon after it. On a busy
 * machine a swap takes a second, and so does the start of a turn.
 */
const UNSURE_MS = 5000;

/**
 * @typedef {object} SessionToolsOptions
 * @property {Pick<import("./session-runner.mjs").Link, "send">} link
 * @property {import("./calls.mjs").SessionCalls} calls
 * @property {Pick<import("./hooks.mjs").SessionHooks, "asking" | "answered">} hooks
 * @property {"auto" | "live" | "reload"} sync
 * @property {SessionTool[]} [ownTools] in addition to the providers' tools
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
  /** @type {Map<string, ToolDefinition>} removed in this turn; their handlers stay */
  #removed = new Map();
  /** Changes of tools run in sequence. */
  #syncing = Promise.resolve();
  #reloading = false;
  /** A turn that begins before this time may have lost the last swap: performance.now(). */
  #unsureUntil = -Infinity;
  /** Whether the turn has sent no request yet. */
  #isTurnNew = true;
  /** @type {CopilotSessionAdapter | undefined} */
  #session;
  /** Resolves when the names of the CLI's own tools were sent to the gateway. */
  #builtinsSent = Promise.resolve();

  /** @param {SessionToolsOptions} options */
  constructor(options) {
    this.#options = options;
    this.#link = options.link;
    this.#log = options.log;
    this.#mode = options.sync === "reload" ? "reload" : "live";
  }

  /** The way to change tools. */
  get mode() {
    return this.#mode;
  }

  /** This process will end because tap requested a reload. */
  get reloading() {
    return this.#reloading;
  }

  /** The digests that `register` reports. */
  digests() {
    return this.#table.digests();
  }

  /** The provider of a tool. @param {string} tool */
  findProvider(tool) {
    return this.#table.findProvider(tool);
  }

  /**
   * Joins with the tools of the event that the CLI accepts, which are then in force.
   * @param {JoinSession} joinSession
   * @param {ToolsEvent | undefined} first absent: the former tools
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

  /** @param {CopilotSessionAdapter} session @param {Promise<void>} named tools change only after it resolves */
  serve(session, named) {
    this.#session = session;
    this.#builtinsSent = named;
  }

  /** Puts the present tools in force, for a session that did not join with them. */
  async install() {
    await this.#session?.swapTools(this.#tools(this.#table), []);
  }

  /** @param {ToolsEvent} event */
  change(event) {
    this.#syncing = this.#syncing.then(() => this.#apply(event));
  }

  /** Tracks the CLI's turns. @param {string} type of the event */
  observe(type) {
    if (type === "user.message" || type === "session.idle") this.#isTurnNew = true;
    if (type !== "assistant.turn_start" || !this.#isTurnNew) return;
    this.#isTurnNew = false;
    if (performance.now() < this.#unsureUntil)
      this.#syncing = this.#syncing.then(() => this.#repeat());
  }

  /** Repeats the last swap. A swap is safe once the first request of the turn has begun. */
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

  /** The turn is over, so removed tools are no longer called. */
  forgetRemoved() {
    if (this.#removed.size === 0) return;
    this.#removed.clear();
    this.#session?.setHandlers(this.#tools(this.#table));
  }

  /**
   * A single synchronisation: the tools of the event are in force, or the gateway gets the reason for the failure.
   * @param {ToolsEvent} event
   * @returns {Promise<void>}
   */
  async #apply(event) {
    const session = this.#session;
    if (!session) return;
    await this.#builtinsSent;
    const next = this.#table.with(event);
    // The CLI would see no change.
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
   * A removed tool may still be called in this turn, and needs an answer.
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
