// Strict reading of JSON with comments: each value is of the expected kind, each field is known and given once. A
// problem says where it is.

import { suggestion } from "../base/suggestion.mjs";
import { shortened, visible } from "../base/visible.mjs";
import { pathTo, problemAt } from "./json-positions.mjs";

/** @typedef {import("./json-positions.mjs").Node} Node */
/** @typedef {import("./json-positions.mjs").Problem} Problem */

const MAX_PROBLEMS = 20;

/** @param {string} text */
export const shown = (text) => `"${visible(shortened(text, 60))}"`;

/** @param {Node | undefined} node */
function kindOf(node) {
  if (node?.type === "null") return "null";
  return `${/^[ao]/.test(node?.type ?? "") ? "an" : "a"} ${node?.type}`;
}

/** As a program would write it: providers[0].args[1]. @param {Node} node */
function placeOf(node) {
  const steps = pathTo(node).map((step) => {
    if (typeof step === "number") return `[${step}]`;
    return /^[A-Za-z_]\w{0,59}$/.test(step) ? `.${step}` : `[${shown(step)}]`;
  });
  return steps.join("").replace(/^\./, "") || "the config";
}

export class StrictReader {
  /** @type {Problem[]} */
  problems = [];
  #text;
  #file;

  /** @param {string} text @param {string} file */
  constructor(text, file) {
    this.#text = text;
    this.#file = file;
  }

  /** @param {Node} node @param {string | (() => string)} message a function where it takes time to make */
  problem(node, message) {
    if (this.problems.length >= MAX_PROBLEMS) return;
    const text = typeof message === "string" ? message : message();
    this.problems.push(problemAt(this.#file, this.#text, node.offset, text));
  }

  /** @param {Node} node @param {string} kind */
  mustBe(node, kind) {
    this.problem(node, () => `${placeOf(node)} must be ${kind}, not ${kindOf(node)}`);
  }

  /**
   * The fields of an object, each known and given once.
   * @param {Node} node @param {string} what @param {readonly string[]} known
   * @returns {Map<string, Node>}
   */
  fields(node, what, known) {
    const fields = this.members(node, what);
    for (const [name, { key }] of fields) {
      if (known.includes(name)) continue;
      this.problem(key, `unknown field ${shown(name)} in ${what}: ${suggestion(name, known)}`);
    }
    return new Map([...fields].map(([name, { value }]) => [name, value]));
  }

  /** @param {Node} node @param {string} what @returns {Map<string, {key: Node, value: Node}>} */
  members(node, what) {
    const members = new Map();
    if (node.type !== "object") {
      this.mustBe(node, "an object");
      return members;
    }
    for (const { children: [key, value] = [] } of node.children ?? []) {
      const name = String(key.value);
      if (members.has(name)) this.problem(key, `${shown(name)} is given twice in ${what}`);
      members.set(name, { key, value });
    }
    return members;
  }

  /** @param {Node} node @returns {Node[]} */
  list(node) {
    if (node.type === "array") return node.children ?? [];
    this.mustBe(node, "a list");
    return [];
  }

  /**
   * A text without the zero byte, which would end it early for the system.
   * @param {Node} node
   */
  string(node) {
    if (node.type !== "string") {
      this.mustBe(node, "a string");
      return "";
    }
    if (node.value.includes("\0")) {
      this.problem(node, () => `${placeOf(node)} must not contain a zero byte`);
    }
    return /** @type {string} */ (node.value);
  }
}
