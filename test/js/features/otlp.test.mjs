// Spans as OTLP, judged by OpenTelemetry's own types.

import assert from "node:assert/strict";
import http from "node:http";
import { createRequire } from "node:module";
import { test } from "node:test";
import { afterAnswer, encodeSpans, targetOf } from "../../../js/features/records/otlp.mjs";
import { exportSpans } from "../../../js/features/records/span-export.mjs";
import { waitFor } from "../../support/wait.mjs";

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
const ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT";

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

test("the standard variables say where spans go", () => {
  assert.deepEqual(targetOf({}), {});
  assert.equal(targetOf({ [ENDPOINT]: "http://h:4318/" }).target?.url, "http://h:4318/v1/traces");
  assert.equal(
    targetOf({ [ENDPOINT]: "http://h:1", OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://i/x" }).target
      ?.url,
    "http://i/x",
  );
  const { target } = targetOf({
    [ENDPOINT]: "https://h",
    OTEL_EXPORTER_OTLP_HEADERS: "api-key=a%20b, broken, x=1",
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: "x=2",
    OTEL_EXPORTER_OTLP_TIMEOUT: "250",
    OTEL_RESOURCE_ATTRIBUTES: "service.name=one,deployment.environment=dev",
    OTEL_SERVICE_NAME: "two",
  });
  assert.deepEqual({ ...target?.headers }, { "api-key": "a b", x: "2" });
  assert.equal(target?.timeoutMs, 250);
  assert.deepEqual(target?.resource, { "service.name": "two", "deployment.environment": "dev" });
});

test("nothing is sent where the user has said so", () => {
  assert.deepEqual(targetOf({ [ENDPOINT]: "http://h", OTEL_SDK_DISABLED: "TRUE" }), {});
  assert.deepEqual(targetOf({ [ENDPOINT]: "http://h", OTEL_TRACES_EXPORTER: "none" }), {});
});

test("settings that cannot work are named", () => {
  for (const url of ["h:4318", "file:///etc/passwd", "http://", "localhost"]) {
    assert.match(targetOf({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url }).problem ?? "", /URL/, url);
  }
  const grpc = { [ENDPOINT]: "http://h", OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" };
  assert.match(targetOf(grpc).problem ?? "", /http\/json/);
  const timeouts = { "-1": 10_000, "1e9": 10_000, 99999999: 60_000, 0: 1, "": 10_000 };
  for (const [text, ms] of Object.entries(timeouts)) {
    const env = { [ENDPOINT]: "http://h", OTEL_EXPORTER_OTLP_TIMEOUT: text };
    assert.equal(targetOf(env).target?.timeoutMs, ms, text);
  }
});

test("a request is sent again only after what may pass", () => {
  const answer = (status, retryAfter = null) => ({ status, retryAfter });
  assert.deepEqual(afterAnswer(answer(200), 1), { done: true });
  assert.deepEqual(afterAnswer(answer(503), 1), { retryMs: 500 });
  assert.deepEqual(afterAnswer(answer(503), 3), { retryMs: 2000 });
  assert.deepEqual(afterAnswer(answer(429, "7"), 1), { retryMs: 7000 });
  assert.deepEqual(afterAnswer(answer(429, "9999"), 1), { retryMs: 60_000 });
  assert.deepEqual(afterAnswer(answer(0), 1), { retryMs: 500 });
  assert.match(/** @type {any} */ (afterAnswer(answer(400), 1)).failed, /400/);
  assert.match(/** @type {any} */ (afterAnswer(answer(0), 5)).failed, /does not answer/);
});

function deferred() {
  let resolve = () => {};
  const promise = new Promise((settle) => {
    resolve = () => settle(undefined);
  });
  return { promise, resolve };
}

/** A store that grows, as `records.query` shows it. */
class Store {
  records = [];
  #begun = deferred();
  asked = this.#begun.promise;
  add(count) {
    for (let at = 0; at < count; at += 1) {
      const id = this.records.length + 1;
      const body = {
        traceId: TRACE,
        spanId: String(id).padStart(16, "0"),
        name: `n${id}`,
        startUs: id,
        durationUs: 1,
      };
      this.records.push({ id, collection: "span", trace: TRACE, session: "", source: "", body });
    }
  }
  query = async ({ limit, cursor }) => {
    const before = cursor ? Number(cursor) : Infinity;
    const records = this.records
      .filter(({ id }) => id < before)
      .slice(-limit)
      .toReversed();
    const last = records.at(-1);
    setImmediate(this.#begun.resolve);
    return { records, cursor: last && last.id > 1 ? String(last.id) : undefined };
  };
}

/** A receiver over real HTTP. */
async function receiver(t, answer = () => 200) {
  const got = [];
  const server = http.createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const status = answer();
    if (status === 200) got.push(JSON.parse(Buffer.concat(chunks).toString()));
    response.writeHead(status).end("{}");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  t.after(() => server.close());
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  const names = () =>
    got.flatMap(({ resourceSpans }) =>
      resourceSpans[0].scopeSpans[0].spans.map(({ name }) => name),
    );
  const { target } = targetOf({ [ENDPOINT]: `http://127.0.0.1:${port}` });
  return {
    names,
    target: /** @type {import("../../../js/features/records/otlp.mjs").Target} */ (target),
  };
}

test("each span that ends after the start is sent once, in its order", async (t) => {
  const { names, target } = await receiver(t);
  const store = new Store();
  store.add(3);
  const ending = new AbortController();
  t.after(() => ending.abort());
  const ended = exportSpans(
    target,
    { query: store.query, diagnose: assert.fail, version: "1", everyMs: 20 },
    ending.signal,
  );
  await store.asked;
  store.add(1100);
  await waitFor(() => names().length >= 1100, "the spans");
  store.add(1);
  ending.abort();
  assert.deepEqual(await ended, { sent: 1101, lost: 0 });
  assert.deepEqual(
    names(),
    store.records.slice(3).map(({ body }) => body.name),
  );
});

test("a receiver that refuses loses spans, which is said once; one that is back gets the next", async (t) => {
  const said = [];
  let status = 400;
  const { names, target } = await receiver(t, () => status);
  const store = new Store();
  const ending = new AbortController();
  t.after(() => ending.abort());
  const means = {
    query: store.query,
    diagnose: (text) => said.push(text),
    version: "1",
    everyMs: 10,
  };
  const ended = exportSpans(target, means, ending.signal);
  await store.asked;
  store.add(1);
  await waitFor(() => said.length === 1, "the problem");
  status = 200;
  store.add(1);
  await waitFor(() => names().length === 1, "the next span");
  ending.abort();
  assert.deepEqual(await ended, { sent: 1, lost: 1 });
  assert.match(said[0], /says 400.*1 span/);
});
