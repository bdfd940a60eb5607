// The state of a running job. The CLI's events go in, with the time; events for people come out, and whether the job
// must stop. It has no side effects.

import { redactLine, redactLines } from "../lib/redact.mjs";
import { shortenText } from "../lib/visible.mjs";
import { DEFAULT_TIMEOUT_MS, DEFAULT_TURNS, classifyFailure, toOutcome } from "./job.mjs";
import { noTotals, requestTotals, sum } from "./usage.mjs";

/** @typedef {import("./job.mjs").Outcome} Outcome */
/** @typedef {import("./job.mjs").WorkerEvent} WorkerEvent */
/** @typedef {import("./job.mjs").Refusal} Refusal */

const MAX_LINE = 300;
const MAX_SUMMARY = 8 * 1024;
const MAX_SCANNED = 4096;
/** Between two shown lines of output. */
const LINE_MS = 200;
/** The CLI repeats a request that was refused for its rate. A longer wait than this is a pause for the caller. */
const RATE_LIMIT_MS = 30_000;
const MAX_RETRY_S = 3600;
const DEFAULT_RETRY_S = 60;
const MAX_CALLS = 256;
const REFUSAL_CODES = new Set(["denied", "rejected"]);
/** By the CLI's class of a denial. @type {Record<string, Refusal["kind"]>} */
const DENIED_KINDS = {
  ...{ filesystem_read: "read", filesystem_write: "write" },
  ...{ network_host: "host", network_outbound: "host", network_local: "host" },
};

/** @param {unknown} text @returns {string} a single line */
const toLine = (text) => shortenText(redactLine(String(text ?? "").trim()), MAX_LINE);

/** @param {unknown} text @returns {string} its last line with text */
function lastLine(text) {
  const end = String(text ?? "").slice(-MAX_SCANNED);
  return toLine(
    end
      .trimEnd()
      .split(/[\r\n]/)
      .at(-1),
  );
}

/** @param {string} text of several lines */
const formatSummary = (text) =>
  shortenText(redactLines(text.replaceAll("\r\n", "\n")), MAX_SUMMARY);

/** @param {any} args of a tool @returns {string} the most useful part */
function argumentWords(args) {
  const first = args?.command ?? args?.path ?? args?.url ?? args?.query ?? args?.pattern;
  return toLine(first ?? JSON.stringify(args ?? {})?.slice(0, MAX_SCANNED));
}

/** @param {any} data of `session.error` */
const isRateLimit = ({ statusCode, errorType }) =>
  statusCode === 429 || /rate.?limit/i.test(String(errorType));

export class Progress {
  turns = 0;
  /** Of permissions and by the sandbox. */
  refusals = 0;
  /** Of requests seen so far. The CLI's totals are more exact, if it answers. */
  used = noTotals();
  /** The job's turn has ended. */
  over = false;
  #maxTurns;
  #deadline;
  #started = false;
  #lastMessage = "";
  #aborted = false;
  /** @type {any} */
  #error;
  /** @type {Outcome | undefined} */
  #stopOutcome;
  #lineAt = -Infinity;
  #line = "";
  /** A line that arrived too soon after the previous line. */
  #pendingLine = "";
  /** The arguments of the running tools, by call. @type {Map<string, string>} */
  #calls = new Map();
  /** Calls whose refusal was reported before they end. @type {Set<string>} */
  #refusedCalls = new Set();
  /** Start of the present series of rate refusals. @type {number | undefined} */
  #limitedAt;

  /** @param {{maxTurns?: number, timeout?: number}} job @param {number} now ms */
  constructor({ maxTurns = DEFAULT_TURNS, timeout = DEFAULT_TIMEOUT_MS }, now) {
    this.#maxTurns = maxTurns;
    this.#deadline = { at: now + timeout, ms: timeout };
  }

  /** The last message of the agent. */
  get summary() {
    return formatSummary(this.#lastMessage);
  }

  /** Whether the job must stop. */
  get stopping() {
    return this.#stopOutcome !== undefined;
  }

  /** The job's message is sent: later events belong to it. */
  begin() {
    this.#started = true;
  }

  /** Keeps the first reason. Has no effect after the end. @param {Outcome} outcome */
  stop(outcome) {
    if (!this.over) this.#stopOutcome ??= outcome;
  }

  /** @param {number} now */
  tick(now) {
    const { at, ms } = this.#deadline;
    if (now >= at) this.stop(toOutcome("TIMEOUT", `not done after ${ms / 1000} s`));
    if (this.#limitedAt !== undefined && now - this.#limitedAt >= RATE_LIMIT_MS)
      this.#stopForRateLimit();
  }

  /** @param {any} event of the CLI @param {number} now @returns {WorkerEvent[]} */
  handleEvent({ type, data = {}, agentId }, now) {
    if (type === "assistant.usage") {
      this.used = sum(this.used, requestTotals(data));
      this.#limitedAt = undefined;
    }
    if (!agentId) this.#state(type, data, now);
    if (type === "assistant.message" && !agentId) return this.#message(data);
    if (type === "tool.execution_partial_result") return this.#output(data.partialOutput, now);
    if (type === "sandbox.decision") return this.#decision(data);
    if (type === "tool.execution_start") {
      const [tool, text] = [toLine(data.toolName), argumentWords(data.arguments)];
      if (this.#calls.size < MAX_CALLS) this.#calls.set(data.toolCallId, `${tool}: ${text}`);
      return [{ kind: "tool", tool, text }];
    }
    if (type !== "tool.execution_complete") return [];
    return this.#end(data, now);
  }

  /** @param {any} data of a tool's end @param {number} now @returns {WorkerEvent[]} */
  #end({ toolCallId: call, error }, now) {
    const target = this.#calls.get(call) ?? "";
    this.#calls.delete(call);
    const isReported = this.#refusedCalls.delete(call);
    if (isReported || !REFUSAL_CODES.has(error?.code)) return this.#flushLine(now);
    return this.#refuse({ kind: "tool", target, call }, error.message);
  }

  /** @param {Refusal} refusal hostile texts @param {unknown} text the reason @returns {WorkerEvent[]} */
  #refuse({ kind, target, call }, text) {
    this.refusals += 1;
    const refusal = { kind, target: toLine(target), ...(call && { call: toLine(call) }) };
    return [{ kind: "refused", text: toLine(text), refusal }];
  }

  /** Its call will end as refused, too. @param {Refusal} refusal @param {string} why @returns {WorkerEvent[]} */
  refusePermission(refusal, why) {
    const { call } = refusal;
    if (call && this.#refusedCalls.size < MAX_CALLS) this.#refusedCalls.add(call);
    return this.#refuse(refusal, why);
  }

  /** A refusal by the sandbox, with the stopped call. @param {any} data @returns {WorkerEvent[]} */
  #decision({ kind, outcome, denialClass, deniedResource, toolCallId: call }) {
    if (kind !== "access_denied" && outcome !== "failed") return [];
    const called = this.#calls.get(call) ?? "";
    const reason = String(denialClass ?? kind).replaceAll("_", " ");
    const refusal = {
      kind: DENIED_KINDS[denialClass] ?? "sandbox",
      target: deniedResource ?? called,
    };
    return this.#refuse({ ...refusal, call }, `the sandbox: ${reason}: ${called}`);
  }

  /** @param {string} type @param {any} data @param {number} now */
  #state(type, data, now) {
    if (!this.#started) return; // an event of an earlier run of the session
    if (type === "assistant.turn_start") this.#turn();
    if (type === "abort") this.#aborted = true;
    if (type === "session.error") this.#error ??= data;
    if (type === "model.call_failure" && data.statusCode === 429) this.#handleRateLimit(now);
    if (type !== "session.idle") return;
    this.#aborted ||= data.aborted === true;
    this.over = true;
  }

  #turn() {
    if (this.turns < this.#maxTurns) this.turns += 1;
    else this.stop(toOutcome("MAX_TURNS", `not done after ${this.#maxTurns} turns`));
  }

  /** @param {any} data @returns {WorkerEvent[]} */
  #message({ content }) {
    if (typeof content !== "string" || content.trim() === "") return [];
    this.#lastMessage = content.slice(0, MAX_SUMMARY * 2);
    return [{ kind: "message", text: toLine(content) }];
  }

  /** @param {unknown} text @param {number} now @returns {WorkerEvent[]} */
  #output(text, now) {
    const line = lastLine(text);
    if (line === "" || line === this.#line) return [];
    this.#pendingLine = line;
    return now - this.#lineAt < LINE_MS ? [] : this.#flushLine(now);
  }

  /** The last line of a tool is always shown. @param {number} now @returns {WorkerEvent[]} */
  #flushLine(now) {
    const line = this.#pendingLine;
    this.#pendingLine = "";
    if (line === "") return [];
    this.#line = line;
    this.#lineAt = now;
    return [{ kind: "line", text: line }];
  }

  /** The model's server refused for the rate. A single refusal is tolerated. @param {number} now */
  #handleRateLimit(now) {
    if (this.#limitedAt === undefined) this.#limitedAt = now;
    else this.#stopForRateLimit(Math.ceil((now - this.#limitedAt) / 1000));
  }

  /** @param {number} [seconds] between two requests of the CLI */
  #stopForRateLimit(seconds = DEFAULT_RETRY_S) {
    const retryAfter = Math.min(MAX_RETRY_S, Math.max(1, seconds));
    this.stop({
      ...toOutcome("RATE_LIMITED", "the model's server refuses requests for their rate"),
      retryAfter,
    });
  }

  /**
   * Success requires the end of the turn with a message, without an error or an abort; the exit code does not count.
   * @param {string} [lost] why no more events arrive, if the job did not end
   * @returns {Outcome}
   */
  outcome(lost) {
    if (this.#stopOutcome) return this.#stopOutcome;
    if (lost !== undefined && (!this.over || this.#aborted)) {
      return toOutcome("SERVER_LOST", lost);
    }
    if (this.#error) return this.#failure(this.#error);
    if (this.#aborted) return toOutcome("ABORTED", "the run was aborted");
    if (!this.over) return toOutcome("SERVER_LOST", "the run did not come to an end");
    if (this.#lastMessage === "")
      return toOutcome("NO_RESULT", "the agent ended without a message");
    return { status: "succeeded" };
  }

  /** @param {any} data of `session.error` @returns {Outcome} */
  #failure(data) {
    const message = toLine(data.message) || "the model gave an error";
    if (!isRateLimit(data)) return classifyFailure("MODEL", message);
    return { ...toOutcome("RATE_LIMITED", message), retryAfter: DEFAULT_RETRY_S };
  }
}
