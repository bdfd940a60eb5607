// What waits for those that do not read: bounded for each and in all, and no one else's loss.

import assert from "node:assert/strict";
import net from "node:net";
import test from "node:test";
import { waitFor } from "../../support/wait.mjs";
import { registration, TestGateway } from "../../support/harness.mjs";
import { RawClient } from "../../support/raw-client.mjs";

const MB = 1024 * 1024;

/** @param {object} message */
function linkFrame(message) {
  const body = Buffer.from(JSON.stringify(message));
  const header = Buffer.alloc(4);
  header.writeUInt32LE(body.length);
  return Buffer.concat([header, body]);
}

/** A registered session that reads no more. @param {import("node:test").TestContext} t @param {TestGateway} gateway */
async function unreading(t, gateway, sessionId) {
  const socket = net.connect(/** @type {string} */ (gateway.link));
  t.after(() => socket.destroy());
  socket.on("error", () => {});
  socket.write(linkFrame(registration({ secret: gateway.secret, sessionId })));
  await new Promise((resolve) => socket.once("data", resolve));
  socket.pause();
}

test("a session that does not read what a provider has for it loses its link, and others are served", async (t) => {
  const gateway = new TestGateway(t, {
    limits: {
      TAP_MAX_LINK_FRAME_BYTES: "65536",
      TAP_PUSHES_PER_SECOND: "100000",
      TAP_LINES_PER_SECOND: "100000",
    },
  });
  gateway.listenLink();
  const { check } = await gateway.echo(await gateway.session("attached"));

  const sessionId = "one that does not read";
  await unreading(t, gateway, sessionId);

  const provider = await gateway.stranger();
  await provider.hello({ name: "talker", session: sessionId });
  const said = () => gateway.log.some((line) => line.includes("link ended: it does not read"));
  for (let pushed = 0; pushed < 2000 && !said(); ++pushed) {
    provider.push("surface", "x".repeat(15_000));
    if (pushed % 10 === 9) await check();
  }
  await waitFor(said, { what: () => `the end of the link in ${gateway.log.slice(-5).join("\n")}` });
  await check();
  assert.ok(!provider.closed, "the provider is not to blame");
});

const ends = (/** @type {TestGateway} */ gateway) =>
  gateway.log.filter((line) => line.includes("link ended: it does not read")).length;

test("sessions that do not read have one limit for all: the one with the most unread loses its link", async (t) => {
  const gateway = new TestGateway(t, {
    limits: {
      TAP_MAX_LINK_FRAME_BYTES: String(4 * MB),
      TAP_MAX_UNREAD_LINK_BYTES: String(5 * MB),
      TAP_PUSHES_PER_SECOND: "100000",
      TAP_LINES_PER_SECOND: "100000",
    },
  });
  gateway.listenLink();
  const { check } = await gateway.echo(await gateway.session("attached"));
  const fill = async (/** @type {string} */ sessionId, /** @type {number} */ megabytes) => {
    await unreading(t, gateway, sessionId);
    const provider = await gateway.stranger();
    await provider.hello({ name: sessionId, session: sessionId });
    for (let pushed = 0; pushed < megabytes * 64; ++pushed) {
      provider.push("surface", "x".repeat(16_000));
      if (pushed % 20 === 19) await check();
    }
  };
  await fill("few", 1);
  await fill("much", 3);
  assert.equal(ends(gateway), 0, "each is within its own limit, and they are within that of all");
  await fill("the last", 2);
  await waitFor(() => ends(gateway) === 1, { what: "the end of one link" });
  await check();
  const inspected = JSON.parse(gateway.addon.inspect());
  const open = inspected.sessions.filter((/** @type {any} */ { linked }) => linked);
  const left = open.map((/** @type {any} */ { id }) => id).filter((id) => !/^session-/.test(id));
  assert.deepEqual(left.sort(), ["few", "the last"]);
});

test("providers that do not read have one limit for all: the one with the most unread is closed", async (t) => {
  const gateway = new TestGateway(t, {
    limits: { TAP_MAX_OUTBOUND_BYTES_IN_ALL: String(16 * MB) },
  });
  const session = await gateway.session();
  const { check } = await gateway.echo(session);
  const args = { text: "x".repeat(MB) };
  const outcomes = [];
  for (const [at, name] of ["a", "b", "c", "d"].entries()) {
    const tools = [{ name: `work_${name}`, description: "", parameters: {} }];
    const client = await RawClient.bound(t, gateway, session, name, tools);
    client.socket.pause();
    // Below 16 MB, its own limit; what the system buffers of it does not count.
    for (let calls = 0; calls < 14 + at / 2; ++calls) {
      outcomes.push(session.call(`work_${name}`, args));
      await check();
    }
  }
  const first = await Promise.race(outcomes);
  assert.equal(first.code, "DISCONNECTED");
  assert.match(first.text, /does not read/);
  await check();
});

test("a link that has not said who it is may not send much", async (t) => {
  const gateway = new TestGateway(t, { limits: { TAP_MAX_MESSAGE_BYTES: "65536" } });
  const socket = net.connect(gateway.listenLink());
  t.after(() => socket.destroy());
  let over = false;
  socket.on("close", () => (over = true)).on("error", () => {});
  const header = Buffer.alloc(4);
  header.writeUInt32LE(65_537);
  socket.write(header);
  await waitFor(() => over, { what: "the end of the link" });
  assert.ok(gateway.log.some((line) => line.includes("a frame of an impossible size")));
});
