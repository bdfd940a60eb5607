// A provider's process: of every session there is, and back whenever its connection is lost.

import { readFileSync } from "node:fs";
import process from "node:process";
import WebSocket from "ws";
import { gatewayFiles } from "../../js/paths.mjs";

const [name] = process.argv.slice(2);
const RETRY_MS = 150;
const { port, token } = gatewayFiles();
const tools = [
  {
    name: `do_${name}`,
    description: "Does what it is told.",
    parameters: { type: "object", properties: {} },
    timeout: 2000,
  },
];

/** @type {WebSocket | undefined} */
let socket;

/** How a call is answered. */
const answers = {
  echo: ({ say }) => ({ data: `${name}: ${say}` }),
  big: ({ say }) => ({ data: `${name}: ${say}${"x".repeat(300_000)}` }),
  fail: () => ({ error: "as it was told to", errorCode: "NOT_FOUND" }),
};

function answer(send, { id, args }) {
  const reply = (fields) => send({ type: "tool.result", id, ...fields });
  if (args.mode === "late") setTimeout(() => reply(answers.echo(args)), 500);
  else if (args.mode !== "silent") reply(answers[args.mode](args));
}

function connect() {
  let ws;
  try {
    const secret = readFileSync(token, "utf8");
    ws = new WebSocket(`ws://127.0.0.1:${port}`, { handshakeTimeout: 3000 });
    const send = (message) => ws.readyState === WebSocket.OPEN && ws.send(JSON.stringify(message));
    const ready = ({ id }) => send({ type: "session.ready", sessionId: id });
    const on = {
      sessions: () => send({ type: "hello", name, protocolVersion: 2, session: "all", tools }),
      "sessions.updated": ({ active }) => active.forEach(ready),
      "tool.call": (call) => answer(send, call),
      "tool.cancel": ({ id }) =>
        send({ type: "tool.result", id, errorCode: "CANCELLED", error: "-" }),
      "session.lifecycle": ({ sessionId, state }) =>
        state === "shutdown.pending" && send({ type: "shutdown.ready", sessionId }),
      error: ({ code, replyTo }) => {
        if (replyTo === "hello" || code === "AUTH_FAILED") ws.terminate();
      },
    };
    ws.on("open", () => send({ type: "auth", token: secret }));
    ws.on("message", (raw) => {
      const message = JSON.parse(raw.toString());
      on[message.type]?.(message);
    });
    ws.on("error", () => {});
    ws.on("close", () => setTimeout(connect, RETRY_MS));
    socket = ws;
  } catch {
    setTimeout(connect, RETRY_MS); // no gateway yet
  }
}

const orders = {
  end: () => process.exit(0),
  reconnect: () => socket?.terminate(),
  // It reads nothing for a while, and says nothing.
  deaf: ({ ms }) => {
    const stalled = socket;
    if (stalled?.readyState !== WebSocket.OPEN) return;
    stalled.pause();
    setTimeout(() => stalled.readyState === WebSocket.OPEN && stalled.resume(), ms);
  },
};

process.on("message", (/** @type {any} */ order) => orders[order.do](order));
process.on("disconnect", () => process.exit(0));
connect();
