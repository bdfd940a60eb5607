// The connection of a provider: opens a transport, binds to a session, and opens the transport again when it
// has closed. The provider decides which messages are sent.

import { closedError, TapError, toError } from "./errors.mjs";
import { parseMessage, NOT_TAP } from "./message.mjs";
import { backoff } from "./pace.mjs";
import { Sessions } from "./sessions.mjs";

/** The listener of a session's end gets this share of the deadline, so that the answer is in time. */
const OF_DEADLINE = 0.9;
/** Refusals of a hello that a second attempt cannot fix. */
const FINAL = ["UNSUPPORTED_VERSION", "TOOL_CONFLICT", "DUPLICATE_INSTANCE", "UNAUTHORIZED"].concat(
  ["INVALID_JSON", "PAYLOAD_TOO_LARGE"],
);

/** @typedef {{type: string, [field: string]: any}} Message */
/** @typedef {import("./types.js").ConnectionEnd} ConnectionEnd */
/**
 * @typedef {object} ConnectionOptions
 * @property {import("./types.js").Transport} transport
 * @property {import("./types.js").SessionChoice} session
 * @property {() => object} hello the declarations
 * @property {(ack: Message) => void} onBound
 * @property {(error: TapError) => void} onLost
 * @property {(message: Message) => void} onMessage
 * @property {(sessionId: string, deadline: number) => Promise<void>} onSessionEnd
 * @property {(error: Error) => void} onError
 * @property {(error: Error) => void} onFatal the connection cannot continue
 * @property {() => void} onOver the transport has ended for good, without an error
 * @property {(text: string) => void} onStatus
 */

/** Whether it is done by then. @param {number} ms @param {Promise<unknown>} work */
async function within(ms, work) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const late = new Promise((resolve) => (timer = setTimeout(resolve, ms, false)));
  const inTime = await Promise.race([work.then(() => true), late]);
  clearTimeout(timer);
  return inTime;
}

/** Answers: the gateway does not count them, and they must not be lost. */
const ANSWERS = ["tool.result", "gate.result", "transform.result", "hello", "goodbye"];

export class Connection {
  #options;
  /** @type {import("./types.js").Wire | undefined} */
  #wire;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  /** @type {"closed" | "admission" | "waiting" | "hello" | "bound" | "leaving"} */
  #state = "closed";
  /** The present or last binding: a session's id or "all". */
  #binding = "";
  #reconnectToken = "";
  sessions = new Sessions();
  #attempts = 0;
  #refusals = 0;
  #everBound = false;
  #status = "";
  /** @type {Promise<void> | undefined} */
  #stopped;
  #onWireClosed = () => {};

  /** @param {ConnectionOptions} options */
  constructor(options) {
    this.#options = options;
  }

  get bound() {
    return this.#state === "bound";
  }

  /** Bytes that wait in the transport. */
  get buffered() {
    return this.#wire?.buffered ?? 0;
  }

  start() {
    try {
      this.#open();
    } catch (error) {
      this.#fail(toError(error));
    }
  }

  /** @param {string} [reason] @returns {Promise<void>} once the connection is closed */
  stop(reason) {
    this.#stopped ??= this.#stop(reason);
    return this.#stopped;
  }

  /** @param {string} [reason] */
  async #stop(reason) {
    clearTimeout(this.#timer);
    const greeted = ["waiting", "hello", "bound"].includes(this.#state);
    this.#state = "leaving";
    if (!this.#wire) return;
    const closed = new Promise((resolve) => (this.#onWireClosed = () => resolve(undefined)));
    if (greeted) this.#transmit({ type: "goodbye", reason });
    this.#wire?.close(); // some transports have closed after the goodbye
    await closed;
  }

  /** @param {Message} message @throws {TapError} if it cannot be sent now */
  send(message) {
    if (this.#state === "leaving") throw closedError(`${message.type}: the provider was closed`);
    if (this.#state !== "bound") {
      throw new TapError("DISCONNECTED", `${message.type}: not bound to a session`);
    }
    const counts = !ANSWERS.includes(message.type);
    if (counts && this.#wire?.takesMore?.() === false) {
      throw new TapError("RATE_LIMITED", `${message.type}: more messages than the gateway takes`);
    }
    this.#transmit(message);
  }

  /** A tool.result, if bound. @param {string} json */
  answer(json) {
    this.#wire?.send(json);
  }

  /** @param {Message} message */
  #transmit(message) {
    this.#wire?.send(JSON.stringify(message));
  }

  // ---- a connection --------------------------------------------------------------------------------

  #open() {
    this.#state = "admission";
    // A transport may call its handlers before open() returns. These calls are handled afterwards.
    /** @type {(() => void)[]} */
    const early = [];
    let deliver = (/** @type {() => void} */ work) => {
      early.push(work);
    };
    const wire = this.#options.transport.open({
      onMessage: (text) =>
        deliver(() => {
          if (this.#wire !== wire) return;
          const message = parseMessage(text);
          if (message) return this.#receive(message);
          wire.close();
          this.#onClose({ reason: NOT_TAP, again: "later" });
        }),
      onClosed: (end) =>
        deliver(() => {
          if (this.#wire === wire) this.#onClose(end);
        }),
    });
    this.#wire = wire;
    for (const work of early) work(); // handlers may add to them
    deliver = (work) => work();
  }

  /** @param {ConnectionEnd} end */
  #onClose({ reason, status, error, again }) {
    const { bound: wasBound } = this;
    const leaving = this.#state === "leaving";
    this.#wire = undefined;
    this.sessions.leaveAll();
    this.#onWireClosed();
    if (leaving) return this.#options.onLost(closedError(`the connection ended: ${reason}`));
    this.#state = "closed";
    if (again === "never") return this.#end(reason, error);
    if (wasBound) {
      this.#options.onLost(new TapError("DISCONNECTED", `the connection ended: ${reason}`));
    }
    if (error) this.#options.onError(error);
    if (again === "later") this.#refusals += 1;
    const waiting = status ?? `waiting for a gateway (${reason})`;
    this.#setStatus(wasBound ? `connection lost (${reason})` : waiting);
    this.#again();
  }

  /** @param {string} reason @param {Error} [error] */
  #end(reason, error) {
    if (error) return this.#fail(error);
    this.#state = "leaving";
    this.#options.onLost(closedError(`the connection ended: ${reason}`));
    this.#options.onOver();
  }

  #again() {
    const delay = backoff(this.#refusals || this.#attempts, this.#refusals > 0);
    this.#attempts += 1;
    this.#timer = setTimeout(() => this.start(), delay);
  }

  /** Reports a changed status. @param {string} text */
  #setStatus(text) {
    if (this.#status === text) return;
    this.#status = text;
    this.#options.onStatus(text);
  }

  /** @param {Error} error */
  #fail(error) {
    this.#options.onFatal(error);
    void this.stop("it cannot go on");
  }

  // ---- messages ------------------------------------------------------------------------------------

  /** @param {Message} message */
  #receive(message) {
    if (this.#state === "leaving") return;
    switch (message.type) {
      case "sessions":
        this.#state = "waiting";
        return this.#onSessions(message.active);
      case "sessions.updated":
        return this.#onSessions(message.active);
      case "hello.ack":
        return this.#onBound(message);
      case "session.lifecycle":
        if (message.state === "shutdown.pending") return void this.#onSessionEnd(message);
        if (message.state === "started") this.sessions.join(message.sessionId);
        return this.#options.onMessage(message);
      case "session.offer":
        return this.#onOffer(message.sessionId);
      case "error":
        return this.#onError(message);
      default:
        return this.#options.onMessage(message);
    }
  }

  /** @param {import("./types.js").SessionInfo[]} active */
  #onSessions(active) {
    this.sessions.update(active);
    if (this.#state === "waiting") this.#bind();
    else if (this.bound) this.#joinOthers();
  }

  #joinOthers() {
    if (this.#binding !== "all") return;
    for (const sessionId of this.sessions.unjoined) {
      this.sessions.join(sessionId);
      this.#transmit({ type: "session.ready", sessionId });
    }
  }

  #bind() {
    try {
      this.#hello();
    } catch (error) {
      this.#fail(toError(error)); // the user's choice of a session has failed, or does not name a session
    }
  }

  /**
   * The user has chosen that session for us. A program that has chosen its session itself keeps it.
   * @param {string} sessionId
   */
  #onOffer(sessionId) {
    if (this.#options.session !== "latest" || sessionId === this.#binding) return;
    if (this.#state !== "bound" && this.#state !== "waiting") return;
    if (this.bound) {
      const reason = "the user has moved the provider to a different session";
      this.#options.onLost(new TapError("DISCONNECTED", reason));
    }
    this.sessions.leaveAll();
    this.#binding = sessionId;
    this.#reconnectToken = "";
    this.#state = "waiting";
    this.#bind();
  }

  #hello() {
    const former = this.#binding;
    const session = this.sessions.choose(this.#options.session, former);
    if (session === undefined) return this.#setStatus("connected; waiting for a session");
    const back = session === former && this.#reconnectToken;
    const hello = { ...this.#options.hello(), type: "hello", protocolVersion: 2, session };
    this.#binding = session;
    this.#state = "hello";
    this.#transmit(back ? { ...hello, reconnectToken: this.#reconnectToken } : hello);
  }

  /** @param {Message} ack */
  #onBound(ack) {
    this.#state = "bound";
    this.#everBound = true;
    this.#attempts = 0;
    this.#refusals = 0;
    this.#reconnectToken = ack.reconnectToken;
    this.#options.onBound(ack);
    this.#setStatus(`bound to ${this.sessions.formatLabel(ack.sessionId)}`);
    this.#joinOthers();
  }

  /** @param {Message} message */
  async #onSessionEnd({ sessionId, deadline }) {
    const wire = this.#wire;
    this.sessions.end(sessionId);
    await within(deadline * OF_DEADLINE, this.#options.onSessionEnd(sessionId, deadline));
    if (this.#wire !== wire || this.#state !== "bound") return;
    this.#transmit({ type: "shutdown.ready", sessionId });
    if (this.#binding !== sessionId) return;
    this.#state = "waiting";
    this.#options.onLost(new TapError("DISCONNECTED", "the session has ended"));
    this.#bind();
  }

  /** @param {Message} message */
  #onError(message) {
    const error = TapError.of(/** @type {any} */ (message));
    if (error.code === "AUTH_FAILED") return this.#options.onError(error);
    if (this.#state !== "hello" || message.replyTo !== "hello") {
      // The session has ended meanwhile.
      if (message.replyTo === "session.ready" && error.code === "INVALID_SESSION") return;
      return this.#options.onMessage(message);
    }
    this.#state = "waiting";
    if (error.code === "INVALID_SESSION") {
      this.sessions.end(this.#binding);
      return this.#bind();
    }
    if (error.code === "UNSUPPORTED_VERSION") return this.#fail(error);
    if (!this.#everBound && FINAL.includes(error.code)) return this.#fail(error);
    this.#options.onError(error);
    this.#refusals += 1;
    this.#wire?.close();
  }
}
