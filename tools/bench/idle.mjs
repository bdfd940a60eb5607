// node tools/bench/idle.mjs [module …]: the memory of an idle host beyond that of an idle Node.js, and
// of a Node.js that has imported only a module of the host. Medians of five.

import { spawn } from "node:child_process";
import path from "node:path";
import { root, printLine } from "../commands.mjs";
import { hostMemory, readMemory } from "./memory.mjs";
import { Subject } from "./processes.mjs";
import { spread } from "./statistics.mjs";

const ROUNDS = 5;
const MODULES = [
  "jsonc-parser",
  ...["lib/addon", "lib/log", "gateway-host/gateway-host", "feature-host/installation"].map(
    (name) => path.join(root, "js", `${name}.mjs`),
  ),
];

/** @param {string[]} modules @returns {Promise<import("./memory.mjs").Memory>} */
async function memoryWith(modules) {
  const imports = modules.map((name) => `await import(${JSON.stringify(name)});`);
  const code = [...imports, "setInterval(() => {}, 1e6)"].join("\n");
  const args = ["--input-type=module", "-e", code];
  const child = spawn(process.execPath, args, { stdio: "ignore", cwd: root });
  await new Promise((resolve) => setTimeout(resolve, 2000));
  const memory = readMemory(Number(child.pid));
  child.kill();
  return memory;
}

async function hostOnce() {
  const subject = await Subject.start("tap detached");
  const memory = await hostMemory(subject);
  await subject.close();
  return memory;
}

/** @param {() => Promise<import("./memory.mjs").Memory>} measure */
async function medians(measure) {
  const all = [];
  for (let round = 0; round < ROUNDS; ++round) all.push(await measure());
  return {
    bytes: spread(all.map(({ bytes }) => bytes)).median,
    privateBytes: spread(all.map(({ privateBytes }) => privateBytes)).median,
  };
}

/** @param {string} title @param {import("./memory.mjs").Memory} memory @param {import("./memory.mjs").Memory} [than] */
function show(title, { bytes, privateBytes }, than = { bytes: 0, privateBytes: 0 }) {
  const kb = (/** @type {number} */ more) => String(Math.round(more / 1024)).padStart(7);
  printLine(
    `${kb(bytes - than.bytes)} KB, private ${kb(privateBytes - than.privateBytes)} KB: ${title}`,
  );
}

show("the idle host", await medians(hostOnce));
const bare = await medians(() => memoryWith([]));
const named = process.argv.slice(2);
for (const name of named.length > 0 ? named : MODULES) {
  show(name.replace(`${root}/`, ""), await medians(() => memoryWith([name])), bare);
}
