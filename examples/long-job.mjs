// A tool that takes its time: it says how far it is, and stops when nobody waits any more. Needs the
// `ws` package. Ends with its connection; hello.mjs shows how to wait for a gateway and to come back.

import { readFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import WebSocket from "ws";

const home = process.env.COPILOT_HOME || path.join(os.homedir(), ".copilot");
const tokenFile = path.join(home, "extensions", "tap", ".provider-token");
const token = process.env.TAP_PROVIDER_TOKEN || readFileSync(tokenFile, "utf8").trim();
const STEP_MS = Number(process.env.STEP_MS || 2000);

const ws = new WebSocket(`ws://localhost:${process.env.TAP_GATEWAY_PORT || 9400}`);
const send = (message) => ws.send(JSON.stringify(message));

const tools = [
  {
    name: "render",
    description: "Renders pages, one after the other.",
    parameters: {
      type: "object",
      properties: { pages: { type: "integer", minimum: 1 } },
      required: ["pages"],
    },
    timeout: 10_000, // for one page: tool.progress starts it again
  },
];

async function render({ pages }, progress, signal) {
  for (let page = 1; page <= pages; page += 1) {
    await sleep(STEP_MS, undefined, { signal }); // the work
    progress(`page ${page} of ${pages}`);
  }
  return `${pages} pages are rendered`;
}

/** The calls that run. @type {Map<string, AbortController>} */
const running = new Map();

async function answer({ id, args }) {
  const controller = new AbortController();
  running.set(id, controller);
  const progress = (message) => send({ type: "tool.progress", id, message });
  try {
    const data = await render(args, progress, controller.signal);
    send({ type: "tool.result", id, data });
  } catch (error) {
    const errorCode = controller.signal.aborted ? "CANCELLED" : "INTERNAL";
    send({ type: "tool.result", id, error: error.message, errorCode });
  } finally {
    running.delete(id);
  }
}

let bound = false;
const on = {
  sessions({ active }) {
    if (bound || active.length === 0) return; // none yet: sessions.updated will follow
    const session = active[0].id; // most recently active first
    send({ type: "hello", name: "renderer", protocolVersion: 2, session, tools });
  },
  "sessions.updated": (message) => on.sessions(message),
  "hello.ack": () => (bound = true),
  "tool.call": (message) => void answer(message),
  // The user has interrupted it, or it took too long: the work stops, and `answer` says so.
  "tool.cancel"({ id, reason }) {
    console.log(`stopped: ${reason}`);
    running.get(id)?.abort();
  },
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
