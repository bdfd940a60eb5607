// A comment or a page that cites a decision, a rule of the protocol or a chapter of a page cites one
// that exists. Documents that are not in the repository are not cited.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { root } from "../../../tools/commands.mjs";
import { PROTOCOL_PAGES } from "../../../tools/conformance.mjs";

const read = (file) => readFileSync(path.join(root, file), "utf8");

const FOLDERS = ["native", "js", "sdk", "test", "tools", "examples", "bench", "docs", "packaging"];
const SOURCES = /\.(cc|h|mjs|ts|py|md|sh)$/;

const files = execFileSync(
  "git",
  ["ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", ...FOLDERS, "*.md"],
  { cwd: root, encoding: "utf8" },
)
  .split("\n")
  .filter((file) => SOURCES.test(file) && existsSync(path.join(root, file)))
  .filter((file) => !/(docs\.references|rig\/conformance)\.test\.mjs$/.test(file));

/** One line, without the marks of comments: a reference may be broken over two. @param {string} text */
const flat = (text) => text.replace(/\n\s*(?:\/\/|\*|#)?\s*/g, " ");

/** The numbers that a page gives in its headings and lists. @param {string} file @param {RegExp} pattern */
const numbersOf = (file, pattern) => new Set([...read(file).matchAll(pattern)].map(([, id]) => id));

const decisions = numbersOf("docs/decisions.md", /^### (D-\d+):/gm);
const rules = new Set(
  PROTOCOL_PAGES.flatMap((page) => [...numbersOf(page, /^- \*\*(P-[A-Z]+-\d+)\*\* /gm)]),
);

/** What a text cites that does not exist. @param {string} text @returns {string[]} */
function brokenReferences(text) {
  const flatText = flat(text);
  const cited = [...flatText.matchAll(/(?<![\w-])D-\d+\b/g)].map(([id]) => id);
  const citedRules = [...flatText.matchAll(/\bP-[A-Z]+-\d+\b/g)].map(([id]) => id);
  const chapters = [...flatText.matchAll(/\b(docs\/[\w/-]+\.md), "([^"]+)"/g)];
  return [
    ...cited.filter((id) => !decisions.has(id)),
    ...citedRules.filter((id) => !rules.has(id)),
    ...chapters
      .filter(
        ([, file, chapter]) =>
          !existsSync(path.join(root, file)) ||
          ![...read(file).matchAll(/^#+ (.*)$/gm)].some(([, heading]) => heading === chapter),
      )
      .map(([reference]) => reference),
    ...(flatText.match(/\((?:decisions|host facts): |\b[Ss]pecification v2\b|\bCore Profile\b/g) ??
      []),
  ];
}

/** Files that a page or a comment names. Those of tools/ may be a user's own: providers live there, too. */
const NAMED_FILE =
  /(?<![\w./-])((?:native|js|sdk|test|docs|packaging)\/[\w./-]+\.(?:mjs|cc|h|md|py|ts|json|sh))\b/g;

/** The comments of a source; of a page, all of it. @param {string} file */
const proseOf = (file) =>
  file.endsWith(".md")
    ? read(file)
    : (read(file).match(/^\s*(?:\/\/|\/?\*|#).*$/gm) ?? []).join("\n");

describe("references", () => {
  test("to files lead to files", () => {
    const missing = files.flatMap((file) =>
      [...proseOf(file).matchAll(NAMED_FILE)]
        .filter(([, named]) => !named.startsWith("test/js/room/"))
        .filter(([, named]) => !existsSync(path.join(root, named)))
        .map(([, named]) => `${file}: ${named}`),
    );
    assert.deepEqual(missing, []);
  });

  test("to decisions and to chapters of pages lead somewhere", () => {
    const broken = files.flatMap((file) =>
      brokenReferences(read(file)).map((reference) => `${file}: ${reference}`),
    );
    assert.deepEqual(broken, []);
  });

  test("that lead nowhere are noticed, also where a comment is broken over two lines", () => {
    assert.deepEqual(brokenReferences("// (docs/decisions.md D-1,\n// D-999)"), ["D-999"]);
    assert.deepEqual(brokenReferences("// shows: P-HELLO-1, P-HELLO-999"), ["P-HELLO-999"]);
    assert.deepEqual(brokenReferences('# docs/protocol.md,\n# "No such chapter"'), [
      'docs/protocol.md, "No such chapter"',
    ]);
    assert.equal(brokenReferences("// (decisions: tokens)").length, 1);
    assert.deepEqual(brokenReferences('// docs/protocol.md, "States"'), []);
  });

  test("of decisions: every decision has a context, a decision and a consequence", () => {
    const sections = read("docs/decisions.md").split(/^### /m).slice(1);
    const partial = sections.filter(
      (text) =>
        !["Context", "Decision", "Consequence"].every((part) => text.includes(`**${part}.**`)),
    );
    assert.deepEqual(partial, []);
    assert.equal(decisions.size, sections.length, "each number is given once");
  });
});
