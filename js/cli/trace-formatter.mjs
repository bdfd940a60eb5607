// A message of a trace in words: its effect, and the part of it that a reader looks for (docs/recordings.md).
// One entry for each message type of docs/protocol.md.

import { SHORT_ID } from "./reference.mjs";
import { latency } from "../views/wording.mjs";

/** @typedef {import("../develop/trace.mjs").TraceEvent} TraceEvent */
/** `message`: from outside, so any field may be missing or of another type. `told`: what was seen before. @typedef {(message: any, told: MessageContext) => (string | undefined)[]} Words */
/** @typedef {{shortId: (id: unknown) => string, calledAt: (id: unknown) => Call | undefined, at: number}} MessageContext */
/** @typedef {{at: number, tool: string}} Call */

/** Calls that may still be answered; more than any limit lets be open. */
const MAX_CALLS = 10_000;

/** @param {unknown} value as JSON; undefined stays undefined */
const json = (value) => (value === undefined ? undefined : JSON.stringify(value));

/** @param {unknown} value @returns {string | undefined} */
const text = (value) => (value === undefined ? undefined : String(value));

/** @param {unknown} list @param {string} field @returns {string | undefined} the names in a list of objects */
const names = (list, field = "name") =>
  Array.isArray(list) ? list.map((one) => text(one?.[field])).join(", ") : undefined;

/** @param {string} label @param {string | undefined} value */
const withLabel = (label, value) =>
  value === undefined || value === "" ? undefined : `${label} ${value}`;

/** @param {unknown} value @param {MessageContext} told */
const formatSession = (value, { shortId }) =>
  withLabel("session", value === undefined ? undefined : shortId(value));

/** @type {Words} */
const sessions = ({ active, token }, { shortId }) => {
  const each = (Array.isArray(active) ? active : []).map(
    ({ id, label }) => `${shortId(id)} ${json(label) ?? ""}`,
  );
  return [
    each.length === 0 ? "none" : each.join(", "),
    token === undefined ? undefined : "with a token",
  ];
};

/** @type {Words} */
const result = ({ id, data, error, errorCode, file }, told) => {
  const call = told.calledAt(id);
  const failed = error !== undefined || errorCode !== undefined;
  return [
    call && latency(Math.max(0, told.at - call.at)),
    failed ? "failed" : undefined,
    text(errorCode),
    failed ? json(error) : file === undefined ? json(data) : `file ${text(file?.path)}`,
  ];
};

/** @type {Words} */
const forSession = ({ sessionId }, told) => [formatSession(sessionId, told)];

/** The messages of a provider. The first part is the verb. @type {Record<string, [string, Words]>} */
export const RECEIVED = {
  auth: ["auth", ({ mode, name }) => [mode === "pair" ? "pair" : "token", json(name)]],
  "auth.confirm": ["auth", () => ["code"]],
  hello: [
    "hello",
    ({ name, session, tools, instance, subscribe, hooks }, told) => [
      text(name),
      withLabel("instance", text(instance)),
      formatSession(session, told),
      withLabel("tools", names(tools)),
      withLabel("subscribes to", Array.isArray(subscribe) ? subscribe.join(", ") : undefined),
      hooks === undefined || hooks === null ? undefined : "with hooks",
    ],
  ],
  "tool.result": ["result", result],
  "tool.progress": ["progress", ({ message }) => [json(message)]],
  push: [
    "push",
    ({ stream, level, event, prompt, sessionId }, told) => [
      text(stream),
      text(level),
      json(event ?? prompt),
      formatSession(sessionId, told),
    ],
  ],
  "filter.set": ["filter", ({ stream, rules }) => [text(stream), json(rules)]],
  "stream.query": [
    "query",
    ({ streams, last }) => [
      Array.isArray(streams) ? streams.join(", ") : undefined,
      withLabel("last", text(last)),
    ],
  ],
  "tools.update": [
    "tools",
    ({ tools, remove }) => [
      names(tools) ?? "",
      withLabel("remove", Array.isArray(remove) ? remove.join(", ") : undefined),
    ],
  ],
  "hooks.update": [
    "hooks",
    ({ onPreToolUse, transforms }) => [
      withLabel("rules", json(onPreToolUse)),
      withLabel("sections", transforms ? Object.keys(transforms).join(", ") : undefined),
    ],
  ],
  "context.update": ["context", ({ context }) => [json(context)]],
  "gate.result": [
    "gate",
    ({ gateId, decision, reason }) => [text(gateId), text(decision), json(reason)],
  ],
  "transform.result": ["section", ({ content }) => [json(content)]],
  "session.ready": ["ready", forSession],
  "shutdown.ready": ["cleaned up", forSession],
  withdraw: ["withdraw", ({ key }) => [text(key)]],
  goodbye: ["goodbye", ({ reason }) => [json(reason)]],
};

/** The messages of the gateway. @type {Record<string, [string, Words]>} */
export const SENT = {
  "auth.pairing": ["asks for the code", ({ prompt }) => [json(prompt)]],
  sessions: ["sessions", sessions],
  "sessions.updated": ["sessions now", sessions],
  "session.offer": ["come to", ({ sessionId }, told) => [formatSession(sessionId, told)]],
  "hello.ack": [
    "welcome",
    ({ providerId, sessionId }, told) => [text(providerId), formatSession(sessionId, told)],
  ],
  "tool.call": ["call", ({ tool, args }) => [text(tool), json(args)]],
  "tool.cancel": ["cancel", ({ id, reason }, { calledAt }) => [calledAt(id)?.tool, json(reason)]],
  "session.lifecycle": [
    "session",
    ({ sessionId, state, deadline }, { shortId }) => [
      shortId(sessionId),
      text(state),
      deadline === undefined ? undefined : `within ${latency(Number(deadline))}`,
    ],
  ],
  ack: [
    "ack",
    ({ requestId, outcome, revision }) => [
      text(requestId),
      text(outcome),
      withLabel("revision", text(revision)),
    ],
  ],
  "gate.check": ["gate?", ({ gateId, tool, args }) => [text(gateId), text(tool), json(args)]],
  "transform.request": ["section?", ({ section, current }) => [text(section), json(current)]],
  "session.event": ["event", ({ event, data }) => [text(event), json(data)]],
  "stream.history": ["history", ({ streams }) => [json(streams)]],
  error: [
    "error",
    ({ code, message, replyTo }) => [text(code), withLabel("for", text(replyTo)), text(message)],
  ],
};

/** Puts the messages of one trace into words, in the order in which they come. */
export class TraceFormatter {
  #full;
  /** By connection and id, since providers may choose the same. @type {Map<string, Call>} */
  #calls = new Map();

  /** @param {{full?: boolean}} [options] whether ids are given whole */
  constructor({ full = false } = {}) {
    this.#full = full;
  }

  /** @param {TraceEvent} event @returns {string} */
  format({ at, connection, kind, message, text: plain }) {
    if (kind === "opened") return `connected ${plain ?? ""}`.trimEnd();
    if (kind === "closed") return `closed ${plain ?? ""}`.trimEnd();
    if (message === undefined) return plain ?? "";
    const table = kind === "sent" ? SENT : RECEIVED;
    const type = String(message?.type);
    if (!Object.hasOwn(table, type)) return JSON.stringify(message); // of a newer gateway, or a mistake of the provider
    const key = (/** @type {unknown} */ id) => `${connection} ${id}`;
    const told = {
      at,
      shortId: (/** @type {unknown} */ id) =>
        this.#full ? String(id) : String(id).slice(0, SHORT_ID),
      calledAt: (/** @type {unknown} */ id) => this.#calls.get(key(id)),
    };
    const [verb, parts] = table[type];
    const line = [verb, ...parts(message, told)].filter(
      (part) => part !== undefined && part !== "",
    );
    this.#remember(message, at, key(message.id));
    return line.join(" ");
  }

  /** @param {any} message @param {number} at @param {string} key */
  #remember({ type, tool }, at, key) {
    if (type === "tool.result") this.#calls.delete(key);
    if (type !== "tool.call") return;
    this.#calls.set(key, { at, tool: String(tool) });
    const [oldest] = this.#calls.keys();
    if (this.#calls.size > MAX_CALLS) this.#calls.delete(oldest);
  }
}
