// The parts of `npm test`: the cover of each, when it runs, and how long it usually takes. `npm test` runs
// those of TESTS, `.ci/run` those of the gate, `npm run release-check` all of them.

import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { checkBudget } from "./bench/budget.mjs";
import { chaos } from "./chaos.mjs";
import { attempt, root, printLine, testFiles } from "./commands.mjs";
import { conformanceRules, readResults, securityRules, unshown } from "./conformance.mjs";
import { E2E_CORE } from "./e2e-core.mjs";
import { buildFuzzers, fuzzAll, fuzzTargets } from "./fuzz.mjs";
import { format, lint, lintAll } from "./lint.mjs";
import { buildCore, chosenTests, nativeFolder, sanitizedTests } from "./native.mjs";
import {
  chooseTests,
  clearResults,
  escapePattern,
  resultFile,
  runNodeTests,
} from "./node-tests.mjs";
import { sanitize } from "./sanitize.mjs";
import { pythonForSdk } from "./setup.mjs";

/**
 * @typedef {{ok: boolean, detail: string, repeatable?: import("./node-tests.mjs").NodeRun,
 *   time?: string}} Outcome
 *   repeatable: test files that failed and may run once more
 * @typedef {object} Part
 * @property {string} about its subject
 * @property {string} [when] when to run a part that the gate leaves out
 * @property {number} seconds that it usually takes on two cores
 * @property {boolean} [filtered] whether a word chooses among its tests
 * @property {string} [beside] a part during which it may run: either of them waits for much of its time
 * @property {(filter?: string) => Promise<Outcome>} run
 */

/** For each target: enough to see that it runs, and that no input fails at once. */
const FUZZ_SECONDS = { gate: 2, long: 60 };
/** The same schedule each time, which has all kinds of faults in it. */
const CHAOS_SEED = 2;
const CHAOS_MINUTES = { gate: 1, long: 10 };
/** So many test files at a time, on two cores: most wait for processes for a part of their time. */
const FILES_AT_A_TIME = { js: 3, e2e: 3, package: 2 };

// ---- the native core -----------------------------------------------------------------------------

/** @param {string} [filter] of the names of GoogleTest's tests */
async function native(filter) {
  if (filter !== undefined) {
    const { ok, results, suites } = await chosenTests(filter);
    const detail = suites.length > 0 ? `${results.length} tests` : `no test is called "${filter}"`;
    return { ok, detail };
  }
  const file = resultFile("native");
  clearResults(file);
  const { ok, results } = await sanitizedTests();
  writeFileSync(file, results.map((result) => `${JSON.stringify(result)}\n`).join(""));
  return { ok, detail: `${results.length} tests, with ASan and UBSan` };
}

/** @param {boolean} gate */
const fuzz = async (gate) =>
  fuzzAll(await buildFuzzers(), fuzzTargets(), {
    seconds: gate ? FUZZ_SECONDS.gate : FUZZ_SECONDS.long,
    gate,
  });

// ---- JavaScript ----------------------------------------------------------------------------------

/** @param {string} file */
const readText = (file) => readFileSync(path.join(root, file), "utf8");

/**
 * The programs of the core that JavaScript tests start.
 * @param {string[]} [texts] of the chosen tests: only the programs that these need. ws_echo is
 *   started by test/ws-conformance.
 */
const oracles = (texts) =>
  readdirSync(path.join(root, "test/native"), { recursive: true, encoding: "utf8" })
    .map((file) => path.basename(file, ".cc"))
    .filter((name) => name.endsWith("_oracle") || name === "ws_echo")
    .filter((name) => {
      const sign = name === "ws_echo" ? "ws-conformance" : name;
      return !texts || texts.some((text) => text.includes(sign));
    });

const isWall = (/** @type {string} */ file) => file.endsWith("-wall.long.test.mjs");
const isLong = (/** @type {string} */ file) => file.endsWith(".long.test.mjs");

/** @param {"js" | "long" | "mcp" | "wall"} part @param {string[]} all @param {string} [filter] */
async function js(part, all, filter) {
  const { files, options } = chooseTests(all, filter);
  if (files.length === 0) return { ok: false, detail: `no test is called "${filter}"` };
  const needed = oracles(filter === undefined ? undefined : files.map(readText));
  if (needed.length > 0) await buildCore(needed);
  const outcome = await runNodeTests({ part, files, options, atATime: FILES_AT_A_TIME.js });
  // Who runs a few tests wants their first answer.
  return filter === undefined ? outcome : { ...outcome, repeatable: undefined };
}

const jsFiles = () => ["test/js", "test/support", "examples"].flatMap(testFiles);

/** @param {string} [filter] as pytest -k takes it */
async function python(filter) {
  const command = (await pythonForSdk()) ?? "python3";
  const chosen = filter === undefined ? [] : ["-k", filter];
  const args = ["-m", "pytest", "-q", ...chosen, path.join("sdk", "python")];
  const env = { PYTHONDONTWRITEBYTECODE: "1" };
  const { ok, output } = await attempt(command, [...args, "-p", "no:cacheprovider"], { env });
  return { ok, detail: /^=*\s*(\d+ (?:passed|failed).*?) in /m.exec(output)?.[1] ?? "" };
}

/** @param {string} [filter] */
async function e2eAll(filter) {
  const { files, options } = chooseTests(testFiles("test/e2e"), filter);
  if (files.length === 0) return { ok: false, detail: `no test is called "${filter}"` };
  const outcome = await runNodeTests({
    ...{ part: "e2e-all", files, options },
    atATime: FILES_AT_A_TIME.e2e,
  });
  return filter === undefined ? outcome : { ...outcome, repeatable: undefined };
}

/** @param {string} [filter] chooses among all tests of test/e2e */
async function e2e(filter) {
  if (filter !== undefined) return e2eAll(filter);
  const chosen = Object.entries(E2E_CORE).flatMap(([name, titles]) =>
    titles.map((title) => ({ file: `test/e2e/${name}.test.mjs`, title })),
  );
  const files = [...new Set(chosen.map(({ file }) => file))];
  const options = chosen.map(({ title }) => `--test-name-pattern=${escapePattern(title)}`);
  const outcome = await runNodeTests({ part: "e2e", files, options, atATime: FILES_AT_A_TIME.e2e });
  const results = readResults(resultFile("e2e"));
  const missing = chosen.filter(
    ({ file, title }) =>
      !results.some(
        (test) => test.file === file && test.title.includes(title) && test.outcome !== "skipped",
      ),
  );
  for (const { file, title } of missing)
    printLine(`tools/e2e-core.mjs: ${file} has no test "${title}"`);
  const ran = results.filter((test) => test.outcome !== "skipped").length;
  const detail = outcome.detail.replace(
    /^\d+ tests/,
    `${ran} of ${results.length} tests in ${files.length} files`,
  );
  return { ...outcome, ok: outcome.ok && missing.length === 0, detail };
}

/** The package of `npm run release`, installed and used. */
const packaged = () =>
  runNodeTests({
    part: "package",
    files: testFiles("test/package"),
    atATime: FILES_AT_A_TIME.package,
  });

/** Parts whose tests show rules of docs/protocol.md or rows of test/security/, by their name there. */
const JUDGED = { native: "native", js: "js", e2e: "e2e", "e2e-all": "e2e" };

/**
 * Every test that shows a rule of docs/protocol.md or is named in test/security/ has passed, if its
 * part ran. Of e2e only some tests run.
 * @param {string[]} ran @returns {Promise<Outcome>}
 */
export async function conformance(ran) {
  const judged = Object.entries(JUDGED).filter(([part]) => ran.includes(part));
  if (judged.length === 0)
    return { ok: false, detail: "it judges native, js, e2e: run any of them, too" };
  const rules = [...conformanceRules(), ...securityRules()];
  const results = new Map(judged.map(([part, name]) => [name, readResults(resultFile(part))]));
  const problems = unshown(rules, results, ran.includes("e2e") ? ["e2e"] : []);
  for (const problem of problems) printLine(problem);
  const by = judged.map(([part]) => part).join(", ");
  return { ok: problems.length === 0, detail: `${rules.length} rules and threats, by ${by}` };
}

// ---- measurements --------------------------------------------------------------------------------

async function budget() {
  await buildCore(["bench_micro"]);
  return checkBudget(nativeFolder);
}

/** Passes if it has measured, however fast that was. @param {string} flag @param {string} detail */
async function bench(flag, detail) {
  const args = [path.join("tools", "bench", "bench.mjs"), flag];
  const { ok, output } = await attempt(process.execPath, args, { quiet: true });
  if (!ok) printLine(output.slice(-5000));
  return { ok, detail: ok ? detail : "see above" };
}

/** A program of tools/ that ends with 1 where it finds something. @param {string} name */
async function program(name) {
  const { ok } = await attempt(process.execPath, [path.join("tools", name)]);
  return { ok, detail: "" };
}

// ---- the table -----------------------------------------------------------------------------------

/** @type {Record<string, Part>} */
export const PARTS = {
  lint: {
    about:
      "formats, types, spelling; clang's checks of the files that changed since tools/lint-base",
    seconds: 60,
    run: () => lint(),
  },
  js: {
    about: "JavaScript tests",
    seconds: 550,
    filtered: true,
    run: (filter) =>
      js("js", filter ? jsFiles() : jsFiles().filter((file) => !isLong(file)), filter),
  },
  native: {
    about: "C++ tests, with ASan and UBSan",
    seconds: 365,
    filtered: true,
    beside: "js",
    run: native,
  },
  python: { about: "the Python SDK", seconds: 60, filtered: true, beside: "js", run: python },
  e2e: {
    about: "20 tests on the real CLI (tools/e2e-core.mjs)",
    seconds: 130,
    filtered: true,
    run: e2e,
  },
  package: {
    about: "the release, installed and used",
    seconds: 30,
    beside: "e2e",
    run: packaged,
  },
  conformance: {
    about:
      "each test that shows a protocol rule or is named in test/security, and that ran, passed",
    seconds: 1,
    run: () => Promise.reject(new Error("conformance needs the parts that ran")),
  },
  budget: { about: "instructions of the parts of a call", seconds: 20, run: budget },
  bench: {
    about: "a case of the benchmark: it still works",
    seconds: 20,
    beside: "e2e",
    run: () => bench("--one", "one case"),
  },
  fuzz: { about: "each fuzz target for 2 s", seconds: 50, run: () => fuzz(true) },
  chaos: {
    about: "a minute of kills and cuts, by a fixed schedule",
    seconds: 75,
    beside: "lint",
    run: () => chaos(CHAOS_SEED, CHAOS_MINUTES.gate),
  },
  format: {
    about: "brings files into the form that lint wants",
    when: "before a commit",
    seconds: 20,
    run: format,
  },
  "lint-all": {
    about: "lint, with clang's checks of all of native/; writes tools/lint-base",
    when: "after a change of .clang-tidy, or when tools/lint-base is old",
    seconds: 300,
    run: lintAll,
  },
  long: {
    about: "*.long.test.mjs: whole matrices of crashes, crowds, random comparisons",
    when: "after a change of plans, of js/git, or of the subject of a comparison",
    seconds: 400,
    filtered: true,
    run: (filter) =>
      js(
        "long",
        jsFiles().filter((file) => isLong(file) && !isWall(file)),
        filter,
      ),
  },
  wall: {
    about: "the attempts of a plan's programs to leave their sandbox, and random ones for a minute",
    when: "after a change of the sandbox, or of tap's steps with a worktree",
    seconds: 110,
    filtered: true,
    run: (filter) => js("wall", jsFiles().filter(isWall), filter),
  },
  mcp: {
    about: "MCP servers: their results, failures and lives; those that misbehave",
    when: "after a change of js/mcp-host or js/process",
    seconds: 60,
    filtered: true,
    run: (filter) => js("mcp", testFiles("test/mcp"), filter),
  },
  "e2e-all": {
    about: "all tests on the real CLI",
    when: "after a change of js/extension, js/agents or the CLI's version",
    seconds: 450,
    filtered: true,
    run: e2eAll,
  },
  sanitize: {
    about: "the core with all of UBSan, the addon in Node with ASan, the threads with TSan",
    when: "after a change of native/uv, native/addon or native/records",
    seconds: 300,
    run: sanitize,
  },
  "bench-all": {
    about: "each case of each rival of the benchmark, once",
    when: "after a change of tools/bench",
    seconds: 110,
    run: () => bench("--smoke", "every case of every rival"),
  },
  "fuzz-long": {
    about: "each fuzz target for 60 s",
    when: "after a change of a parser or of a fuzz target",
    seconds: 500,
    run: () => fuzz(false),
  },
  "chaos-long": {
    about: "ten minutes of kills and cuts, a new schedule each time",
    when: "after a change of hosts, links or elections",
    seconds: 620,
    run: () => chaos(Date.now() % 100_000, CHAOS_MINUTES.long),
  },
  faults: {
    about: "a plan whose host is killed at each write of its journal",
    when: "after a change of plans or of native/plan",
    seconds: 900,
    run: () => program("faults.mjs"),
  },
};

/** The parts that `npm test` runs. */
export const TESTS = ["js", "native", "python", "e2e", "package", "conformance"];
/** The parts that .ci/run runs. */
export const GATE = ["lint", ...TESTS, "budget", "bench", "fuzz", "chaos"];
/** The parts that `npm run release-check` runs: the larger of two parts that cover the same. */
export const RELEASE = [
  ...[
    "lint-all",
    "js",
    "native",
    "long",
    "mcp",
    "wall",
    "python",
    "e2e-all",
    "package",
    "conformance",
    "sanitize",
  ],
  ...["budget", "bench-all", "fuzz-long", "chaos-long", "faults"],
];
