// A provider that is developed, as a process of its own beside a test gateway.

import { spawn } from "node:child_process";
import { once } from "node:events";

/** @typedef {import("./testing.mjs").TestTap} TestTap */

/** For a provider to say goodbye. */
const FAREWELL_MS = 3_000;

/**
 * @param {TestTap} tap @param {string[]} command of a provider @param {(text: string) => void} say
 * @param {"inherit" | number} [output] where its stdout goes
 */
export function startProvider(tap, [program, ...args], say, output = "inherit") {
  const child = spawn(program, args, {
    env: { ...process.env, ...tap.env },
    stdio: ["ignore", output, "inherit"],
  });
  child.once("error", (error) => say(`the provider does not start: ${error.message}`));
  child.once("exit", (code, signal) => say(`the provider has ended (${signal ?? code})`));
  return child;
}

/** @param {import("node:child_process").ChildProcess} child one that does not listen is killed */
export async function endProvider(child) {
  child.removeAllListeners("exit");
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill();
  const timer = setTimeout(() => child.kill("SIGKILL"), FAREWELL_MS);
  await exited;
  clearTimeout(timer);
}
