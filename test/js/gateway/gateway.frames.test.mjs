// Bytes that no WebSocket client should send. Each costs its sender the connection, with a code that
// says why, and nobody else anything.

import assert from "node:assert/strict";
import test from "node:test";
import { TestGateway } from "../../support/harness.mjs";
import { frame, opcodes, RawClient, upgradeRequest } from "../../support/raw-client.mjs";

const TERABYTE = 1n << 40n;

/** A gateway with a session and a provider that notices whether it is disturbed. */
async function setUp(t, limits = {}) {
  const gateway = new TestGateway(t, { limits });
  const session = await gateway.session();
  return { gateway, session, bystander: await gateway.echo(session) };
}

/** The bytes sent after the handshake, and the code with which the gateway closes the connection. */
const violations = {
  "an unmasked frame": [[frame("{}", { mask: false })], 1002],
  "the first reserved bit": [[frame("{}", { reserved: 4 })], 1002],
  "the second reserved bit": [[frame("{}", { reserved: 2 })], 1002],
  "the third reserved bit": [[frame("{}", { reserved: 1 })], 1002],
  "a reserved data opcode": [[frame("", { opcode: 3 })], 1002],
  "a reserved control opcode": [[frame("", { opcode: 11 })], 1002],
  "a fragmented ping": [[frame("a", { opcode: opcodes.ping, fin: false })], 1002],
  "a ping of 126 bytes": [[frame("a".repeat(126), { opcode: opcodes.ping })], 1002],
  "a continuation of nothing": [[frame("a", { opcode: opcodes.continuation })], 1002],
  "a message inside another": [[frame("a", { fin: false }), frame("b")], 1002],
  "a close frame with half a code": [[frame("x", { opcode: opcodes.close })], 1002],
  "a close code that may not be sent": [
    [frame(Buffer.from([1005 >> 8, 1005 & 255]), { opcode: opcodes.close })],
    1002,
  ],
  "a size that is not minimal": [[Buffer.from([0x81, 0xfe, 0, 5])], 1002],
  "a size over 63 bits": [[frame("", { announce: 1n << 63n })], 1002],
  "a binary message": [[frame("{}", { opcode: opcodes.binary })], 1003],
  "bad UTF-8": [[frame(Buffer.from([0x22, 0xc3, 0x28, 0x22]))], 1007],
  "bad UTF-8 across fragments": [
    [
      frame(Buffer.from([0xf0, 0x9f]), { fin: false }),
      frame(Buffer.from([0x22]), { opcode: opcodes.continuation }),
    ],
    1007,
  ],
  "UTF-8 that ends inside a character": [[frame(Buffer.from([0xe9]))], 1007],
  "an encoded surrogate": [[frame(Buffer.from([0xed, 0xa0, 0x80]))], 1007],
  "an announced terabyte": [[frame("x", { announce: TERABYTE })], 1009],
  "a terabyte in fragments": [
    [
      frame("x".repeat(1000), { fin: false }),
      frame("x", { opcode: opcodes.continuation, announce: TERABYTE }),
    ],
    1009,
  ],
  "no end of fragments without a byte": [
    [
      frame("", { fin: false }),
      Buffer.concat(Array(66_000).fill(frame("", { opcode: opcodes.continuation, fin: false }))),
    ],
    1009,
  ],
  "no end of fragments of a byte": [
    [
      frame("a", { fin: false }),
      Buffer.concat(Array(66_000).fill(frame("a", { opcode: opcodes.continuation, fin: false }))),
    ],
    1009,
  ],
};

// shows: P-CONN-15
test("what breaks RFC 6455", async (t) => {
  const { gateway, session, bystander } = await setUp(t);
  for (const [what, [pieces, code]] of Object.entries(violations)) {
    await t.test(`${what}: closed with ${code}`, async (t) => {
      const client = await RawClient.bound(t, gateway, session, "violator");
      client.write(Buffer.concat(pieces));
      assert.equal((await client.closeFrame())?.code, code);
      await bystander.check();
    });
    await t.test(`${what}, byte by byte and before auth: the same`, async (t) => {
      const client = await RawClient.upgraded(t, gateway.port);
      client.socket.setNoDelay(true);
      const bytes = Buffer.concat(pieces);
      for (const byte of bytes.subarray(0, 64)) client.write(Buffer.from([byte]));
      client.write(bytes.subarray(64));
      assert.equal((await client.closeFrame())?.code, code);
    });
  }
  await bystander.check();
});

test("an upgrade request and frames in one piece are both read", async (t) => {
  const { gateway, session } = await setUp(t);
  const client = await RawClient.open(t, gateway.port);
  const hello = { type: "hello", name: "eager", protocolVersion: 2, session: session.id };
  client.write(
    Buffer.concat([
      Buffer.from(upgradeRequest()),
      frame(JSON.stringify({ type: "auth", token: gateway.token })),
      frame(JSON.stringify(hello)),
    ]),
  );
  assert.equal((await client.message("hello.ack")).sessionId, session.id);
});

// shows: P-CONN-4
test("a message cut anywhere, with pings between its fragments, is one message", async (t) => {
  const { gateway } = await setUp(t);
  const text = JSON.stringify({ type: "auth", token: gateway.token, pad: "é🦊" });
  const bytes = Buffer.from(text);
  const client = await RawClient.upgraded(t, gateway.port);
  for (let i = 0; i < bytes.length; ++i) {
    const opcode = i === 0 ? opcodes.text : opcodes.continuation;
    client.write(frame(bytes.subarray(i, i + 1), { opcode, fin: i === bytes.length - 1 }));
    if (i % 10 === 0) client.write(frame(`ping ${i}`, { opcode: opcodes.ping }));
  }
  await client.message("sessions");
  const pongs = client.frames.filter(({ opcode }) => opcode === opcodes.pong);
  assert.ok(pongs.length > 0);
  assert.match(pongs.at(-1).payload.toString(), /^ping \d+$/);
});

test("a close frame is answered with its own code, and ends the connection", async (t) => {
  const { gateway, session, bystander } = await setUp(t);
  const client = await RawClient.bound(t, gateway, session, "leaver");
  client.write(frame(Buffer.from([3000 >> 8, 3000 & 255, 0x62]), { opcode: opcodes.close }));
  assert.deepEqual(await client.closeFrame(), { code: 3000, reason: "b" });
  await bystander.check();
});

test("a connection that is cut in the middle of a frame takes nothing with it", async (t) => {
  const { gateway, session, bystander } = await setUp(t);
  const client = await RawClient.bound(t, gateway, session, "cut", [
    { name: "cut", description: "", parameters: {} },
  ]);
  const call = session.call("cut");
  await client.message("tool.call");
  client.write(frame("x".repeat(1000)).subarray(0, 500));
  client.socket.resetAndDestroy();
  assert.equal((await call).code, "DISCONNECTED");
  await bystander.check();
});

test("handshakes", async (t) => {
  const { gateway, bystander } = await setUp(t);
  const answerTo = async (t, request) => {
    const client = await RawClient.open(t, gateway.port);
    client.write(request);
    await client.end();
    return { status: client.response.split("\r\n", 1)[0], body: client.body };
  };
  const refused = {
    "a Host that is not this machine": [upgradeRequest({ Host: "evil.example" }), 403],
    "a Host that only begins like this machine": [
      upgradeRequest({ Host: "localhost.evil.example" }),
      403,
    ],
    "no Host": [upgradeRequest({ Host: undefined }), 403],
    "another WebSocket version": [upgradeRequest({ "Sec-WebSocket-Version": "8" }), 426],
    "no key": [upgradeRequest({ "Sec-WebSocket-Key": undefined }), 400],
    "another target": ["GET /etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", 404],
    "another method": ["POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", 405],
    "a header without end": [`GET / HTTP/1.1\r\nHost: localhost\r\nX: ${"x".repeat(9000)}`, 431],
    TLS: [Buffer.from("16030100c8010000c403030000", "hex"), 400],
    "bytes of nothing": [Buffer.alloc(100), 400],
  };
  for (const [what, [request, status]] of Object.entries(refused)) {
    await t.test(`${what}: ${status}`, async (t) => {
      const answer = await answerTo(t, request);
      assert.match(answer.status, new RegExp(`^HTTP/1.1 ${status} `));
      assert.match(answer.body, /\.\n$/);
    });
  }
  for (const host of ["localhost", "LOCALHOST:9400", "127.0.0.1:1", "[::1]:9400"]) {
    await t.test(`Host ${host} is this machine`, async (t) => {
      const client = await RawClient.upgraded(t, gateway.port, { Host: host });
      assert.match(client.response, /^HTTP\/1.1 101 /);
    });
  }
  await t.test("GET / tells who is there", async (t) => {
    const answer = await answerTo(t, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert.match(answer.status, /^HTTP\/1.1 200 /);
    assert.deepEqual(JSON.parse(answer.body), { program: "tap" });
  });
  await t.test("one that never finishes is closed", async (t) => {
    const { gateway: impatient } = await setUp(t, { TAP_HANDSHAKE_MS: "30" });
    const client = await RawClient.open(t, impatient.port);
    client.write("GET / HTTP/1.1\r\nHost: local");
    await client.end();
    assert.match(client.response, /^HTTP\/1.1 503 /);
    const mute = await RawClient.open(t, gateway.port);
    await mute.end();
  });
  await bystander.check();
});
