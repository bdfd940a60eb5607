// JSON with comments, read by a schema: each problem says where in the file it is.

import jsonc from "jsonc-parser";
import { formatProblem, quoteText, readValue } from "./schema.mjs";

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
const MAX_PROBLEMS = 20;

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
function positionAt(text, offset) {
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
 * Comments and trailing commas are fine. Reports only the first syntax error, which causes the others.
 * @param {string} text @param {string} file
 * @returns {{root: Node} | {problem: Problem}}
 */
function parsePositioned(text, file) {
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

/**
 * @param {Node} node @param {(key: Node, message: string) => void} report
 * @returns {any} its value, with each member once
 */
function toValue(node, report) {
  if (node.type === "array") return (node.children ?? []).map((item) => toValue(item, report));
  if (node.type !== "object") return node.value;
  const names = new Set();
  const members = (node.children ?? []).map(({ children: [key, value] = [] }) => {
    if (names.has(key.value)) report(key, `${quoteText(key.value)} is given twice`);
    names.add(key.value);
    return [key.value, toValue(value, report)];
  });
  return Object.fromEntries(members);
}

/** As deep as there is one. @param {Node} root @param {import("./schema.mjs").FieldProblem} problem */
function findNode(root, { path, isKey }) {
  let node = root;
  for (const [at, step] of path.entries()) {
    const members = node.children?.map(({ children }) => children ?? []) ?? [];
    const [key, member] = members.findLast(([one]) => one?.value === step) ?? [];
    const next = typeof step === "number" ? node.children?.[step] : member;
    if (!next) break;
    node = isKey && key && at === path.length - 1 ? key : next;
  }
  return node;
}

/**
 * @template T @param {import("./schema.mjs").Schema<T>} schema @param {string} text @param {string} file as problems name it
 * @returns {{ok: true, value: T} | {ok: false, problems: Problem[]}}
 */
export function readJsonc(schema, text, file) {
  const parsed = parsePositioned(text, file);
  if ("problem" in parsed) return { ok: false, problems: [parsed.problem] };
  const { root } = parsed;
  /** @type {Problem[]} */
  const problems = [];
  const report = (/** @type {Node} */ { offset }, /** @type {string} */ message) => {
    if (problems.length < MAX_PROBLEMS) problems.push(problemAt(file, text, offset, message));
  };
  const read = readValue(schema, toValue(root, report));
  const found = read.ok === false ? read.problems : [];
  for (const one of found) report(findNode(root, one), formatProblem(one));
  return read.ok && problems.length === 0 ? read : { ok: false, problems };
}
