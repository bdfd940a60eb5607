// The cores: kept awake, and chosen for the processes that take turns on them.
//
// A core that sleeps takes tens of microseconds to come back, more on a virtual machine, and whether it
// sleeps depends on how a rival waits: two threads that block in epoll_wait wake each other from sleep
// at every message, a busy process never sleeps. And a message to a second core interrupts that core,
// which a virtual machine pays dearly for: where the kernel puts caller and provider decides more than
// their code does.

import { execFileSync, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import os from "node:os";
import process from "node:process";

/**
 * Does that while every core has a process of the kernel's class SCHED_IDLE, which runs only where no
 * other process wants to. Only for a single call at a time: where several processes share a core, even
 * that class has its turn now and then, and a turn is 4 ms.
 * @template T @param {() => Promise<T>} work @returns {Promise<T>}
 */
export async function keptAwake(work) {
  const forever = ["--idle", "0", "sh", "-c", "while :; do :; done"];
  const children = os.cpus().map(() => spawn("chrt", forever, { stdio: "ignore" }));
  for (const child of children) {
    child.on("error", (error) => {
      throw new Error(`chrt (package util-linux) is needed: ${error.message}`);
    });
  }
  const end = () => children.forEach((child) => child.kill("SIGKILL"));
  process.once("exit", end);
  try {
    await new Promise((resolve) => setTimeout(resolve, 100));
    return await work();
  } finally {
    end();
    process.off("exit", end);
  }
}

/** Those that this process may use, as taskset writes them. */
export const allowedCores = () =>
  /Cpus_allowed_list:\s*(\S+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "0";

/** @returns {{first: string, last: string}} the same where the machine has a single core */
export function twoCores() {
  const numbers = allowedCores().split(/[,-]/);
  return { first: numbers[0], last: numbers[numbers.length - 1] };
}

/** All threads of these processes. @param {number[]} pids @param {string} cores as taskset takes them */
export function place(pids, cores) {
  for (const pid of pids) {
    execFileSync("taskset", ["-apc", cores, String(pid)], { stdio: "ignore" });
  }
}
