// The trace of a call, from the CLI's own telemetry to the provider.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { tapJson } from "../support/cli-process.mjs";
import { say, toolResults } from "../support/model.mjs";
import { OtlpReceiver } from "../support/otlp-receiver.mjs";
import { onceOffered, startTap, steps } from "../support/tap.mjs";
import { waitFor } from "../support/wait.mjs";

/** The value of an attribute, however the exporter writes attributes. */
const attribute = (attributes, name) => {
  if (!Array.isArray(attributes)) return attributes?.[name];
  const value = attributes.find(({ key }) => key === name)?.value;
  return value?.stringValue ?? value;
};

/** All objects in the exporter's lines that have attributes and the ids of a span. */
function spansIn(lines) {
  const found = [];
  const look = (value) => {
    if (typeof value !== "object" || value === null) return;
    const traceId = value.traceId ?? value.spanContext?.traceId ?? value._spanContext?.traceId;
    if (traceId && value.attributes) found.push({ traceId, attributes: value.attributes });
    for (const member of Object.values(value)) look(member);
  };
  for (const line of lines) look(JSON.parse(line));
  return found;
}

// shows: P-TRACE-2
test("a provider's traceparent is in the trace in which the CLI has the call", async (t) => {
  const rig = await startTap(t, steps([onceOffered("traced"), say("bye")]));
  const file = path.join(rig.cli.home, "telemetry.jsonl");
  const started = rig.cli.startPrompt("go", { env: { COPILOT_OTEL_FILE_EXPORTER_PATH: file } });
  await rig.model.waitForRequest();
  const provider = await rig.provide({ traced: { handler: () => "done" } });
  const call = provider.waitFor(({ type }) => type === "tool.call");
  await rig.ended(started);
  const { traceparent } = await call;
  assert.match(traceparent, /^00-[\da-f]{32}-[\da-f]{16}-01$/);
  const lines = (await readFile(file, "utf8")).trim().split("\n");
  const spans = spansIn(lines);
  const [, traceId] = traceparent.split("-");
  const ids = rig.model.requests
    .flatMap((request) => toolResults(request))
    .filter(({ name }) => name === "traced")
    .map(({ id }) => id);
  assert.ok(ids.length > 0, "the model has called the tool");
  const executed = spans.find(({ attributes }) =>
    ids.includes(attribute(attributes, "gen_ai.tool.call.id")),
  );
  assert.ok(executed, `no span of the call ${ids[0]} in ${lines.join("\n").slice(0, 2000)}`);
  assert.equal(executed.traceId, traceId);
});

test("a receiver that the CLI's environment names gets tap's spans in the trace of the CLI's own", async (t) => {
  const receiver = await OtlpReceiver.start(t);
  const isTaps = ({ scope }) => scope === "copilot-tap";
  const posted = () => receiver.spans.find((span) => isTaps(span) && /traced$/.test(span.name));
  const oncePosted = () => posted() !== undefined && say("bye");
  const rig = await startTap(t, steps([onceOffered("traced"), oncePosted]));
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url };
  const started = rig.cli.startPrompt("go", { env });
  await rig.model.waitForRequest();
  await rig.provide({ traced: { handler: () => "done" } });
  await rig.ended(started);
  const call = posted();
  const id = call.attributes["gen_ai.tool.call.id"];
  const ids = rig.model.requests.flatMap((request) => toolResults(request).map((one) => one.id));
  assert.ok(ids.includes(id), `${id} is a call of the model`);
  const others = receiver.spans.filter((span) => !isTaps(span));
  const own = others.find(({ attributes }) => attributes["gen_ai.tool.call.id"] === id);
  assert.ok(own, `no span of the CLI among ${others.map(({ name }) => name).join(", ")}`);
  assert.deepEqual([call.traceId, call.parentSpanId], [own.traceId, own.spanId]);
  assert.equal(call.resource["service.name"], "copilot-tap");
});

test("a call is below the turn of the model, which is below its session", async (t) => {
  const script = steps([onceOffered("traced"), say("bye")]);
  const rig = await startTap(t, script, { env: { TAP_LINGER_MS: "100" } });
  const started = rig.cli.startPrompt("go");
  await rig.model.waitForRequest();
  await rig.provide({ traced: { handler: () => "done" } });
  await rig.ended(started);
  const { home } = rig.cli;
  const env = { ...process.env, COPILOT_HOME: home, TAP_GATEWAY_PORT: String(rig.port) };
  const spans = await waitFor(async () => {
    const { value } = await tapJson(["spans"], { workspace: home, env });
    return value.some(({ name }) => name === "session") && value;
  });
  const below = [spans.find(({ name }) => /^provider (?!tap)/.test(name))];
  while (below[0]) below.unshift(spans.find(({ spanId }) => spanId === below[0].parentSpanId));
  assert.deepEqual(
    below.slice(1).map(({ name }) => name.split(" ")[0]),
    ["session", "turn", "execute_tool", "provider"],
    JSON.stringify(spans.map(({ name, spanId, parentSpanId }) => [name, spanId, parentSpanId])),
  );
});
