// A provider in development, next to a test gateway: its process and all processes that it starts (`npm
// start` has the provider as a child), in a separate group. A Ctrl-C reaches this process only, which
// ends the group cleanly.

import { spawn } from "node:child_process";
import { endGroup, guard, ownGroup, release, signalGroup } from "../process/group.mjs";

/** @typedef {import("node:child_process").ChildProcess} ChildProcess */

const SIGNALS = /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"]);

/** Groups that may have processes. A pid can be reused after its group has ended. @type {Set<number>} */
const groups = new Set();

/** @param {number} pid of the process that led it */
function forget(pid) {
  groups.delete(pid);
  release(pid);
}

/**
 * @param {{env: Record<string, string>}} tap @param {string[]} command of a provider
 * @param {(text: string) => void} say
 * @param {"inherit" | "pipe"} [output] for stdout and stderr
 */
export function startProvider(tap, [program, ...args], say, output = "inherit") {
  const child = spawn(program, args, {
    env: { ...process.env, ...tap.env },
    stdio: ["ignore", output, output],
    detached: ownGroup,
  });
  const { pid } = child;
  if (pid !== undefined) {
    groups.add(pid);
    guard(pid);
    // Not "exit", which endProvider uses.
    child.once("close", () => signalGroup(pid, 0) || forget(pid));
  }
  child.once("error", (error) => say(`the provider does not start: ${error.message}`));
  child.once("exit", (code, signal) => say(`the provider has ended (${signal ?? code})`));
  return child;
}

/** Ends the provider, and kills it if it ignores the signal. @param {ChildProcess} child */
export async function endProvider(child) {
  child.removeAllListeners("exit");
  const { pid } = child;
  if (pid === undefined || !groups.has(pid)) return;
  const carryOn = () => {}; // a second Ctrl-C, or the same signal from npm, must not interrupt the end
  for (const signal of SIGNALS) process.on(signal, carryOn);
  try {
    await endGroup(pid);
  } finally {
    for (const signal of SIGNALS) process.off(signal, carryOn);
    forget(pid);
  }
}
