// The inbox: one list of what waits for the user. Its items, their order and their names, without I/O.

import { createHash, randomInt } from "node:crypto";

/** @typedef {{id: string, label: string, key: string, primary?: true, asks?: string, confirm?: string}} Act */
/**
 * @typedef {object} Item
 * @property {string} id four characters @property {string} digest of what the user sees and what an act depends on
 * @property {string} kind @property {"blocks" | "decides" | "knows"} class
 * @property {number} at Unix ms; 0: not known
 * @property {{label: string, session?: string, plan?: string, node?: string, folder?: string, feature?: string}} who
 * @property {string} title @property {string} text @property {boolean} [cut]
 * @property {Act[]} acts @property {object[]} [form] @property {string} [note] @property {string} [terminal]
 */
/** An item of a source: `key` is unique in it. @typedef {Omit<Item, "id" | "digest"> & {key: string}} Waiting */
/** @typedef {{blocks: number, decides: number, knows: number}} Counts */

const CLASSES = /** @type {const} */ (["blocks", "decides", "knows"]);
const MAX_ITEMS = 200;
/** Without letters that look alike, and without vowels: no words. */
const LETTERS = "bcdfghjkmnpqrstvwxz23456789";
const ID_LENGTH = 4;
/** Ids of items that have gone: they are not given again while somebody may still have them on the screen. */
const MAX_IDS = 20_000;

/** @param {Pick<Item, "kind" | "title" | "text"> & {form?: object[], acts: Act[]}} item */
export function digestItem({ kind, title, text, form = [], acts }) {
  const seen = JSON.stringify([kind, title, text, form, acts]);
  return createHash("sha256").update(seen).digest("hex").slice(0, 8);
}

/** @param {{class: string}[]} items @returns {Counts} */
export const countItems = (items) =>
  /** @type {Counts} */ (
    Object.fromEntries(
      CLASSES.map((name) => [name, items.filter((item) => item.class === name).length]),
    )
  );

/** Blocked work first; in each class the oldest first. @param {{class: string, at: number}} a @param {{class: string, at: number}} b */
const compareItems = (a, b) =>
  CLASSES.indexOf(/** @type {any} */ (a.class)) - CLASSES.indexOf(/** @type {any} */ (b.class)) ||
  a.at - b.at;

const makeId = () =>
  Array.from({ length: ID_LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join("");

export class InboxIds {
  /** @type {Map<string, string>} id by key, the oldest first */
  #ids = new Map();
  #used = new Set();
  #read = new Set();

  /** @param {string} key */
  #assign(key) {
    const known = this.#ids.get(key);
    if (known) return known;
    let id;
    do id = makeId();
    while (this.#used.has(id));
    this.#ids.set(key, id);
    this.#used.add(id);
    if (this.#ids.size > MAX_IDS) this.#forgetOldest();
    return id;
  }

  #forgetOldest() {
    const [key, id] = /** @type {[string, string]} */ (this.#ids.entries().next().value);
    this.#ids.delete(key);
    this.#used.delete(id);
    this.#read.delete(key);
  }

  /** @param {string} key */
  markRead(key) {
    this.#read.add(key);
  }

  /**
   * In order, with ids, at most 200.
   * @param {Waiting[]} waiting @returns {(Item & {key: string})[]}
   */
  list(waiting) {
    const unread = waiting.filter(({ key }) => !this.#read.has(key)).sort(compareItems);
    return unread
      .slice(0, MAX_ITEMS)
      .map((item) => ({ id: this.#assign(item.key), digest: digestItem(item), ...item }));
  }
}
