// The same provider as hello.mjs without any package: Node.js 22 and later have a WebSocket of their
// own. (Node.js 20 has it behind a flag: node --experimental-websocket hello-node22.mjs)

import { readFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";

const url = `ws://localhost:${process.env.TAP_GATEWAY_PORT || 9400}`;
const home = process.env.COPILOT_HOME || path.join(os.homedir(), ".copilot");
const tokenFile = path.join(home, "extensions", "tap", ".provider-token");

const tools = [
  {
    name: "greet",
    description: "Greets a person by name.",
    parameters: {
      type: "object",
      properties: { name: { type: "string" } },
      required: ["name"],
    },
  },
];

function readToken() {
  try {
    return process.env.TAP_PROVIDER_TOKEN || readFileSync(tokenFile, "utf8").trim();
  } catch {
    return undefined;
  }
}

function connect() {
  const token = readToken();
  if (!token) return void setTimeout(connect, 1000);
  const ws = new WebSocket(url);
  let bound = false;
  const send = (message) => ws.send(JSON.stringify(message));

  const handlers = {
    sessions: ({ active }) => {
      if (bound || active.length === 0) return;
      send({ type: "hello", name: "hello", protocolVersion: 2, session: active[0].id, tools });
    },
    "sessions.updated": (message) => handlers.sessions(message),
    "hello.ack": () => {
      bound = true;
    },
    "tool.call": ({ id, args }) => {
      if (args.name && typeof args.name === "string")
        send({ type: "tool.result", id, data: `Hello, ${args.name}!` });
      else send({ type: "tool.result", id, error: "name is missing", errorCode: "INTERNAL" });
    },
    "tool.cancel": ({ id }) =>
      send({ type: "tool.result", id, error: "Cancelled", errorCode: "CANCELLED" }),
    "session.lifecycle": ({ state }) => {
      if (state === "shutdown.pending") send({ type: "goodbye", reason: "the session ends" });
    },
    error: ({ code, message, replyTo }) => {
      console.error(`${code}: ${message}`);
      if (code === "AUTH_FAILED" && process.env.TAP_PROVIDER_TOKEN) process.exit(1);
      if (replyTo === "hello" && !bound) ws.close();
    },
  };

  ws.onopen = () => send({ type: "auth", token });
  ws.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    handlers[message.type]?.(message);
  };
  let isOver = false;
  // Without a listener, Node.js 20 and 22 report an error and no close.
  ws.onclose = ws.onerror = () => {
    if (!isOver) setTimeout(connect, 1000);
    isOver = true;
  };
}

connect();
