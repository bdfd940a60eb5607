// A session in the gateway's own process: what it is told, and when what it says leaves.

import assert from "node:assert/strict";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import test from "node:test";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { TestProvider } from "../../support/provider.mjs";
import { PATIENCE_MS, waitFor } from "../../support/wait.mjs";
import { TestGateway, TestSession } from "../../support/harness.mjs";

const TOKEN = "ptk-turns";

/** Lets the main thread go on as soon as it is called. */
async function serve({ port, session, called }) {
  const provider = await TestProvider.connect({ port });
  await provider.auth(TOKEN);
  const tools = [{ name: "wake", description: "", parameters: {} }];
  provider.onMessage(({ type, id }) => {
    if (type !== "tool.call") return;
    Atomics.store(called, 0, 1);
    Atomics.notify(called, 0);
    provider.send({ type: "tool.result", id, data: "woken" });
  });
  await provider.hello({ name: "waker", session, tools });
  parentPort?.postMessage("bound");
}

if (!isMainThread) {
  await serve(workerData);
} else {
  test("a call leaves at once: JavaScript that blocks after it keeps it from nobody", async (t) => {
    const gateway = new TestGateway(t, { token: TOKEN });
    const session = await gateway.session("attached");
    const called = new Int32Array(new SharedArrayBuffer(4));
    const worker = new Worker(fileURLToPath(import.meta.url), {
      workerData: { port: gateway.port, session: session.id, called },
    });
    t.after(() => worker.terminate());
    await once(worker, "message");
    const result = session.call("wake");
    assert.notEqual(Atomics.wait(called, 0, 0, PATIENCE_MS), "timed-out");
    assert.equal(await result, "woken");
  });

  test("each recorded message is the one of its connection, also where several come in one turn", async (t) => {
    const gateway = new TestGateway(t, { token: TOKEN });
    const control = new TestSession();
    t.after(() => control.close());
    control.attach(gateway.addon);
    control.send({ type: "control.open", secret: gateway.secret, session: "" });
    control.send({ type: "trace" });
    const providers = [await gateway.stranger(), await gateway.stranger()];
    const nonsense = providers.map((_, index) => ({
      type: "nonsense",
      text: String(index).repeat(60),
    }));
    for (const [index, provider] of providers.entries()) provider.send(nonsense[index]);
    const recorded = () =>
      control.events.filter(({ kind, text }) => kind === "received" && /nonsense/.test(text));
    await waitFor(() => recorded().length === 2, { what: "both messages" });
    const texts = recorded().map(({ text }) => JSON.parse(text));
    assert.deepEqual(
      texts.sort((a, b) => a.text - b.text),
      nonsense,
    );
  });
}
