// Records the output of real tools for test/recordings/tools: node test/recordings/record.mjs <folder> [name…].
// The folder has node_modules with the tools; the others are found by PATH. Names are those in cases.mjs.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { CASES } from "./cases.mjs";

/** A watcher that was silent for so long has finished its cycle (ms). */
const QUIET = 2500;
const MAX_CYCLE = 60_000;
const MAX_BYTES = 12 * 1024;
const TARGET = fileURLToPath(new URL("tools/", import.meta.url));

/** @param {string} folder @param {Record<string, string | null>} files null: it is removed */
function write(folder, files) {
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(folder, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    if (content === null) fs.rmSync(file);
    else fs.writeFileSync(file, content);
  }
}

class Recorder {
  /** @type {Record<string, unknown>[]} */
  events = [];
  #from = performance.now();
  #last = this.#from;

  /** @param {[string, string][]} places @param {Record<string, string>} env @param {string} cwd */
  constructor(places, env, cwd) {
    this.places = places;
    this.how = { cwd, env, detached: true };
    this.quietly = /** @type {const} */ ({ cwd, env, stdio: "ignore" });
  }

  /** @param {Record<string, unknown>} event */
  add(event) {
    this.events.push({ t: Math.round(performance.now() - this.#from), ...event });
  }

  /** @param {string} text */
  #generalize(text) {
    return this.places.reduce((all, [from, to]) => all.replaceAll(from, to), text);
  }

  /** @param {string} command */
  start(command) {
    const child = spawn("sh", ["-c", command], { ...this.how, stdio: ["pipe", "pipe", "pipe"] });
    for (const [s, stream] of [
      ["o", child.stdout],
      ["e", child.stderr],
    ])
      stream.setEncoding("utf8").on("data", (/** @type {string} */ text) => {
        this.#last = performance.now();
        const d = this.#generalize(text);
        const before = this.events.at(-1);
        const isNext = before?.s === s && performance.now() - this.#from - Number(before.t) < 5;
        if (isNext) before.d = `${before.d}${d}`;
        else this.add({ s, d });
      });
    this.#last = performance.now();
    return child;
  }

  /** @param {string} command @param {number} [quiet] */
  async watch(command, quiet = QUIET) {
    const child = this.start(command);
    const closed = once(child, "close");
    const settle = async () => {
      const began = performance.now();
      let events = this.events.length;
      while (performance.now() - began < MAX_CYCLE && child.exitCode === null) {
        const isNew = this.events.length > events;
        if (isNew && performance.now() - this.#last > quiet) return;
        if (performance.now() - began > 4 * quiet && !isNew) events = -1;
        await sleep(50);
      }
    };
    const stop = async () => {
      if (child.exitCode === null) process.kill(-(child.pid ?? 0), "SIGTERM");
      const [code, signal] = await closed;
      this.add({ exit: code ?? signal });
    };
    return { settle, stop };
  }

  /** @param {string} command */
  async run(command) {
    const child = this.start(command);
    child.stdin.end();
    const [code, signal] = await once(child, "close");
    this.add({ exit: code ?? signal });
  }
}

/** @param {string} tools folder @param {import("./cases.mjs").Case} project */
async function record(tools, project) {
  const { name, command, version, files, steps, watches = false, env = {}, url = "" } = project;
  const folder = path.join(tools, "projects", name);
  fs.rmSync(folder, { recursive: true, force: true });
  write(folder, files);
  const places = /** @type {[string, string][]} */ ([
    [folder, "<project>"],
    [path.join(tools, "node_modules"), "<project>/node_modules"],
    [path.join("..", "..", "node_modules"), "node_modules"],
    [tools, "<tools>"],
  ]);
  const PATH = `${path.join(tools, "node_modules/.bin")}:${process.env.PATH}`;
  const home = { HOME: process.env.HOME ?? "", TMPDIR: "/tmp", LANG: "C.UTF-8" };
  const environment = { ...home, TZ: "UTC", TERM: "xterm", PATH, ...env };
  const recorder = new Recorder(places, environment, folder);
  const versions = execFileSync("sh", ["-c", version], { env: environment, encoding: "utf8" });
  if (watches) {
    const { settle, stop } = await recorder.watch(command, project.quiet);
    await settle();
    for (const [step, change] of steps) {
      recorder.add({ step });
      write(folder, change);
      if (url) await fetch(url).catch(() => undefined);
      await settle();
    }
    await stop();
  } else {
    for (const [step, change] of steps) {
      recorder.add({ step });
      write(folder, change);
      if (project.prepare) execFileSync("sh", ["-c", project.prepare], recorder.quietly);
      await recorder.run(command);
    }
  }
  const [line] = versions.trim().split("\n");
  const head = { recording: 1, name, cmd: command, cwd: "<project>", pty: false, version: line };
  const text = [head, ...recorder.events].map((event) => `${JSON.stringify(event)}\n`).join("");
  fs.mkdirSync(TARGET, { recursive: true });
  fs.writeFileSync(path.join(TARGET, `${name}.jsonl`), text);
  const size = Buffer.byteLength(text);
  console.log(`${name}: ${size} bytes${size > MAX_BYTES ? `, more than ${MAX_BYTES}` : ""}`);
}

const [tools, ...names] = process.argv.slice(2);
if (!tools) throw new Error("node test/recordings/record.mjs <folder with node_modules> [name…]");
for (const one of CASES) {
  if (names.length === 0 || names.includes(one.name)) await record(path.resolve(tools), one);
}
