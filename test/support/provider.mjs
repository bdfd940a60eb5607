// A provider as its author would write it, with every step in the hands of the test.

import { readFile } from "node:fs/promises";
import WebSocket from "ws";
import { deferred, PATIENCE_MS, waitFor, withTimeout } from "./wait.mjs";

/** The gateway answered a step with `error`. */
export class ProviderError extends Error {
  /** @param {any} message the gateway's message */
  constructor(message) {
    super(`${message.code}: ${message.message}`);
    this.code = message.code;
    this.wire = message;
  }
}

/**
 * @typedef {{
 *   port: number, host?: string, path?: string, headers?: Record<string, string>, origin?: string,
 *   connectTimeoutMs?: number, ws?: object,
 * }} ConnectOptions
 * @typedef {(args: any, call: {id: string, tool: string, sessionId: string, signal: AbortSignal, provider: TestProvider}) => unknown} ToolHandler
 * @typedef {{description?: string, parameters?: object, timeout?: number, handler: ToolHandler}} ServedTool
 */

const EMPTY_SCHEMA = { type: "object", properties: {} };
const isText = (value) => typeof value === "string";

/** A message type, several, or a predicate, as a predicate. */
function matcher(match) {
  if (typeof match === "function") return match;
  const types = [match].flat();
  return (message) => types.includes(message.type);
}

/** Tools without their handlers, as `hello` and `tools.update` want them. @param {Record<string, ServedTool>} tools */
export const declareTools = (tools) =>
  Object.entries(tools).map(
    ([name, { handler: _handler, description = name, parameters = EMPTY_SCHEMA, ...rest }]) => ({
      name,
      description,
      parameters,
      ...rest,
    }),
  );

export class TestProvider {
  /** Everything received, in order. @type {any[]} */
  received = [];
  /** How the connection ended, once it has. @type {{code: number, reason: string} | undefined} */
  closed;
  /** From `hello.ack`. @type {string | undefined} */
  sessionId;
  /** @type {WebSocket} */
  socket;
  /** Received and not yet taken by waitFor. */
  #inbox = [];
  #listeners = new Set();
  /** @type {ReturnType<typeof deferred<{code: number, reason: string}>>} */
  #closing = deferred();

  /** Only opens a connection. @param {ConnectOptions} options */
  static async connect({
    port,
    host = "127.0.0.1",
    path = "/",
    connectTimeoutMs = PATIENCE_MS,
    ws = {},
    ...rest
  }) {
    const provider = new TestProvider();
    const socket = new WebSocket(`ws://${host}:${port}${path}`, { ...rest, ...ws });
    provider.#attach(socket);
    const opened = new Promise((resolve, reject) => {
      socket.once("open", resolve).once("error", reject);
    });
    try {
      await withTimeout(opened, `a WebSocket connection to port ${port}`, connectTimeoutMs);
    } catch (error) {
      socket.terminate();
      throw error;
    }
    return provider;
  }

  #attach(socket) {
    this.socket = socket;
    socket.on("message", (data) => this.#receive(JSON.parse(data.toString())));
    // ws reports a failure as "error" and then "close"; the latter tells all a test needs.
    socket.on("error", () => {});
    socket.on("close", (code, reason) => {
      this.closed = { code, reason: reason.toString() };
      this.#closing.resolve(this.closed);
    });
  }

  #receive(message) {
    this.received.push(message);
    this.#inbox.push(message);
    for (const listener of this.#listeners) listener(message);
  }

  /** Calls back for every message from now on. @returns {() => void} how to stop */
  onMessage(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  // ---- sending -----------------------------------------------------------------------------------

  /** @param {object} message */
  send(message) {
    this.socket.send(JSON.stringify(message));
  }

  /** @param {string | Buffer} data sent as it is */
  sendRaw(data, options) {
    this.socket.send(data, options);
  }

  /**
   * @param {string | {token?: string, tokenFile?: string}} credential
   * @returns {Promise<any>} the `sessions` message
   */
  async auth(credential) {
    this.send({ type: "auth", token: await readToken(credential) });
    return this.#answer("sessions", "auth");
  }

  /**
   * @param {{name: string, session: string, tools?: object[]}} hello further fields pass through
   * @returns {Promise<any>} the `hello.ack`
   */
  async hello(hello) {
    this.send({ type: "hello", protocolVersion: 2, ...hello });
    const ack = await this.#answer("hello.ack", "hello");
    this.sessionId = ack.sessionId ?? hello.session;
    return ack;
  }

  result(id, data) {
    this.send({ type: "tool.result", id, data });
  }

  error(id, error, errorCode = "INTERNAL") {
    this.send({ type: "tool.result", id, error, errorCode });
  }

  push(level, event, extra = {}) {
    this.send({ type: "push", level, event, ...extra });
  }

  /** @param {object[]} tools definitions, see declareTools */
  updateTools(tools, extra = {}) {
    this.send({ type: "tools.update", tools, ...extra });
  }

  // ---- receiving ---------------------------------------------------------------------------------

  async #answer(type, replyTo) {
    const fits = ({ type: got, replyTo: to }) =>
      got === type || (got === "error" && (to === undefined || to === replyTo));
    const message = await this.waitFor(fits, `${type} in answer to ${replyTo}`);
    if (message.type === "error") throw new ProviderError(message);
    return message;
  }

  /**
   * Takes the oldest message that fits and that no earlier wait has taken.
   * Fails at once when the connection has ended without it.
   *
   * @param {string | string[] | ((message: any) => unknown)} match
   * @param {string} [subject]
   */
  async waitFor(match, subject = String(match)) {
    const fits = matcher(match);
    const take = () => {
      const at = this.#inbox.findIndex((message) => fits(message));
      return at < 0 ? undefined : this.#inbox.splice(at, 1)[0];
    };
    const found = await waitFor(() => take() ?? (this.closed && GONE), {
      intervalMs: 2,
      what: () => `${subject}\n${this.summary()}`,
    });
    if (found === GONE)
      throw new Error(`the connection ended while waiting for ${subject}\n${this.summary()}`);
    return found;
  }

  /** @returns {Promise<{code: number, reason: string}>} */
  waitForClose(timeoutMs = PATIENCE_MS) {
    const what = () => `the end of the connection\n${this.summary()}`;
    return withTimeout(this.#closing.promise, what, timeoutMs);
  }

  /** The received messages, for errors. */
  summary() {
    const lines = this.received.map((message) => `  ${JSON.stringify(message).slice(0, 200)}`);
    const end = this.closed ? `closed ${this.closed.code} ${this.closed.reason}` : "open";
    return [`received (${end}):`, ...lines].join("\n");
  }

  // ---- the easy mode -----------------------------------------------------------------------------

  /**
   * Answers calls with these tools' handlers. A handler's return value is the result; its exception is
   * the error (with its `code`, or INTERNAL); `call.signal` aborts when the gateway cancels.
   *
   * @param {Record<string, ServedTool>} tools
   */
  handle(tools) {
    const running = new Map();
    const start = (call) => {
      const controller = new AbortController();
      running.set(call.id, controller);
      void this.#run(tools[call.tool]?.handler, call, controller.signal).finally(() =>
        running.delete(call.id),
      );
    };
    return this.onMessage((message) => {
      if (message.type === "tool.call") start(message);
      if (message.type === "tool.cancel") running.get(message.id)?.abort(message.reason);
      if (message.type === "session.lifecycle" && message.state === "shutdown.pending")
        this.sessionId = undefined;
    });
  }

  async #run(handler, call, signal) {
    const cancelled = new Promise((_resolve, reject) => {
      const refuse = () => reject(Object.assign(new Error("Cancelled"), { code: "CANCELLED" }));
      signal.addEventListener("abort", refuse, { once: true });
    });
    try {
      if (!handler) throw Object.assign(new Error(`no tool ${call.tool}`), { code: "NOT_FOUND" });
      const { id, tool, sessionId } = call;
      const own = (async () =>
        handler(call.args ?? {}, { id, tool, sessionId, signal, provider: this }))();
      this.result(call.id, (await Promise.race([own, cancelled])) ?? "");
    } catch (error) {
      if (!this.closed)
        this.error(call.id, error?.message ?? String(error), error?.code ?? "INTERNAL");
    }
  }

  /**
   * Connects as soon as there is a gateway, binds to its first session (as soon as there is one), serves.
   *
   * @param {ConnectOptions & {
   *   token?: string, tokenFile?: string, name?: string, session?: string,
   *   tools: Record<string, ServedTool>, hello?: object,
   * }} options
   */
  static async serve({
    token,
    tokenFile,
    name = "test-provider",
    session,
    tools,
    hello,
    ...where
  }) {
    const { provider, sessions } = await waitFor(
      () => TestProvider.#enter(where, { token, tokenFile }),
      {
        intervalMs: 50,
        what: `a gateway that lets in on port ${where.port}`,
      },
    );
    try {
      provider.handle(tools);
      const id = session ?? (await provider.#firstSession(sessions));
      await provider.hello({ name, session: id, tools: declareTools(tools), ...hello });
      return provider;
    } catch (error) {
      provider.terminate();
      throw error;
    }
  }

  static async #enter(where, credential) {
    const provider = await TestProvider.connect(where);
    try {
      return { provider, sessions: await provider.auth(credential) };
    } catch (error) {
      provider.terminate();
      throw error;
    }
  }

  async #firstSession(sessions) {
    if (sessions.active.length > 0) return sessions.active[0].id;
    const listed = (message) => message.type === "sessions.updated" && message.active.length > 0;
    const updated = await this.waitFor(listed, "sessions.updated with a session");
    return updated.active[0].id;
  }

  // ---- the end -----------------------------------------------------------------------------------

  /** Takes leave as the protocol wants it. */
  async close(reason = "done") {
    if (this.closed) return this.closed;
    if (this.socket.readyState === WebSocket.OPEN) this.send({ type: "goodbye", reason });
    this.socket.close();
    return this.waitForClose(5000).catch(() => this.terminate());
  }

  /** Ends like a crashed process: without a word. */
  terminate() {
    this.socket.terminate();
  }
}

/** Stands for "ended" where a message was awaited. */
const GONE = Symbol("connection ended");

async function readToken(credential) {
  if (isText(credential)) return credential;
  const { token, tokenFile } = credential;
  return token ?? (await readFile(tokenFile, "utf8")).trim();
}
