// WebSocket clients that others have written, against the echo server of the native ws and uv layers
// and against a gateway.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { servePage } from "../../support/chromium.mjs";
import { clients } from "../../ws-conformance/clients.mjs";
import { startEcho } from "../../ws-conformance/echo.mjs";
import { TestGateway } from "../../support/harness.mjs";

/**
 * @typedef {import("../../ws-conformance/clients.mjs").Client} Client
 * @typedef {import("../../ws-conformance/clients.mjs").Connection} Connection
 */

const MB = 1024 * 1024;
/** One to four bytes a character, composed ones, and what JSON and JavaScript treat specially. */
const UNICODE = "aä\u0000€😀e\u0301👩‍👩‍👧\u2028\uFEFF\u{10FFFF}";

/** Messages of a provider over any client's connection. @param {Connection} connection */
function speaking(connection) {
  /** @param {object} message */
  const say = (message) => connection.send(JSON.stringify(message));
  /** @param {string} type */
  const hear = async (type) => {
    for (;;) {
      const message = JSON.parse(await connection.next());
      if (message.type === type) return message;
      assert.notEqual(message.type, "error", JSON.stringify(message));
    }
  };
  return { say, hear };
}

/**
 * Lets the connection in: by the token, or as a page by the code of the session's timeline.
 * @param {Client} client @param {ReturnType<typeof speaking>} provider @param {TestGateway} gateway
 * @param {import("../../support/harness.mjs").TestSession} session
 */
async function authenticate(client, provider, gateway, session) {
  if (!client.isPage) {
    await provider.say({ type: "auth", token: gateway.token });
    return provider.hear("sessions");
  }
  await provider.say({ type: "auth", mode: "pair", name: client.name, session: session.id });
  await provider.hear("auth.pairing");
  const { text } = await session.waitFor("timeline", (one) => /Pairing code/.test(one.text));
  const [, code] = /Pairing code: (\d{6})/.exec(text) ?? [];
  await provider.say({ type: "auth.confirm", code });
  return provider.hear("sessions");
}

for (const [name, { make, pings, fragments }] of Object.entries(clients)) {
  describe(name, () => {
    /** @type {Client} */
    let client;
    /** @type {Awaited<ReturnType<typeof startEcho>>} */
    let echo;
    before(async () => {
      const origin = await servePage(/** @type {any} */ ({ after }));
      echo = await startEcho();
      client = await make(origin);
    });
    after(async () => {
      echo?.stop();
      await client?.stop();
    });
    const open = () => client.open(`ws://127.0.0.1:${echo.port}/`);

    test("texts come back as they were, in order", async () => {
      const connection = await open();
      const sizes = [0, 1, 125, 126, 127, 65_535, 65_536, MB];
      const texts = [...sizes.map((size) => "x".repeat(size)), UNICODE, UNICODE.repeat(5000)];
      for (const text of texts) await connection.send(text);
      for (const text of texts) assert.ok((await connection.next()) === text);
      await connection.close(1000, "");
      assert.equal((await connection.ended()).code, 1000);
    });

    test("a text of 15 MB comes back whole", async () => {
      const connection = await open();
      const text = UNICODE.repeat(Math.floor((15 * MB) / Buffer.byteLength(UNICODE)));
      await connection.send(text);
      assert.ok((await connection.next()) === text);
      await connection.close(1000, "");
    });

    if (fragments) {
      test("a message in fragments is one message", async () => {
        const connection = await open();
        const pieces = ["one, ", "", UNICODE, "y".repeat(70_000), "the end"];
        await connection.sendFragments?.(pieces);
        assert.ok((await connection.next()) === pieces.join(""));
        await connection.close(1000, "");
      });
    }

    if (pings) {
      test("a ping is answered between messages", async () => {
        const connection = await open();
        await connection.send("before");
        await connection.ping?.();
        await connection.send("after");
        assert.deepEqual([await connection.next(), await connection.next()], ["before", "after"]);
        await connection.close(1000, "");
      });
    }

    test("binary messages end the connection with 1003", async () => {
      for (const size of [0, 10, 70_000]) {
        const connection = await open();
        await connection.sendBinary(size);
        const { code, reason } = await connection.ended();
        assert.deepEqual({ code, reason }, { code: 1003, reason: "text messages only" });
      }
    });

    test("the client's close code and reason come back", async () => {
      for (const [code, reason] of /** @type {[number, string][]} */ ([
        [1000, ""],
        [1000, "bye"],
        [3000, UNICODE.replace("\u0000", "")],
        [4999, "r".repeat(123)],
      ])) {
        const connection = await open();
        await connection.close(code, reason);
        const ending = await connection.ended();
        assert.deepEqual({ code: ending.code, reason: ending.reason }, { code, reason });
      }
    });

    test("the first steps of the protocol, a call and its result", async (t) => {
      const gateway = new TestGateway(t);
      const session = await gateway.session();
      const connection = await client.open(`ws://localhost:${gateway.port}/`);
      const provider = speaking(connection);
      const { active } = await authenticate(client, provider, gateway, session);
      assert.deepEqual(
        active.map(({ id }) => id),
        [session.id],
      );
      const tools = [{ name: "shout", description: "Says it louder.", parameters: {} }];
      await provider.say({
        type: "hello",
        name: "p",
        protocolVersion: 2,
        session: session.id,
        tools,
      });
      assert.equal((await provider.hear("hello.ack")).sessionId, session.id);
      await session.waitFor("tools", ({ set }) => set.some((one) => one.provider === "p"));
      const called = session.call("shout", { what: UNICODE });
      const call = await provider.hear("tool.call");
      assert.deepEqual(call.args, { what: UNICODE });
      await provider.say({ type: "tool.result", id: call.id, data: `${UNICODE}!`.repeat(20_000) });
      assert.ok((await called) === `${UNICODE}!`.repeat(20_000));
      await provider.say({ type: "goodbye", reason: "done" });
      const { code, reason } = await connection.ended();
      assert.deepEqual({ code, reason }, { code: 1000, reason: "goodbye" });
    });

    test("the gateway's own close codes arrive", async (t) => {
      const gateway = new TestGateway(t);
      const stranger = await client.open(`ws://localhost:${gateway.port}/`);
      await speaking(stranger).say({ type: "auth", token: "wrong" });
      assert.equal(JSON.parse(await stranger.next()).code, "AUTH_FAILED");
      assert.equal((await stranger.ended()).code, 1008);
      for (const [restarting, expected] of /** @type {[boolean, number][]} */ ([
        [true, 1012],
        [false, 1001],
      ])) {
        const ending = new TestGateway(t);
        const last = await client.open(`ws://localhost:${ending.port}/`);
        ending.addon.close(restarting);
        assert.equal((await last.ended()).code, expected);
      }
    });
  });
}
