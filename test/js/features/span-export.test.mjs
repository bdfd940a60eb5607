// Spans on their way to a receiver over real HTTP: one that takes them, and every kind that does not.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { post } from "../../../js/feature-host/network.mjs";
import {
  exportSpans,
  MAX_PENDING_SPANS,
  parseRetryAfter,
  countRejectedSpans,
} from "../../../js/features/records/span-export.mjs";
import { OtlpReceiver } from "../../support/otlp-receiver.mjs";
import { waitFor } from "../../support/wait.mjs";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SECRET = "s3cr3t-of-the-receiver";

/** A store that grows, as `records.query` shows it. */
class Store {
  records = [];
  queries = 0;
  broken = "";
  /** After a page that is not the last one. */
  paged = () => {};
  #last = 0;

  /** @param {number} count @param {object} [body] */
  add(count, body = {}, at = Date.now()) {
    for (let n = 0; n < count; n += 1) {
      const id = (this.#last += 1);
      const spanId = id.toString(16).padStart(16, "0");
      const span = { traceId: TRACE, spanId, name: `n${id}`, startUs: id, durationUs: 1, ...body };
      this.records.push({ id, at, collection: "span", session: "s-1", source: "", body: span });
    }
  }

  /** As after a file that was damaged. */
  replace() {
    this.records = [];
    this.#last = 0;
  }

  query = async ({ collection, since, where, limit, cursor }) => {
    this.queries += 1;
    if (this.broken) throw new Error(this.broken);
    assert.equal(collection, "span");
    const fits = (id) => (typeof where.id === "number" ? id === where.id : id > where.id.gt);
    const [before, last] = (cursor ?? "").split(".").map(Number);
    const isLater = ({ id, at }) => !cursor || at < before || (at === before && id < last);
    const found = this.records
      .filter((one) => fits(one.id) && one.at >= (since ?? 0) && isLater(one))
      .toSorted((one, other) => other.at - one.at || other.id - one.id);
    const records = found.slice(0, limit);
    const more = found.length > limit && `${records.at(-1).at}.${records.at(-1).id}`;
    const page = structuredClone({ records, ...(more && { cursor: more }) });
    if (more) this.paged();
    return page;
  };
}

/** @param {import("node:test").TestContext} t @param {Record<string, string>} variables @param {Store} [store] */
function started(t, variables, store = new Store(), now = Date.now, times = {}) {
  const ending = new AbortController();
  const said = [];
  const services = {
    records: { query: store.query },
    network: { post },
    telemetry: { settings: async () => ({ variables, since: now() - 1000 }) },
  };
  const means = {
    services: /** @type {any} */ (services),
    diagnose: (text) => said.push(text),
    version: "1.2.3",
    now,
    everyMs: 10,
    retryMs: 20,
    ...times,
  };
  const ended = exportSpans(means, ending.signal);
  const end = () => {
    ending.abort();
    return ended;
  };
  t.after(end);
  return { store, said, ended, end };
}

/** @param {import("node:test").TestContext} t @param {Record<string, string>} [variables] */
async function setUp(t, variables = {}, means = {}) {
  const receiver = await OtlpReceiver.start(t);
  const all = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, ...variables };
  const names = () => receiver.spans.map(({ name }) => name);
  const got = (count) =>
    waitFor(() => names().length >= count, { what: () => `${count} spans, not ${names().length}` });
  t.after(() => assert.deepEqual(receiver.problems, []));
  return { receiver, names, got, ...started(t, all, undefined, undefined, means) };
}

describe("a receiver that takes spans", () => {
  test("gets each span that is recorded from the start on, once, and in its order", async (t) => {
    const { receiver, store, names, got, said } = await setUp(t, {
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${SECRET}`,
      OTEL_SERVICE_NAME: "shop",
    });
    store.add(3, {}, Date.now() - 3_600_000);
    store.add(1100, { tool: "weather", toolCallId: "c-7", arguments: { city: "Oslo" } });
    await got(1100);
    store.add(1);
    await got(1101);
    assert.deepEqual(
      names(),
      store.records.slice(3).map(({ body }) => body.name),
    );
    const [{ method, url, headers, spans }] = receiver.requests;
    assert.deepEqual([method, url, spans.length], ["POST", "/v1/traces", 512]);
    assert.equal(headers["content-type"], "application/json");
    assert.equal(headers.authorization, `Bearer ${SECRET}`);
    const [{ traceId, spanId, scope, resource, attributes }] = spans;
    assert.deepEqual(
      [traceId, spanId, scope, resource],
      [TRACE, "0000000000000004", "copilot-tap", { "service.name": "shop" }],
    );
    assert.equal(attributes["gen_ai.tool.call.id"], "c-7");
    assert.equal(JSON.stringify(attributes).includes("Oslo"), false);
    assert.deepEqual(said, []);
  });

  test("gets what is recorded while the store is read, some of it late", async (t) => {
    const { store, names, got } = await setUp(t);
    const at = Date.now();
    store.paged = () => {
      store.paged = () => {};
      store.add(1, {}, at + 5); // belongs before the page that was read
      store.add(1, {}, at - 5); // and after it
    };
    store.add(1100, {}, at);
    await got(1102);
    assert.deepEqual([names().length, new Set(names()).size], [1102, 1102]);
  });

  test("gets each span once where the gateway ends while the store is read", async (t) => {
    const { store, names, end } = await setUp(t);
    const ended = new Promise((resolve) => {
      store.paged = () => {
        store.paged = () => {};
        resolve(end());
      };
    });
    store.add(1100);
    await ended;
    assert.deepEqual([names().length, new Set(names()).size], [1100, 1100]);
  });

  test("gets them compressed where it wants that", async (t) => {
    const { receiver, store, got } = await setUp(t, { OTEL_EXPORTER_OTLP_COMPRESSION: "gzip" });
    store.add(2);
    await got(2);
    assert.equal(receiver.requests[0].headers["content-encoding"], "gzip");
  });

  test("gets the spans of a store that has begun a new file", async (t) => {
    const { store, names, got } = await setUp(t);
    store.add(5);
    await got(5);
    store.replace();
    store.add(2);
    await got(7);
    assert.deepEqual(names(), ["n1", "n2", "n3", "n4", "n5", "n1", "n2"]);
  });

  test("gets none whose ids are not those of a span, which are counted", async (t) => {
    const { store, names, got, said } = await setUp(t);
    store.add(1, { traceId: "0".repeat(32) });
    store.add(1, { spanId: "x" });
    store.add(1, { startUs: -1 });
    store.add(1, { parentSpanId: "<script>" });
    await got(1);
    assert.deepEqual(names(), ["n4"]);
    assert.deepEqual(said, [
      "The store has spans without the ids or times of a span; 3 spans not exported so far.",
    ]);
  });

  test("may refuse some, which are counted and not sent again", async (t) => {
    const { receiver, store, said } = await setUp(t);
    receiver.answer = () => (response) => {
      const partialSuccess = { rejectedSpans: "2", errorMessage: `no ${SECRET}` };
      response.writeHead(200).end(JSON.stringify({ partialSuccess }));
    };
    store.add(3);
    await waitFor(() => said.length > 0, { what: "the count" });
    assert.match(said[0], /^The receiver at http:\/\/127.0.0.1:\d+ refuses spans; 2 spans not/);
    assert.equal(receiver.requests.length, 1);
  });
});

describe("a receiver in trouble", () => {
  for (const status of [429, 502, 503, 504]) {
    test(`that answers ${status} gets the same spans again, and it is said once`, async (t) => {
      const { receiver, store, names, got, said } = await setUp(t);
      receiver.answer = (count) => (count < 3 ? status : 200);
      store.add(2);
      await got(2);
      assert.deepEqual(names(), ["n1", "n2"]);
      assert.equal(receiver.requests.length, 4);
      assert.equal(said.length, 1, said.join("\n"));
      assert.match(said[0], new RegExp(`answers ${status}; tap tries again`));
    });
  }

  test("that asks for a pause gets it", async (t) => {
    const { receiver, store, got } = await setUp(t);
    let first = 0;
    receiver.answer = (count) =>
      count > 0
        ? 200
        : (response) => {
            first = performance.now();
            response.writeHead(503, { "retry-after": "1" }).end();
          };
    store.add(1);
    await got(1);
    assert.ok(performance.now() - first >= 950);
    assert.equal(receiver.requests.length, 2);
  });

  for (const status of [400, 401, 404, 500]) {
    test(`that answers ${status} loses them, which is said, and gets the next ones`, async (t) => {
      const { receiver, store, names, got, said } = await setUp(t);
      receiver.answer = (count) => (count === 0 ? status : 200);
      store.add(1);
      await waitFor(() => said.length === 1, { what: "the problem" });
      store.add(1);
      await got(1);
      assert.deepEqual(names(), ["n2"]);
      const why = `answers ${status}; check OTEL_EXPORTER_OTLP_ENDPOINT and the headers; 1 span not`;
      assert.ok(said[0].includes(why), said[0]);
    });
  }

  test("that refuses all gets a diagnostic whenever the lost ones have doubled, no more", async (t) => {
    const { receiver, store, said } = await setUp(t);
    receiver.answer = () => 400;
    for (let n = 1; n <= 20; n += 1) {
      store.add(1);
      await waitFor(() => receiver.requests.length === n, { what: `request ${n}` });
    }
    await waitFor(() => said.length === 5, { what: () => said.join("\n") });
    assert.match(said[4], /16 spans/);
  });

  test("that redirects is not followed: headers go nowhere else", async (t) => {
    const other = await OtlpReceiver.start(t);
    const { receiver, store, said } = await setUp(t, {
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=${SECRET}`,
    });
    receiver.answer = () => (response) =>
      response.writeHead(307, { location: `${other.url}/v1/traces` }).end();
    store.add(1);
    await waitFor(() => said.length === 1, { what: "the problem" });
    assert.match(said[0], /answers 307/);
    assert.deepEqual(other.requests, []);
  });

  test("that answers 1 MB has 64 KB of it read", async (t) => {
    const { receiver, store, got, said } = await setUp(t);
    let closed = false;
    receiver.answer = (count) =>
      count > 0
        ? 200
        : (response) => {
            response.on("close", () => (closed = true));
            response.writeHead(200);
            const more = () => closed || (response.write("x".repeat(65_536)), setTimeout(more, 1));
            more();
          };
    store.add(1);
    await waitFor(() => closed, { what: "a connection that tap ends" });
    store.add(1);
    await got(1);
    assert.deepEqual(said, []);
  });

  test("that never answers is given up after the timeout, and tried again", async (t) => {
    const { receiver, store, got, said } = await setUp(t, { OTEL_EXPORTER_OTLP_TIMEOUT: "100" });
    receiver.answer = (count) => (count === 0 ? () => {} : 200);
    store.add(1);
    await got(1);
    assert.match(said[0], /does not answer \(no answer within 100 ms\); tap tries again/);
  });

  test("that is not there is tried again, and gets what has waited", async (t) => {
    const { receiver, store, names, end } = await setUp(t);
    await end();
    const { url } = receiver;
    await receiver.stop();
    const next = started(t, { OTEL_EXPORTER_OTLP_ENDPOINT: url }, store);
    store.add(600);
    await waitFor(() => next.said.length > 0, { what: "the problem" });
    assert.match(next.said[0], /^The receiver at .* does not answer \(ECONNREFUSED\); tap tries/);
    store.add(1);
    await receiver.start(Number(new URL(url).port));
    await waitFor(() => names().length === 601, { what: "the spans" });
    assert.deepEqual(names().slice(0, 2), ["n1", "n2"]);
    assert.equal(next.said.length, 1);
  });

  test("that takes nothing loses the oldest beyond a bound", async (t) => {
    const { receiver, store, names, got, said } = await setUp(t);
    receiver.answer = () => 503;
    store.add(10);
    await waitFor(() => receiver.requests.length > 0, { what: "a request" });
    store.add(MAX_PENDING_SPANS + 90);
    await waitFor(() => said.some((text) => /100 spans not exported/.test(text)), {
      what: () => said.join("\n"),
    });
    receiver.answer = () => 200;
    await got(MAX_PENDING_SPANS);
    assert.equal(names()[0], "n101");
    assert.equal(names().length, MAX_PENDING_SPANS);
  });

  test("gets what was recorded last before the end, once", async (t) => {
    const { store, names, got, end, said } = await setUp(t, {}, { everyMs: 60_000 });
    await waitFor(() => store.queries === 1, { what: "the first look" });
    store.add(700);
    await end();
    assert.equal(names().length, 700);
    await got(700);
    assert.deepEqual(said, []);
  });

  test("that asks for a pause is not asked again at the end", async (t) => {
    const { receiver, store, end } = await setUp(t);
    receiver.answer = () => (response) => response.writeHead(503, { "retry-after": "60" }).end();
    store.add(1);
    await waitFor(() => receiver.requests.length === 1, { what: "a request" });
    store.add(1);
    await end();
    assert.equal(receiver.requests.length, 1);
  });

  test("that does not answer in the end is waited for within bounds", async (t) => {
    const { receiver, store, end } = await setUp(t, {}, { everyMs: 60_000, finishMs: 100 });
    await waitFor(() => store.queries === 1, { what: "the first look" });
    receiver.answer = () => () => {};
    store.add(1);
    await end();
    assert.equal(receiver.requests.length, 1);
  });

  test("does not delay the end", async (t) => {
    // The test would last as long as a last export has, were there one.
    const { receiver, store, end, said } = await setUp(t, {}, { finishMs: 3_600_000 });
    receiver.answer = () => () => {};
    store.add(1);
    await waitFor(() => receiver.requests.length === 1, { what: "a request" });
    await end();
    assert.deepEqual(said, []);
  });
});

describe("an export", () => {
  test("goes on where the wall clock is set forward and back", async (t) => {
    const receiver = await OtlpReceiver.start(t);
    let clock = Date.parse("2026-11-22T12:00:00Z");
    const store = new Store();
    const variables = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url };
    started(t, variables, store, () => clock);
    for (const hours of [0, 24, -48, 1]) {
      clock += hours * 3_600_000;
      const { queries } = store;
      await waitFor(() => store.queries > queries + 2, { what: "a look" });
      store.add(1, {}, clock);
      await waitFor(() => receiver.spans.length === store.records.length, {
        what: () => `a span after ${hours} hours`,
      });
    }
    assert.deepEqual(
      receiver.spans.map(({ name }) => name),
      ["n1", "n2", "n3", "n4"],
    );
  });

  test("says each trouble once, though the store and the receiver fail in turn", async (t) => {
    const { receiver, store, said } = await setUp(t);
    receiver.answer = (count) => (count % 2 === 0 ? 503 : 502);
    store.add(1);
    await waitFor(() => receiver.requests.length > 0, { what: "a request" });
    store.broken = "unavailable: the file is not open";
    await waitFor(() => receiver.requests.length > 4 && said.length > 1, { what: "more of them" });
    assert.equal(said.length, 2, said.join("\n"));
  });

  test("reads a store that was closed from the same place again", async (t) => {
    const { store, names, got, said } = await setUp(t);
    store.add(1);
    await got(1);
    store.broken = "unavailable: the file is not open";
    store.add(1);
    await waitFor(() => said.length > 0, { what: "the problem" });
    store.broken = "";
    await got(2);
    assert.deepEqual(names(), ["n1", "n2"]);
    assert.deepEqual(said, ["Spans cannot be read: unavailable: the file is not open"]);
  });

  test("ends at once where the variables name no receiver that tap can post to", async (t) => {
    const { ended, said, store } = started(t, {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://me:${SECRET}@h`,
      OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
    });
    await ended;
    assert.equal(store.queries, 0);
    assert.match(said.join("\n"), /password.*\n.*http\/json/);
    assert.equal(said.join().includes(SECRET), false);
  });

  test("reads a wish for a pause in seconds or as a date, and bounds it", () => {
    const now = Date.parse("2026-11-22T12:00:00Z");
    const asked = {
      7: 7000,
      99999: 300_000,
      "Sun, 22 Nov 2026 12:00:03 GMT": 3000,
      "Sun, 22 Nov 2026 11:00:00 GMT": 0,
      "-1": 0,
      soon: 0,
      ["9".repeat(400)]: 0,
    };
    for (const [header, ms] of Object.entries(asked))
      assert.equal(parseRetryAfter(header, now), ms);
    assert.equal(parseRetryAfter(undefined, now), 0);
  });

  test("reads a partial success as anybody may have written it", () => {
    const answer = (text, cut = false) => ({ status: 200, headers: {}, text, cut });
    const texts = { "": 0, "{}": 0, null: 0, "[1]": 0, '{"partialSuccess":7}': 0, "{": 0 };
    for (const [text, count] of Object.entries(texts))
      assert.equal(countRejectedSpans(answer(text)), count);
    const of = (rejectedSpans) => answer(JSON.stringify({ partialSuccess: { rejectedSpans } }));
    const counts = [
      ["3", 3],
      [4, 4],
      [-1, 0],
      ["1e400", 0],
      [{}, 0],
      [1.5, 0],
    ];
    for (const [given, count] of counts) assert.equal(countRejectedSpans(of(given)), count);
  });
});
