// What tap knows of tools: the entries that it ships, those of a config, and their form for the matcher.

import assert from "node:assert/strict";
import fs from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { ownFiles } from "../../../js/install/package-files.mjs";
import { addon } from "../../../js/lib/addon.mjs";
import { matchFirst } from "../../../js/watch/commands.mjs";
import { loadEntries, parseEntry, readEntry, toMatcher } from "../../../js/watch/entries.mjs";

const FOLDER = new URL("../../../js/tools/", import.meta.url);
const FILE = "tap.config.json";
const { tools: shipped } = loadEntries();

/** @param {string} name */
const find = (name) => shipped.find(({ tool }) => tool === name);

/** @param {unknown} value @param {string} [field] @returns {[field: string, pattern: string][]} */
function listPatterns(value, field = "") {
  if (typeof value === "string") return [[field, value]];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, one]) => listPatterns(one, `${field}.${name}`));
}

describe("shipped entries", () => {
  test("each file has one entry of at most 30 lines, which has its name", () => {
    const names = fs.readdirSync(FOLDER).filter((name) => name.endsWith(".yaml"));
    assert.equal(names.length, shipped.length);
    for (const name of names) {
      const source = fs.readFileSync(new URL(name, FOLDER), "utf8");
      const read = parseEntry(source, name);
      assert.ok(read.ok, JSON.stringify(read));
      assert.equal(`${read.entry.tool}.yaml`, name);
      const lines = source.split("\n").filter((line) => !/^\s*(?:#|$)/.test(line));
      assert.ok(lines.length <= 30, `${name} has ${lines.length} lines`);
      const tool = find(read.entry.tool);
      assert.equal(tool.argv?.source, read.entry.argv && new RegExp(read.entry.argv, "u").source);
      assert.equal(
        tool.first?.source,
        read.entry.first && new RegExp(read.entry.first, "u").source,
      );
    }
  });

  test("the general one is the last, and has neither a command nor a first line", () => {
    const general = shipped.at(-1);
    assert.equal(general.tool, "general");
    assert.equal(general.argv, undefined);
    assert.equal(general.first, undefined);
  });

  test("the addon compiles each pattern for the matcher", () => {
    const source = new addon.LineSource({ delivery: "off" });
    for (const { tool, read } of shipped) {
      const {
        tool: _name,
        exit: _exit,
        endMeans: _end,
        quietMeans: _quiet,
        ...fields
      } = toMatcher(read(), shipped);
      for (const [field, match] of listPatterns(fields))
        assert.doesNotThrow(
          () => source.setRules([{ match, outcome: "keep" }]),
          `${tool}${field}: ${match}`,
        );
    }
  });

  test("an entry that uses another one names a shipped one", () => {
    const names = shipped.map(({ tool }) => tool);
    for (const { read } of shipped)
      for (const used of read().uses ?? []) assert.ok(names.includes(used), used);
  });

  test("the package has each of them", () => {
    const packed = ownFiles(fileURLToPath(new URL("../../../", import.meta.url)));
    const names = new Set(packed.map(({ to }) => to));
    for (const { tool } of shipped) assert.ok(names.has(`js/tools/${tool}.yaml`), tool);
  });

  test("only the entries that are asked for are parsed", () => {
    const { tools } = loadEntries();
    assert.equal(tools[0].read(), tools[0].read());
    assert.equal(tools[0], loadEntries().tools[0]);
  });
});

describe("recognition by a line", () => {
  for (const [line, tool] of [
    ["3:36:30 AM - Starting compilation in watch mode...", "tsc"],
    ["src/a.ts(2,14): error TS2322: Type 'number' is not assignable.", "tsc"],
    ["✖ 3 problems (2 errors, 1 warning)", "eslint"],
    ["  VITE v7.1.2  ready in 312 ms", "vite"],
    ["vite v7.1.2 building for production...", "vite-build"],
    ["webpack 5.101.0 compiled successfully in 174 ms", "webpack"],
    ["rollup v4.50.0", "rollup"],
    ["[watch] build finished, watching for changes...", "esbuild"],
    ["   ▲ Next.js 15.5.2", "next"],
    ["PASS test/sum.test.js", "jest"],
    [" RUN  v3.2.4 <project>", "vitest"],
    ["  2 passing (3ms)", "mocha"],
    ["TAP version 13", "node-test"],
    ["ℹ tests 4", "node-test"],
    ["Running 3 tests using 1 worker", "playwright"],
    ["============ test session starts ============", "pytest"],
    ["Ran 2 tests in 0.001s", "unittest"],
    ["All checks passed!", "ruff"],
    ["Success: no issues found in 2 source files", "mypy"],
    ["   Compiling app v0.1.0 (<project>)", "cargo"],
    ["ok  \texample.com/app\t0.002s", "go"],
    ["src/main.c:1:36: error: expected ';'", "cc"],
    ["make: *** [Makefile:3: app] Error 1", "make"],
    ["-- The C compiler identification is GNU 12.2.0", "cmake"],
    ["ninja: no work to do.", "ninja"],
    ["Test project /app/build", "ctest"],
    ["> Task :compileJava FAILED", "gradle"],
    ["[INFO] Scanning for projects...", "maven"],
    ["  Determining projects to restore...", "dotnet"],
    ["#1 [internal] load build definition from Dockerfile", "docker-build"],
    ["• Packages in scope: a, b", "turbo"],
    ["[nodemon] 3.1.10", "nodemon"],
    ["Server listens on port 8080", undefined],
    ["", undefined],
  ])
    test(`${JSON.stringify(line)}: ${tool}`, () => {
      assert.equal(matchFirst(line, shipped)?.tool, tool);
    });
});

const OWN = {
  tool: "mybuild",
  argv: "^mybuild(?!\\S)",
  failure: [{ at: "^(?<file>\\S+):(?<line>\\d+): (?<what>.*)" }],
  green: "^done",
};

describe("entries of a config", () => {
  test("one with all fields is read, with the usual number of lines, and does not change", () => {
    const at = "^(?<file>\\w+)$|^in (?<file2>\\w+)$";
    const failure = [{ at }];
    const read = readEntry({ ...OWN, exit: { green: [0], none: [5] }, uses: ["cc"], failure });
    assert.ok(read.ok);
    assert.equal(read.entry.failure[0].most, 4);
    assert.throws(() => read.entry.failure.push(read.entry.failure[0]), TypeError);
  });

  for (const [title, change, field] of [
    ["an unknown field", { begins: "x" }, "begins"],
    ["no name", { tool: undefined }, "tool"],
    ["a name with blanks", { tool: "my build" }, "tool"],
    ["a pattern that is wrong", { green: "(" }, "green"],
    ["a pattern that only PCRE2 has", { red: "(?>a)b" }, "red"],
    ["a pattern that is too long", { red: "a".repeat(1025) }, "red"],
    ["an empty pattern", { red: "" }, "red"],
    ["a group that has no meaning there", { red: "(?<file>x)" }, "red"],
    ["a prefix without a part", { prefix: "^\\[(\\d)\\]" }, "prefix"],
    ["a failure without its line", { failure: [{ more: "x" }] }, "failure[0].at"],
    ["two ends of a block", { failure: [{ at: "x", more: "y", until: "z" }] }, "failure[0].until"],
    ["too many lines", { failure: [{ at: "x", most: 25 }] }, "failure[0].most"],
    ["an exit code that does not exist", { exit: { red: [256] } }, "exit.red[0]"],
    ["an option for a shell", { better: { args: ["--x; rm y"] } }, "better.args[0]"],
    ["a word that is not an option", { better: { args: ["build"] } }, "better.args[0]"],
    ["a variable that is not one", { better: { env: { "a b": "1" } } }, 'better.env["a b"]'],
    [
      "a variable that runs more",
      { better: { env: { LD_PRELOAD: "x" } } },
      "better.env.LD_PRELOAD",
    ],
    ["another meaning of the end", { endMeans: "red" }, "endMeans"],
  ])
    test(`${title} is refused with its field`, () => {
      const read = readEntry({ ...OWN, ...change }, FILE);
      assert.ok(!read.ok);
      assert.deepEqual(
        read.problems.map((one) => [one.file, one.field]),
        [[FILE, field]],
      );
      assert.notEqual(read.problems[0].reason, "");
    });

  test("text that is not YAML, or has aliases, is refused", () => {
    for (const source of ["tool: [", "a: &a x\ntool: *a", "- 1"]) {
      const read = parseEntry(source, "my.yaml");
      assert.ok(!read.ok);
      assert.equal(read.problems[0].file, "my.yaml");
    }
  });

  test("they come first, replace ours of the same name, and a wrong one is left out", () => {
    const { tools, problems } = loadEntries({
      own: [
        { file: FILE, given: OWN },
        { file: FILE, given: { ...OWN, tool: "broken", red: "[" } },
        { file: FILE, given: { tool: "tsc", argv: "^mytsc", green: "^fine" } },
        { file: "other.yaml", given: OWN },
      ],
    });
    assert.deepEqual(
      tools.slice(0, 2).map(({ tool }) => tool),
      ["mybuild", "tsc"],
    );
    assert.equal(tools.length, shipped.length + 1);
    assert.equal(tools.filter(({ tool }) => tool === "tsc").length, 1);
    assert.equal(tools[1].read().green, "^fine");
    assert.deepEqual(
      problems.map(({ file, field }) => [file, field]),
      [
        [FILE, "red"],
        ["other.yaml", "tool"],
      ],
    );
  });
});

describe("the form for the matcher", () => {
  test("it has what the matcher reads, and nothing else", () => {
    const given = { ...OWN, runsOn: "x", better: { args: ["-x"] }, needs: { stdin: "open" } };
    const read = readEntry({ ...given, first: "y", inner: "auto", exit: { red: [2] } });
    assert.ok(read.ok);
    assert.deepEqual(toMatcher(read.entry, shipped), {
      tool: "mybuild",
      failure: [{ ...OWN.failure[0], most: 4 }],
      green: "^done",
      exit: { red: [2] },
    });
  });

  test("failures of the entries below follow its own, and what they leave out is left out", () => {
    const entries = [
      { tool: "outer", uses: ["inner", "gone"], drop: "a", failure: [{ at: "1" }], red: "no" },
      { tool: "inner", uses: ["outer"], drop: "b|c", omit: "d", failure: [{ at: "2" }], red: "x" },
    ];
    const { tools } = loadEntries({ own: entries.map((given) => ({ file: FILE, given })) });
    const matcher = toMatcher(tools[0].read(), tools);
    assert.deepEqual(
      matcher.failure.map(({ at }) => at),
      ["1", "2"],
    );
    assert.equal(matcher.red, "no");
    assert.equal(matcher.omit, "d");
    assert.match("c", new RegExp(`^(?:${matcher.drop})$`));
    assert.match("a", new RegExp(`^(?:${matcher.drop})$`));
  });
});
