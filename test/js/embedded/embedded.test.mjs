// The gateway inside a program of one's own: createGateway and attachSession.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createGateway, inProcess } from "copilot-tap/gateway";
import { provider as makeProvider } from "copilot-tap/provider";
import { withEnvironment } from "../../support/harness.mjs";
import { TestProvider } from "../../support/provider.mjs";
import { waitFor } from "../../support/wait.mjs";

/** What attachSession needs of a CopilotSession, with the CLI's side of it played by the test. */
class Session {
  sessionId;
  handlers = new Map();
  /** The tools that a model would be offered. @type {string[]} */
  offered = [];
  resumes = 0;
  lines = [];
  prompts = [];
  #listeners = new Set();
  rpc = {
    tools: { getBuiltinDescriptors: async () => ({ tools: [{ name: "bash" }] }) },
    metadata: { isProcessing: async () => ({ processing: false }) },
  };
  connection = {
    sendRequest: async (method, { tools }) => {
      assert.equal(method, "session.resume");
      this.resumes += 1;
      this.offered = tools.map((tool) => tool.name);
    },
  };

  constructor(id) {
    this.sessionId = id;
  }
  registerTools(tools) {
    this.handlers = new Map(tools.map((tool) => [tool.name, tool.handler]));
  }
  async log(text) {
    this.lines.push(text);
  }
  async send({ prompt }) {
    this.prompts.push(prompt);
    return "message-1";
  }
  on(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
  emit(type, data = {}) {
    for (const listener of this.#listeners) listener({ type, data });
  }
  call(name, args, signal) {
    return this.handlers.get(name)(args, { signal });
  }
}

/** A gateway with one attached session and one bound provider. */
async function embedded(t, tools, options) {
  const gateway = createGateway();
  t.after(() => gateway.close());
  const session = new Session("s-1");
  const attached = await gateway.attachSession(session, options);
  const provider = await TestProvider.serve({
    port: gateway.port,
    token: gateway.token,
    name: "greeter",
    tools,
  });
  t.after(() => provider.terminate());
  return { gateway, session, attached, provider };
}

const greet = { greet: { description: "Says hello", handler: ({ name }) => `Hello, ${name}!` } };

test("an attached session has its own tools and tap_status at once", async (t) => {
  const gateway = createGateway();
  t.after(() => gateway.close());
  const session = new Session("s-1");
  const own = { name: "mine", description: "", parameters: {}, handler: async () => "own" };
  await gateway.attachSession(session, { tools: [own] });
  assert.deepEqual(session.offered, ["mine", "tap_status"]);
  assert.equal(await session.call("mine", {}), "own");
});

test("a provider's tool appears in the session, is called, and leaves with it", async (t) => {
  const { session, provider } = await embedded(t, greet);
  await waitFor(() => session.offered.includes("greet"), { what: "greet in the session" });
  const result = await session.call("greet", { name: "Ada" });
  assert.deepEqual(result, { textResultForLlm: "Hello, Ada!", resultType: "success" });
  assert.deepEqual(session.lines, ["tap: greeter is here: greet"]);
  await provider.close();
  await waitFor(() => !session.offered.includes("greet"), { what: "greet gone" });
});

test("tap_status is there once and first, and served by the gateway as long as there is one", async (t) => {
  const { gateway, session } = await embedded(t, greet);
  await waitFor(() => session.offered.includes("greet"), { what: "greet in the session" });
  assert.deepEqual(session.offered, ["tap_status", "greet"]);
  // The gateway's tap_status took the place of the session's own without a request.
  assert.equal(session.resumes, 2);
  const served = await session.call("tap_status", {});
  assert.match(served.textResultForLlm, /- greeter \(p-.*: greet/);
  assert.equal(served.resultType, "success");
  gateway.close();
  const alone = await session.call("tap_status", {});
  assert.match(alone.textResultForLlm, /no connection to the tap gateway/);
  assert.equal(alone.resultType, "failure");
});

test("a provider in process serves every attached session", async (t) => {
  const gateway = createGateway();
  t.after(() => gateway.close());
  const first = new Session("s-1");
  await gateway.attachSession(first);
  const provider = makeProvider("mine", { session: "all", transport: inProcess(gateway) });
  const where = (_args, { session }) => `here in ${session}`;
  provider.tool("where", { description: "Where it is" }, where);
  await provider.connect();
  const second = new Session("s-2");
  await gateway.attachSession(second);
  for (const session of [first, second]) {
    await waitFor(() => session.offered.includes("where"), { what: "where in the session" });
    const { textResultForLlm } = await session.call("where", {});
    assert.equal(textResultForLlm, `here in ${session.sessionId}`);
  }
  await provider.close();
  await waitFor(() => !first.offered.includes("where"), { what: "where gone" });
  assert.deepEqual([...first.lines, ...second.lines], []);
});

test("an abort reaches the provider as tool.cancel", async (t) => {
  const { session, provider } = await embedded(t, {
    slow: { handler: () => new Promise(() => {}) },
  });
  await waitFor(() => session.offered.includes("slow"), { what: "slow in the session" });
  const abort = new AbortController();
  const result = session.call("slow", {}, abort.signal);
  await provider.waitFor("tool.call");
  abort.abort();
  assert.equal((await provider.waitFor("tool.cancel")).reason, "aborted by the user");
  assert.equal((await result).resultType, "failure");
});

test("a provider is told that a detached session ends, and can bind to another", async (t) => {
  const { gateway, attached, provider } = await embedded(t, greet);
  const other = new Session("s-2");
  await gateway.attachSession(other, { label: "other" });
  attached.detach();
  const ended = await provider.waitFor((message) => message.state === "shutdown.pending");
  assert.equal(ended.sessionId, "s-1");
  const again = await TestProvider.serve({
    port: gateway.port,
    token: gateway.token,
    name: "again",
    tools: greet,
  });
  t.after(() => again.terminate());
  assert.equal(again.sessionId, "s-2");
  await waitFor(() => other.offered.includes("greet"), { what: "greet in the other session" });
});

test("a session that is detached where a call has just settled ends, and does not linger", async (t) => {
  const { attached, session, provider } = await embedded(t, greet);
  await waitFor(() => session.offered.includes("greet"), { what: "greet in the session" });
  await session.call("greet", {}).then(() => attached.detach());
  const ended = await provider.waitFor((message) => message.state === "shutdown.pending");
  assert.equal(ended.sessionId, "s-1");
});

test("a session that the gateway does not take is refused with the reason", async (t) => {
  const gateway = withEnvironment({ TAP_MAX_SESSIONS: "1" }, () => createGateway());
  t.after(() => gateway.close());
  await gateway.attachSession(new Session("s-1"));
  await assert.rejects(gateway.attachSession(new Session("s-2")), /sessions/);
});

test("closing the gateway settles what is in flight", async (t) => {
  const { gateway, session } = await embedded(t, {
    slow: { handler: () => new Promise(() => {}) },
  });
  await waitFor(() => session.offered.includes("slow"), { what: "slow in the session" });
  const result = session.call("slow", {});
  gateway.close();
  assert.match((await result).textResultForLlm, /DISCONNECTED|CANCELLED/);
});
