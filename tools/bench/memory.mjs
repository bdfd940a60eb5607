// Memory: of the host and of a bare Node.js, and of a provider as a heap profiler counts it.

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { run } from "../commands.mjs";

/** @typedef {{bytes: number, privateBytes: number}} Memory resident; and the part that no file backs */

/** @param {number} pid @returns {Memory} */
export function readMemory(pid) {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const of = (/** @type {string} */ key) =>
    Number(new RegExp(`${key}:\\s+(\\d+)`).exec(status)?.[1]) * 1024;
  return { bytes: of("VmRSS"), privateBytes: of("RssAnon") };
}

/** The memory of an idle Node.js. @returns {Promise<Memory>} */
export async function bareMemory() {
  const bare = spawn(process.execPath, ["-e", "setInterval(() => {}, 1e6)"], { stdio: "ignore" });
  await new Promise((resolve) => setTimeout(resolve, 2000));
  const memory = readMemory(Number(bare.pid));
  bare.kill();
  return memory;
}

/**
 * The memory of an idle host beyond that of an idle Node.js.
 * @param {import("./processes.mjs").Subject} detached @returns {Promise<Memory>}
 */
export async function hostMemory(detached) {
  const ofBare = await bareMemory();
  const ofHost = await detached.ask("memory");
  return {
    bytes: ofHost.bytes - ofBare.bytes,
    privateBytes: ofHost.privateBytes - ofBare.privateBytes,
  };
}

/** The last count of massif: the heap of a program that ends without freeing its memory. */
async function measureHeap(program, providers, folder) {
  const out = path.join(folder, `massif.${providers}`);
  const tool = ["--tool=massif", "--stacks=no", `--massif-out-file=${out}`];
  await run("valgrind", [...tool, program, String(providers)], { quiet: true });
  const text = readFileSync(out, "utf8");
  const last = (/** @type {string} */ key) =>
    Number([...text.matchAll(new RegExp(`^${key}=(\\d+)$`, "gm"))].at(-1)?.[1]);
  return last("mem_heap_B") + last("mem_heap_extra_B");
}

/** The memory of a provider: a hundredth of the cost of a hundred. @param {string} program */
export async function providerMemory(program) {
  const folder = mkdtempSync(path.join(os.tmpdir(), "tap-massif-"));
  try {
    const few = await measureHeap(program, 20, folder);
    const many = await measureHeap(program, 120, folder);
    return (many - few) / 100;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
