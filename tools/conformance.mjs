// docs/protocol.md and protocol-hooks.md have the rules of the protocol, each with a number; a test says
// above itself which of them it shows: `// shows: P-HELLO-3`. test/security/ lists the threats, and the ways
// in which a provider reaches something, with the tests that show how each is met. This module reads both,
// and compares them with the results of a run.

import { existsSync, readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { root, printLine } from "./commands.mjs";

/**
 * @typedef {{file: string, chapter: string, rule: string, where: string, tests: string[], line: number}} Rule
 *   where: of the protocol's rules, their number; of a threat, the defence; line: of a page, or the row of a table
 * @typedef {{file: string, title: string, outcome: "passed" | "failed" | "skipped", why?: string}} TestResult
 *   file: empty for native tests; title: from the outermost suite inwards, joined by " > "; why: how it has failed
 * @typedef {{ids: string[], name: string}} Shown a test and the rules that it shows
 */

/** @param {string} file */
const read = (file) => readFileSync(path.join(root, file), "utf8");

// ---- the rules of the protocol -------------------------------------------------------------------

const PROTOCOL = "docs/protocol.md";
export const PROTOCOL_PAGES = [PROTOCOL, "docs/protocol-hooks.md"];

/** The rules of a page, in order; their tests are still missing. @param {string} markdown @param {string} [file] @returns {Rule[]} */
export function readProtocolRules(markdown, file = PROTOCOL) {
  /** @type {Rule[]} */
  const rules = [];
  let chapter = "";
  for (const [index, line] of markdown.split("\n").entries()) {
    const [, heading] = /^#+ (.*)/.exec(line) ?? [];
    const [, id, text] = /^- \*\*(P-[A-Z]+-\d+)\*\* (.*)/.exec(line) ?? [];
    const last = rules.at(-1);
    if (heading) chapter = heading;
    else if (id) rules.push({ file, chapter, rule: text, where: id, tests: [], line: index + 1 });
    else if (last?.chapter === chapter && /^ {2}\S/.test(line)) last.rule += ` ${line.trim()}`;
  }
  return rules;
}

/** The comment above a test, and the test: TEST(Suite, Name), test("title"), example("file", "title"). */
const NATIVE_TEST = /^((?:\/\/ shows: .*\n)+)TEST(?:_F)?\((\w+),\s*(\w+)\)/gm;
const JS_TEST =
  /^((?: *\/\/ shows: .*\n)+)[^\n]*?\b(?:test\(|example\("[\w-]+",)\s*(?:"([^"\n]+)"|'([^'\n]+)'|`([^`\n]+)`)/gm;

/**
 * The tests of a file that show something. A title that a template leaves open has "…" there.
 * @param {string} file from the root @param {string} source @returns {Shown[]}
 * @throws {Error} if a comment stands above no test
 */
export function findShown(file, source) {
  const place = file.replace(/^test\//, "").replace(/\.test\.mjs$/, "");
  const found = file.endsWith(".cc")
    ? [...source.matchAll(NATIVE_TEST)].map(([, above, suite, name]) => ({
        above,
        name: `${suite}.${name}`,
      }))
    : [...source.matchAll(JS_TEST)].map(([, above, double, single, template]) => ({
        above,
        name: `${place}: ${template?.replace(/\$\{[^}]*\}/g, "…") ?? double ?? single}`,
      }));
  const comments = (/** @type {string} */ text) => text.match(/^ *\/\/ shows: /gm)?.length ?? 0;
  if (comments(found.map(({ above }) => above).join("")) !== comments(source))
    throw new Error(`${file}: a comment "shows:" is not directly above a test`);
  return found.map(({ above, name }) => ({ name, ids: above.match(/P-[A-Z]+-\d+/g) ?? [] }));
}

/** Every test that shows a rule, in the order of the files. @returns {Shown[]} */
export const shownByTests = () =>
  readdirSync(path.join(root, "test"), { recursive: true, encoding: "utf8" })
    .map((file) => path.posix.join("test", ...file.split(path.sep)))
    .filter((file) => /(_test\.cc|\.test\.mjs)$/.test(file))
    .sort()
    .flatMap((file) => {
      const source = read(file);
      return source.includes("// shows:") ? findShown(file, source) : [];
    });

/** The rules of the protocol, with the tests that show them. @returns {Rule[]} */
export function conformanceRules() {
  const shown = shownByTests();
  const rules = PROTOCOL_PAGES.flatMap((page) => readProtocolRules(read(page), page));
  return rules.map((rule) => ({
    ...rule,
    tests: [
      ...new Set(shown.filter(({ ids }) => ids.includes(rule.where)).map(({ name }) => name)),
    ],
  }));
}

// ---- threats, and the reach of each provider ---------------------------------------------------

const THREATS = "test/security/threats.json";
const REACH = "test/security/reach.json";

/**
 * The threats that tap guards against, and their tests.
 * @returns {Rule[]}
 */
export const threatRules = () =>
  JSON.parse(read(THREATS)).map((/** @type {any} */ row, /** @type {number} */ index) => ({
    ...{ file: THREATS, chapter: "Threats", rule: row.threat, where: row.defence },
    ...{ tests: row.tests, line: index + 1 },
  }));

/**
 * The ways in which a provider can affect others, and their limits; `chapter` is the kind of provider.
 * @returns {Rule[]}
 */
export const reachRules = () =>
  Object.entries(JSON.parse(read(REACH))).flatMap(([chapter, rows]) =>
    rows.map((/** @type {any} */ row, /** @type {number} */ index) => ({
      ...{ file: REACH, chapter, rule: row.way, where: row.limit },
      ...{ tests: row.tests, line: index + 1 },
    })),
  );

/** The threats, and the reach of each provider. */
export const securityRules = () => [...threatRules(), ...reachRules()];

/**
 * `Suite.Name` is a GoogleTest; `js/room/file: title` is in test/js/room/file.test.mjs, likewise e2e and support.
 * @param {string} name
 * @returns {{part: "native" | "js" | "e2e", file: string, title: string} | undefined}
 */
export function parseTestName(name) {
  if (/^\w+\.\w+$/.test(name)) return { part: "native", file: "", title: name };
  const [, folder, file, title] = /^(js|support|e2e)\/([\w./-]+): (.+)$/.exec(name) ?? [];
  if (!folder) return undefined;
  const part = folder === "e2e" ? "e2e" : "js";
  return { part, file: `test/${folder}/${file}.test.mjs`, title };
}

// ---- results of the tests --------------------------------------------------------------------

/** @param {string} json as GoogleTest writes it @returns {TestResult[]} */
export function readGoogleTest(json) {
  const toOutcome = (/** @type {any} */ { result, failures }) => {
    if (result !== "COMPLETED") return "skipped";
    return failures ? "failed" : "passed";
  };
  return JSON.parse(json).testsuites.flatMap((/** @type {any} */ suite) =>
    suite.testsuite.map((/** @type {any} */ test) => ({
      file: "",
      title: `${suite.name}.${test.name}`,
      outcome: toOutcome(test),
      ...(test.failures && { why: test.failures[0].failure }),
    })),
  );
}

/** @param {string} lines as tools/results-reporter.mjs writes them @returns {TestResult[]} */
export const readResultLines = (lines) =>
  lines
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));

/** @param {string} file of a part's results @returns {TestResult[]} */
export function readResults(file) {
  return existsSync(file) ? readResultLines(readFileSync(file, "utf8")) : [];
}

/**
 * The reasons why these parts do not show the rules: empty, if all is well. Tests of parts that did not
 * run are passed over.
 * @param {Rule[]} rules @param {Map<string, TestResult[]>} parts
 * @param {readonly string[]} [chosen] parts of which only some tests ran: the others are passed over, too
 * @returns {string[]}
 */
export function unshown(rules, parts, chosen = []) {
  return rules.flatMap(({ file, rule, line, tests }) => {
    const problems = tests.map((name) => findProblem(name, parts, chosen)).filter(Boolean);
    return problems.map((problem) => `${file}:${line}: ${problem} (${rule})`);
  });
}

const escaped = (/** @type {string} */ text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** @param {string} name @param {Map<string, TestResult[]>} parts @param {readonly string[]} chosen */
function findProblem(name, parts, chosen) {
  const test = parseTestName(name);
  if (!test) return `"${name}" is no name of a test`;
  const results = parts.get(test.part);
  if (!results) return undefined;
  const wanted = new RegExp(`^(?:.* > )?${test.title.split("…").map(escaped).join(".+")}$`, "s");
  // Tests that a helper declares for several files are reported with the helper's name.
  const isThere = (/** @type {string} */ file) =>
    file === test.file || (file !== "" && !file.endsWith(".test.mjs"));
  const found = results.filter(({ file, title }) => isThere(file) && wanted.test(title));
  const ran = found.filter(({ outcome }) => outcome !== "skipped");
  if (ran.length === 0 && chosen.includes(test.part)) return undefined;
  if (found.length === 0) return `"${name}" did not run`;
  const bad = found.find(({ outcome }) => outcome !== "passed");
  return bad && `"${name}" ${bad.outcome === "failed" ? "has failed" : "was skipped"}`;
}

// ---- npm run conformance ------------------------------------------------------------------------------

const HEAD = `# Conformance

Every rule of docs/protocol.md, and the tests that show it: \`Suite.Name\` (GoogleTest, test/native),
\`js/room/file: title\` or \`e2e/file: title\` (node:test). A "…" stands for the words that differ between
several tests. \`npm test\` ends with the part \`conformance\`: each test that is named here, and whose
part ran, has passed.
`;

/** The rules with the tests that show them, in Markdown. @param {Rule[]} rules @returns {string} */
export function conformancePage(rules) {
  const chapters = [...new Set(rules.map(({ chapter }) => chapter))];
  const lines = chapters.flatMap((chapter) => [
    ["", `## ${chapter}`, ""],
    ...rules
      .filter((rule) => rule.chapter === chapter)
      .map(({ where, rule, tests }) => [
        `- **${where}** ${rule}`,
        ...tests.map((name) => `  - \`${name}\``),
      ]),
  ]);
  return [HEAD.trimEnd(), ...lines.flat(), ""].join("\n");
}

if (process.argv[1] === import.meta.filename) {
  printLine(conformancePage(conformanceRules()).trimEnd());
}
