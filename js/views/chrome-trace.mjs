// Spans as Chrome's trace events, which Perfetto and chrome://tracing open.

/** @typedef {import("../base/span.mjs").Span} Span */

/**
 * A session is a process there, and a source in it a thread. Spans that overlap without one holding the
 * other are asynchronous events there, so all are.
 * @param {Span[]} spans @param {Map<string, string>} labels of sessions, by id
 * @returns {{displayTimeUnit: "ms", traceEvents: Record<string, unknown>[]}}
 */
export function chromeTrace(spans, labels) {
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
