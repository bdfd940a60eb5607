// The transport of tap's own features: the gateway's local link, opened with a token that the gateway's host
// has issued (docs/session-link.md, "provider.open"). It needs neither `ws` nor the addon.

import net from "node:net";
import { TapError } from "./errors.mjs";
import { MAX_BUFFERED, Pace } from "./pace.mjs";

const HEADER_BYTES = 4;
/** The gateway's own limit is `link-frame-bytes`; a longer frame is not a gateway's. */
const MAX_FRAME_BYTES = 256 * 1024 * 1024;
/** From the connection to the first message of the gateway. */
const ADMISSION_MS = 10_000;
/** For the gateway's part in closing a connection. */
const CLOSE_MS = 1000;
/** The gateway writes these byte for byte. */
const PING = '{"type":"ping"}';
const PONG = '{"type":"pong"}';
const CLOSED = '{"type":"closed",';

/** @typedef {import("./types.js").Transport} Transport */
/** @typedef {import("./types.js").Wire} Wire */
/** @typedef {import("./types.js").TransportHandlers} TransportHandlers */
/** @typedef {import("./types.js").ConnectionEnd} ConnectionEnd */

/** @param {string} text @returns {Buffer} */
export function encodeFrame(text) {
  const size = Buffer.byteLength(text);
  const frame = Buffer.allocUnsafe(HEADER_BYTES + size);
  frame.writeUInt32LE(size, 0);
  frame.write(text, HEADER_BYTES);
  return frame;
}

/** Bytes in, texts out. It buffers at most an unfinished frame. */
export class FrameReader {
  /** @type {Buffer[]} */
  #parts = [];
  #have = 0;
  /** The number of bytes that the next step needs. */
  #due = HEADER_BYTES;

  /** @param {Buffer} bytes @returns {string[]} @throws if a frame has an impossible size */
  take(bytes) {
    this.#parts.push(bytes);
    this.#have += bytes.length;
    /** @type {string[]} */
    const texts = [];
    if (this.#have < this.#due) return texts;
    const all = this.#parts.length === 1 ? bytes : Buffer.concat(this.#parts);
    let at = 0;
    for (;;) {
      const left = all.length - at;
      this.#due = HEADER_BYTES;
      if (left < HEADER_BYTES) break;
      const size = all.readUInt32LE(at);
      if (size === 0 || size > MAX_FRAME_BYTES) throw new Error(`a frame of ${size} bytes`);
      this.#due = HEADER_BYTES + size;
      if (left < this.#due) break;
      texts.push(all.toString("utf8", at + HEADER_BYTES, at + this.#due));
      at += this.#due;
    }
    this.#have = all.length - at;
    this.#parts = this.#have > 0 ? [all.subarray(at)] : [];
    return texts;
  }
}

/**
 * A connection to the link: frames as texts.
 * @typedef {object} LinkHandlers
 * @property {(text: string) => void} onText
 * @property {(reason: string) => void} onEnd once, however it ends
 */
export class LinkSocket {
  #socket;
  #handlers;
  #reader = new FrameReader();
  #ended = false;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;

  /** @param {string} link a socket's path or a pipe's name @param {LinkHandlers} handlers */
  constructor(link, handlers) {
    this.#handlers = handlers;
    this.#socket = net.connect(link);
    let reason = "the link was closed";
    this.#socket.on("error", (error) => {
      const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
      reason = code === "ENOENT" || code === "ECONNREFUSED" ? "the gateway is not there" : message;
    });
    this.#socket.on("data", (bytes) => this.#receive(bytes));
    this.#socket.on("close", () => this.#end(reason));
  }

  /** Bytes that the gateway has not read yet. */
  get buffered() {
    return this.#socket.writableLength;
  }

  /** @param {string} text JSON */
  send(text) {
    if (!this.#ended && !this.#socket.writableEnded) this.#socket.write(encodeFrame(text));
  }

  /** Pending output is still written. A gateway that hangs does not close its end. */
  close() {
    if (this.#ended) return;
    this.#socket.end();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#socket.destroy(), CLOSE_MS);
  }

  /** @param {Buffer} bytes */
  #receive(bytes) {
    try {
      for (const text of this.#reader.take(bytes)) {
        if (this.#ended) return;
        this.#handlers.onText(text);
      }
    } catch (error) {
      this.#socket.destroy(/** @type {Error} */ (error));
    }
  }

  /** @param {string} reason */
  #end(reason) {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#handlers.onEnd(reason);
  }
}

/** @implements {Transport} */
export class LinkTransport {
  #link;
  #token;

  /** @param {{link: string, token: string}} where the link's path, and the token of the gateway's host */
  constructor({ link, token }) {
    this.#link = link;
    this.#token = token;
  }

  /** @param {TransportHandlers} handlers @returns {Wire} */
  open(handlers) {
    return new LinkWire(this.#link, this.#token, handlers);
  }
}

/** A single connection. @implements {Wire} */
class LinkWire {
  #socket;
  #handlers;
  #pace = new Pace();
  #admitted = false;
  /** The gateway's reason, and the consequence for the next attempt. @type {Partial<ConnectionEnd>} */
  #refusal = {};
  /** @type {NodeJS.Timeout} */
  #timer;

  /** @param {string} link @param {string} token @param {TransportHandlers} handlers */
  constructor(link, token, handlers) {
    this.#handlers = handlers;
    this.#socket = new LinkSocket(link, {
      onText: (text) => this.#receive(text),
      onEnd: (reason) => {
        clearTimeout(this.#timer);
        handlers.onClosed({ reason, ...this.#refusal });
      },
    });
    this.#timer = setTimeout(() => this.#socket.close(), ADMISSION_MS);
    this.#socket.send(JSON.stringify({ type: "provider.open", token }));
  }

  get buffered() {
    return this.#socket.buffered;
  }

  takesMore() {
    return this.buffered <= MAX_BUFFERED && this.#pace.take();
  }

  /** @param {string} text */
  send(text) {
    this.#socket.send(text);
  }

  close() {
    this.#socket.close();
  }

  /** @param {string} text */
  #receive(text) {
    if (text === PING) return this.#socket.send(PONG);
    if (text.startsWith(CLOSED)) {
      this.#refusal = { reason: JSON.parse(text).reason };
      return this.#socket.close();
    }
    if (this.#admitted || !this.#refuses(text)) this.#handlers.onMessage(text);
  }

  /** Whether the gateway's first message is a refusal. @param {string} text */
  #refuses(text) {
    clearTimeout(this.#timer);
    const { type, code, message } = JSON.parse(text);
    this.#admitted = type !== "refused";
    if (this.#admitted) return false;
    const reason = `the gateway refuses the link: ${message}`;
    const error = new TapError(
      "AUTH_FAILED",
      message,
      {},
      "The gateway's host issues a new token.",
    );
    this.#refusal =
      code === "TOKEN" ? { reason, error, again: "never" } : { reason, again: "later" };
    this.#socket.close();
    return true;
  }
}
