// Runs files of node:test for a part of `npm test`, and repeats those that failed, each alone.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { stripVTControlCharacters } from "node:util";
import { attempt, root, printLine } from "./commands.mjs";
import { readResults } from "./conformance.mjs";
import { nativeFolder } from "./native.mjs";

/** Ends a test file that hangs: the slowest takes five minutes on two slow cores. */
const MAX_FILE_MS = 1_200_000;
/** When more files fail, the cause is hardly a race, and a repetition only delays the answer. */
const MAX_REPEATED_FILES = 10;

/**
 * @typedef {import("./conformance.mjs").TestResult} TestResult
 * @typedef {object} NodeRun
 * @property {string} part names the file of results
 * @property {string[]} files
 * @property {number} atATime files that run at the same time
 * @property {string[]} [options] of node --test
 */

/** @param {string} part @param {string} [ending] @returns {string} the file with its results */
export const resultFile = (part, ending = ".jsonl") =>
  path.join(nativeFolder, "results", part + ending);

/** Removes the results of an earlier run. @param {string} file */
export function clearResults(file) {
  mkdirSync(path.dirname(file), { recursive: true });
  rmSync(file, { force: true });
}

/** @param {string} output of the spec reporter @param {string} name */
const readCount = (output, name) =>
  Number(new RegExp(`^ℹ ${name} (\\d+)$`, "m").exec(stripVTControlCharacters(output))?.[1] ?? 0);

/** @param {string} file */
const readText = (file) => readFileSync(path.join(root, file), "utf8");

/** @param {string} text */
export const escapePattern = (text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");

/**
 * The files with this in their names; where no file has it, the tests with this in their titles.
 * @param {string[]} files @param {string} [filter]
 * @returns {{files: string[], options: string[]}} options: of node --test
 */
export function chooseTests(files, filter) {
  if (filter === undefined) return { files, options: [] };
  const named = files.filter((file) => file.includes(filter));
  if (named.length > 0) return { files: named, options: [] };
  const options = [`--test-name-pattern=${escapePattern(filter)}`];
  return { files: files.filter((file) => readText(file).includes(filter)), options };
}

/**
 * @param {NodeRun} run @param {string} results a file for them
 * @returns {Promise<{ok: boolean, output: string}>}
 */
function startNode({ files, atATime, options = [] }, results) {
  clearResults(results);
  const reporters = {
    spec: "stdout",
    [path.join(root, "tools", "results-reporter.mjs")]: results,
  };
  const reporting = Object.entries(reporters).flatMap(([reporter, destination]) => [
    `--test-reporter=${reporter}`,
    `--test-reporter-destination=${destination}`,
  ]);
  const limits = [`--test-timeout=${MAX_FILE_MS}`, `--test-concurrency=${atATime}`];
  const env = { TAP_NATIVE_BUILD: nativeFolder, ...(process.stdout.isTTY && { FORCE_COLOR: "1" }) };
  const args = ["--test", ...reporting, ...options, ...limits, ...files];
  return attempt(process.execPath, args, { env });
}

/**
 * @param {NodeRun} run
 * @returns {Promise<import("./parts.mjs").Outcome & {tests: number, repeatable?: NodeRun}>}
 *   repeatable: the files that failed, if there are few enough
 */
export async function runNodeTests(run) {
  const results = resultFile(run.part);
  const { ok, output } = await startNode(run, results);
  const tests = readCount(output, "tests");
  const failed = readCount(output, "fail") + readCount(output, "cancelled");
  const detail = [`${tests} tests`, failed && `${failed} failed`].filter(Boolean).join(", ");
  const files = ok ? [] : findFailedFiles(readResults(results), run.files);
  const isRepeatable = files.length > 0 && files.length <= MAX_REPEATED_FILES;
  return { ok, detail, tests, ...(isRepeatable && { repeatable: { ...run, files } }) };
}

/**
 * The test files that have to run again. A test that a helper declares is reported with the helper's
 * name, and a file that crashed with its own name as a title.
 * @param {TestResult[]} results @param {string[]} files of the run @returns {string[]}
 */
export function findFailedFiles(results, files) {
  /** @type {Set<string>} */
  const found = new Set();
  for (const { file, title, outcome } of results) {
    if (outcome !== "failed") continue;
    const own = files.find((name) => name === file || title.endsWith(name));
    if (own) found.add(own);
    else
      files
        .filter((name) => readText(name).includes(path.basename(file)))
        .forEach((name) => found.add(name));
  }
  return [...found];
}

/**
 * Later outcomes replace earlier ones of the same test. That a file failed is forgotten with its
 * failure: the file has run again.
 * @param {TestResult[]} earlier @param {TestResult[]} later @param {string[]} files that ran again
 */
export function mergeResults(earlier, later, files) {
  const name = (/** @type {TestResult} */ { file, title }) => `${file}: ${title}`;
  const names = new Set(later.map(name));
  const left = earlier.filter(
    (test) => !names.has(name(test)) && !files.some((file) => test.title.endsWith(file)),
  );
  return [...left, ...later];
}

/**
 * Runs each of these files once more, in turn, and corrects the part's results.
 * @param {NodeRun} run @returns {Promise<string[]>} the files that passed this time
 */
export async function repeatAlone(run) {
  const results = resultFile(run.part);
  /** @type {string[]} */
  const passed = [];
  for (const file of run.files) {
    printLine(`-- ${file} failed and runs once more, alone`);
    const again = resultFile(`${run.part}-again`);
    const { ok } = await startNode({ ...run, files: [file], atATime: 1 }, again);
    if (ok) passed.push(file);
    const merged = mergeResults(readResults(results), readResults(again), [file]);
    writeFileSync(results, merged.map((result) => `${JSON.stringify(result)}\n`).join(""));
  }
  return passed;
}
