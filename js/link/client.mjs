// A link to a gateway: messages as objects, calls with their outcomes, and the start and end of the link. It is the
// only user of the addon's SessionPort. The caller decides which messages it sends.

import { addon } from "../lib/addon.mjs";
import { version } from "../lib/paths.mjs";
import { PendingCalls } from "./pending-calls.mjs";

/** @typedef {import("../lib/addon.js").CallOutcome} CallOutcome */
/** @typedef {{type: string, [field: string]: any}} GatewayEvent docs/session-link.md */

/**
 * @typedef {object} LinkHandlers
 * @property {(event: GatewayEvent) => void} [onEvent] every message of the gateway but the outcomes of calls
 * @property {(reason: string, silent: boolean) => void} [onClosed] the link has ended without close():
 *   called once, after all calls have settled; `silent`: the gateway's process runs but does not answer
 * @property {import("../lib/addon.js").SessionPortHandlers["onQuiet"]} [onQuiet]
 */

/** The link has ended, or the gateway has refused it. */
export class LinkEnded extends Error {}

/** The gateway's host has refused a request, or failed at it. */
export class RequestFailed extends Error {
  /** @param {string} code @param {string} message */
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** The host's own limit is 30 s. */
const REQUEST_MS = 35_000;

/** @typedef {{resolve: (event: any) => void, reject: (error: LinkEnded) => void}} Waiter */

export class LinkConnection {
  #port;
  #calls = new PendingCalls();
  #onEvent;
  /** The caller that waits for the link, or for the gateway's welcome. @type {Waiter | undefined} */
  #opening;
  /** @type {Waiter | undefined} */
  #registering;
  /** @type {LinkEnded | undefined} */
  #ended;
  #lastRequest = 0;
  /** Pending requests. @type {Map<string, {resolve: (result: any) => void, reject: (error: Error) => void}>} */
  #requests = new Map();
  /** Why the gateway closes the link. @type {string | undefined} */
  #refusal;
  /** Whether the gateway has sent `welcome`, and the link has not ended. */
  connected = false;

  /** @param {LinkHandlers} handlers */
  constructor({ onEvent = () => {}, onClosed, onQuiet }) {
    this.#onEvent = onEvent;
    this.#port = new addon.SessionPort({
      onConnected: () => this.#opening?.resolve(undefined),
      onEvent: (json) => this.#receive(JSON.parse(json)),
      onSettled: (...pairs) => this.#calls.settle(pairs),
      onQuiet,
      onClosed: (reason, silent) => {
        onClosed?.(reason, silent);
        this.#end(reason);
      },
    });
  }

  /** @param {string} reason */
  #end(reason) {
    this.connected = false;
    const error = new LinkEnded(this.#refusal ?? reason);
    this.#ended = error;
    this.#opening?.reject(error);
    this.#registering?.reject(error);
    for (const request of this.#requests.values()) request.reject(error);
  }

  /** @param {GatewayEvent} event */
  #receive(event) {
    if (event.type === "host.result") return this.#settleRequest(event);
    if (event.type === "welcome") this.connected = true;
    if (event.type === "refused") this.#refusal = event.message;
    this.#onEvent(event);
    if (event.type === "welcome") this.#registering?.resolve(event);
  }

  /**
   * @param {string | import("../lib/addon.js").Gateway} gateway the path of its link, or a gateway in this process, to
   *   which messages can be sent at once
   * @returns {Promise<void>} once messages can be sent
   * @throws {LinkEnded} if the link cannot be opened
   */
  connect(gateway) {
    return new Promise((resolve, reject) => {
      this.#ended = undefined;
      this.#opening = { resolve, reject };
      if (typeof gateway === "string") this.#port.connect(gateway);
      else this.#port.attach(gateway);
    });
  }

  /**
   * Registers a session.
   * @param {object} session the fields of `register` that are its own @param {string} [secret] the gateway's
   * @returns {Promise<GatewayEvent>} the welcome; after onEvent has got it
   * @throws {LinkEnded} if the gateway refuses the session
   */
  register(session, secret = "") {
    const { linkVersion } = addon;
    return new Promise((resolve, reject) => {
      this.#registering = { resolve, reject };
      this.send({ type: "register", linkVersion, version, secret, ...session });
    });
  }

  /** @param {GatewayEvent} event a host.result */
  #settleRequest({ requestId, result, error }) {
    const request = this.#requests.get(requestId);
    if (error) request?.reject(new RequestFailed(error.code, error.message));
    else request?.resolve(result);
  }

  /**
   * Sends a request to the gateway's host, on a link that control.open has opened.
   * @param {string} method @param {object} [params] @param {{timeoutMs?: number}} [options]
   * @returns {Promise<any>} the result
   * @throws {RequestFailed} with the host's code; TIMEOUT without an answer in time
   * @throws {LinkEnded}
   */
  async request(method, params = {}, { timeoutMs = REQUEST_MS } = {}) {
    if (this.#ended) throw this.#ended;
    const requestId = String(++this.#lastRequest);
    /** @type {NodeJS.Timeout | undefined} */
    let timer;
    const answer = new Promise((resolve, reject) => {
      this.#requests.set(requestId, { resolve, reject });
      const why = `${method}: no answer within ${timeoutMs / 1000} s`;
      timer = setTimeout(() => reject(new RequestFailed("TIMEOUT", why)), timeoutMs);
    });
    try {
      this.send({ type: "host.request", requestId, method, params });
      return await answer;
    } finally {
      clearTimeout(timer);
      this.#requests.delete(requestId);
    }
  }

  /** @param {object} message docs/session-link.md; dropped while there is no link @throws TypeError if it is not a message */
  send(message) {
    this.#port.send(JSON.stringify(message));
  }

  /**
   * @param {string} tool @param {unknown} args @param {number | undefined} timeoutMs
   * @param {(outcome: CallOutcome) => void} settle is called once
   * @param {import("./pending-calls.mjs").CallOrigin} [origin]
   * @returns {number} the call's id
   */
  call(tool, args, timeoutMs, settle, origin) {
    return this.#calls.call(this.#port, tool, args, timeoutMs, settle, origin);
  }

  /**
   * Like call, with a promise.
   * @param {string} tool @param {unknown} args @param {number} [timeoutMs]
   * @returns {{id: number, result: Promise<CallOutcome>}} the result rejects only if `args` are not JSON
   */
  startCall(tool, args, timeoutMs) {
    return this.#calls.startCall(this.#port, tool, args, timeoutMs);
  }

  /** @param {number} id of a call @param {string} reason */
  cancel(id, reason) {
    this.#port.cancel(id, reason);
  }

  /** The gateway's process, as the kernel reports it; 0 if unknown. */
  peerPid() {
    return this.#port.peerPid();
  }

  /** Does not call onClosed. @param {string} [why] */
  close(why = "it was closed") {
    this.#port.close(why);
    this.#end(why);
  }
}
