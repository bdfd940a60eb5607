// A gateway as a developer would write it in JavaScript: `ws`, JSON.parse, a Map of calls. It exists for
// comparison, so it does all that a provider and a session need, and is as fast as such code can be.

import { randomUUID, timingSafeEqual } from "node:crypto";
import { EventEmitter } from "node:events";
import { WebSocketServer } from "ws";

const MAX_MESSAGE = 5 * 1024 * 1024;
const AUTH_MS = 10_000;
const CALL_MS = 300_000;
const DEBOUNCE_MS = 200;

/** @param {string} a @param {string} b */
function sameSecret(a, b) {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** The connection of a provider. */
class Provider {
  state = "await-auth";
  name = "";
  /** @type {any[]} */
  tools = [];
  /** @type {Set<string>} calls that it has not answered */
  calls = new Set();

  /** @param {JsGateway} gateway @param {import("ws").WebSocket} socket */
  constructor(gateway, socket) {
    this.gateway = gateway;
    this.socket = socket;
    this.deadline = setTimeout(() => this.fail("AUTH_FAILED", "no auth in time"), AUTH_MS);
    socket.on("message", (data, isBinary) => this.receive(data, isBinary));
    socket.on("close", () => this.gateway.left(this));
    socket.on("error", () => socket.terminate());
  }

  send(message) {
    this.socket.send(JSON.stringify(message));
  }

  error(code, message, replyTo) {
    this.send({ type: "error", code, message, replyTo });
  }

  fail(code, message) {
    this.error(code, message);
    this.socket.close(1008, code);
  }

  receive(data, isBinary) {
    if (isBinary) return this.socket.close(1003);
    let message;
    try {
      message = JSON.parse(data.toString());
    } catch {
      return this.error("INVALID_JSON", "a message must be JSON");
    }
    if (typeof message?.type !== "string") {
      return this.error("INVALID_JSON", "a message must be an object with a type");
    }
    if (this.state === "await-auth") return this.auth(message);
    switch (message.type) {
      case "hello":
        return this.hello(message);
      case "tool.result":
        return this.gateway.settle(this, message);
      case "goodbye":
        return this.socket.close(1000);
      default:
        return this.error("UNKNOWN_TYPE", `no such message: ${message.type}`, message.type);
    }
  }

  auth(message) {
    if (message.type !== "auth" || !sameSecret(String(message.token), this.gateway.token)) {
      return this.fail("AUTH_FAILED", "send auth with the token");
    }
    clearTimeout(this.deadline);
    this.state = "unbound";
    this.send({ type: "sessions", active: this.gateway.sessions() });
  }

  hello(message) {
    const { name, protocolVersion, session, tools } = message;
    if (protocolVersion !== 2) return this.fail("UNSUPPORTED_VERSION", "send protocolVersion 2");
    if (typeof name !== "string" || !Array.isArray(tools)) {
      return this.error("INVALID_JSON", "hello needs a name and tools", "hello");
    }
    if (!this.gateway.hasSession(session)) {
      return this.error("INVALID_SESSION", "there is no such session", "hello");
    }
    const taken = tools.find((tool) => this.gateway.owner(tool.name));
    if (taken) return this.error("TOOL_CONFLICT", `"${taken.name}" is taken`, "hello");
    this.name = name;
    this.tools = tools;
    this.state = "bound";
    const { sessionId } = this.gateway;
    this.send({
      type: "hello.ack",
      protocolVersion: 2,
      providerId: `p-${randomUUID().slice(0, 8)}`,
      sessionId,
    });
    this.send({ type: "session.lifecycle", sessionId, state: "started" });
    this.gateway.bound(this);
  }
}

/** Events: "tools", with the definitions that the session has from now on. */
export class JsGateway extends EventEmitter {
  sessionId = randomUUID();
  /** @type {Set<Provider>} */
  #providers = new Set();
  /** @type {Map<string, Provider>} whose tool it is */
  #owners = new Map();
  /** @type {Map<string, {provider: Provider, settle: (outcome: any) => void, timer: NodeJS.Timeout}>} */
  #calls = new Map();
  /** @type {NodeJS.Timeout | undefined} */
  #debounce;

  /** @param {{token: string}} options */
  constructor({ token }) {
    super();
    this.token = token;
  }

  /** @returns {Promise<number>} the port */
  listen() {
    return new Promise((resolve) => {
      const options = { host: "127.0.0.1", port: 0, maxPayload: MAX_MESSAGE };
      this.server = new WebSocketServer(options, () => {
        resolve(/** @type {import("node:net").AddressInfo} */ (this.server.address()).port);
      });
      this.server.on("connection", (socket) => this.#providers.add(new Provider(this, socket)));
    });
  }

  sessions() {
    return [{ id: this.sessionId, label: "bench", cwd: process.cwd() }];
  }

  hasSession(id) {
    return id === undefined || id === this.sessionId;
  }

  owner(tool) {
    return this.#owners.get(tool);
  }

  bound(provider) {
    for (const tool of provider.tools) this.#owners.set(tool.name, provider);
    this.#toolsChanged();
  }

  left(provider) {
    clearTimeout(provider.deadline);
    this.#providers.delete(provider);
    for (const tool of provider.tools) this.#owners.delete(tool.name);
    for (const id of provider.calls) {
      this.#finish(id, { error: "DISCONNECTED: the provider's connection was lost" });
    }
    if (provider.tools.length > 0) this.#toolsChanged();
  }

  #toolsChanged() {
    clearTimeout(this.#debounce);
    this.#debounce = setTimeout(() => {
      const bound = [...this.#providers].filter(({ state }) => state === "bound");
      this.emit(
        "tools",
        bound.flatMap(({ tools }) => tools),
      );
    }, DEBOUNCE_MS);
  }

  /** @returns {Promise<{data?: unknown, error?: string}>} */
  call(tool, args) {
    const provider = this.#owners.get(tool);
    if (!provider) return Promise.resolve({ error: `NOT_FOUND: no tool ${tool}` });
    const id = randomUUID();
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        provider.send({ type: "tool.cancel", id, reason: "timeout" });
        this.#finish(id, { error: "TIMEOUT: the provider did not answer" });
      }, CALL_MS);
      this.#calls.set(id, { provider, settle: resolve, timer });
      provider.calls.add(id);
      provider.send({ type: "tool.call", id, sessionId: this.sessionId, tool, args });
    });
  }

  settle(provider, { id, data, error }) {
    if (this.#calls.get(id)?.provider !== provider) return;
    this.#finish(id, error === undefined ? { data } : { error: String(error) });
  }

  #finish(id, outcome) {
    const call = this.#calls.get(id);
    if (!call) return;
    clearTimeout(call.timer);
    this.#calls.delete(id);
    call.provider.calls.delete(id);
    call.settle(outcome);
  }

  close() {
    for (const { socket } of this.#providers) socket.terminate();
    this.server.close();
  }
}

/** The result that a tool's handler gives to the CLI. @param {{data?: unknown, error?: string}} outcome */
export function toToolResult({ data, error }) {
  if (error !== undefined) return { textResultForLlm: error, resultType: "failure", error };
  const text = typeof data === "string" ? data : JSON.stringify(data ?? "");
  return { textResultForLlm: text, resultType: "success" };
}
