// The programs of a package are those of this repository, printed with less.

import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";
import ts from "typescript";
import { dependencyFiles, ownFiles } from "../../js/install/package-files.mjs";
import { slimProgram, withoutComments } from "../../packaging/programs.mjs";
import { root } from "../../tools/commands.mjs";

/** @param {string} text @returns {string} the same program, however it was laid out */
const printed = (text) =>
  ts.transpileModule(text, {
    compilerOptions: { target: ts.ScriptTarget.ESNext, removeComments: true },
    fileName: "program.js",
  }).outputText;

test("comments, indentation and blanks go, and no two tokens merge", () => {
  const program =
    "/** @param {number} a */\nfunction f(a) {\n  // Why\n  if (a) {\n    g();\n  }\n}\n";
  assert.equal(slimProgram(program), "function f(a){\nif(a){\ng();\n}\n}\n");
  const tokens = ["a = b + +c - -d", "g in h", "i < !--j", "k = /l m/ / 2", "case_ = #n in o"];
  const slim = ["a=b+ +c- -d", "g in h", "i< !--j", "k= /l m/ /2", "case_=#n in o"];
  for (const [index, token] of tokens.entries()) {
    assert.equal(slimProgram(`${token};\n`), `${slim[index]};\n`);
  }
});

test("texts over several lines stay as they are", () => {
  const before = [
    "const a = `",
    "    b ${{",
    "  c: `",
    "        d`,",
    "}}",
    "    // e",
    "        f`;",
  ];
  const after = ['const g = "h\\', '    i";', ""];
  const program = [...before, ...after].join("\n");
  const slim = program.replace("\n  c: ", "\nc:").replaceAll(" = ", "=");
  assert.equal(slimProgram(program), slim);
});

test("every program is the same code, in fewer bytes", () => {
  const own = ownFiles(root).filter(({ to }) => to.startsWith("js/"));
  const programs = [...own, ...dependencyFiles(root)].filter(({ to }) => /\.[cm]?js$/.test(to));
  assert.ok(programs.length > 100);
  for (const { from, to } of programs) {
    const text = fs.readFileSync(from, "utf8");
    const slim = slimProgram(text);
    assert.equal(printed(slim), printed(text), to);
    assert.ok(slim.length <= text.length, to);
  }
});

test("C++ loses its comments, and neither a line nor a text", () => {
  const before = ["/* a", " * b */ int c; // d", "int e = 1'000; // don't", 'auto f = R"(// g)";'];
  const after = [" ", " int c;", "int e = 1'000;", 'auto f = R"(// g)";'];
  const both = ["char h = '\"';", 'auto i = "// \\"j"; char k = \'/\';', "int l = 4/2;"];
  assert.equal(
    withoutComments([...before, ...both, "m(1 /* n */, 2);"].join("\n")),
    [...after, ...both, "m(1 , 2);"].join("\n"),
  );
});
