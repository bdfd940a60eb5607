// Spans as OTLP, judged by OpenTelemetry's own types.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import { encodeSpans } from "../../../js/lib/otlp.mjs";

const require = createRequire(import.meta.url);
const { opentelemetry } = require("@opentelemetry/otlp-transformer/build/src/generated/root.js");
const Request = opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const span = (more = {}) => ({
  traceId: TRACE,
  spanId: "00f067aa0ba902b7",
  parentSpanId: "",
  name: "execute_tool get_weather",
  kind: /** @type {const} */ ("client"),
  status: /** @type {const} */ ("error"),
  startUs: 1_795_000_000_123_456,
  durationUs: 1500,
  session: "s-1",
  source: "weather",
  attributes: {
    tool: "get_weather",
    toolCallId: "call_7",
    code: "TIMEOUT",
    count: 3,
    share: 0.5,
    ok: false,
    none: null,
    arguments: { city: "Oslo" },
    resultBytes: 7,
  },
  ...more,
});
/** In JSON, ids are hexadecimal; protobuf has bytes. */
const decoded = (request) => {
  const copy = structuredClone(request);
  for (const one of copy.resourceSpans[0].scopeSpans[0].spans) {
    for (const name of ["traceId", "spanId", "parentSpanId"]) {
      if (one[name]) one[name] = Buffer.from(one[name], "hex").toString("base64");
    }
  }
  return Request.toObject(Request.decode(Request.encode(Request.fromObject(copy)).finish()), {
    longs: String,
    bytes: Buffer,
  });
};

test("OpenTelemetry's own types take a request, and lose nothing of it", () => {
  const request = encodeSpans([span()], { "service.name": "shop" }, "1.2.3");
  const [{ resource, scopeSpans }] = decoded(request).resourceSpans;
  assert.deepEqual(resource.attributes, [{ key: "service.name", value: { stringValue: "shop" } }]);
  assert.equal(scopeSpans[0].scope.version, "1.2.3");
  const [one] = scopeSpans[0].spans;
  assert.equal(one.traceId.toString("hex"), TRACE);
  assert.equal(one.spanId.toString("hex"), "00f067aa0ba902b7");
  assert.equal(one.startTimeUnixNano, "1795000000123456000");
  assert.equal(one.endTimeUnixNano, "1795000000124956000");
  assert.equal(one.kind, 3);
  assert.equal(one.status.code, 2);
  const values = Object.fromEntries(one.attributes.map(({ key, value }) => [key, value]));
  assert.deepEqual(values, {
    "gen_ai.conversation.id": { stringValue: "s-1" },
    "gen_ai.operation.name": { stringValue: "execute_tool" },
    "gen_ai.tool.type": { stringValue: "extension" },
    "gen_ai.tool.name": { stringValue: "get_weather" },
    "gen_ai.tool.call.id": { stringValue: "call_7" },
    "error.type": { stringValue: "TIMEOUT" },
    "tap.source": { stringValue: "weather" },
    "tap.count": { intValue: "3" },
    "tap.share": { doubleValue: 0.5 },
    "tap.ok": { boolValue: false },
  });
});

test("every field of a request has a name that OTLP knows", () => {
  const known = (message, type) => {
    for (const [name, value] of Object.entries(message)) {
      assert.ok(name in type.prototype || name in new type(), `${type.name}.${name}`);
      assert.notEqual(value, undefined);
    }
  };
  const trace = opentelemetry.proto.trace.v1;
  const child = span({ parentSpanId: "b7ad6b7169203331", status: "unset", kind: "internal" });
  const { resourceSpans } = encodeSpans([span(), child], { a: "b" }, "1");
  known({ resourceSpans }, Request);
  known(resourceSpans[0], trace.ResourceSpans);
  known(resourceSpans[0].scopeSpans[0], trace.ScopeSpans);
  for (const one of resourceSpans[0].scopeSpans[0].spans) known(one, trace.Span);
});
