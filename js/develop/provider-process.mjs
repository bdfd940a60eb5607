// A provider in development, next to a test gateway: its process and all processes that it starts (`npm
// start` has the provider as a child), in a group of their own. A Ctrl-C reaches this process only, which
// ends the group in good order.

import { spawn } from "node:child_process";
import { endGroup, guard, ownGroup, release, signalGroup } from "../process/group.mjs";

/** @typedef {import("node:child_process").ChildProcess} ChildProcess */

const SIGNALS = /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"]);

/** Groups of which something is left: the number of one that is gone may be that of another. @type {Set<number>} */
const groups = new Set();

/** @param {number} pid of the process that led it */
function forget(pid) {
  groups.delete(pid);
  release(pid);
}

/**
 * @param {{env: Record<string, string>}} tap @param {string[]} command of a provider
 * @param {(text: string) => void} say
 * @param {"inherit" | "pipe"} [output] where stdout and stderr go
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
    // Not "exit", which the one who ends it takes for himself.
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
  const carryOn = () => {}; // one more Ctrl-C, or the same passed on by npm, must leave nothing behind
  for (const signal of SIGNALS) process.on(signal, carryOn);
  try {
    await endGroup(pid);
  } finally {
    for (const signal of SIGNALS) process.off(signal, carryOn);
    forget(pid);
  }
}
