import assert from "node:assert/strict";
import { test } from "node:test";
import { sortAsTree, parseSpan } from "../../../js/lib/span.mjs";
import { toChromeTrace, showSpans, spanTime } from "../../../js/views/spans-view.mjs";
import { Output } from "../../../js/views/output.mjs";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const AT = 1_795_000_000_000_000;
/** @returns {import("../../../js/lib/span.mjs").Span} */
const span = (spanId, parentSpanId, startUs, durationUs, more = {}) => ({
  traceId: TRACE,
  spanId,
  parentSpanId,
  name: `span ${spanId}`,
  kind: "internal",
  status: "unset",
  startUs: AT + startUs,
  durationUs,
  session: "0d6f7c1e-6a3b",
  source: "",
  attributes: {},
  ...more,
});
const shape = (rows) => rows.map(({ span: { spanId }, depth }) => `${depth} ${spanId}`);

function shown(spans, columns = 80) {
  let text = "";
  const out = /** @type {any} */ ({ write: (part) => (text += part) });
  showSpans(new Output({}, { out, columns }), spans, new Map([["0d6f7c1e-6a3b", "shop (main)"]]));
  return text;
}

test("spans stand below their parents, in the order of their beginnings", () => {
  const spans = [
    span("d", "a", 9, 1),
    span("c", "b", 3, 1),
    span("b", "a", 2, 3),
    span("a", "", 0, 10),
  ];
  assert.deepEqual(shape(sortAsTree(spans)), ["0 a", "1 b", "2 c", "1 d"]);
});

test("a span whose parent is not there is a root; a circle loses nobody", () => {
  const spans = [
    span("a", "elsewhere", 0, 1),
    span("b", "c", 1, 1),
    span("c", "b", 2, 1),
    span("d", "d", 3, 1),
  ];
  const rows = sortAsTree(spans);
  assert.deepEqual(shape(rows).toSorted(), ["0 a", "0 b", "0 d", "1 c"]);
});

test("a very deep tree is walked without recursion", () => {
  const spans = Array.from({ length: 50_000 }, (_, at) =>
    span(`s${at}`, at ? `s${at - 1}` : "", at, 1),
  );
  assert.equal(sortAsTree(spans).at(-1)?.depth, 49_999);
});

test("a record without what a span needs is none", () => {
  for (const record of [
    undefined,
    null,
    {},
    { body: 7 },
    { body: { traceId: TRACE, spanId: 7 } },
  ]) {
    assert.equal(parseSpan(record), undefined);
  }
  const odd = parseSpan({
    body: { traceId: TRACE, spanId: "a", kind: "constructor", startUs: "x" },
  });
  assert.deepEqual({ kind: odd?.kind, startUs: odd?.startUs }, { kind: "internal", startUs: 0 });
});

test("the tree has the trace, its session, a bar and a time for each span", () => {
  const text = shown([
    span("a", "", 0, 320_000, { name: "execute_tool get_weather", source: "weather" }),
    span("b", "a", 160_000, 160_000, { name: "work", status: "error" }),
  ]);
  const [head, session, first, second] = text.split("\n");
  assert.match(head, new RegExp(`^trace ${TRACE}  .*  320 ms$`));
  assert.equal(session, "shop (main) 0d6f7c1e");
  assert.match(first, /^ {2}execute_tool get_weather \(weather\) {2}━+ {2} +320 ms$/);
  assert.match(second, /^ {4}work +━+ {2} +160 ms {2}failed$/);
  assert.ok(
    text.split("\n").every((line) => line.length <= 80 + "  failed".length),
    text,
  );
  assert.equal(second.indexOf("━") > first.indexOf("━"), true);
});

test("hostile names are made visible and cut", () => {
  const text = shown([span("a", "", 0, 1, { name: `\u001b[2J${"x".repeat(500)}` })]);
  assert.ok(!text.includes("\u001b"));
  assert.ok(text.split("\n")[2].length < 90);
});

test("times have the unit that people read", () => {
  assert.deepEqual([0, 999, 1500, 15_000, 9_999_499, 12_300_000].map(spanTime), [
    "0 µs",
    "999 µs",
    "1.50 ms",
    "15 ms",
    "9999 ms",
    "12.3 s",
  ]);
});

test("Chrome's events come in pairs, with names for sessions", () => {
  const spans = [span("a", "", 0, 5, { source: "weather" }), span("b", "a", 1, 2, { session: "" })];
  const { traceEvents } = toChromeTrace(spans, new Map([["0d6f7c1e-6a3b", "shop"]]));
  const names = traceEvents
    .filter(({ ph }) => ph === "M")
    .map(({ args }) => /** @type {any} */ (args).name);
  assert.deepEqual(names, ["shop 0d6f7c1e-6a3b", "tap"]);
  const pairs = traceEvents.filter(({ ph }) => ph !== "M");
  assert.deepEqual(
    pairs.map(({ ph, name, ts }) => `${ph} ${name} ${Number(ts) - AT}`),
    ["b span a 0", "e span a 5", "b span b 1", "e span b 3"],
  );
  for (const { pid, tid, cat } of pairs) assert.ok(pid && tid && cat);
});
