// Holds the core's WebSocket frames to the npm package ws: the same bytes, cut in the same places,
// must give the same messages and the same end. The core's side is the executable frames_oracle
// (test/native/ws).
//
// Three differences are meant, and not generated: the core takes no binary messages, skips messages
// that are too large, and refuses at the first byte that shows a mistake, where ws reads on to the
// end of the header or of the message.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Receiver } from "ws";
import { Random } from "../../../tools/chaos/random.mjs";
import { ask, sized, uint32 } from "../../support/oracle.mjs";
import { frame, opcodes } from "../../support/raw-client.mjs";
import { ROUNDS } from "../../support/rounds.mjs";

const seed = Number(process.env.TAP_TEST_SEED ?? 20_260_101) >>> 0;
const SEQUENCES = 900 * ROUNDS;

/** @typedef {{bytes: Buffer, pieceSize: number}} Sequence */

/** @param {Sequence[]} sequences @returns {string[]} the core's answer to each */
function askOracle(sequences) {
  const parts = sequences.flatMap(({ bytes, pieceSize }) => [uint32(pieceSize), sized(bytes)]);
  return ask("frames_oracle", Buffer.concat(parts), sequences.length, `seed ${seed}:`);
}

/** What ws makes of it, in the oracle's form. @param {Sequence} sequence @returns {Promise<string>} */
async function askWs({ bytes, pieceSize }) {
  const receiver = new Receiver({ isServer: true, allowSynchronousEvents: true });
  let messages = "";
  let end = "ok";
  receiver.on("message", (data) => (messages += `t${Buffer.from(data).toString("hex")} `));
  receiver.on("conclude", (code, reason) => (end = `closed${code} ${reason.toString("hex")}`));
  receiver.on("error", () => (end = "refused"));
  for (let at = 0; at < bytes.length && end === "ok"; at += pieceSize) {
    const piece = Buffer.from(bytes.subarray(at, at + pieceSize)); // it is unmasked in place
    await new Promise((resolve) => {
      receiver.write(piece, () => resolve(true));
    });
  }
  return messages + end;
}

// --- Sequences ---

const TEXTS = [
  "",
  "a",
  "{}",
  "é",
  "🦊",
  "κόσμε",
  "x".repeat(125),
  "y".repeat(126),
  "z".repeat(300),
];
const BAD_TEXTS = ["ff", "c0af", "eda080", "f4908080", "80", "61c3", "f8888080"];
const CODES = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1011, 1012, 1013, 1014, 3000, 4999];
const BAD_CODES = [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2999, 5000, 65535];

/** @param {Random} random @param {any[]} list */
const pick = (random, list) => list[random.below(list.length)];

/** @param {number} code */
function codeBytes(code) {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(code);
  return bytes;
}

/** A message in one frame or several, with control frames in between. @param {Random} random @param {Buffer} payload */
function message(random, payload) {
  const frames = [];
  let at = 0;
  const fragments = 1 + (random.below(3) === 0 ? random.below(5) : 0);
  for (let i = 0; i < fragments; ++i) {
    const last = i === fragments - 1;
    const size = last ? payload.length - at : random.below(payload.length - at + 1);
    const opcode = i === 0 ? opcodes.text : opcodes.continuation;
    frames.push(frame(payload.subarray(at, at + size), { opcode, fin: last }));
    at += size;
    if (!last && random.below(3) === 0) frames.push(control(random));
  }
  return Buffer.concat(frames);
}

/** @param {Random} random */
const control = (random) =>
  frame("p".repeat(random.below(126)), { opcode: pick(random, [opcodes.ping, opcodes.pong]) });

/** What breaks RFC 6455, or ends the connection. @type {((random: Random) => Buffer)[]} */
const ENDS = [
  (random) => frame("x", { opcode: pick(random, [3, 4, 5, 6, 7, 11, 12, 13, 14, 15]) }),
  (random) => frame("x", { reserved: 1 + random.below(7) }),
  () => frame("x", { mask: false }),
  () => frame("x", { opcode: opcodes.continuation }),
  () => frame("", { opcode: opcodes.continuation, fin: false }),
  () => frame("p".repeat(126), { opcode: opcodes.ping }),
  () => frame("p", { opcode: opcodes.pong, fin: false }),
  () => frame("c", { opcode: opcodes.close }),
  () => frame("c", { opcode: opcodes.close, fin: false }),
  () => Buffer.concat([frame("a", { fin: false }), frame("b")]),
  (random) => frame(Buffer.from(pick(random, BAD_TEXTS), "hex")),
  (random) => frame(codeBytes(pick(random, BAD_CODES)), { opcode: opcodes.close }),
  (random) =>
    frame(Buffer.concat([codeBytes(1000), Buffer.from(pick(random, BAD_TEXTS), "hex")]), {
      opcode: opcodes.close,
    }),
  () => frame("", { opcode: opcodes.close }),
  (random) => frame(codeBytes(pick(random, CODES)), { opcode: opcodes.close }),
  (random) =>
    frame(Buffer.concat([codeBytes(pick(random, CODES)), Buffer.from("auf Wiederhören")]), {
      opcode: opcodes.close,
    }),
  () => Buffer.from([0x81, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 4]),
];

/** @param {Random} random @returns {Sequence} */
function makeSequence(random) {
  const parts = [];
  for (let left = random.below(6); left > 0; --left) {
    if (random.below(4) === 0) parts.push(control(random));
    else parts.push(message(random, Buffer.from(pick(random, TEXTS))));
  }
  const pieceSize = pick(random, [1, 2, 3, 7, 20, 1000, 100_000]);
  if (random.below(8) === 0) {
    const bytes = Buffer.concat(parts);
    return { bytes: bytes.subarray(0, random.below(bytes.length + 1)), pieceSize };
  }
  if (random.below(3) !== 0) parts.push(pick(random, ENDS)(random));
  // Nothing that comes after the end counts.
  if (random.below(3) === 0) parts.push(frame("late"));
  return { bytes: Buffer.concat(parts), pieceSize };
}

test("frames mean to us what they mean to ws, whole and in pieces", async () => {
  const random = new Random(seed);
  const sequences = Array.from({ length: SEQUENCES }, () => makeSequence(random));
  const answers = askOracle(sequences);
  assert.equal(answers.length, SEQUENCES);
  const ends = { ok: 0, refused: 0, closed: 0 };
  for (const [index, sequence] of sequences.entries()) {
    const expected = await askWs(sequence);
    assert.equal(
      answers[index],
      expected,
      `seed ${seed}, sequence ${index} in pieces of ${sequence.pieceSize}: ${sequence.bytes.toString("hex")}`,
    );
    ends[/(ok|refused|closed)[^t]*$/.exec(expected)[1]] += 1;
  }
  for (const [end, count] of Object.entries(ends))
    assert.ok(count > SEQUENCES / 12, `${count} ended ${end}`);
});
