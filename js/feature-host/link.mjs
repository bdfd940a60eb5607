// The local link to the gateway, without the addon: frames of a length and JSON text over a socket. It carries the
// messages of each feature's provider, and the requests of the services.

import net from "node:net";

const MOST_FRAME = 80 * 1024 * 1024;
const HEADER = 4;

/** Frames in, frames out. @typedef {{onFrame: (text: string) => void, onClosed: (reason: string) => void}} FrameHandlers */

export class Frames {
  #socket;
  #handlers;
  /** @type {Buffer[]} bytes that no frame has taken */
  #pieces = [];
  #held = 0;
  #wanted = HEADER;
  #body = false;
  #reason = "the gateway has closed the link";
  #over = false;

  /** @param {string} path @param {FrameHandlers} handlers */
  constructor(path, handlers) {
    this.#handlers = handlers;
    this.#socket = net.connect(path);
    this.#socket.on("data", (piece) => this.#read(piece));
    this.#socket.on("error", ({ message }) => (this.#reason = message));
    this.#socket.on("close", () => {
      if (this.#over) return;
      this.#over = true;
      handlers.onClosed(this.#reason);
    });
  }

  /** Bytes that wait to be sent. */
  get buffered() {
    return this.#socket.writableLength;
  }

  /** @param {Buffer} piece */
  #read(piece) {
    this.#pieces.push(piece);
    this.#held += piece.length;
    while (this.#held >= this.#wanted) {
      const bytes = this.#take(this.#wanted);
      if (this.#body) {
        this.#expect(HEADER, false);
        this.#handlers.onFrame(bytes.toString("utf8"));
        continue;
      }
      const length = bytes.readUInt32LE(0);
      if (length === 0 || length > MOST_FRAME) {
        this.#reason = `a frame of ${length} bytes`;
        return void this.#socket.destroy();
      }
      this.#expect(length, true);
    }
  }

  /** @param {number} bytes @param {boolean} body */
  #expect(bytes, body) {
    this.#wanted = bytes;
    this.#body = body;
  }

  /** @param {number} count at most what is held */
  #take(count) {
    const all = this.#pieces.length === 1 ? this.#pieces[0] : Buffer.concat(this.#pieces);
    const rest = all.subarray(count);
    this.#pieces = rest.length > 0 ? [rest] : [];
    this.#held = rest.length;
    return all.subarray(0, count);
  }

  /** @param {string} text a message as JSON; dropped once the link has ended */
  send(text) {
    if (this.#over) return;
    const frame = Buffer.allocUnsafe(HEADER + Buffer.byteLength(text));
    frame.writeUInt32LE(frame.length - HEADER, 0);
    frame.write(text, HEADER);
    this.#socket.write(frame);
  }

  /** Closes after all has been sent. */
  close() {
    this.#reason = "it was closed";
    this.#socket.end();
  }
}

/**
 * A transport of sdk/node's Provider: one link for each connection.
 * @param {string} path of the link @param {string} token of the feature host
 * @returns {import("../../sdk/node/types.js").Transport}
 */
export const overLink = (path, token) => ({
  open({ onMessage, onClosed }) {
    const frames = new Frames(path, {
      onFrame: onMessage,
      onClosed: (reason) => onClosed({ reason }),
    });
    frames.send(JSON.stringify({ type: "provider.open", token }));
    return {
      send: (text) => frames.send(text),
      close: () => frames.close(),
      get buffered() {
        return frames.buffered;
      },
    };
  },
});
