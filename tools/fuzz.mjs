// npm run fuzz -- <target> <seconds>: one target, or all of them, under libFuzzer. What it learns is
// kept in .cache/fuzz, what fails in .cache/fuzz/failures; a failure that is understood is moved to
// test/fuzz/corpus/<target>, where test/fuzz/replay_test.cc runs it from then on.

import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { attempt, CommandFailed, root, run, say, step } from "./commands.mjs";
import { setUp } from "./setup.mjs";

const found = path.join(root, ".cache", "fuzz");
const corpus = path.join(root, "test", "fuzz", "corpus");

/** Beyond these sizes inputs only get slower. @type {Record<string, number>} */
const maxBytes = { gateway: 2000, pattern: 512, glob: 512 };

export const fuzzTargets = () =>
  [
    ...readFileSync(path.join(root, "test/fuzz/targets.h"), "utf8").matchAll(/\{"(\w+)", \w+\}/g),
  ].map(([, name]) => name);

/**
 * Builds quickly what runs for seconds, and well what runs for minutes.
 * @param {{quickly: boolean}} options @returns {Promise<string>} the program
 */
export async function buildFuzzers({ quickly }) {
  const name = quickly ? "build-fuzz-quick" : "build-fuzz";
  const folder = path.join(root, name);
  const flags = quickly ? "-O0" : "-O1";
  const options = ["-DCMAKE_CXX_COMPILER=clang++", "-DTAP_FUZZ=ON", `-DCMAKE_CXX_FLAGS=${flags}`];
  // What libFuzzer counts are the edges of each function, whichever file it came in.
  const unity = ["-DCMAKE_BUILD_TYPE=None", "-DCMAKE_UNITY_BUILD=ON"];
  const configure = ["-S", ".", "-B", folder, ...unity, ...options];
  await run("cmake", configure, { quiet: true });
  const build = ["--build", folder, "-j2", "--target", "tap_fuzz"];
  await step(`building ${name}`, () => run("cmake", build, { quiet: true }));
  return path.join(folder, "tap_fuzz");
}

/**
 * @param {string} program @param {string} target @param {number} seconds
 * @returns {Promise<{ok: boolean, executions: number, output: string}>}
 */
async function fuzz(program, target, seconds) {
  // A short run would spend its time on what the long ones have kept.
  const kept = path.join(found, program.includes("quick") ? "quick" : "kept", target);
  const failures = path.join(found, "failures");
  if (program.includes("quick")) rmSync(kept, { recursive: true, force: true });
  for (const one of [kept, failures]) mkdirSync(one, { recursive: true });
  const args = [
    `-max_total_time=${seconds}`,
    `-max_len=${maxBytes[target] ?? 2048}`,
    "-timeout=20",
    "-rss_limit_mb=1024",
    "-print_final_stats=1",
    `-artifact_prefix=${failures}/${target}-`,
    // The same inputs each time, where it is a gate for changes.
    ...(program.includes("quick") ? ["-seed=1"] : []),
    kept,
    path.join(corpus, target),
  ];
  const env = { TAP_FUZZ_TARGET: target };
  const { ok, output } = await attempt(program, args, { env, quiet: true });
  const [, executions] = /stat::number_of_executed_units: *(\d+)/.exec(output) ?? [];
  return { ok, executions: Number(executions ?? 0), output };
}

/** @param {string} program @param {string[]} targets @param {number} seconds for each */
export async function fuzzAll(program, targets, seconds) {
  const failed = [];
  let total = 0;
  for (const target of targets) {
    const { ok, executions, output } = await fuzz(program, target, seconds);
    say(`   ${target}: ${seconds} s, ${executions} executions, ${ok ? "no failure" : "FAILED"}`);
    total += executions;
    if (ok) continue;
    failed.push(target);
    say(output.slice(-6000));
  }
  const detail = `${targets.length} targets, ${total} executions`;
  return { ok: failed.length === 0, detail: [detail, ...failed].join(", failed: ") };
}

async function main(target = "all", seconds = "60") {
  const known = fuzzTargets();
  const targets = target === "all" ? known : known.filter((name) => name === target);
  if (targets.length === 0 || !(Number(seconds) > 0)) {
    say(`npm run fuzz -- <target> <seconds>; targets: all, ${known.join(", ")}`);
    return 2;
  }
  await setUp({ for: "fuzz" });
  const program = await buildFuzzers({ quickly: false });
  const { ok } = await fuzzAll(program, targets, Number(seconds));
  say(
    `${readdirSync(path.join(found, "failures")).length} files in ${path.join(found, "failures")}`,
  );
  return ok ? 0 : 1;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    process.exitCode = await main(...process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    say(error.message);
    process.exitCode = 1;
  }
}
