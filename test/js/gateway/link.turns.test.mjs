// What leaves on a link before a turn of the loop ends, as the other side sees it, which is a thread here.

import assert from "node:assert/strict";
import { once } from "node:events";
import net from "node:net";
import path from "node:path";
import { fileURLToPath } from "node:url";
import test from "node:test";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { addon } from "../../../js/lib/addon.mjs";
import { TestProvider } from "../../support/provider.mjs";
import { temporaryFolder, TestGateway, TestSession } from "../../support/harness.mjs";
import { PATIENCE_MS } from "../../support/wait.mjs";

const TOKEN = "ptk-link-turns";
const CALLS = 40;

/** A session and its provider: the provider answers all calls with one write, then sends `goodbye`. */
async function answerAtOnce({ port, link, secret, settled }) {
  const session = new TestSession();
  await session.connect(link);
  session.register({ secret });
  await session.waitFor("welcome");
  const provider = await TestProvider.connect({ port });
  await provider.auth(TOKEN);
  const tools = [{ name: "many", description: "", parameters: {} }];
  await provider.hello({ name: "server", session: session.id, tools });
  const results = Array.from({ length: CALLS }, () => session.call("many"));
  const calls = [];
  while (calls.length < CALLS) calls.push(await provider.waitFor("tool.call"));
  void results[0].then(() => {
    Atomics.store(settled, 0, 1);
    Atomics.notify(settled, 0);
  });
  const { _socket } = /** @type {any} */ (provider.socket);
  _socket.cork();
  for (const { id } of calls) provider.send({ type: "tool.result", id, data: "x".repeat(200) });
  provider.send({ type: "goodbye", reason: "that was all" });
  _socket.uncork();
  parentPort?.postMessage(await Promise.all(results));
}

/** A gateway that answers the first call, and then counts bytes. */
function count({ link, heard }) {
  const body = JSON.stringify({ type: "call.result", callId: "1", data: "go on" });
  const header = Buffer.alloc(4);
  header.writeUInt32LE(body.length);
  const server = net.createServer((socket) => {
    socket.once("data", () => {
      socket.on("data", (bytes) => {
        Atomics.add(heard, 0, bytes.length);
        Atomics.notify(heard, 0);
      });
      socket.write(Buffer.concat([header, Buffer.from(body)]));
    });
  });
  server.listen(link, () => parentPort?.postMessage("listening"));
}

/** @param {import("node:test").TestContext} t @param {object} data for this file in another thread */
function inThread(t, data) {
  const worker = new Worker(fileURLToPath(import.meta.url), { workerData: data });
  t.after(() => worker.terminate());
  return worker;
}

if (!isMainThread) {
  await (workerData.heard ? count(workerData) : answerAtOnce(workerData));
} else {
  test("of many results the first have left before the turn ends that decides them", async (t) => {
    const gateway = new TestGateway(t, { token: TOKEN });
    const settled = new Int32Array(new SharedArrayBuffer(4));
    let waited = "";
    gateway.log.push = (text) => {
      if (/disconnected/.test(text)) waited = Atomics.wait(settled, 0, 0, PATIENCE_MS);
      return 0;
    };
    const link = gateway.listenLink();
    const { port, secret } = gateway;
    const [results] = await once(inThread(t, { port, link, secret, settled }), "message");
    assert.deepEqual(results, Array(CALLS).fill("x".repeat(200)));
    assert.ok(["ok", "not-equal"].includes(waited), `the first result: ${waited}`);
  });

  test("of many calls that follow from one result the first leave before the last is made", async (t) => {
    const link = path.join(temporaryFolder(t), "link");
    const heard = new Int32Array(new SharedArrayBuffer(4));
    await once(inThread(t, { link, heard }), "message");
    /** @type {string | undefined} */
    let waited;
    await new Promise((resolve) => {
      const port = new addon.SessionPort({
        onConnected: () => port.call(1, "first", "{}"),
        onSettled() {
          if (waited) return;
          const args = JSON.stringify({ text: "x".repeat(100) });
          for (let id = 2; id < CALLS; ++id) port.call(id, "more", args);
          waited = Atomics.wait(heard, 0, 0, PATIENCE_MS);
          resolve(undefined);
        },
      });
      port.connect(link);
      t.after(() => port.close());
    });
    assert.ok(["ok", "not-equal"].includes(String(waited)), `the first call: ${waited}`);
  });

  for (const way of /** @type {const} */ (["attached", "linked"])) {
    test(`what a callback says leaves in that order: a call takes the place of a cancelled one, ${way}`, async (t) => {
      const gateway = new TestGateway(t, { limits: { TAP_MAX_CALLS: "2" } });
      const session = await gateway.session(way);
      await gateway.provider(session, "two", {
        quick: () => "done",
        slow: () => new Promise(() => {}),
      });
      const slow = session.start("slow");
      const last = await session.call("quick").then(() => {
        void session.start("slow");
        session.link.cancel(slow.id, "not wanted any more");
        return session.start("quick");
      });
      assert.equal(await last.result, "done");
    });
  }
}
