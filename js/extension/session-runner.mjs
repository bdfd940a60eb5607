// A session's side of tap: its messages from and to the gateway. Its join
// (copilot-session.mjs), its tools (tools.mjs), its calls (calls.mjs) and its hooks
// (hooks.mjs) have separate files. It depends neither on the transport (a link or a single
// process) nor on the session's owner.

import { errorMessage } from "../lib/values.mjs";
import { AgentMode } from "./agent-mode.mjs";
import { CopilotSessionAdapter } from "./copilot-session.mjs";
import { SessionCalls } from "./calls.mjs";
import { SessionEvents } from "./session-events.mjs";
import { SessionHooks } from "./hooks.mjs";
import { FirstTools, SessionTools } from "./tools.mjs";
import { formatLabel } from "./session-info.mjs";
import { SessionRequests } from "./session-requests.mjs";

/** @typedef {import("./copilot-session.mjs").SessionTool} SessionTool */
/** @typedef {import("./tools.mjs").ToolsEvent} ToolsEvent */
/** @typedef {{type: string, [key: string]: any}} GatewayEvent */

/**
 * The connection to the gateway.
 * @typedef {object} Link
 * @property {boolean} connected
 * @property {(message: object) => void} send docs/session-link.md
 * @property {(tool: string, args: unknown, timeoutMs: number | undefined, settle: (outcome:
 *   import("../lib/addon.js").CallOutcome) => void, origin?: import("../link/pending-calls.mjs").CallOrigin) => number}
 *   call settles once; returns the id of the call
 * @property {(id: number, reason: string) => void} cancel
 */

/**
 * @typedef {object} SessionOptions
 * @property {string} id
 * @property {string} cwd
 * @property {string} [label] instead of its folder and branch
 * @property {number} [cliPid]
 * @property {ReturnType<typeof import("./session-info.mjs").sessionEnvironment>} [environment] of the CLI
 * @property {"auto" | "live" | "reload"} sync
 * @property {SessionTool[]} [ownTools] in addition to the providers' tools
 * @property {import("../lib/log.mjs").Log} log
 */

/** Messages of the gateway about hooks. */
const HOOK_EVENTS = new Set(["hooks", "hook.verdict", "prompt.context", "section.text"]);

export class SessionRunner {
  #options;
  #link;
  #log;
  #label;
  /** The CLI's title of the session. */
  #title = "";
  #joined = false;
  #first = new FirstTools();
  /** @type {SessionTools} */
  #tools;
  #calls;
  /** Resolves when the names of the CLI's own tools were sent to the gateway. */
  #builtinsSent = Promise.resolve();
  /** @type {string[]} */
  #builtins = [];
  #busy = false;
  /** @type {CopilotSessionAdapter | undefined} */
  #session;
  /** @type {(() => void) | undefined} */
  #unwatch;
  #events = new SessionEvents();
  #mode = new AgentMode((mode, by) =>
    this.#link.send({ type: "update", agentMode: mode, agentModeBy: by }),
  );
  #requests;
  /** The session for requests of features. @type {any} */
  #copilotSession;
  #hooks;
  /** @type {Set<string>} events that a provider wants */
  #subscribed = new Set();
  /** The groups of tools that are on, for the next gateway. @type {string[]} */
  #groups = [];
  /** @type {GatewayEvent[]} for the session, before it is joined */
  #waiting = [];

  /** @param {Link} link @param {SessionOptions} options */
  constructor(link, options) {
    this.#link = link;
    this.#options = options;
    this.#log = options.log;
    this.#label = this.#currentLabel();
    const { log, sync, ownTools, cwd: folder } = options;
    const showInfo = async (/** @type {string} */ text) => this.#session?.log(text, "info");
    const findProvider = (/** @type {string} */ tool) => this.#tools.findProvider(tool);
    this.#hooks = new SessionHooks({ link, findProvider, folder, showInfo, log });
    this.#calls = new SessionCalls(link);
    this.#requests = new SessionRequests(link, this.#mode);
    const serving = { link, calls: this.#calls, hooks: this.#hooks };
    this.#tools = new SessionTools({ ...serving, sync, ownTools, log });
  }

  /** The session itself has ended, not only its process. */
  ended = false;

  /** This process will end because tap requested a reload. */
  get reloading() {
    return this.#tools.reloading;
  }

  /** Number of pending calls. */
  get callsInFlight() {
    return this.#calls.inFlight;
  }

  /** The fields of `register`. */
  registration() {
    return {
      sessionId: this.#options.id,
      label: this.#label,
      cwd: this.#options.cwd,
      cliPid: this.#options.cliPid ?? 0,
      mode: this.#tools.mode,
      joined: this.#joined,
      have: this.#tools.digests(),
      groups: this.#groups,
      ...this.#options.environment,
    };
  }

  /**
   * Joins with the tools that the gateway has for this session. A later call joins again with the present tools.
   * @param {import("./tools.mjs").JoinSession} joinSession
   */
  async join(joinSession) {
    if (!this.#joined) await this.#first.wait();
    const first = this.#first.consume();
    const { session, refused } = await this.#tools.join(joinSession, first);
    this.adopt(session);
    await this.#builtinsSent;
    if (first) this.#tools.answer(first.revision, refused, "the CLI does not take them");
  }

  /** Serves a session that is already joined. @param {any} session */
  adopt(session) {
    this.#joined = true;
    this.#unwatch?.();
    const adapter = new CopilotSessionAdapter(session);
    this.#session = adapter;
    this.#copilotSession = session;
    this.#hooks.adopt(session);
    this.#unwatch = adapter.watch({
      activity: (activity, unsaid) => {
        if (unsaid)
          this.#log("info", "the CLI has lost session.idle; asked, it says that it is idle");
        this.#onActivity(activity);
      },
      title: (title) => {
        this.#title = title;
        this.#relabel();
      },
      mode: (mode) => this.#mode.receiveChange(mode),
      any: (event) => {
        this.#tools.observe(event.type);
        this.#requests.waits.observe(event);
        this.#forward(event);
      },
      shutdown: () => {
        this.ended = true;
        this.#link.send({ type: "end", reason: "the session has ended" });
      },
    });
    this.#builtinsSent = this.#nameBuiltins(adapter);
    this.#tools.serve(adapter, this.#builtinsSent);
    void this.#sendActivity(adapter);
    this.#mode
      .adopt(session)
      .catch((error) => this.#log("info", `the mode is not known: ${errorMessage(error)}`));
    const late = this.#first.consume();
    if (late) this.#onTools(late);
    for (const event of this.#waiting.splice(0)) this.receive(event);
  }

  /** Puts the present tools in force, for a session that did not join with them. */
  async install() {
    await this.#tools.install();
  }

  /** Stops serving the session. Its handlers stay, and answer that there is no gateway. */
  release() {
    this.#unwatch?.();
    this.#unwatch = undefined;
  }

  /** There is no gateway to wait for: a join continues without tools. */
  stopWaiting() {
    this.#first.stopWaiting();
  }

  /** A message from the gateway. @param {GatewayEvent} event */
  receive(event) {
    const session = this.#session;
    if (event.type === "tools") return this.#onTools(/** @type {any} */ (event));
    if (event.type === "subscribe") {
      this.#subscribed = new Set(event.events);
    } else if (event.type === "groups") {
      this.#groups = event.names;
    } else if (!session) {
      this.#waiting.push(event);
    } else if (HOOK_EVENTS.has(event.type)) {
      this.#hooks.receive(event);
    } else if (event.type === "session.request") {
      void this.#requests.receive(this.#copilotSession, /** @type {any} */ (event));
    } else if (event.type === "timeline") {
      this.#logRejection(session.log(event.text, event.level));
    } else if (event.type === "inject") {
      this.#logRejection(this.#inject(session, event));
    }
  }

  /** @param {CopilotSessionAdapter} session @param {any} event */
  async #inject(session, { prompt, display, immediate }) {
    try {
      await session.send(prompt, display, immediate);
    } catch (error) {
      // There will be no turn whose end the gateway could wait for.
      if (!this.#busy) this.#link.send({ type: "activity", activity: "idle" });
      throw error;
    }
  }

  /** The link to the gateway has ended. */
  gatewayGone() {
    this.#hooks.gatewayGone();
  }

  /** The process ends, and the CLI would allow unanswered calls, so they are denied. */
  async denyPending() {
    await this.#hooks.drain();
  }

  /** Forwards events that a provider has subscribed to. @param {{type: string, data: any}} event */
  #forward(event) {
    const translated = this.#events.translate(event, (tool) => this.#tools.findProvider(tool));
    if (!translated || !this.#subscribed.has(translated.event)) return;
    try {
      this.#link.send({ type: "event", ...translated });
    } catch (error) {
      // Its arguments may be nested more deeply than a message can be.
      this.#log("warning", `${translated.event} is not passed on: ${errorMessage(error)}`);
    }
  }

  /** @param {Promise<unknown>} sent */
  #logRejection(sent) {
    sent.catch((error) =>
      this.#log("warning", `the session took no message: ${errorMessage(error)}`),
    );
  }

  /** @param {"idle" | "busy" | "user-prompt"} activity */
  #onActivity(activity) {
    this.#busy = activity !== "idle";
    if (!this.#busy) {
      this.#tools.forgetRemoved();
      this.#hooks.endTurn();
    }
    this.#link.send({ type: "activity", activity });
    if (!this.#busy) this.#relabel(); // the agent may have changed the branch
  }

  #currentLabel() {
    const { cwd, label } = this.#options;
    return formatLabel({ cwd, name: label, title: this.#title });
  }

  #relabel() {
    const label = this.#currentLabel();
    if (label === this.#label) return;
    this.#label = label;
    this.#link.send({ type: "update", label });
  }

  /**
   * The gateway keeps out tools of providers with the names of the CLI's own tools, since such a tool would break every
   * prompt. So it needs these names before it sends tools.
   * @param {CopilotSessionAdapter} session
   */
  async #nameBuiltins(session) {
    try {
      this.#builtins = await session.builtinNames();
      this.#link.send({ type: "update", builtins: this.#builtins });
    } catch (error) {
      this.#log("warning", `the CLI does not name its own tools: ${errorMessage(error)}`);
    }
  }

  /** Sends the state that is not in `register` to a new gateway. */
  resendState() {
    if (this.#builtins.length > 0) this.#link.send({ type: "update", builtins: this.#builtins });
    if (this.#busy) this.#link.send({ type: "activity", activity: "busy" });
    this.#mode.resend();
  }

  /** Reports the activity, which only a joined session can read. @param {CopilotSessionAdapter} session */
  async #sendActivity(session) {
    try {
      if (await session.isProcessing()) this.#link.send({ type: "activity", activity: "busy" });
    } catch (error) {
      this.#log("warning", `introduction: ${errorMessage(error)}`);
    }
  }

  /** @param {ToolsEvent} event */
  #onTools(event) {
    if (this.#joined) this.#tools.change(event);
    else this.#first.put(event);
  }
}
