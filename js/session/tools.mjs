// The tools that one session has in force in the CLI, and how they change: one synchronisation after
// another, each answered to the gateway.

import { messageOf } from "../base/errors.mjs";
import { LiveSyncUnavailable, toolsNamedIn } from "./copilot-session.mjs";
import { joinWith } from "./join.mjs";
import { ToolTable } from "./tool-table.mjs";

/** @typedef {import("./copilot-session.mjs").CopilotSessionAdapter} CopilotSessionAdapter */
/** @typedef {import("./copilot-session.mjs").SessionTool} SessionTool */
/** @typedef {import("./tool-table.mjs").ToolDefinition} ToolDefinition */
/** @typedef {import("./tool-table.mjs").ToolsEvent} ToolsEvent */

/**
 * The CLI may lose a swap that it takes while a turn begins: the whole turn then goes on with the tools of before.
 * A swap is therefore sent once more if the turn's first request comes before its answer, or this soon after it. On a
 * busy machine a swap takes a second, and so does the beginning of a turn.
 */
const UNSURE_MS = 5000;

/**
 * @typedef {object} SessionToolsOptions
 * @property {Pick<import("./runner.mjs").Link, "send">} link
 * @property {import("./calls.mjs").SessionCalls} calls
 * @property {Pick<import("./hooks.mjs").SessionHooks, "asking" | "answered">} hooks
 * @property {"auto" | "live" | "reload"} sync
 * @property {SessionTool[]} [ownTools] kept beside those of the providers
 * @property {import("../base/log.mjs").Log} log
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
  #named = Promise.resolve();

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
  providerOf(tool) {
    return this.#table.providerOf(tool);
  }

  /**
   * A join with those of the event, as far as the CLI takes them, which are then in force.
   * @param {import("./join.mjs").JoinSession} joinSession
   * @param {ToolsEvent | undefined} first without one: those of before
   */
  async join(joinSession, first) {
    const wanted = first ? this.#table.with(first) : this.#table;
    const { session, table, refused } = await joinWith(joinSession, wanted, {
      toTools: (wishes) => this.#tools(wishes),
      log: this.#log,
    });
    this.#table = table;
    return { session, refused };
  }

  /** @param {CopilotSessionAdapter} session @param {Promise<void>} named no tools are changed before */
  serve(session, named) {
    this.#session = session;
    this.#named = named;
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
  saw(type) {
    if (type === "user.message" || type === "session.idle") this.#isTurnNew = true;
    if (type !== "assistant.turn_start" || !this.#isTurnNew) return;
    this.#isTurnNew = false;
    if (performance.now() < this.#unsureUntil)
      this.#syncing = this.#syncing.then(() => this.#repeat());
  }

  /** The last swap once more. */
  async #repeat() {
    try {
      await this.#session?.swapTools(this.#tools(this.#table), this.#removedTools());
    } catch (error) {
      this.#log("warning", `the tools could not be repeated: ${messageOf(error)}`);
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
    await this.#named;
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
    const message = messageOf(error);
    this.#log("warning", `revision ${event.revision} failed: ${message}`);
    this.#session?.setHandlers([...this.#removedTools(), ...this.#tools(this.#table)]);
    if (error instanceof LiveSyncUnavailable && this.#options.sync === "auto") {
      this.#mode = "reload";
      this.#link.send({ type: "update", mode: "reload" });
    } else {
      const refused = next.ours(toolsNamedIn(message));
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
