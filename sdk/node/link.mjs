// The way to the gateway: waits for one, lets itself in, binds, and comes back when the connection is
// lost. What is said over it is the provider's business.

import { closedError, TapError, toError } from "./errors.mjs";
import { backoff, MOST_BUFFERED, Pace } from "./pace.mjs";
import { Sessions } from "./sessions.mjs";

/** From a connection to the list of sessions, a code typed by the user aside. */
const ADMISSION_MS = 10_000;
/** For the gateway's answer to a goodbye. */
const FAREWELL_MS = 1000;
/** Of the time that a session's end has, so much is the listener's: the answer must be in time. */
const OF_DEADLINE = 0.9;
/** A wrong token may be one that is just being replaced; so often it is not. */
const PATIENT_FAILURES = 3;
/** What a second attempt cannot mend. */
const FINAL = ["UNSUPPORTED_VERSION", "TOOL_CONFLICT", "DUPLICATE_INSTANCE", "UNAUTHORIZED"].concat(
  ["INVALID_JSON", "PAYLOAD_TOO_LARGE"],
);

/** @typedef {{type: string, [field: string]: any}} Message */
/**
 * @typedef {object} LinkOptions
 * @property {string} name
 * @property {ReturnType<typeof import("./where.mjs").whereabouts>} where
 * @property {import("./types.js").SessionChoice} session
 * @property {((prompt: string) => string | Promise<string>) | undefined} pair
 * @property {() => object} hello what is declared
 * @property {(ack: Message) => void} onBound
 * @property {(error: TapError) => void} onLost
 * @property {(message: Message) => void} onMessage
 * @property {(sessionId: string, deadline: number) => Promise<void>} onSessionEnd
 * @property {(error: Error) => void} onError
 * @property {(error: Error) => void} onFatal
 * @property {(text: string) => void} onStatus
 */

/** @param {string} url @returns {Promise<WebSocket>} */
async function openSocket(url) {
  const Socket = globalThis.WebSocket ?? (await import("ws")).WebSocket;
  return new Socket(url);
}

/** Whether it is done by then. @param {number} ms @param {Promise<unknown>} work */
async function within(ms, work) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const late = new Promise((resolve) => (timer = setTimeout(resolve, ms, false)));
  const inTime = await Promise.race([work.then(() => true), late]);
  clearTimeout(timer);
  return inTime;
}

/** Given to answers: they are not counted, and must not be lost. */
const ANSWERS = ["tool.result", "gate.result", "transform.result", "hello", "goodbye"];

export class Link {
  #options;
  /** @type {WebSocket | undefined} */
  #socket;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  /** @type {"closed" | "admission" | "waiting" | "hello" | "bound" | "leaving"} */
  #state = "closed";
  /** What we are bound to, or were: a session's id or "all". */
  #binding = "";
  #reconnectToken = "";
  /** @type {string | undefined} */
  #pairedToken;
  sessions = new Sessions();
  #pace = new Pace();
  #attempts = 0;
  #refusals = 0;
  #everBound = false;
  #status = "";

  /** @param {LinkOptions} options */
  constructor(options) {
    this.#options = options;
  }

  get bound() {
    return this.#state === "bound";
  }

  get buffered() {
    return this.#socket?.bufferedAmount ?? 0;
  }

  start() {
    void this.#connect().catch((error) => this.#fail(toError(error)));
  }

  /** @param {string} [reason] @returns {Promise<void>} once the connection is closed */
  async stop(reason) {
    clearTimeout(this.#timer);
    const socket = this.#socket;
    const greeted = ["waiting", "hello", "bound"].includes(this.#state);
    this.#state = "leaving";
    if (!socket || socket.readyState === socket.CLOSED) return;
    const closed = new Promise((resolve) => socket.addEventListener("close", resolve));
    // The gateway closes after a goodbye.
    if (greeted) this.#transmit({ type: "goodbye", reason });
    else socket.close();
    if (await within(FAREWELL_MS, closed)) return;
    // That of Node.js itself can only ask to be closed, and waits for an answer.
    if ("terminate" in socket) /** @type {any} */ (socket).terminate();
    else socket.close();
    if (this.#socket === socket) this.#onClose(1006, "the gateway does not answer");
  }

  /** @param {Message} message @throws {TapError} where it cannot be sent now */
  send(message) {
    if (this.#state === "leaving") throw closedError(`${message.type}: the provider was closed`);
    if (this.#state !== "bound") {
      throw new TapError("DISCONNECTED", `${message.type}: not bound to a session`);
    }
    const counts = !ANSWERS.includes(message.type);
    if (counts && (this.buffered > MOST_BUFFERED || !this.#pace.take())) {
      throw new TapError("RATE_LIMITED", `${message.type}: more messages than the gateway takes`);
    }
    this.#transmit(message);
  }

  /** A tool.result, where we are bound. @param {string} json */
  answer(json) {
    if (this.#socket?.readyState === 1) this.#socket.send(json);
  }

  /** @param {Message} message */
  #transmit(message) {
    if (this.#socket?.readyState === 1) this.#socket.send(JSON.stringify(message));
  }

  // ---- a connection --------------------------------------------------------------------------------

  async #connect() {
    const { where, pair } = this.#options;
    const token = this.#pairedToken ?? where.token();
    if (!token && !pair) {
      this.#say(`waiting for a session of the Copilot CLI (no ${where.tokenFile})`);
      return this.#again();
    }
    const socket = await openSocket(where.url);
    socket.addEventListener("error", () => {}); // "close" follows
    if (this.#state === "leaving") return socket.close();
    this.#socket = socket;
    this.#state = "admission";
    this.#pace = new Pace();
    this.#timer = setTimeout(() => socket.close(), ADMISSION_MS);
    const auth = token ? { token } : { mode: "pair", name: this.#options.name };
    socket.addEventListener("open", () => this.#transmit({ type: "auth", ...auth }));
    socket.addEventListener("message", ({ data }) => this.#receive(JSON.parse(String(data))));
    socket.addEventListener("close", ({ code, reason }) => {
      if (this.#socket === socket) this.#onClose(code, String(reason));
    });
  }

  /** @param {number} code @param {string} reason */
  #onClose(code, reason) {
    clearTimeout(this.#timer);
    this.#socket = undefined;
    const wasBound = this.bound;
    if (this.#state !== "leaving") this.#state = "closed";
    this.sessions.leaveAll();
    const why = reason || (code === 1006 ? "the gateway is not there" : `close code ${code}`);
    if (this.#state === "leaving") {
      return this.#options.onLost(closedError(`the connection ended: ${why}`));
    }
    if (wasBound) {
      this.#options.onLost(new TapError("DISCONNECTED", `the connection ended: ${why}`));
    }
    this.#say(wasBound ? `connection lost (${why})` : `waiting for a gateway (${why})`);
    this.#again();
  }

  #again() {
    if (this.#state === "leaving") return;
    const delay = backoff(this.#refusals || this.#attempts, this.#refusals > 0);
    this.#attempts += 1;
    this.#timer = setTimeout(() => this.start(), delay);
  }

  /** @param {string} text told once until another is */
  #say(text) {
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
      case "auth.pairing":
        return void this.#pair(message.prompt);
      case "sessions":
        clearTimeout(this.#timer);
        this.#pairedToken = message.token ?? this.#pairedToken;
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

  /** @param {string} prompt */
  async #pair(prompt) {
    clearTimeout(this.#timer);
    try {
      const code = await this.#options.pair?.(prompt);
      this.#transmit({ type: "auth.confirm", code: String(code).trim() });
    } catch (error) {
      this.#fail(toError(error));
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
      this.#fail(toError(error)); // the user's choice of a session has failed, or is none
    }
  }

  /**
   * The user wants us in that session. A program that has chosen its session itself stays where it is.
   * @param {string} sessionId
   */
  #onOffer(sessionId) {
    if (this.#options.session !== "latest" || sessionId === this.#binding) return;
    if (this.#state !== "bound" && this.#state !== "waiting") return;
    if (this.bound) {
      const reason = "the user has moved the provider to another session";
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
    if (session === undefined) return this.#say("connected; waiting for a session");
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
    this.#say(`bound to ${this.sessions.labelOf(ack.sessionId)}`);
    this.#joinOthers();
  }

  /** @param {Message} message */
  async #onSessionEnd({ sessionId, deadline }) {
    const socket = this.#socket;
    this.sessions.end(sessionId);
    await within(deadline * OF_DEADLINE, this.#options.onSessionEnd(sessionId, deadline));
    if (this.#socket !== socket || this.#state !== "bound") return;
    this.#transmit({ type: "shutdown.ready", sessionId });
    if (this.#binding !== sessionId) return;
    this.#state = "waiting";
    this.#options.onLost(new TapError("DISCONNECTED", "the session has ended"));
    this.#bind();
  }

  /** @param {Message} message */
  #onError(message) {
    const error = TapError.of(/** @type {any} */ (message));
    if (error.code === "AUTH_FAILED" && this.#state !== "bound") return this.#onAuthFailed(error);
    if (error.code === "AUTH_FAILED") return this.#options.onError(error);
    if (this.#state !== "hello" || message.replyTo !== "hello") {
      // A session that has ended meanwhile.
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
    this.#socket?.close();
  }

  /** @param {TapError} error */
  #onAuthFailed(error) {
    const { where } = this.#options;
    this.#refusals += 1;
    if (this.#pairedToken) {
      this.#pairedToken = undefined; // it was taken back, or its session is over: pair again
    } else if (where.given) {
      this.#fail(error);
    } else if (this.#refusals === PATIENT_FAILURES) {
      this.#options.onError(error);
    }
  }
}
