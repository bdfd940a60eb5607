// The command's link to a running gateway: looking at it, and calling tools without a model.

import assert from "node:assert/strict";
import { once } from "node:events";
import net from "node:net";
import path from "node:path";
import { test } from "node:test";
import { NoGateway, openControl } from "../../../js/link/control.mjs";
import { readDescriptor, writePrivate } from "../../../js/lib/host-files.mjs";
import { gatewayFiles } from "../../../js/lib/paths.mjs";
import { startTap } from "../../../js/develop/testing.mjs";
import { provider } from "../../../sdk/node/provider.mjs";
import { waitFor } from "../../support/wait.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

/** A gateway with a session, a provider in it, and the command's link. @param {import("node:test").TestContext} t */
async function place(t) {
  const kit = await startTap();
  t.after(() => kit.stop());
  const files = gatewayFiles(/** @type {any} */ (kit.env));
  const weather = provider("weather", kit.where);
  weather.tool("forecast", { description: "The weather." }, ({ city }) => `rain in ${city}`);
  weather.tool("wait", { description: "Waits." }, (_args, { signal }) => {
    return new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(new Error("aborted")));
    });
  });
  await weather.connect();
  t.after(() => weather.close());
  await kit.tool("forecast");
  const control = await openControl(files);
  t.after(() => control.close());
  return { kit, files, control };
}

test("a gateway shows its sessions, providers, tools and limits", async (t) => {
  const { kit, files, control } = await place(t);
  const seen = await control.inspect();
  assert.equal(seen.pid, readDescriptor(files.descriptor)?.pid);
  assert.equal(seen.port, files.port);
  assert.ok(seen.startedAt <= seen.now);
  assert.deepEqual(
    seen.sessions.map(({ id, linked, settled }) => ({ id, linked, settled })),
    [{ id: kit.session.id, linked: true, settled: true }],
  );
  const weather = seen.providers.find(({ name }) => name === "weather");
  assert.equal(weather?.trust, "project");
  assert.deepEqual(weather?.bindings[0]?.tools.map(({ name }) => name).sort(), [
    "forecast",
    "wait",
  ]);
  assert.ok(seen.limits.some(({ name, value }) => name === "connections" && value === 50));
});

test("a tool is called without a session's process, and counted", async (t) => {
  const { control } = await place(t);
  assert.equal(await control.call({ tool: "forecast", args: { city: "Oslo" } }), "rain in Oslo");
  const [forecast] = (await control.inspect()).tools.filter(({ tool }) => tool === "forecast");
  assert.deepEqual([forecast?.calls, forecast?.failed], [1, 0]);
});

test("a call that fails says how, and is remembered", async (t) => {
  const { kit, control } = await place(t);
  const nobody = await control.call({ tool: "nothing" });
  assert.equal(/** @type {any} */ (nobody).code, "NOT_FOUND");
  const elsewhere = await control.call({ tool: "forecast", session: "gone" });
  assert.equal(/** @type {any} */ (elsewhere).code, "INVALID_SESSION");
  const refused = await control.call({ tool: "nothing", session: kit.session.id });
  assert.equal(/** @type {any} */ (refused).code, "DISCONNECTED");
  const { failures } = await control.inspect();
  assert.deepEqual(
    failures.map(({ tool, code }) => ({ tool, code })),
    [
      { tool: "nothing", code: "NOT_FOUND" },
      { tool: "forecast", code: "INVALID_SESSION" },
      { tool: "nothing", code: "DISCONNECTED" },
    ],
  );
});

test("calls in flight at once keep their answers apart", async (t) => {
  const { kit, control } = await place(t);
  const cities = Array.from({ length: 20 }, (_, index) => `city ${index}`);
  const answers = await Promise.all(
    cities.map((city, index) =>
      control.call({
        tool: "forecast",
        args: { city },
        session: index % 2 === 0 ? undefined : kit.session.id,
      }),
    ),
  );
  assert.deepEqual(
    answers,
    cities.map((city) => `rain in ${city}`),
  );
});

test("a call is cancelled by its signal, and the provider hears it", async (t) => {
  const { control } = await place(t);
  const aborting = new AbortController();
  const outcome = control.call({ tool: "wait", signal: aborting.signal });
  await waitFor(async () => (await control.inspect()).providers.some((one) => one.callsInFlight), {
    what: "the call in flight",
  });
  aborting.abort();
  assert.equal(/** @type {any} */ (await outcome).code, "CANCELLED");
  await waitFor(
    async () => (await control.inspect()).providers.every((one) => !one.callsInFlight),
    {
      what: "no call in flight",
    },
  );
});

test("a command that leaves takes its calls along", async (t) => {
  const { files, control } = await place(t);
  const other = await openControl(files);
  const outcome = other.call({ tool: "wait" });
  await waitFor(async () => (await control.inspect()).providers.some((one) => one.callsInFlight), {
    what: "the call in flight",
  });
  other.close();
  assert.equal(/** @type {any} */ (await outcome).code, "DISCONNECTED");
  await waitFor(
    async () => (await control.inspect()).providers.every((one) => !one.callsInFlight),
    {
      what: "no call in flight",
    },
  );
});

test("a trace shows both directions, until the gateway ends", async (t) => {
  const { kit, files, control } = await place(t);
  /** @type {import("../../../js/link/control.mjs").TraceFrame[]} */
  const frames = [];
  const tracer = await openControl(files);
  const { ended } = await tracer.trace((frame) => frames.push(frame));
  await control.call({ tool: "forecast", args: { city: "Bodø" } });
  const kinds = () => frames.map(({ kind, text }) => `${kind} ${JSON.parse(text).type}`);
  await waitFor(() => kinds().includes("received tool.result"), { what: "the answer" });
  assert.deepEqual(kinds(), ["sent tool.call", "received tool.result"]);
  assert.ok(frames.every((frame) => frame.provider === "weather" && frame.connection > 0));
  assert.equal(JSON.parse(frames[1]?.text ?? "").data, "rain in Bodø");
  await kit.stop();
  assert.notEqual(await ended, "");
});

test("who traces and does not read loses the link, and nobody else notices", async (t) => {
  const kit = await startTap({ env: { TAP_MAX_OUTBOUND_BYTES: "65536" } });
  t.after(() => kit.stop());
  const talker = provider("talker", kit.where);
  talker.tool("talk", { description: "A lot." }, () => "x".repeat(60_000));
  await talker.connect();
  t.after(() => talker.close());
  await kit.tool("talk");

  const descriptor = readDescriptor(gatewayFiles(/** @type {any} */ (kit.env)).descriptor);
  const socket = net.connect(descriptor?.link ?? "");
  t.after(() => socket.destroy());
  let isOver = false;
  socket.on("close", () => (isOver = true)).on("error", () => {});
  const send = (/** @type {object} */ message) => {
    const body = Buffer.from(JSON.stringify(message));
    const header = Buffer.alloc(4);
    header.writeUInt32LE(body.length);
    socket.write(Buffer.concat([header, body]));
  };
  send({ type: "control.open", secret: descriptor?.secret });
  await once(socket, "data");
  socket.pause();
  send({ type: "trace" });
  for (let calls = 0; calls < 20; ++calls) {
    assert.equal((await kit.call("talk")).length, 60_000);
  }
  socket.resume();
  await waitFor(() => isOver, { what: "the end of its link" });
});

test("where no gateway runs, it is said what to do", async (t) => {
  const folder = temporaryFolder(t);
  const descriptor = path.join(folder, "descriptor.json");
  const files = /** @type {any} */ ({ descriptor });
  const advice = /no gateway runs.*a gateway starts with the next session/;
  const none = await openControl(files).catch((error) => error);
  assert.ok(none instanceof NoGateway);
  assert.match(none.message, advice);
  // One that was killed leaves its descriptor.
  const left = { pid: 1, port: 1, link: path.join(folder, "gone"), secret: "s", version: "0" };
  writePrivate(descriptor, JSON.stringify(left));
  const dead = await openControl(files).catch((error) => error);
  assert.ok(dead instanceof NoGateway);
  assert.match(dead.message, advice);
});

test("a gateway that does not answer is not waited for indefinitely", async (t) => {
  const folder = temporaryFolder(t);
  const link = path.join(folder, "link");
  /** @type {net.Socket[]} */
  const sockets = [];
  const silent = net.createServer((socket) => sockets.push(socket)).listen(link);
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    silent.close();
  });
  await new Promise((resolve) => silent.once("listening", resolve));
  const descriptor = path.join(folder, "descriptor.json");
  writePrivate(descriptor, JSON.stringify({ pid: 1, port: 1, link, secret: "s", version: "0" }));
  const error = await openControl(/** @type {any} */ ({ descriptor })).catch((thrown) => thrown);
  assert.ok(error instanceof NoGateway);
  assert.match(error.message, /does not answer: .*; see its log/);
});

test("the secret of another gateway is refused", async (t) => {
  const { files } = await place(t);
  const descriptor = path.join(temporaryFolder(t), "descriptor.json");
  writePrivate(
    descriptor,
    JSON.stringify({ ...readDescriptor(files.descriptor), secret: "wrong" }),
  );
  const error = await openControl(/** @type {any} */ ({ descriptor })).catch((thrown) => thrown);
  assert.ok(error instanceof NoGateway);
  assert.match(error.message, /secret is wrong/);
});
