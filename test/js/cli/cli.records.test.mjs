// copilot-tap records and spans: what a real gateway has recorded.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import stringWidth from "fast-string-width";
import { addon } from "../../../js/lib/addon.mjs";
import { readDescriptor } from "../../../js/lib/host-files.mjs";
import { probePort } from "../../../js/lib/port-probe.mjs";
import { gatewayFiles } from "../../../js/lib/paths.mjs";
import { Output } from "../../../js/views/output.mjs";
import { showRecord } from "../../../js/views/records-view.mjs";
import {
  place,
  placeOf,
  Running,
  served,
  tap,
  tapJson,
  tapProcess,
} from "../../support/cli-process.mjs";
import { Host } from "../../support/test-host.mjs";
import { TestSession } from "../../support/harness.mjs";
import { waitFor } from "../../support/wait.mjs";

/** Before a gateway without a session leaves: one has to come within it, also on a busy machine. */
const GRACE_MS = "1500";

/** A gateway with a session and a provider, and two calls: one that works, one that does not. */
async function called(t) {
  const { at, kit } = await served(t);
  await kit.call("forecast", { city: "Bern", password: "hunter2" });
  await kit.call("forecast", {}).catch(() => {});
  return { at, kit };
}

/** Spans of the traces that are named, from now on. */
async function writeSpans(at, spans) {
  const file = path.join(String(at.env.COPILOT_HOME), "tap", "records.sqlite");
  const records = new addon.Records({ file });
  for (const { trace, span } of spans) {
    const traceId = String(trace).padStart(32, "a");
    const ids = { traceId, spanId: String(span).padStart(16, "b") };
    const body = { ...ids, name: "x", startUs: Date.now() * 1000 + span, durationUs: 5 };
    records.append("span", { body: JSON.stringify(body), trace: traceId });
  }
  records.flush(5000);
  await records.close();
}

describe("copilot-tap records", () => {
  test("shows a record in a line of the terminal's width, with hidden characters", () => {
    let out = "";
    const sink = /** @type {any} */ ({ write: (/** @type {string} */ text) => (out += text) });
    const body = { collection: "tool_call", arguments: "\u200b".repeat(200), message: "x" };
    showRecord(new Output({}, { out: sink, columns: 80 }), { at: 0, source: "tap", body });
    assert.deepEqual(out.trimEnd().split("\n").map(stringWidth), [80]);
  });

  test("lists the collections that have records", async (t) => {
    const { at } = await called(t);
    const { code, out } = await tap(["records"], at);
    assert.equal(code, 0, out);
    assert.match(out, /^collection +records +oldest +newest +dropped$/m);
    assert.match(out, /^tool_call +2 /m);
    assert.match(out, /^session +\d/m);
    assert.match(out, /^provider +\d/m);
    assert.match(out, /records.*in .*records\.sqlite$/m);
  });

  test("and spans are there while no gateway runs: one starts, and ends by itself", async (t) => {
    const host = await Host.elected(t, { TAP_GRACE_MS: GRACE_MS });
    const at = placeOf(host);
    const session = await host.session(t, { cwd: at.workspace });
    await session.call("tap_status");
    await waitFor(async () => (await tapJson(["spans"], at)).value.length > 0);
    session.send({ type: "end", reason: "the user has left" });
    await host.exit();
    const { value } = await tapJson(["records", "tool_call"], at);
    assert.equal(value[0].body.tool, "tap_status");
    assert.match((await tapProcess(["spans"], at)).out, /tap_status/);
    const { port, homeHash } = host.files;
    await waitFor(async () => (await probePort(port, homeHash)) === "nobody");
  });

  test("and go on with another gateway when theirs ends while they are asked", async (t) => {
    const host = await Host.elected(t, { TAP_GRACE_MS: GRACE_MS });
    const at = placeOf(host);
    /** A session that comes to whichever gateway there is, and goes. */
    const visit = async () => {
      const { link, secret } = readDescriptor(host.files.descriptor);
      const session = new TestSession();
      t.after(() => session.close());
      await session.connect(link);
      session.register({ secret, cwd: at.workspace });
      await session.call("tap_status");
      session.send({ type: "end", reason: "the user has left" });
    };
    await visit();
    await host.exit();
    const extra = { TAP_GRACE_MS: "60000" };
    const running = new Running(["records", "tool_call", "-f"], at, { extra });
    t.after(() => tap(["stop"], at));
    await running.says(/callId=1 /);
    const { pid } = readDescriptor(host.files.descriptor);
    process.kill(pid, "SIGKILL");
    await waitFor(() => (readDescriptor(host.files.descriptor)?.pid ?? pid) !== pid);
    await visit();
    await running.says(/callId=1 [^]*callId=1 /);
    running.process.kill("SIGINT");
    const { code, out } = await running.end();
    assert.equal(code, 0, out);
    assert.equal(out.match(/tool=tap_status/g)?.length, 2, out);
  });

  test("of a home without any start nothing", async (t) => {
    const { code, err } = await tap(["records"], place(t));
    assert.equal(code, 3);
    assert.match(err, /no gateway runs/);
  });

  test("shows the calls that fit, without secrets", async (t) => {
    const { at } = await called(t);
    const { value } = await tapJson(["records", "tool_call"], at);
    assert.deepEqual(
      value.map(({ body }) => body.outcome),
      ["ok", "failed"],
    );
    assert.equal(value[0].source, "weather");
    assert.equal(value[0].body.arguments.city, "Bern");
    assert.doesNotMatch(JSON.stringify(value), /hunter2/);
    const failed = await tapJson(["records", "tool_call", "outcome=failed"], at);
    assert.equal(failed.value.length, 1);
    const nested = await tapJson(["records", "tool_call", "arguments.city=Bern"], at);
    assert.equal(nested.value.length, 1);
    const { out } = await tap(["records", "tool_call", "--jsonl", "-n", "1"], at);
    assert.equal(JSON.parse(out).body.outcome, "failed");
  });

  test("shows no control character of a record, as JSON neither", async (t) => {
    const { at, kit } = await called(t);
    const hostile = "\u001b[2J\u009b31m\u202e\u200b\u007f";
    await kit.call("forecast", { city: hostile });
    const query = ["records", "tool_call", "-n", "1"];
    for (const how of [[], ["--json"], ["--jsonl"]]) {
      const { out } = await tap([...query, ...how], at);
      // eslint-disable-next-line no-control-regex
      assert.doesNotMatch(out, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b\u202e]/, how.join());
      assert.match(out, /202e/);
    }
    const { out } = await tap([...query, "--jsonl"], at);
    assert.equal(JSON.parse(out).body.arguments.city, hostile);
  });

  test("refuses what there is not, and names what there is", async (t) => {
    const { at } = await called(t);
    const collection = await tap(["records", "calls"], at);
    assert.equal(collection.code, 1);
    assert.match(collection.err, /tool_call/);
    const field = await tap(["records", "tool_call", "nonsense=1"], at);
    assert.equal(field.code, 1);
    assert.match(field.err, /no field "nonsense".*outcome/s);
    const time = await tap(["records", "tool_call", "--since", "yesterday"], at);
    assert.equal(time.code, 2);
  });

  test("answers SQL that reads, and no other", async (t) => {
    const { at } = await called(t);
    const sql = "SELECT collection, count(*) AS n FROM records WHERE collection='tool_call'";
    const { value } = await tapJson(["records", "--sql", sql], at);
    assert.deepEqual(value, { columns: ["collection", "n"], rows: [["tool_call", 2]] });
    const { code, err } = await tap(["records", "--sql", "DELETE FROM rows"], at);
    assert.equal(code, 1);
    assert.ok(err.length > 20, err);
    assert.equal((await tapJson(["records", "tool_call"], at)).value.length, 2);
  });

  test("as JSON lines has an object for each row of SQL", async (t) => {
    const { at } = await called(t);
    const sql = "SELECT collection AS c, id FROM records WHERE collection='tool_call' ORDER BY id";
    const { out } = await tap(["records", "--jsonl", "--sql", sql], at);
    const rows = out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.deepEqual([rows.length, rows[0].c, Object.keys(rows[1])], [2, "tool_call", ["c", "id"]]);
    const twice = await tap(["records", "--jsonl", "--sql", "SELECT 1 AS a, 2 AS a"], at);
    assert.match(twice.err, /two columns have the name "a"/);
    for (const other of [["-f"], ["--since", "1h"], ["-n", "3"], ["--session", "s"]]) {
      const { code, err } = await tap(["records", "--sql", sql, ...other], at);
      assert.deepEqual([code, /--sql does not go with --/.test(err)], [2, true], err);
    }
  });

  test("without a collection shows the records of all that fit, and follows them", async (t) => {
    const { at, kit } = await called(t);
    const lines = (out) =>
      out
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
    const { out } = await tap(["records", "--jsonl", "-n", "1000"], at);
    const names = new Set(lines(out).map(({ collection }) => collection));
    assert.ok(
      ["session", "provider", "tool_call"].every((name) => names.has(name)),
      out,
    );
    const failed = await tap(["records", "outcome=failed"], at);
    assert.match(failed.out, /^\S+ .* collection=tool_call tool=forecast /);
    assert.match(failed.out, / collection=span name="execute_tool forecast" /);
    assert.equal(failed.out.trimEnd().split("\n").length, 2, failed.out);
    assert.equal((await tapJson(["records", "outcome=failed", "ms>9999"], at)).value.length, 0);
    const since = await tapJson(["records", "--since", "1h", "-n", "3"], at);
    assert.equal(since.value.length, 3);
    const running = new Running(["records", "-f", "--jsonl"], at);
    t.after(() => running.process.kill("SIGKILL"));
    await waitFor(() => running.out.includes('"tool_call"'), "what is there");
    await kit.call("forecast", { city: "Oslo" });
    await waitFor(() => running.out.includes("Oslo"), "the next one");
    running.process.kill("SIGINT");
    assert.equal((await running.end()).code, 0);
  });

  test("-f goes on with what comes", async (t) => {
    const { at, kit } = await called(t);
    const running = new Running(["records", "tool_call", "-f", "--jsonl"], at);
    t.after(() => running.process.kill("SIGKILL"));
    await waitFor(() => running.out.split("\n").length === 3, "the first two");
    await kit.call("forecast", { city: "Oslo" });
    await waitFor(() => running.out.includes("Oslo"), "the next one");
    running.process.kill("SIGINT");
    assert.equal((await running.end()).code, 0);
    assert.equal(running.out.trimEnd().split("\n").length, 3);
  });

  test("-f shows what comes after the clock has gone back, however many rows are later", async (t) => {
    const { at, kit } = await called(t);
    const file = path.join(String(at.env.COPILOT_HOME), "tap", "records.sqlite");
    const records = new addon.Records({ file });
    const later = { at: Date.now() + 3_600_000, body: JSON.stringify({ tool: "later" }) };
    for (let count = 0; count < 1500; count += 1) records.append("tool_call", later);
    records.flush(5000);
    await records.close();
    const running = new Running(["records", "tool_call", "-f", "--jsonl", "-n", "1"], at);
    t.after(() => running.process.kill("SIGKILL"));
    await waitFor(() => running.out.includes("later"), { what: "the last one" });
    await kit.call("forecast", { city: "Oslo" });
    await waitFor(() => running.out.includes("Oslo"), "the next one");
    assert.equal(running.out.trimEnd().split("\n").length, 2, running.out);
  });

  test("-f goes on in the file that is begun where theirs was damaged", async (t) => {
    const { at, kit } = await called(t);
    const file = path.join(String(at.env.COPILOT_HOME), "tap", "records.sqlite");
    for (let count = 0; count < 200; count += 1) await kit.call("forecast", { city: "Bern" });
    const running = new Running(["records", "tool_call", "-f", "--jsonl"], at);
    t.after(() => running.process.kill("SIGKILL"));
    await waitFor(() => running.out.includes("Bern"), { what: "those that are there" });
    fs.writeFileSync(file, "garbage".repeat(3000));
    await waitFor(
      async () => {
        await kit.call("forecast", { city: "Oslo" });
        return running.out.includes("Oslo");
      },
      { what: () => running.err, intervalMs: 300 },
    );
    running.process.kill("SIGINT");
    assert.equal((await running.end()).code, 0);
  });
});

describe("copilot-tap spans", () => {
  test("shows more traces than the store answers questions at a time", async (t) => {
    const { at } = await called(t);
    const some = Array.from({ length: 150 }, (_, count) => ({ trace: count, span: count }));
    await writeSpans(at, some);
    const { code, out, err } = await tap(["spans", "-n", "150"], at);
    assert.equal(code, 0, err);
    assert.equal(out.match(/^trace /gm)?.length, 150);
  });

  test("shows the last five traces, also if the last one has many spans", async (t) => {
    const { at } = await called(t);
    const ofOne = (trace) => ({ trace, span: trace });
    const many = Array.from({ length: 700 }, (_, count) => ({ trace: 9, span: 10 + count }));
    await writeSpans(at, [...[1, 2, 3, 4, 5].map(ofOne), ...many]);
    const { value } = await tapJson(["spans"], at);
    const traces = new Set(value.map(({ traceId }) => Number(traceId.replaceAll("a", ""))));
    assert.deepEqual([...traces].toSorted(), [2, 3, 4, 5, 9]);
    assert.equal(value.length, 704);
    assert.equal((await tapJson(["spans", "-n", "0"], at)).value.length, 0);
  });

  test("shows a call with its provider's work below it", async (t) => {
    const { at } = await called(t);
    const { code, out } = await tap(["spans"], at);
    assert.equal(code, 0, out);
    assert.match(out, /^trace [0-9a-f]{32} /m);
    assert.match(out, /^ {2,}execute_tool forecast \(weather\) +━/m);
    assert.match(out, /━ .*failed$/m);
    const { value } = await tapJson(["spans"], at);
    const [call] = value.filter(({ name }) => name === "execute_tool forecast");
    const work = value.find(({ parentSpanId }) => parentSpanId === call.spanId);
    assert.equal(work.kind, "client");
    assert.equal(work.traceId, call.traceId);
    assert.equal(call.attributes.tool, "forecast");
  });

  test("of a session and of a trace are the same; of a call, those above and below it", async (t) => {
    const { at, kit } = await called(t);
    const calls = (await tapJson(["records", "tool_call"], at)).value;
    const [{ session, trace, body }] = calls;
    const spansOf = async (of) => (await tapJson(["spans", of], at)).value;
    const ids = (spans) => spans.map(({ spanId }) => spanId).toSorted();
    const byTrace = await spansOf(trace);
    assert.ok(byTrace.length >= 4, String(byTrace.length));
    assert.deepEqual(ids(await spansOf(session)), ids(byTrace));
    const ofCall = await spansOf(body.callId);
    assert.deepEqual(
      ofCall.map(({ name }) => name),
      ["execute_tool forecast", "provider weather"],
    );
    assert.ok(ofCall.every(({ attributes }) => attributes.callId === body.callId));
    kit.session.send({
      ...{ type: "call", callId: "later", toolCallId: "call_abc", tool: "forecast" },
      args: { city: "Rome" },
    });
    const later = await waitFor(async () => {
      const { code, value } = await tapJson(["spans", "call_abc"], at).catch(() => ({ code: 1 }));
      return code === 0 && value.length === 2 && value;
    });
    assert.ok(later.every(({ attributes }) => attributes.callId === "later"));
  });

  test("of an id that calls of two sessions have are the last one's, and the other is named", async (t) => {
    const { at } = await called(t);
    const { value: calls } = await tapJson(["records", "tool_call"], at);
    const { session: first, trace, body } = calls[0];
    const second = new TestSession();
    t.after(() => second.close());
    const { link, secret } = readDescriptor(gatewayFiles(at.env).descriptor);
    await second.connect(link);
    second.register({ secret, cwd: at.workspace, sessionId: "another-session" });
    second.send({
      ...{ type: "call", callId: body.callId, toolCallId: "call_two", tool: "tap_status" },
      args: {},
    });
    const sessionsOf = async (...more) =>
      (await tapJson(["spans", body.callId, ...more], at)).value.map(({ session }) => session);
    await waitFor(async () => (await sessionsOf()).includes("another-session"));
    const { out } = await tap(["spans", body.callId], at);
    assert.match(out, /This is the last call \S+\. Others have the same id:/);
    assert.match(out, new RegExp(`${first} {2}trace ${trace}`));
    assert.deepEqual([...new Set(await sessionsOf("--session", first))], [first]);
    assert.ok((await tapJson(["spans", "--session", first], at)).value.length >= 4);
  });

  test("are written to files that Perfetto and OpenTelemetry read", async (t) => {
    const { at } = await called(t);
    const chrome = path.join(at.workspace, "trace.json");
    const { out } = await tap(["spans", "--export", "chrome", chrome], at);
    assert.match(out, /^\d+ spans in /);
    const { traceEvents } = JSON.parse(fs.readFileSync(chrome, "utf8"));
    assert.ok(traceEvents.some(({ ph, name }) => ph === "b" && name === "execute_tool forecast"));
    const otlp = path.join(at.workspace, "otlp.json");
    await tap(["spans", "--export", "otlp", otlp], at);
    const [{ scopeSpans }] = JSON.parse(fs.readFileSync(otlp, "utf8")).resourceSpans;
    assert.ok(scopeSpans[0].spans.length >= 4);
    assert.equal((await tap(["spans", "--export", "svg", otlp], at)).code, 2);
  });
});
