// Lines of a program through ten rules, where a line in a hundred meets a rule and the others are
// dropped, or through the twenty patterns of a build: megabytes for each second of CPU time of the
// process that reads. `node tools/bench/lines.mjs` runs this part alone; `--smoke` shows that it
// works.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { CommandFailed, run, printLine } from "../commands.mjs";
import { buildCore, nativeFolder } from "../native.mjs";
import { spread } from "./statistics.mjs";

export const literals = [
  ...["ERROR", "FATAL", "panic:", "Traceback", "connection refused", "out of memory"],
  ...["status=503", "timed out", "permission denied", "build failed"],
];
const typical = [
  ...["\\bERROR\\b", "FATAL|PANIC", "panic: .*nil", "Traceback \\(most recent"],
  ...["connection (?:refused|reset)", "out of memory|OOM-killed", "status=5\\d\\d"],
  ...["timed out after \\d+", "permission denied.*root", "build failed$|build failed\\b"],
];
// The patterns of a build and of its failures (tools/bench/lines.cc has the fields).
const build = [
  ...["^File change detected|^Starting compilation", "Watching for file changes"],
  ...["Found (?<count>[1-9]\\d*) errors?", "Found 0 errors", "^no tests ran", "^warning: "],
  ...["^(?:FAIL|PASS) (?<file>\\S+)", "^\\s*ok \\d+ - (?<name>.*)", "node_modules", "0 errors"],
  ...typical,
];
const greedy = typical.map(
  (pattern) => ({ "\\bERROR\\b": ".*error.*", "status=5\\d\\d": ".*a.*b.*ZZ" })[pattern] ?? pattern,
);

/**
 * `share` of the log: greedy rules are slow everywhere. `reader`: of bench_lines.
 * @type {Record<string, {patterns: string[], share: number, reader?: string}>}
 */
const sets = {
  "lines, literals": { patterns: literals, share: 1 },
  "lines, typical": { patterns: typical, share: 1 },
  "lines, caseless": { patterns: typical.map((pattern) => `(?i)${pattern}`), share: 1 },
  "lines, greedy": { patterns: greedy, share: 0.02 },
  "lines, a build": { patterns: build, share: 1, reader: "cycles" },
};

/** The lines of a command that no entry knows: by `watch`, and by `emit start` with the same patterns. */
const UNKNOWN = "lines, an unknown command";

export const lineSets = [...Object.keys(sets), UNKNOWN];

const ownFile = (/** @type {string} */ name) => path.join(import.meta.dirname, name);

/** @param {string} program @param {string} reader @param {string} rules */
const listRivals = (program, reader, rules) => ({
  tap: [program, reader, rules],
  "node readline": [process.execPath, ownFile("lines-node.mjs"), rules],
  "c++ getline": [program, "getline", rules],
});

const quoted = (/** @type {string[]} */ words) => words.map((word) => `'${word}'`).join(" ");

/** A reader behind a pipe. @param {string[]} writer @param {string[]} reader */
async function read(writer, reader) {
  const command = `${quoted(writer)} | ${quoted(reader)}`;
  /** @type {{lines: number, hits: number, cpuSeconds: number}} */
  return JSON.parse(await run("sh", ["-c", command], { quiet: true }));
}

/**
 * @param {string} program bench_lines @param {{megabytes: number, rounds: number}} how
 * @returns {Promise<import("./report.mjs").All>}
 */
export async function lines(program, { megabytes, rounds }) {
  const folder = mkdtempSync(path.join(os.tmpdir(), "tap-lines-"));
  /** @type {import("./report.mjs").All} */
  const all = {};
  try {
    for (const [name, { patterns, share, reader: how = "tap" }] of Object.entries(sets)) {
      const rules = path.join(folder, "rules");
      writeFileSync(rules, `${patterns.join("\n")}\n`);
      const size = Math.max(1, Math.round(megabytes * share));
      const writer = [program, "write", String(size)];
      all[name] = {};
      for (let round = 0; round < rounds; ++round) {
        const found = new Set();
        for (const [rival, reader] of Object.entries(listRivals(program, how, rules))) {
          const { lines: count, hits, cpuSeconds } = await read(writer, reader);
          found.add(`${hits} of ${count} lines`);
          const of = (all[name][rival] ??= { mbPerCpuSecond: [] });
          of.mbPerCpuSecond.push(size / cpuSeconds);
        }
        if (found.size > 1) throw new CommandFailed(`${name}: ${[...found].join(", ")}`);
      }
    }
    const unknown = await readUnknown(program, folder, { megabytes, rounds });
    all[UNKNOWN] = unknown;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return all;
}

/** @param {string} program @param {string} folder @param {{megabytes: number, rounds: number}} how */
async function readUnknown(program, folder, { megabytes, rounds }) {
  const { plan } = await import("../../js/watch/plan.mjs");
  const { matcher, tools = "[]" } = plan("./build.sh", { folder });
  const patterns = JSON.parse(matcher).failure.map(
    (/** @type {{at: string}} */ { at }) => `${at}\n`,
  );
  const files = { watch: `${matcher}\n${tools}\n`, "emit start": `\n${patterns.join("")}` };
  const writer = [program, "write", String(megabytes)];
  /** @type {Record<string, {mbPerCpuSecond: number[]}>} */
  const rivals = {};
  for (let round = 0; round < rounds; ++round) {
    for (const [rival, content] of Object.entries(files)) {
      const file = path.join(folder, "source");
      writeFileSync(file, content);
      const { cpuSeconds } = await read(writer, [program, "source", file]);
      (rivals[rival] ??= { mbPerCpuSecond: [] }).mbPerCpuSecond.push(megabytes / cpuSeconds);
    }
  }
  return rivals;
}

async function main() {
  const { values: flags } = parseArgs({
    options: { smoke: { type: "boolean", default: false }, rounds: { type: "string" } },
  });
  await buildCore(["bench_lines"]);
  const megabytes = flags.smoke ? 20 : 1000;
  const rounds = Number(flags.rounds ?? (flags.smoke ? 1 : 3));
  const all = await lines(path.join(nativeFolder, "bench_lines"), { megabytes, rounds });
  for (const [name, rivals] of Object.entries(all)) {
    const [first] = Object.keys(rivals);
    const tap = spread(rivals[first].mbPerCpuSecond).median;
    for (const [rival, { mbPerCpuSecond }] of Object.entries(rivals)) {
      const { median, min, max } = spread(mbPerCpuSecond);
      const figures = [median, min, max].map((value) => value.toFixed(0));
      const times = rival === first ? "" : `, ${first} has ${(tap / median).toFixed(2)} times that`;
      printLine(
        `${name}: ${rival} ${figures[0]} MB per CPU s (${figures[1]} to ${figures[2]})${times}`,
      );
    }
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    await main();
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    printLine(error.message);
    process.exitCode = 1;
  }
}
