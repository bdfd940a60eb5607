// A provider's process: of every session there is, and back whenever its connection is lost. Some
// have a gate. It expects a single answer to each push.

import { readFileSync } from "node:fs";
import process from "node:process";
import WebSocket from "ws";
import { gatewayFiles } from "../../js/lib/paths.mjs";
import { clock, Pulse } from "./pulse.mjs";

const [name] = process.argv.slice(2);
const RETRY_MS = 150;
const PUSH_MS = 500;
/** The first two have a gate. */
const GATED = ["p0", "p1"];
/** For the answer to a push, of the time in which this process ran; a gateway that hangs is killed after 6 s. */
const PATIENCE_MS = 20_000;

const { port, token } = gatewayFiles();
const tools = [
  {
    name: `do_${name}`,
    description: "Answers as its arguments order.",
    parameters: { type: "object", properties: {} },
    timeout: 2000,
  },
];
const rule = { match: { tool: "shell", args: "push" }, action: "gate", gateId: "push" };
const hooks = GATED.includes(name) ? { onPreToolUse: [rule] } : undefined;

const sendToParent = (message) => process.connected && process.send(message);
const pulse = new Pulse();
/** @type {WebSocket | undefined} */
let socket;
/** Those of this connection. @type {Set<string>} */
let sessions = new Set();
/** When a push was sent, by its requestId; those of this connection. @type {Map<string, number>} */
let pushes = new Map();
let pushCount = 0;
let deafUntil = 0;

const ran = () => clock() - pulse.lateMs;
const send = (message) =>
  socket?.readyState === WebSocket.OPEN && socket.send(JSON.stringify(message));

/** How a call is answered. */
const answers = {
  echo: ({ say }) => ({ data: `${name}: ${say}` }),
  big: ({ say }) => ({ data: `${name}: ${say}${"x".repeat(300_000)}` }),
  fail: () => ({ error: "as the order wants", errorCode: "NOT_FOUND" }),
};

function answer({ id, args }) {
  const ws = socket;
  const reply = (fields) => ws === socket && send({ type: "tool.result", id, ...fields });
  if (args.mode === "late") setTimeout(() => reply(answers.echo(args)), 500);
  else if (args.mode !== "silent") reply(answers[args.mode](args));
}

/** "push <mode> <id>": the ledger hears that it was asked before the gateway has the answer. */
function judge({ gateId, callId, args }) {
  const [, mode, id] = args.command.split(" ");
  sendToParent({ gate: Number(id) });
  if (mode === "silent") return;
  const decision = mode === "allow" ? "allow" : "deny";
  send({ type: "gate.result", gateId, callId, decision, reason: "as the order wants" });
}

function push() {
  const [first] = sessions;
  if (!first || socket?.readyState !== WebSocket.OPEN) return;
  const chosen = [...sessions][pushCount % sessions.size];
  const requestId = `${process.pid}-${++pushCount}`;
  pushes.set(requestId, ran());
  send({ type: "push", requestId, sessionId: chosen, level: "keep", event: `event ${pushCount}` });
}

/** @param {string} requestId */
function pushAnswered(requestId) {
  if (!pushes.delete(requestId))
    return sendToParent({ problem: `push ${requestId} was answered twice` });
  sendToParent({ pushed: 1 });
}

function reportOverdue() {
  if (deafUntil > clock()) return;
  for (const [requestId, at] of pushes) {
    if (ran() - Math.max(at, deafUntil) < PATIENCE_MS) continue;
    pushes.delete(requestId);
    sendToParent({ problem: `push ${requestId} was not answered` });
  }
}

const on = {
  sessions: () =>
    send({
      type: "hello",
      name,
      protocolVersion: 2,
      session: "all",
      tools,
      ...(hooks && { hooks }),
    }),
  "sessions.updated": ({ active }) => {
    for (const { id } of active)
      if (!sessions.has(id)) send({ type: "session.ready", sessionId: id });
    sessions = new Set(active.map(({ id }) => id));
  },
  "tool.call": answer,
  "tool.cancel": ({ id }) =>
    send({ type: "tool.result", id, errorCode: "CANCELLED", error: "it is not wanted any more" }),
  "gate.check": judge,
  ack: ({ requestId }) => pushAnswered(requestId),
  "session.lifecycle": ({ sessionId, state }) =>
    state === "shutdown.pending" && send({ type: "shutdown.ready", sessionId }),
  error: ({ code, replyTo, requestId }) => {
    if (requestId) pushAnswered(requestId);
    if (replyTo === "hello" || code === "AUTH_FAILED") socket?.terminate();
  },
};

function connect() {
  let ws;
  try {
    const secret = readFileSync(token, "utf8");
    ws = new WebSocket(`ws://127.0.0.1:${port}`, { handshakeTimeout: 3000 });
    ws.on("open", () => send({ type: "auth", token: secret }));
    ws.on("message", (raw) => {
      const message = JSON.parse(raw.toString());
      if (message.type === "sessions") sessions = new Set(message.active.map(({ id }) => id));
      on[message.type]?.(message);
    });
    ws.on("error", () => {});
    ws.on("close", () => {
      sessions = new Set();
      pushes = new Map();
      setTimeout(connect, RETRY_MS);
    });
    socket = ws;
  } catch {
    setTimeout(connect, RETRY_MS); // no gateway yet
  }
}

const orders = {
  end: () => process.exit(0),
  reconnect: () => socket?.terminate(),
  // For a while it reads no message, and sends none.
  deaf: ({ ms }) => {
    const stalled = socket;
    if (stalled?.readyState !== WebSocket.OPEN) return;
    stalled.pause();
    deafUntil = clock() + ms;
    setTimeout(() => stalled.readyState === WebSocket.OPEN && stalled.resume(), ms);
  },
};

process.on("message", (/** @type {any} */ order) => orders[order.do](order));
process.on("disconnect", () => process.exit(0));
setInterval(push, PUSH_MS).unref();
setInterval(reportOverdue, 1000).unref();
connect();
