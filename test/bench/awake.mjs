// Keeps the processors awake. One that sleeps takes tens of microseconds to come back, more on a
// virtual machine, and whether it sleeps depends on how a rival waits: two threads that block in
// epoll_wait wake each other from sleep at every message, a busy process never sleeps.

import { spawn } from "node:child_process";
import os from "node:os";
import process from "node:process";

/**
 * One process for each core that runs where nobody else wants to: the kernel's class SCHED_IDLE
 * gives way at once.
 * @returns {() => void} ends them
 */
export function keepAwake() {
  const forever = [process.execPath, "-e", "for (;;);"];
  const children = os
    .cpus()
    .map(() => spawn("chrt", ["--idle", "0", ...forever], { stdio: "ignore" }));
  for (const child of children) {
    child.on("error", (error) => {
      throw new Error(`chrt (package util-linux) is needed: ${error.message}`);
    });
  }
  const end = () => children.forEach((child) => child.kill("SIGKILL"));
  process.on("exit", end);
  return end;
}
