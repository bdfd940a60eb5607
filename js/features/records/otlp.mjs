// Spans as OTLP/HTTP JSON, and the environment variables that say where they go. No I/O.
// https://opentelemetry.io/docs/specs/otlp/ and …/specs/otel/protocol/exporter/ are the source.

import { SPAN_KINDS, SPAN_STATUSES } from "../../base/span.mjs";

/** @typedef {import("../../base/span.mjs").Span} Span */
/**
 * Where spans go: `url` has the path already. `problem`: variables are set, but nothing can be sent.
 * @typedef {{url: string, headers: Record<string, string>, timeoutMs: number,
 *   resource: Record<string, string>}} Target
 */

const TIMEOUT_MS = 10_000;
const LONGEST_TIMEOUT_MS = 60_000;
/** The specification: a receiver that does not know a resource's service shows this name. */
const SERVICE = "copilot-tap";

/** `a=b,c=d`, percent-encoded. @param {string | undefined} text @returns {Record<string, string>} */
function pairs(text) {
  /** @type {Record<string, string>} */
  const found = Object.create(null);
  for (const part of (text ?? "").split(",")) {
    const at = part.indexOf("=");
    if (at < 1) continue;
    const [name, value] = [part.slice(0, at).trim(), part.slice(at + 1).trim()];
    try {
      found[decodeURIComponent(name)] = decodeURIComponent(value);
    } catch {
      found[name] = value;
    }
  }
  return found;
}

/** @param {NodeJS.ProcessEnv} env @param {string} name without its prefix */
const setting = (env, name) =>
  env[`OTEL_EXPORTER_OTLP_TRACES_${name}`] || env[`OTEL_EXPORTER_OTLP_${name}`] || undefined;

/** @param {NodeJS.ProcessEnv} env @returns {string | undefined} */
function urlOf(env) {
  const own = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
  if (own) return own;
  const base = env.OTEL_EXPORTER_OTLP_ENDPOINT;
  return base ? `${base.replace(/\/+$/, "")}/v1/traces` : undefined;
}

/** @param {NodeJS.ProcessEnv} env */
function timeoutOf(env) {
  const text = setting(env, "TIMEOUT") ?? "";
  const given = /^\d{1,9}$/.test(text) ? Number(text) : TIMEOUT_MS;
  return Math.min(Math.max(given, 1), LONGEST_TIMEOUT_MS);
}

/** @param {string} url @param {string | undefined} protocol @returns {string | undefined} why nothing can be sent */
function problemWith(url, protocol) {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    return `the endpoint for spans is not an http or https URL: set OTEL_EXPORTER_OTLP_ENDPOINT to one`;
  }
  if (protocol === "grpc") {
    return "OTEL_EXPORTER_OTLP_PROTOCOL is grpc, and tap sends http/json: set OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/json and the port for HTTP";
  }
  return undefined;
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {{target?: Target, problem?: string}} neither: nothing is to be sent
 */
export function targetOf(env) {
  const url = urlOf(env);
  const off = env.OTEL_SDK_DISABLED?.toLowerCase() === "true";
  if (!url || off || env.OTEL_TRACES_EXPORTER === "none") return {};
  const problem = problemWith(url, setting(env, "PROTOCOL"));
  if (problem) return { problem };
  const given = pairs(env.OTEL_RESOURCE_ATTRIBUTES);
  const service = env.OTEL_SERVICE_NAME || given["service.name"] || SERVICE;
  const headers = {
    ...pairs(env.OTEL_EXPORTER_OTLP_HEADERS),
    ...pairs(env.OTEL_EXPORTER_OTLP_TRACES_HEADERS),
  };
  return {
    target: {
      url,
      headers,
      timeoutMs: timeoutOf(env),
      resource: { ...given, "service.name": service },
    },
  };
}

/** @param {unknown} value @returns {Record<string, unknown>} */
function valueOf(value) {
  if (typeof value === "boolean") return { boolValue: value };
  if (Number.isSafeInteger(value)) return { intValue: String(value) };
  if (typeof value === "number") return { doubleValue: value };
  return { stringValue: typeof value === "string" ? value : JSON.stringify(value) };
}

/** @param {Record<string, unknown>} values */
const attributesOf = (values) =>
  Object.entries(values)
    .filter(([, value]) => value !== undefined && value !== null && value !== "")
    .map(([key, value]) => ({ key, value: valueOf(value) }));

/** Microseconds as nanoseconds: larger than a number is exact. @param {number} us */
const nanoseconds = (us) => `${Math.max(0, Math.round(us))}000`;

/** Names of OpenTelemetry's conventions for what a span says; the rest is `tap.…`. @type {Record<string, string>} */
const CONVENTIONS = {
  tool: "gen_ai.tool.name",
  toolCallId: "gen_ai.tool.call.id",
  code: "error.type",
};
/** Texts of the model and of providers stay here, as the CLI keeps its own back. */
const CONTENT = /^(?:arguments|result|prompt|event|message|reason)(?:Bytes|Digest)?$/;

/** @param {Span} span @returns {Record<string, unknown>} */
function described({ attributes, session, source }) {
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
function encoded(span) {
  const code = SPAN_STATUSES[span.status];
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    ...(span.parentSpanId && { parentSpanId: span.parentSpanId }),
    name: span.name,
    kind: SPAN_KINDS[span.kind],
    startTimeUnixNano: nanoseconds(span.startUs),
    endTimeUnixNano: nanoseconds(span.startUs + span.durationUs),
    attributes: attributesOf(described(span)),
    status: code === SPAN_STATUSES.unset ? {} : { code },
  };
}

/**
 * The body of one request.
 * @param {Span[]} spans @param {Record<string, string>} resource @param {string} version tap's
 */
export const encodeSpans = (spans, resource, version) => ({
  resourceSpans: [
    {
      resource: { attributes: attributesOf(resource) },
      scopeSpans: [{ scope: { name: SERVICE, version }, spans: spans.map(encoded) }],
    },
  ],
});

/** The statuses after which the same request may be sent again. */
const TRANSIENT = new Set([429, 502, 503, 504]);

/**
 * What follows from an answer.
 * @param {{status: number, retryAfter: string | null}} answer `status` 0: there was none
 * @param {number} attempt 1 for the first
 * @returns {{done: true} | {retryMs: number} | {failed: string}}
 */
export function afterAnswer({ status, retryAfter }, attempt) {
  if (status >= 200 && status < 300) return { done: true };
  const what =
    status === 0 ? "the receiver of spans does not answer" : `the receiver of spans says ${status}`;
  if (status !== 0 && !TRANSIENT.has(status))
    return { failed: `${what}: check the endpoint and its headers` };
  if (attempt >= 5) return { failed: `${what}, after ${attempt} attempts` };
  const asked = /^\d{1,4}$/.test(retryAfter ?? "") ? Number(retryAfter) * 1000 : 0;
  return { retryMs: Math.min(60_000, Math.max(asked, 500 * 2 ** (attempt - 1))) };
}
