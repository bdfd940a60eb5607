// Back after a lost connection as if nothing had happened: with the reconnect token of the last
// hello.ack a provider has its session, its tools and its id again, within 30 s. Needs the `ws` package.

import { readFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import WebSocket from "ws";

const url = `ws://localhost:${process.env.TAP_GATEWAY_PORT || 9400}`;
const home = process.env.COPILOT_HOME || path.join(os.homedir(), ".copilot");
const tokenFile = path.join(home, "extensions", "tap", ".provider-token");
const RETRY_MS = 500;

const who = { type: "hello", name: "counter", protocolVersion: 2 };
const tools = [{ name: "count", description: "Counts the calls of this tool." }];
let calls = 0;
/** Good once: every hello.ack brings a new one. */
let reconnectToken;

/** A gateway that was replaced has another one: it is read for each connection. */
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
  const send = (message) => ws.send(JSON.stringify(message));
  let bound = false;

  function bind(active) {
    if (bound) return;
    // With the token the session is left out: the gateway knows it. The tools are said all the same,
    // in case that it does not know the token any more.
    if (reconnectToken) send({ ...who, tools, reconnectToken });
    else if (active.length > 0) send({ ...who, tools, session: active[0].id });
  }

  const on = {
    sessions: ({ active }) => bind(active),
    "sessions.updated": ({ active }) => bind(active),
    "hello.ack"(ack) {
      bound = true;
      reconnectToken = ack.reconnectToken;
      console.log(`bound to ${ack.sessionId} as ${ack.providerId}`);
    },
    // A call that was in flight when the connection was lost is not repeated: it has failed.
    "tool.call": ({ id }) => send({ type: "tool.result", id, data: (calls += 1) }),
    "tool.cancel": ({ id }) =>
      send({ type: "tool.result", id, error: "Cancelled", errorCode: "CANCELLED" }),
    "session.lifecycle"({ state }) {
      if (state !== "shutdown.pending") return;
      reconnectToken = undefined; // goodbye makes it void
      send({ type: "goodbye", reason: "the session ends" });
    },
    error({ code, message, replyTo }) {
      console.error(`${code}: ${message}`);
      // Too late, or another gateway: begin anew, with everything.
      if (replyTo === "hello") reconnectToken = undefined;
      if (replyTo === "hello" && !bound) ws.close();
    },
  };

  ws.on("open", () => send({ type: "auth", token }));
  ws.on("message", (raw) => {
    const message = JSON.parse(raw.toString());
    on[message.type]?.(message);
  });
  ws.on("error", () => {}); // "close" follows
  ws.on("close", () => setTimeout(connect, RETRY_MS));
}

connect();
