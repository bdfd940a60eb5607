// copilot-tap/provider: a process that offers tools to Copilot sessions. docs/sdk-node.md is its manual.

import { Calls, FileResult } from "./calls.mjs";
import { closedError, TapError } from "./errors.mjs";
import { Hooks } from "./hooks.mjs";
import { Connection } from "./connection.mjs";
import { Listeners } from "./listeners.mjs";
import { endInOneLine, endInPeace } from "./report.mjs";
import { Requests } from "./requests.mjs";
import { Streams } from "./streams.mjs";
import { makeTool, Tools } from "./tools.mjs";
import { WebSocketTransport } from "./websocket.mjs";
import { whereabouts } from "./where.mjs";

export { TapError, ToolError } from "./errors.mjs";

/** @typedef {import("./types.js").ProviderOptions} ProviderOptions */
/** @typedef {import("./connection.mjs").Message} Message */

const FILE_TTL_S = 300;
/** Without a caller of connect(). */
const IDLE = { resolve() {}, reject(/** @type {Error} */ _error) {} };

/** @typedef {import("./types.js").Provider} Interface */
/** @implements {Interface} */
class Provider {
  /** @type {Set<string>} */
  sessions = new Set();
  /** @type {string | undefined} */
  persistDir;
  /** @type {Promise<void>} */
  closed;
  #options;
  #listeners;
  #connection;
  #calls;
  #requests;
  #tools;
  #hooks;
  #streams;
  /** @type {Promise<import("./files.mjs").Files> | undefined} created at the first use */
  #files;
  /** @type {Promise<void> | undefined} */
  #connected;
  #everConnected = false;
  #left = false;
  /** @type {{resolve: () => void, reject: (error: Error) => void}} */
  #connecting = IDLE;
  /** @type {{resolve: () => void, reject: (error: Error) => void}} */
  #closing = IDLE;

  /** @param {string} name @param {ProviderOptions} [options] */
  constructor(name, options = {}) {
    this.name = name;
    this.#options = options;
    this.closed = new Promise((resolve, reject) => {
      this.#closing = { resolve, reject };
    });
    this.#listeners = new Listeners(name);
    const { session = "latest", pair } = options;
    this.#connection = new Connection({
      transport:
        options.transport ?? new WebSocketTransport({ name, where: whereabouts(options), pair }),
      session,
      hello: () => this.#hello(),
      onBound: (ack) => this.#onBound(ack),
      onLost: (error) => this.#onLost(error),
      onMessage: (message) => this.#receive(message),
      onSessionEnd: (sessionId, deadline) => this.#onSessionEnd(sessionId, deadline),
      onError: (error) => this.#listeners.error(error),
      onFatal: (error) => this.#onFatal(error),
      onOver: () => void this.close(),
      onStatus: (text) => void this.#listeners.emit("status", text),
    });
    this.#requests = new Requests((message) => this.#connection.send(message));
    /** @type {(type: string, fields: object) => Promise<any> | undefined} */
    const ifBound = (type, fields) =>
      this.#connection.bound ? this.#ask(type, { ...fields }) : undefined;
    /** @type {(error: Error, call?: string) => void} */
    const onError = (error, call) => this.#listeners.error(error, call);
    this.#tools = new Tools((delta) => ifBound("tools.update", delta), onError);
    const paired = () => !options.transport && !this.persistDir;
    this.#hooks = new Hooks({ ask: ifBound, paired, onError });
    this.#streams = new Streams(this.#requests, (type, fields) => this.#ask(type, fields), {
      ifBound,
      broadcast: session === "all",
      onError,
    });
    this.#calls = new Calls(this.#connection, (tool) => this.#tools.get(tool), onError);
  }

  // ---- declarations ------------------------------------------------------------------------------------

  /** @type {Interface["tool"]} */
  tool(name, options, handler) {
    return this.#tools.set(makeTool(name, options, /** @type {any} */ (handler)), options.inForce);
  }

  /** @type {Interface["removeTool"]} */
  removeTool(name, { inForce } = {}) {
    return this.#tools.remove(name, inForce);
  }

  /** @type {Interface["deny"]} */
  deny(match, reason) {
    return this.#hooks.rule({ match, action: "deny", reason });
  }

  /** @type {Interface["note"]} */
  note(match, content) {
    return this.#hooks.rule({ match, action: "context", content });
  }

  /** @type {Interface["gate"]} */
  gate(match, judge, { failOpen } = {}) {
    return this.#hooks.gate({ match, failOpen }, judge);
  }

  /** @param {string} text */
  context(text) {
    return this.#hooks.context(text);
  }

  /** @type {Interface["section"]} */
  section(name, change) {
    return this.#hooks.section(name, change);
  }

  /** @type {Interface["on"]} */
  on(event, listener) {
    const late = this.#connected && !this.#listeners.subscriptions.includes(event);
    if (late && this.#listeners.isSessionEvent(event)) {
      throw new Error(`on("${event}"): events of the session are subscribed to before connect()`);
    }
    this.#listeners.add(event, listener);
    return this;
  }

  /** @type {Interface["off"]} */
  off(event, listener) {
    this.#listeners.delete(event, listener);
    return this;
  }

  /** @returns {object} */
  #hello() {
    const { instance, metadata, concurrency, startupContext } = this.#options;
    return {
      name: this.name,
      instance,
      metadata,
      concurrency: typeof concurrency === "number" ? { max: concurrency } : concurrency,
      startup_context: startupContext,
      subscribe: this.#listeners.subscriptions,
      ...this.#hooks.declare(),
      tools: this.#tools.declare(),
    };
  }

  // ---- messages to the gateway -------------------------------------------------------------------------

  /** @param {string} type @param {{sessionId?: string, inForce?: boolean}} fields @returns {Promise<any>} */
  async #ask(type, fields) {
    const sessions = fields.inForce ? this.sessions : undefined;
    // Bound to "all" without a session, no session would answer.
    if (this.sessions.size > 0) return this.#requests.ask(type, fields, "requestId", sessions);
    this.#connection.send({ ...fields, type });
    return undefined;
  }

  /** @type {Interface["push"]} */
  async push(stream, event, options) {
    return this.#streams.push(stream, event, options);
  }

  /** @type {Interface["withdraw"]} */
  async withdraw(key, options) {
    return this.#streams.withdraw(key, options);
  }

  /** @type {Interface["stream"]} */
  stream(name) {
    return this.#streams.named(name);
  }

  /** @type {Interface["file"]} */
  async file(name, content, { mimeType, ttl = FILE_TTL_S }) {
    if (!this.persistDir) throw new TapError("UNAUTHORIZED", "there is no folder for files");
    const bytes = Buffer.from(content);
    const folder = this.persistDir;
    this.#files ??= import("./files.mjs").then(({ Files }) => new Files());
    const path = await (await this.#files).write(folder, name, bytes, ttl);
    return new FileResult({ path, mimeType, size: bytes.length, ttl });
  }

  // ---- messages from the gateway -----------------------------------------------------------------------

  /** @param {Message} message */
  #receive(message) {
    const { sessionId: session } = message;
    switch (message.type) {
      case "tool.call":
        return void this.#calls.start(message);
      case "tool.cancel":
        return this.#calls.cancel(message);
      case "gate.check":
        return void this.#hooks.check(message).then((answer) => this.#reply(answer));
      case "transform.request":
        return void this.#hooks.rewrite(message).then((answer) => this.#reply(answer));
      case "ack":
      case "stream.history":
        return this.#requests.answered(message);
      case "session.event":
        return void this.#listeners.emit(message.event, { session, ...message.data });
      case "session.lifecycle":
        if (message.state === "started") this.sessions.add(session);
        return void this.#listeners.emit(`session.${message.state}`, { session });
      case "error":
        if (!this.#requests.refused(message)) {
          this.#listeners.error(TapError.of(/** @type {any} */ (message)));
        }
    }
  }

  /** @param {Message} answer dropped if the connection is gone */
  #reply(answer) {
    if (this.#connection.bound) this.#connection.send(answer);
  }

  /** @param {Message} ack */
  #onBound({ sessionId, providerId, persistDir }) {
    this.persistDir = persistDir || undefined;
    const all = this.#connection.sessions.open.map(({ id }) => id);
    for (const id of sessionId === "all" ? all : [sessionId]) this.sessions.add(id);
    this.#connecting.resolve();
    this.#connecting = IDLE;
    this.#streams.restore();
    // Declarations that were made while hello was on its way.
    for (const part of [this.#tools, this.#hooks]) {
      void part.sync().catch((error) => this.#listeners.error(error));
    }
    void this.#listeners.emit("bound", { session: sessionId, providerId });
  }

  /** @param {TapError} error */
  #onLost(error) {
    this.sessions.clear();
    this.#requests.rejectAll(error);
    this.#calls.abortAll(error);
    void this.#listeners.emit("unbound", error);
  }

  /** @param {string} session @param {number} deadline */
  async #onSessionEnd(session, deadline) {
    this.sessions.delete(session);
    this.#requests.settleEnded(this.sessions);
    await this.#listeners.emit("session.end", { session, deadline });
  }

  /** @param {Error} error */
  #onFatal(error) {
    endInOneLine(this.name, error);
    this.#giveUp(error);
    if (this.#everConnected) this.#closing.reject(error);
    else this.#closing.resolve();
  }

  // ---- connecting and closing --------------------------------------------------------------------------

  /** @param {{signal?: AbortSignal}} [options] */
  connect({ signal } = {}) {
    if (this.#left) return Promise.reject(closedError("connect(): the provider was closed"));
    this.#connected ??= this.#connect(signal);
    return this.#connected;
  }

  /** @param {AbortSignal} [signal] */
  async #connect(signal) {
    const bound = new Promise((resolve, reject) => {
      this.#connecting = { resolve: () => resolve(undefined), reject };
    });
    const onAbort = () => {
      this.#giveUp(signal?.reason);
      void this.close("connecting was aborted");
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    if (signal?.aborted) onAbort();
    else this.#connection.start();
    try {
      await bound;
      this.#everConnected = true;
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
  }

  /** Returns whether a caller waited for connect(). @param {Error} error */
  #giveUp(error) {
    const waited = this.#connecting !== IDLE;
    this.#connecting.reject(error);
    this.#connecting = IDLE;
    return waited;
  }

  /** @param {string} [reason] */
  async close(reason) {
    this.#left = true;
    const error = closedError("the provider was closed");
    if (this.#giveUp(error)) endInPeace(this.name, error);
    this.#calls.abortAll(error);
    await this.#connection.stop(reason);
    await (await this.#files)?.removeAll();
    this.#closing.resolve();
  }
}

/** @type {typeof import("./types.js").provider} */
export const provider = (name, options) => /** @type {any} */ (new Provider(name, options));
