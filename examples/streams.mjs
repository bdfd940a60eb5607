// Streams: events that the gateway keeps, a filter that decides what becomes of each, and a look back.
// Here a log is made up; read yours instead. Needs the `ws` package. Ends with its connection;
// hello.mjs shows how to wait for a gateway and to come back.

import { readFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import WebSocket from "ws";

const home = process.env.COPILOT_HOME || path.join(os.homedir(), ".copilot");
const tokenFile = path.join(home, "extensions", "tap", ".provider-token");
const token = process.env.TAP_PROVIDER_TOKEN || readFileSync(tokenFile, "utf8").trim();
const EVERY_MS = Number(process.env.LOG_EVERY_MS || 5000);

const ws = new WebSocket(`ws://localhost:${process.env.TAP_GATEWAY_PORT || 9400}`);
const send = (message) => ws.send(JSON.stringify(message));

const log = [
  "GET /health 200",
  "GET /cart 200 in 12 ms",
  "WARN the disk is 91 % full",
  "GET /health 200",
  "ERROR POST /order: the database does not answer",
];

/** The first rule that matches decides. Where none does, the push's own level counts: keep. */
const rules = [
  { match: "GET /health", outcome: "drop" },
  { match: "^ERROR", outcome: "inject" }, // put before the model
  { match: "^WARN", outcome: "surface" }, // a line in the timeline
];

const tools = [{ name: "shop_log", description: "The latest lines of the shop's log." }];

function follow() {
  const metadata = { host: os.hostname() };
  for (const [index, event] of log.entries()) {
    const push = () => send({ type: "push", stream: "log", level: "keep", event, metadata });
    setTimeout(push, index * EVERY_MS);
  }
}

let bound = false;
const on = {
  sessions({ active }) {
    if (bound || active.length === 0) return; // none yet: sessions.updated will follow
    const session = active[0].id; // most recently active first
    send({ type: "hello", name: "shop", protocolVersion: 2, session, tools });
  },
  "sessions.updated": (message) => on.sessions(message),
  "hello.ack"() {
    bound = true;
    send({ type: "filter.set", requestId: "the filter", stream: "log", rules });
  },
  // The filter is in force: nothing can slip past it now.
  ack: ({ requestId }) => requestId === "the filter" && follow(),
  // A query is answered by stream.history with the same id; here, that of the call.
  "tool.call": ({ id }) => send({ type: "stream.query", queryId: id, streams: ["log"], last: 20 }),
  "stream.history"({ queryId, streams }) {
    const lines = streams["log@shop"].map(({ ts, event }) => `${ts} ${event}`);
    send({ type: "tool.result", id: queryId, data: lines.join("\n") });
  },
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
