// The core's builds with CMake, and its tests: GoogleTest's own shards, one process for each core,
// since a process for each test would spend its time on starting.

import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { attempt, root, run, say, step } from "./commands.mjs";
import { readGoogleTest } from "./conformance.mjs";

export const nativeFolder = process.env.TAP_NATIVE_BUILD ?? path.join(root, "build-native");

const SHARDS = 2;

/** CI builds everything from nothing. @param {string} folder @param {string[]} options @param {string[]} targets */
export async function buildNative(folder, options, targets) {
  const unity = ["-DCMAKE_BUILD_TYPE=None", "-DCMAKE_UNITY_BUILD=ON"];
  await run("cmake", ["-S", ".", "-B", folder, ...unity, ...options], { quiet: true });
  const chosen = targets.flatMap((target) => ["--target", target]);
  await step(`building ${path.basename(folder)}: ${targets.join(", ")}`, () =>
    run("cmake", ["--build", folder, "-j2", ...chosen]),
  );
}

/** @param {string[]} targets */
export const buildCore = (targets) => buildNative(nativeFolder, ["-DCMAKE_CXX_FLAGS=-O2"], targets);

/** @param {string} program @param {string} report @param {number} shard @param {string} filter */
async function runShard(program, report, shard, filter) {
  const env = { GTEST_TOTAL_SHARDS: String(SHARDS), GTEST_SHARD_INDEX: String(shard) };
  const args = ["--gtest_brief=1", `--gtest_output=json:${report}`, `--gtest_filter=*${filter}*`];
  const { ok, output } = await attempt(program, args, { env, quiet: true });
  say(output.trim());
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
