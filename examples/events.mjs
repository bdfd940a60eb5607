// Follows what happens in a session: prompts, and how long tools take. Needs the `ws` package. Ends
// with its connection; hello.mjs shows how to wait for a gateway and to come back.

import { readFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import WebSocket from "ws";

const home = process.env.COPILOT_HOME || path.join(os.homedir(), ".copilot");
const tokenFile = path.join(home, "extensions", "tap", ".provider-token");
const token = process.env.TAP_PROVIDER_TOKEN || readFileSync(tokenFile, "utf8").trim();

const ws = new WebSocket(`ws://localhost:${process.env.TAP_GATEWAY_PORT || 9400}`);
const send = (message) => ws.send(JSON.stringify(message));

const tools = [
  { name: "statistics", description: "How much was asked, and which tools took long." },
];
const subscribe = ["user.message", "assistant.message", "tool.execution_complete"];

let prompts = 0;
/** Milliseconds, by tool. @type {Map<string, number>} */
const spent = new Map();

const happened = {
  "user.message": () => (prompts += 1),
  "assistant.message": ({ content }) => console.log(`assistant: ${content}`),
  "tool.execution_complete"({ tool, provider, result, durationMs }) {
    const name = provider ? `${provider}/${tool}` : tool; // `provider`: of a tool that is not the CLI's
    console.log(`${name}: ${result.type}`);
    spent.set(name, (spent.get(name) ?? 0) + durationMs);
  },
};

function statistics() {
  const slowest = [...spent].sort(([, one], [, other]) => other - one);
  return [`${prompts} prompts`, ...slowest.map(([name, ms]) => `${name}: ${ms} ms`)].join("\n");
}

let bound = false;
const on = {
  sessions({ active }) {
    if (bound || active.length === 0) return; // none yet: sessions.updated will follow
    const session = active[0].id; // most recently active first
    send({ type: "hello", name: "watcher", protocolVersion: 2, session, tools, subscribe });
  },
  "sessions.updated": (message) => on.sessions(message),
  "hello.ack": () => (bound = true),
  "session.event": ({ event, data }) => happened[event]?.(data),
  "tool.call": ({ id }) => send({ type: "tool.result", id, data: statistics() }),
  "tool.cancel": ({ id }) =>
    send({ type: "tool.result", id, error: "Cancelled", errorCode: "CANCELLED" }),
  "session.lifecycle": ({ state }) => state === "shutdown.pending" && send({ type: "goodbye" }),
  error: ({ code, message }) => console.error(`${code}: ${message}`),
};

ws.on("open", () => send({ type: "auth", token }));
ws.on("message", (raw) => {
  const message = JSON.parse(raw.toString());
  on[message.type]?.(message);
});
ws.on("error", (error) => console.error(error.message));
ws.on("close", () => process.exit());
