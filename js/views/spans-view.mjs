// Spans for people: a tree with times, and a bar for each that shows when it ran.

import stringWidth from "fast-string-width";
import { sortAsTree } from "../lib/span.mjs";
import { bad, faint, good, strong } from "./output.mjs";
import { cut } from "./table.mjs";
import { clock, shortId } from "./wording.mjs";

/** @typedef {import("../lib/span.mjs").Span} Span */
/** @typedef {import("./output.mjs").Output} Output */

const WIDEST = 100;
const WIDEST_NAME = 46;
const NARROWEST_BAR = 8;
const TIME_WIDTH = 9;

/** @param {number} us */
export function spanTime(us) {
  if (us < 1000) return `${us} µs`;
  if (us < 10_000) return `${(us / 1000).toFixed(2)} ms`;
  if (us < 10_000_000) return `${Math.round(us / 1000)} ms`;
  return `${(us / 1_000_000).toFixed(1)} s`;
}

/** The columns of its bar. @param {Span} span @param {{from: number, to: number}} of @param {number} width */
function computeBar({ startUs, durationUs }, { from, to }, width) {
  const scale = width / Math.max(1, to - from);
  const first = Math.min(width - 1, Math.floor((startUs - from) * scale));
  const last = Math.max(
    first + 1,
    Math.min(width, Math.ceil((startUs + durationUs - from) * scale)),
  );
  return {
    before: " ".repeat(first),
    bar: "━".repeat(last - first),
    after: " ".repeat(width - last),
  };
}

/** @param {Span[]} spans of the same trace */
export function computeExtent(spans) {
  const from = Math.min(...spans.map(({ startUs }) => startUs));
  const to = Math.max(...spans.map(({ startUs, durationUs }) => startUs + durationUs));
  return { from, to };
}

/** @param {Span[]} spans @returns {Map<string, Span[]>} by trace, in the order of their starts */
export function byTrace(spans) {
  /** @type {Map<string, Span[]>} */
  const traces = new Map();
  for (const span of spans.toSorted((a, b) => a.startUs - b.startUs)) {
    const those = traces.get(span.traceId);
    if (those) those.push(span);
    else traces.set(span.traceId, [span]);
  }
  return traces;
}

/** @param {Output} output @param {string} traceId @param {Span[]} spans @param {Map<string, string>} labels of sessions */
function showTrace(output, traceId, spans, labels) {
  const extent = computeExtent(spans);
  const sessions = [...new Set(spans.map(({ session }) => session).filter(Boolean))];
  const where = sessions.map((id) => `${labels.get(id) ?? "session"} ${shortId(id)}`).join(", ");
  output.print(
    strong(`trace ${traceId}`),
    `  ${clock(Math.floor(extent.from / 1000))}  ${spanTime(extent.to - extent.from)}`,
  );
  if (where) output.print(faint(cut(where, output.width)));
  const rows = sortAsTree(spans).map(({ span, depth }) => ({
    span,
    text: `${"  ".repeat(Math.min(depth, 12))}${span.name}`,
    of: span.source ? ` (${span.source})` : "",
  }));
  const room = Math.min(output.width, WIDEST) - 2;
  const wanted = Math.max(...rows.map(({ text, of }) => stringWidth(text + of)));
  const names = Math.min(wanted, WIDEST_NAME, Math.max(16, room - NARROWEST_BAR - TIME_WIDTH - 4));
  const bars = Math.max(NARROWEST_BAR, room - names - TIME_WIDTH - 4);
  for (const { span, text, of } of rows) {
    const name = cut(text + of, names);
    const { before, bar, after } = computeBar(span, extent, bars);
    const failed = span.status === "error";
    output.print(
      "  ",
      name,
      `${" ".repeat(names - stringWidth(name))}  `,
      `${before}`,
      failed ? bad(bar) : good(bar),
      `${after}  ${spanTime(span.durationUs).padStart(TIME_WIDTH)}`,
      failed ? bad("  failed") : "",
    );
  }
}

/** @param {Output} output @param {Span[]} spans @param {Map<string, string>} labels of sessions, by id */
export function showSpans(output, spans, labels) {
  let first = true;
  for (const [traceId, those] of byTrace(spans)) {
    if (!first) output.print();
    first = false;
    showTrace(output, traceId, those, labels);
  }
}

// Spans as Chrome's trace events, for Perfetto and chrome://tracing.

/**
 * A session becomes a process, and a source in it a thread. Overlapping spans need asynchronous events, so all spans
 * use them.
 * @param {Span[]} spans @param {Map<string, string>} labels of sessions, by id
 * @returns {{displayTimeUnit: "ms", traceEvents: Record<string, unknown>[]}}
 */
export function toChromeTrace(spans, labels) {
  const sessions = [...new Set(spans.map(({ session }) => session))];
  const sources = [...new Set(spans.map(({ source }) => source))];
  const named = (/** @type {string} */ id) => (id ? `${labels.get(id) ?? "session"} ${id}` : "tap");
  /** @type {Record<string, unknown>[]} */
  const names = sessions.map((id, at) => ({
    name: "process_name",
    ph: "M",
    pid: at + 1,
    args: { name: named(id) },
  }));
  const events = spans.flatMap((span) => {
    const { name, source, session, traceId, spanId, parentSpanId, status, attributes } = span;
    const common = {
      name,
      cat: source || "tap",
      id2: { local: spanId },
      pid: sessions.indexOf(session) + 1,
      tid: sources.indexOf(source) + 1,
    };
    const args = { traceId, spanId, parentSpanId, status, ...attributes };
    return [
      { ...common, ph: "b", ts: span.startUs, args },
      { ...common, ph: "e", ts: span.startUs + span.durationUs },
    ];
  });
  return { displayTimeUnit: "ms", traceEvents: [...names, ...events] };
}
