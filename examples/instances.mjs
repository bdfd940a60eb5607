// One provider, several programs: start it twice, `node instances.mjs left` and `node instances.mjs
// right`. The model sees each tool once, with one more parameter, `target`, and a tool
// `list_editor_instances`. Needs the `ws` package. Ends with its connection; hello.mjs shows how to wait
// for a gateway and to come back.

import { readFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import WebSocket from "ws";

const home = process.env.COPILOT_HOME || path.join(os.homedir(), ".copilot");
const tokenFile = path.join(home, "extensions", "tap", ".provider-token");
const token = process.env.TAP_PROVIDER_TOKEN || readFileSync(tokenFile, "utf8").trim();
const instance = process.argv[2] || `window-${process.pid}`;

const ws = new WebSocket(`ws://localhost:${process.env.TAP_GATEWAY_PORT || 9400}`);
const send = (message) => ws.send(JSON.stringify(message));

// Every instance declares the same tools, none with a parameter `target` of its own.
const tools = [{ name: "open_file", description: "Says which file is open in an editor window." }];

/** What helps the model to choose; it is in the list of instances. */
const metadata = { title: `the ${instance} window`, started: new Date().toISOString() };

let bound = false;
const on = {
  sessions({ active }) {
    if (bound || active.length === 0) return; // none yet: sessions.updated will follow
    const session = active[0].id; // most recently active first
    const who = { name: "editor", instance, metadata };
    send({ type: "hello", protocolVersion: 2, session, ...who, tools });
  },
  "sessions.updated": (message) => on.sessions(message),
  "hello.ack": () => (bound = true),
  // The gateway has chosen by `target`, which is not among the arguments any more. Without one it
  // takes the instance that was last active.
  "tool.call": ({ id }) => send({ type: "tool.result", id, data: `${instance}.txt` }),
  "tool.cancel": ({ id }) =>
    send({ type: "tool.result", id, error: "Cancelled", errorCode: "CANCELLED" }),
  "session.lifecycle": ({ state }) => state === "shutdown.pending" && send({ type: "goodbye" }),
  // DUPLICATE_INSTANCE: there is an instance of this name already.
  error({ code, message, replyTo }) {
    console.error(`${code}: ${message}`);
    if (replyTo === "hello" && !bound) ws.close();
  },
};

ws.on("open", () => send({ type: "auth", token }));
ws.on("message", (raw) => {
  const message = JSON.parse(raw.toString());
  on[message.type]?.(message);
});
ws.on("error", (error) => console.error(error.message));
ws.on("close", () => process.exit(bound ? 0 : 1));
