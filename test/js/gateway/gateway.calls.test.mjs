// Calls from a session through the gateway to a provider and back, over real sockets.

import assert from "node:assert/strict";
import test from "node:test";
import { TestGateway } from "../../support/harness.mjs";
import { waitFor } from "../../support/wait.mjs";

for (const way of /** @type {const} */ (["attached", "linked"])) {
  // shows: P-SYNC-1
  test(`${way}: tools of a provider appear, are called, and leave with it`, async (t) => {
    const gateway = new TestGateway(t, {
      limits: { TAP_LIVE_DEBOUNCE_MS: "1", TAP_LIVE_GATHER_MS: "1" },
    });
    const session = await gateway.session(way);
    const provider = await gateway.provider(session, "greeter", {
      greet: ({ name }) => `Hello, ${name}!`,
    });
    const { set } = await session.waitFor("tools", (event) => event.set.length > 0);
    assert.deepEqual(
      set.map((one) => [one.provider, one.definitions.map((tool) => tool.name)]),
      [["greeter", ["greet"]]],
    );
    assert.equal(await session.call("greet", { name: "Alice" }), "Hello, Alice!");
    await provider.close();
    const { drop } = await session.waitFor("tools", (event) => event.drop.length > 0);
    assert.deepEqual(drop, ["greeter"]);
    const failure = await session.call("greet", { name: "Bob" });
    assert.equal(failure.code, "DISCONNECTED");
  });

  // shows: P-CALL-7, P-ORDER-1
  test(`${way}: of 10,000 calls each settles once with its own answer`, async (t) => {
    const total = 10_000;
    const gateway = new TestGateway(t, { limits: { TAP_MAX_CALLS: String(total) } });
    const session = await gateway.session(way);
    // Answers come back in another order than the calls went out.
    const late = [];
    const provider = await gateway.stranger();
    provider.onMessage((message) => {
      if (message.type !== "tool.call") return;
      late.push(message);
      if (late.length < 100) return;
      for (const { id, args } of late.splice(0).reverse()) provider.result(id, `n${args.n}`);
    });
    const tools = [{ name: "count", description: "", parameters: {} }];
    await provider.hello({ name: "counter", session: session.id, tools });
    const settled = new Map();
    const calls = Array.from({ length: total }, (_, n) =>
      session.call("count", { n }).then((answer) => {
        settled.set(n, (settled.get(n) ?? 0) + 1);
        return answer;
      }),
    );
    const answers = await Promise.all(calls);
    answers.forEach((answer, n) => assert.equal(answer, `n${n}`));
    assert.equal(settled.size, total);
    assert.ok([...settled.values()].every((times) => times === 1));
  });

  test(`${way}: a provider that dies fails its calls, and nobody else's`, async (t) => {
    const gateway = new TestGateway(t);
    const session = await gateway.session(way);
    const bystander = await gateway.echo(session);
    const asked = [];
    const mortal = await gateway.provider(session, "mortal", {
      hang: (_args, call) => new Promise(() => asked.push(call.id)),
    });
    const calls = [session.call("hang"), session.call("hang")];
    await waitFor(() => asked.length === 2);
    mortal.terminate();
    for (const failure of await Promise.all(calls)) {
      assert.equal(failure.code, "DISCONNECTED");
      assert.match(failure.text, /mortal/);
    }
    await bystander.check();
  });

  // shows: P-CALL-11
  test(`${way}: a call is cancelled, or times out, and the provider hears of it`, async (t) => {
    const gateway = new TestGateway(t);
    const session = await gateway.session(way);
    const provider = await gateway.stranger();
    const tools = [
      { name: "slow", description: "", parameters: {}, timeout: 30 },
      { name: "endless", description: "", parameters: {} },
    ];
    await provider.hello({ name: "slow", session: session.id, tools });
    const timedOut = await session.call("slow", {}, 30);
    assert.equal(timedOut.code, "TIMEOUT");
    assert.equal((await provider.waitFor("tool.cancel")).reason, "timeout");
    const pending = session.start("endless");
    const { id } = await provider.waitFor((message) => message.tool === "endless");
    session.link.cancel(pending.id, "enough");
    assert.equal((await pending.result).code, "CANCELLED");
    assert.equal((await provider.waitFor("tool.cancel")).id, id);
    provider.result(id, "too late");
    assert.equal(JSON.parse(gateway.addon.inspect()).providers[0].name, "slow");
  });

  // shows: P-CONN-16
  test(`${way}: a gateway that closes settles what is open`, async (t) => {
    const gateway = new TestGateway(t);
    const session = await gateway.session(way);
    const provider = await gateway.provider(session, "idler", {
      hang: () => new Promise(() => {}),
    });
    const call = session.call("hang");
    await provider.waitFor("tool.call");
    gateway.addon.close();
    assert.equal((await call).code, "DISCONNECTED");
    assert.equal((await session.waitForClose()).silent, false);
    assert.equal((await provider.waitForClose()).code, 1001);
    assert.equal((await session.call("hang")).code, "DISCONNECTED");
  });
}

// shows: P-CONN-16
test("a gateway that restarts says so to providers", async (t) => {
  const gateway = new TestGateway(t);
  const provider = await gateway.stranger();
  gateway.addon.close(true);
  assert.equal((await provider.waitForClose()).code, 1012);
});

// shows: P-ORDER-2
test("a session that answers events at once disturbs no order", async (t) => {
  const gateway = new TestGateway(t);
  const session = await gateway.session();
  // The line that announces a provider is sent before its hello.ack: a call from there must not
  // reach the provider first.
  const answers = [];
  const receive = session.events.push.bind(session.events);
  session.events.push = (event) => {
    if (event.type === "timeline") answers.push(session.call("quick"));
    return receive(event);
  };
  const provider = await gateway.provider(session, "quick", { quick: () => "done" });
  assert.equal(await answers[0], "done");
  assert.deepEqual(
    provider.received.map((message) => message.type),
    ["sessions", "hello.ack", "session.lifecycle", "tool.call"],
  );
});

test("pushes reach the session, each in its way", async (t) => {
  const gateway = new TestGateway(t);
  const session = await gateway.session();
  const provider = await gateway.provider(session, "watcher", {});
  provider.push("keep", "kept");
  provider.push("surface", "line one\u001b[2J", { stream: "news" });
  provider.push("inject", "please ``` look");
  const { prompt } = await session.waitFor("inject");
  assert.match(prompt, /````\nplease ``` look\n````/);
  const texts = session.events.filter((event) => event.type === "timeline").map((one) => one.text);
  assert.ok(
    texts.some((text) => text.includes("watcher/news: line one") && !text.includes("\u001b")),
  );
  assert.ok(!texts.some((text) => text.includes("kept")));
});
