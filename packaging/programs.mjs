// Programs as a package has them: without comments and indentation. Both are for people who change them, and take a
// third of the room.

import ts from "typescript";

const { ESNext } = ts.ScriptTarget;
const PRINTER = { target: ESNext, module: ts.ModuleKind.ESNext, removeComments: true };
const INDENTATION = /^ +/;

/** Their text may go over lines, and is the program's own. @param {ts.Node} node */
const isText = (node) =>
  ts.isStringLiteral(node) ||
  ts.isNoSubstitutionTemplateLiteral(node) ||
  ts.isTemplateHead(node) ||
  ts.isTemplateMiddleOrTemplateTail(node);

/** @param {ts.SourceFile} file @returns {Set<number>} the lines that begin within a text */
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

/** @param {string} text of a module or script @returns {string} one that does the same, and is no longer */
export function slimProgram(text) {
  const options = { compilerOptions: PRINTER, fileName: "program.js" }; // TypeScript would read a<b>(c) as a call
  const printed = ts.transpileModule(text, options).outputText;
  const file = ts.createSourceFile("program.mjs", printed, ESNext, false, ts.ScriptKind.JS);
  const kept = linesOfTexts(file);
  const slim = printed
    .split("\n")
    .map((line, index) => (kept.has(index) ? line : line.replace(INDENTATION, "")))
    .join("\n");
  return slim.length < text.length ? slim : text; // what was minified would be longer
}

/** A text or a number, which stay as they are, or a comment. */
const CXX_PART =
  /(R"(\w*)\([^]*?\)\2"|"(?:[^"\\\n]|\\[^])*"|\b\d(?:'?[\w.])*|'(?:[^'\\\n]|\\.)*')|[ \t]*(?:\/\/[^\n]*|\/\*[^]*?\*\/)/g;

/**
 * Its lines keep their numbers, which a compiler names.
 * @param {string} text of C or C++ @returns {string} the same without comments
 */
export const withoutComments = (text) =>
  text.replace(
    CXX_PART,
    (comment, kept) =>
      kept ?? (/^[ \t]*\/\*/.test(comment) ? " " : "") + comment.replace(/[^\n]/g, ""),
  );
