// The budget of instructions: the count that each part of a call and a step of a plan execute, counted by callgrind
// within measured() (micro.cc) and compared with the counts in the repository. More than 5 % above is a failure, and
// so is a count that grows with the number of a plan's nodes.
// `node tools/bench/budget.mjs --update` writes the counts of this machine.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { attempt, CommandFailed, root, run, printLine } from "../commands.mjs";

const TOLERANCE = 1.05;
/** Counts that may not grow with the size of a plan, and the largest factor. @type {[string, string, number][]} */
const GROWTH = [["transition-of-10000", "transition-of-100", 2]];
const file = path.join(root, "tools", "bench", "budget.json");

/** @typedef {{environment: Record<string, string>, instructions: Record<string, number>}} Budget */

/** The counts depend on these: with others the compiler or libc chooses other code. */
function environment() {
  const first = (/** @type {string} */ command) =>
    execFileSync(command, ["--version"], { encoding: "utf8" }).split("\n")[0];
  const { header } = /** @type {any} */ (process.report.getReport());
  const [flags] = /^flags.*/m.exec(readFileSync("/proc/cpuinfo", "utf8")) ?? [""];
  return {
    compiler: first("c++"),
    glibc: String(header.glibcVersionRuntime),
    valgrind: first("valgrind"),
    machine: `${process.arch}${/\bavx2\b/.test(flags) ? " avx2" : ""}`,
  };
}

/** @param {string} program @param {string} name @param {number} iterations of the measured function */
async function count(program, name, iterations) {
  const tool = ["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=measured"];
  const { ok, output } = await attempt("valgrind", [...tool, program, "--count", name], {
    quiet: true,
  });
  const [, collected] = /Collected : (\d+)/.exec(output) ?? [];
  if (!ok || !(Number(collected) > 0)) {
    throw new CommandFailed(`callgrind counted no instruction of ${name}:\n${output}`);
  }
  return Math.round(Number(collected) / iterations);
}

/** Instructions of each part, per iteration. @param {string} folder has bench_micro */
async function countAll(folder) {
  const program = path.join(folder, "bench_micro");
  /** @type {Record<string, number>} */
  const counts = {};
  for (const line of (await run(program, ["--list"], { quiet: true })).trim().split("\n")) {
    const [name, iterations] = line.split(" ");
    counts[name] = await count(program, name, Number(iterations));
  }
  return counts;
}

/** The reasons against these counts. @param {Record<string, number>} budget @param {Record<string, number>} counts */
export function overBudget(budget, counts) {
  const names = new Set([...Object.keys(budget), ...Object.keys(counts)]);
  return [...names].flatMap((name) => {
    if (budget[name] === undefined) return [`${name} is in no budget`];
    if (counts[name] === undefined) return [`${name} is in the budget and was not counted`];
    if (counts[name] <= budget[name] * TOLERANCE) return [];
    const grown = ((counts[name] / budget[name] - 1) * 100).toFixed(1);
    return [`${name} executes ${counts[name]} instructions, ${grown} % over ${budget[name]}`];
  });
}

/** The counts that grow with their input, on any machine. @param {Record<string, number>} counts */
export function overGrowth(counts) {
  return GROWTH.filter(([large, small, most]) => !(counts[large] <= most * counts[small])).map(
    ([large, small, most]) =>
      `${large} executes ${counts[large]} instructions, more than ${most} × the ${counts[small]} of ${small}`,
  );
}

/** @param {string} folder where bench_micro was built */
export async function checkBudget(folder) {
  /** @type {Budget} */
  const budget = JSON.parse(readFileSync(file, "utf8"));
  const here = environment();
  const counts = await countAll(folder);
  for (const [name, instructions] of Object.entries(counts)) {
    printLine(
      `   ${name.padEnd(21)}${String(instructions).padStart(9)} of ${budget.instructions[name]}`,
    );
  }
  const other = Object.keys(here).filter((key) => here[key] !== budget.environment[key]);
  const grown = overGrowth(counts);
  for (const problem of grown) printLine(problem);
  if (other.length > 0) {
    const how = other.map((key) => `${key}: ${budget.environment[key]} there, ${here[key]} here`);
    printLine(
      `The budget was counted on a different machine, so the counts are not compared (${how.join("; ")}).`,
    );
    const detail = `counted, not compared: different ${other.join(", ")}`;
    return { ok: grown.length === 0, detail: [...grown, detail].join("; ") };
  }
  const problems = overBudget(budget.instructions, counts);
  for (const problem of problems) printLine(problem);
  if (problems.length > 0) {
    printLine(
      "Where it is worth that: node tools/bench/budget.mjs --update, and say why in the commit.",
    );
  }
  const all = [...problems, ...grown];
  return { ok: all.length === 0, detail: all.join("; ") || "within 5 %" };
}

if (process.argv[2] === "--update") {
  const folder = process.env.TAP_NATIVE_BUILD ?? path.join(root, "build-native");
  const budget = { environment: environment(), instructions: await countAll(folder) };
  writeFileSync(file, `${JSON.stringify(budget, undefined, 2)}\n`);
  printLine(JSON.stringify(budget, undefined, 2));
}
