// A gateway in a worker thread that ends without closing it.

import assert from "node:assert/strict";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import test from "node:test";
import { isMainThread, parentPort, Worker } from "node:worker_threads";
import { TestGateway } from "./harness.mjs";
import { RawClient } from "./raw-client.mjs";
import { TestProvider } from "../support/provider.mjs";

const TOKEN = "ptk-worker";

/** Everything is open when the main thread ends this one. */
async function work() {
  const gateway = new TestGateway({ after() {} }, { token: TOKEN });
  const session = await gateway.session("attached");
  await gateway.session("linked");
  gateway.addon.start();
  const provider = await gateway.echo(session);
  void session.call(provider.tool, { say: "never" });
  parentPort.postMessage({ port: gateway.port, session: session.id });
}

if (!isMainThread) {
  await work();
} else {
  test("a worker ends with its gateway, sessions and calls open: nothing else does", async (t) => {
    for (let round = 0; round < 3; ++round) {
      const worker = new Worker(fileURLToPath(import.meta.url));
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
