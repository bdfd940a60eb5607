// A WebSocket client without steps of its own: tests choose the bytes that it sends.

import net from "node:net";
import { randomBytes } from "node:crypto";
import { waitFor } from "./wait.mjs";

export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 };

/** @param {Buffer} payload @param {Buffer} mask */
function masked(payload, mask) {
  const out = Buffer.from(payload);
  for (let i = 0; i < out.length; ++i) out[i] ^= mask[i & 3];
  return out;
}

/**
 * A client's frame, right unless the options make it wrong.
 * @param {string | Buffer} payload
 * @param {{opcode?: number, fin?: boolean, mask?: boolean, reserved?: number, announce?: bigint}} [options]
 *   `announce`: a wrong payload length
 */
export function frame(
  payload,
  { opcode = 1, fin = true, mask = true, reserved = 0, announce } = {},
) {
  const body = Buffer.from(payload);
  const size = announce ?? BigInt(body.length);
  const head = [(fin ? 0x80 : 0) | (reserved << 4) | opcode];
  const bit = mask ? 0x80 : 0;
  const extended = Buffer.alloc(size < 126n ? 0 : size < 65536n ? 2 : 8);
  if (size < 126n) {
    head.push(bit | Number(size));
  } else if (size < 65536n) {
    head.push(bit | 126);
    extended.writeUInt16BE(Number(size));
  } else {
    head.push(bit | 127);
    extended.writeBigUInt64BE(size);
  }
  const key = mask ? randomBytes(4) : Buffer.alloc(0);
  return Buffer.concat([Buffer.from(head), extended, key, mask ? masked(body, key) : body]);
}

/** @param {Record<string, string | undefined>} headers undefined removes a header */
export function upgradeRequest(headers = {}) {
  const all = {
    Host: "127.0.0.1",
    Connection: "Upgrade",
    Upgrade: "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    ...headers,
  };
  const lines = Object.entries(all).filter(([, value]) => value !== undefined);
  return `GET / HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`;
}

export class RawClient {
  #bytes = Buffer.alloc(0);
  /** The response to the request, once its header is complete. */
  response = "";
  /** @type {{opcode: number, payload: Buffer}[]} */
  frames = [];
  ended = false;
  /** @type {net.Socket} */
  socket;
  /** @type {Error | undefined} */
  error;

  /** @param {import("node:test").TestContext} t @param {number} port */
  static async open(t, port, host = "127.0.0.1") {
    const client = new RawClient();
    client.socket = net.connect({ port, host, allowHalfOpen: true });
    t.after(() => client.socket.destroy());
    client.socket.on("data", (bytes) => client.#read(bytes));
    client.socket.on("end", () => (client.ended = true));
    client.socket.on("error", (error) => {
      client.error = error;
      client.ended = true;
    });
    client.socket.on("close", () => (client.ended = true));
    await waitFor(() => !client.socket.connecting, { intervalMs: 1, what: "a TCP connection" });
    return client;
  }

  /** Connected, the handshake done. */
  static async upgraded(t, port, headers) {
    const client = await RawClient.open(t, port);
    client.write(upgradeRequest(headers));
    await waitFor(() => client.response, { intervalMs: 1, what: "a response" });
    return client;
  }

  /** Upgraded, authenticated and bound. @param {import("./harness.mjs").TestGateway} gateway */
  static async bound(t, gateway, session, name, tools = []) {
    const client = await RawClient.upgraded(t, gateway.port);
    client.say({ type: "auth", token: gateway.token });
    client.say({ type: "hello", name, protocolVersion: 2, session: session.id, tools });
    await client.message("hello.ack");
    return client;
  }

  /** @param {Buffer | string} bytes */
  write(bytes) {
    if (!this.ended) this.socket.write(bytes);
  }

  /** @param {object} message */
  say(message) {
    this.write(frame(JSON.stringify(message)));
  }

  #read(bytes) {
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
    if (!this.response) {
      const end = this.#bytes.indexOf("\r\n\r\n");
      if (end < 0) return;
      this.response = this.#bytes.subarray(0, end + 4).toString();
      this.#bytes = this.#bytes.subarray(end + 4);
      if (!this.response.startsWith("HTTP/1.1 101")) this.plain = true;
    }
    while (!this.plain && this.#takeFrame());
  }

  /** The body of a plain HTTP response, as far as it is here. */
  get body() {
    return this.#bytes.toString();
  }

  #takeFrame() {
    const bytes = this.#bytes;
    if (bytes.length < 2) return false;
    const short = bytes[1] & 0x7f;
    const head = short < 126 ? 2 : short === 126 ? 4 : 10;
    if (bytes.length < head) return false;
    const size =
      short < 126
        ? short
        : short === 126
          ? bytes.readUInt16BE(2)
          : Number(bytes.readBigUInt64BE(2));
    if (bytes.length < head + size) return false;
    this.frames.push({ opcode: bytes[0] & 15, payload: bytes.subarray(head, head + size) });
    this.#bytes = bytes.subarray(head + size);
    return true;
  }

  get messages() {
    return this.frames
      .filter(({ opcode }) => opcode === opcodes.text)
      .map(({ payload }) => JSON.parse(payload.toString()));
  }

  /** @param {string} type @param {(message: any) => unknown} [fits] */
  message(type, fits = () => true) {
    return waitFor(() => this.messages.find((message) => message.type === type && fits(message)), {
      intervalMs: 2,
      what: () => `${type} among ${JSON.stringify(this.messages).slice(0, 1000)}`,
    });
  }

  /** Code and reason of the close frame, once the other side has ended the connection. */
  async closeFrame() {
    await this.end();
    const close = this.frames.find(({ opcode }) => opcode === opcodes.close);
    if (!close) return undefined;
    return { code: close.payload.readUInt16BE(0), reason: close.payload.subarray(2).toString() };
  }

  end() {
    return waitFor(() => this.ended, { intervalMs: 2, what: "the end of a connection" });
  }
}
