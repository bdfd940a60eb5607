// A complete tap provider with a tool, `greet`. Needs Node.js and the `ws` package (npm install ws).
// Start it at any time, in any terminal: it waits for the gateway, and connects again when needed.

import { readFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import WebSocket from "ws";

const url = `ws://localhost:${process.env.TAP_GATEWAY_PORT || 9400}`;
const home = process.env.COPILOT_HOME || path.join(os.homedir(), ".copilot");
const tokenFile = path.join(home, "extensions", "tap", ".provider-token");
const RETRY_MS = 1000;

const tools = [
  {
    name: "greet",
    description: "Greets a person by name.",
    parameters: {
      type: "object",
      properties: { name: { type: "string", description: "Whom to greet" } },
      required: ["name"],
    },
  },
];

/** The work of the tool. The signal fires when the answer is no longer needed. */
async function greet({ name }, _signal) {
  if (typeof name !== "string" || !name) throw new Error("name is missing");
  return `Hello, ${name}!`;
}

/** Read again for each connection: every gateway has its own token. */
function readToken() {
  return process.env.TAP_PROVIDER_TOKEN || readFileSync(tokenFile, "utf8").trim();
}

function connect() {
  let token;
  try {
    token = readToken();
  } catch {
    setTimeout(connect, RETRY_MS); // no token file: no gateway is running yet
    return;
  }
  const ws = new WebSocket(url);
  const calls = new Map(); // call id → AbortController
  let bound = false;
  const send = (message) => ws.readyState === WebSocket.OPEN && ws.send(JSON.stringify(message));

  function bind(sessions) {
    // Most recently active first. If the list is empty, sessions.updated will follow.
    if (bound || sessions.length === 0) return;
    const session = sessions[0].id;
    send({ type: "hello", name: "hello", protocolVersion: 2, session, tools });
  }

  async function answer({ id, args }) {
    const controller = new AbortController();
    calls.set(id, controller);
    try {
      const data = await greet(args, controller.signal);
      if (calls.has(id)) send({ type: "tool.result", id, data });
    } catch (error) {
      if (calls.has(id))
        send({ type: "tool.result", id, error: error.message, errorCode: "INTERNAL" });
    }
    calls.delete(id);
  }

  function cancel({ id }) {
    calls.get(id)?.abort();
    calls.delete(id);
    send({ type: "tool.result", id, error: "Cancelled", errorCode: "CANCELLED" });
  }

  ws.on("open", () => send({ type: "auth", token }));

  ws.on("message", (raw) => {
    const message = JSON.parse(raw.toString());
    switch (message.type) {
      case "sessions":
      case "sessions.updated":
        bind(message.active);
        break;
      case "hello.ack":
        bound = true;
        console.log(`bound to session ${message.sessionId} as ${message.providerId}`);
        break;
      case "tool.call":
        void answer(message);
        break;
      case "tool.cancel":
        cancel(message);
        break;
      case "session.lifecycle":
        if (message.state === "shutdown.pending") {
          // The gateway closes the connection; the next connection binds to the session that is there then.
          send({ type: "goodbye", reason: "the session ends" });
        }
        break;
      case "error":
        console.error(`${message.code}: ${message.message}`);
        if (message.code === "AUTH_FAILED" && process.env.TAP_PROVIDER_TOKEN) process.exit(1);
        // A refused hello is not worth repeating as it is: start again, slowly.
        if (message.replyTo === "hello" && !bound) ws.close();
        break;
      default: // a newer gateway may send more
    }
  });

  ws.on("error", () => {}); // "close" follows
  ws.on("close", () => {
    for (const controller of calls.values()) controller.abort();
    calls.clear();
    setTimeout(connect, RETRY_MS);
  });
}

connect();
