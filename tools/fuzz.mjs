// npm run fuzz -- <target> <seconds>: a single target, or all of them, under libFuzzer. New inputs are
// kept in .cache/fuzz, failures in .cache/fuzz/failures; a failure that is understood is moved to
// test/fuzz/corpus/<target>, where test/fuzz/replay_test.cc runs it from then on.

import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { attempt, CommandFailed, root, printLine } from "./commands.mjs";
import { buildTests } from "./native.mjs";
import { setUp } from "./setup.mjs";

const found = path.join(root, ".cache", "fuzz");
const corpus = path.join(root, "test", "fuzz", "corpus");
const WORKERS = 2;

/** Beyond these sizes inputs only get slower. @type {Record<string, number>} */
const maxBytes = { gateway: 2000, pattern: 512, glob: 512 };

export const fuzzTargets = () =>
  [
    ...readFileSync(path.join(root, "test/fuzz/targets.h"), "utf8").matchAll(/\{"(\w+)", \w+\}/g),
  ].map(([, name]) => name);

/** @returns {Promise<string>} the program */
export const buildFuzzers = async () => path.join(await buildTests(["tap_fuzz"]), "tap_fuzz");

/**
 * @typedef {object} Run
 * @property {number} seconds for each target
 * @property {boolean} gate whether a change has to pass it: it tries the same inputs each time, and spends
 *   no time on those that the long runs have kept
 *
 * @param {string} program @param {string} target @param {Run} how
 * @returns {Promise<{ok: boolean, executions: number, output: string}>}
 */
async function fuzz(program, target, { seconds, gate }) {
  const kept = path.join(found, gate ? "quick" : "kept", target);
  const failures = path.join(found, "failures");
  if (gate) rmSync(kept, { recursive: true, force: true });
  for (const folder of [kept, failures]) mkdirSync(folder, { recursive: true });
  const args = [
    `-max_total_time=${seconds}`,
    `-max_len=${maxBytes[target] ?? 2048}`,
    "-timeout=20",
    "-rss_limit_mb=1024",
    "-print_final_stats=1",
    `-artifact_prefix=${failures}/${target}-`,
    ...(gate ? ["-seed=1"] : []),
    kept,
    path.join(corpus, target),
  ];
  const env = { TAP_FUZZ_TARGET: target };
  const { ok, output } = await attempt(program, args, { env, quiet: true });
  const [, executions] = /stat::number_of_executed_units: *(\d+)/.exec(output) ?? [];
  return { ok, executions: Number(executions ?? 0), output };
}

/** Two targets at a time. @param {string} program @param {string[]} targets @param {Run} how */
export async function fuzzAll(program, targets, how) {
  const waiting = [...targets];
  /** @type {string[]} */
  const failed = [];
  let total = 0;
  const worker = async () => {
    for (let target = waiting.shift(); target; target = waiting.shift()) {
      const { ok, executions, output } = await fuzz(program, target, how);
      printLine(
        `   ${target}: ${how.seconds} s, ${executions} executions, ${ok ? "no failure" : "FAILED"}`,
      );
      total += executions;
      if (ok) continue;
      failed.push(target);
      printLine(output.slice(-6000));
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, worker));
  const detail = `${targets.length} targets, ${total} executions`;
  return { ok: failed.length === 0, detail: [detail, ...failed].join(", failed: ") };
}

async function main(target = "all", seconds = "60") {
  const known = fuzzTargets();
  const targets = target === "all" ? known : known.filter((name) => name === target);
  if (targets.length === 0 || !(Number(seconds) > 0)) {
    printLine(`npm run fuzz -- <target> <seconds>; targets: all, ${known.join(", ")}`);
    return 2;
  }
  await setUp({ for: "fuzz" });
  const program = await buildFuzzers();
  const { ok } = await fuzzAll(program, targets, { seconds: Number(seconds), gate: false });
  printLine(
    `${readdirSync(path.join(found, "failures")).length} files in ${path.join(found, "failures")}`,
  );
  return ok ? 0 : 1;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    process.exitCode = await main(...process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    printLine(error.message);
    process.exitCode = 1;
  }
}
