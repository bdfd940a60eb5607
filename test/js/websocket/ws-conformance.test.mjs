// Runs the cases of test/ws-conformance, one test each, against an echo server of the native ws and
// uv layers, and those that a gateway can be asked, too, against a gateway's own port.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { waitFor } from "../../support/wait.mjs";
import { cases } from "../../ws-conformance/cases.mjs";
import { startEcho } from "../../ws-conformance/echo.mjs";
import "../../ws-conformance/utf8-cases.mjs";
import "../../ws-conformance/size-cases.mjs";
import { TestGateway } from "../../support/harness.mjs";
import { frame, opcodes, RawClient } from "../../support/raw-client.mjs";

/** @typedef {import("../../ws-conformance/cases.mjs").Case} Case */

/** @param {RawClient} client @param {Case} one */
async function send(client, { sends, pieces }) {
  client.socket.setNoDelay(true);
  for (const bytes of sends) {
    const size = pieces ?? bytes.length;
    for (let at = 0; at < bytes.length; at += size) client.write(bytes.subarray(at, at + size));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** The code of a close frame; 0 where it has none. @param {Buffer} payload */
const readCloseCode = (payload) => (payload.length === 0 ? 0 : payload.readUInt16BE(0));

/** @param {RawClient} client @param {Case} one */
function checkFrames(client, { expects, lastPong }) {
  const isPong = ({ opcode }) => opcode === opcodes.pong;
  const isClose = ({ opcode }) => opcode === opcodes.close;
  let got = client.frames.filter((one) => !isClose(one));
  let wanted = expects;
  if (lastPong) {
    assert.ok(got.some(isPong), "a pong came");
    assert.deepEqual(got.findLast(isPong).payload, wanted.findLast(isPong).payload);
    [got, wanted] = [got, wanted].map((frames) => frames.filter((one) => !isPong(one)));
  }
  assert.deepEqual(
    got.map(({ opcode, payload }) => ({ opcode, size: payload.length })),
    wanted.map(({ opcode, payload }) => ({ opcode, size: payload.length })),
  );
  for (const [i, { payload }] of wanted.entries()) assert.ok(payload.equals(got[i].payload));
  assert.equal(client.frames.filter(isClose).length, 1, "one close frame");
  assert.ok(isClose(client.frames.at(-1)), "nothing after the close frame");
  return readCloseCode(client.frames.at(-1).payload);
}

/** @param {import("node:test").TestContext} t @param {number} port @param {Case} one */
async function perform(t, port, one) {
  const client = await RawClient.upgraded(t, port);
  await send(client, one);
  const all = () => client.frames.length >= one.expects.length || client.ended;
  if (one.end === undefined) {
    if (one.lastPong) await waitFor(() => client.frames.length > 0, { intervalMs: 1 });
    else await waitFor(all, { intervalMs: 1, what: "the answers" });
    client.write(frame(Buffer.from([1000 >> 8, 1000 & 255]), { opcode: opcodes.close }));
  }
  await client.end();
  assert.equal(checkFrames(client, one), one.end ?? 1000);
}

describe("the echo server", () => {
  /** @type {Awaited<ReturnType<typeof startEcho>>} */
  let echo;
  before(async () => {
    echo = await startEcho();
  });
  after(() => echo.stop());
  for (const one of cases) {
    test(`${one.id}: ${one.what}`, (t) => perform(t, echo.port, one));
  }
});

// A gateway echoes nothing: a text that is no auth ends the connection. What is left are the cases in
// which no text is completed.
describe("a gateway", () => {
  const silent = cases.filter(
    ({ expects, sends }) =>
      expects.every(({ opcode }) => opcode !== opcodes.text) &&
      sends.every(({ length }) => length < 1_000_000),
  );
  for (const one of silent) {
    test(`${one.id}: ${one.what}`, (t) => perform(t, new TestGateway(t).port, one));
  }
});

test("every case has a number of its own", () => {
  const ids = cases.map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length);
  assert.ok(ids.length > 290, `${ids.length} cases`);
});
