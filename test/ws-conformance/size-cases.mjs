// Sections 9 and 10: large messages, many frames, many messages.

import { add, begin, control, more, says, text } from "./cases.mjs";
import { opcodes } from "../support/raw-client.mjs";

const KB = 1024;
const MB = 1024 * KB;
const filled = (size) => Buffer.alloc(size, "*");

/** @param {Buffer} payload @param {number} size of a fragment */
function fragments(payload, size) {
  const frames = [];
  for (let at = 0; at < payload.length; at += size) {
    const part = payload.subarray(at, at + size);
    frames.push(at === 0 ? begin(part) : more(part, at + size >= payload.length));
  }
  return Buffer.concat(frames);
}

[64 * KB, 256 * KB, MB, 4 * MB, 8 * MB, 16 * MB].forEach((size, i) => {
  const payload = filled(size);
  add(`9.1.${i + 1}`, `a text of ${size} bytes`, [text(payload)], [says(payload)]);
  const noText = control(opcodes.binary, payload);
  add(`9.2.${i + 1}`, `${size} bytes that are no text`, [noText], [], { end: 1003 });
});

const four = filled(4 * MB);
const FRAGMENTS = [64, 256, KB, 4 * KB, 16 * KB, 64 * KB, 256 * KB, MB, 4 * MB];
FRAGMENTS.forEach((size, i) => {
  const sends = size < four.length ? [fragments(four, size)] : [text(four)];
  add(`9.3.${i + 1}`, `4 MB in fragments of ${size}`, sends, [says(four)]);
  const noText = control(opcodes.binary, filled(size), { fin: false });
  add(`9.4.${i + 1}`, `no text, in fragments of ${size}`, [noText], [], { end: 1003 });
});

const one = filled(MB);
[64, 128, 256, 512, KB, 2 * KB].forEach((pieces, i) => {
  add(`9.5.${i + 1}`, `1 MB in pieces of ${pieces}`, [text(one)], [says(one)], { pieces });
  const noText = control(opcodes.binary, one);
  add(`9.6.${i + 1}`, `no text, in pieces of ${pieces}`, [noText], [], { end: 1003, pieces });
});

[0, 16, 64, 256, KB, 4 * KB].forEach((size, i) => {
  const payload = filled(size);
  const many = Array.from({ length: 1000 }, () => text(payload));
  const answers = many.map(() => says(payload));
  add(`9.7.${i + 1}`, `1000 texts of ${size} bytes`, [Buffer.concat(many)], answers);
  const noText = control(opcodes.binary, payload);
  add(`9.8.${i + 1}`, `${size} bytes that are no text, twice`, [noText, noText], [], { end: 1003 });
});

const payload = filled(64 * KB);
add("10.1.1", "64 KB in fragments of 1300", [fragments(payload, 1300)], [says(payload)]);
