// The control client of the copilot-tap command, on a separate link (docs/session-link.md,
// "control.open").

import { readDescriptor } from "../lib/host-files.mjs";
import { LinkConnection, LinkEnded } from "./client.mjs";

/** @typedef {import("./client.mjs").GatewayEvent} GatewayEvent */
/** @typedef {import("../lib/addon.js").CallOutcome} CallOutcome */
/** @typedef {{name: string, origin: string, sessionId: string, label: string}} PairedProvider */

/**
 * A declared tool.
 * @typedef {{name: string, description?: string, parameters?: object, timeout?: number}} Tool
 *
 * A hook rule. `match` and its text are missing if the report is too long.
 * @typedef {{action: "deny" | "context" | "gate", failOpen: boolean, gateId?: string, reason?: string,
 *   content?: string, match?: import("../../sdk/node/types.js").Match}} InspectedRule
 *
 * `refused`: names of tools that the CLI refuses; `context`, `startupContext`: bytes of text for prompts;
 * `sections`: its edits of the system message.
 * @typedef {{session: string, tools: Tool[], refused: string[], rules: InspectedRule[], context: number,
 *   startupContext: number,
 *   sections: {section: string, action: "append" | "prepend" | "replace" | "callback"}[]}} InspectedBinding
 *
 * @typedef {{name: string, instance: string, leftMs: number, rules: InspectedRule[]}} DetachedRules
 *
 * `linked`: it has an extension process; `inUse`: larger is later; `settled`: its tools are in force;
 * `syncFailure`: why they could not be put in force; `hooks`: whether its hooks are in force;
 * "pending": the session has not answered, perhaps because the CLI asks its user.
 * @typedef {object} InspectedSession
 * @property {string} id
 * @property {string} label
 * @property {string} cwd
 * @property {number} cliPid
 * @property {boolean} linked
 * @property {boolean} ending
 * @property {"live" | "reload"} mode
 * @property {"idle" | "busy"} activity
 * @property {string} [agentMode] of the CLI: interactive, plan or autopilot @property {string} [agentModeBy] who has
 *   chosen it: start (unchanged), user or tap
 * @property {number} inUse
 * @property {number} tools
 * @property {boolean} settled
 * @property {string} [syncFailure]
 * @property {number} callsInFlight
 * @property {boolean} hooksWanted
 * @property {"in-force" | "pending" | "denied" | "unavailable"} hooks
 * @property {{name: string, on: boolean, tools: number, characters: number}[]} groups of tools: a group that is
 *   not on is not in the session; `characters`: the size of its definitions in each request
 * @property {DetachedRules[]} held rules of providers whose connection was lost: with the remaining time
 *
 * `name` and `id` are empty before its hello, `trust` is "none" before its auth; `onlySession`: the only session
 * that it may bind to; `all`: bound to every session for which it is ready.
 * @typedef {object} InspectedProvider
 * @property {number} connection
 * @property {string} id
 * @property {string} name
 * @property {string} instance
 * @property {"none" | "external" | "project" | "builtin" | "internal"} trust
 * @property {string} [origin] of a web page
 * @property {string} onlySession
 * @property {boolean} all
 * @property {number} callsInFlight
 * @property {number} waitedMs how long its oldest call has waited for an answer; 0: no pending call
 * @property {number} [noPongMs] the age of a ping that it has not answered for a second or more: it hangs
 * @property {InspectedBinding[]} bindings
 *
 * For calls that were answered, failed or cancelled since the gateway started; `perSecond` is of the
 * last minute. Percentiles are in ms, too long by an eighth at most.
 * @typedef {{provider: string, tool: string, calls: number, failed: number, cancelled: number, perSecond: number,
 *   p50Ms: number, p95Ms: number, p99Ms: number, lastAt: number}} InspectedTool
 *
 * @typedef {{at: number, provider: string, tool: string, code: string, message: string}} FailedCall
 * @typedef {{name: string, value: number, default: number, unit: "bytes" | "ms" | "count", env: string, why: string}}
 *   LimitInForce
 *
 * Times are Unix times in ms. `failures`: the last 20, the oldest first. Not `complete`: some tools have
 * only their name.
 * @typedef {{version: string, pid: number, node: string, port: number, startedAt: number, now: number, draining:
 *   boolean, sessions: InspectedSession[], providers: InspectedProvider[], tools: InspectedTool[],
 *   failures: FailedCall[], limits: LimitInForce[], complete: boolean}} Inspection
 *
 * A call with its outcome; `at` is its end, `ms` its duration. `args`: JSON text, cut after 512
 * bytes if `argsCut`; `code` and `message`: of a failure.
 * @typedef {{sequence: number, at: number, ms: number, session: string, provider: string, tool: string,
 *   by: "model" | "command", args: string, argsCut: boolean, code?: string, message?: string}} LoggedCall
 *
 * `text` is the complete message with secrets; of `closed` the reason, of `opened` a web page's origin.
 * @typedef {{at: number, connection: number, provider: string, kind: "opened" | "received" | "sent" | "closed", text:
 *   string}} TraceFrame
 */

const ANSWER_MS = 5000;
/** The gateway ends a call at the tool's timeout. The link detects a gateway that hangs. */
const MAX_CALL_MS = 3_600_000;

/** No gateway answers; `message` has the reason and the next step. */
export class NoGateway extends Error {
  code = "NO_GATEWAY";

  /** @param {string} message @param {string} [reason] the message if a gateway is known to run */
  constructor(message, reason = message) {
    super(message);
    this.reason = reason;
  }
}

export class Control {
  #link;
  #secret;
  /** The function that waits for an answer. @type {((event: GatewayEvent) => void) | undefined} */
  #onAnswer;
  /** Questions are sent in sequence. @type {Promise<unknown>} */
  #queue = Promise.resolve();
  /** The session of the present tool calls. */
  #session = "";
  /** @type {((frame: TraceFrame) => void) | undefined} */
  #onTrace;
  /** @type {Promise<string>} why the link has ended */
  #ended;

  /** @param {string} secret the gateway's */
  constructor(secret) {
    this.#secret = secret;
    /** @type {(reason: string) => void} */
    let end = () => {};
    this.#ended = new Promise((resolve) => {
      end = resolve;
    });
    this.#link = new LinkConnection({
      onEvent: (event) => this.#receive(event),
      onClosed: (reason) => end(reason),
    });
  }

  /** @param {GatewayEvent} event */
  #receive(event) {
    if (event.type === "trace.frame") this.#onTrace?.(/** @type {any} */ (event));
    else this.#onAnswer?.(event);
  }

  /**
   * @template T
   * @param {() => Promise<T>} work starts when all earlier work is done
   * @returns {Promise<T>}
   */
  #enqueue(work) {
    const done = this.#queue.then(work);
    this.#queue = done.catch(() => {});
    return done;
  }

  /**
   * @param {object} message @param {string} answer its type
   * @returns {Promise<GatewayEvent>}
   */
  async #query(message, answer) {
    /** @type {Promise<GatewayEvent>} */
    const given = new Promise((resolve) => {
      this.#onAnswer = resolve;
    });
    /** @type {NodeJS.Timeout | undefined} */
    let timer;
    /** @type {Promise<string>} */
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, ANSWER_MS, `no answer within ${ANSWER_MS / 1000} s`);
    });
    this.#link.send({ ...message, secret: this.#secret });
    const event = await Promise.race([given, late, this.#ended]);
    clearTimeout(timer);
    this.#onAnswer = undefined;
    if (typeof event === "object" && event.type === answer) return event;
    const why = typeof event === "string" ? event : (event.message ?? `it says ${event.type}`);
    throw new NoGateway(`the gateway does not answer: ${why}; see its log`);
  }

  /** @returns {Promise<Inspection>} */
  async inspect() {
    return this.#enqueue(async () => (await this.#query({ type: "inspect" }, "inspection")).report);
  }

  /** @param {number} after a sequence number @returns {Promise<LoggedCall[]>} the oldest first */
  async listCalls(after) {
    const message = { type: "calls.list", after };
    return this.#enqueue(async () => (await this.#query(message, "calls")).calls);
  }

  /**
   * Asks a provider to serve that session.
   * @param {string} provider its name @param {string} sessionId
   * @returns {Promise<{outcome: "asked" | "here" | "refused" | "unknown", message: string}>}
   */
  async use(provider, sessionId) {
    const message = { type: "provider.use", provider, sessionId };
    const used = await this.#enqueue(() => this.#query(message, "provider.used"));
    return { outcome: used.outcome, message: used.message };
  }

  /**
   * Calls a provider's tool as a session would; hooks are not asked.
   * @param {{tool: string, args?: unknown, session?: string, signal?: AbortSignal}} request `session`:
   *   its id; by default the session with the tool that was last in use
   * @returns {Promise<CallOutcome>}
   */
  async call({ tool, args = {}, session, signal }) {
    const { id, result } = await this.#enqueue(async () => {
      await this.#open(session ?? "");
      return this.#link.startCall(tool, args, MAX_CALL_MS);
    });
    const cancel = () => this.#link.cancel(id, "the user has cancelled it");
    signal?.addEventListener("abort", cancel, { once: true });
    if (signal?.aborted) cancel();
    try {
      return await result;
    } finally {
      signal?.removeEventListener("abort", cancel);
    }
  }

  /**
   * Sends a request to the gateway's host (js/gateway-host/requests.mjs). Several requests may be pending.
   * @param {string} method @param {object} [params] @param {{timeoutMs?: number}} [options]
   * @returns {Promise<any>} the result
   * @throws {RequestFailed} with the host's code: UNKNOWN_METHOD, TIMEOUT, INTERNAL or a code of the method
   * @throws {NoGateway}
   */
  async request(method, params, options) {
    try {
      return await this.#link.request(method, params, options);
    } catch (error) {
      if (!(error instanceof LinkEnded)) throw error;
      throw new NoGateway(`the gateway does not answer: ${error.message}; see its log`);
    }
  }

  /**
   * Reports messages from and to providers, from now on.
   * @param {(frame: TraceFrame) => void} onFrame
   * @returns {Promise<{ended: Promise<string>}>} when it has started; `ended`: why it has stopped
   */
  async trace(onFrame) {
    this.#onTrace = onFrame;
    this.#link.send({ type: "trace" });
    await this.inspect(); // messages after this answer are traced
    return { ended: this.#ended };
  }

  /** @returns {Promise<PairedProvider[]>} */
  async listPairedProviders() {
    return this.#enqueue(
      async () => (await this.#query({ type: "paired.list" }, "paired")).providers,
    );
  }

  /** @param {string} name @returns {Promise<PairedProvider[]>} with the revoked tokens */
  async unpair(name) {
    const message = { type: "paired.revoke", name };
    return this.#enqueue(async () => (await this.#query(message, "paired")).providers);
  }

  /** @param {string} session for tool calls */
  async #open(session) {
    if (session === this.#session) return;
    await this.#query({ type: "control.open", sessionId: session }, "welcome");
    this.#session = session;
  }

  close() {
    this.#link.close("it is done");
  }

  /** @param {{link: string, secret: string}} descriptor of the gateway; or a feature's token as the secret @returns {Promise<Control>} */
  static async open(descriptor) {
    const control = new Control(descriptor.secret);
    try {
      await control.#link.connect(descriptor.link);
    } catch (error) {
      if (!(error instanceof LinkEnded)) throw error;
      throw new NoGateway(
        `no gateway runs: ${error.message}; a gateway starts with the next session of the Copilot CLI`,
        error.message,
      );
    }
    try {
      await control.#query({ type: "control.open" }, "welcome");
    } catch (error) {
      control.close();
      throw error;
    }
    return control;
  }
}

/**
 * @param {import("../lib/paths.mjs").GatewayFiles} files
 * @returns {Promise<Control>} close it
 * @throws {NoGateway}
 */
export async function openControl(files) {
  const descriptor = readDescriptor(files.descriptor);
  if (!descriptor) {
    throw new NoGateway(
      "no gateway runs; a gateway starts with the next session of the Copilot CLI",
      `${files.descriptor} does not exist, or other users can access it`,
    );
  }
  return Control.open(descriptor);
}
