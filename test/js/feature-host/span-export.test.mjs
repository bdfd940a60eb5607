// The export of spans through the whole of it: a gateway host, its feature host, and a receiver.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { openControl } from "../../../js/link/control.mjs";
import { userConfigFile } from "../../../js/config/file.mjs";
import { OtlpReceiver } from "../../support/otlp-receiver.mjs";
import { TestProvider } from "../../support/provider.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { Host } from "../../support/test-host.mjs";
import { waitFor } from "../../support/wait.mjs";

const SECRET = "s3cr3t-of-the-receiver";
const TRACEPARENT = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01";

/** A gateway host with that environment, a session and a provider. @param {object} [config] the user's */
async function setUp(t, env, config) {
  const home = temporaryFolder(t);
  if (config) {
    const file = userConfigFile({ home });
    fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    fs.writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  }
  const host = await Host.elected(t, { COPILOT_HOME: home, ...env });
  const session = await host.withToken(t);
  const provider = await TestProvider.serve({
    port: host.files.port,
    tokenFile: host.files.token,
    name: "weather",
    tools: { forecast: { handler: () => "sunny" } },
  });
  t.after(() => provider.terminate());
  const control = await openControl(host.files);
  t.after(() => control.close());
  const state = () => control.request("features.report", {});
  const report = async () => (await state()).features.find(({ id }) => id === "builtin:records");
  return { host, session, control, state, report };
}

/** What anybody could read of the secret. */
async function said({ host, control, state }) {
  const texts = [host.log, JSON.stringify(await state()), JSON.stringify(await control.inspect())];
  const log = path.join(host.files.logs, "feature-host.log");
  if (fs.existsSync(log)) texts.push(fs.readFileSync(log, "utf8"));
  const { rows } = await control.request("records.sql", { sql: "SELECT body FROM records" });
  return [...texts, JSON.stringify(rows)].join("\n");
}

const texts = ({ diagnostics }) => diagnostics.map(({ text }) => text).join("\n");

describe("with a receiver in the environment of the gateway host", () => {
  test("a call's spans are posted in their trace, and its headers are shown nowhere", async (t) => {
    const receiver = await OtlpReceiver.start(t);
    const place = await setUp(t, {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${SECRET}`,
      OTEL_RESOURCE_ATTRIBUTES: "team=blue",
    });
    const { session, report, state } = place;
    const outcome = await new Promise((settle) =>
      session.link.call("forecast", {}, undefined, settle, { traceparent: TRACEPARENT }),
    );
    assert.ok(JSON.stringify(outcome).includes("sunny"), JSON.stringify(outcome));
    const spanOf = (name) => receiver.spans.find((span) => span.name === name);
    await waitFor(() => spanOf("provider weather"), {
      what: () => `the spans of the call in ${receiver.spans.map(({ name }) => name)}`,
    });
    await waitFor(() => spanOf("sync tools"), { what: "the first span" });
    const call = spanOf("execute_tool forecast");
    assert.equal(call.traceId, "0123456789abcdef0123456789abcdef");
    assert.equal(call.parentSpanId, "0123456789abcdef");
    assert.equal(call.attributes["gen_ai.tool.name"], "forecast");
    assert.deepEqual(call.resource, { "service.name": "copilot-tap", team: "blue" });
    assert.equal(spanOf("provider weather").parentSpanId, call.spanId);
    assert.equal(receiver.requests[0].headers.authorization, `Bearer ${SECRET}`);
    const { tasks, granted, diagnostics } = await report();
    assert.deepEqual([tasks, diagnostics], [["export-spans"], []]);
    assert.ok(granted.includes("network"));
    assert.equal((await said(place)).includes(SECRET), false);
    const { pid } = (await state()).host;
    if (process.platform === "linux") {
      const environment = fs.readFileSync(`/proc/${pid}/environ`, "utf8");
      assert.equal(environment.includes("OTEL_"), false, "programs of features inherit none");
    }
    const ids = receiver.spans.map(({ spanId }) => spanId);
    assert.equal(new Set(ids).size, ids.length, "each span is posted once");
  });

  test("a call's spans are posted also where the gateway ends right after it", async (t) => {
    const receiver = await OtlpReceiver.start(t);
    const { host, session } = await setUp(t, { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url });
    const calls = () => receiver.spans.filter(({ name }) => name === "execute_tool forecast");
    await session.call("forecast");
    await waitFor(() => calls().length === 1, { what: "the first call" });
    await session.call("forecast");
    host.process.kill("SIGTERM");
    await host.exit();
    assert.equal(calls().length, 2, host.log);
    const ids = receiver.spans.map(({ spanId }) => spanId);
    assert.equal(new Set(ids).size, ids.length, "each span is posted once");
  });

  test("a feature host that was killed goes on with what is recorded from then on", async (t) => {
    const receiver = await OtlpReceiver.start(t);
    const { session, state } = await setUp(t, { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url });
    await session.call("forecast");
    const calls = () => receiver.spans.filter(({ name }) => name === "execute_tool forecast");
    await waitFor(() => calls().length === 1, { what: "the first call" });
    const { pid } = (await state()).host;
    process.kill(pid, "SIGKILL");
    await waitFor(async () => (await state()).host.pid !== pid, { what: "its end" });
    await session.call("forecast");
    await waitFor(() => calls().length === 2, { what: "the second call" });
  });

  test("a feature that is enabled again posts no span twice", async (t) => {
    const receiver = await OtlpReceiver.start(t);
    const { session, control, report } = await setUp(t, {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    });
    const calls = () => receiver.spans.filter(({ name }) => name === "execute_tool forecast");
    const id = "builtin:records";
    await session.call("forecast");
    await waitFor(() => calls().length === 1, { what: "the first call" });
    await control.request("features.disable", { id });
    await waitFor(async () => (await report()).tasks.length === 0, { what: "its end" });
    await control.request("features.enable", { id });
    const again = async () => {
      await session.call("forecast");
      return calls().length > 1;
    };
    await waitFor(again, { what: "a further call", intervalMs: 200 });
    const ids = receiver.spans.map(({ spanId }) => spanId);
    assert.equal(new Set(ids).size, ids.length, "each span is posted once");
  });

  test("that cannot be used has a diagnostic, which does not quote it", async (t) => {
    const place = await setUp(t, { OTEL_EXPORTER_OTLP_ENDPOINT: `http://me:${SECRET}@localhost` });
    await waitFor(async () => /ENDPOINT has a user name/.test(texts(await place.report())), {
      what: "the diagnostic",
    });
    assert.equal((await said(place)).includes(SECRET), false);
    assert.equal(await place.session.call("forecast"), "sunny");
  });

  for (const config of [{ spans: false }, { records: false }]) {
    test(`and ${JSON.stringify(config)} nothing is started, and the report says why`, async (t) => {
      const receiver = await OtlpReceiver.start(t);
      const env = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url };
      const { session, state, report } = await setUp(t, env, config);
      await session.call("forecast");
      assert.equal((await state()).host.state, "idle");
      const { tasks, skipped } = await report();
      assert.deepEqual(tasks, []);
      assert.match(skipped[0].what, /export-spans/);
      assert.match(skipped[0].reason, /"records": false or "spans": false/);
      assert.deepEqual(receiver.requests, []);
    });
  }
});

test("without a receiver nothing is started, and nothing is said of it", async (t) => {
  const { session, state, report } = await setUp(t, { OTEL_SERVICE_NAME: "shop" });
  await session.call("forecast");
  assert.equal((await state()).host.state, "idle");
  const { tasks, skipped, diagnostics } = await report();
  assert.deepEqual([tasks, skipped, diagnostics], [[], [], []]);
});
