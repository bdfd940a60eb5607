// The extension's runtime: one per process, kept on globalThis. It holds the link to the gateway and
// the session that it serves, and carries messages between the two. A host that imports the
// extension again in the same process finds this runtime and joins anew.

import { execFile } from "node:child_process";
import path from "node:path";
import { CopilotSessionAdapter, LiveSyncUnavailable, toolsNamedIn } from "./copilot-session.mjs";
import { GatewayLink } from "./gateway-link.mjs";
import { openLog } from "./log.mjs";
import { gatewayFiles } from "./paths.mjs";
import { ToolTable } from "./tool-table.mjs";

/** @typedef {import("./copilot-session.mjs").SessionTool} SessionTool */
/** @typedef {import("./copilot-session.mjs").Invocation} Invocation */
/** @typedef {import("./tool-table.mjs").ToolDefinition} ToolDefinition */
/** @typedef {import("./tool-table.mjs").ToolsEvent} ToolsEvent */
/** @typedef {import("./gateway-link.mjs").GatewayEvent} GatewayEvent */

/** The join waits so long for the gateway; tools that come later are swapped in. */
const FIRST_TOOLS_MS = 8000;
/** After SIGTERM the CLI gives about a second, five where it reloads us. */
const DRAIN_MS = 4000;
/** session.shutdown follows SIGTERM by 10 to 20 ms, where the session ends. */
const SHUTDOWN_EVENT_MS = 150;

/** @type {ToolDefinition} */
const STATUS_TOOL = {
  name: "tap_status",
  description:
    "Lists the tap providers that are connected to this session and the tools they offer. Use it " +
    "when a provider's tool is missing or fails.",
  parameters: { type: "object", properties: {} },
};

/** @returns {"auto" | "live" | "reload"} */
function syncPreference(env = process.env) {
  const wanted = env.TAP_TOOL_SYNC;
  return wanted === "live" || wanted === "reload" ? wanted : "auto";
}

/** The git branch of a folder, or nothing. @param {string} cwd @returns {Promise<string>} */
function branchOf(cwd) {
  return new Promise((resolve) => {
    execFile("git", ["-C", cwd, "symbolic-ref", "--short", "-q", "HEAD"], { timeout: 2000 }, (error, out) =>
      resolve(error ? "" : out.trim()),
    );
  });
}

export class Runtime {
  #log;
  #link;
  #preference = syncPreference();
  /** @type {"live" | "reload"} */
  #mode;
  #sessionId = process.env.SESSION_ID ?? "";
  #label = path.basename(process.cwd());
  #joined = false;
  #reloading = false;
  #calls = 0;
  #shutdown = false;

  /** In force in the CLI. */
  #table = new ToolTable();
  /** @type {Map<string, ToolDefinition>} removed in this turn, and still answered for */
  #removed = new Map();
  /** @type {ToolsEvent | undefined} what the join waits for */
  #first;
  /** @type {((event: ToolsEvent | undefined) => void)[]} */
  #firstWaiters = [];
  /** One change of tools after another. */
  #syncing = Promise.resolve();
  /** @type {CopilotSessionAdapter | undefined} */
  #session;
  /** @type {(() => void) | undefined} */
  #unwatch;
  /** @type {GatewayEvent[]} for the session, before it is joined */
  #waiting = [];

  constructor() {
    const files = gatewayFiles();
    this.#log = openLog(files.logs, "extension.log");
    this.#mode = this.#preference === "reload" ? "reload" : "live";
    this.#link = new GatewayLink({
      files,
      log: this.#log,
      register: () => this.#registration(),
      onEvent: (event) => this.#onEvent(event),
      onTrouble: (text) => this.#onEvent({ type: "timeline", level: "warning", text }),
    });
    process.on("SIGTERM", () => void this.#drain());
    process.on("SIGHUP", () => void this.#drain());
  }

  /**
   * Joins the session of this process, with the tools that the gateway has for it.
   * @param {(config: object) => Promise<any>} joinSession the SDK's
   */
  async join(joinSession) {
    this.#link.start();
    const first = this.#joined ? undefined : await this.#firstTools();
    const wanted = first ? this.#table.with(first) : this.#table;
    const { session, table, refused } = await this.#joinWith(joinSession, wanted);
    this.#table = table;
    this.#joined = true;
    this.#attach(new CopilotSessionAdapter(session));
    if (first) this.#confirm(first.revision, refused, "the CLI does not take them");
    void this.#introduce();
    this.#first = undefined;
    for (const event of this.#waiting.splice(0)) this.#onEvent(event);
  }

  /**
   * Without the tools that the CLI refuses: one bad name would cost the whole join.
   * @param {(config: object) => Promise<any>} joinSession @param {ToolTable} wanted
   */
  async #joinWith(joinSession, wanted) {
    /** @type {string[]} */
    const refused = [];
    for (let table = wanted; ; ) {
      try {
        const session = await joinSession({ tools: this.#tools(table) });
        return { session, table, refused };
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        this.#log("error", `the join failed: ${message}`);
        const culprits = table.ours(toolsNamedIn(message));
        if (table.definitions().length === 0) throw error;
        const dropped = culprits.length > 0 ? culprits : table.definitions().map((t) => t.name);
        refused.push(...dropped);
        table = table.without(dropped);
      }
    }
  }

  /** @returns {Promise<ToolsEvent | undefined>} nothing where no gateway answers in time */
  #firstTools() {
    if (this.#first) return Promise.resolve(this.#first);
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(undefined), FIRST_TOOLS_MS);
      this.#firstWaiters.push((event) => {
        clearTimeout(timer);
        resolve(event);
      });
    });
  }

  /** @param {CopilotSessionAdapter} session */
  #attach(session) {
    this.#unwatch?.();
    this.#session = session;
    this.#unwatch = session.watch({
      activity: (activity) => {
        if (activity === "idle") this.#forgetRemoved();
        this.#link.send({ type: "activity", activity });
      },
      title: (title) => {
        this.#label = title || this.#label;
        this.#link.send({ type: "update", label: this.#label });
      },
      shutdown: () => {
        this.#shutdown = true;
        this.#link.send({ type: "end", reason: "the session has ended" });
      },
    });
  }

  /** What only a joined session can tell. */
  async #introduce() {
    try {
      const session = this.#session;
      if (!session) return;
      this.#link.send({ type: "update", builtins: await session.builtinNames() });
      if (await session.isProcessing()) this.#link.send({ type: "activity", activity: "busy" });
      const branch = await branchOf(process.cwd());
      const folder = path.basename(process.cwd());
      if (branch && this.#label === folder) {
        this.#label = `${folder} (${branch})`;
        this.#link.send({ type: "update", label: this.#label });
      }
    } catch (error) {
      this.#log("warning", `introduction: ${error instanceof Error ? error.message : error}`);
    }
  }

  #registration() {
    return {
      sessionId: this.#sessionId,
      label: this.#label,
      cwd: process.cwd(),
      cliPid: Number(process.env.COPILOT_EXTENSION_PARENT_PID) || process.ppid,
      mode: this.#mode,
      joined: this.#joined,
      have: this.#table.digests(),
    };
  }

  /** @param {GatewayEvent} event */
  #onEvent(event) {
    if (event.type === "tools") return this.#onTools(/** @type {any} */ (event));
    if (!this.#session) {
      this.#waiting.push(event);
      return;
    }
    if (event.type === "timeline") {
      this.#session.log(event.text, event.level).catch((error) => this.#log("warning", `timeline: ${error}`));
    } else if (event.type === "inject") {
      this.#session.send(event.prompt).catch((error) => this.#log("warning", `inject: ${error}`));
    }
  }

  /** @param {ToolsEvent} event */
  #onTools(event) {
    if (!this.#joined) {
      this.#first = event;
      for (const waiter of this.#firstWaiters.splice(0)) waiter(event);
      if (!this.#session) return;
    }
    this.#syncing = this.#syncing.then(() => this.#apply(event));
  }

  /** One synchronisation: the tools of the event are in force, or the gateway hears why not. @param {ToolsEvent} event */
  async #apply(event) {
    const session = this.#session;
    if (!session) return;
    const next = this.#table.with(event);
    if (event.set.length === 0 && event.drop.length === 0) {
      return this.#confirm(event.revision, [], "");
    }
    try {
      if (event.reload) return await this.#reload(session, next);
      const former = this.#table;
      this.#keepRemoved(former, next);
      await session.swapTools(this.#tools(next), this.#removedTools());
      this.#table = next;
      this.#log("info", `revision ${event.revision}: ${next.definitions().length} provider tools`);
      this.#confirm(event.revision, [], "");
    } catch (error) {
      this.#failed(event, next, error);
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
  #failed(event, next, error) {
    const message = error instanceof Error ? error.message : String(error);
    this.#log("warning", `revision ${event.revision} failed: ${message}`);
    this.#session?.setHandlers([...this.#removedTools(), ...this.#tools(this.#table)]);
    if (error instanceof LiveSyncUnavailable && this.#preference === "auto") {
      this.#mode = "reload";
      this.#link.send({ type: "update", mode: "reload" });
      return;
    }
    const refused = next.ours(toolsNamedIn(message));
    this.#link.send({ type: "sync.failed", revision: event.revision, message, refused });
  }

  /** @param {number} revision @param {string[]} refused @param {string} why */
  #confirm(revision, refused, why) {
    if (refused.length === 0) this.#link.send({ type: "synced", revision });
    else this.#link.send({ type: "sync.failed", revision, message: why, refused });
  }

  /** A tool that has just gone may still be called in this turn; silence is never an answer. @param {ToolTable} former @param {ToolTable} next */
  #keepRemoved(former, next) {
    const names = new Set(next.definitions().map((tool) => tool.name));
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
    return [STATUS_TOOL, ...table.definitions()].map((tool) => this.#toTool(tool));
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
    if (typeof outcome === "string") return { textResultForLlm: outcome, resultType: "success" };
    return { textResultForLlm: outcome.text, resultType: "failure", error: outcome.text };
  }

  /** The CLI ends this process: calls in flight get what time there is. */
  async #drain() {
    const start = Date.now();
    const sleep = () => new Promise((resolve) => setTimeout(resolve, 10));
    const wait = this.#reloading ? 0 : SHUTDOWN_EVENT_MS;
    while (!this.#shutdown && Date.now() - start < wait) await sleep();
    while (this.#calls > 0 && Date.now() - start < DRAIN_MS) await sleep();
    this.#link.stop("the session's process ends");
    await sleep();
    this.#log.end();
    process.exit(0);
  }
}

const KEY = Symbol.for("copilot-tap.runtime");

/** The runtime of this process. @returns {Runtime} */
export function runtime() {
  const holder = /** @type {Record<symbol, Runtime | undefined>} */ (
    /** @type {unknown} */ (globalThis)
  );
  return (holder[KEY] ??= new Runtime());
}
