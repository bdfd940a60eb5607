// host.request from the feature host (docs/session-link.md): a second link, opened with the token of the
// features. It is opened with the first request, and again with the next request after it has ended.

import { LinkSocket } from "../../sdk/node/link.mjs";

/** The host's own limit is 30 s. */
const MAX_MS = 35_000;

/** The gateway's host has refused a request or failed at it, or cannot be reached (DISCONNECTED). */
export class RequestFailed extends Error {
  /** @param {string} code @param {string} message */
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** @typedef {{resolve: (result: any) => void, reject: (error: RequestFailed) => void}} Waiter */

export class GatewayRequests {
  /** @type {LinkSocket | undefined} */
  #socket;
  #last = 0;
  /** By requestId. @type {Map<string, Waiter>} */
  #waiting = new Map();
  #refusal = "";
  #closed = false;

  /** @param {{link: string, token: string}} where the link's path, and the token of the gateway's host */
  constructor(where) {
    this.where = where;
  }

  /**
   * @param {string} method @param {object} [params] @param {{timeoutMs?: number}} [options]
   * @returns {Promise<any>} the result
   * @throws {RequestFailed}
   */
  async request(method, params = {}, { timeoutMs = MAX_MS } = {}) {
    return this.#send(method, { type: "host.request", method, params }, timeoutMs);
  }

  /**
   * Whether the rules and gates of a session would deny this use of a tool; gates decide, too.
   * @param {{session: string, tool: string, args: object}} use
   * @returns {Promise<{allowed: boolean, reason?: string, by?: string}>} `by`: the provider that denies
   * @throws {RequestFailed}
   */
  async check({ session, tool, args }) {
    const message = { type: "permission.check", sessionId: session, tool, args };
    return this.#send("permission.check", message, MAX_MS);
  }

  /** @param {string} label @param {object} message @param {number} timeoutMs @returns {Promise<any>} */
  async #send(label, message, timeoutMs) {
    if (this.#closed) throw new RequestFailed("DISCONNECTED", `${label}: the link was closed`);
    this.#socket ??= this.#open();
    const requestId = String(++this.#last);
    /** @type {NodeJS.Timeout | undefined} */
    let timer;
    const answer = new Promise((resolve, reject) => {
      this.#waiting.set(requestId, { resolve, reject });
      const why = `${label}: no answer within ${timeoutMs / 1000} s`;
      timer = setTimeout(() => reject(new RequestFailed("TIMEOUT", why)), timeoutMs);
    });
    try {
      this.#socket.send(JSON.stringify({ ...message, requestId }));
      return await answer;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(requestId);
    }
  }

  close() {
    this.#closed = true;
    this.#socket?.close();
  }

  #open() {
    const { link, token } = this.where;
    this.#refusal = "";
    const socket = new LinkSocket(link, {
      onText: (text) => this.#receive(JSON.parse(text)),
      onEnd: (reason) => this.#end(this.#refusal || reason),
    });
    socket.send(JSON.stringify({ type: "control.open", secret: token }));
    return socket;
  }

  /** @param {{type: string, [field: string]: any}} message */
  #receive(message) {
    if (message.type === "refused") this.#refusal = message.message;
    if (message.type !== "host.result") return;
    const { requestId, result, error } = message;
    const waiting = this.#waiting.get(requestId);
    if (error) waiting?.reject(new RequestFailed(error.code, error.message));
    else waiting?.resolve(result);
  }

  /** @param {string} reason */
  #end(reason) {
    this.#socket = undefined;
    const error = new RequestFailed("DISCONNECTED", `the link to the gateway has ended: ${reason}`);
    for (const { reject } of this.#waiting.values()) reject(error);
  }
}
