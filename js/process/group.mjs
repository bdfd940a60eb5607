// Processes with their children. On POSIX each leads its own process group; on Windows a system command
// ends the tree. A process that leaves its group (setsid) cannot be reached.

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { registerGroup, TERM_MS, unregisterGroup } from "./reaper.mjs";

/** @typedef {(pid: number, signal: NodeJS.Signals | 0) => boolean} SignalGroup */

const hasGroups = process.platform !== "win32";

/** For spawn: whether a child leads its own group. */
export const ownGroup = hasGroups;

/**
 * Signals all processes in the group. Signal 0 only checks.
 * @param {number} pid of the process that leads it @param {NodeJS.Signals | 0} signal
 * @returns {boolean} whether it had processes
 */
export function signalGroup(pid, signal) {
  try {
    if (hasGroups) return process.kill(-pid, signal);
    if (signal === 0) return process.kill(pid, 0);
    spawnSync("taskkill", ["/pid", String(pid), "/t", "/f"], { windowsHide: true });
    return true;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === "EPERM";
  }
}

/** @type {Set<number>} */
const guardedGroups = new Set();

function killGuarded() {
  for (const pid of guardedGroups) signalGroup(pid, "SIGKILL");
}

/** Ends the group with this process, in any case, until it is released. @param {number} pid that leads it */
export function guard(pid) {
  if (guardedGroups.size === 0) process.on("exit", killGuarded);
  guardedGroups.add(pid);
  if (hasGroups) registerGroup(pid);
}

/** The group has no more processes. @param {number} pid */
export function release(pid) {
  if (!guardedGroups.delete(pid)) return;
  if (guardedGroups.size === 0) process.off("exit", killGuarded);
  if (hasGroups) unregisterGroup(pid);
}

// Ends a process with its children.

const FIRST_POLL_MS = 1;
const POLL_MS = 25;
/** Most groups end sooner, and listing all processes costs milliseconds. */
const ZOMBIES_FROM_MS = 8;
/** After SIGKILL only zombies can be left. */
const ZOMBIE_MS = 1000;

/**
 * An ended process stays a zombie until its parent waits for it. The leader's parent is this process. The parent of a
 * sandbox's leftovers is the system, which may take a while, so zombies do not count.
 * @param {number} pid of the process that leads the group @returns {boolean} whether a process of it still runs
 */
function runsInGroup(pid) {
  if (process.platform !== "linux") return true;
  return fs.readdirSync("/proc").some((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      const stat = fs.readFileSync(`/proc/${name}/stat`, "utf8");
      const [state, , group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      const isOver = name !== String(pid) && (state === "Z" || state === "X");
      return Number(group) === pid && !isOver;
    } catch {
      return false; // it has ended
    }
  });
}

/**
 * Sends SIGTERM to the group of a guarded process, then SIGKILL to the rest.
 * @param {number} pid that leads it
 * @returns {Promise<void>} when no process of it is left
 */
export async function endGroup(pid) {
  const begun = performance.now();
  signalGroup(pid, "SIGTERM");
  let killed = false;
  for (let wait = FIRST_POLL_MS; signalGroup(pid, 0); wait = Math.min(2 * wait, POLL_MS)) {
    if (wait >= ZOMBIES_FROM_MS && !runsInGroup(pid)) break;
    await new Promise((resolve) => setTimeout(resolve, wait));
    if (!killed && performance.now() - begun >= TERM_MS) {
      killed = true;
      signalGroup(pid, "SIGKILL");
    } else if (killed && performance.now() - begun >= TERM_MS + ZOMBIE_MS) break;
  }
  release(pid);
}

// Processes that have left their group are found by their environment, on Linux only. On other systems they run to
// their end.

/**
 * @param {string} entry of the environment, NAME=value
 * @param {(variables: Record<string, string>) => boolean} [belongs] a condition for its variables
 * @returns {number[]} pids
 */
export function findByEnvironment(entry, belongs = () => true) {
  if (process.platform !== "linux") return [];
  const pids = fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => {
    if (pid === process.pid) return false;
    try {
      const entries = fs.readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
      if (!entries.includes(entry)) return false;
      const stat = fs.readFileSync(`/proc/${pid}/stat`, "latin1");
      if (/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2))) return false;
      const toPair = (/** @type {string} */ line) => [
        line.split("=", 1)[0],
        line.slice(line.indexOf("=") + 1),
      ];
      return belongs(Object.fromEntries(entries.map(toPair)));
    } catch {
      return false; // it has ended, or is not ours
    }
  });
}

/** SIGTERM to each process that is found, then SIGKILL. @param {() => number[]} find pids */
export async function endFound(find) {
  const asked = new Set();
  const begun = performance.now();
  for (let left = find(); left.length > 0; left = find()) {
    const late = performance.now() - begun;
    if (late > 2 * TERM_MS) return;
    const signal = late > TERM_MS ? "SIGKILL" : "SIGTERM";
    for (const pid of left.filter((other) => !asked.has(`${other} ${signal}`))) {
      asked.add(`${pid} ${signal}`);
      try {
        process.kill(pid, signal);
      } catch {
        // it has ended
      }
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
