// A receiver of OTLP/HTTP JSON over real HTTP, which checks each request with OpenTelemetry's own types.

import http from "node:http";
import { createRequire } from "node:module";
import zlib from "node:zlib";

const require = createRequire(import.meta.url);
const generated = "@opentelemetry/otlp-transformer/build/src/generated/root.js";
const { opentelemetry } = /** @type {any} */ (require(generated));
const Request = opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;

/** In JSON, ids are hexadecimal; protobuf has bytes. */
function decoded(request) {
  const copy = structuredClone(request);
  const spans = copy.resourceSpans.flatMap(({ scopeSpans }) =>
    scopeSpans.flatMap((scope) => scope.spans),
  );
  for (const span of spans) {
    for (const name of ["traceId", "spanId", "parentSpanId"]) {
      if (span[name]) span[name] = Buffer.from(span[name], "hex").toString("base64");
    }
  }
  const message = Request.decode(Request.encode(Request.fromObject(copy)).finish());
  return Request.toObject(message, { longs: String, bytes: Buffer });
}

const valuesOf = (attributes) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

export class OtlpReceiver {
  /** Each request: its path, its headers, and its spans, as OpenTelemetry has read them. */
  requests = [];
  problems = [];
  /** Its answer: a status, or a function that answers. @type {(count: number) => number | ((response: http.ServerResponse) => void)} */
  answer = () => 200;
  #server = http.createServer((request, response) => {
    this.#receive(request, response).catch((error) => {
      this.problems.push(error);
      response.writeHead(400).end();
    });
  });

  /** @param {import("node:test").TestContext} t */
  static async start(t) {
    const receiver = new OtlpReceiver();
    await receiver.start();
    t.after(() => receiver.stop());
    return receiver;
  }

  start(port = 0) {
    return new Promise((resolve) =>
      this.#server.listen(port, "127.0.0.1", () => resolve(undefined)),
    );
  }

  stop() {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(resolve));
  }

  get url() {
    const { port } = /** @type {import("node:net").AddressInfo} */ (this.#server.address());
    return `http://127.0.0.1:${port}`;
  }

  /** Of the requests that were answered with 200. */
  get spans() {
    return this.requests.filter(({ status }) => status === 200).flatMap(({ spans }) => spans);
  }

  async #receive(request, response) {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    let body = Buffer.concat(pieces);
    if (request.headers["content-encoding"] === "gzip") body = zlib.gunzipSync(body);
    const answer = this.answer(this.requests.length);
    const resources = decoded(JSON.parse(body.toString())).resourceSpans ?? [];
    const spans = resources.flatMap(({ resource, scopeSpans }) =>
      scopeSpans.flatMap((scope) =>
        scope.spans.map((span) => ({
          name: span.name,
          traceId: span.traceId.toString("hex"),
          spanId: span.spanId.toString("hex"),
          parentSpanId: span.parentSpanId?.toString("hex") ?? "",
          scope: scope.scope?.name,
          resource: valuesOf(resource.attributes),
          attributes: valuesOf(span.attributes),
        })),
      ),
    );
    const { method, url, headers } = request;
    const status = typeof answer === "number" ? answer : 0;
    this.requests.push({ method, url, headers, spans, status });
    if (typeof answer === "number") {
      response.writeHead(answer, { "content-type": "application/json" }).end("{}");
    } else {
      answer(response);
    }
  }
}
