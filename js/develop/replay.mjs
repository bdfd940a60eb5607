// Repeats the calls of a recording and compares the results: a recording as a test
// (docs/recordings.md).

import { isDeepStrictEqual } from "node:util";
import { errorMessage } from "../lib/values.mjs";
import { REMOVED } from "../lib/redact.mjs";

/** @typedef {import("./trace.mjs").TraceEvent} TraceEvent */
/** @typedef {import("./testing.mjs").TestTap} TestTap */
/**
 * A call with its answer: `data`, or `code` if it failed, or a file, whose content is not recorded.
 * @typedef {{provider: string, tool: string, args: object, data?: unknown, code?: string, file?: boolean}} RecordedCall
 * @typedef {"equal" | "shape" | "outcome"} Comparison
 * @typedef {{call: RecordedCall, ok: boolean, detail: string, skipped?: boolean}} Replayed
 */

/** @type {readonly Comparison[]} */
export const COMPARISONS = ["equal", "shape", "outcome"];

/** @param {any} answer a tool.result @returns {{data?: unknown, code?: string, file?: boolean}} */
function toOutcome(answer) {
  if (answer.error !== undefined || answer.errorCode !== undefined) {
    return { code: String(answer.errorCode ?? "INTERNAL") };
  }
  return answer.file ? { file: true } : { data: answer.data };
}

/**
 * The answered calls, in the order in which they were made.
 * @param {TraceEvent[]} events @param {{provider?: string}} [options]
 * @returns {RecordedCall[]}
 */
export function callsOf(events, { provider } = {}) {
  /** @type {Map<string, TraceEvent>} */
  const answers = new Map();
  for (const event of events) {
    const { kind, message } = event;
    if (kind === "received" && message?.type === "tool.result") answers.set(message.id, event);
  }
  return events.flatMap((event) => {
    const { kind, message } = event;
    if (kind !== "sent" || message?.type !== "tool.call") return [];
    if (provider !== undefined && event.provider !== provider) return [];
    const answer = answers.get(message.id)?.message;
    if (!answer) return [];
    const { tool, args = {} } = message;
    return [{ provider: event.provider, tool, args, ...toOutcome(answer) }];
  });
}

/** Whether a part of it was redacted. @param {unknown} value */
const isRedacted = (value) => JSON.stringify(value ?? null).includes(REMOVED);

/** Replaces a value's content by its types; of an array, the types of its elements. @param {any} value @returns {any} */
function toShape(value) {
  if (value === REMOVED) return "string";
  if (Array.isArray(value)) {
    return [...new Set(value.map((item) => JSON.stringify(toShape(item))))].sort();
  }
  if (typeof value !== "object" || value === null) return value === null ? "null" : typeof value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((name) => [name, toShape(value[name])]),
  );
}

/** A result in a comparable form: an image without its text. @param {any} value */
function comparable(value) {
  const [, mimeType, data] = /^data:([^;,]+);base64,(.*)$/s.exec(value?.image ?? "") ?? [];
  if (data !== undefined) return { mimeType, data };
  if (typeof value?.mimeType === "string" && typeof value.data === "string" && "text" in value) {
    return { mimeType: value.mimeType, data: value.data };
  }
  if (typeof value !== "string") return value ?? "";
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** A redacted value matches any value. @param {any} before @param {any} now @returns {boolean} */
function isSame(before, now) {
  if (before === REMOVED) return true;
  if (typeof before === "string" && before.includes(REMOVED)) return typeof now === "string";
  if (typeof before !== "object" || before === null) return before === now;
  if (typeof now !== "object" || now === null || Array.isArray(before) !== Array.isArray(now)) {
    return false;
  }
  const names = Object.keys(before);
  return (
    names.length === Object.keys(now).length &&
    names.every((name) => Object.hasOwn(now, name) && isSame(before[name], now[name]))
  );
}

/** @param {unknown} value */
const short = (value) => {
  const text = JSON.stringify(value) ?? "undefined";
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
};

/**
 * @param {RecordedCall} call @param {{read?: unknown, code?: string}} now @param {Comparison} compare
 * @returns {{ok: boolean, detail: string}}
 */
function compareOutcome(call, now, compare) {
  if (call.code !== undefined || now.code !== undefined) {
    const ok = call.code === now.code;
    const describeCode = (/** @type {string | undefined} */ code) =>
      code ? `failed with ${code}` : "succeeded";
    return {
      ok,
      detail: ok
        ? describeCode(now.code)
        : `it ${describeCode(call.code)}, and now ${describeCode(now.code)}`,
    };
  }
  if (compare === "outcome" || call.file) return { ok: true, detail: "succeeded" };
  const before = comparable(call.data);
  const data = comparable(now.read);
  const same =
    compare === "shape" ? isDeepStrictEqual(toShape(before), toShape(data)) : isSame(before, data);
  if (same) return { ok: true, detail: "the same" };
  return { ok: false, detail: `was ${short(before)}, is ${short(data)}` };
}

/**
 * @param {TestTap} tap with the provider connected or connecting
 * @param {RecordedCall[]} calls
 * @param {{compare?: Comparison, onCall?: (done: Replayed) => void}} [options]
 * @returns {Promise<Replayed[]>}
 */
export async function replay(tap, calls, { compare = "equal", onCall = () => {} } = {}) {
  const all = [];
  for (const call of calls) {
    const done = await replayOne(tap, call, compare);
    onCall(done);
    all.push(done);
  }
  return all;
}

/** @param {TestTap} tap @param {RecordedCall} call @param {Comparison} compare @returns {Promise<Replayed>} */
async function replayOne(tap, call, compare) {
  if (isRedacted(call.args)) {
    const detail = "not made: its arguments are redacted";
    return { call, ok: true, skipped: true, detail };
  }
  try {
    await tap.tool(call.tool);
  } catch (error) {
    return { call, ok: false, detail: errorMessage(error) };
  }
  /** @type {{read?: unknown, code?: string}} */
  const now = await tap.call(call.tool, call.args).then(
    (read) => ({ read }),
    (error) => ({ code: String(error.code ?? "INTERNAL") }),
  );
  return { call, ...compareOutcome(call, now, compare) };
}
