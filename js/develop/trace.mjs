// A recording of messages from and to providers: JSON lines, with secrets removed (docs/recordings.md).
// The first line describes the recording; each other line is an event of a provider's connection.

import fs from "node:fs";
import { redact, REMOVED } from "../lib/redact.mjs";

/** @typedef {import("../link/control.mjs").TraceFrame} TraceFrame */
/**
 * `message`: the parsed message; `text`: the message if it is not JSON, or why a connection was closed.
 * @typedef {{at: number, connection: number, provider: string, kind: TraceFrame["kind"], message?: any, text?: string}}
 *   TraceEvent
 */

const FORMAT = 1;

/** @param {TraceFrame} frame @returns {TraceEvent} */
export function toEvent({ at, connection, provider, kind, text }) {
  const event = { at, connection, provider, kind };
  if (kind === "opened" || kind === "closed") return { ...event, text: redact(text) };
  try {
    const message = JSON.parse(text);
    // The code that a person types while pairing is a secret, too.
    if (message?.type === "auth.confirm") message.code = REMOVED;
    return { ...event, message: redact(message) };
  } catch {
    return { ...event, text: redact(text) };
  }
}

/** The first line of a recording. @param {{version: string, at: number}} about */
export const headerLine = ({ version, at }) =>
  `${JSON.stringify({ tapTrace: FORMAT, version, at })}\n`;

/** @param {TraceEvent} event */
export const eventLine = (event) => `${JSON.stringify(event)}\n`;

/**
 * Selects the events of a provider or a session. Events of a connection before its hello are stored until the
 * hello.
 */
export class TraceFilter {
  #wanted;
  /** By connection: whether it fits, or its events so far. @type {Map<number, {fits: boolean, before: TraceEvent[]}>} */
  #connections = new Map();
  /** Calls of other sessions. @type {Set<string>} */
  #foreign = new Set();

  /** @param {{provider?: string, session?: string}} wanted */
  constructor(wanted) {
    this.#wanted = wanted;
  }

  /** Adds a connection that is already open. @param {number} connection @param {string} provider @param {string[]} sessions */
  addConnection(connection, provider, sessions) {
    const { provider: name, session } = this.#wanted;
    const fits =
      (name === undefined || provider === name) &&
      (session === undefined || sessions.includes(session));
    this.#connections.set(connection, { fits, before: [] });
  }

  /** @param {TraceEvent} event @returns {TraceEvent[]} events to record now */
  select(event) {
    const { provider, session } = this.#wanted;
    if (provider === undefined && session === undefined) return [event];
    const connection = this.#connection(event);
    if (event.kind === "closed") this.#connections.delete(event.connection);
    if (event.kind === "received" && event.message?.type === "hello") {
      return this.#identify(event, connection.before);
    }
    if (connection.fits)
      return session === undefined || this.#belongsTo(event, session) ? [event] : [];
    if (event.provider === "" && connection.before.length < MAX_BEFORE) {
      connection.before.push(event);
    }
    return [];
  }

  /** Handles a hello. @param {TraceEvent} hello @param {TraceEvent[]} before earlier events of its connection */
  #identify(hello, before) {
    const { name, session } = hello.message;
    const any = session === undefined || session === "all";
    this.addConnection(hello.connection, String(name), [
      any ? (this.#wanted.session ?? "") : String(session),
    ]);
    return this.#connections.get(hello.connection)?.fits ? [...before, hello] : [];
  }

  /** A message without a session may belong to any. @param {TraceEvent} event @param {string} session */
  #belongsTo({ message }, session) {
    if (ANSWERS.has(message?.type)) return !this.#foreign.has(message.id);
    if (typeof message?.sessionId !== "string" || message.sessionId === session) return true;
    if (message.type === "tool.call") {
      this.#foreign.add(message.id);
      const [oldest] = this.#foreign;
      if (this.#foreign.size > MAX_FOREIGN) this.#foreign.delete(oldest);
    }
    return false;
  }

  /** @param {TraceEvent} event */
  #connection(event) {
    let known = this.#connections.get(event.connection);
    if (!known) this.#connections.set(event.connection, (known = { fits: false, before: [] }));
    return known;
  }
}

/** More events than a connection has before its hello. */
const MAX_BEFORE = 20;

/** Messages that answer a call; the call has their tool and session. */
const ANSWERS = new Set(["tool.result", "tool.progress"]);
/** Calls of other sessions that may still be answered; more than can be pending. */
const MAX_FOREIGN = 10_000;

/**
 * @param {string} file
 * @returns {{version: string, at: number, events: TraceEvent[]}}
 * @throws if it is not a recording
 */
export function readTrace(file) {
  const lines = fs.readFileSync(file, "utf8").split("\n");
  // A recorder that was killed leaves half a line.
  if (lines.length > 1) lines.pop();
  const parsed = lines.flatMap((line, index) =>
    line.trim() ? [parseLine(line, file, index)] : [],
  );
  const [header, ...events] = parsed;
  if (header?.tapTrace !== FORMAT) {
    throw new Error(
      header?.tapTrace === undefined
        ? `${file} is not a recording of copilot-tap trace`
        : `${file} was recorded in format ${header.tapTrace}, and this version reads ${FORMAT}`,
    );
  }
  return { version: String(header.version), at: Number(header.at), events };
}

/** @param {string} line @param {string} file @param {number} index */
function parseLine(line, file, index) {
  try {
    const value = JSON.parse(line);
    if (typeof value === "object" && value !== null) return value;
  } catch {
    // Reported below.
  }
  throw new Error(`${file}:${index + 1} is not a line of a recording`);
}
