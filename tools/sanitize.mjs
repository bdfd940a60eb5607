// The sanitizers beyond those of the part `native`: AddressSanitizer and all of UndefinedBehaviorSanitizer
// over the core's tests and over the addon inside Node, and ThreadSanitizer over the code that runs on
// other threads than the loop's.

import { cpSync, existsSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { attempt, CommandFailed, root, run, printLine, step, testFiles } from "./commands.mjs";
import { DEFINES } from "../js/install/libraries.mjs";
import { copyAmalgamation } from "../packaging/sqlite.mjs";
import { buildNative, nativeTests } from "./native.mjs";

const addressFolder = path.join(root, "build-asan");
const threadFolder = path.join(root, "build-tsan");

/** The names of these machines in clang. @type {Record<string, string>} */
const MACHINES = { x64: "x86_64", arm64: "aarch64" };

/** Tests of test/js that have a gateway in their own process, or in hosts that they start. */
const FACING = /^test\/js\/((gateway|embedded)\/.*|session\/hooks)\.test\.mjs$/;

/** Node's headers: in Node's own folder, or where node-gyp has put them for the addon that is used. */
export function nodeHeaders() {
  const prefix = path.resolve(path.dirname(process.execPath), "..");
  const cached = path.join(os.homedir(), ".cache", "node-gyp", process.version.slice(1));
  return [prefix, cached]
    .map((folder) => path.join(folder, "include", "node"))
    .find((folder) => existsSync(path.join(folder, "uv.h")));
}

/** The libraries that Node must load before the addon. */
async function runtimes() {
  const find = async (/** @type {string} */ name) =>
    (await run("clang++", [`-print-file-name=${name}`], { quiet: true })).trim();
  const asan = await find(`libclang_rt.asan-${MACHINES[os.arch()] ?? os.arch()}.so`);
  // Node has its own libstdc++ inside; AddressSanitizer looks for a shared one.
  return [asan, await find("libstdc++.so")].join(" ");
}

/**
 * Builds with clang. SQLite is a release's: the other builds have the system's, which may be too old to
 * write ahead.
 * @param {string[]} targets @returns {Promise<string>} the folder
 */
async function buildSanitized(targets) {
  const headers = nodeHeaders();
  const sqlite = path.join(addressFolder, "sqlite");
  copyAmalgamation(root, sqlite);
  const options = [
    "-DCMAKE_CXX_COMPILER=clang++",
    `-DTAP_SQLITE_SOURCE=${sqlite}`,
    `-DTAP_SQLITE_DEFINES=${DEFINES.join(";")}`,
    "-DTAP_SANITIZE=address,undefined",
    "-DCMAKE_CXX_FLAGS=-O1 -g1",
    ...(headers ? [`-DTAP_NODE_HEADERS=${headers}`] : []),
  ];
  await buildNative(addressFolder, options, targets);
  return addressFolder;
}

/** The tree as a user has it, with the addon of the sanitizers in it. @returns {string} */
function sanitizedTree() {
  const tree = path.join(addressFolder, "tree");
  rmSync(tree, { recursive: true, force: true });
  mkdirSync(path.join(tree, "build", "Release"), { recursive: true });
  for (const name of ["js", "sdk", "test", "tools", "package.json"]) {
    cpSync(path.join(root, name), path.join(tree, name), { recursive: true });
  }
  symlinkSync(path.join(root, "node_modules"), path.join(tree, "node_modules"));
  cpSync(path.join(addressFolder, "tap.node"), path.join(tree, "build/Release/tap.node"));
  return tree;
}

/** The addon inside Node, from its tests. @returns {Promise<boolean>} */
export async function addonTests(facing = FACING) {
  const tree = sanitizedTree();
  const files = testFiles("test/js").filter((file) => facing.test(file));
  const args = [
    "--test",
    "--test-reporter=spec",
    "--test-timeout=900000",
    "--test-concurrency=2",
    ...files,
  ];
  const env = {
    LD_PRELOAD: await runtimes(),
    // Node has leaks of its own; the core's tests look for leaks.
    ASAN_OPTIONS: "detect_leaks=0:abort_on_error=1",
    UBSAN_OPTIONS: "print_stacktrace=1",
  };
  const { ok, output } = await attempt(process.execPath, args, { cwd: tree, env, quiet: true });
  if (!ok) printLine(output.slice(-20_000));
  return ok;
}

async function threadTests() {
  const options = ["-DTAP_SANITIZE=thread", "-DCMAKE_CXX_FLAGS=-O1 -g1"];
  await buildNative(threadFolder, options, ["tap_thread_tests"]);
  return nativeTests(path.join(threadFolder, "tap_thread_tests"));
}

export async function sanitize() {
  if (!nodeHeaders()) {
    throw new CommandFailed("Node's headers are not installed: the addon is not built");
  }
  await buildSanitized(["tap_tests", "tap_addon"]);
  const core = await step("the core's tests, ASan and UBSan", () =>
    nativeTests(path.join(addressFolder, "tap_tests")),
  );
  const threads = await step("threads, TSan", threadTests);
  const addon = await step("the addon inside Node, ASan and UBSan", addonTests);
  const count = core.results.length + threads.results.length;
  const failed = Object.entries({ core: core.ok, threads: threads.ok, addon }).filter(
    ([, ok]) => !ok,
  );
  const detail = [`${count} native tests, the addon`, ...failed.map(([name]) => `${name} failed`)];
  return { ok: failed.length === 0, detail: detail.join(", ") };
}
