// Properties of single characters, from the same data as native/base/characters.h.

import { CLASSES } from "./character-classes.mjs";

/** Bits of a class: native/base/characters.h says what they mean. */
export const HIDDEN = 1;
export const UNNAMED = 2;
export const PICTOGRAPH = 4;
export const JOINS = 8;
export const MARK = 16;

/** @type {{starts: number[], bits: number[]} | undefined} read with the first character that needs it */
let table;

function readTable() {
  /** @type {number[]} */
  const starts = [];
  /** @type {number[]} */
  const bits = [];
  let at = 0;
  for (const word of CLASSES.trim().split(/\s/)) {
    const [distance, value] = word.split(".");
    at += parseInt(distance, 36);
    starts.push(at);
    bits.push(parseInt(value, 36));
  }
  return { starts, bits };
}

/** @param {number} point @returns {number} */
export function classOf(point) {
  table ??= readTable();
  let [low, high] = [0, table.starts.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (table.starts[middle] <= point) low = middle;
    else high = middle;
  }
  return table.bits[low];
}
