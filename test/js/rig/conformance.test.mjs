// Every rule of docs/protocol.md has tests, and every rule that a test cites exists. Every threat of
// test/security/, and every way in which a provider can reach something, has tests that exist.
// tools/run.mjs checks after the tests that these have run and passed.

import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { addon } from "../../../js/lib/addon.mjs";
import { root } from "../../../tools/commands.mjs";
import {
  conformancePage,
  conformanceRules,
  parseTestName,
  reachRules,
  readGoogleTest,
  readProtocolRules,
  readResultLines,
  shownByTests,
  findShown,
  threatRules,
  unshown,
} from "../../../tools/conformance.mjs";
import results from "../../../tools/results-reporter.mjs";
import { errorTable } from "../../support/error-table.mjs";

/** What the gateway sends. */
const TO_PROVIDERS = `auth.pairing sessions sessions.updated hello.ack ack error tool.call tool.cancel
  session.event session.lifecycle stream.history gate.check transform.request`;

/** The kinds of providers in test/security/reach.json, and what of each can reach whom. */
const KINDS = [
  "A program with the user's token",
  "A project provider",
  "A paired program or web page",
  "A provider in the gateway's process",
  "A stranger",
  "A tap.config.json before consent",
];
const WHAT = ["text", "names", "timing", "memory", "CPU"];
const WHOM = ["the model", "the user", "the disk", "another"];
const PAIRS = WHOM.flatMap((whom) => WHAT.map((what) => `${what} → ${whom}`));
const MOST_OF_A_CELL = 220;

const rules = conformanceRules();

/** A row of a table. @param {string} rule @param {...string} tests */
const row = (rule, ...tests) => ({
  ...{ file: "f", chapter: "", rule, where: "an answer", tests, line: 1 },
});

const read = (file) => readFileSync(path.join(root, file), "utf8");

// ---- which tests there are -----------------------------------------------------------------------

const nativeTests = new Set(
  readdirSync(path.join(root, "test", "native"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith("_test.cc"))
    .flatMap((file) => [
      ...read(path.join("test", "native", file)).matchAll(/^TEST(?:_F)?\((\w+),\s*(\w+)\)/gm),
    ])
    .map(([, suite, name]) => `${suite}.${name}`),
);

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** The titles of a file's tests; what a template leaves open may be anything. @param {string} file */
function titlesIn(file) {
  const titles = read(file).matchAll(
    /\b(?:test\(|example\("[\w-]+",)\s*(?:"([^"\n]+)"|'([^'\n]+)'|`([^`\n]+)`)/g,
  );
  return [...titles].map(([, double, single, template]) => {
    const fixed = template?.split(/\$\{[^}]*\}/) ?? [double ?? single];
    return new RegExp(`^${fixed.map(escaped).join(".+")}$`);
  });
}

/** @param {string} name */
function exists(name) {
  const named = parseTestName(name);
  if (!named) return false;
  if (named.part === "native") return nativeTests.has(named.title);
  const title = named.title.split(" > ").at(-1) ?? "";
  if (!existsSync(path.join(root, named.file))) return false;
  return titlesIn(named.file).some((pattern) => pattern.test(title));
}

/** @param {import("../../../tools/conformance.mjs").Rule[]} named */
const missingTests = (named) =>
  named.flatMap(({ tests, line }) =>
    tests.filter((name) => !exists(name)).map((name) => `${line}: ${name}`),
  );

/** "text → the model: pushes" is one of the ways of "text → the model". @param {string} way */
const pairOf = (way) => way.split(":")[0];

/** @param {import("../../../tools/conformance.mjs").Rule[]} rows */
const unknownWays = (rows) =>
  rows
    .filter(({ rule }) => !PAIRS.includes(pairOf(rule)))
    .map(({ line, rule }) => `${line}: ${rule}`);

describe("test/security", () => {
  test("every threat has an answer, and tests that exist", () => {
    const threats = threatRules();
    assert.ok(threats.length >= 14, `only ${threats.length} threats were read`);
    const bare = threats.filter(({ rule, where, tests }) => !rule || !where || tests.length === 0);
    assert.deepEqual(bare, []);
    assert.deepEqual(missingTests(threats), []);
  });

  test("each kind of provider has a row for all that can reach the model, the user, the disk or another", () => {
    const rows = reachRules();
    assert.deepEqual([...new Set(rows.map(({ chapter }) => chapter))], KINDS);
    assert.deepEqual(unknownWays(rows), []);
    for (const kind of KINDS) {
      const ways = rows.filter(({ chapter }) => chapter === kind).map(({ rule }) => pairOf(rule));
      assert.deepEqual([...new Set(ways)], PAIRS, `${kind}: all pairs, in this order`);
    }
    const long = rows.filter(({ where }) => where.length > MOST_OF_A_CELL);
    assert.deepEqual(
      long.map(({ line, where }) => `${line}: ${where.length} characters`),
      [],
    );
  });

  test("a way that is not there, or is no way, is noticed", () => {
    assert.deepEqual(unknownWays([row("text → the modem")]), ["1: text → the modem"]);
    assert.equal(pairOf("names → the disk: folders"), "names → the disk");
  });

  test("a test that does not exist is noticed", () => {
    const missing = "js/security/security.text: no such test";
    assert.deepEqual(missingTests([row("a threat", "Gateway.ClosesOnAWrongToken", missing)]), [
      `1: ${missing}`,
    ]);
  });
});

describe("the rules of docs/protocol.md", () => {
  test("each is printed with its tests by npm run conformance", () => {
    const page = conformancePage(rules);
    for (const { where, tests } of rules) {
      assert.ok(page.includes(`- **${where}** `), where);
      for (const name of tests) assert.ok(page.includes(`  - \`${name}\``), name);
    }
  });

  test("every rule has a text, a number of its own and a test", () => {
    assert.ok(rules.length > 300, `only ${rules.length} rules were read`);
    const bare = rules.filter(({ rule, where, tests }) => !rule || !where || tests.length === 0);
    assert.deepEqual(bare, []);
    assert.equal(new Set(rules.map(({ where }) => where)).size, rules.length);
  });

  test("every rule stands in the group of its number, in order", () => {
    for (const [index, { chapter, where }] of rules.entries()) {
      const [, group, number] = /^(P-[A-Z]+)-(\d+)$/.exec(where) ?? [];
      assert.ok(chapter.startsWith(`${group}: `), `${where} stands in "${chapter}"`);
      const former = /^(P-[A-Z]+)-(\d+)$/.exec(rules[index - 1]?.where ?? "");
      if (former?.[1] === group) assert.ok(Number(former[2]) < Number(number), where);
    }
  });

  test("every rule that a test cites exists, and the test is one", () => {
    const known = new Set(rules.map(({ where }) => where));
    const shown = shownByTests();
    assert.deepEqual(
      shown.flatMap(({ ids, name }) =>
        ids.filter((id) => !known.has(id)).map((id) => `${name}: ${id}`),
      ),
      [],
    );
    assert.deepEqual(
      shown.filter(({ name, ids }) => !parseTestName(name) || ids.length === 0),
      [],
    );
  });

  test("every message and every error has a rule", () => {
    const words = new Set(rules.flatMap(({ rule }) => rule.match(/[\w.]*\w/g) ?? []));
    const wanted = [
      ...addon.providerMessageTypes,
      ...TO_PROVIDERS.split(/\s+/),
      ...errorTable().map(({ name }) => name),
    ];
    assert.deepEqual(
      wanted.filter((name) => !words.has(name)),
      [],
    );
  });

  test("rules are read with all of their lines, tests with what stands above them", () => {
    const page = "### P-X: x\n\n- **P-X-1** one\n  two.\n- **P-X-2** three.\n\ntext\n";
    assert.deepEqual(
      readProtocolRules(page).map(({ where, rule, chapter }) => [where, rule, chapter]),
      [
        ["P-X-1", "one two.", "P-X: x"],
        ["P-X-2", "three.", "P-X: x"],
      ],
    );
    const shows = "// shows: ";
    assert.deepEqual(
      findShown("test/native/a_test.cc", `${shows}P-X-1,\n${shows}P-X-2\nTEST(A, B) {}\n`),
      [{ name: "A.B", ids: ["P-X-1", "P-X-2"] }],
    );
    assert.deepEqual(
      findShown("test/js/a/b.test.mjs", `  ${shows}P-X-1\n  test(\n    \`is \${x} there\`, f);\n`),
      [{ name: "js/a/b: is … there", ids: ["P-X-1"] }],
    );
    assert.throws(
      () => findShown("test/native/a_test.cc", `${shows}P-X-1\n\nTEST(A, B) {}\n`),
      /not directly above a test/,
    );
  });
});

// ---- holding it to a run -------------------------------------------------------------------------

const NAMED = row("holds", "Suite.Name", "js/calls: in time", "e2e/live: outer > inner");
const PASSED = {
  native: [{ file: "", title: "Suite.Name", outcome: "passed" }],
  js: [{ file: "test/js/calls.test.mjs", title: "calls > in time", outcome: "passed" }],
  e2e: [{ file: "test/e2e/live.test.mjs", title: "outer > inner", outcome: "passed" }],
};

/** What is unshown by these parts. @param {Record<string, any[]>} parts */
const judged = (parts) =>
  unshown([NAMED], new Map(Object.entries(parts))).map((line) => line.split(": ")[1]);

describe("a run", () => {
  test("in which every named test has passed shows the rules", () => {
    assert.deepEqual(judged(PASSED), []);
  });

  test("in which each test of a title that is open has passed shows the rule", () => {
    const rule = { file: "f", chapter: "", rule: "holds", where: "", line: 1 };
    const shown = [{ ...rule, tests: ["js/calls: in … time"] }];
    const one = (title, outcome = "passed") => ({ file: "test/js/calls.test.mjs", title, outcome });
    const judge = (...js) => unshown(shown, new Map([["js", js]])).length;
    assert.equal(judge(one("calls > in good time"), one("calls > in no time")), 0);
    assert.equal(judge(one("calls > in good time"), one("calls > in no time", "failed")), 1);
    assert.equal(judge(one("calls > in time")), 1);
  });

  test("in which a helper has declared the test shows the rule", () => {
    const js = [{ ...PASSED.js[0], file: "test/js/rig.mjs" }];
    assert.deepEqual(judged({ ...PASSED, js }), []);
    const other = [{ ...PASSED.js[0], file: "test/js/other.test.mjs" }];
    assert.equal(judged({ ...PASSED, js: other }).length, 1);
  });

  test("of some parts is judged by those", () => {
    assert.deepEqual(judged({ native: PASSED.native }), []);
    assert.deepEqual(judged({}), []);
  });

  test("in which one has failed, was skipped or did not run does not", () => {
    const once = (outcome) => [{ ...PASSED.native[0], outcome }];
    assert.deepEqual(judged({ native: once("failed") }), ['"Suite.Name" has failed (holds)']);
    assert.deepEqual(judged({ native: once("skipped") }), ['"Suite.Name" was skipped (holds)']);
    assert.deepEqual(judged({ native: [] }), ['"Suite.Name" did not run (holds)']);
    assert.equal(judged({ js: [{ ...PASSED.js[0], file: "test/js/other.test.mjs" }] }).length, 1);
    assert.equal(judged({ js: [{ ...PASSED.js[0], title: "not in time" }] }).length, 1);
    // Of several with one title each has to pass.
    assert.equal(judged({ js: [...PASSED.js, { ...PASSED.js[0], outcome: "failed" }] }).length, 1);
  });

  test("is read from GoogleTest's file", () => {
    const testsuite = [
      { name: "B", status: "RUN", result: "COMPLETED" },
      { name: "C", status: "RUN", result: "COMPLETED", failures: [{ failure: "no" }] },
      { name: "D", status: "RUN", result: "SKIPPED" },
      { name: "E", status: "NOTRUN", result: "SUPPRESSED" },
    ];
    assert.deepEqual(
      readGoogleTest(JSON.stringify({ testsuites: [{ name: "A", testsuite }] })).map(
        ({ title, outcome, why = "" }) => `${title} ${outcome} ${why}`.trimEnd(),
      ),
      ["A.B passed", "A.C failed no", "A.D skipped", "A.E skipped"],
    );
  });

  test("is read from what the reporter of node:test has written", async () => {
    const file = path.join(root, "test", "js", "x.test.mjs");
    const event = (type, name, nesting, more = {}) => ({
      type: `test:${type}`,
      data: { name, nesting, file, ...more },
    });
    const events = [
      event("start", "outer", 0),
      event("start", "one", 1),
      event("pass", "one", 1),
      event("start", "two", 1),
      event("pass", "two", 1, { skip: true }),
      event("pass", "outer", 0, { details: { type: "suite" } }),
      event("start", "alone", 0),
      event("fail", "alone", 0, { details: { error: new Error("", { cause: new Error("no") }) } }),
    ];
    let lines = "";
    for await (const line of results(
      (async function* () {
        yield* events;
      })(),
    )) {
      lines += line;
    }
    assert.deepEqual(readResultLines(lines), [
      { file: "test/js/x.test.mjs", title: "outer > one", outcome: "passed" },
      { file: "test/js/x.test.mjs", title: "outer > two", outcome: "skipped" },
      { file: "test/js/x.test.mjs", title: "alone", outcome: "failed", why: "no" },
    ]);
  });
});
