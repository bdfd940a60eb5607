// Plans: how long the core takes to read a plan, for a step, and for its journal, its memory, how soon a program runs,
// and whole plans, compared with a shell script, GNU make, and an engine that polls. `node tools/bench/plans.mjs` runs
// this part alone; `--smoke` shows that it works.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { printLine } from "../commands.mjs";
import { buildCore, nativeFolder } from "../native.mjs";
import { PollingEngine, readPlan } from "./js-plans.mjs";
import { ended, Home, runScheduled } from "./plan-hosts.mjs";
import { readJsonOutput } from "./processes.mjs";
import { spread } from "./statistics.mjs";
import { makeRepository, SMALL, worktrees } from "./worktrees.mjs";

/** @typedef {Record<string, Record<string, number[]>>} Case rival → metric → a value each round */
/** @typedef {{program: string, folder: string, rounds: number, smoke: boolean}} How */

const REWRITES = 20;
const WIDE = 8;

/** @param {Case} all @param {string} rival @param {string} metric @param {number[]} values */
const add = (all, rival, metric, ...values) => ((all[rival] ??= {})[metric] ??= []).push(...values);

/** @param {string} file */
const removeJournal = (file) =>
  ["", "-wal"].forEach((end) => fs.rmSync(file + end, { force: true }));

/** JSON to a plan that is checked, in turn with the rival. @param {How} how */
async function reading({ program, rounds, smoke }) {
  const nodes = String(smoke ? 100 : 10_000);
  const text = JSON.stringify(await readJsonOutput(program, ["text", nodes]));
  /** @type {Case} */
  const all = {};
  for (let round = 0; round < rounds; ++round) {
    // The first read has to allocate its memory.
    add(all, "tap", "ms", (await readJsonOutput(program, ["read", nodes, "2"])).ms[1]);
    const began = performance.now();
    readPlan(text);
    add(all, "js", "ms", performance.now() - began);
  }
  return all;
}

/** @param {How} how */
async function steps({ program, folder, rounds, smoke }) {
  const nodes = smoke ? 200 : 10_000;
  const plan = readPlan(JSON.stringify(await readJsonOutput(program, ["text", String(nodes)])));
  const engine = new PollingEngine(plan, path.join(folder, "whole.json"));
  /** @type {{steps: Case, journal: Case}} */
  const all = { steps: {}, journal: {} };
  for (let round = 0; round < rounds; ++round) {
    for (const [rival, size] of [
      ["tap, 10,000 nodes", nodes],
      ["tap, 100 nodes", 100],
    ]) {
      const { ns } = await readJsonOutput(program, ["run", String(size)]);
      add(all.steps, String(rival), "us", ns / 1000);
    }
    const began = performance.now();
    for (let i = 0; i < REWRITES; ++i) engine.move(plan.nodes[i], "running");
    const ms = performance.now() - began;
    const rival = "js, 10,000 nodes, all written";
    add(all.steps, rival, "us", (ms * 1000) / REWRITES);
    add(all.journal, rival, "entriesPerSecond", (REWRITES * 1000) / ms);
    await journal(all.journal, { program, folder, smoke });
  }
  return all;
}

/** Each group once its predecessor is written, as its effects need it. @param {Case} all @param {Omit<How, "rounds">} how */
async function journal(all, { program, folder, smoke }) {
  const entries = smoke ? 200 : 20_000;
  /** @type {[name: string, group: number, sync: number, share: number][]} */
  const ways = [
    ["one by one", 1, 0, 1],
    ["groups of 8", 8, 0, 1],
    ["groups of 32", 32, 0, 1],
    ["groups of 32, on the disk", 32, 1, 0.25],
  ];
  for (const [name, group, sync, share] of ways) {
    const file = path.join(folder, `${name}.sqlite`);
    const args = ["journal", file, group, Math.ceil(entries * share), sync].map(String);
    add(all, name, "entriesPerSecond", (await readJsonOutput(program, args)).perSecond);
    removeJournal(file);
  }
}

/** A single node at a time, in a small repository. @param {How} how */
async function starts({ folder, rounds, smoke }) {
  const repo = path.join(folder, "small");
  makeRepository(repo, 10);
  const home = await Home.make(path.join(folder, "home"));
  const count = smoke ? 2 : 10;
  const nodes = Array.from({ length: count }, (_, index) => ({
    ...{ id: `n${index}`, expectsNoChanges: true },
    work: { type: "process", executable: "date", args: ["+%s%N"] },
    dependencies: index > 0 ? [`n${index - 1}`] : [],
  }));
  const plan = { name: "chain", repo, maxParallel: 1, nodes };
  /** @type {Case} */
  const all = {};
  for (let round = 0; round < rounds; ++round) {
    const took = await home.untilStarted(await home.run(plan));
    add(all, "tap, plan run", "ms", spread(took).median);
    /** @type {number[]} */
    const late = [];
    const engine = new PollingEngine(readPlan(JSON.stringify(plan)), path.join(folder, "chain"));
    await engine.run(({ readyAt }) => {
      if (readyAt !== undefined) late.push(performance.now() - readyAt);
      return ended("true");
    });
    add(all, "js, polling", "ms", spread(late).median);
  }
  return all;
}

/** @param {{id: string, dependencies: string[]}[]} nodes */
const makefile = (nodes) =>
  [
    `all: ${nodes.map(({ id }) => id).join(" ")}`,
    ...nodes.map(({ id, dependencies }) => `${id}: ${dependencies.join(" ")}\n\ttrue`),
    "",
  ].join("\n");

/** Empty programs, in their order; no repository. @param {How} how */
async function scheduling({ folder, rounds, smoke }) {
  const nodes = Array.from({ length: smoke ? 10 : 200 }, (_, index) => ({
    ...{ id: `n${index}`, work: { type: "process", executable: "true" } },
    dependencies: [...new Set([7, 3, 2].map((part) => `n${Math.floor(index / part) - 1}`))].filter(
      (id) => id !== "n-1",
    ),
  }));
  const plan = { name: "true", maxParallel: WIDE, nodes };
  fs.writeFileSync(path.join(folder, "Makefile"), makefile(nodes));
  /** @type {Record<string, () => Promise<void>>} */
  const rivals = {
    tap: () => runScheduled(plan, path.join(folder, "true.sqlite"), () => ended("true")),
    "make -j8": () => ended("make", ["--silent", `--jobs=${WIDE}`], folder),
    "js, polling": () =>
      new PollingEngine(readPlan(JSON.stringify(plan)), path.join(folder, "true.json")).run(() =>
        ended("true"),
      ),
  };
  /** @type {Case} */
  const all = {};
  for (let round = 0; round < rounds; ++round) {
    for (const [rival, work] of Object.entries(rivals)) {
      const began = performance.now();
      await work();
      add(all, rival, "ms", performance.now() - began);
    }
    removeJournal(path.join(folder, "true.sqlite"));
  }
  return all;
}

/** The heap before the first node and after the last. @param {How} how */
async function memory({ program, smoke }) {
  const nodes = String(smoke ? 100 : 10_000);
  const at = async (/** @type {string} */ done) => {
    const { bytes } = await readJsonOutput(program, ["memory", nodes, done]);
    return { bytes: [bytes] };
  };
  return { "at its beginning": await at("0"), "at its end": await at(nodes) };
}

/**
 * @param {string} program bench_plans @param {{rounds: number, smoke: boolean}} how
 * @returns {Promise<import("./report.mjs").All>}
 */
export async function plans(program, { rounds, smoke }) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tap-plans-"));
  const how = { program, folder, rounds, smoke };
  try {
    const { steps: ofSteps, journal: ofJournal } = await steps(how);
    return {
      "reading a plan": await reading(how),
      "a step of a plan": ofSteps,
      "journal of plans": ofJournal,
      "ready to started": await starts(how),
      "200 programs": await scheduling(how),
      "100 nodes in worktrees": await worktrees(smoke ? SMALL : { rounds: Math.min(rounds, 3) }),
      "memory of a plan": await memory(how),
    };
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const { values } = parseArgs({ options: { smoke: { type: "boolean", default: false } } });
  await buildCore(["bench_plans"]);
  const program = path.join(nativeFolder, "bench_plans");
  const { smoke } = values;
  const { table } = await import("./report.mjs");
  printLine(table(await plans(program, { rounds: smoke ? 1 : 5, smoke }), []));
}
