// JSON with comments, as a tree of nodes that know where they stand; and problems that say where.

import jsonc from "jsonc-parser";
import { formatSuggestion } from "../lib/suggestion.mjs";
import { shortenText, visible } from "../lib/visible.mjs";

/** @typedef {import("jsonc-parser").Node} Node */
/**
 * @typedef {object} Problem
 * @property {string} file
 * @property {number} line from 1
 * @property {number} column from 1, in UTF-16 units, as editors count
 * @property {string} message what was expected
 * @property {string} text all of it: "file:line:column: message"
 */

/** Far more than any config needs, far less than a parser's stack holds. */
const MAX_DEPTH = 32;

/** The parser's codes in words for the author of the file. @type {Record<string, string>} */
const EXPECTED = {
  InvalidSymbol: 'expected a JSON value or a name in double quotes (true, false, null, 1, "text")',
  InvalidNumberFormat: "expected a number such as 10 or 0.5",
  PropertyNameExpected: "expected a name in double quotes",
  ValueExpected: "expected a value",
  ColonExpected: "expected a colon after the name",
  CommaExpected: "expected a comma",
  CloseBraceExpected: "expected a closing brace }",
  CloseBracketExpected: "expected a closing bracket ]",
  EndOfFileExpected: "expected the end of the file",
  UnexpectedEndOfComment: "expected the end of the comment, */",
  UnexpectedEndOfString: 'expected a closing " on the same line',
  UnexpectedEndOfNumber: "expected more digits",
  InvalidUnicode: "expected four hexadecimal digits after \\u",
  InvalidEscapeCharacter:
    'expected one of \\" \\\\ \\/ \\b \\f \\n \\r \\t \\u after the backslash',
  InvalidCharacter: "expected no control character in a text (write \\n or \\t)",
};

/**
 * @param {string} text @param {number} offset
 * @returns {{line: number, column: number}}
 */
export function positionAt(text, offset) {
  const lines = text.slice(0, offset).split(/\r\n|\n|\r/);
  return { line: lines.length, column: lines[lines.length - 1].length + 1 };
}

/**
 * @param {string} file @param {string} text @param {number} offset @param {string} message
 * @returns {Problem}
 */
export function problemAt(file, text, offset, message) {
  const { line, column } = positionAt(text, offset);
  return { file, line, column, message, text: `${file}:${line}:${column}: ${message}` };
}

/** Where the nesting gets too deep, or -1; found without recursion. @param {string} text */
function findExcessDepth(text) {
  const scanner = jsonc.createScanner(text, true);
  let depth = 0;
  for (let kind = scanner.scan(); kind !== 17 /* the end */; kind = scanner.scan()) {
    const token = scanner.getTokenLength() === 1 ? text[scanner.getTokenOffset()] : "";
    if (token === "{" || token === "[") depth += 1;
    if (token === "}" || token === "]") depth -= 1;
    if (depth > MAX_DEPTH) return scanner.getTokenOffset();
  }
  return -1;
}

/**
 * Comments and trailing commas are fine. Only the first error is told: the others follow from it.
 * @param {string} text @param {string} file
 * @returns {{root: Node} | {problem: Problem}}
 */
export function parsePositioned(text, file) {
  const deep = findExcessDepth(text);
  if (deep >= 0) {
    return { problem: problemAt(file, text, deep, `expected at most ${MAX_DEPTH} levels`) };
  }
  /** @type {import("jsonc-parser").ParseError[]} */
  const errors = [];
  const root = jsonc.parseTree(text, errors, { allowTrailingComma: true });
  if (root && errors.length === 0) return { root };
  const { error, offset } = errors[0] ?? { error: 4, offset: 0 };
  const expected = EXPECTED[jsonc.printParseErrorCode(error)] ?? "expected valid JSON";
  return { problem: problemAt(file, text, offset, expected) };
}

/** The value of a node, or of a part of one. @param {Node} node @returns {unknown} */
export const readNodeValue = (node) => jsonc.getNodeValue(node);

/** The names and indexes that lead to a node. @param {Node} node @returns {(string | number)[]} */
export const pathTo = (node) => jsonc.getNodePath(node);

// Strict reading of JSON with comments: each value is of the expected kind, each field is known and given once. A
// problem says where it is.

const MAX_PROBLEMS = 20;

/** @param {string} text */
export const quoteInput = (text) => `"${visible(shortenText(text, 60))}"`;

/** @param {Node | undefined} node */
function formatKind(node) {
  if (node?.type === "null") return "null";
  return `${/^[ao]/.test(node?.type ?? "") ? "an" : "a"} ${node?.type}`;
}

/** As a program would write it: providers[0].args[1]. @param {Node} node */
function formatPlace(node) {
  const steps = pathTo(node).map((step) => {
    if (typeof step === "number") return `[${step}]`;
    return /^[A-Za-z_]\w{0,59}$/.test(step) ? `.${step}` : `[${quoteInput(step)}]`;
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
    this.problem(node, () => `${formatPlace(node)} must be ${kind}, not ${formatKind(node)}`);
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
      this.problem(
        key,
        `unknown field ${quoteInput(name)} in ${what}: ${formatSuggestion(name, known)}`,
      );
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
      if (members.has(name)) this.problem(key, `${quoteInput(name)} is given twice in ${what}`);
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
      this.problem(node, () => `${formatPlace(node)} must not contain a zero byte`);
    }
    return /** @type {string} */ (node.value);
  }
}
