// A provider in the gateway's own process: sdk/node's Provider over the transport `inProcess`.

import assert from "node:assert/strict";
import { test } from "node:test";
import { inProcess } from "../../../js/gateway-host/in-process.mjs";
import { provider as makeProvider, ToolError } from "../../../sdk/node/provider.mjs";
import { deferred, waitFor } from "../../support/wait.mjs";
import { TestGateway } from "../../support/harness.mjs";

/** A provider of this gateway that is not connected yet; what nobody waits for is in `errors`. */
function make(gateway, options = {}) {
  const tap = makeProvider("local", {
    session: "all",
    transport: inProcess(gateway.addon),
    ...options,
  });
  const errors = [];
  tap.on("error", (error) => errors.push(error.message));
  return { tap, errors };
}

/** A gateway with a provider of these tools, and a session. */
async function served(t, tools = {}, declare = (_tap) => {}) {
  const gateway = new TestGateway(t);
  const { tap, errors } = make(gateway);
  for (const [name, handler] of Object.entries(tools)) {
    tap.tool(name, { description: name }, handler);
  }
  declare(tap);
  await tap.connect();
  const session = await gateway.session("attached", { joined: false });
  return { gateway, tap, session, errors };
}

const toolNames = (event) =>
  event.set.flatMap(({ definitions }) => definitions.map(({ name }) => name));

/** A handler that ends only when nobody waits any more; what that says is in `aborted`. */
function endless() {
  const started = deferred();
  const aborted = deferred();
  const handler = (_args, { signal }) => {
    started.resolve();
    signal.addEventListener("abort", () => aborted.resolve(signal.reason));
    return new Promise(() => {});
  };
  return { handler, started: started.promise, aborted: aborted.promise };
}

// shows: P-PROJECT-7
test("a new session has its tools in the join, and no line in its timeline", async (t) => {
  const { session, tap } = await served(t, { hi: () => "hello" });
  assert.deepEqual(toolNames(session.events.find(({ type }) => type === "tools")), ["hi"]);
  assert.equal(await session.call("hi"), "hello");
  assert.deepEqual([...tap.sessions], [session.id]);
  assert.ok(session.events.every(({ type }) => type !== "timeline"));
});

test("connect() has bound it before it returns: the next session has its tools", async (t) => {
  const gateway = new TestGateway(t);
  const { tap } = make(gateway);
  tap.tool("hi", { description: "" }, () => "hello");
  const connected = tap.connect();
  const session = gateway.session("attached", { joined: false });
  assert.equal(await (await session).call("hi"), "hello");
  await connected;
});

// shows: P-PROJECT-6
test("a handler gets the arguments and the session, and may answer later, with anything", async (t) => {
  const later = deferred();
  const { session } = await served(t, {
    later: () => later.promise,
    object: ({ a }, call) => ({ a, session: call.session }),
    nothing: () => {},
    text: () => '"ünï" \u{1f642} \ud800',
  });
  const slow = session.call("later");
  assert.deepEqual(JSON.parse(await session.call("object", { a: 1 })), {
    a: 1,
    session: session.id,
  });
  assert.equal(await session.call("nothing"), "");
  assert.equal(await session.call("text"), '"ünï" \u{1f642} \ufffd');
  later.resolve("at last");
  assert.equal(await slow, "at last");
});

test("what a handler throws is the failure", async (t) => {
  const circle = {};
  circle.circle = circle;
  const { session, errors } = await served(t, {
    throws: () => {
      throw new Error("it broke");
    },
    rejects: () => Promise.reject(new ToolError("NOT_FOUND", "no such file")),
    circle: () => circle,
    large: () => "x".repeat(6 * 1024 * 1024),
    fine: () => "fine",
  });
  const failed = async (name) => {
    const { code, text } = await session.call(name);
    return `${code} ${text}`;
  };
  assert.match(await failed("throws"), /^INTERNAL Provider "local" failed .*it broke/);
  assert.match(await failed("rejects"), /^NOT_FOUND .*no such file/);
  assert.match(await failed("circle"), /^INTERNAL .*circular/i);
  assert.match(await failed("large"), /^PAYLOAD_TOO_LARGE /);
  assert.equal(await session.call("fine"), "fine");
  assert.equal(errors[0], "it broke");
});

test("a handler that does not answer is timed out, and its signal aborted", async (t) => {
  const { handler, aborted } = endless();
  const { session } = await served(t, {}, (tap) =>
    tap.tool("never", { description: "", timeout: 50 }, handler),
  );
  assert.equal((await session.call("never")).code, "TIMEOUT");
  assert.equal((await aborted).code, "TIMEOUT");
});

test("progress shows in the timeline; after the end of the call it does not", async (t) => {
  let progress;
  const { session } = await served(t, {
    slow: async (_args, call) => {
      ({ progress } = call);
      progress("half way");
      return "done";
    },
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
  const { session, tap } = await served(t);
  const receipt = await tap.push("light", "it is red", { session: session.id, level: "surface" });
  assert.equal(receipt.outcome, "surfaced");
  await session.waitFor("timeline", ({ text }) => /it is red/.test(text));
  await assert.rejects(tap.push("light", "x", { level: /** @type {any} */ ("loud") }), {
    code: "INVALID_JSON",
  });
});

test("it is not slowed: hundreds of messages at once are sent", async (t) => {
  const { session, tap } = await served(t);
  const updates = Array.from({ length: 500 }, (_, index) =>
    tap.stream("many").filter(index % 2 ? [{ match: "^x", outcome: "keep" }] : []),
  );
  await Promise.all(updates);
  assert.equal((await tap.push("x", "y", { session: session.id })).outcome, "stored");
});

test("new tools join the others; refused ones leave the former in force", async (t) => {
  const { gateway, session, tap } = await served(t, { one: () => 1 });
  await gateway.provider(session, "other", { taken: () => "theirs" });
  const refused = tap.tool("taken", { description: "" }, () => 0);
  await assert.rejects(refused, { code: "TOOL_CONFLICT" });
  assert.equal(await session.call("one"), "1");
  assert.equal(await session.call("taken"), "theirs");
  await tap.tool("two", { description: "" }, () => 2);
  await tap.removeTool("one");
  assert.equal(await session.call("two"), "2");
  assert.equal((await session.call("one")).code, "DISCONNECTED");
});

test("a provider of one session is in that session alone", async (t) => {
  const gateway = new TestGateway(t);
  const session = await gateway.session("attached");
  const other = await gateway.session("attached");
  const { tap } = make(gateway, { session: session.id });
  tap.tool("extra", { description: "" }, () => "extra");
  await tap.connect();
  assert.equal(await session.call("extra"), "extra");
  assert.equal((await other.call("extra")).code, "DISCONNECTED");
});

test("a tool that is declared without a session is for those to come", async (t) => {
  const gateway = new TestGateway(t);
  const { tap } = make(gateway);
  await tap.connect();
  await tap.tool("late", { description: "" }, () => "in time");
  const session = await gateway.session("attached", { joined: false });
  assert.equal(await session.call("late"), "in time");
});

// shows: P-PROJECT-9
test("it hears of events and of sessions that come and go, and is not waited for", async (t) => {
  const heard = [];
  const { session } = await served(t, {}, (tap) => {
    tap.on("user.message", ({ content }) => heard.push(`user.message ${content}`));
    tap.on("session.started", () => heard.push("started"));
    tap.on("session.end", ({ deadline }) => heard.push(`end ${deadline}`));
  });
  session.send({ type: "event", event: "user.message", data: { content: "hi" } });
  session.send({ type: "end", reason: "over" });
  assert.deepEqual(heard, ["started", "user.message hi", "end 10000"]);
});

test("what its listeners throw is an error event and costs nothing else", async (t) => {
  const { session, errors } = await served(t, { hi: () => "hello" }, (tap) =>
    tap.on("session.started", () => {
      throw new Error("a slip");
    }),
  );
  assert.equal(await session.call("hi"), "hello");
  assert.deepEqual(errors, ["a slip"]);
});

// shows: P-PROJECT-9
test("hooks, context and filters are in force once their promises have settled", async (t) => {
  const { session, tap } = await served(t);
  const settled = Promise.all([
    tap.deny({ tool: "shell", args: "--force" }, "Not here.").inForce,
    tap.context("All is green."),
  ]);
  const confirm = (event) => {
    const { revision } = event;
    session.send({ type: "hooks.state", revision, hooks: "in-force", sections: "in-force" });
  };
  confirm(await session.waitFor("hooks", ({ guards }) => guards.length > 0));
  confirm(await session.waitFor("hooks", ({ prompts }) => prompts));
  await settled;
  await tap.stream("log").filter([{ match: "^DEBUG", outcome: "drop" }]);
  const receipt = await tap.push("log", "DEBUG x", { session: session.id });
  assert.deepEqual([receipt.outcome, receipt.rule], ["dropped", 0]);
});

test("closed, it is gone from its sessions, and its calls have failed", async (t) => {
  const { handler, started, aborted } = endless();
  const { session, tap } = await served(t, { never: handler });
  const call = session.call("never");
  await started;
  await tap.close();
  assert.equal((await call).code, "DISCONNECTED");
  assert.equal((await aborted).code, "DISCONNECTED");
  await waitFor(() => session.events.some(({ drop }) => drop?.includes("local")), {
    what: "its tools gone",
  });
  await tap.closed;
  assert.equal(tap.sessions.size, 0);
  await assert.rejects(tap.push("x", "y"), { code: "DISCONNECTED" });
  await assert.rejects(tap.connect(), { code: "DISCONNECTED" });
  await tap.close();
  assert.ok(session.events.every(({ type }) => type !== "timeline"));
});

// shows: P-PROJECT-6
test("a provider may act from inside its own functions", async (t) => {
  const { session, tap } = await served(t, {
    grow: async () => {
      await tap.tool("grown", { description: "" }, () => "tall");
      return "grew";
    },
    leave: () => tap.close(),
  });
  assert.equal(await session.call("grow"), "grew");
  assert.equal(await session.call("grown"), "tall");
  assert.equal((await session.call("leave")).code, "DISCONNECTED");
});

test("the gateway's end closes it, and fails nothing but what waits", async (t) => {
  const { gateway, tap, errors } = await served(t);
  const lost = new Promise((resolve) => tap.on("unbound", resolve));
  gateway.addon.close();
  await tap.closed;
  assert.match(String(await lost), /the gateway stops/);
  await assert.rejects(tap.push("x", "y"), { code: "DISCONNECTED" });
  assert.deepEqual(errors, []);
});

test("of a gateway that is closed, or refuses it, connect() is rejected", async (t) => {
  const gateway = new TestGateway(t);
  await make(gateway).tap.connect();
  await gateway.session("attached");
  await assert.rejects(make(gateway).tap.connect(), { code: "DUPLICATE_INSTANCE" });
  gateway.addon.close();
  await assert.rejects(make(gateway).tap.connect(), /an open gateway/);
});
