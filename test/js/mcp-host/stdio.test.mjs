// The stdio transport of MCP servers: lines, and servers that do not keep to them.

import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { LineReader, StdioTransport } from "../../../js/mcp-host/stdio.mjs";

test("lines are the same for every cut of the bytes", () => {
  const bytes = Buffer.from('{"a":"ü"}\n\nx\ny');
  for (let first = 0; first <= bytes.length; ++first) {
    for (let second = first; second <= bytes.length; ++second) {
      const reader = new LineReader();
      const cuts = [0, first, second, bytes.length];
      const pieces = cuts.slice(1).map((end, at) => bytes.subarray(cuts[at], end));
      const lines = pieces.flatMap((piece) => reader.take(piece)).map(String);
      assert.deepEqual(lines, ['{"a":"ü"}', "", "x"]);
    }
  }
});

function open() {
  const pipes = { stdin: new PassThrough(), stdout: new PassThrough() };
  /** @type {{texts: string[], broken: string[], messages: any[], closed: number}} */
  const seen = { texts: [], broken: [], messages: [], closed: 0 };
  const transport = new StdioTransport(pipes, {
    onText: (line) => seen.texts.push(line),
    onBroken: (why) => seen.broken.push(why),
  });
  transport.onmessage = (message) => seen.messages.push(message);
  transport.onclose = () => (seen.closed += 1);
  const receive = (/** @type {string} */ text) => pipes.stdout.emit("data", Buffer.from(text));
  return { transport, seen, receive, pipes };
}

const answer = (/** @type {number} */ id) => `{"jsonrpc":"2.0","id":${id},"result":{}}\n`;

test("text among the messages is no message", () => {
  const { seen, receive } = open();
  receive(`Welcome!\n{}\n${answer(1)}`);
  assert.deepEqual(seen.texts, ["Welcome!", "{}"]);
  assert.deepEqual(
    seen.messages.map(({ id }) => id),
    [1],
  );
});

test("1,000 unreadable lines in a row break the connection, and a message between them does not count", () => {
  const { seen, receive } = open();
  receive("x\n".repeat(999) + answer(1) + "x\n".repeat(999));
  assert.deepEqual(seen.broken, []);
  receive("x\n");
  assert.equal(seen.broken.length, 1);
});

test("a message of more than 64 MB breaks the connection", () => {
  const { seen, receive } = open();
  const part = "x".repeat(16 * 1024 * 1024);
  for (let count = 0; count < 4; ++count) receive(part);
  assert.deepEqual(seen.broken, []);
  receive("x");
  assert.equal(seen.broken.length, 1);
});

test("the late answer of a cancelled call is ignored, and 32 without one break the connection", async () => {
  const { transport, seen, receive } = open();
  const cancel = (/** @type {number} */ requestId) =>
    transport.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } });
  await cancel(0);
  receive(answer(0));
  assert.deepEqual(seen.messages, []);
  for (let id = 1; id < 32; ++id) await cancel(id);
  assert.deepEqual(seen.broken, []);
  await cancel(32);
  assert.equal(seen.broken.length, 1);
});

test("a flood of notifications is read at a bounded pace", () => {
  const { seen, receive, pipes, transport } = open();
  receive('{"jsonrpc":"2.0","method":"notifications/message"}\n'.repeat(200));
  assert.equal(seen.messages.length, 200);
  assert.equal(pipes.stdout.isPaused(), true);
  transport.end();
});

test("its end is said once, and nothing can be sent after it", async () => {
  const { transport, seen } = open();
  transport.end();
  transport.end();
  assert.equal(seen.closed, 1);
  await assert.rejects(transport.send({ jsonrpc: "2.0", id: 1, method: "ping" }));
});
