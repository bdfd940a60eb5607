// npm run soak -- [--calls 10000000]: as many calls through the detached gateway, from a session's
// process over its link to a provider and back, and the memory of both processes meanwhile. It fails
// where either has more at the end than near the beginning. Fewer than all calls leave no results.

import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { root, run, printLine, step } from "../commands.mjs";
import { setUp } from "../setup.mjs";
import { loadAverage, machine } from "./machine.mjs";
import { readMemory } from "./memory.mjs";
import { Provider, Subject } from "./processes.mjs";
import { soakPlot } from "./plots/soak.mjs";
import { spread } from "./statistics.mjs";

/** @typedef {import("./plots/soak.mjs").Sample} Sample */

const ALL = 10_000_000;
const SAMPLES = 200;
const PROVIDERS = 4;
const IN_FLIGHT = 64;
const MB = 1048576;
/**
 * How much more private memory the last tenth may take than the second, by their medians. The first
 * tenth is for memory that grows once. A byte lost with each call would be 8 MB.
 * @type {Record<"host" | "extension", number>}
 */
const BOUNDS_MB = { host: 4, extension: 8 };

/**
 * @param {Sample[]} samples @param {"host" | "extension"} of @param {number} tenth from 0
 * @returns {number} in MB
 */
function computeMedian(samples, of, tenth) {
  const from = Math.floor((samples.length * tenth) / 10);
  const to = Math.floor((samples.length * (tenth + 1)) / 10);
  const values = samples.slice(from, to).map((sample) => sample[of].privateBytes / MB);
  return Number(spread(values).median.toFixed(2));
}

/** @param {Sample[]} samples */
function judge(samples) {
  return /** @type {const} */ (["host", "extension"]).map((of) => {
    const early = computeMedian(samples, of, 1);
    const late = computeMedian(samples, of, 9);
    return { of, early, late, bound: BOUNDS_MB[of], met: late - early <= BOUNDS_MB[of] };
  });
}

/** @param {Subject} subject @param {number} calls */
async function soak(subject, calls) {
  /** @type {Sample[]} */
  const samples = [];
  const portion = Math.ceil(calls / SAMPLES);
  for (let done = 0; done < calls; done += portion) {
    await subject.ask("load", { calls: portion, inFlight: IN_FLIGHT, providers: PROVIDERS });
    const host = await subject.ask("memory");
    const extension = readMemory(Number(subject.child.pid));
    samples.push({ calls: done + portion, host, extension });
    if (samples.length % (SAMPLES / 10) !== 0) continue;
    const [ofHost, ofExtension] = [host, extension].map(({ privateBytes }) =>
      (privateBytes / MB).toFixed(1),
    );
    printLine(
      `   ${done + portion} calls: gateway ${ofHost} MB, extension ${ofExtension} MB private`,
    );
  }
  return samples;
}

/** @param {object} results @param {Sample[]} samples @param {string} title */
async function publish(results, samples, title) {
  const folder = path.join(root, "bench", "results");
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, "soak.json");
  writeFileSync(file, JSON.stringify({ ...results, samples }));
  const prettier = path.join("node_modules", "prettier", "bin", "prettier.cjs");
  await run(process.execPath, [prettier, "--write", file], { quiet: true });
  writeFileSync(path.join(folder, "soak.svg"), await soakPlot(samples, title));
}

const { values: flags } = parseArgs({
  options: { calls: { type: "string", default: String(ALL) } },
});
const calls = Number(flags.calls);
await setUp({ for: ["bench"] });
const build = process.env.TAP_NATIVE_BUILD ?? path.join(root, "build-native");
await run("cmake", ["-S", ".", "-B", build, "-DCMAKE_BUILD_TYPE=RelWithDebInfo"], { quiet: true });
await step("building the provider", () =>
  run("cmake", ["--build", build, "--target", "bench_provider"], { quiet: true }),
);
const about = machine();
const subject = await Subject.start("tap detached");
const options = { connections: PROVIDERS, tools: 1 };
const provider = await Provider.start(path.join(build, "bench_provider"), subject, options);
await subject.ask("tools", { count: PROVIDERS });
const startedAt = performance.now();
const samples = await soak(subject, calls);
const seconds = Number(((performance.now() - startedAt) / 1000).toFixed(1));
provider.stop();
await subject.close();

const verdicts = judge(samples);
const settled = samples.at(-1)?.calls ?? 0;
const perSecond = Math.round(settled / seconds);
for (const { of, early, late, bound, met } of verdicts) {
  const words = `${of}: ${early} MB in the second tenth, ${late} MB in the last`;
  printLine(`   ${words}; at most ${bound} MB more are ${met ? "kept to" : "EXCEEDED"}`);
}
const loads = { loadBefore: about.loadBefore, loadAfter: loadAverage() };
const results = { ...about, ...loads, calls: settled, seconds, perSecond, verdicts };
const title = `${settled / 1e6} million calls: memory in MB`;
if (calls >= ALL) await publish(results, samples, title);
const ok = verdicts.every(({ met }) => met);
printLine(`${ok ? "PASSED" : "FAILED"}: ${settled} calls in ${seconds} s, ${perSecond} a second`);
process.exitCode = ok ? 0 : 1;
