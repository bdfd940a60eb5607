// A provider of every session: bound to "all", with something of its own kept for each. Needs the `ws`
// package. Ends with its connection; hello.mjs shows how to wait for a gateway and to come back.

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
  {
    name: "note",
    description: "Notes a text for this session, and returns all its notes.",
    parameters: { type: "object", properties: { text: { type: "string" } } },
  },
];

/** What is kept for each session. @type {Map<string, string[]>} */
const notes = new Map();

/** Whatever has to be there before the first call. */
function prepare(sessionId) {
  if (!notes.has(sessionId)) notes.set(sessionId, []);
}

const on = {
  sessions({ active }) {
    for (const { id } of active) prepare(id);
    send({ type: "hello", name: "notes", protocolVersion: 2, session: "all", tools });
  },
  // A session that has come since has our tools once we are ready for it. (For the others it is
  // nothing new, and does no harm.)
  "sessions.updated"({ active }) {
    for (const { id } of active) {
      prepare(id);
      send({ type: "session.ready", sessionId: id });
    }
  },
  "tool.call"({ id, sessionId, args }) {
    const mine = notes.get(sessionId);
    if (args.text) mine.push(args.text);
    send({ type: "tool.result", id, data: mine });
  },
  "tool.cancel": ({ id }) =>
    send({ type: "tool.result", id, error: "Cancelled", errorCode: "CANCELLED" }),
  "session.lifecycle"({ sessionId, state, deadline }) {
    console.log(`${sessionId}: ${state}`);
    if (state !== "shutdown.pending") return;
    // Here is the place to save what has to be saved, within `deadline` milliseconds.
    console.log(`${notes.get(sessionId)?.length ?? 0} notes are gone, ${deadline} ms were left`);
    notes.delete(sessionId);
    send({ type: "shutdown.ready", sessionId }); // it need not wait for us any longer
  },
  error: ({ code, message }) => console.error(`${code}: ${message}`),
};

ws.on("open", () => send({ type: "auth", token }));
ws.on("message", (raw) => {
  const message = JSON.parse(raw.toString());
  on[message.type]?.(message);
});
ws.on("error", (error) => console.error(error.message));
ws.on("close", () => process.exit());
