// Programs in a package: without comments, indentation and blanks between tokens. These are only for
// people who change the programs, and take two fifths of the size.

import ts from "typescript";

const { ESNext } = ts.ScriptTarget;
const PRINTER = { target: ESNext, module: ts.ModuleKind.ESNext, removeComments: true };
const INDENTATION = /^ +/;

/** Whether its text may span lines, and must not be changed. @param {ts.Node} node */
const isText = (node) =>
  ts.isStringLiteral(node) ||
  ts.isNoSubstitutionTemplateLiteral(node) ||
  ts.isTemplateHead(node) ||
  ts.isTemplateMiddleOrTemplateTail(node);

/** @param {ts.SourceFile} file @returns {Set<number>} the lines that start within a text */
function linesOfTexts(file) {
  /** @type {Set<number>} */
  const lines = new Set();
  const lineAt = (/** @type {number} */ at) => file.getLineAndCharacterOfPosition(at).line;
  /** @param {ts.Node} node */
  function visit(node) {
    if (isText(node)) {
      const last = lineAt(node.end);
      for (let line = lineAt(node.getStart(file)) + 1; line <= last; ++line) lines.add(line);
    }
    ts.forEachChild(node, visit);
  }
  visit(file);
  return lines;
}

/** @param {string} text @returns {ts.SourceFile} */
const parsed = (text) => ts.createSourceFile("program.mjs", text, ESNext, true, ts.ScriptKind.JS);

/** @param {string} text @returns {string} */
function withoutIndentation(text) {
  const kept = linesOfTexts(parsed(text));
  return text
    .split("\n")
    .map((line, index) => (kept.has(index) ? line : line.replace(INDENTATION, "")))
    .join("\n");
}

const WORD = /[\w$#\\\u0080-\uffff]/;
const BRACKET = /[()[\]{};,"'`]/;

/** Whether two tokens stay separate without a blank between them. @param {string} before its last character @param {string} after its first character */
function mayTouch(before, after) {
  if (BRACKET.test(before) || BRACKET.test(after)) return true;
  if (before === "." || after === ".") return false; // 1 .toString()
  return WORD.test(before) !== WORD.test(after); // otherwise: in of, + +
}

/** Lines stay lines, since statements end with them. @param {string} text @returns {string} */
function withoutBlanks(text) {
  const file = parsed(text);
  let slim = "";
  let at = 0;
  /** @param {ts.Node} node */
  function visit(node) {
    const children = node.getChildren(file);
    if (children.length > 0) return children.forEach(visit);
    const start = node.getStart(file);
    const between = text.slice(at, start);
    const needed = between !== " " || !mayTouch(text[at - 1], text[start]);
    slim += (needed ? between : "") + text.slice(start, node.end);
    at = node.end;
  }
  visit(file);
  return slim + text.slice(at);
}

/** @param {string} text of a module or script @returns {string} an equivalent program that is not longer */
export function slimProgram(text) {
  const options = { compilerOptions: PRINTER, fileName: "program.js" }; // TypeScript would read a<b>(c) as a call
  const printed = ts.transpileModule(text, options).outputText;
  const slim = withoutBlanks(withoutIndentation(printed));
  return slim.length < text.length ? slim : text; // a minified program would get longer
}

/** A text or a number, which stay unchanged, or a comment. */
const CXX_PART =
  /(R"(\w*)\([^]*?\)\2"|"(?:[^"\\\n]|\\[^])*"|\b\d(?:'?[\w.])*|'(?:[^'\\\n]|\\.)*')|[ \t]*(?:\/\/[^\n]*|\/\*[^]*?\*\/)/g;

/**
 * The lines keep their numbers for messages of the compiler.
 * @param {string} text of C or C++ @returns {string} the same without comments
 */
export const withoutComments = (text) =>
  text.replace(
    CXX_PART,
    (comment, kept) =>
      kept ?? (/^[ \t]*\/\*/.test(comment) ? " " : "") + comment.replace(/[^\n]/g, ""),
  );
