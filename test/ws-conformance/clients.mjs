// WebSocket clients that others have written, all driven in the same way.

import { spawn } from "node:child_process";
import diagnostics from "node:diagnostics_channel";
import { once } from "node:events";
import path from "node:path";
import readline from "node:readline";
import { fileURLToPath } from "node:url";
import { ping as undiciPing, WebSocket as UndiciWebSocket } from "undici";
import WebSocket from "ws";
import { pythonWithWebsockets } from "../../tools/setup.mjs";
import { startChromium } from "../support/chromium.mjs";
import { withTimeout } from "../support/wait.mjs";

/**
 * @typedef {{code: number, reason: string}} Ending
 * @typedef {object} Connection
 * @property {(text: string) => unknown} send
 * @property {(size: number) => unknown} sendBinary a message of that many bytes
 * @property {(pieces: string[]) => unknown} [sendFragments]
 * @property {() => Promise<unknown>} [ping] resolves with the pong
 * @property {() => Promise<string>} next the next text that has come
 * @property {(code: number, reason: string) => unknown} close
 * @property {() => Promise<Ending>} ended as the client has seen it
 *
 * @typedef {object} Client
 * @property {string} name
 * @property {boolean} isPage its connections have an origin
 * @property {(url: string) => Promise<Connection>} open
 * @property {() => Promise<unknown>} stop
 */

const here = path.dirname(fileURLToPath(import.meta.url));

/** What comes is kept until it is asked for. @template T */
class Inbox {
  /** @type {T[]} */
  #held = [];
  /** @type {((one: T) => void)[]} */
  #waiting = [];

  /** @param {T} one */
  put(one) {
    const waiting = this.#waiting.shift();
    if (waiting) waiting(one);
    else this.#held.push(one);
  }

  /** @param {string} what @returns {Promise<T>} */
  take(what) {
    const held = this.#held.shift();
    if (held !== undefined) return Promise.resolve(held);
    /** @type {Promise<T>} */
    const next = new Promise((resolve) => this.#waiting.push(resolve));
    return withTimeout(next, what);
  }
}

// ---- ws ------------------------------------------------------------------------------------------

/** @returns {Client} */
const wsClient = () => ({
  name: "ws",
  isPage: false,
  async open(url) {
    const socket = new WebSocket(url);
    const texts = /** @type {Inbox<string>} */ (new Inbox());
    const endings = /** @type {Inbox<Ending>} */ (new Inbox());
    socket.on("message", (data) => texts.put(data.toString()));
    socket.on("close", (code, reason) => endings.put({ code, reason: reason.toString() }));
    await once(socket, "open");
    socket.on("error", () => {});
    return {
      send: (text) => socket.send(text),
      sendBinary: (size) => socket.send(Buffer.alloc(size)),
      sendFragments: (pieces) =>
        pieces.forEach((piece, i) => socket.send(piece, { fin: i === pieces.length - 1 })),
      ping: async () => {
        socket.ping("are you there?");
        const [payload] = await once(socket, "pong");
        if (payload.toString() !== "are you there?") throw new Error(`a pong of ${payload}`);
      },
      next: () => texts.take("a message for ws"),
      close: (code, reason) => socket.close(code, reason),
      ended: () => endings.take("the end of a connection of ws"),
    };
  },
  stop: async () => {},
});

// ---- undici, whose WebSocket is Node's own from Node 22 on --------------------------------------------

/** It tells of a pong on a diagnostics channel only. @param {UndiciWebSocket} socket */
function undiciPong(socket) {
  /** @type {Promise<void>} */
  const pong = new Promise((resolve) => {
    const listen = (/** @type {any} */ { websocket, payload }) => {
      if (websocket !== socket || Buffer.from(payload).toString() !== "are you there?") return;
      diagnostics.unsubscribe("undici:websocket:pong", listen);
      resolve();
    };
    diagnostics.subscribe("undici:websocket:pong", listen);
  });
  undiciPing(socket, Buffer.from("are you there?"));
  return withTimeout(pong, "a pong for undici");
}

/** @returns {Client} */
const undiciClient = () => ({
  name: "undici",
  isPage: false,
  async open(url) {
    const socket = new UndiciWebSocket(url);
    const texts = /** @type {Inbox<string>} */ (new Inbox());
    const endings = /** @type {Inbox<Ending>} */ (new Inbox());
    socket.addEventListener("message", ({ data }) => texts.put(data));
    socket.addEventListener("close", ({ code, reason }) => endings.put({ code, reason }));
    await once(socket, "open");
    return {
      send: (text) => socket.send(text),
      sendBinary: (size) => socket.send(Buffer.alloc(size)),
      ping: () => undiciPong(socket),
      next: () => texts.take("a message for undici"),
      close: (code, reason) => socket.close(code, reason),
      ended: () => endings.take("the end of a connection of undici"),
    };
  },
  stop: async () => {},
});

// ---- Python's websockets, told line by line what to do -----------------------------------------------

/** @returns {Promise<Client>} */
async function pythonClient() {
  const python = await pythonWithWebsockets();
  if (!python) throw new Error("no Python has websockets: npm test -- js installs it");
  const child = spawn(python, [path.join(here, "client.py")], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  /** @type {Map<number, Inbox<any>>} */
  const answers = new Map();
  readline.createInterface({ input: child.stdout }).on("line", (line) => {
    const { id, ...answer } = JSON.parse(line);
    answers.get(id)?.put(answer);
  });
  let last = 0;
  /** @param {object} order */
  const ask = async (order) => {
    const id = ++last;
    const inbox = new Inbox();
    answers.set(id, inbox);
    child.stdin.write(`${JSON.stringify({ id, ...order })}\n`);
    const answer = await inbox.take(`an answer of Python to ${JSON.stringify(order).slice(0, 80)}`);
    answers.delete(id);
    if (answer.error) throw new Error(answer.error);
    return answer;
  };
  return {
    name: "Python's websockets",
    isPage: false,
    async open(url) {
      const { connection } = await ask({ do: "open", url });
      return {
        send: (text) => ask({ do: "send", connection, text }),
        sendBinary: (size) => ask({ do: "binary", connection, size }),
        sendFragments: (pieces) => ask({ do: "fragments", connection, pieces }),
        ping: () => ask({ do: "ping", connection }),
        next: async () => (await ask({ do: "next", connection })).text,
        close: (code, reason) => ask({ do: "close", connection, code, reason }),
        ended: () => ask({ do: "ended", connection }),
      };
    },
    stop: async () => {
      child.stdin.end();
      await once(child, "close");
    },
  };
}

// ---- a page in Chromium --------------------------------------------------------------------------

/** @param {string} origin of the page @returns {Promise<Client>} */
async function chromiumClient(origin) {
  const browser = await startChromium();
  const page = await browser.newPage();
  await page.goto(origin);
  return { ...pageClient(page), stop: () => browser.close() };
}

/** @param {import("playwright-core").Page} page @returns {Client} */
const pageClient = (page) => ({
  name: "Chromium",
  isPage: true,
  async open(url) {
    const texts = /** @type {Inbox<string>} */ (new Inbox());
    const endings = /** @type {Inbox<Ending>} */ (new Inbox());
    const name = `told${Math.random().toString(36).slice(2)}`;
    await page.exposeFunction(name, (/** @type {any} */ told) =>
      "text" in told ? texts.put(told.text) : endings.put(told),
    );
    const socket = await page.evaluateHandle(
      ([address, tell]) =>
        new Promise((resolve, reject) => {
          const made = new WebSocket(address);
          const report = /** @type {any} */ (globalThis)[tell];
          made.onmessage = ({ data }) => report({ text: data });
          made.onclose = ({ code, reason }) => report({ code, reason });
          made.onopen = () => resolve(made);
          made.onerror = () => reject(new Error("the page cannot connect"));
        }),
      [url, name],
    );
    return {
      send: (text) => socket.evaluate((ws, data) => ws.send(data), text),
      sendBinary: (size) => socket.evaluate((ws, count) => ws.send(new Uint8Array(count)), size),
      next: () => texts.take("a message for the page"),
      close: (code, reason) =>
        socket.evaluate(
          (ws, [how, why]) => ws.close(how, why),
          /** @type {any} */ ([code, reason]),
        ),
      ended: () => endings.take("the end of a page's connection"),
    };
  },
  stop: async () => {},
});

/**
 * What each can do beyond the rest: a page sends no pings, and only some say where a message is cut.
 * @type {Record<string, {make: (origin: string) => Client | Promise<Client>, pings: boolean, fragments: boolean}>}
 */
export const clients = {
  ws: { make: wsClient, pings: true, fragments: true },
  undici: { make: undiciClient, pings: true, fragments: false },
  "Python's websockets": { make: pythonClient, pings: true, fragments: true },
  Chromium: { make: chromiumClient, pings: false, fragments: false },
};
