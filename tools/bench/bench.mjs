// npm run bench: tap and its rivals, all in the same run, round by round. `-- --quick` gives a first look,
// without results; `-- --rounds=31` more rounds; `-- --smoke` only shows that all of it works, and
// `-- --one` that its first case does. `-- --table` prints the last run that was saved.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { root, run, printLine, step } from "../commands.mjs";
import { buildCore, nativeFolder } from "../native.mjs";
import { setUp } from "../setup.mjs";
import { floors, latencies, phases } from "./cases.mjs";
import { allowedCores, keptAwake, place, twoCores } from "./cores.mjs";
import { emitters } from "./emitters.mjs";
import { groups } from "./groups.mjs";
import { helloToTool } from "./live.mjs";
import { lines } from "./lines.mjs";
import { loadAverage, machine } from "./machine.mjs";
import { bareMemory, hostMemory, providerMemory } from "./memory.mjs";
import { plans } from "./plans.mjs";
import { plots } from "./plots/run.mjs";
import { readJsonOutput, Provider, Subject } from "./processes.mjs";
import { scale } from "./scale.mjs";
import { gaps, judge, table } from "./report.mjs";
import { spread } from "./statistics.mjs";

const { values: flags } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    smoke: { type: "boolean", default: false },
    one: { type: "boolean", default: false },
    table: { type: "boolean", default: false },
    rounds: { type: "string" },
  },
});
if (flags.table) {
  const file = path.join(root, "bench", "results", "run.json");
  const { samples, targets, ...circumstances } = JSON.parse(readFileSync(file, "utf8"));
  printLine(`${JSON.stringify(circumstances, null, 2)}\n\n${table(samples, targets)}`);
  process.exit();
}
const looksOnly = flags.quick || flags.smoke;
const rounds = Number(flags.rounds ?? (flags.smoke || flags.one ? 1 : flags.quick ? 2 : 15));
const effort = flags.smoke || flags.one ? 0.02 : flags.quick ? 0.2 : 1;
const program = (/** @type {string} */ name) => path.join(nativeFolder, name);

/** All measurements: case → rival → metric → a value for each round. */
class Samples {
  /** @type {Record<string, Record<string, Record<string, number[]>>>} */
  all = {};

  /** @param {string} name @param {string} rival @param {Record<string, number>} measured */
  add(name, rival, measured) {
    const of = ((this.all[name] ??= {})[rival] ??= {});
    for (const [metric, value] of Object.entries(measured)) (of[metric] ??= []).push(value);
  }
}

/** @param {number} ms */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * A provider program for each rival, by its name. @param {Subject[]} among
 * @param {{connections: number, tools: number}} options
 */
async function startProviders(among, { connections, tools }) {
  /** @type {Map<string, Provider>} */
  const providers = new Map();
  for (const subject of among) {
    if (subject.name === "nothing") continue;
    const options = { connections, tools };
    const provider = await Provider.start(program("bench_provider"), subject, options);
    providers.set(subject.name, provider);
    if (subject.speaks === "tools") await subject.ask("tools", { count: connections * tools });
  }
  return providers;
}

/** @param {import("./cases.mjs").Case["cores"]} cores */
function chooseCores(cores) {
  const { first, last } = twoCores();
  if (cores === undefined) return { callers: allowedCores(), providers: allowedCores() };
  return { callers: first, providers: cores === "one" ? first : last };
}

/**
 * Runs a case with every rival. @param {Samples | undefined} samples undefined: to warm up
 * @param {Map<string, Subject>} subjects @param {Map<string, Provider>} providers
 * @param {import("./cases.mjs").Case} measured
 */
async function runCase(samples, subjects, providers, { name, of, load, cores }) {
  const calls = Math.ceil(load.calls * (samples ? 1 : 0.25) * effort);
  const on = chooseCores(cores);
  for (const rival of of) {
    const subject = /** @type {Subject} */ (subjects.get(rival));
    place(subject.pids, on.callers);
    place(providers.get(rival)?.pids ?? [], on.providers);
    const measured = await subject.ask("load", { ...load, calls });
    samples?.add(name, rival, measured);
  }
  if (!cores || !samples) return;
  for (const [floor, mode] of Object.entries(floors)) {
    const args = [mode, on.callers, on.providers];
    samples.add(name, floor, await readJsonOutput(program("bench_provider"), args));
  }
}

/**
 * @param {Samples | undefined} samples @param {Map<string, Subject>} subjects
 * @param {Map<string, Provider>} providers @param {import("./cases.mjs").Case[]} cases
 */
async function runRound(samples, subjects, providers, cases) {
  for (const measured of cases) {
    const work = () => runCase(samples, subjects, providers, measured);
    await (measured.cores ? keptAwake(work) : work());
  }
}

/** @param {Samples} samples @param {Map<string, Subject>} subjects @param {typeof phases[number]} phase */
async function measure(samples, subjects, phase) {
  const names = new Set(phase.cases.flatMap(({ of }) => of));
  const among = [...subjects.values()].filter(({ name }) => names.has(name));
  const providers = await startProviders(among, phase);
  await runRound(undefined, subjects, providers, phase.cases);
  for (let round = 0; round < rounds; ++round) {
    await runRound(samples, subjects, providers, phase.cases);
  }
  for (const provider of providers.values()) provider.stop();
  for (const subject of among) {
    if (subject.speaks === "tools") await subject.ask("tools", { count: 0 });
  }
}

/** The first case of all its rivals, once: the benchmark still works. */
async function measureFirstCase() {
  const samples = new Samples();
  const [{ cases, ...phase }] = phases;
  const [first] = cases;
  /** @type {Map<string, Subject>} */
  const subjects = new Map();
  for (const name of first.of) subjects.set(name, await Subject.start(name));
  await measure(samples, subjects, { ...phase, cases: [first] });
  for (const subject of subjects.values()) await subject.close();
  const measured = Object.keys(samples.all[first.name]);
  const missing = first.of.filter((name) => !measured.includes(name));
  printLine(
    missing.length === 0 ? `${first.name}: ${measured.join(", ")}` : `not measured: ${missing}`,
  );
  process.exitCode = missing.length === 0 ? 0 : 1;
}

/** 50 providers connect at once. @param {Samples} samples @param {Map<string, Subject>} subjects */
async function storm(samples, subjects) {
  const names = ["tap embedded", "tap detached", "js embedded", "js detached"];
  for (let round = -1; round < rounds; ++round) {
    for (const name of names) {
      const subject = /** @type {Subject} */ (subjects.get(name));
      const before = await subject.ask("tools", { count: 0 });
      const options = { connections: 50, tools: 2 };
      const provider = await Provider.start(program("bench_provider"), subject, options);
      await subject.ask("tools", { count: 100 });
      await pause(300); // a second synchronisation would have come by now
      const late = await subject.ask("tools", { count: 100 });
      if (round >= 0) {
        samples.add("storm", name, { ms: provider.ms, syncs: late.syncs - before.syncs });
      }
      provider.stop();
      await subject.ask("tools", { count: 0 });
    }
  }
}

/** @param {Samples} samples @param {Map<string, Subject>} subjects */
async function rules(samples, subjects) {
  const calls = 3000 * effort;
  for (const name of ["tap embedded", "tap detached"]) {
    const subject = /** @type {Subject} */ (subjects.get(name));
    const options = { rules: 50 };
    const provider = await Provider.start(program("bench_provider"), subject, options);
    await subject.ask("hooks", { calls: calls / 4 });
    for (let round = 0; round < rounds; ++round) {
      samples.add("50 rules", name, await subject.ask("hooks", { calls }));
    }
    provider.stop();
  }
}

/** The caller's own loop is not the rivals' doing. @param {Samples["all"]} all */
function subtractCaller(all) {
  const ofOneCall = latencies.map(({ name }) => name);
  for (const name of [...ofOneCall, "64 in flight"]) {
    const own = all[name].nothing;
    for (const [rival, of] of Object.entries(all[name])) {
      if (rival === "nothing" || rival in floors) continue;
      for (const metric of ["p50", "cpuPer100k"]) {
        if (metric === "cpuPer100k" && rival.includes("detached")) continue; // the CPU time is of the host's process
        if (metric === "p50" && !ofOneCall.includes(name)) continue;
        const { median } = spread(own[metric]);
        of[metric] = of[metric].map((value) => value - median);
      }
    }
  }
}

/** With records, less without them, round by round. @param {Samples["all"]} all */
function recordsCost(all) {
  const [on, off] = ["tap detached", "tap detached, no records"].map((name) => {
    const { loopPerCall, cpuPer100k } = all["64 in flight"][name];
    const others = cpuPer100k.map((seconds, round) => seconds * 10 - loopPerCall[round]);
    return { loopPerCall, others };
  });
  const less = (/** @type {number[]} */ more, /** @type {number[]} */ than) =>
    more.map((value, round) => value - than[round]);
  return {
    "64 in flight": {
      loopPerCall: less(on.loopPerCall, off.loopPerCall),
      storePerCall: less(on.others, off.others),
    },
  };
}

await setUp({ for: ["bench"] });
if (flags.one) {
  await buildCore(["bench_provider"]);
  await measureFirstCase();
  process.exit();
}
const about = { ...machine(), rounds };
await buildCore(["bench_provider", "bench_memory", "bench_scale", "bench_lines", "bench_plans"]);

const samples = new Samples();
/** @type {Map<string, Subject>} */
const subjects = new Map();
await step("starting the rivals", async () => {
  const names = new Set(phases.flatMap(({ cases }) => cases.flatMap(({ of }) => of)));
  for (const name of names) subjects.set(name, await Subject.start(name));
});
const detached = /** @type {Subject} */ (subjects.get("tap detached"));
samples.add("memory", "tap detached", await hostMemory(detached));
samples.add("memory", "provider", { bytes: await providerMemory(program("bench_memory")) });
for (const phase of phases) {
  await step(phase.cases.map(({ name }) => name).join(", "), () =>
    measure(samples, subjects, phase),
  );
}
await step("storm", () => storm(samples, subjects));
await step("50 rules", () => keptAwake(() => rules(samples, subjects)));
for (const subject of subjects.values()) await subject.close();
await step("tool groups", async () => {
  const { privateBytes } = await bareMemory();
  samples.all["tool groups"] = await groups(looksOnly ? 1 : 9, privateBytes);
});
await step("emitters", async () => {
  Object.assign(samples.all, await emitters({ program, rounds, effort }));
});
await step("hello until the tool is in the CLI's session", async () => {
  const ms = await helloToTool(looksOnly ? 3 : 30);
  samples.all["hello to tool"] = { "tap in the CLI": { ms } };
});
await step("a change of a tool among many", async () => {
  Object.assign(samples.all, await scale(program("bench_scale"), looksOnly ? 2 : 20));
});
await step("lines through rules", async () => {
  const size = { megabytes: looksOnly ? 20 : 1000, rounds: Math.min(rounds, 5) };
  Object.assign(samples.all, await lines(program("bench_lines"), size));
});
await step("plans", async () => {
  const size = { rounds: Math.min(rounds, 9), smoke: flags.smoke };
  Object.assign(samples.all, await plans(program("bench_plans"), size));
});

subtractCaller(samples.all);
samples.all.records = recordsCost(samples.all);
const verdicts = judge(samples.all);
printLine(`\n${table(samples.all, verdicts)}`);
printLine(`\nload before ${about.loadBefore.join(" ")}, after ${loadAverage().join(" ")}`);
const missing = gaps(samples.all);
if (missing.length > 0) {
  printLine(`not measured: ${missing.join(", ")}`);
  process.exitCode = 1;
}
if (flags.smoke) {
  const svgs = Object.values(await plots(samples.all));
  if (!svgs.every((svg) => svg.startsWith("<svg"))) process.exitCode = 1;
}
if (!looksOnly) {
  const folder = path.join(root, "bench", "results");
  mkdirSync(folder, { recursive: true });
  const loadAfter = loadAverage();
  const results = { ...about, loadAfter, targets: verdicts, samples: samples.all };
  const file = path.join(folder, "run.json");
  writeFileSync(file, JSON.stringify(results));
  const prettier = path.join("node_modules", "prettier", "bin", "prettier.cjs");
  await run(process.execPath, [prettier, "--write", file], { quiet: true });
  for (const [name, svg] of Object.entries(await plots(samples.all))) {
    writeFileSync(path.join(folder, name), svg);
  }
  printLine(`results and plots are in ${path.relative(process.cwd(), folder) || folder}`);
}
