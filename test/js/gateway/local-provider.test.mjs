// A provider in the gateway's own process: with a real gateway, and for what a gateway rarely says with
// one that the test plays.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LocalProvider } from "../../../js/host/local-provider.mjs";
import { deferred, waitFor } from "../../support/wait.mjs";
import { TestGateway } from "../../support/harness.mjs";

const tool = (name, handler, more = {}) => ({ name, description: name, handler, ...more });

/** A gateway with this provider and a session. */
async function served(t, options, fields = {}) {
  const gateway = new TestGateway(t);
  const errors = [];
  const provider = new LocalProvider(gateway.addon, {
    name: "local",
    onError: (error) => errors.push(error.message),
    ...options,
  });
  await provider.ready;
  const session = await gateway.session("attached", { joined: false, ...fields });
  return { gateway, provider, session, errors };
}

const toolNames = (event) =>
  event.set.flatMap(({ definitions }) => definitions.map(({ name }) => name));

describe("with a gateway", () => {
  // shows: P-PROJECT-7
  test("a new session has its tools in the join, and no line in its timeline", async (t) => {
    const { session, provider } = await served(t, { tools: [tool("hi", () => "hello")] });
    assert.deepEqual(toolNames(session.events.find(({ type }) => type === "tools")), ["hi"]);
    assert.equal(await session.call("hi"), "hello");
    assert.deepEqual([...provider.sessions], [session.id]);
    assert.ok(session.events.every(({ type }) => type !== "timeline"));
  });

  // shows: P-PROJECT-6
  test("a handler gets the arguments and the session, and may answer later, with anything", async (t) => {
    const later = deferred();
    const { session } = await served(t, {
      tools: [
        tool("later", () => later.promise),
        tool("object", ({ a }, { sessionId }) => ({ a, sessionId })),
        tool("nothing", () => {}),
        tool("null", () => null),
        tool("text", () => '"ünï" \u{1f642} \ud800'),
      ],
    });
    const slow = session.call("later");
    assert.deepEqual(JSON.parse(await session.call("object", { a: 1 })), {
      a: 1,
      sessionId: session.id,
    });
    assert.equal(await session.call("nothing"), "");
    assert.equal(await session.call("null"), "null");
    assert.equal(await session.call("text"), '"ünï" \u{1f642} \ud800');
    later.resolve("at last");
    assert.equal(await slow, "at last");
  });

  test("what a handler throws is the failure", async (t) => {
    const circle = {};
    circle.circle = circle;
    const { session } = await served(t, {
      tools: [
        tool("throws", () => {
          throw new Error("it broke");
        }),
        tool("rejects", async () => {
          throw Object.assign(new Error("no such file"), { code: "NOT_FOUND" });
        }),
        tool("text", () => {
          throw "just a text"; // eslint-disable-line no-throw-literal -- handlers may
        }),
        tool("circle", () => circle),
        tool("large", () => "x".repeat(6 * 1024 * 1024)),
        tool("fine", () => "fine"),
      ],
    });
    const failed = async (name) => {
      const { code, text } = await session.call(name);
      return `${code} ${text}`;
    };
    assert.match(await failed("throws"), /^INTERNAL Provider "local" failed .*it broke/);
    assert.match(await failed("rejects"), /^NOT_FOUND .*no such file/);
    assert.match(await failed("text"), /^INTERNAL .*just a text/);
    assert.match(await failed("circle"), /^INTERNAL .*circular/i);
    assert.match(await failed("large"), /^PAYLOAD_TOO_LARGE /);
    assert.equal(await session.call("fine"), "fine");
  });

  test("a handler that does not answer is timed out, and its signal aborted", async (t) => {
    const aborted = deferred();
    const { session } = await served(t, {
      tools: [
        tool(
          "never",
          (_args, { signal }) => {
            signal.addEventListener("abort", () => aborted.resolve(signal.reason.message));
            return new Promise(() => {});
          },
          { timeout: 50 },
        ),
      ],
    });
    assert.equal((await session.call("never")).code, "TIMEOUT");
    assert.equal(await aborted.promise, "timeout");
  });

  test("progress shows in the timeline; after the end of the call it does not", async (t) => {
    let progress;
    const { session } = await served(t, {
      tools: [
        tool("slow", async (_args, call) => {
          ({ progress } = call);
          progress("half way");
          return "done";
        }),
      ],
    });
    assert.equal(await session.call("slow"), "done");
    progress("too late");
    const lines = session.events.filter(({ type }) => type === "timeline");
    assert.deepEqual(
      lines.map(({ text }) => text),
      ["tap: local slow: half way"],
    );
  });

  // shows: P-PROJECT-9
  test("its pushes are answered with what became of them", async (t) => {
    const { session, provider } = await served(t, {});
    const answer = await provider.push({
      sessionId: session.id,
      level: "surface",
      event: "it is red",
    });
    assert.equal(answer.outcome, "surfaced");
    await waitFor(() => session.events.some(({ text }) => /it is red/.test(text)), {
      what: "the event in the session",
    });
    await assert.rejects(
      provider.push({ sessionId: session.id, level: "loud", event: "x" }),
      /INVALID_JSON/,
    );
  });

  test("new tools replace the former; refused ones leave them in force", async (t) => {
    const { gateway, session, provider } = await served(t, { tools: [tool("one", () => 1)] });
    await gateway.provider(session, "other", { taken: () => "theirs" });
    await assert.rejects(
      provider.updateTools([tool("taken", () => 0), tool("one", () => "wrong")]),
      /TOOL_CONFLICT/,
    );
    assert.equal(await session.call("one"), "1");
    await provider.updateTools([tool("two", () => 2)]);
    assert.equal(await session.call("two"), "2");
    assert.equal((await session.call("one")).code, "DISCONNECTED");
  });

  test("tools of one session are that session's alone", async (t) => {
    const { gateway, session, provider } = await served(t, { tools: [tool("one", () => 1)] });
    const other = await gateway.session("attached", { joined: false });
    await provider.updateTools([tool("extra", () => "extra")], session.id);
    assert.equal(await session.call("extra"), "extra");
    assert.equal((await other.call("extra")).code, "DISCONNECTED");
    assert.equal(await other.call("one"), "1");
  });

  test("an update without a session is for those to come", async (t) => {
    const gateway = new TestGateway(t);
    const provider = new LocalProvider(gateway.addon, { name: "local" });
    await provider.updateTools([tool("late", () => "in time")]);
    const session = await gateway.session("attached", { joined: false });
    assert.equal(await session.call("late"), "in time");
  });

  // shows: P-PROJECT-9
  test("it hears of events and of sessions that come and go, and is not waited for", async (t) => {
    const heard = [];
    const { session } = await served(t, {
      subscribe: ["user.message"],
      onEvent: ({ event, data }) => heard.push(`${event} ${data.content}`),
      onLifecycle: ({ state, deadline }) => heard.push(`${state} ${deadline ?? ""}`.trim()),
    });
    session.send({ type: "event", event: "user.message", data: { content: "hi" } });
    session.send({ type: "end", reason: "over" });
    assert.deepEqual(heard, ["started", "user.message hi", "shutdown.pending 10000"]);
  });

  test("what its listeners throw is reported and costs nothing else", async (t) => {
    const { session, errors } = await served(t, {
      tools: [tool("hi", () => "hello")],
      onLifecycle: () => {
        throw new Error("a slip");
      },
    });
    assert.equal(await session.call("hi"), "hello");
    assert.deepEqual(errors, ["a slip"]);
  });

  test("one that cannot be bound says why", async (t) => {
    const gateway = new TestGateway(t);
    const lost = new LocalProvider(gateway.addon, {
      name: "lost",
      session: "nowhere",
      onError: () => {},
    });
    await assert.rejects(lost.ready, /INVALID_SESSION/);
  });

  test("disposed, it is gone from its sessions, and its calls have failed", async (t) => {
    const aborted = deferred();
    const { session, provider } = await served(t, {
      tools: [
        tool("never", (_args, { signal }) => {
          signal.addEventListener("abort", () => aborted.resolve(true));
          return new Promise(() => {});
        }),
      ],
    });
    const call = session.call("never");
    provider.dispose();
    assert.equal((await call).code, "DISCONNECTED");
    await aborted.promise;
    await waitFor(() => session.events.some(({ drop }) => drop?.includes("local")), {
      what: "its tools gone",
    });
    assert.equal(provider.sessions.size, 0);
    await assert.rejects(provider.push({ level: "keep", event: "x", broadcast: true }), /disposed/);
    provider.dispose();
    assert.ok(session.events.every(({ type }) => type !== "timeline"));
  });

  // shows: P-PROJECT-6
  test("a provider may act from inside its own functions", async (t) => {
    const { session, provider } = await served(t, {
      tools: [
        tool("grow", async () => {
          await provider.updateTools([tool("grown", () => "tall")]);
          return "grew";
        }),
        tool("leave", () => provider.dispose()),
      ],
    });
    assert.equal(await session.call("grow"), "grew");
    assert.equal(await session.call("grown"), "tall");
    await provider.updateTools([tool("leave", () => provider.dispose())]);
    assert.equal((await session.call("leave")).code, "DISCONNECTED");
  });

  test("the gateway's end is its own", async (t) => {
    const { gateway, provider } = await served(t, {});
    gateway.addon.close();
    await assert.rejects(provider.push({ level: "keep", event: "x", broadcast: true }), /disposed/);
    assert.throws(() => new LocalProvider(gateway.addon, { name: "late" }), /open gateway/);
  });
});

describe("with a gateway that the test plays", () => {
  /** @param {object} options of LocalProvider */
  function played(options) {
    const sent = [];
    const errors = [];
    let handlers;
    const host = {
      openProvider(given) {
        handlers = given;
        return 7;
      },
      sendProvider: (id, json) => sent.push({ id, ...JSON.parse(json) }),
    };
    const onError = (error) => errors.push(error.message);
    const provider = new LocalProvider(host, { name: "local", onError, ...options });
    const say = (message) => handlers.onMessage(JSON.stringify(message));
    const next = (type) =>
      waitFor(() => sent.find((message) => message.type === type), { what: type });
    return { provider, sent, errors, say, next, close: () => handlers.onClosed("over") };
  }

  const GATE = {
    type: "gate.check",
    gateId: "g",
    callId: "c",
    sessionId: "s",
    tool: "bash",
    args: { command: "git push" },
  };

  // shows: P-PROJECT-6
  test("hello says what it has", () => {
    const { sent } = played({
      tools: [tool("a", () => 1, { timeout: 5, parameters: { type: "object" } })],
      hooks: { onPreToolUse: [] },
      context: "all is well",
      subscribe: ["user.message"],
    });
    assert.deepEqual(sent, [
      {
        id: 7,
        type: "hello",
        protocolVersion: 2,
        name: "local",
        session: "all",
        hooks: { onPreToolUse: [] },
        context: "all is well",
        subscribe: ["user.message"],
        tools: [{ name: "a", description: "a", timeout: 5, parameters: { type: "object" } }],
      },
    ]);
  });

  // shows: P-PROJECT-6
  test("a gate is answered by onGate", async () => {
    const asked = [];
    const { say, next } = played({
      onGate: (check) => {
        asked.push(check);
        return { decision: "context", reason: "careful" };
      },
    });
    say(GATE);
    const { decision, reason, gateId, callId } = await next("gate.result");
    assert.deepEqual([decision, reason, gateId, callId], ["context", "careful", "g", "c"]);
    assert.deepEqual(asked, [
      { gateId: "g", sessionId: "s", tool: "bash", args: { command: "git push" } },
    ]);
  });

  for (const [what, onGate] of Object.entries({
    "no onGate": undefined,
    "an onGate that throws": () => {
      throw new Error("oh");
    },
    "an onGate that rejects": () => Promise.reject(new Error("oh")),
    "an onGate that says nothing": () => {},
    "an onGate that says an object without a decision": () => ({}),
  })) {
    test(`${what} denies`, async () => {
      const { say, next } = played({ onGate });
      say(GATE);
      assert.equal((await next("gate.result")).decision, "deny");
    });
  }

  test("a transform is answered by onTransform, and else left as it is", async () => {
    const request = {
      type: "transform.request",
      callId: "x",
      sessionId: "s",
      section: "tone",
      current: "now",
    };
    const good = played({ onTransform: ({ section, current }) => `${section}: ${current}!` });
    good.say(request);
    const { content, callId } = await good.next("transform.result");
    assert.deepEqual([content, callId], ["tone: now!", "x"]);
    const slip = () => {
      throw new Error("oh");
    };
    for (const onTransform of [undefined, slip]) {
      const { say, next } = played({ onTransform });
      say(request);
      assert.equal((await next("transform.result")).content, "now");
    }
  });

  // shows: P-PROJECT-9
  test("hooks, context and filters are updates with an answer", async () => {
    const { provider, say, next } = played({});
    say({ type: "session.lifecycle", sessionId: "s", state: "started" });
    const updates = [
      ["hooks.update", provider.updateHooks({ onPreToolUse: [] }, "s"), { onPreToolUse: [] }],
      ["context.update", provider.setContext("green", "s"), { context: "green" }],
      ["filter.set", provider.setFilter("ci", [], "s"), { stream: "ci", rules: [] }],
    ];
    for (const [type, answer, fields] of updates) {
      const message = await next(type);
      assert.equal(message.sessionId, "s");
      for (const [name, value] of Object.entries(fields)) assert.deepEqual(message[name], value);
      say({ type: "ack", requestId: message.requestId, sessionId: "s", revision: 1 });
      await answer;
    }
  });

  test("an update whose session ends, or whose gateway does, is not waited for", async () => {
    const { provider, say, close } = played({});
    say({ type: "session.lifecycle", sessionId: "s", state: "started" });
    say({ type: "session.lifecycle", sessionId: "t", state: "started" });
    const ofOne = provider.setContext("x", "s");
    const ofAll = provider.setContext("x");
    say({ type: "session.lifecycle", sessionId: "s", state: "shutdown.pending", deadline: 1 });
    await ofOne;
    close();
    await assert.rejects(ofAll, /the provider is gone: over/);
  });

  test("a cancelled call is answered at once, and once", async () => {
    const later = deferred();
    const { say, sent, next } = played({ tools: [tool("slow", () => later.promise)] });
    say({ type: "tool.call", id: "1", sessionId: "s", tool: "slow", args: {} });
    say({ type: "tool.cancel", id: "1", sessionId: "s", reason: "aborted" });
    assert.equal((await next("tool.result")).errorCode, "CANCELLED");
    later.resolve("too late");
    await later.promise;
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(sent.filter(({ type }) => type === "tool.result").length, 1);
  });

  test("what it does not know is ignored; what nobody waits for is reported", () => {
    const { say, errors } = played({});
    say({ type: "sessions", active: [] });
    say({ type: "something.new" });
    say({ type: "ack", requestId: "r-99", sessionId: "s", revision: 1 });
    say({ type: "error", code: "RATE_LIMITED", message: "slower" });
    assert.deepEqual(errors, ["RATE_LIMITED: slower"]);
  });
});
