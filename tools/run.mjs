// npm test: everything, with its own set-up. `npm test -- native js python e2e package conformance lint
// format sanitize budget bench fuzz chaos` runs parts; without any: the first six. `fuzz` and `chaos` are
// short runs of what npm run fuzz and npm run chaos do at length. A word behind native, js, python or e2e
// chooses among its tests: `npm test -- js gateway.calls`, `npm test -- native Hooks`.

import "../js/base/require-node.mjs";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { stripVTControlCharacters } from "node:util";
import { checkBudget } from "./bench/budget.mjs";
import { chaos } from "./chaos.mjs";
import { attempt, begin, CommandFailed, root, say, seconds, testFiles } from "./commands.mjs";
import { conformanceRules, readResults, securityRules, unshown } from "./conformance.mjs";
import { buildFuzzers, fuzzAll, fuzzTargets } from "./fuzz.mjs";
import { format, lint } from "./lint.mjs";
import { buildCore, buildNative, nativeFolder, nativeTests } from "./native.mjs";
import { sanitize } from "./sanitize.mjs";
import { pythonForSdk, setUp } from "./setup.mjs";

/** For each target: enough to see that it runs, and that nothing fails at once. */
const FUZZ_SECONDS = 2;
/** The same schedule each time; this one has everything in it. */
const CHAOS_SEED = 2;
const CHAOS_MINUTES = 2;
/** So many test files at a time, on two cores: most wait for processes for a part of their time. */
const FILES_AT_A_TIME = { js: 3, e2e: 3, package: 2 };
/** Ends a test file that hangs: the slowest takes five minutes on two slow cores. */
const FILE_LIMIT_MS = 1_200_000;

/** What became of each test, by the part that ran it. @type {Map<string, string>} */
const resultFiles = new Map();

/** Where a part's results go, and nothing of an earlier run. @param {string} part @param {string} ending */
function resultFile(part, ending) {
  const folder = path.join(nativeFolder, "results");
  const file = path.join(folder, part + ending);
  mkdirSync(folder, { recursive: true });
  rmSync(file, { force: true });
  resultFiles.set(part, file);
  return file;
}

// ---- the native core -----------------------------------------------------------------------------

/** One at a time, source by source: a changed file is compiled by itself, in seconds. */
const loopFolder = path.join(root, "build-loop");

/** @param {string} [filter] of the names of GoogleTest's tests */
async function native(filter) {
  if (filter !== undefined) return nativeLoop(filter);
  await buildCore(["tap_tests"]);
  const file = resultFile("native", ".jsonl");
  const { ok, results } = await nativeTests(path.join(nativeFolder, "tap_tests"));
  writeFileSync(file, results.map((result) => `${JSON.stringify(result)}\n`).join(""));
  return { ok, detail: `${results.length} tests` };
}

/** @param {string} filter */
async function nativeLoop(filter) {
  const options = ["-DCMAKE_UNITY_BUILD=OFF", "-DCMAKE_CXX_FLAGS=-O0"];
  await buildNative(loopFolder, options, ["tap_tests"]);
  const { ok, results } = await nativeTests(path.join(loopFolder, "tap_tests"), filter);
  return { ok, detail: `${results.length} tests` };
}

async function fuzz() {
  return fuzzAll(await buildFuzzers(), fuzzTargets(), { seconds: FUZZ_SECONDS, gate: true });
}

// ---- JavaScript ----------------------------------------------------------------------------------

/** @param {string} output of the spec reporter @param {string} what */
const countOf = (output, what) =>
  Number(new RegExp(`^ℹ ${what} (\\d+)$`, "m").exec(stripVTControlCharacters(output))?.[1] ?? 0);

/** @param {string} file */
const textOf = (file) => readFileSync(path.join(root, file), "utf8");

/**
 * The files with this in their names; where there are none, the tests with this in their titles.
 * @param {string[]} files @param {string} [filter]
 * @returns {{files: string[], options: string[]}} options: of node --test
 */
function choose(files, filter) {
  if (filter === undefined) return { files, options: [] };
  const named = files.filter((file) => file.includes(filter));
  if (named.length > 0) return { files: named, options: [] };
  const pattern = filter.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  const options = [`--test-name-pattern=${pattern}`];
  return { files: files.filter((file) => textOf(file).includes(filter)), options };
}

/** @param {keyof typeof FILES_AT_A_TIME} part @param {string[]} all @param {string} [filter] */
async function nodeTest(part, all, filter) {
  const { files, options } = choose(all, filter);
  if (files.length === 0) return { ok: false, detail: `nothing here is called "${filter}"` };
  const reporters = {
    spec: "stdout",
    [path.join(root, "tools", "results-reporter.mjs")]: resultFile(part, ".jsonl"),
  };
  const reporting = Object.entries(reporters).flatMap(([reporter, destination]) => [
    `--test-reporter=${reporter}`,
    `--test-reporter-destination=${destination}`,
  ]);
  const args = [
    "--test",
    ...reporting,
    ...options,
    `--test-timeout=${FILE_LIMIT_MS}`,
    `--test-concurrency=${FILES_AT_A_TIME[part]}`,
    ...files,
  ];
  const env = { TAP_NATIVE_BUILD: nativeFolder, ...(process.stdout.isTTY && { FORCE_COLOR: "1" }) };
  const { ok, output } = await attempt(process.execPath, args, { env });
  const tests = countOf(output, "tests");
  const failed = countOf(output, "fail") + countOf(output, "cancelled");
  const skipped = countOf(output, "skipped");
  const detail = [`${tests} tests`, failed && `${failed} failed`, skipped && `${skipped} skipped`];
  return { ok, detail: detail.filter(Boolean).join(", ") };
}

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

/** @param {string} [filter] */
async function js(filter) {
  const files = ["test/js", "test/support", "examples"].flatMap(testFiles);
  const needed = oracles(
    filter === undefined ? undefined : choose(files, filter).files.map(textOf),
  );
  if (needed.length > 0) await buildCore(needed);
  return nodeTest("js", files, filter);
}

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
const e2e = (filter) => nodeTest("e2e", testFiles("test/e2e"), filter);

/** What `npm run release` makes, installed and used. */
const packaged = () => nodeTest("package", testFiles("test/package"));

/** Every test that docs/conformance.md or SECURITY.md names has run, in the parts of this run, and has passed. */
async function conformance() {
  if (resultFiles.size === 0)
    return { ok: false, detail: "it judges native, js, e2e: run one, too" };
  const rules = [...conformanceRules(), ...securityRules()];
  const results = new Map([...resultFiles].map(([part, file]) => [part, readResults(file)]));
  const problems = unshown(rules, results);
  for (const problem of problems) say(problem);
  const detail = `${rules.length} rules and threats, by ${[...resultFiles.keys()].join(", ")}`;
  return { ok: problems.length === 0, detail };
}

async function budget() {
  await buildCore(["bench_micro"]);
  return checkBudget(nativeFolder);
}

/** By what it has measured, not by how fast that was. */
async function bench() {
  const args = [path.join("tools", "bench", "bench.mjs"), "--smoke"];
  const { ok, output } = await attempt(process.execPath, args, { quiet: true });
  if (!ok) say(output.slice(-5000));
  return { ok, detail: ok ? "every case of every rival" : "see above" };
}

// ---- parts and summary ---------------------------------------------------------------------------

/**
 * @typedef {{ok: boolean, detail: string}} Outcome
 * @type {Record<string, (filter?: string) => Promise<Outcome>>}
 */
const parts = {
  format,
  lint,
  native,
  js,
  python,
  e2e,
  package: packaged,
  conformance,
  sanitize,
  budget,
  bench,
  fuzz,
  chaos: () => chaos(CHAOS_SEED, CHAOS_MINUTES),
};
const usual = ["native", "js", "python", "e2e", "package", "conformance"];

/**
 * A part that waits for more than half of its time, and one that keeps the cores busy meanwhile: it
 * begins with that, and is told of in its own turn. @type {Record<string, string>}
 */
const beside = { chaos: "lint", python: "js", bench: "e2e" };

/** @type {string[]} */
const summary = [];

/** @param {string} name @param {() => Promise<Outcome>} work */
async function perform(name, work) {
  const startedAt = performance.now();
  say(`\n==== ${name} ${"=".repeat(Math.max(4, 72 - name.length))}`);
  /** @type {Outcome} */
  let outcome;
  try {
    outcome = await work();
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    outcome = { ok: false, detail: error.message };
  }
  const { ok, detail } = outcome;
  const line = `${name.padEnd(12)}${ok ? "passed" : "FAILED"}  ${seconds(startedAt).padStart(8)}  ${detail}`;
  say(`==== ${line}`);
  summary.push(line);
  return ok;
}

/** Those of which a word chooses some tests. */
const FILTERED = ["native", "js", "python", "e2e"];

/** @param {string} problem @returns {never} */
function refuse(problem) {
  say(problem);
  process.exit(2);
}

/** What the user has chosen. @param {string[]} words @returns {Map<string, string | undefined>} the parts, with their filters */
function partsOf(words) {
  /** @type {Map<string, string | undefined>} */
  const chosen = new Map();
  let last = "";
  for (const word of words) {
    if (Object.hasOwn(parts, word)) {
      chosen.set(word, undefined);
      last = word;
    } else if (FILTERED.includes(last) && chosen.get(last) === undefined) {
      chosen.set(last, word);
    } else {
      refuse(`No such part: ${word}. There are: ${Object.keys(parts).join(", ")}.`);
    }
  }
  return chosen.size > 0 ? chosen : new Map(usual.map((name) => [name, undefined]));
}

const startedAt = performance.now();
const filters = partsOf(process.argv.slice(2));
const chosen = [...filters.keys()];
let ok = await perform("set-up", async () => {
  await setUp({ for: chosen });
  return { ok: true, detail: "" };
});
/** What has begun already, by its part. @type {Map<string, () => Promise<Outcome>>} */
const begun = new Map();
if (ok)
  for (const [at, name] of chosen.entries()) {
    for (const later of chosen.slice(at + 1))
      if (beside[later] === name)
        begun.set(
          later,
          begin(() => parts[later]()),
        );
    ok = (await perform(name, begun.get(name) ?? (() => parts[name](filters.get(name))))) && ok;
  }

say(`\nsummary\n${summary.map((line) => `  ${line}`).join("\n")}`);

/** At the end, where somebody looks first: the rest of a failure is far above. */
const MOST_FAILURES = 3;
const failures = [...resultFiles.values()]
  .flatMap(readResults)
  .filter(({ outcome }) => outcome === "failed");
for (const { file, title, why = "" } of failures.slice(0, MOST_FAILURES))
  say(`\nfailed: ${file || "native"}: ${title}\n${why.slice(0, 400).replaceAll(/^/gm, "  ")}`);

say(`\n${ok ? "PASSED" : "FAILED"}: ${chosen.join(", ")} in ${seconds(startedAt)}`);
process.exitCode = ok ? 0 : 1;
