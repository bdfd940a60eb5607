// Cases of WebSocket conformance, numbered as in the Autobahn test suite (sections 1 to 7, 9 and 10;
// 12 and 13 are about compression, which the gateway does not offer). What must come of each is
// RFC 6455's word, with two choices that it leaves to a server: binary messages are refused with
// 1003 (7.4.1), and of several pings that came at once only the last is answered (5.5.3).

import { frame, opcodes } from "../support/raw-client.mjs";

const { continuation, text: textOpcode, binary, close, ping, pong } = opcodes;

/**
 * @typedef {{opcode: number, payload: Buffer}} Expected
 * @typedef {object} Case
 * @property {string} id
 * @property {string} what
 * @property {Buffer[]} sends each in a write of its own
 * @property {Expected[]} expects frames of the server, in order, before its close frame
 * @property {number} [end] the code of its close frame; without it the client closes, with 1000
 * @property {number} [pieces] the size of the pieces in which the client writes
 * @property {boolean} [early] the end must come though the client goes on only after it
 * @property {boolean} [lastPong] of the pongs only the last is certain
 */

// --- Frames of the client ---

const text = (payload, options = {}) => frame(payload, { opcode: textOpcode, ...options });
const more = (payload, fin = false) => frame(payload, { opcode: continuation, fin });
const begin = (payload) => frame(payload, { opcode: textOpcode, fin: false });
const control = (opcode, payload = "", options = {}) => frame(payload, { opcode, ...options });
const closing = (code, reason = "") => {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(code);
  return control(close, Buffer.concat([bytes, Buffer.from(reason)]));
};

// --- What the server must say ---

const says = (payload) => ({ opcode: textOpcode, payload: Buffer.from(payload) });
const pongs = (payload) => ({ opcode: pong, payload: Buffer.from(payload) });

/** @type {Case[]} */
const cases = [];

/** @param {string} id @param {string} what @param {Buffer[]} sends @param {Expected[]} expects @param {Partial<Case>} [more] */
const add = (id, what, sends, expects, options = {}) =>
  cases.push({ id, what, sends, expects, ...options });

/** Three ways to send the same: in one piece, frame by frame, byte by byte. */
function addThreeWays(ids, what, sends, expects, options = {}) {
  add(ids[0], `${what}, in one piece`, [Buffer.concat(sends)], expects, options);
  add(ids[1], `${what}, frame by frame`, sends, expects, options);
  add(ids[2], `${what}, byte by byte`, sends, expects, { ...options, pieces: 1 });
}

// --- 1: messages of all sizes ---

const SIZES = [0, 125, 126, 127, 128, 65_535, 65_536];
SIZES.forEach((size, i) => {
  const payload = "*".repeat(size);
  add(`1.1.${i + 1}`, `a text of ${size} bytes`, [text(payload)], [says(payload)]);
  add(`1.2.${i + 1}`, `${size} bytes that are no text`, [control(binary, payload)], [], {
    end: 1003,
  });
});
const large = "*".repeat(65_536);
add("1.1.8", "a text of 65536 bytes in pieces of 997", [text(large)], [says(large)], {
  pieces: 997,
});
add("1.2.8", "no text, in pieces of 997", [control(binary, large)], [], { end: 1003, pieces: 997 });

// --- 2: pings and pongs ---

const bytes125 = Buffer.alloc(125, 0xfe);
add("2.1", "a ping without payload", [control(ping)], [pongs("")]);
add("2.2", "a ping with a text", [control(ping, "hello")], [pongs("hello")]);
const odd = Buffer.from("00fffefdfcfb00ff", "hex");
add("2.3", "a ping with bytes that are no text", [control(ping, odd)], [pongs(odd)]);
add("2.4", "a ping of 125 bytes", [control(ping, bytes125)], [pongs(bytes125)]);
add("2.5", "a ping of 126 bytes", [control(ping, Buffer.alloc(126))], [], { end: 1002 });
add("2.6", "a ping of 125 bytes, byte by byte", [control(ping, bytes125)], [pongs(bytes125)], {
  pieces: 1,
});
add("2.7", "a pong that nobody asked for", [control(pong)], []);
add("2.8", "a pong with payload that nobody asked for", [control(pong, "unasked")], []);
add("2.9", "such a pong, then a ping", [control(pong, "x"), control(ping, "y")], [pongs("y")]);
const tenPings = Array.from({ length: 10 }, (_, i) => control(ping, `ping ${i}`));
add("2.10", "ten pings", tenPings, [pongs("ping 9")], { lastPong: true });
add("2.11", "ten pings, byte by byte", tenPings, [pongs("ping 9")], { lastPong: true, pieces: 1 });

// --- 3: reserved bits ---

const small = "small text";
add("3.1", "a text with reserved bit 3", [text(small, { reserved: 1 })], [], { end: 1002 });
const reserved = (bits) => [text(small), text(small, { reserved: bits }), control(ping)];
add("3.2", "a text, one with reserved bit 2, a ping", [Buffer.concat(reserved(2))], [says(small)], {
  end: 1002,
});
add("3.3", "the same with bits 2 and 3, frame by frame", reserved(3), [says(small)], { end: 1002 });
add("3.4", "the same with bit 1, byte by byte", reserved(4), [says(small)], {
  end: 1002,
  pieces: 1,
});
add("3.5", "no text, with bits 1 and 3", [control(binary, small, { reserved: 5 })], [], {
  end: 1002,
});
add("3.6", "a ping with bits 1 and 2", [control(ping, "", { reserved: 6 })], [], { end: 1002 });
add("3.7", "a close with all bits", [control(close, "", { reserved: 7 })], [], { end: 1002 });

// --- 4: opcodes that do not exist ---

[3, 11].forEach((first, section) => {
  const id = (n) => `4.${section + 1}.${n}`;
  add(id(1), `opcode ${first}`, [control(first)], [], { end: 1002 });
  add(id(2), `opcode ${first + 1} with payload`, [control(first + 1, "x")], [], { end: 1002 });
  const after = (opcode, payload) => [text(small), control(opcode, payload), control(ping)];
  add(id(3), `a text, then opcode ${first + 2}`, after(first + 2, ""), [says(small)], {
    end: 1002,
  });
  add(
    id(4),
    `a text, then opcode ${first + 3} with payload`,
    after(first + 3, "x"),
    [says(small)],
    {
      end: 1002,
    },
  );
  add(
    id(5),
    `a text, then opcode ${first + 4}, byte by byte`,
    after(first + 4, "x"),
    [says(small)],
    {
      end: 1002,
      pieces: 1,
    },
  );
});

// --- 5: fragments ---

const halves = [begin("frag"), more("ment", true)];
add("5.1", "a ping in two fragments", [control(ping, "a", { fin: false }), more("b", true)], [], {
  end: 1002,
});
add("5.2", "a pong in two fragments", [control(pong, "a", { fin: false }), more("b", true)], [], {
  end: 1002,
});
addThreeWays(["5.3", "5.4", "5.5"], "a text in two fragments", halves, [says("fragment")]);
const around = [halves[0], control(ping, "in between"), halves[1]];
addThreeWays(["5.6", "5.7", "5.8"], "a ping between fragments", around, [
  pongs("in between"),
  says("fragment"),
]);
for (const [ids, fin] of /** @type {[string[], boolean][]} */ ([
  [["5.9", "5.10", "5.11"], true],
  [["5.12", "5.13", "5.14"], false],
])) {
  const sends = [more("of nothing", fin), text(small)];
  addThreeWays(ids, `a continuation of nothing (final: ${fin})`, sends, [], { end: 1002 });
}
add(
  "5.15",
  "a continuation of nothing after a text",
  [...halves, more("x"), text(small)],
  [says("fragment")],
  { end: 1002 },
);
const twice = (fin) => [1, 2].flatMap(() => [more("x", fin), begin("y"), more("z", true)]);
add("5.16", "a continuation before its beginning", twice(false), [], { end: 1002 });
add("5.17", "a final continuation before its beginning", twice(true), [], { end: 1002 });
add("5.18", "a text begins within another", [begin("one"), begin("two")], [], { end: 1002 });
const five = [
  ...[begin("1"), more("2"), control(ping, "first")],
  ...[more("3"), more("4"), control(ping, "second"), more("5", true)],
];
const fivesAnswers = [pongs("first"), pongs("second"), says("12345")];
add("5.19", "five fragments and two pings", five, fivesAnswers, { lastPong: true });
add("5.20", "five fragments and two pings, byte by byte", five, fivesAnswers, {
  lastPong: true,
  pieces: 1,
});

// --- 7: the end ---

const bye = closing(1000);
add("7.1.1", "a text, then a close", [text(small), bye], [says(small)], { end: 1000 });
add("7.1.2", "two closes", [bye, bye], [], { end: 1000 });
add("7.1.3", "a ping after the close", [bye, control(ping)], [], { end: 1000 });
add("7.1.4", "a text after the close", [bye, text(small)], [], { end: 1000 });
add("7.1.5", "a close within a message", [begin("a"), bye, more("b", true)], [], { end: 1000 });
const quarter = "B".repeat(262_144);
add("7.1.6", "256 KB, a close, a ping", [text(quarter), bye, control(ping)], [says(quarter)], {
  end: 1000,
});
add("7.3.1", "a close without payload", [control(close)], [], { end: 0 });
add("7.3.2", "a close of one byte", [control(close, "a")], [], { end: 1002 });
add("7.3.3", "a close with a code", [bye], [], { end: 1000 });
add("7.3.4", "a close with a reason", [closing(1000, "Hello World!")], [], { end: 1000 });
add("7.3.5", "a close with a reason of 123 bytes", [closing(1000, "*".repeat(123))], [], {
  end: 1000,
});
add("7.3.6", "a close with a reason of 124 bytes", [closing(1000, "*".repeat(124))], [], {
  end: 1002,
});
const badReason = Buffer.from("03e8cebae1bdb9cf83cebcceb5eda080656469746564", "hex");
add("7.5.1", "a close whose reason is not UTF-8", [control(close, badReason)], [], { end: 1007 });
const GOOD = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999];
GOOD.forEach((code, i) =>
  add(`7.7.${i + 1}`, `a close with ${code}`, [closing(code)], [], { end: code }),
);
[0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999].forEach((code, i) =>
  add(`7.9.${i + 1}`, `a close with ${code}`, [closing(code)], [], { end: 1002 }),
);
// The RFC defines no meaning for these; ours is that they are no codes.
add("7.13.1", "a close with 5000", [closing(5000)], [], { end: 1002 });
add("7.13.2", "a close with 65535", [closing(65_535)], [], { end: 1002 });

export { add, begin, cases, control, more, says, text };
