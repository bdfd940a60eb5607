// Text from elsewhere, made safe to print: a terminal obeys control characters, and a reader is
// misled by those that change direction, have no width or are not drawn. They are shown, not obeyed.
// visible() in native/base/encoding.h does the same.

import { classOf, HIDDEN, JOINS, MARK, PICTOGRAPH, UNNAMED } from "./characters.mjs";

const PLAIN = /^[ -~]*$/;
const NON_JOINER = 0x200c;
const JOINER = 0x200d;
const TEXT_STYLE = 0xfe0e;
const EMOJI_STYLE = 0xfe0f;
const KEYCAP = 0x20e3;

/** @param {number} point */
const isKey = (point) => (point >= 0x30 && point <= 0x39) || point === 0x23 || point === 0x2a;
/** @param {string} character */
const pointOf = (character) => Number(character.codePointAt(0));

/** @param {string} character */
function escaped(character) {
  const digits = pointOf(character).toString(16);
  return pointOf(character) < 0x80 ? `\\x${digits.padStart(2, "0")}` : `\\u{${digits}}`;
}

/** @typedef {"" | "pictograph" | "styled" | "key" | "letter"} Before what a joiner may follow */

/** @param {Before} before */
const isEmoji = (before) => before === "pictograph" || before === "styled";

/** @param {number} point @param {number} bits @param {Before} before @returns {Before} */
function after(point, bits, before) {
  if (point >= 0x1f3fb && point <= 0x1f3ff && isEmoji(before)) return "styled";
  if (bits & MARK && before === "letter") return before;
  if (bits & PICTOGRAPH) return "pictograph";
  if (bits & JOINS) return "letter";
  return isKey(point) ? "key" : "";
}

/** @param {number} point @param {Before} before @param {number | undefined} next */
function joinsNext(point, before, next) {
  if (next === undefined) return false;
  if (point === EMOJI_STYLE) return before === "key" && next === KEYCAP;
  if (point !== JOINER && point !== NON_JOINER) return false;
  const bits = classOf(next);
  if (bits & HIDDEN) return false;
  if (before === "letter") return (bits & JOINS) !== 0;
  return isEmoji(before) && point === JOINER && (bits & PICTOGRAPH) !== 0;
}

/**
 * @param {string} text @param {(character: string) => string} escape a hidden character
 * @returns {string} joiners and selectors stay within an emoji or a word that needs them
 */
export function escapeHidden(text, escape) {
  if (PLAIN.test(text)) return text;
  const characters = [...text];
  /** @type {Before} */
  let before = "";
  let shown = "";
  for (const [index, character] of characters.entries()) {
    const point = pointOf(character);
    const bits = classOf(point);
    if ((bits & HIDDEN) === 0) {
      shown += character;
      before = after(point, bits, before);
      continue;
    }
    const styles = before === "pictograph" && (point === EMOJI_STYLE || point === TEXT_STYLE);
    const joins = joinsNext(point, before, characters[index + 1]?.codePointAt(0));
    shown += styles || joins ? character : escape(character);
    before = styles ? "styled" : "";
  }
  return shown;
}

/** @param {string} text @returns {string} one line */
export const visible = (text) => escapeHidden(text, escaped);

/** The same for a text of several lines, which stay lines. @param {string} text */
export const visibleLines = (text) => text.split("\n").map(visible).join("\n");

/** The name cannot end the quotes. @param {string} name */
export const inQuotes = (name) => `"${name.replace(/["\\]/g, "\\$&")}"`;

/**
 * A name in a line that goes on behind it: in quotes where it could pass for the rest of the line, or for two
 * names. native/base/names.h does the same.
 * @param {string} name
 */
export const inLine = (name) => (/^[A-Za-z0-9._-]+$/.test(name) ? name : inQuotes(name));

/**
 * Why it is no name: native/base/names.h says more.
 * @param {string} name @returns {string} to follow "expected"; empty: it is one
 */
export function nameProblem(name) {
  const bad = [...name].map(pointOf).find((point) => classOf(point) & UNNAMED);
  if (bad !== undefined) {
    const code = bad.toString(16).toUpperCase().padStart(4, "0");
    return `a name of plain, visible characters, found U+${code}`;
  }
  if (/^ | $| {2}/.test(name)) {
    return "a name without spaces at its ends or in a row";
  }
  if (name === "") return "a name that is not empty";
  if (name.split(" ").some((word) => classOf(pointOf(word)) & MARK)) {
    return "a name with no combining mark at the front of a word";
  }
  return "";
}

/** Bounded, and says by how much it was cut. @param {string} text @param {number} max */
export function shortened(text, max) {
  return text.length <= max ? text : `${text.slice(0, max)}… (${text.length - max} more)`;
}

/**
 * A word as a shell takes it, so that a line can be copied; also what keeps the borders between
 * arguments visible.
 * @param {string} word
 */
export function quoted(word, platform = process.platform) {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  if (platform === "win32") return `"${word.replaceAll('"', '""')}"`;
  return `'${word.replaceAll("'", "'\\''")}'`;
}
