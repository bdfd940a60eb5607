// What the model should know without asking: an ambient context, something for the start of the session,
// and additions to the system prompt, one of them made anew at each prompt. Needs the `ws` package. Ends
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

let environment = "staging";
const describe = () => `Deployments go to ${environment} now.`;

const tools = [
  {
    name: "choose_environment",
    description: "Chooses where deployments go.",
    parameters: {
      type: "object",
      properties: { name: { enum: ["staging", "production"] } },
      required: ["name"],
    },
  },
];

const declared = {
  tools,
  startup_context: "The deployment helper is there.", // once, when the session starts
  context: describe(), // with each prompt of the user
  hooks: {
    transforms: {
      custom_instructions: { action: "append", content: "This repository uses pnpm, not npm." },
      code_change_rules: { action: "callback" }, // asks us: transform.request
    },
  },
};

let bound = false;
const on = {
  sessions({ active }) {
    if (bound || active.length === 0) return; // none yet: sessions.updated will follow
    const session = active[0].id; // most recently active first
    send({ type: "hello", name: "deployments", protocolVersion: 2, session, ...declared });
  },
  "sessions.updated": (message) => on.sessions(message),
  "hello.ack": () => (bound = true),
  // Within 2 s, or the section stays as it is.
  "transform.request"({ callId, current }) {
    const rule = environment === "production" ? "Every change needs a test." : "Be quick and bold.";
    send({ type: "transform.result", callId, content: `${current}\n${rule}` });
  },
  "tool.call"({ id, args }) {
    environment = args.name === "production" ? "production" : "staging";
    send({ type: "context.update", requestId: id, context: describe() });
  },
  // The new context is in force; the requestId is the id of the call that asked for it.
  ack: ({ requestId }) => send({ type: "tool.result", id: requestId, data: describe() }),
  "tool.cancel": ({ id }) =>
    send({ type: "tool.result", id, error: "Cancelled", errorCode: "CANCELLED" }),
  "session.lifecycle": ({ state }) => state === "shutdown.pending" && send({ type: "goodbye" }),
  error({ code, message, requestId }) {
    console.error(`${code}: ${message}`);
    if (requestId) send({ type: "tool.result", id: requestId, error: message });
  },
};

ws.on("open", () => send({ type: "auth", token }));
ws.on("message", (raw) => {
  const message = JSON.parse(raw.toString());
  on[message.type]?.(message);
});
ws.on("error", (error) => console.error(error.message));
ws.on("close", () => process.exit());
