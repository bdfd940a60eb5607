// The usual transport: a WebSocket to the gateway on this machine, authenticated by a token, or by a code
// that the user types (docs/protocol.md, "Connecting").

import { TapError, toError } from "./errors.mjs";
import { parseMessage, NOT_TAP } from "./message.mjs";
import { MAX_BUFFERED, Pace } from "./pace.mjs";

/** From a connection to the list of sessions, without the time for a code of the user. */
const ADMISSION_MS = 10_000;
/** For the gateway's part in closing a connection. */
const CLOSE_MS = 1000;
/** From a socket's error to its close. */
const CLOSED_MS = 50;
const NOT_THERE = "the gateway is not there";
/** A wrong token may be about to be replaced. After this many failures in a row it is not. */
const PATIENT_FAILURES = 3;

/** @typedef {import("./types.js").Transport} Transport */
/** @typedef {import("./types.js").Wire} Wire */
/** @typedef {import("./types.js").TransportHandlers} TransportHandlers */
/** @typedef {import("./types.js").ConnectionEnd} ConnectionEnd */
/**
 * @typedef {object} WebSocketOptions
 * @property {string} name of the provider: shown where the user types the code
 * @property {ReturnType<typeof import("./where.mjs").whereabouts>} where
 * @property {((prompt: string) => string | Promise<string>) | undefined} pair
 */

/** @returns {Promise<typeof globalThis.WebSocket>} that of Node.js, which some versions lack */
async function webSocketClass() {
  return globalThis.WebSocket ?? /** @type {any} */ (await import("ws")).WebSocket;
}

/** @implements {Transport} */
export class WebSocketTransport {
  #options;
  /** @type {string | undefined} */
  #pairedToken;
  #failures = 0;

  /** @param {WebSocketOptions} options */
  constructor(options) {
    this.#options = options;
  }

  /** @param {TransportHandlers} handlers @returns {Wire} */
  open(handlers) {
    const { where, pair, name } = this.#options;
    const token = this.#pairedToken ?? where.token();
    if (token) return new Socket(this, where.url, { token }, handlers);
    if (pair) return new Socket(this, where.url, { mode: "pair", name }, handlers);
    const status = `waiting for a session of the Copilot CLI (no ${where.tokenFile})`;
    handlers.onClosed({ reason: "there is no token", status });
    return { send() {}, close() {} };
  }

  /** @param {string} prompt @returns {Promise<string>} */
  async code(prompt) {
    return String(await this.#options.pair?.(prompt)).trim();
  }

  /** @param {string | undefined} pairedToken for later connections */
  admitted(pairedToken) {
    this.#pairedToken = pairedToken ?? this.#pairedToken;
    this.#failures = 0;
  }

  /** @param {TapError} error with code AUTH_FAILED @returns {Partial<ConnectionEnd>} */
  refused(error) {
    this.#failures += 1;
    if (this.#pairedToken) {
      this.#pairedToken = undefined; // it was revoked, or its session has ended: pair again
      return { again: "later" };
    }
    if (this.#options.where.given) return { again: "never", error };
    return { again: "later", ...(this.#failures === PATIENT_FAILURES && { error }) };
  }
}

/** A single connection. @implements {Wire} */
class Socket {
  #transport;
  #auth;
  #handlers;
  /** @type {WebSocket | undefined} */
  #socket;
  #pace = new Pace();
  #admitted = false;
  #ended = false;
  /** The consequence of the gateway's refusal for the next attempt. @type {Partial<ConnectionEnd>} */
  #refusal = {};
  /** @type {NodeJS.Timeout | undefined} */
  #timer;

  /**
   * @param {WebSocketTransport} transport
   * @param {string} url
   * @param {object} auth the fields of the first message
   * @param {TransportHandlers} handlers
   */
  constructor(transport, url, auth, handlers) {
    this.#transport = transport;
    this.#auth = auth;
    this.#handlers = handlers;
    void this.#open(url).catch((error) => this.#fail(error));
  }

  get buffered() {
    return this.#socket?.bufferedAmount ?? 0;
  }

  takesMore() {
    return this.buffered <= MAX_BUFFERED && this.#pace.take();
  }

  /** @param {string} text */
  send(text) {
    if (this.#socket?.readyState === 1) this.#socket.send(text);
  }

  /** The gateway answers with a close frame, unless it hangs. */
  close() {
    const socket = this.#socket;
    if (!socket) return this.#end({ reason: "it was closed" });
    socket.close();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      // Node's own WebSocket has no terminate().
      if ("terminate" in socket) /** @type {any} */ (socket).terminate();
      this.#end({ reason: "the gateway does not answer" });
    }, CLOSE_MS);
  }

  /** @param {string} url */
  async #open(url) {
    const WebSocket = await webSocketClass();
    if (this.#ended) return;
    const socket = new WebSocket(url);
    this.#socket = socket;
    this.#timer = setTimeout(() => this.close(), ADMISSION_MS);
    // "close" follows at once, with the reason; but the WebSocket of Node.js 20 and 22 omits it without a
    // listener for "error".
    socket.addEventListener("error", () =>
      setTimeout(() => this.#end({ reason: NOT_THERE }), CLOSED_MS).unref(),
    );
    socket.addEventListener("open", () =>
      this.send(JSON.stringify({ type: "auth", ...this.#auth })),
    );
    socket.addEventListener("message", ({ data }) => this.#receive(String(data)));
    socket.addEventListener("close", ({ code, reason }) => {
      const words = code === 1006 ? NOT_THERE : `close code ${code}`;
      this.#end({ reason: String(reason) || words });
    });
  }

  /** @param {string} text */
  #receive(text) {
    if (this.#ended) return;
    if (this.#admitted) return this.#handlers.onMessage(text);
    const message = parseMessage(text);
    if (!message) {
      this.#refusal = { reason: NOT_TAP, again: "later" };
      return this.close();
    }
    if (message.type === "auth.pairing") return void this.#confirm(message.prompt);
    if (message.type === "error" && message.code === "AUTH_FAILED") {
      this.#refusal = this.#transport.refused(TapError.of(/** @type {any} */ (message)));
      return;
    }
    if (message.type === "sessions") {
      clearTimeout(this.#timer);
      this.#admitted = true;
      this.#transport.admitted(message.token);
    }
    this.#handlers.onMessage(text);
  }

  /** @param {string} prompt */
  async #confirm(prompt) {
    clearTimeout(this.#timer);
    try {
      const code = await this.#transport.code(prompt);
      this.send(JSON.stringify({ type: "auth.confirm", code }));
    } catch (error) {
      this.#fail(error);
    }
  }

  /** @param {unknown} error that a second attempt cannot fix */
  #fail(error) {
    this.#refusal = { again: "never", error: toError(error) };
    this.close();
  }

  /** @param {ConnectionEnd} end */
  #end(end) {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#handlers.onClosed({ ...end, ...this.#refusal });
  }
}
