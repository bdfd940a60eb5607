// Messages that are well framed and wrong in themselves: refused with a code and a reason, and
// nobody else notices.

import assert from "node:assert/strict";
import test from "node:test";
import { TestGateway } from "../../support/harness.mjs";
import { frame, RawClient } from "../../support/raw-client.mjs";
import { TestProvider } from "../../support/provider.mjs";

const MB = 1024 * 1024;
const TOOL = { name: "work", description: "", parameters: {} };

/** @param {import("node:test").TestContext} t */
async function setUp(t, limits = {}) {
  const gateway = new TestGateway(t, { limits });
  const session = await gateway.session();
  return { gateway, session, bystander: await gateway.echo(session) };
}

// shows: P-CONN-5
test("text that is no JSON costs its sender an answer, not the connection", async (t) => {
  const { gateway, session, bystander } = await setUp(t);
  const client = await RawClient.bound(t, gateway, session, "writer");
  const texts = [
    "",
    " ",
    "{",
    "}",
    "{}{}",
    '{"type":"push",}',
    "{'type':'push'}",
    '{"type":"push" "level":"keep"}',
    '{"type":"pu\nsh"}',
    '{"type":"\\x41"}',
    '{"type":"\\ud8"}',
    '{"a":01}',
    '{"a":1.}',
    '{"a":+1}',
    '{"a":NaN}',
    '{"a":tru}',
    '{"a":undefined}',
    "\ufeff{}",
    "/* */{}",
    "[]",
    '"auth"',
    "null",
    "0",
    "{}",
    '{"type":7}',
    `{"a":${"[".repeat(1_000_000)}`,
    `{"a":${"[".repeat(5000)}${"]".repeat(5000)}}`,
    `${'{"a":'.repeat(5000)}1${"}".repeat(5000)}`,
  ];
  for (const [index, text] of texts.entries()) {
    client.write(frame(text));
    const errors = () => client.messages.filter(({ type }) => type === "error");
    await client.message("error", () => errors().length > index);
    assert.equal(errors()[index].code, "INVALID_JSON", text.slice(0, 60));
    assert.match(errors()[index].message, /./);
  }
  client.say({ type: "no.such.type" });
  assert.equal(
    (await client.message("error", ({ code }) => code !== "INVALID_JSON")).code,
    "UNKNOWN_TYPE",
  );
  client.say({ type: "push", level: "surface", event: "still here" });
  await session.waitFor("timeline", ({ text }) => text.includes("still here"));
  await bystander.check();
});

// shows: P-LIMIT-1
test("a message of 5 MiB is read, one byte more is refused, and the connection lives", async (t) => {
  const { gateway, session, bystander } = await setUp(t);
  const provider = await gateway.stranger();
  const answer = (id, size) => {
    const head = `{"type":"tool.result","id":"${id}","data":"`;
    provider.sendRaw(`${head}${"x".repeat(size - head.length - 2)}"}`);
    return size - head.length - 2;
  };
  await provider.hello({ name: "large", session: session.id, tools: [TOOL] });
  const next = async () => {
    const call = session.call("work");
    return { call, id: (await provider.waitFor("tool.call")).id };
  };
  const fits = await next();
  const length = answer(fits.id, 5 * MB);
  assert.equal((await fits.call).length, length);
  const over = await next();
  answer(over.id, 5 * MB + 1);
  assert.equal((await provider.waitFor("error")).code, "PAYLOAD_TOO_LARGE");
  // It may have been the answer to the one call that was pending.
  assert.equal((await over.call).code, "PAYLOAD_TOO_LARGE");
  const far = await next();
  answer(far.id, 40 * MB);
  assert.equal((await far.call).code, "PAYLOAD_TOO_LARGE");
  const again = await next();
  provider.result(again.id, "fine");
  assert.equal(await again.call, "fine");
  await bystander.check();
});

// shows: P-LIMIT-1
test("other messages may have 2 MiB", async (t) => {
  const { gateway, session } = await setUp(t);
  const provider = await gateway.provider(session, "pusher", {});
  const push = (size) => {
    const head = '{"type":"push","level":"surface","event":"';
    provider.sendRaw(`${head}${"y".repeat(size - head.length - 2)}"}`);
  };
  push(2 * MB + 1);
  const error = await provider.waitFor("error");
  assert.equal(error.code, "PAYLOAD_TOO_LARGE");
  assert.equal(error.replyTo, "push");
  push(2 * MB);
  await session.waitFor("timeline", ({ text }) => text.includes("yyy"));
});

// shows: P-INPUT-2
test("a large unreadable answer while several calls are pending ends the provider", async (t) => {
  const { gateway, session, bystander } = await setUp(t);
  const provider = await gateway.stranger();
  await provider.hello({ name: "ambiguous", session: session.id, tools: [TOOL] });
  const calls = [session.call("work"), session.call("work")];
  await provider.waitFor("tool.call");
  await provider.waitFor("tool.call");
  provider.sendRaw("{ not json");
  for (const failure of await Promise.all(calls)) assert.equal(failure.code, "DISCONNECTED");
  assert.equal((await provider.waitForClose()).code, 1008);
  await bystander.check();
});

// shows: P-CONN-8, P-AUTH-6
test("who is not known gets no further", async (t) => {
  const { gateway, session, bystander } = await setUp(t);
  const fatal = async (t, send, options = {}) => {
    const provider = await TestProvider.connect({ port: gateway.port, ...options });
    t.after(() => provider.terminate());
    send(provider);
    const error = await provider.waitFor("error");
    assert.equal(error.code, "AUTH_FAILED");
    assert.equal((await provider.waitForClose()).code, 1008);
    assert.ok(!JSON.stringify(provider.received).includes(gateway.token));
    return error;
  };
  const auth = { type: "auth", token: gateway.token };
  const refused = {
    "a wrong token": (p) => p.send({ ...auth, token: `${gateway.token}x` }),
    "an empty token": (p) => p.send({ ...auth, token: "" }),
    "a token that is no text": (p) => p.send({ ...auth, token: 1 }),
    "hello before auth": (p) =>
      p.send({ type: "hello", name: "x", protocolVersion: 2, session: session.id }),
    "no JSON": (p) => p.sendRaw("hi"),
    "an unknown type": (p) => p.send({ type: "help" }),
    "too large a message": (p) => p.sendRaw("x".repeat(6 * MB)),
  };
  for (const [what, send] of Object.entries(refused)) await t.test(what, (t) => fatal(t, send));
  await t.test("a web page, even with the token", (t) =>
    fatal(t, (p) => p.send(auth), { origin: "http://localhost:3000" }),
  );
  assert.ok(!gateway.log.join("\n").includes(gateway.token), "a token in the log");
  await bystander.check();
});

// shows: P-CONN-13
test("who never authenticates is closed, who has is not", async (t) => {
  const gateway = new TestGateway(t, { limits: { TAP_AUTH_MS: "40" } });
  const session = await gateway.session();
  const patient = await gateway.stranger();
  const silent = await TestProvider.connect({ port: gateway.port });
  t.after(() => silent.terminate());
  assert.equal((await silent.waitFor("error")).code, "AUTH_FAILED");
  assert.equal((await silent.waitForClose()).code, 1008);
  await patient.hello({ name: "patient", session: session.id });
});

// shows: P-HELLO-10
test("hello is refused for its tools, and may be sent again", async (t) => {
  const { gateway, session, bystander } = await setUp(t);
  const provider = await gateway.stranger();
  const hello = (tools, fields = {}) =>
    provider.hello({ name: "tester", session: session.id, tools, ...fields });
  const named = (name) => ({ ...TOOL, name });
  const list = (count) => Array.from({ length: count }, (_, i) => named(`tool_${i}`));
  const cases = {
    "101 tools": [list(101), "PAYLOAD_TOO_LARGE"],
    "no name": [[{ description: "" }], "INVALID_JSON"],
    "an empty name": [[named("")], "INVALID_JSON"],
    "a blank in a name": [[named("a b")], "INVALID_JSON"],
    "a dot in a name": [[named("a.b")], "INVALID_JSON"],
    "a letter that is not ASCII": [[named("größe")], "INVALID_JSON"],
    "65 characters": [[named("x".repeat(65))], "INVALID_JSON"],
    "one name twice": [[named("same"), named("same")], undefined],
    "tap's own name": [[named("tap_status")], "TOOL_CONFLICT"],
    "the name of another provider's tool": [[named(bystander.tool)], "TOOL_CONFLICT"],
    "parameters that are no object schema": [
      [{ ...TOOL, parameters: { type: "string" } }],
      "INVALID_JSON",
    ],
    "parameters that are no object": [[{ ...TOOL, parameters: [] }], "INVALID_JSON"],
    "a tool that is no object": [["tool"], "INVALID_JSON"],
    "tools that are no list": [{}, "INVALID_JSON"],
  };
  for (const [what, [tools, code]] of Object.entries(cases)) {
    await t.test(what, () =>
      assert.rejects(hello(tools), code ? { code } : /INVALID_JSON|TOOL_CONFLICT/),
    );
  }
  await t.test("no such session", () =>
    assert.rejects(hello([TOOL], { session: "elsewhere" }), { code: "INVALID_SESSION" }),
  );
  await t.test("100 tools with names of 64 characters", () =>
    hello(list(100).map(({ name }) => named(name.padEnd(64, "-")))),
  );
  await t.test("another protocol version ends the connection", async () => {
    const other = await gateway.stranger();
    const refused = other.hello({ name: "other", session: session.id, protocolVersion: 3 });
    await assert.rejects(refused, { code: "UNSUPPORTED_VERSION" });
    assert.equal((await other.waitForClose()).code, 1008);
  });
  await bystander.check();
});

// shows: P-CALL-8
test("a result nobody asked for, or twice, changes nothing", async (t) => {
  const { gateway, session, bystander } = await setUp(t);
  const provider = await gateway.stranger();
  await provider.hello({ name: "twice", session: session.id, tools: [TOOL] });
  const thief = await gateway.provider(session, "thief", {});
  const call = session.call("work");
  const { id } = await provider.waitFor("tool.call");
  thief.result(id, "stolen");
  await bystander.check();
  provider.result("unknown", "?");
  provider.result(id, "first");
  provider.result(id, "second");
  assert.equal(await call, "first");
  await bystander.check();
});
