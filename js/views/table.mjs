// Tables for people: columns are as wide as their content, and cut at the end of the terminal.

import stringWidth from "fast-string-width";
import { visible } from "../lib/visible.mjs";

/** @typedef {import("./output.mjs").Part} Part */
/** @typedef {{title: string, right?: boolean, flexible?: boolean}} Column a flexible column shrinks if the line is too long */

const GAP = 2;
const NARROWEST = 8;

/** @param {Part} part */
const partText = (part) => visible(typeof part === "string" ? part : part.text);

/** @param {string} text @param {number} width in columns of a terminal @returns {string} */
export function cut(text, width) {
  if (stringWidth(text) <= width) return text;
  let kept = "";
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (stringWidth(kept + segment) >= width) break;
    kept += segment;
  }
  return `${kept}…`;
}

/**
 * Keeps the start and the end, since the end of an error has the reason.
 * @param {string} text @param {number} width in columns of a terminal @returns {string}
 */
export function cutInside(text, width) {
  if (stringWidth(text) <= width) return text;
  const segments = [...new Intl.Segmenter().segment(text)].map(({ segment }) => segment);
  const room = Math.floor(width / 2);
  let end = "";
  while (segments.length > 0) {
    const longer = segments.pop() + end;
    if (stringWidth(longer) > room) break;
    end = longer;
  }
  const start = cut(text, width - stringWidth(end));
  return `${start}${end}`;
}

/** @param {Column[]} columns @param {Part[][]} rows @param {number} room @param {number} indent */
function computeWidths(columns, rows, room, indent) {
  const widths = columns.map(({ title }, at) =>
    Math.max(stringWidth(title), ...rows.map((row) => stringWidth(partText(row[at])))),
  );
  const used = () => indent + widths.reduce((sum, width) => sum + width + GAP, -GAP);
  const flexible = columns.flatMap((column, at) => (column.flexible ? [at] : []));
  // The widest column shrinks first.
  while (used() > room) {
    const widest = flexible.toSorted((a, b) => widths[b] - widths[a])[0];
    if (widest === undefined || widths[widest] <= NARROWEST) break;
    widths[widest] -= 1;
  }
  return widths;
}

/**
 * Splits a text into lines of at most that width. A line break starts a new line.
 * @param {string} text @param {number} width @returns {string[]}
 */
export function foldText(text, width) {
  return text.split(/\r?\n/).flatMap((line) => {
    /** @type {string[]} */
    const lines = [];
    let used = 0;
    let kept = "";
    for (const { segment } of new Intl.Segmenter().segment(visible(line))) {
      const wide = stringWidth(segment);
      if (used + wide > width && kept !== "") {
        lines.push(kept);
        kept = "";
        used = 0;
      }
      kept += segment;
      used += wide;
    }
    return [...lines, kept];
  });
}

/**
 * The head of a table and its rows, as parts of lines.
 * @param {Column[]} columns @param {Part[][]} rows @param {number} room @param {number} [indent] spaces before each
 *   line
 * @returns {Part[][]}
 */
export function tableLines(columns, rows, room, indent = 0) {
  const widths = computeWidths(columns, rows, room, indent);
  const last = columns.length - 1;
  /** @param {Part[]} cells @returns {Part[]} */
  const line = (cells) => [
    " ".repeat(indent),
    ...cells.flatMap((part, at) => {
      const text = cut(partText(part), widths[at]);
      const cell = typeof part === "string" ? text : { ...part, text };
      const blank = " ".repeat(widths[at] - stringWidth(text));
      if (columns[at].right) return [blank, cell, at < last ? " ".repeat(GAP) : ""];
      return [cell, at < last ? blank + " ".repeat(GAP) : ""];
    }),
  ];
  return [
    columns.map(({ title }) => ({ style: /** @type {const} */ ("dim"), text: title })),
    ...rows,
  ].map(line);
}

/**
 * @param {import("./output.mjs").Output} output @param {Column[]} columns @param {Part[][]} rows
 * @param {number} [indent] spaces before each line
 */
export function table(output, columns, rows, indent = 0) {
  for (const line of tableLines(columns, rows, output.width, indent)) output.print(...line);
}
