// The cost of emitters: a call while an emitter's program writes without end, and the memory of emitters whose
// program writes no line. The rules and the log are those of lines.mjs. `node tools/bench/emitters.mjs`
// runs this part alone; `--smoke` shows that it works.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { printLine } from "../commands.mjs";
import { buildCore, nativeFolder } from "../native.mjs";
import { metrics } from "./cases.mjs";
import { findFeatureHost } from "./groups.mjs";
import { literals } from "./lines.mjs";
import { readMemory } from "./memory.mjs";
import { Provider, Subject } from "./processes.mjs";
import { spread } from "./statistics.mjs";

/** @typedef {import("./report.mjs").All} All */
/**
 * @typedef {object} Flood
 * @property {string} name of the case
 * @property {number} lines of the emitter's program, each second
 * @property {{calls: number, inFlight: number, providers?: number}} load
 */

/** @type {Flood[]} */
const floods = [
  {
    name: "a call during 50,000 lines/s",
    lines: 50_000,
    load: { calls: 15_000, inFlight: 1 },
  },
  {
    name: "64 providers during 100,000 lines/s",
    lines: 100_000,
    load: { calls: 60_000, inFlight: 64, providers: 64 },
  },
];

export const floodNames = floods.map(({ name }) => name);

/** The programs of a round that write, and a program that is idle. */
const programs = {
  pour: (/** @type {string} */ program, /** @type {number} */ lines) => [
    ...[program, "pour", String(lines)],
  ],
  idle: ["sleep", "100000"],
};

/** Idle emitters that start before the counted ones, since they load the code. */
const WARM = 20;
const COUNTED = 100;
const SETTLED_MS = 1500;
/** Until a program that writes is up to its rate. */
const POURS_MS = 500;

const rules = [
  ...literals.map((match) => ({ match, outcome: "surface" })),
  { match: ".", outcome: "drop" },
];

/** @param {number} ms */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @param {Subject} subject @param {string} name @param {object} [args] of the tool */
const tool = (subject, name, args) => subject.ask("tool", { name, args });

/** Does the work while an emitter runs. @param {Subject} subject @param {string[]} argv @param {() => Promise<any>} work */
async function withEmitter(subject, argv, work) {
  const name = "flood";
  const seen = async () => {
    const { emitters } = await tool(subject, "tap_list_emitters");
    const { kept, dropped } = emitters.find(
      (/** @type {any} */ emitter) => emitter.name === name,
    ).lines;
    return { at: performance.now(), lines: kept + dropped };
  };
  await tool(subject, "tap_start_emitter", { name, argv, eventFilter: rules });
  await pause(POURS_MS);
  const before = await seen();
  const measured = await work();
  const after = await seen();
  await tool(subject, "tap_stop_emitter", { name });
  const linesPerSecond = ((after.lines - before.lines) * 1000) / (after.at - before.at);
  return { ...measured, linesPerSecond };
}

/** Does the work while a Node.js without the gateway reads the same. @param {string[]} argv @param {string} patterns a file @param {() => Promise<any>} work */
async function withReader([program, ...args], patterns, work) {
  const reader = path.join(import.meta.dirname, "lines-node.mjs");
  const writer = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
  const stdio = /** @type {import("node:child_process").StdioOptions} */ ([
    writer.stdout,
    "ignore",
    "inherit",
  ]);
  const child = spawn(process.execPath, [reader, patterns], { stdio });
  writer.stdout.destroy();
  await pause(POURS_MS);
  const measured = await work();
  writer.kill();
  child.kill();
  return measured;
}

/** @param {All} all @param {string} name @param {string} load @param {Record<string, number>} measured */
function add(all, name, load, measured) {
  const of = ((all[name] ??= {})[load] ??= {});
  for (const [metric, value] of Object.entries(measured)) (of[metric] ??= []).push(value);
}

/**
 * @param {All} all @param {Flood} flood @param {string} patterns a file
 * @param {{program: (name: string) => string, rounds: number, effort: number}} how
 */
async function measureFlood(all, { name, lines, load }, patterns, { program, rounds, effort }) {
  const options = { connections: load.providers ?? 1, tools: 1 };
  const env = { TAP_MAX_CONNECTIONS: String(options.connections) }; // it is 50
  const subject = await Subject.start("tap detached", env);
  const provider = await Provider.start(program("bench_provider"), subject, options);
  await subject.ask("tools", { count: options.connections });
  await subject.ask("group", { name: "emitters" });
  const argv = programs.pour(program("bench_lines"), lines);
  const calls = Math.ceil(load.calls * effort);
  const work = () => subject.ask("load", { ...load, calls });
  await work();
  for (let round = 0; round < rounds; ++round) {
    const alone = await work();
    const flooded = await withEmitter(subject, argv, work);
    add(all, name, "no lines", alone);
    add(all, name, "an emitter", flooded);
    add(all, name, "node readline, apart", await withReader(argv, patterns, work));
    add(all, "cost of lines", name, { p99: flooded.p99 - alone.p99 });
  }
  provider.stop();
  await subject.close();
}

/** Private memory of the feature host for each emitter. @param {object[]} eventFilter */
async function idle(eventFilter) {
  const subject = await Subject.start("tap detached");
  await subject.ask("group", { name: "emitters" });
  let count = 0;
  const start = async (/** @type {number} */ more) => {
    for (const end = count + more; count < end; ++count) {
      const name = `idle-${count}`;
      await tool(subject, "tap_start_emitter", { name, argv: programs.idle, eventFilter });
    }
    await pause(SETTLED_MS);
    return readMemory(findFeatureHost(subject.gatewayPid)).privateBytes;
  };
  const without = await start(0);
  const few = await start(WARM);
  const many = await start(COUNTED);
  await subject.close();
  const each = (many - few) / COUNTED;
  return { each, code: few - without - WARM * each };
}

/**
 * @param {{program: (name: string) => string, rounds: number, effort: number}} how
 * @returns {Promise<All>}
 */
export async function emitters(how) {
  const folder = mkdtempSync(path.join(os.tmpdir(), "tap-emitters-"));
  /** @type {All} */
  const all = {};
  try {
    const patterns = path.join(folder, "rules");
    writeFileSync(patterns, `${literals.join("\n")}\n`);
    for (const flood of floods) await measureFlood(all, flood, patterns, how);
    for (let round = 0; round < Math.min(how.rounds, 5); ++round) {
      const plain = await idle([]);
      add(all, "an idle emitter", "without rules", { privateBytes: plain.each });
      add(all, "an idle emitter", "with eleven rules", { privateBytes: (await idle(rules)).each });
      add(all, "an idle emitter", "the code, once", { privateBytes: plain.code });
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return all;
}

async function main() {
  const { values: flags } = parseArgs({
    options: { smoke: { type: "boolean", default: false }, rounds: { type: "string" } },
  });
  await buildCore(["bench_lines", "bench_provider"]);
  const rounds = Number(flags.rounds ?? (flags.smoke ? 1 : 5));
  const program = (/** @type {string} */ name) => path.join(nativeFolder, name);
  const all = await emitters({ program, rounds, effort: flags.smoke ? 0.02 : 1 });
  for (const [name, cases] of Object.entries(all)) {
    for (const [which, of] of Object.entries(cases)) {
      const figures = Object.entries(of).flatMap(([metric, values]) => {
        if (!["p50", "p99", "linesPerSecond", "privateBytes"].includes(metric)) return [];
        const { scale, digits, unit } = metrics[/** @type {"p50"} */ (metric)];
        const { median, min, max } = spread(values);
        const [middle, low, high] = [median, min, max].map((value) =>
          (value * scale).toFixed(digits),
        );
        return [`${metric} ${middle} (${low} to ${high}) ${unit}`];
      });
      printLine(`${name}: ${which}: ${figures.join(", ")}`);
    }
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await main();
