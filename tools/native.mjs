// The core's programs, built with CMake, and its tests. The tests run with AddressSanitizer and
// UndefinedBehaviorSanitizer, in GoogleTest's own shards, a process for each core. All other programs
// take the core from the addon's libraries, so no file of it is compiled a second time for them.

import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { attempt, root, run, printLine, step } from "./commands.mjs";
import { readGoogleTest } from "./conformance.mjs";

export const nativeFolder = process.env.TAP_NATIVE_BUILD ?? path.join(root, "build-native");
/** The sanitized build of the gate: the tests and the fuzzers. */
const testFolder = path.join(root, "build-tests");
/** A single suite at a time, source by source: a changed file is compiled alone, in seconds. */
const loopFolder = path.join(root, "build-loop");

/**
 * JavaScript tests run meanwhile, and have deadlines. With more, a machine that has other work to do
 * would not compile at all.
 */
const COMPILING_NICENESS = 5;
const SHARDS = 2;
/** Ends tests that hang: a shard takes a minute on a slow machine, with sanitizers. */
const MAX_SHARD_MS = 600_000;
/**
 * Checks of UBSan that cost a quarter of the compiling. AddressSanitizer finds most faults that they would
 * find; the part `sanitize` has them all.
 */
const LEFT_OUT = ["null", "alignment", "vptr", "object-size"];

/**
 * CI builds from an empty folder.
 * @param {string} folder @param {string[]} options @param {string[]} targets
 * @param {{niceness?: number}} [how] the higher, the more other work takes precedence
 */
export async function buildNative(folder, options, targets, { niceness = 0 } = {}) {
  const unity = ["-DCMAKE_BUILD_TYPE=None", "-DCMAKE_UNITY_BUILD=ON"];
  await run("cmake", ["-S", ".", "-B", folder, ...unity, ...options], { quiet: true });
  const chosen = targets.flatMap((target) => ["--target", target]);
  const build = ["cmake", "--build", folder, "-j2", ...chosen];
  const prefix =
    niceness === 0 || process.platform === "win32" ? [] : ["nice", "-n", `${niceness}`];
  const [command, ...args] = [...prefix, ...build];
  await step(`building ${path.basename(folder)}: ${targets.join(", ")}`, () => run(command, args));
}

// ---- the addon's libraries -----------------------------------------------------------------------

const libraries = ["hot", "cold", "hot"].map((name) =>
  path.join(root, "build", "Release", `tap_${name}.a`),
);

/** @returns {boolean} whether the addon's libraries are there, and no source of the core is newer */
function hasAddonLibraries() {
  if (process.platform === "win32" || !libraries.every((file) => existsSync(file))) return false;
  const native = path.join(root, "native");
  const built = statSync(path.join(root, "build", "Release", "tap.node")).mtimeMs;
  return readdirSync(native, { recursive: true, encoding: "utf8" }).every(
    (file) => statSync(path.join(native, file)).mtimeMs <= built,
  );
}

/** An option for CMake; an empty list of libraries takes back an earlier list. */
const coreOption = () => `-DTAP_CORE_OBJECTS=${hasAddonLibraries() ? libraries.join(";") : ""}`;

/** Programs that measure, or that JavaScript tests start. @param {string[]} targets */
export const buildCore = (targets) =>
  buildNative(nativeFolder, ["-DCMAKE_CXX_FLAGS=-O2", coreOption()], targets);

// ---- the tests -----------------------------------------------------------------------------------

/** @param {string} program @param {string} report @param {number} shard @param {string} filter */
async function runShard(program, report, shard, filter) {
  const env = { GTEST_TOTAL_SHARDS: String(SHARDS), GTEST_SHARD_INDEX: String(shard) };
  const args = ["--gtest_brief=1", `--gtest_output=json:${report}`, `--gtest_filter=*${filter}*`];
  const { ok, output } = await attempt(program, args, {
    ...{ env, quiet: true },
    limitMs: MAX_SHARD_MS,
  });
  printLine(output.trim());
  return { ok, results: existsSync(report) ? readGoogleTest(readFileSync(report, "utf8")) : [] };
}

/**
 * The tests of a program of GoogleTest. @param {string} program
 * @param {string} [filter] those with this in their name; without it, all
 * @returns {Promise<{ok: boolean, results: import("./conformance.mjs").TestResult[]}>}
 */
export async function nativeTests(program, filter = "") {
  const folder = mkdtempSync(path.join(os.tmpdir(), "tap-native-"));
  try {
    const shards = await Promise.all(
      Array.from({ length: SHARDS }, (_, shard) =>
        runShard(program, path.join(folder, `${shard}.json`), shard, filter),
      ),
    );
    const results = shards.flatMap((shard) => shard.results);
    return { ok: shards.every(({ ok }) => ok) && results.length > 0, results };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Builds with the gate's sanitizers: by clang unless CXX names a compiler. Only clang has the
 * fuzzer. @param {string[]} targets @returns {Promise<string>} the folder
 */
export async function buildTests(targets) {
  const compiler = process.env.CXX ?? "clang++";
  const options = [
    `-DCMAKE_CXX_COMPILER=${compiler}`,
    `-DTAP_SANITIZE=${process.platform === "win32" ? "" : "address,undefined"}`,
    `-DTAP_SANITIZE_WITHOUT=${LEFT_OUT.join(",")}`,
    `-DTAP_FUZZ=${path.basename(compiler).startsWith("clang") ? "ON" : "OFF"}`,
    "-DCMAKE_CXX_FLAGS=-O1 -g1",
  ];
  await buildNative(testFolder, options, targets, { niceness: COMPILING_NICENESS });
  return testFolder;
}

/** All of them, with the sanitizers. */
export const sanitizedTests = async () =>
  nativeTests(path.join(await buildTests(["tap_tests"]), "tap_tests"));

/** The suites that have a test with this in its name. @param {string} filter */
function suitesWith(filter) {
  const folder = path.join(root, "test");
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((file) => path.posix.join("test", ...file.split(path.sep)))
    .filter((file) => /^test\/(native|fuzz)\/.*_test\.cc$/.test(file))
    .filter((file) => !file.startsWith("test/native/uv/"))
    .filter((file) =>
      [...readFileSync(path.join(root, file), "utf8").matchAll(TEST_NAME)].some(([, suite, name]) =>
        `${suite}.${name}`.includes(filter),
      ),
    );
}
const TEST_NAME = /^TEST(?:_[FP])?\((\w+),\s*(\w+)\)/gm;

/**
 * Some tests, without sanitizers: only their suites are compiled, unless the core has changed since
 * the addon was built. @param {string} filter of the names of GoogleTest's tests
 */
export async function chosenTests(filter) {
  const suites = suitesWith(filter);
  if (suites.length === 0) return { ok: false, results: [], suites };
  const flags = ["-DCMAKE_UNITY_BUILD=OFF", "-DCMAKE_CXX_FLAGS=-O0"];
  const sources = `-DTAP_TEST_SOURCES=${suites.join(";")}`;
  await buildNative(loopFolder, [...flags, coreOption(), sources], ["tap_tests"]);
  return { ...(await nativeTests(path.join(loopFolder, "tap_tests"), filter)), suites };
}
