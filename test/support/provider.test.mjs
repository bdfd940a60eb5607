import assert from "node:assert/strict";
import { once } from "node:events";
import { afterEach, beforeEach, describe, test } from "node:test";
import { WebSocketServer } from "ws";
import { ProviderError, TestProvider } from "./provider.mjs";

/** Just enough of a gateway to see the messages of a provider. */
async function fakeGateway(active) {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  await once(server, "listening");
  const gateway = { server, port: server.address().port, got: [], peer: undefined, active };
  const answers = {
    auth: ({ token }) =>
      token === "good"
        ? { type: "sessions", active: gateway.active }
        : { type: "error", code: "AUTH_FAILED", message: "no" },
    hello: ({ session }) => ({
      type: "hello.ack",
      protocolVersion: 2,
      providerId: "p-1",
      sessionId: session,
    }),
  };
  server.on("connection", (peer) => {
    gateway.peer = peer;
    peer.on("message", (data) => {
      const message = JSON.parse(data.toString());
      gateway.got.push(message);
      const answer = answers[message.type]?.(message);
      if (answer) peer.send(JSON.stringify(answer));
    });
  });
  gateway.tell = (message) => gateway.peer.send(JSON.stringify(message));
  gateway.next = async () => JSON.parse((await once(gateway.peer, "message"))[0].toString());
  gateway.close = () => {
    for (const peer of server.clients) peer.terminate();
    return new Promise((resolve) => server.close(resolve));
  };
  return gateway;
}

const closing = (t, provider) => {
  t.after(() => provider.close());
  return provider;
};

const SESSION = { id: "s1", label: "first", cwd: "/" };

describe("TestProvider", () => {
  let gateway;
  beforeEach(async () => (gateway = await fakeGateway([SESSION])));
  afterEach(() => gateway.close());

  test("takes each step after its predecessor", async (t) => {
    const provider = closing(t, await TestProvider.connect({ port: gateway.port }));
    assert.deepEqual((await provider.auth("good")).active, [SESSION]);
    assert.equal((await provider.hello({ name: "p", session: "s1", tools: [] })).providerId, "p-1");
    gateway.tell({ type: "tool.call", id: "c", tool: "t", args: {} });
    assert.equal((await provider.waitFor("tool.call")).id, "c");
    const result = gateway.next();
    provider.result("c", "r");
    assert.deepEqual(await result, { type: "tool.result", id: "c", data: "r" });
  });

  test("an error answer is thrown with its code", async (t) => {
    const provider = closing(t, await TestProvider.connect({ port: gateway.port }));
    await assert.rejects(
      provider.auth("bad"),
      (error) => error instanceof ProviderError && error.code === "AUTH_FAILED",
    );
  });

  test("a wait ends at once when the connection does", async () => {
    const provider = await TestProvider.connect({ port: gateway.port });
    const waiting = provider.waitFor("anything");
    gateway.peer.close(1008, "enough");
    await assert.rejects(
      waiting,
      /the connection ended while waiting for anything[\s\S]*closed 1008 enough/,
    );
  });

  test("serve answers calls, failures and cancellations", async (t) => {
    const fail = () => {
      throw Object.assign(new Error("no such tool"), { code: "NOT_FOUND" });
    };
    const tools = {
      add: { handler: ({ a, b }) => a + b },
      fail: { handler: fail },
      hang: { handler: () => new Promise(() => {}) },
    };
    const provider = closing(
      t,
      await TestProvider.serve({ port: gateway.port, token: "good", tools }),
    );
    assert.equal(provider.sessionId, "s1");
    const ask = async (tool, args, then) => {
      const answer = gateway.next();
      gateway.tell({ type: "tool.call", id: tool, sessionId: "s1", tool, args });
      if (then) gateway.tell(then);
      return answer;
    };
    assert.equal((await ask("add", { a: 1, b: 2 })).data, 3);
    assert.equal((await ask("fail", {})).errorCode, "NOT_FOUND");
    assert.equal(
      (await ask("hang", {}, { type: "tool.cancel", id: "hang" })).errorCode,
      "CANCELLED",
    );
  });

  test("serve waits for a session", async (t) => {
    gateway.active = [];
    const serving = TestProvider.serve({ port: gateway.port, token: "good", tools: {} });
    await once(gateway.server, "connection");
    await once(gateway.peer, "message");
    gateway.tell({ type: "sessions.updated", active: [SESSION] });
    const provider = closing(t, await serving);
    assert.equal(provider.sessionId, "s1");
  });
});
