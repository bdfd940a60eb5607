// A span as stored in the record store (docs/tracing.md), for the tree, the exports and the commands.

/**
 * `startUs`: microseconds since 1970. `parentSpanId`: empty for a root, or if a different program has
 * recorded the parent. `attributes`: other fields of the record.
 * @typedef {object} Span
 * @property {string} traceId 32 hexadecimal digits
 * @property {string} spanId 16 hexadecimal digits
 * @property {string} parentSpanId
 * @property {string} name
 * @property {keyof typeof SPAN_KINDS} kind
 * @property {keyof typeof SPAN_STATUSES} status
 * @property {number} startUs
 * @property {number} durationUs
 * @property {string} session its id; "" without a session
 * @property {string} source the provider or feature
 * @property {Record<string, unknown>} attributes
 */

/** The numbers of OTLP. */
export const SPAN_KINDS = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 };
export const SPAN_STATUSES = { unset: 0, ok: 1, error: 2 };

const OWN = new Set(
  "traceId spanId parentSpanId name kind status startUs durationUs record".split(" "),
);

/** Reads a record of the collection `span`; undefined for other records. @param {any} record @returns {Span | undefined} */
export function parseSpan(record) {
  const { session, source, body } = record ?? {};
  if (typeof body?.traceId !== "string" || typeof body.spanId !== "string") return undefined;
  const { traceId, spanId, parentSpanId, name, kind, status, startUs, durationUs } = body;
  const attributes = Object.entries(body).filter(([field]) => !OWN.has(field));
  return {
    traceId,
    spanId,
    parentSpanId: typeof parentSpanId === "string" ? parentSpanId : "",
    name: String(name ?? ""),
    kind: Object.hasOwn(SPAN_KINDS, kind) ? kind : "internal",
    status: Object.hasOwn(SPAN_STATUSES, status) ? status : "unset",
    startUs: Number(startUs) || 0,
    durationUs: Number(durationUs) || 0,
    session: String(session ?? ""),
    source: String(source ?? ""),
    attributes: Object.fromEntries(attributes),
  };
}

/**
 * Each span below its parent, ordered by start time. A span is a root if its parent is not in the list, or if it
 * is its own ancestor.
 * @param {Span[]} spans
 * @returns {{span: Span, depth: number}[]}
 */
export function sortAsTree(spans) {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  /** @type {Map<string, Span[]>} */
  const children = new Map();
  /** @type {Span[]} */
  const roots = [];
  for (const span of [...byId.values()].toSorted((a, b) => a.startUs - b.startUs)) {
    const parent = span.parentSpanId;
    if (!byId.has(parent) || parent === span.spanId) roots.push(span);
    else if (children.has(parent)) children.get(parent)?.push(span);
    else children.set(parent, [span]);
  }
  /** @type {{span: Span, depth: number}[]} */
  const rows = [];
  const seen = new Set();
  /** @param {Span} first */
  const walk = (first) => {
    const open = [{ span: first, depth: 0 }];
    for (let row = open.pop(); row; row = open.pop()) {
      const { span, depth } = row;
      if (seen.has(span.spanId)) continue;
      seen.add(span.spanId);
      rows.push(row);
      for (const child of (children.get(span.spanId) ?? []).toReversed()) {
        open.push({ span: child, depth: depth + 1 });
      }
    }
  };
  roots.forEach(walk);
  for (const span of byId.values()) if (!seen.has(span.spanId)) walk(span);
  return rows;
}
