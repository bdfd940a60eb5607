// Makes untrusted text safe to print. Control characters would affect a terminal, and characters that change
// direction, have no width or are not drawn would mislead a reader, so both are escaped.

import { stripVTControlCharacters } from "node:util";

/** Scripts that are written with joiners (U+200C, U+200D). */
const JOINED = [
  ...["Arabic", "Syriac", "Mongolian", "Devanagari", "Bengali", "Gurmukhi", "Gujarati", "Oriya"],
  ...["Tamil", "Telugu", "Kannada", "Malayalam", "Sinhala", "Khmer", "Myanmar"],
].map((script) => `\\p{Script=${script}}`);

// Classes of characters. packaging/characters.mjs writes native/base/character_classes.h from these.
/** Not visible as such: shown as an escape. */
export const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{DI}\p{VS}\p{NChar}]/u;
/** An emoji, or unassigned and reserved for emoji. */
export const PICTOGRAPH = /\p{ExtPict}/u;
/** Of a script that is written with joiners. */
export const JOINS = new RegExp(`(?=[\\p{L}\\p{M}])[${JOINED.join("")}]`, "u");
/** Combines with the character before it. */
export const MARK = /\p{M}/u;
// U+2800 is a Braille pattern without a dot: it looks blank, but is not a blank in Unicode.
const NO_NAME = /[\p{C}\p{Z}\u2800\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff]/u;

/** A compatibility form of other characters: ﬁ, Ａ, Å (U+212B). @param {string} character */
function isAnotherForm(character) {
  const composed = character.normalize("NFC");
  const isComposed = composed !== character && [...composed].length === 1;
  return isComposed || character.normalize("NFD") !== character.normalize("NFKD");
}

/** Not allowed in names; this includes all hidden characters. @param {string} character */
export const isUnnamed = (character) =>
  HIDDEN.test(character) ||
  (character !== " " && NO_NAME.test(character)) ||
  isAnotherForm(character);

const NON_JOINER = 0x200c;
const JOINER = 0x200d;
const TEXT_STYLE = 0xfe0e;
const EMOJI_STYLE = 0xfe0f;
const KEYCAP = 0x20e3;

/** @param {number} point */
const isKey = (point) => (point >= 0x30 && point <= 0x39) || point === 0x23 || point === 0x2a;
/** @param {string} character */
const codePoint = (character) => Number(character.codePointAt(0));

/** @param {string} character */
function escapeCharacter(character) {
  const digits = codePoint(character).toString(16);
  return codePoint(character) < 0x80 ? `\\x${digits.padStart(2, "0")}` : `\\u{${digits}}`;
}

/** @typedef {"" | "pictograph" | "styled" | "key" | "letter"} JoinContext the kind of the character before a joiner */

/** @param {JoinContext} before */
const isEmoji = (before) => before === "pictograph" || before === "styled";

/** @param {string} character @param {JoinContext} before @returns {JoinContext} */
function nextContext(character, before) {
  const point = codePoint(character);
  if (point >= 0x1f3fb && point <= 0x1f3ff && isEmoji(before)) return "styled";
  if (MARK.test(character) && before === "letter") return before;
  if (PICTOGRAPH.test(character)) return "pictograph";
  if (JOINS.test(character)) return "letter";
  return isKey(point) ? "key" : "";
}

/** @param {number} point @param {JoinContext} before @param {string} [next] */
function joinsNext(point, before, next) {
  if (next === undefined) return false;
  if (point === EMOJI_STYLE) return before === "key" && codePoint(next) === KEYCAP;
  if ((point !== JOINER && point !== NON_JOINER) || HIDDEN.test(next)) return false;
  if (before === "letter") return JOINS.test(next);
  return isEmoji(before) && point === JOINER && PICTOGRAPH.test(next);
}

/**
 * @param {string} text @param {(character: string) => string} escape a hidden character
 * @returns {string} with joiners and selectors in emoji and in words that need them
 */
export function escapeHidden(text, escape) {
  if (!HIDDEN.test(text)) return text;
  const characters = [...text];
  /** @type {JoinContext} */
  let before = "";
  let shown = "";
  for (const [index, character] of characters.entries()) {
    if (!HIDDEN.test(character)) {
      shown += character;
      before = nextContext(character, before);
      continue;
    }
    const point = codePoint(character);
    const styles = before === "pictograph" && (point === EMOJI_STYLE || point === TEXT_STYLE);
    const joins = joinsNext(point, before, characters[index + 1]);
    shown += styles || joins ? character : escape(character);
    before = styles ? "styled" : "";
  }
  return shown;
}

/** @param {string} text @returns {string} a single line */
export const visible = (text) => escapeHidden(text, escapeCharacter);

/** The same for a text of several lines; line ends and tabs stay. @param {string} text */
export const visibleLines = (text) => text.replaceAll(/[^\n\t]+/g, visible);

/** Escapes quotes in the name. @param {string} name */
export const wrapInQuotes = (name) => `"${name.replace(/["\\]/g, "\\$&")}"`;

/**
 * A name within a line: in quotes if it could be read as the rest of the line, or as two
 * names. native/base/names.h does the same.
 * @param {string} name
 */
export const inLine = (name) => (/^[A-Za-z0-9._-]+$/.test(name) ? name : wrapInQuotes(name));

/** @param {string[]} names of hostile origin @param {number} most @returns {string} the first of them, and how many more there are */
export const formatNames = (names, most) =>
  names.slice(0, most).map(inLine).join(", ") +
  (names.length > most ? ` and ${names.length - most} more` : "");

/**
 * Why it is not a valid name: native/base/names.h has the rules.
 * @param {string} name @returns {string} to follow "expected"; "" for a valid name
 */
export function nameProblem(name) {
  const bad = [...name].find(isUnnamed);
  if (bad !== undefined) {
    const code = codePoint(bad).toString(16).toUpperCase().padStart(4, "0");
    return `a name of plain, visible characters, found U+${code}`;
  }
  if (/^ | $| {2}/.test(name)) {
    return "a name without spaces at its ends or in a row";
  }
  if (name === "") return "a name that is not empty";
  if (/(?:^| )\p{M}/u.test(name)) {
    return "a name with no combining mark at the front of a word";
  }
  return "";
}

/** A program's output without colours and the like; of an overwritten line, only its last state. @param {string} text */
export const plainLines = (text) =>
  stripVTControlCharacters(text).replaceAll(/[^\n]*\r(?=[^\r\n])/g, "");

/** The start, without half a character at its end. @param {string} text @param {number} max */
export const truncateText = (text, max) => text.slice(0, max).replace(/[\uD800-\uDBFF]$/, "");

/** Shortens a text, and appends the number of removed characters. @param {string} text @param {number} max */
export function shortenText(text, max) {
  if (text.length <= max) return text;
  const head = truncateText(text, max);
  return `${head}… (${text.length - head.length} more)`;
}

/**
 * Quotes a word for a shell, so that a line can be copied, and that the borders between
 * arguments are visible.
 * @param {string} word
 */
export function quoteWord(word, platform = process.platform) {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  if (platform === "win32") return `"${word.replaceAll('"', '""')}"`;
  return `'${word.replaceAll("'", "'\\''")}'`;
}
