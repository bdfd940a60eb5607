// Writes the tables of characters that C++ and JavaScript share: which of them are not seen as they
// are, which a name may not have, and which are drawn alike. Everything but confusables.mjs comes
// from the Unicode data in Node.js itself. What is written is checked in:
//
//   node packaging/characters.mjs

import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { CONFUSABLES } from "./confusables.mjs";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const LAST = 0x10ffff;

/** Bits of a character's class, as in native/base/characters.h and js/lib/visible.mjs. */
export const BITS = { hidden: 1, unnamed: 2, pictograph: 4, joins: 8, mark: 16 };

/** Scripts that are written with joiners (U+200C, U+200D). */
const JOINED = [
  ...["Arabic", "Syriac", "Mongolian", "Devanagari", "Bengali", "Gurmukhi", "Gujarati", "Oriya"],
  ...["Tamil", "Telugu", "Kannada", "Malayalam", "Sinhala", "Khmer", "Myanmar"],
];
const inJoined = JOINED.map((script) => `\\p{Script=${script}}`).join("");

// U+2800 is a Braille pattern without a dot: a blank that is no blank to Unicode.
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{DI}\p{VS}\p{NChar}]/u;
const NO_NAME = /[\p{C}\p{Z}\u2800\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff]/u;
const PICTOGRAPH = /\p{ExtPict}/u;
const JOINS = new RegExp(`(?=[\\p{L}\\p{M}])[${inJoined}]`, "u");
const MARK = /[\p{Mn}\p{Me}]/u;

const isSurrogate = (/** @type {number} */ point) => point >= 0xd800 && point <= 0xdfff;
const isSyllable = (/** @type {number} */ point) => point >= 0xac00 && point <= 0xd7a3;

/** Another spelling of something else: ﬁ, Ａ, Å (U+212B). @param {string} character */
function isAnotherForm(character) {
  const composed = character.normalize("NFC");
  const another = composed !== character && [...composed].length === 1;
  return another || character.normalize("NFD") !== character.normalize("NFKD");
}

/** Letters that become one with what is before them. @returns {Set<string>} */
function composing() {
  const found = new Set();
  for (let point = 0; point <= LAST; point += 1) {
    if (isSurrogate(point) || isSyllable(point)) continue;
    const character = String.fromCodePoint(point);
    const parts = character.normalize("NFD");
    if (parts === character || parts.normalize("NFC") !== character) continue;
    for (const part of [...parts].slice(1)) found.add(part);
  }
  return found;
}

const COMPOSING = composing();

/** Left out where names are compared. @param {string} character */
const isMark = (character) => MARK.test(character) || COMPOSING.has(character);

/** @param {number} point @returns {number} its class */
export function classOf(point) {
  const character = String.fromCodePoint(point);
  const hidden = HIDDEN.test(character);
  const unnamed =
    hidden ||
    (point !== 0x20 && NO_NAME.test(character)) ||
    (!isSurrogate(point) && isAnotherForm(character));
  return (
    (hidden ? BITS.hidden : 0) |
    (unnamed ? BITS.unnamed : 0) |
    (PICTOGRAPH.test(character) ? BITS.pictograph : 0) |
    (JOINS.test(character) ? BITS.joins : 0) |
    (!unnamed && isMark(character) ? BITS.mark : 0)
  );
}

/** Where the class changes, and to what. @returns {[number, number][]} */
export function classes() {
  /** @type {[number, number][]} */
  const changes = [];
  for (let point = 0; point <= LAST; point += 1) {
    const now = classOf(point);
    if (changes.length === 0 || changes[changes.length - 1][1] !== now) changes.push([point, now]);
  }
  return changes;
}

/** By character: who stands for it. */
const STANDS_FOR = new Map(
  CONFUSABLES.flatMap(([one, others]) => [...others].map((other) => [other, one])),
);

/** Without its marks. @param {string} character */
const bare = (character) =>
  [...character.normalize("NFD")].find((part) => !isMark(part)) ?? character;

/** @param {string} character @returns {string} what stands for all that look like it */
function lookOf(character) {
  const base = bare(STANDS_FOR.get(character) ?? character);
  const next = base === character ? bare(base.toLowerCase()) : base;
  return next === character ? character : lookOf(next);
}

/** Characters of names that count as another one. @returns {[number, number][]} */
export function looks() {
  /** @type {[number, number][]} */
  const rows = [];
  for (let point = 0; point <= LAST; point += 1) {
    if (classOf(point) & (BITS.unnamed | BITS.mark) || isSyllable(point)) continue;
    const to = Number(lookOf(String.fromCodePoint(point)).codePointAt(0));
    if (to !== point) rows.push([point, to]);
  }
  return rows;
}

// ---- the files -------------------------------------------------------------------------------------

/** @param {string[]} words @param {string} [between] */
function wrapped(words, between = " ") {
  const lines = [""];
  for (const word of words) {
    if (lines[lines.length - 1].length + word.length > 99) lines.push("");
    lines[lines.length - 1] += lines[lines.length - 1] === "" ? word : between + word;
  }
  return lines.join("\n");
}

const hex = (/** @type {number} */ number) => `0x${number.toString(16)}`;
const VERSION = process.versions.unicode;
const NOTICE = `Generated by packaging/characters.mjs from Unicode ${VERSION}; not to be edited.`;

/** @param {string} declaration @param {string} rows */
const header = (declaration, rows) => `// ${NOTICE}
#pragma once

#include <cstdint>

namespace tap::characters {

// clang-format off
${declaration}[] = {
${rows}
};
// clang-format on

}  // namespace tap::characters
`;

const CLASSES = `// Where the class changes, times 256, and the class from there on.
inline constexpr uint32_t kClasses`;
const LOOKS = `// A character, and the one that stands for all that look like it.
struct Look {
  char32_t from;
  char32_t to;
};
inline constexpr Look kLooks`;

/** @param {[number, number][]} changes */
const classRows = (changes) =>
  wrapped(changes.map(([point, bits]) => `${hex(point * 256 + bits)},`));
/** @param {[number, number][]} rows */
const lookRows = (rows) =>
  wrapped(
    rows.map(([from, to]) => `{${hex(from)},${hex(to)}},`),
    "",
  );

/** Distances and classes in base 36. @param {[number, number][]} changes */
function script(changes) {
  let at = 0;
  const words = changes.map(([point, bits]) => {
    const word = `${(point - at).toString(36)}.${bits.toString(36)}`;
    at = point;
    return word;
  });
  return `// ${NOTICE}

/** Where the class of a character changes: the distance from the last place, and the class there. */
export const CLASSES = \`
${wrapped(words)}
\`;
`;
}

/** By path: what each file should have. @returns {Record<string, string>} */
export function files() {
  const changes = classes();
  return {
    "native/base/character_classes.h": header(CLASSES, classRows(changes)),
    "native/base/character_looks.h": header(LOOKS, lookRows(looks())),
    "js/lib/character-classes.mjs": script(changes),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [file, text] of Object.entries(files())) fs.writeFileSync(path.join(root, file), text);
}
