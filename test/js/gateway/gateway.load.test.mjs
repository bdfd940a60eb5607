// Peers that take more than their share, by number, by rate or by not reading: bounded, told why,
// and nobody else's business.

import assert from "node:assert/strict";
import net from "node:net";
import os from "node:os";
import test from "node:test";
import { TestGateway } from "../../support/harness.mjs";
import { frame, opcodes, RawClient } from "../../support/raw-client.mjs";
import { TestProvider } from "../../support/provider.mjs";
import { waitFor } from "../../support/wait.mjs";

const MB = 1024 * 1024;
const TOOL = { name: "work", description: "", parameters: {} };

/** @param {number} port @param {string} host @returns {Promise<string>} "open", or the error's code */
function dial(port, host) {
  return new Promise((resolve) => {
    const socket = net.connect({ port, host, timeout: 2000 });
    const done = (outcome) => {
      socket.destroy();
      resolve(outcome);
    };
    socket.on("connect", () => done("open"));
    socket.on("error", (error) => done(error.code));
    socket.on("timeout", () => done("timeout"));
  });
}

// shows: P-CONN-1
test("the port is open on the loopback addresses and nowhere else", async (t) => {
  const gateway = new TestGateway(t);
  assert.equal(await dial(gateway.port, "127.0.0.1"), "open");
  assert.equal(await dial(gateway.port, "::1"), "open");
  const others = Object.values(os.networkInterfaces())
    .flat()
    .filter(({ internal }) => !internal)
    .map(({ address, family, scopeid }) => (family === "IPv6" && scopeid ? undefined : address));
  for (const address of ["127.0.0.2", ...others.filter(Boolean)]) {
    assert.notEqual(await dial(gateway.port, address), "open", address);
  }
});

for (const host of ["127.0.0.1", "::1"]) {
  test(`a port that is taken on ${host} is taken`, async (t) => {
    const squatter = net.createServer().listen({ port: 0, host, ipv6Only: true });
    t.after(() => squatter.close());
    await new Promise((resolve) => squatter.once("listening", resolve));
    const { port } = /** @type {net.AddressInfo} */ (squatter.address());
    const gateway = new TestGateway(t, { listen: false });
    assert.throws(() => gateway.addon.listen(port), { code: "EADDRINUSE" });
    const other = host === "::1" ? "127.0.0.1" : "::1";
    assert.equal(await dial(port, other), "ECONNREFUSED", "the other address is let go");
  });
}

test("two gateways cannot have one port", (t) => {
  const { port } = new TestGateway(t);
  const late = new TestGateway(t, { listen: false });
  assert.throws(() => late.addon.listen(port), { code: "EADDRINUSE" });
});

// shows: P-LIMIT-4
test("a connection over the limit is refused, and one that leaves makes room", async (t) => {
  const gateway = new TestGateway(t);
  const session = await gateway.session();
  const bystander = await gateway.echo(session);
  const others = await Promise.all(Array.from({ length: 49 }, () => gateway.stranger()));
  const late = await RawClient.open(t, gateway.port);
  await late.end();
  assert.match(late.response, /^HTTP\/1.1 503 /);
  assert.deepEqual(Object.keys(JSON.parse(late.body)), ["program", "error"]);
  assert.match(late.body, /"program":"tap".*too many/);
  await assert.rejects(TestProvider.connect({ port: gateway.port }));
  await bystander.check();
  await others[0].close();
  const next = await waitFor(() => gateway.stranger(), { what: "room for another provider" });
  await next.hello({ name: "next", session: session.id });
  await bystander.check();
});

// shows: P-LIMIT-12
test("a provider that stops reading is closed, and others are answered meanwhile", async (t) => {
  const gateway = new TestGateway(t, { limits: { TAP_MAX_OUTBOUND_BYTES: String(4 * MB) } });
  const session = await gateway.session();
  const bystander = await gateway.echo(session);
  const client = await RawClient.bound(t, gateway, session, "deaf", [TOOL]);
  client.socket.pause();
  // It gets as much as the system buffers and the cap hold together; then the gateway closes it.
  const args = { text: "x".repeat(MB) };
  const before = process.memoryUsage().rss;
  const calls = [];
  let settled = 0;
  while (settled === 0 && calls.length < 200) {
    calls.push(session.call("work", args).finally(() => ++settled));
    await bystander.check();
  }
  const failures = await Promise.all(calls);
  assert.ok(failures.every(({ code }) => code === "DISCONNECTED"));
  assert.match(failures[0].text, /does not read/);
  assert.ok(calls.length < 50, `${calls.length} calls of 1 MB were taken`);
  assert.ok(process.memoryUsage().rss - before < 300 * MB);
  await bystander.check();
});

test("a provider that pings and does not read is closed", async (t) => {
  const gateway = new TestGateway(t, { limits: { TAP_MAX_OUTBOUND_BYTES: String(MB) } });
  const session = await gateway.session();
  const bystander = await gateway.echo(session);
  const args = { text: "x".repeat(64 * 1024) };
  /** Calls of 64 KB until that many were taken, or the provider is closed. */
  const fill = async (name, most) => {
    const client = await RawClient.bound(t, gateway, session, name, [{ ...TOOL, name }]);
    client.socket.pause();
    let settled = 0;
    let taken = 0;
    for (; settled === 0 && taken < most; ++taken) {
      session.call(name, args).then(() => ++settled);
      await bystander.check();
    }
    return { client, taken };
  };
  // How much the system and the cap hold together; then so much that little is left for pongs.
  const { taken } = await fill("first", 1000);
  const { client } = await fill("second", taken - 4);
  // One for each read: of several in one read only the last is answered.
  const ping = frame("p".repeat(125), { opcode: opcodes.ping });
  const flood = () => {
    if (client.socket.destroyed) return;
    if (client.socket.writableLength === 0) client.socket.write(ping);
    setImmediate(flood);
  };
  flood();
  await waitFor(() => client.error, { what: "the pinger's end" });
  await bystander.check();
});

// shows: P-LIMIT-11
test("a flood of pushes is slowed, then closed; others are answered meanwhile", async (t) => {
  const limits = {
    TAP_MESSAGE_BURST: "20",
    TAP_MESSAGES_PER_SECOND: "100",
    TAP_THROTTLE_MS: "300",
  };
  const gateway = new TestGateway(t, { limits });
  const session = await gateway.session();
  const bystander = await gateway.echo(session);
  const client = await RawClient.bound(t, gateway, session, "flooder");
  const push = frame(JSON.stringify({ type: "push", level: "keep", event: "x".repeat(1000) }));
  const flood = Buffer.concat(Array(64).fill(push));
  let checks = 0;
  while (!client.ended) {
    // As fast as it is read, and no faster.
    if (client.socket.writableLength < MB) client.write(flood);
    await bystander.check();
    ++checks;
    assert.ok(checks < 1_000_000, "it is never closed");
  }
  assert.ok(gateway.log.some((line) => /flooder.*slowed/.test(line)));
  // One beside many pieces of the flood: a call that waited for its end would be the only one.
  assert.ok(checks > 3, `only ${checks} calls of another provider were answered`);
  await bystander.check();
});

test("answers to calls are not counted as a flood", async (t) => {
  const limits = { TAP_MESSAGE_BURST: "5", TAP_MESSAGES_PER_SECOND: "1", TAP_THROTTLE_MS: "100" };
  const gateway = new TestGateway(t, { limits });
  const session = await gateway.session();
  const bystander = await gateway.echo(session);
  for (let i = 0; i < 500; ++i) await bystander.check();
  assert.ok(!gateway.log.some((line) => line.includes("slowed")));
});

test("thousands of quick connections leave nothing behind", async (t) => {
  const gateway = new TestGateway(t);
  const session = await gateway.session();
  const bystander = await gateway.echo(session);
  let dropped = 0;
  const hurry = () =>
    new Promise((resolve) => {
      const socket = net.connect(gateway.port, "127.0.0.1");
      socket.on("connect", () => (dropped++ % 2 ? socket.destroy() : socket.resetAndDestroy()));
      socket.on("error", () => {});
      socket.on("close", resolve);
    });
  for (let round = 0; round < 40; ++round) {
    await Promise.all(Array.from({ length: 50 }, hurry));
    await bystander.check();
  }
  assert.equal(dropped, 2000);
  await waitFor(() => gateway.stranger(), { what: "room for a provider" });
});
