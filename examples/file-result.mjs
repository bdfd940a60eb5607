// A result that is too large for a message, as a file; and a tool that works on one call at a time, for
// which the gateway keeps the others in line. Needs the `ws` package. Ends with its connection; hello.mjs
// shows how to wait for a gateway and to come back.

import { readFileSync } from "node:fs";
import { mkdir, rm, stat, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import WebSocket from "ws";

const home = process.env.COPILOT_HOME || path.join(os.homedir(), ".copilot");
const tokenFile = path.join(home, "extensions", "tap", ".provider-token");
const token = process.env.TAP_PROVIDER_TOKEN || readFileSync(tokenFile, "utf8").trim();
const WORK_MS = Number(process.env.WORK_MS || 2000);
const TTL_S = 60;

const ws = new WebSocket(`ws://localhost:${process.env.TAP_GATEWAY_PORT || 9400}`);
const send = (message) => ws.send(JSON.stringify(message));

const tools = [
  {
    name: "export_table",
    description: "Exports a table as CSV.",
    parameters: { type: "object", properties: { rows: { type: "integer", minimum: 1 } } },
  },
];
/** One call at a time for this program; ten more may wait, the next fails with RATE_LIMITED. */
const concurrency = { max: 1, scope: "instance" };

/** Where files have to be, for the gateway to read them: it says so in hello.ack. */
let folder;

const running = new Map(); // call id → AbortController

async function exportTable({ rows = 100 }, id, signal) {
  await sleep(WORK_MS, undefined, { signal }); // the work
  await mkdir(folder, { recursive: true });
  const file = path.join(folder, `table-${id}.csv`);
  const lines = Array.from({ length: rows }, (_, row) => `${row},${row * row}\n`);
  await writeFile(file, `number,square\n${lines.join("")}`);
  // The gateway has read it by then.
  setTimeout(() => void rm(file, { force: true }), TTL_S * 1000).unref();
  const { size } = await stat(file);
  return { path: file, mimeType: "text/csv", size, ttl: TTL_S };
}

async function answer({ id, args }) {
  const controller = new AbortController();
  running.set(id, controller);
  let result;
  try {
    result = { file: await exportTable(args, id, controller.signal) };
  } catch (error) {
    result = { error: error.message, errorCode: "INTERNAL" };
  }
  // The next in line comes with this answer.
  if (controller.signal.aborted) result = { error: "Cancelled", errorCode: "CANCELLED" };
  running.delete(id);
  send({ type: "tool.result", id, ...result });
}

let bound = false;
const on = {
  sessions({ active }) {
    if (bound || active.length === 0) return; // none yet: sessions.updated will follow
    const session = active[0].id; // most recently active first
    send({ type: "hello", name: "exporter", protocolVersion: 2, session, tools, concurrency });
  },
  "sessions.updated": (message) => on.sessions(message),
  "hello.ack"({ persistDir }) {
    bound = true;
    folder = persistDir;
  },
  "tool.call": (message) => void answer(message),
  "tool.cancel": ({ id }) => running.get(id)?.abort(),
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
