// A gateway in a worker thread that ends without closing it. Only the worker loads the addon, which is
// unloaded with it.

import assert from "node:assert/strict";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import test from "node:test";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { RawClient } from "../../support/raw-client.mjs";
import { TestProvider } from "../../support/provider.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

const TOKEN = "ptk-worker";

const FILE_BYTES = 20 * 1024 * 1024;
const LARGE = 1024 * 1024;

/** Large files are read on other threads, one after another, for longer than the worker lives. */
async function keepReading(gateway, session) {
  const reader = await gateway.stranger();
  const called = reader.waitFor("tool.call");
  const tools = [{ name: "read", description: "", parameters: {} }];
  const { persistDir } = await reader.hello({ name: "reader", session: session.id, tools });
  const file = path.join(persistDir, "large");
  fs.writeFileSync(file, Buffer.alloc(FILE_BYTES));
  const reference = { path: file, mimeType: "application/pdf", size: FILE_BYTES, ttl: 60 };
  reader.onMessage(({ type, id }) => {
    if (type === "tool.call") reader.send({ type: "tool.result", id, file: reference });
  });
  for (let count = 0; count < 100; ++count) void session.call("read");
  await called;
}

/** Large results, which use the gateway's memory for as long as they are kept: to the worker's end. */
async function keepResults(gateway, session) {
  const reporter = await gateway.stranger();
  const tools = [{ name: "report", description: "", parameters: {} }];
  await reporter.hello({ name: "reporter", session: session.id, tools });
  const texts = ["a".repeat(LARGE), "é".repeat(LARGE)];
  let next = 0;
  reporter.onMessage(({ type, id }) => {
    if (type === "tool.call") reporter.send({ type: "tool.result", id, data: texts[next] });
  });
  globalThis.kept = [];
  for (next of texts.keys()) {
    globalThis.kept.push(await session.call("report"));
    assert.ok(globalThis.kept.at(-1) === texts[next]);
  }
}

/** Everything is open when the main thread ends this one. */
async function work() {
  const { TestGateway } = await import("../../support/harness.mjs");
  const gateway = new TestGateway({ after() {} }, { token: TOKEN, persistRoot: workerData });
  const session = await gateway.session("attached");
  await gateway.session("linked");
  gateway.addon.start();
  const provider = await gateway.echo(session);
  void session.call(provider.tool, { say: "never" });
  await keepResults(gateway, session);
  await keepReading(gateway, session);
  parentPort.postMessage({ port: gateway.port, session: session.id });
}

if (!isMainThread) {
  await work();
} else {
  test("a worker ends with its gateway, sessions and calls open: nothing else does", async (t) => {
    for (let round = 0; round < 3; ++round) {
      const worker = new Worker(fileURLToPath(import.meta.url), {
        workerData: temporaryFolder(t),
      });
      const [{ port, session }] = await once(worker, "message");
      // Peers outside of it, one of which does not read: none may keep it from ending.
      const provider = await TestProvider.connect({ port });
      t.after(() => provider.terminate());
      await provider.auth(TOKEN);
      await provider.hello({ name: "outside", session });
      const deaf = await RawClient.upgraded(t, port);
      deaf.socket.pause();
      await worker.terminate();
      assert.ok((await provider.waitForClose()).code > 0);
    }
  });
}
