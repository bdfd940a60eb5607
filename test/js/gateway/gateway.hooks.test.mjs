// Hooks over real connections to a real host: what becomes of them with their provider, and what
// paired providers may not.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Gateway, Session } from "../../support/gateway-host.mjs";
import { TestProvider } from "../../support/provider.mjs";
import { waitFor } from "../../support/wait.mjs";

const DENY = { onPreToolUse: [{ action: "deny", reason: "no" }] };
const GATE = { onPreToolUse: [{ action: "gate", gateId: "g" }] };

/** @type {Gateway} */
let gateway;
before(async () => (gateway = await Gateway.create({ TAP_GATE_MS: "1500" })));
after(() => gateway?.dispose());

async function connected(t, options = {}) {
  const provider = await TestProvider.connect({ port: gateway.port, ...options });
  t.after(() => provider.terminate());
  return provider;
}

async function bound(t, session, name, more = {}) {
  const provider = await connected(t);
  await provider.auth({ token: await gateway.token() });
  await provider.hello({ name, session, ...more });
  return provider;
}

const wanted = (session, value) =>
  waitFor(() => session.hooks?.wanted === value, { what: `hooks: ${value}` });

/** @param {import("node:test").TestContext} t */
async function registered(t) {
  const id = t.name.replaceAll(" ", "-");
  const session = await Session.register(gateway, id);
  t.after(() => session.end());
  return { session, id };
}

// shows: P-HOOK-25
test("rules go with goodbye and with a new hello", async (t) => {
  const { session, id } = await registered(t);
  const provider = await bound(t, id, "ci", { hooks: DENY, context: "CI is green" });
  await wanted(session, true);
  assert.equal((await session.check("bash", {})).deny, 'tap provider "ci": no');
  await provider.hello({ name: "ci", session: id });
  await wanted(session, false);
  assert.deepEqual(await session.check("bash", {}), {});
  assert.equal(await session.prompt(), "");

  await provider.hello({ name: "ci", session: id, hooks: DENY });
  await wanted(session, true);
  provider.send({ type: "goodbye" });
  await wanted(session, false);
  assert.deepEqual(await session.check("bash", {}), {});
});

// shows: P-HOOK-9
test("a rule about a file holds however the file is written", async (t) => {
  const session = await Session.register(gateway, "paths", "/home/ada/shop");
  t.after(() => session.end());
  const rule = { match: { file: "{/etc,src}/**" }, action: "deny", reason: "no" };
  await bound(t, "paths", "ci", { hooks: { onPreToolUse: [rule] } });
  await wanted(session, true);
  for (const path of [
    "/etc/hosts",
    "/tmp/../etc/hosts",
    "//etc//./hosts",
    "../../../etc/hosts",
    `/etc/${"../etc/".repeat(2000)}hosts`,
    "/etc/hosts\0",
    "/tmp/\n/../../etc/hosts",
    "src/a.c",
    "/home/ada/shop/lib/../src/a.c",
  ]) {
    assert.ok((await session.check("edit", { path })).deny, path);
  }
  for (const path of ["/tmp/etc/hosts", "../src/a.c", "/home/ada/shop/srcs/a.c"]) {
    assert.deepEqual(await session.check("edit", { path }), {}, path);
  }
});

// shows: P-TEXT-17
test("contexts are joined in the order in which their providers were bound", async (t) => {
  const { session, id } = await registered(t);
  await bound(t, id, "zebra", { context: "first" });
  const ant = await bound(t, id, "ant", { context: "second" });
  const text = (name, context) => `Context from tap provider "${name}":\n${context}`;
  assert.equal(await session.prompt(), `${text("zebra", "first")}\n\n${text("ant", "second")}`);
  ant.send({ type: "goodbye" });
  await ant.waitForClose();
  assert.equal(await session.prompt(), text("zebra", "first"));
});

// shows: P-HOOK-16
test("a gate whose answer cannot be read at all denies in its time, and serves on", async (t) => {
  const { session, id } = await registered(t);
  const provider = await bound(t, id, "ci", { hooks: GATE });
  await wanted(session, true);
  const verdict = session.check("bash", {});
  await provider.waitFor("gate.check");
  provider.sendRaw('{"type":"gate.result","decision":"allow"');
  assert.equal((await provider.waitFor("error")).code, "INVALID_JSON");
  assert.equal((await verdict).deny, 'tap provider "ci": it did not respond in time');
  const next = session.check("view", {});
  const { callId } = await provider.waitFor(
    ({ type, tool }) => type === "gate.check" && tool === "view",
  );
  provider.send({ type: "gate.result", gateId: "g", callId, decision: "allow" });
  assert.deepEqual(await next, {});
});

// shows: P-HOOK-32
test("an update of hooks or context is acknowledged with a rising revision", async (t) => {
  const { session, id } = await registered(t);
  const provider = await bound(t, id, "ci");
  provider.send({ type: "hooks.update", requestId: "h", sessionId: id, ...GATE });
  const hooks = await provider.waitFor(({ requestId }) => requestId === "h");
  assert.equal(hooks.type, "ack");
  assert.equal(hooks.sessionId, id);
  assert.equal(session.hooks.wanted, true);
  provider.send({ type: "context.update", requestId: "c", sessionId: id, context: "new" });
  const context = await provider.waitFor(({ requestId }) => requestId === "c");
  assert.ok(context.type === "ack" && context.revision > hooks.revision);
  assert.match(await session.prompt(), /new$/);
});

// shows: P-HOOK-30, P-TEXT-8, P-TEXT-16
test("a paired provider appends to sections, and no more", async (t) => {
  const { session, id } = await registered(t);
  const provider = await connected(t);
  provider.send({ type: "auth", mode: "pair", name: "page", session: id });
  const line = await session.shows(/Pairing code: \d{6}$/);
  provider.send({ type: "auth.confirm", code: line.slice(-6) });
  await provider.waitFor("sessions");
  const section = (action) => ({ transforms: { tone: { action, content: "Smile." } } });
  const refused = [
    { hooks: GATE },
    { context: "ambient" },
    { startup_context: "once" },
    ...["prepend", "replace", "callback"].map((action) => ({ hooks: section(action) })),
  ];
  for (const more of refused) {
    await assert.rejects(
      provider.hello({ name: "page", session: id, ...more }),
      /UNAUTHORIZED/,
      JSON.stringify(more),
    );
  }
  await provider.hello({ name: "page", session: id, hooks: section("append") });
  const fenced = /^Text from tap provider "page"\. .*\n```\nSmile\.\n```$/;
  await waitFor(() => fenced.test(session.hooks?.sections[0]?.append), { what: "the text" });
});
