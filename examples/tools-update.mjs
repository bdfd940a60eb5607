// Tools that come and go: two more while a file is open. The call that changes them is answered when the
// change is in force, so that the model finds them at its next step. Needs the `ws` package. Ends with
// its connection; hello.mjs shows how to wait for a gateway and to come back.

import { readFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import WebSocket from "ws";

const home = process.env.COPILOT_HOME || path.join(os.homedir(), ".copilot");
const tokenFile = path.join(home, "extensions", "tap", ".provider-token");
const token = process.env.TAP_PROVIDER_TOKEN || readFileSync(tokenFile, "utf8").trim();

const ws = new WebSocket(`ws://localhost:${process.env.TAP_GATEWAY_PORT || 9400}`);
const send = (message) => ws.send(JSON.stringify(message));
const result = (id, data) => send({ type: "tool.result", id, data });

const always = [{ name: "open_sheet", description: "Opens the spreadsheet." }];
const whileOpen = [
  { name: "sum_sheet", description: "The sum of the open spreadsheet." },
  { name: "close_sheet", description: "Closes the spreadsheet." },
];

const handlers = {
  // With `remove`, if only an empty list, the other tools stay. Without it, `tools` would be all.
  open_sheet: (id) => send({ type: "tools.update", requestId: id, tools: whileOpen, remove: [] }),
  sum_sheet: (id) => result(id, 42),
  close_sheet(id) {
    const remove = whileOpen.map(({ name }) => name);
    send({ type: "tools.update", requestId: id, remove });
  },
};

let bound = false;
const on = {
  sessions({ active }) {
    if (bound || active.length === 0) return; // none yet: sessions.updated will follow
    const session = active[0].id; // most recently active first
    send({ type: "hello", name: "sheets", protocolVersion: 2, session, tools: always });
  },
  "sessions.updated": (message) => on.sessions(message),
  "hello.ack": () => (bound = true),
  "tool.call": ({ id, tool }) => handlers[tool](id),
  // The requestId is the id of the call that asked for the change.
  ack: ({ requestId, revision }) => result(requestId, `done, in revision ${revision}`),
  error({ code, message, requestId }) {
    console.error(`${code}: ${message}`);
    if (requestId) send({ type: "tool.result", id: requestId, error: message });
  },
  "tool.cancel": ({ id }) =>
    send({ type: "tool.result", id, error: "Cancelled", errorCode: "CANCELLED" }),
  "session.lifecycle": ({ state }) => state === "shutdown.pending" && send({ type: "goodbye" }),
};

ws.on("open", () => send({ type: "auth", token }));
ws.on("message", (raw) => {
  const message = JSON.parse(raw.toString());
  on[message.type]?.(message);
});
ws.on("error", (error) => console.error(error.message));
ws.on("close", () => process.exit());
