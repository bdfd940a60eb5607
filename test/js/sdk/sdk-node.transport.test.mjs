// copilot-tap/provider over a transport that the test plays: what it sends, in which order, and what it
// makes of each end of a connection.

import assert from "node:assert/strict";
import { test } from "node:test";
import { provider } from "../../../sdk/node/provider.mjs";
import { deferred, waitFor } from "../../support/wait.mjs";

const SESSIONS = { type: "sessions", active: [{ id: "s", label: "s", foreground: true }] };
const ACK = { type: "hello.ack", sessionId: "s", providerId: "p-1", reconnectToken: "rt" };

/**
 * A transport that the test plays. @param {{early?: object[]}} [options] messages from inside of open()
 */
function stage({ early = [] } = {}) {
  const sent = [];
  const errors = [];
  const opened = [];
  const transport = {
    open(handlers) {
      opened.push(handlers);
      for (const message of early) handlers.onMessage(JSON.stringify(message));
      return {
        send: (text) => sent.push(JSON.parse(text)),
        close: () => handlers.onClosed({ reason: "closed by the test" }),
      };
    },
  };
  const tap = provider("played", { transport });
  tap.on("error", (error) => errors.push(error.message));
  const say = (message) => opened.at(-1).onMessage(JSON.stringify(message));
  const end = (how) => opened.at(-1).onClosed(how);
  const next = (type, count = 1) =>
    waitFor(() => sent.filter((message) => message.type === type)[count - 1], { what: type });
  return { tap, transport, opened, sent, errors, say, end, next };
}

/** The same, bound. @param {(tap: any) => void} [declare] */
async function bound(declare = () => {}) {
  const it = stage();
  declare(it.tap);
  const connected = it.tap.connect();
  it.say(SESSIONS);
  it.say(ACK);
  await connected;
  return it;
}

const GATE = {
  type: "gate.check",
  gateId: "gate-1",
  callId: "c",
  sessionId: "s",
  tool: "bash",
  args: { command: "git push" },
};

// shows: P-PROJECT-6
test("hello says what is declared, in answer to the list of sessions", () => {
  const { tap, sent, say } = stage();
  const options = { description: "A", timeout: 5, parameters: { type: "object" } };
  tap.tool("a", options, () => 1);
  tap.context("all is well");
  tap.on("user.message", () => {});
  tap.connect();
  assert.deepEqual(sent, []);
  say(SESSIONS);
  assert.deepEqual(sent, [
    {
      name: "played",
      subscribe: ["user.message"],
      context: "all is well",
      tools: [{ name: "a", ...options }],
      type: "hello",
      protocolVersion: 2,
      session: "s",
    },
  ]);
});

test("messages that come while the transport opens are handled, in their order", async () => {
  const { tap, sent } = stage({ early: [SESSIONS, ACK] });
  await tap.connect();
  assert.deepEqual([...tap.sessions], ["s"]);
  assert.deepEqual(
    sent.map(({ type }) => type),
    ["hello"],
  );
});

test("an answer that comes before send() returns is the answer", async () => {
  const transport = {
    open({ onMessage }) {
      const say = (message) => onMessage(JSON.stringify(message));
      const answers = {
        hello: () => ACK,
        push: ({ requestId }) => ({ type: "ack", requestId, sessionId: "s", outcome: "stored" }),
      };
      say(SESSIONS);
      const send = (text) => {
        const message = JSON.parse(text);
        say(answers[message.type](message));
      };
      return { send, close() {} };
    },
  };
  const tap = provider("prompt", { transport });
  await tap.connect();
  assert.equal((await tap.push("x", "y")).outcome, "stored");
});

test("a connection that ends is opened again, and comes back with its token", async () => {
  const { tap, end, opened, say, next } = await bound();
  const lost = [];
  tap.on("unbound", (error) => lost.push(error.code));
  end({ reason: "cut" });
  assert.deepEqual(lost, ["DISCONNECTED"]);
  await waitFor(() => opened.length === 2);
  say(SESSIONS);
  assert.equal((await next("hello", 2)).reconnectToken, "rt");
});

test("an error of the transport's is an error event, and it is opened again", async () => {
  const { end, opened, errors } = await bound();
  end({ reason: "cut", error: new Error("odd"), again: "soon" });
  assert.deepEqual(errors, ["odd"]);
  await waitFor(() => opened.length === 2);
});

test("an end for good closes it; with an error connect() is rejected with that", async () => {
  const { tap, end, opened } = await bound();
  const push = tap.push("x", "y");
  end({ reason: "over", again: "never" });
  await assert.rejects(push, { code: "DISCONNECTED", message: /: over\. / });
  await tap.closed;
  const other = stage();
  const connecting = other.tap.connect();
  other.end({ reason: "void", error: new Error("a void token"), again: "never" });
  await assert.rejects(connecting, /a void token/);
  assert.deepEqual([opened.length, other.opened.length], [1, 1]);
});

test("where open() throws connect() is rejected with it", async () => {
  const transport = {
    open() {
      throw new Error("no way");
    },
  };
  await assert.rejects(provider("x", { transport }).connect(), /no way/);
});

test("close() says goodbye, and ends the connection once", async () => {
  const { tap, sent } = await bound();
  await Promise.all([tap.close("enough"), tap.close()]);
  assert.deepEqual(sent.at(-1), { type: "goodbye", reason: "enough" });
  await tap.closed;
});

test("closed while it connects, connect() is rejected with DISCONNECTED", async () => {
  const { tap } = stage();
  const connecting = assert.rejects(tap.connect(), { code: "DISCONNECTED" });
  await tap.close();
  await connecting;
});

test("a transport says when it takes no more; answers are sent all the same", async () => {
  const { tap, transport, opened, sent, say } = stage();
  const { open } = transport;
  transport.open = (handlers) => ({ ...open(handlers), takesMore: () => false });
  tap.tool("a", { description: "" }, () => "x");
  const connected = tap.connect();
  say(SESSIONS);
  say(ACK);
  await connected;
  await assert.rejects(tap.push("x", "y"), { code: "RATE_LIMITED" });
  say({ type: "tool.call", id: "1", sessionId: "s", tool: "a", args: {} });
  await waitFor(() => sent.at(-1).type === "tool.result");
  assert.equal(opened.length, 1);
});

// shows: P-PROJECT-6
test("a gate is answered by its judge", async () => {
  const asked = [];
  const { say, next } = await bound((tap) =>
    tap.gate({ tool: "shell" }, (check) => {
      asked.push(check);
      return { decision: "context", reason: "careful" };
    }),
  );
  say(GATE);
  const { decision, reason, gateId, callId } = await next("gate.result");
  assert.deepEqual([decision, reason, gateId, callId], ["context", "careful", "gate-1", "c"]);
  assert.deepEqual(asked, [{ session: "s", tool: "bash", args: { command: "git push" } }]);
});

for (const [what, judge] of Object.entries({
  "that throws": () => {
    throw new Error("oh");
  },
  "that rejects": () => Promise.reject(new Error("oh")),
  "that says nothing": () => {},
  "that says an object without a decision": () => ({}),
})) {
  test(`a judge ${what} denies`, async () => {
    const { say, next } = await bound((tap) => tap.gate({ tool: "shell" }, judge));
    say(GATE);
    assert.equal((await next("gate.result")).decision, "deny");
  });
}

test("a gate that it does not know is denied", async () => {
  const { say, next } = await bound();
  say(GATE);
  assert.equal((await next("gate.result")).decision, "deny");
});

test("a section is answered by its function, and else left as it is", async () => {
  const slip = () => {
    throw new Error("oh");
  };
  for (const [rewrite, wanted] of [
    [(current, { section }) => `${section}: ${current}!`, "tone: now!"],
    [slip, "now"],
    [null, "now"],
  ]) {
    const { say, next } = await bound((tap) => tap.section("tone", rewrite));
    const request = { type: "transform.request", callId: "x", sessionId: "s" };
    say({ ...request, section: "tone", current: "now" });
    const { content, callId } = await next("transform.result");
    assert.deepEqual([content, callId], [wanted, "x"]);
  }
});

test("a cancelled call is answered once, when its handler has ended", async () => {
  const later = deferred();
  const { say, sent, next } = await bound((tap) =>
    tap.tool("slow", { description: "" }, () => later.promise),
  );
  say({ type: "tool.call", id: "1", sessionId: "s", tool: "slow", args: {} });
  say({ type: "tool.cancel", id: "1", sessionId: "s", reason: "aborted" });
  assert.ok(sent.every(({ type }) => type !== "tool.result"));
  later.resolve("too late");
  assert.equal((await next("tool.result")).errorCode, "CANCELLED");
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(sent.filter(({ type }) => type === "tool.result").length, 1);
});

test("a request whose session ends is not waited for", async () => {
  const { tap, say } = await bound();
  const push = tap.push("x", "y", { session: "s" });
  say({ type: "session.lifecycle", sessionId: "s", state: "shutdown.pending", deadline: 1 });
  assert.equal(await push, undefined);
});

test("what it does not know is ignored; what nobody waits for is an error event", async () => {
  const { say, errors } = await bound();
  say({ type: "something.new" });
  say({ type: "ack", requestId: "r-99", sessionId: "s", revision: 1 });
  say({ type: "error", code: "RATE_LIMITED", message: "slower" });
  assert.match(errors.join("\n"), /^RATE_LIMITED: slower/);
});
