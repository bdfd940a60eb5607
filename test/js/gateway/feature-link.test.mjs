// The SDK's provider over the gateway's local link: what tap's own features use (docs/session-link.md,
// "provider.open" and "host.request").

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import net from "node:net";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { GatewayRequests } from "../../../js/feature-host/gateway-requests.mjs";
import { FrameReader, encodeFrame, LinkTransport } from "../../../sdk/node/link.mjs";
import { provider } from "../../../sdk/node/provider.mjs";
import { TestGateway } from "../../support/harness.mjs";
import { waitFor } from "../../support/wait.mjs";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../..");

/** A gateway with a session, and what features need. @param {import("node:test").TestContext} t @param {object} [options] */
async function place(t, options = {}) {
  const gateway = new TestGateway(t, options);
  const where = { link: gateway.listenLink(), token: gateway.addon.issueFeatureToken() };
  const session = await gateway.session("linked");
  /** A feature that is bound. @param {(tap: any) => void} [declare] */
  const feature = async (name, declare = () => {}) => {
    const tap = provider(name, { session: "all", transport: new LinkTransport(where) });
    t.after(() => tap.close());
    declare(tap);
    await tap.connect();
    return tap;
  };
  return { gateway, where, session, feature };
}

/** Without an SDK behind it. @param {import("node:test").TestContext} t @param {string} link */
async function rawLink(t, link) {
  const socket = net.connect(link);
  t.after(() => socket.destroy());
  await once(socket, "connect");
  const reader = new FrameReader();
  const peer = { socket, texts: /** @type {string[]} */ ([]), ended: false };
  socket.on("data", (bytes) => peer.texts.push(...reader.take(bytes)));
  socket.on("error", () => (peer.ended = true));
  socket.on("close", () => (peer.ended = true));
  return {
    peer,
    say: (message) => socket.write(encodeFrame(JSON.stringify(message))),
    next: (type) =>
      waitFor(() => peer.texts.map((text) => JSON.parse(text)).find((one) => one.type === type), {
        intervalMs: 2,
        what: () => `${type} among ${peer.texts.join("\n").slice(0, 2000)}`,
      }),
    ends: () => waitFor(() => peer.ended, { intervalMs: 2, what: "the end of the link" }),
  };
}

test("a feature serves its tools over the link, results of any size included", async (t) => {
  const { session, feature } = await place(t);
  const big = "é".repeat(500_000);
  await feature("tap-echo", (tap) =>
    tap.tool("echo", { description: "Says it." }, ({ size }) => big.slice(0, size)),
  );
  await session.waitFor("tools", ({ set }) => set.some((one) => one.provider === "tap-echo"));
  const sizes = [1, 70_000, 500_000];
  const answers = await Promise.all(sizes.map((size) => session.call("echo", { size })));
  assert.deepEqual(
    answers,
    sizes.map((size) => big.slice(0, size)),
  );
});

test("a feature has its tools in the join of a session that comes later", async (t) => {
  const { gateway, feature } = await place(t);
  await feature("tap-echo", (tap) => tap.tool("echo", { description: "Says it." }, () => "here"));
  const later = await gateway.session("linked", { joined: false });
  const first = await later.waitFor("tools");
  assert.deepEqual(
    first.set.map((one) => one.provider),
    ["tap-echo"],
  );
  assert.equal(await later.call("echo"), "here");
});

test("a hundred features share one token", async (t) => {
  const { gateway, session, feature } = await place(t);
  const all = Array.from({ length: 100 }, (_, i) => i);
  await Promise.all(
    all.map((i) =>
      feature(`tap-${i}`, (tap) => tap.tool(`tool_${i}`, { description: "One of many." }, () => i)),
    ),
  );
  const answers = await Promise.all(all.map((i) => session.call(`tool_${i}`)));
  assert.deepEqual(answers, all.map(String));
  const bystander = await gateway.echo(session);
  await bystander.check();
});

test("a wrong token ends connect(), with the reason", async (t) => {
  const { gateway, where, session } = await place(t);
  const bystander = await gateway.echo(session);
  const tap = provider("tap-x", {
    session: "all",
    transport: new LinkTransport({ ...where, token: `${where.token}0` }),
  });
  await assert.rejects(tap.connect(), /AUTH_FAILED: the feature token is wrong, or was revoked/);
  await tap.close();
  await bystander.check();
  assert.ok(!gateway.log.join("\n").includes(where.token), "a token in the log");
});

test("a token that is revoked ends its features and their requests, and nobody else", async (t) => {
  const { gateway, where, session, feature } = await place(t, { onRequest: () => {} });
  const bystander = await gateway.echo(session);
  const tap = await feature("tap-echo", (it) =>
    it.tool("hang", { description: "Never answers." }, () => new Promise(() => {})),
  );
  tap.on("error", () => {});
  const requests = new GatewayRequests(where);
  const waiting = assert.rejects(requests.request("records.stats"), { code: "DISCONNECTED" });
  await waitFor(() => session.events.some((event) => event.type === "tools"), { what: "tools" });
  const call = session.call("hang");
  await waitFor(() => JSON.parse(gateway.addon.inspect()).sessions[0].callsInFlight === 1, {
    what: "the call",
  });
  gateway.addon.revokeFeatureToken(where.token);
  assert.equal((await call).code, "DISCONNECTED");
  await waiting;
  await assert.rejects(tap.closed, /the feature token is wrong, or was revoked/);
  await bystander.check();
});

test("a feature comes back after its link was lost, and its tools stay", async (t) => {
  const { session, feature, where } = await place(t);
  // A relay that can be cut.
  const sockets = new Set();
  const direct = where.link;
  const relay = net.createServer((near) => {
    const far = net.connect(direct);
    near.pipe(far).pipe(near);
    for (const one of [near, far])
      one.on("error", () => {}).on("close", () => sockets.delete(near));
    sockets.add(near);
  });
  const link = path.join(path.dirname(where.link), "relay");
  await new Promise((resolve) => relay.listen(link, () => resolve(undefined)));
  t.after(() => relay.close());
  where.link = link;
  const tap = await feature("tap-echo", (it) =>
    it.tool("echo", { description: "Says it." }, () => "here"),
  );
  await session.waitFor("tools", ({ set }) => set.some((one) => one.provider === "tap-echo"));
  const again = new Promise((resolve) => tap.on("bound", resolve));
  for (const socket of sockets) socket.destroy();
  await again;
  assert.equal(await session.call("echo"), "here");
});

test("half a frame, and a frame of an impossible size, cost only their link", async (t) => {
  const { gateway, where, session } = await place(t);
  const bystander = await gateway.echo(session);
  const slow = await rawLink(t, where.link);
  const bytes = encodeFrame(JSON.stringify({ type: "provider.open", token: where.token }));
  for (const byte of bytes) slow.peer.socket.write(Buffer.from([byte]));
  await slow.next("sessions");
  slow.peer.socket.write(encodeFrame('{"type":"hello"').subarray(0, 9));
  for (const header of [0, 0xffff_ffff]) {
    const broken = await rawLink(t, where.link);
    broken.say({ type: "provider.open", token: where.token });
    await broken.next("sessions");
    const size = Buffer.alloc(4);
    size.writeUInt32LE(header);
    broken.peer.socket.write(size);
    await broken.ends();
  }
  await bystander.check();
  assert.equal(slow.peer.ended, false, "it may still finish its frame");
});

test("what is not JSON is refused, and the link stays open", async (t) => {
  const { where } = await place(t);
  const raw = await rawLink(t, where.link);
  raw.say({ type: "provider.open", token: where.token });
  await raw.next("sessions");
  raw.peer.socket.write(encodeFrame("{"));
  assert.equal((await raw.next("error")).code, "INVALID_JSON");
  raw.say({ type: "hello", protocolVersion: 2, name: "tap-x", session: "all" });
  await raw.next("hello.ack");
});

test("pings are answered, on both sides", async (t) => {
  const { where, session, feature } = await place(t, {
    limits: { TAP_PROVIDER_PING_MS: "50", TAP_PROVIDER_SILENT_MS: "700" },
  });
  const raw = await rawLink(t, where.link);
  raw.say({ type: "provider.open", token: where.token });
  await raw.next("sessions");
  raw.say({ type: "ping" });
  await raw.next("pong");
  const answer = {};
  await feature("tap-slow", (tap) =>
    tap.tool(
      "slow",
      { description: "Takes its time." },
      () => new Promise((r) => (answer.give = r)),
    ),
  );
  const call = session.call("slow");
  await waitFor(() => answer.give, { what: "the call" });
  const mute = await rawLink(t, where.link);
  mute.say({ type: "provider.open", token: where.token });
  await mute.next("sessions");
  const tools = [{ name: "hang", description: "Hangs." }];
  mute.say({ type: "hello", protocolVersion: 2, name: "tap-mute", session: "all", tools });
  await mute.next("hello.ack");
  void session.call("hang");
  const lines = () =>
    session.events.filter(({ type, text }) => type === "timeline" && /pings/.test(text));
  const [{ text }] = await waitFor(() => lines().length > 0 && lines(), { what: "its line" });
  assert.match(text, /tap-mute/);
  answer.give("done");
  assert.equal(await call, "done");
  assert.equal(lines().length, 1, "the transport of the other has answered");
});

test("a feature that does not read is closed, and others go on", async (t) => {
  const { gateway, where, session } = await place(t, {
    limits: { TAP_MAX_OUTBOUND_BYTES: "65536" },
  });
  const bystander = await gateway.echo(session);
  const raw = await rawLink(t, where.link);
  raw.say({ type: "provider.open", token: where.token });
  const tools = [{ name: "swallow", description: "Swallows it." }];
  raw.say({ type: "hello", protocolVersion: 2, name: "tap-x", session: "all", tools });
  await raw.next("hello.ack");
  raw.peer.socket.pause();
  const text = "x".repeat(100_000);
  const calls = Array.from({ length: 40 }, () => session.call("swallow", { text }));
  for (const { code } of await Promise.all(calls)) assert.equal(code, "DISCONNECTED");
  await bystander.check();
});

test("a gateway that ends says why", async (t) => {
  const { gateway, where } = await place(t);
  const raw = await rawLink(t, where.link);
  raw.say({ type: "provider.open", token: where.token });
  await raw.next("sessions");
  gateway.addon.close(true);
  const { code, reason } = await raw.next("closed");
  assert.deepEqual([code, reason], [1012, "a newer gateway takes over"]);
  await raw.ends();
});

test("frames are read however they are cut", () => {
  const texts = ["{}", '{"a":"é"}', "x".repeat(300_000)];
  const bytes = Buffer.concat(texts.map(encodeFrame));
  for (const size of [1, 3, 4, 5, 1000, bytes.length]) {
    const reader = new FrameReader();
    const read = [];
    for (let at = 0; at < bytes.length; at += size) {
      read.push(...reader.take(bytes.subarray(at, at + size)));
    }
    assert.deepEqual(read, texts);
  }
});

test("the transport loads neither ws nor the addon", () => {
  const program = `
    import { createRequire } from "node:module";
    await import("./sdk/node/provider.mjs");
    await import("./sdk/node/link.mjs");
    await import("./js/feature-host/gateway-requests.mjs");
    const loaded = Object.keys(createRequire(import.meta.url).cache);
    process.stdout.write(JSON.stringify([loaded, process.report?.getReport().sharedObjects]));`;
  const output = execFileSync(process.execPath, ["--input-type=module", "-e", program], {
    cwd: root,
    encoding: "utf8",
  });
  assert.doesNotMatch(output, /node_modules|tap\.node/);
});

/** A feature whose tools are in groups. */
const grouped = (tap) => {
  tap.tool("always", { description: "Always there." }, () => "always");
  tap.tool("query", { description: "Of a group.", group: "records" }, () => "queried");
};
const toolsOf = (event, name) =>
  event.set.find(({ provider: one }) => one === name)?.definitions.map((one) => one.name);

test("a group of tools is turned on in one session, and the promise says so", async (t) => {
  const { gateway, session, feature } = await place(t);
  const other = await gateway.session("linked");
  await feature("tap-records", grouped);
  await session.waitFor("tools", (event) => toolsOf(event, "tap-records")?.length === 1);
  const opened = await gateway.addon.openGroups(session.id, ["records"]);
  assert.deepEqual(opened, { inForce: true, tools: ["query"], reason: "" });
  const event = await session.waitFor("tools", (one) => toolsOf(one, "tap-records")?.length === 2);
  assert.deepEqual(toolsOf(event, "tap-records"), ["always", "query"]);
  assert.deepEqual((await session.waitFor("groups")).names, ["records"]);
  assert.equal(await session.call("query"), "queried");
  assert.ok(!other.events.some(({ type }) => type === "groups"));
  const [seen] = JSON.parse(gateway.addon.inspect()).sessions.filter(({ id }) => id === session.id);
  const [{ characters, ...group }] = seen.groups;
  assert.deepEqual(group, { name: "records", on: true, tools: 1 });
  assert.ok(characters > 20);
});

test("a session that does not confirm its tools ends the wait, with the reason", async (t) => {
  const { gateway, session, feature } = await place(t, { limits: { TAP_TOOLS_IN_FORCE_MS: "50" } });
  await feature("tap-records", grouped);
  await session.waitFor("tools", (event) => toolsOf(event, "tap-records"));
  session.confirms = false;
  assert.deepEqual(await gateway.addon.openGroups(session.id, ["records"]), {
    inForce: false,
    tools: ["query"],
    reason: "the session has not confirmed its tools within 50 ms",
  });
  assert.match((await gateway.addon.openGroups("nobody", ["records"])).reason, /no session/);
  for (const wrong of [undefined, "records", [7]]) {
    assert.throws(() => gateway.addon.openGroups(session.id, wrong), TypeError);
    assert.throws(() => gateway.addon.setGroups(session.id, wrong), TypeError);
  }
});

test("groups that the host names for a new session are part of its first tools", async (t) => {
  const { gateway, feature } = await place(t, {
    onSessionOpened: (id, cwd) => {
      if (cwd === "/grouped") gateway.addon.setGroups(id, ["records"]);
    },
  });
  await feature("tap-records", grouped);
  const chosen = await gateway.session("linked", { joined: false, cwd: "/grouped" });
  assert.deepEqual(toolsOf(await chosen.waitFor("tools"), "tap-records"), ["always", "query"]);
  const plain = await gateway.session("linked", { joined: false });
  assert.deepEqual(toolsOf(await plain.waitFor("tools"), "tap-records"), ["always"]);
  const back = await gateway.session("linked", { joined: false, groups: ["records"] });
  assert.deepEqual(toolsOf(await back.waitFor("tools"), "tap-records"), ["always", "query"]);
});

test("a feature's link asks whether a use would be denied, by rules and by gates", async (t) => {
  const { session, where, feature, gateway } = await place(t);
  const requests = new GatewayRequests(where);
  t.after(() => requests.close());
  const asked = [];
  await feature("tap-guard", (tap) => {
    tap.deny({ tool: "bash", args: "push" }, "ask first").inForce?.catch(() => {});
    const judge = (use) => (asked.push(use.args.command), "not now");
    tap.gate({ tool: "bash", args: "deploy" }, judge).inForce?.catch(() => {});
  });
  await session.waitFor("hooks");
  const may = (command) => ({ session: session.id, tool: "bash", args: { command } });
  assert.deepEqual(await requests.check(may("ls")), { allowed: true });
  const by = "tap-guard";
  const reason = (why) => `tap provider "tap-guard": ${why}`;
  assert.deepEqual(
    await Promise.all(["git push", "deploy"].map((one) => requests.check(may(one)))),
    [
      { allowed: false, reason: reason("ask first"), by },
      { allowed: false, reason: reason("not now"), by },
    ],
  );
  assert.deepEqual(asked, ["deploy"]);
  await assert.rejects(requests.check({ ...may("ls"), session: "nowhere" }), {
    code: "INVALID_SESSION",
    message: 'there is no session "nowhere"',
  });
  await assert.rejects(requests.check({ ...may("ls"), args: /** @type {any} */ ([]) }), {
    code: "INVALID_JSON",
  });
  const other = new GatewayRequests({ ...where, token: gateway.secret });
  t.after(() => other.close());
  await assert.rejects(other.check(may("ls")), {
    code: "DISCONNECTED",
    message: /only a link that a feature token has opened may send permission.check/,
  });
});

test("the requests of a feature are answered again after their link was lost", async (t) => {
  const { where, gateway } = await place(t, {
    onRequest: (/** @type {number} */ number) =>
      gateway.addon.answerRequest(number, '{"result":1}'),
  });
  const direct = where.link;
  const sockets = new Set();
  const relay = net.createServer((near) => {
    const far = net.connect(direct);
    near.pipe(far).pipe(near);
    for (const one of [near, far]) one.on("error", () => {});
    sockets.add(near);
  });
  const link = path.join(path.dirname(direct), "relay");
  await new Promise((resolve) => relay.listen(link, () => resolve(undefined)));
  t.after(() => relay.close());
  const requests = new GatewayRequests({ ...where, link });
  t.after(() => requests.close());
  const may = { session: "nowhere", tool: "bash", args: {} };
  await assert.rejects(requests.check(may), { code: "INVALID_SESSION" });
  for (const socket of sockets) socket.destroy();
  await waitFor(
    () =>
      requests.check(may).then(
        () => false,
        ({ code }) => code === "INVALID_SESSION",
      ),
    { what: "an answer over a new link" },
  );
});
