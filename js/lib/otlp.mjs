// Spans as a request of OTLP/HTTP JSON (https://opentelemetry.io/docs/specs/otlp/). No I/O.

import { SPAN_KINDS, SPAN_STATUSES } from "./span.mjs";

/** @typedef {import("./span.mjs").Span} Span */

const SCOPE = "copilot-tap";

/** @param {unknown} value @returns {Record<string, unknown>} */
function encodeValue(value) {
  if (typeof value === "boolean") return { boolValue: value };
  if (Number.isSafeInteger(value)) return { intValue: String(value) };
  if (typeof value === "number") return { doubleValue: value };
  return { stringValue: typeof value === "string" ? value : JSON.stringify(value) };
}

/** @param {Record<string, unknown>} values */
const encodeAttributes = (values) =>
  Object.entries(values)
    .filter(([, value]) => value !== undefined && value !== null && value !== "")
    .map(([key, value]) => ({ key, value: encodeValue(value) }));

/** Microseconds as nanoseconds. A text, since a number would not be exact. @param {number} us */
const nanoseconds = (us) => `${Math.max(0, Math.round(us))}000`;

/** Attributes with names of OpenTelemetry's conventions; others are `tap.…`. @type {Record<string, string>} */
const CONVENTIONS = {
  tool: "gen_ai.tool.name",
  toolCallId: "gen_ai.tool.call.id",
  code: "error.type",
};
/** Texts of the model and of providers are not exported, as in the CLI's own export. */
const CONTENT = /^(?:arguments|result|prompt|event|message|reason)(?:Bytes|Digest)?$/;

/** @param {Span} span @returns {Record<string, unknown>} */
function collectAttributes({ attributes, session, source }) {
  const named = Object.entries(attributes)
    .filter(([name]) => !CONTENT.test(name))
    .map(([name, value]) => [CONVENTIONS[name] ?? `tap.${name}`, value]);
  return {
    "gen_ai.conversation.id": session,
    "tap.source": source,
    ...(attributes.tool !== undefined && {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.type": "extension",
    }),
    ...Object.fromEntries(named),
  };
}

/** @param {Span} span */
function encodeSpan(span) {
  const code = SPAN_STATUSES[span.status];
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    ...(span.parentSpanId && { parentSpanId: span.parentSpanId }),
    name: span.name,
    kind: SPAN_KINDS[span.kind],
    startTimeUnixNano: nanoseconds(span.startUs),
    endTimeUnixNano: nanoseconds(span.startUs + span.durationUs),
    attributes: encodeAttributes(collectAttributes(span)),
    status: code === SPAN_STATUSES.unset ? {} : { code },
  };
}

/**
 * The body of a single request.
 * @param {Span[]} spans @param {Record<string, string>} resource @param {string} version tap's
 */
export const encodeSpans = (spans, resource, version) => ({
  resourceSpans: [
    {
      resource: { attributes: encodeAttributes(resource) },
      scopeSpans: [{ scope: { name: SCOPE, version }, spans: spans.map(encodeSpan) }],
    },
  ],
});
