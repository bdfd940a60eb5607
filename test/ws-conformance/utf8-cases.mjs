// Section 6: what is UTF-8 and what is not (RFC 3629), and how soon that is said (RFC 6455, 8.1).

import { add, begin, more, says, text } from "./cases.mjs";

const hex = (digits) => Buffer.from(digits, "hex");

/** One fragment for each byte. @param {Buffer} bytes */
const byteFragments = (bytes) => [
  begin(bytes.subarray(0, 1)),
  ...Array.from(bytes.subarray(1), (_, i) =>
    more(bytes.subarray(i + 1, i + 2), i + 2 === bytes.length),
  ),
];

add("6.1.1", "an empty text", [text("")], [says("")]);
add("6.1.2", "three empty fragments", [begin(""), more(""), more("", true)], [says("")]);
add(
  "6.1.3",
  "an empty fragment on either side",
  [begin(""), more("in"), more("", true)],
  [says("in")],
);

const greeting = Buffer.from("Hello-µ@ßöäüàá-UTF-8!!");
add("6.2.1", "UTF-8 in one frame", [text(greeting)], [says(greeting)]);
const cut = Buffer.byteLength("Hello-µ@ßöä");
add(
  "6.2.2",
  "UTF-8 cut between two characters",
  [begin(greeting.subarray(0, cut)), more(greeting.subarray(cut), true)],
  [says(greeting)],
);
add("6.2.3", "UTF-8 in fragments of a byte", byteFragments(greeting), [says(greeting)]);
const kosme = hex("cebae1bdb9cf83cebcceb5");
add("6.2.4", "κόσμε in fragments of a byte", byteFragments(kosme), [says(kosme)]);

const invalid = Buffer.concat([kosme, hex("eda080"), Buffer.from("edited")]);
add("6.3.1", "a surrogate within a text", [text(invalid)], [], { end: 1007 });
add("6.3.2", "the same in fragments of a byte", byteFragments(invalid), [], { end: 1007 });

// The end comes before the text does, and before the character would be complete.
const beyond = Buffer.concat([kosme, hex("f4908080")]);
add("6.4.1", "beyond Unicode: refused at the fragment", [begin(kosme), more(hex("f4908080"))], [], {
  end: 1007,
  early: true,
});
add(
  "6.4.2",
  "beyond Unicode: refused within the character",
  [begin(kosme), more(hex("f490"))],
  [],
  {
    end: 1007,
    early: true,
  },
);
const whole = text(Buffer.concat([beyond, Buffer.from("edited")]));
const headerBytes = 6;
const upTo = (size) => [whole.subarray(0, headerBytes + size)];
add("6.4.3", "the same within a frame, at the character", upTo(beyond.length), [], {
  end: 1007,
  early: true,
});
add("6.4.4", "the same within a frame, at the second byte", upTo(kosme.length + 2), [], {
  end: 1007,
  early: true,
});

/** @param {string} section @param {boolean} good @param {string[]} sequences in hexadecimal */
function all(section, good, sequences) {
  sequences.forEach((digits, i) => {
    const id = `${section}.${i + 1}`;
    const bytes = hex(digits);
    if (good) add(id, `valid: ${digits}`, [text(bytes)], [says(bytes)]);
    else add(id, `invalid: ${digits}`, [text(bytes)], [], { end: 1007 });
  });
}

all("6.5", true, ["cebae1bdb9cf83cebcceb5", "24", "c2a2", "e282ac", "f0a4ada2"]);
// Every beginning of κόσμε; whole characters are valid.
const complete = [2, 5, 7, 9, 11];
for (let size = 1; size <= kosme.length; ++size) {
  const bytes = kosme.subarray(0, size);
  const good = complete.includes(size);
  add(`6.6.${size}`, `the first ${size} bytes of κόσμε`, [text(bytes)], good ? [says(bytes)] : [], {
    ...(!good && { end: 1007 }),
  });
}
all("6.7", true, ["00", "c280", "e0a080", "f0908080"]);
all("6.8", false, ["f888808080", "fc8480808080"]);
all("6.9", true, ["7f", "dfbf", "efbfbf", "f48fbfbf"]);
all("6.10", false, ["f7bfbfbf", "fbbfbfbfbf", "fdbfbfbfbfbf"]);
all("6.11", true, ["ed9fbf", "ee8080", "efbfbd", "f48fbfbf"]);
add("6.11.5", "invalid: f4908080", [text(hex("f4908080"))], [], { end: 1007 });
const range = (from, to, between = "") =>
  Array.from({ length: to - from + 1 }, (_, i) => (from + i).toString(16) + between).join("");
all("6.12", false, [
  ...["80", "bf", "80bf", "80bf80", "80bf80bf", "80bf80bf80", "80bf80bf80bf"],
  range(0x80, 0xbe),
]);
all("6.13", false, [
  range(0xc0, 0xdf, "20"),
  range(0xe0, 0xef, "20"),
  range(0xf0, 0xf7, "20"),
  range(0xf8, 0xfb, "20"),
  range(0xfc, 0xfd, "20"),
]);
const unfinished = [
  ...["c0", "e080", "f08080", "f8808080", "fc80808080"],
  ...["df", "efbf", "f7bfbf", "fbbfbfbf", "fdbfbfbfbf"],
];
all("6.14", false, unfinished);
all("6.15", false, [unfinished.join("")]);
all("6.16", false, ["fe", "ff", "fefeffff"]);
all("6.17", false, ["c0af", "e080af", "f08080af", "f8808080af", "fc80808080af"]);
all("6.18", false, ["c1bf", "e09fbf", "f08fbfbf", "f887bfbfbf", "fc83bfbfbfbf"]);
all("6.19", false, ["c080", "e08080", "f0808080", "f880808080", "fc8080808080"]);
all("6.20", false, ["eda080", "edadbf", "edae80", "edafbf", "edb080", "edbe80", "edbfbf"]);
all("6.21", false, [
  ...["eda080edb080", "eda080edbfbf", "edadbfedb080", "edadbfedbfbf"],
  ...["edae80edb080", "edae80edbfbf", "edafbfedb080", "edafbfedbfbf"],
]);
// Noncharacters are characters to UTF-8: the last two of each of the 17 planes.
const utf8 = (point) => Buffer.from(String.fromCodePoint(point)).toString("hex");
const planes = Array.from({ length: 17 }, (_, plane) => plane * 0x10000);
all(
  "6.22",
  true,
  planes.flatMap((plane) => [utf8(plane + 0xfffe), utf8(plane + 0xffff)]),
);
all("6.23", true, [0xfff9, 0xfffa, 0xfffb, 0xfffc, 0xfffd, 0xfffe, 0xffff].map(utf8));
