// The link between a session and the gateway, with what should not come over it.

import assert from "node:assert/strict";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import test from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { addon } from "../../../js/lib/addon.mjs";
import { registration, temporaryFolder, TestGateway, TestSession } from "../../support/harness.mjs";
import { RawClient } from "../../support/raw-client.mjs";
import { waitFor } from "../../support/wait.mjs";

/** A link without a SessionPort behind it. */
async function rawLink(t, link) {
  const socket = net.connect(link);
  t.after(() => socket.destroy());
  await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  const peer = { socket, bytes: Buffer.alloc(0), ended: false };
  socket.on("data", (bytes) => (peer.bytes = Buffer.concat([peer.bytes, bytes])));
  socket.on("error", () => (peer.ended = true));
  socket.on("close", () => (peer.ended = true));
  return peer;
}

/** @param {string} text */
function linkFrame(text) {
  const header = Buffer.alloc(4);
  header.writeUInt32LE(Buffer.byteLength(text));
  return Buffer.concat([header, Buffer.from(text)]);
}

/** @param {any} t @param {"linked" | "attached"} [way] */
async function setUp(t, way = "linked") {
  const gateway = new TestGateway(t);
  gateway.listenLink();
  const session = await gateway.session(way);
  return { gateway, session, bystander: await gateway.echo(session) };
}

test("a wrong secret is refused, and the link closed", async (t) => {
  const { gateway, bystander } = await setUp(t);
  for (const secret of ["", "wrong", `${gateway.secret}x`, gateway.secret.slice(1)]) {
    const intruder = new TestSession();
    t.after(() => intruder.close());
    await intruder.connect(gateway.link);
    intruder.register({ secret });
    assert.equal((await intruder.waitFor("refused")).code, "SECRET");
    await intruder.waitForClose();
    assert.ok(!intruder.events.some(({ type }) => type === "welcome"));
  }
  assert.ok(!gateway.log.join("\n").includes(gateway.secret), "a secret in the log");
  await bystander.check();
});

test("another link version is refused", async (t) => {
  const { gateway, bystander } = await setUp(t);
  const other = new TestSession();
  t.after(() => other.close());
  await other.connect(gateway.link);
  other.register({ secret: gateway.secret, linkVersion: addon.linkVersion + 1 });
  assert.equal((await other.waitFor("refused")).code, "LINK_VERSION");
  await other.waitForClose();
  await bystander.check();
});

test("who does not register first is refused", async (t) => {
  const { gateway, bystander } = await setUp(t);
  const hasty = new TestSession();
  t.after(() => hasty.close());
  await hasty.connect(gateway.link);
  hasty.send({ type: "activity", activity: "idle" });
  assert.equal((await hasty.waitFor("refused")).code, "NOT_REGISTERED");
  await hasty.waitForClose();
  await bystander.check();
});

test("a second process of one session replaces the first", async (t) => {
  const { gateway, session, bystander } = await setUp(t);
  const second = new TestSession();
  t.after(() => second.close());
  second.id = session.id;
  await second.connect(gateway.link);
  second.register({ secret: gateway.secret });
  await second.waitFor("welcome");
  assert.equal((await session.waitFor("refused")).code, "REPLACED");
  await session.waitForClose();
  assert.equal(await second.call(bystander.tool, { say: "moved" }), "moved");
});

test("an attached session that another one replaces is told so before it ends", async (t) => {
  const { gateway, session } = await setUp(t, "attached");
  const second = new TestSession();
  t.after(() => second.close());
  second.id = session.id;
  second.attach(gateway.addon);
  second.register({ secret: gateway.secret });
  assert.equal((await session.waitFor("refused")).code, "REPLACED");
  await session.waitForClose();
});

test("a port that is over is collected, though its handlers know it", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc");
  const used = () =>
    new Promise((resolve) => {
      const port = new addon.SessionPort({ onClosed: () => resolve(new WeakRef(port)) });
      port.connect("/nowhere/link");
    });
  const closed = () => {
    const port = new addon.SessionPort({ onClosed: () => port });
    port.connect("/nowhere/link");
    port.close();
    return new WeakRef(port);
  };
  const ports = [await used(), closed()];
  const gone = () => {
    collect();
    return ports.every((port) => port.deref() === undefined);
  };
  await waitFor(gone, { what: () => `an end to ${ports.filter((port) => port.deref()).length}` });
});

const garbage = {
  "a frame of 4 GB": [Buffer.from([255, 255, 255, 255, 1]), true],
  "a frame of 81 MB": [Buffer.from([0, 0, 16, 5]), true],
  "an empty frame": [Buffer.alloc(4), true],
  "text without frames": [Buffer.from("GET / HTTP/1.1\r\n\r\n"), true],
  "no JSON": [linkFrame("{nonsense"), false],
  "no object": [linkFrame("[]"), false],
  "an unknown type": [linkFrame('{"type":"nothing"}'), false],
  "half a registration": [linkFrame('{"type":"register","linkVersion":2}'), false],
  "a nesting bomb": [linkFrame(`{"type":${"[".repeat(100_000)}`), false],
  "half a frame": [linkFrame('{"type":"ping"}').subarray(0, 9), false],
};
test("garbage on the link", async (t) => {
  const { gateway, bystander } = await setUp(t);
  for (const [what, [bytes, closed]] of Object.entries(garbage)) {
    await t.test(`${what}${closed ? ": closed" : ""}`, async (t) => {
      const peer = await rawLink(t, gateway.link);
      const logged = gateway.log.length;
      peer.socket.write(bytes);
      if (closed) await waitFor(() => peer.ended, { what: "the end of the link" });
      else if (what !== "half a frame") await waitFor(() => gateway.log.length > logged);
      await bystander.check();
    });
  }
  await bystander.check();
});

test("a registered session that sends garbage keeps its providers", async (t) => {
  const { gateway } = await setUp(t);
  const peer = await rawLink(t, gateway.link);
  const message = registration({ secret: gateway.secret, sessionId: "odd" });
  peer.socket.write(linkFrame(JSON.stringify(message)));
  await waitFor(() => peer.bytes.includes("welcome"));
  const provider = await gateway.stranger();
  await provider.hello({ name: "loyal", session: "odd" });
  peer.socket.write(Buffer.from([255, 255, 255, 255]));
  await waitFor(() => peer.ended);
  // The session lingers: its process may come back.
  const back = new TestSession();
  t.after(() => back.close());
  back.id = "odd";
  await back.connect(gateway.link);
  back.register({ secret: gateway.secret });
  await back.waitFor("welcome");
  const [{ name, bindings }] = JSON.parse(gateway.addon.inspect()).providers;
  assert.deepEqual([name, bindings[0].session], ["loyal", "odd"]);
  assert.equal(provider.closed, undefined);
});

test("a frame cut anywhere is one frame", async (t) => {
  const { gateway } = await setUp(t);
  const peer = await rawLink(t, gateway.link);
  peer.socket.setNoDelay(true);
  const bytes = linkFrame(JSON.stringify(registration({ secret: gateway.secret, label: "é🦊" })));
  for (const byte of bytes) {
    peer.socket.write(Buffer.from([byte]));
    await new Promise(setImmediate);
  }
  await waitFor(() => peer.bytes.includes("welcome"));
});

test("a gateway that does not answer is noticed, and its calls settle", async (t) => {
  const link = path.join(temporaryFolder(t), "link");
  // It accepts and never says a word.
  const hung = net.createServer((socket) => socket.resume()).listen(link);
  t.after(() => hung.close());
  await new Promise((resolve) => hung.once("listening", resolve));
  process.env.TAP_PING_MS = "20";
  process.env.TAP_LINK_DEAD_MS = "60";
  const session = new TestSession();
  delete process.env.TAP_PING_MS;
  delete process.env.TAP_LINK_DEAD_MS;
  t.after(() => session.close());
  await session.connect(link);
  const call = session.call("anything");
  assert.equal((await session.waitForClose()).silent, true);
  assert.equal((await call).code, "DISCONNECTED");
});

test("a link that is not there: closed, with a reason", async (t) => {
  const folder = temporaryFolder(t);
  const stale = path.join(folder, "stale");
  fs.writeFileSync(stale, "");
  for (const link of [path.join(folder, "none"), stale, path.join(folder, "x".repeat(300))]) {
    const session = new TestSession();
    await assert.rejects(session.connect(link), /./);
    assert.equal(session.closed?.silent, false);
    assert.equal((await session.call("anything")).code, "DISCONNECTED");
  }
});

test("the link's path: taken, or longer than a socket's may be", (t) => {
  const gateway = new TestGateway(t);
  const link = gateway.listenLink();
  const other = new TestGateway(t);
  assert.throws(() => other.addon.listenLink(link), { code: "EADDRINUSE" });
  assert.throws(() => other.addon.listenLink(`/tmp/${"x".repeat(120)}`), { code: "ENAMETOOLONG" });
  gateway.addon.close();
  assert.ok(!fs.existsSync(link), "the socket is removed with its gateway");
});

test("the classes refuse what they cannot use", async (t) => {
  const gateway = new TestGateway(t);
  assert.throws(() => new addon.Gateway(), TypeError);
  assert.throws(() => new addon.SessionPort(), TypeError);
  /** @type {(pairs: any[]) => void} */
  let settle = () => {};
  const settled = new Promise((resolve) => (settle = resolve));
  const port = new addon.SessionPort({ onSettled: (...pairs) => settle(pairs) });
  for (const wrong of [undefined, null, {}, port, "gateway"]) {
    assert.throws(() => port.attach(wrong), TypeError);
  }
  assert.throws(() => port.connect(undefined), TypeError);
  for (const wrong of [undefined, -1, 65536, "80", NaN]) {
    assert.throws(() => gateway.addon.listen(wrong), RangeError);
  }
  assert.throws(() => port.send("no JSON"), TypeError);
  port.attach(gateway.addon);
  assert.throws(() => port.attach(gateway.addon), /in use/);
  for (const wrong of [
    ["1", "tap_status", "{}"],
    [1, undefined, "{}"],
    [1, "tap_status", {}],
  ]) {
    assert.throws(() => port.call(...wrong), TypeError);
  }
  port.call(1, "tap_status", "{}");
  const [id, outcome] = await settled;
  assert.equal(id, 1);
  assert.equal(outcome.code, "DISCONNECTED", "it has not registered");
  port.close();
  gateway.addon.close();
  gateway.addon.close();
  assert.throws(() => new addon.SessionPort({}).attach(gateway.addon), TypeError);
  assert.throws(() => gateway.addon.listen(0), { code: "ESHUTDOWN" });
});

test("a port refuses the id of a call that waits", async (t) => {
  const port = new addon.SessionPort({ onConnected: () => connected() });
  /** @type {() => void} */
  let connected = () => {};
  t.after(() => port.close());
  await new Promise((resolve) => {
    connected = () => resolve(undefined);
    port.connect(new TestGateway(t).listenLink());
  });
  port.call(1, "tap_status", "{}");
  assert.throws(() => port.call(1, "tap_status", "{}"), /used twice/);
});

test("a gateway may be closed from its own callbacks", async (t) => {
  const gateway = new TestGateway(t);
  const session = await gateway.session("linked");
  const attached = await gateway.session();
  const provider = await gateway.provider(session, "trigger", { boom: () => "never" });
  const push = gateway.log.push.bind(gateway.log);
  gateway.log.push = (line) => {
    if (line.includes("last words")) gateway.addon.close();
    return push(line);
  };
  provider.push("surface", "last words");
  await session.waitForClose();
  await attached.waitForClose();
  assert.equal((await provider.waitForClose()).code, 1001);
});

test("descriptors are back where they were after 2,000 providers and 200 sessions", async (t) => {
  const gateway = new TestGateway(t, { limits: { TAP_MAX_SESSIONS: "300" } });
  const session = await gateway.session("linked");
  const bystander = await gateway.echo(session);
  const descriptors = () => fs.readdirSync("/proc/self/fd").length;
  await (await gateway.session("linked")).close();
  const before = descriptors();
  for (let round = 0; round < 80; ++round) {
    const clients = await Promise.all(
      Array.from({ length: 25 }, () => RawClient.upgraded({ after() {} }, gateway.port)),
    );
    for (const [i, { socket }] of clients.entries()) {
      if (i % 2) socket.destroy();
      else socket.resetAndDestroy();
    }
    if (round % 10 === 0) await bystander.check();
    // The gateway hears of the end a turn later; it has 50 places.
    await waitFor(() => descriptors() < before + 25, { intervalMs: 1 });
  }
  for (let i = 0; i < 200; ++i) {
    const short = new TestSession();
    if (i % 2) short.attach(gateway.addon);
    else await short.connect(gateway.link);
    short.register({ secret: gateway.secret });
    await short.waitFor("welcome");
    short.send({ type: "end", reason: "done" });
    short.close();
  }
  await waitFor(() => descriptors() <= before, {
    what: () => `${before} descriptors, now ${descriptors()}`,
  });
  await bystander.check();
});
