// One session's side of tap: its tool table, its calls, what the gateway tells it and what it tells
// the gateway. It does not know how messages travel (a link or one process) nor whose session it is.

import { execFile } from "node:child_process";
import path from "node:path";
import { CopilotSessionAdapter, LiveSyncUnavailable, toolsNamedIn } from "./copilot-session.mjs";
import { SessionEvents } from "./session-events.mjs";
import { SessionHooks } from "./session-hooks.mjs";
import { withStatus } from "../host/tap-status.mjs";
import { toToolResult } from "./tool-result.mjs";
import { ToolTable } from "./tool-table.mjs";

/** @typedef {import("./copilot-session.mjs").SessionTool} SessionTool */
/** @typedef {import("./copilot-session.mjs").Invocation} Invocation */
/** @typedef {import("./tool-table.mjs").ToolDefinition} ToolDefinition */
/** @typedef {import("./tool-table.mjs").ToolsEvent} ToolsEvent */
/** @typedef {{type: string, [key: string]: any}} GatewayEvent */

/**
 * What carries messages to the gateway.
 * @typedef {object} Link
 * @property {boolean} connected
 * @property {(message: object) => void} send docs/session-link.md
 * @property {(tool: string, args: unknown, timeoutMs?: number) => {id: number, result: Promise<import("../base/addon.js").CallOutcome>}} call
 * @property {(id: number, reason: string) => void} cancel
 */

/**
 * @typedef {object} SessionOptions
 * @property {string} id
 * @property {string} cwd
 * @property {string} [label]
 * @property {number} [cliPid]
 * @property {"auto" | "live" | "reload"} sync
 * @property {SessionTool[]} [ownTools] kept beside those of the providers
 * @property {import("../base/log.mjs").Log} log
 */

/** Without a gateway a session waits so long for its first tools; later ones are swapped in. */
const FIRST_TOOLS_MS = 8000;

/** Messages of the gateway that are about hooks. */
const HOOK_EVENTS = new Set(["hooks", "hook.verdict", "prompt.context", "section.text"]);

/** @param {unknown} error */
const messageOf = (error) => (error instanceof Error ? error.message : String(error));

/** The git branch of a folder, or nothing. @param {string} cwd @returns {Promise<string>} */
function branchOf(cwd) {
  const args = ["-C", cwd, "symbolic-ref", "--short", "-q", "HEAD"];
  return new Promise((resolve) => {
    execFile("git", args, { timeout: 2000 }, (error, out) => resolve(error ? "" : out.trim()));
  });
}

export class SessionRunner {
  #options;
  #link;
  #log;
  #label;
  /** @type {"live" | "reload"} */
  #mode;
  #joined = false;
  #calls = 0;

  /** In force in the CLI. */
  #table = new ToolTable();
  /** @type {Map<string, ToolDefinition>} removed in this turn, and still answered for */
  #removed = new Map();
  /** @type {ToolsEvent | undefined} what the join waits for */
  #first;
  /** @type {(() => void) | undefined} */
  #onFirst;
  /** Settled when the gateway has heard the names of the CLI's own tools. */
  #named = Promise.resolve();
  /** @type {string[]} */
  #builtins = [];
  #busy = false;
  /** One change of tools after another. */
  #syncing = Promise.resolve();
  /** @type {CopilotSessionAdapter | undefined} */
  #session;
  /** @type {(() => void) | undefined} */
  #unwatch;
  #events = new SessionEvents();
  #hooks;
  /** @type {Set<string>} events that a provider wants */
  #subscribed = new Set();
  /** @type {GatewayEvent[]} for the session, before it is joined */
  #waiting = [];

  /** @param {Link} link @param {SessionOptions} options */
  constructor(link, options) {
    this.#link = link;
    this.#options = options;
    this.#log = options.log;
    this.#label = options.label ?? path.basename(options.cwd);
    this.#mode = options.sync === "reload" ? "reload" : "live";
    this.#hooks = new SessionHooks({
      link,
      providerOf: (tool) => this.#table.providerOf(tool),
      folder: options.cwd,
      log: options.log,
    });
  }

  /** This process will end because we asked for it. */
  reloading = false;
  /** The session itself has ended, not just its process. */
  ended = false;

  /** Calls that wait for their outcome. */
  get callsInFlight() {
    return this.#calls;
  }

  /** The fields of `register`. */
  registration() {
    return {
      sessionId: this.#options.id,
      label: this.#label,
      cwd: this.#options.cwd,
      cliPid: this.#options.cliPid ?? 0,
      mode: this.#mode,
      joined: this.#joined,
      have: this.#table.digests(),
    };
  }

  /**
   * Joins with the tools that the gateway has for this session; again, with those it has by now.
   * @param {(config: {tools: SessionTool[]}) => Promise<any>} joinSession the SDK's
   */
  async join(joinSession) {
    if (!this.#joined) await this.#firstTools();
    const first = this.#takeFirst();
    const wanted = first ? this.#table.with(first) : this.#table;
    const { session, table, refused } = await this.#joinWith(joinSession, wanted);
    this.#table = table;
    this.adopt(session);
    await this.#named;
    if (first) this.#answer(first.revision, refused, "the CLI does not take them");
  }

  /** Serves a session that is already joined. @param {any} session */
  adopt(session) {
    this.#joined = true;
    this.#unwatch?.();
    const adapter = new CopilotSessionAdapter(session);
    this.#session = adapter;
    this.#hooks.adopt(session);
    this.#unwatch = adapter.watch({
      activity: (activity) => this.#onActivity(activity),
      title: (title) => this.#relabel(title),
      any: (event) => this.#forward(event),
      shutdown: () => {
        this.ended = true;
        this.#link.send({ type: "end", reason: "the session has ended" });
      },
    });
    this.#named = this.#nameBuiltins(adapter);
    void this.#introduce(adapter);
    const late = this.#takeFirst();
    if (late) this.#onTools(late);
    for (const event of this.#waiting.splice(0)) this.receive(event);
  }

  /** Puts the tools in force that it has now: for a session that did not join with them. */
  async install() {
    await this.#session?.swapTools(this.#tools(this.#table), []);
  }

  /** Stops serving the session; its handlers stay and answer that there is no gateway. */
  release() {
    this.#unwatch?.();
    this.#unwatch = undefined;
  }

  /** There is no gateway to wait for: a join goes on without one. */
  stopWaiting() {
    this.#onFirst?.();
  }

  /** A message from the gateway. @param {GatewayEvent} event */
  receive(event) {
    const session = this.#session;
    if (event.type === "tools") return this.#onTools(/** @type {any} */ (event));
    if (event.type === "subscribe") {
      this.#subscribed = new Set(event.events);
    } else if (!session) {
      this.#waiting.push(event);
    } else if (HOOK_EVENTS.has(event.type)) {
      this.#hooks.receive(event);
    } else if (event.type === "timeline") {
      this.#tell(session.log(event.text, event.level));
    } else if (event.type === "inject") {
      this.#tell(this.#inject(session, event.prompt));
    }
  }

  /** @param {CopilotSessionAdapter} session @param {string} prompt */
  async #inject(session, prompt) {
    try {
      await session.send(prompt);
    } catch (error) {
      // No turn will come of it whose end the gateway could wait for.
      if (!this.#busy) this.#link.send({ type: "activity", activity: "idle" });
      throw error;
    }
  }

  /** The link to the gateway is broken. */
  gatewayGone() {
    this.#hooks.gatewayGone();
  }

  /** The process ends: the CLI would let pass what a gate has not answered. */
  async denyPending() {
    await this.#hooks.drain();
  }

  /** Passes on what a provider has subscribed to. @param {{type: string, data: any}} event */
  #forward(event) {
    const translated = this.#events.translate(event, (tool) => this.#table.providerOf(tool));
    if (translated && this.#subscribed.has(translated.event)) {
      this.#link.send({ type: "event", ...translated });
    }
  }

  /** @param {Promise<unknown>} sent */
  #tell(sent) {
    sent.catch((error) => this.#log("warning", `the session took no message: ${messageOf(error)}`));
  }

  /** @param {"idle" | "busy" | "user-prompt"} activity */
  #onActivity(activity) {
    this.#busy = activity !== "idle";
    if (!this.#busy) {
      this.#forgetRemoved();
      this.#hooks.idle();
    }
    this.#link.send({ type: "activity", activity });
  }

  /** @param {string} label */
  #relabel(label) {
    if (!label || label === this.#label) return;
    this.#label = label;
    this.#link.send({ type: "update", label });
  }

  /**
   * Without the tools that the CLI refuses: one bad name would cost the whole join.
   * @param {(config: {tools: SessionTool[]}) => Promise<any>} joinSession @param {ToolTable} wanted
   */
  async #joinWith(joinSession, wanted) {
    /** @type {string[]} */
    const refused = [];
    for (let table = wanted; ;) {
      try {
        const session = await joinSession({ tools: this.#tools(table) });
        return { session, table, refused };
      } catch (error) {
        this.#log("error", `the join failed: ${messageOf(error)}`);
        const [, ...left] = withStatus(table).map((tool) => tool.name);
        if (left.length === 0) throw error;
        const culprits = table.ours(toolsNamedIn(messageOf(error)));
        const dropped = culprits.length > 0 ? culprits : left;
        refused.push(...dropped);
        table = table.without(dropped);
      }
    }
  }

  /** Waits for the first tools; for some time only, since there may be no gateway. @returns {Promise<void>} */
  #firstTools() {
    if (this.#first) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, FIRST_TOOLS_MS);
      this.#onFirst = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #takeFirst() {
    const first = this.#first;
    this.#first = undefined;
    return first;
  }

  /**
   * The gateway keeps a provider's tool out that is named like one of the CLI's own: it must know
   * these before it sends any tool, since such a tool would break every prompt.
   * @param {CopilotSessionAdapter} session
   */
  async #nameBuiltins(session) {
    try {
      this.#builtins = await session.builtinNames();
      this.#link.send({ type: "update", builtins: this.#builtins });
    } catch (error) {
      this.#log("warning", `the CLI does not name its own tools: ${messageOf(error)}`);
    }
  }

  /** Another gateway serves the session now: what it cannot read in `register`. */
  introduceAgain() {
    if (this.#builtins.length > 0) this.#link.send({ type: "update", builtins: this.#builtins });
    if (this.#busy) this.#link.send({ type: "activity", activity: "busy" });
  }

  /** What only a joined session can tell. @param {CopilotSessionAdapter} session */
  async #introduce(session) {
    try {
      if (await session.isProcessing()) this.#link.send({ type: "activity", activity: "busy" });
      const folder = path.basename(this.#options.cwd);
      const branch = this.#label === folder ? await branchOf(this.#options.cwd) : "";
      if (branch && this.#label === folder) this.#relabel(`${folder} (${branch})`);
    } catch (error) {
      this.#log("warning", `introduction: ${messageOf(error)}`);
    }
  }

  /** @param {ToolsEvent} event */
  #onTools(event) {
    if (!this.#joined) {
      this.#first = event;
      this.#onFirst?.();
      return;
    }
    this.#syncing = this.#syncing.then(() => this.#apply(event));
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
    if (JSON.stringify(withStatus(next)) === JSON.stringify(withStatus(this.#table))) {
      this.#table = next;
      return this.#answer(event.revision, [], "");
    }
    try {
      if (event.reload) return await this.#reload(session, next);
      this.#keepRemoved(this.#table, next);
      await session.swapTools(this.#tools(next), this.#removedTools());
      this.#table = next;
      this.#log(
        "info",
        `revision ${event.revision}: ${withStatus(next).length - 1} provider tools`,
      );
      this.#answer(event.revision, [], "");
    } catch (error) {
      if (error instanceof LiveSyncUnavailable && this.#hooks.asking) {
        await this.#hooks.answered();
        return this.#apply(event);
      }
      this.#onSyncError(event, next, error);
    }
  }

  /** @param {CopilotSessionAdapter} session @param {ToolTable} next */
  async #reload(session, next) {
    this.#log("info", "reloading to change the tools");
    this.reloading = true;
    session.setHandlers(this.#tools(next));
    try {
      await session.reload();
    } finally {
      this.reloading = false;
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

  /** @param {number} revision @param {string[]} refused @param {string} why */
  #answer(revision, refused, why) {
    if (refused.length === 0) this.#link.send({ type: "synced", revision });
    else this.#link.send({ type: "sync.failed", revision, message: why, refused });
  }

  /**
   * A tool that has just gone may still be called in this turn; silence is never an answer.
   * @param {ToolTable} former @param {ToolTable} next
   */
  #keepRemoved(former, next) {
    const names = new Set(withStatus(next).map((tool) => tool.name));
    for (const tool of former.definitions()) {
      if (!names.has(tool.name)) this.#removed.set(tool.name, tool);
    }
    for (const name of names) this.#removed.delete(name);
  }

  #forgetRemoved() {
    if (this.#removed.size === 0) return;
    this.#removed.clear();
    this.#session?.setHandlers(this.#tools(this.#table));
  }

  #removedTools() {
    return [...this.#removed.values()].map((tool) => this.#toTool(tool));
  }

  /** @param {ToolTable} table @returns {SessionTool[]} */
  #tools(table) {
    const ours = withStatus(table).map((tool) => this.#toTool(tool));
    return [...(this.#options.ownTools ?? []), ...ours];
  }

  /** @param {ToolDefinition} tool @returns {SessionTool} */
  #toTool(tool) {
    return { ...tool, handler: (args, invocation) => this.#call(tool, args, invocation) };
  }

  /**
   * One call: to the gateway and back. Never throws, since the CLI would lose the message.
   * @param {ToolDefinition} tool @param {unknown} args @param {Invocation} invocation
   */
  async #call(tool, args, invocation) {
    const { id, result } = this.#link.call(tool.name, args, tool.timeout);
    const abort = () => this.#link.cancel(id, "aborted by the user");
    const signal = invocation?.signal;
    signal?.addEventListener("abort", abort, { once: true });
    ++this.#calls;
    const outcome = await result;
    --this.#calls;
    signal?.removeEventListener("abort", abort);
    return toToolResult(outcome);
  }
}
