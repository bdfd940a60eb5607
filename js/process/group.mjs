// Processes with all that they start. On POSIX each leads a group of its own; on Windows the tree is
// ended by the system's own command. A process that leaves its group (setsid) is beyond reach.

import { spawnSync } from "node:child_process";
import { discharge, entrust } from "./reaper.mjs";

/** @typedef {(pid: number, signal: NodeJS.Signals | 0) => boolean} SignalGroup */

const hasGroups = process.platform !== "win32";

/** For spawn: whether a child leads a group of its own. */
export const ownGroup = hasGroups;

/**
 * Signals everything in the group. 0 only looks.
 * @param {number} pid of the process that leads it @param {NodeJS.Signals | 0} signal
 * @returns {boolean} whether there was anything left of it
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
const guarded = new Set();

function killGuarded() {
  for (const pid of guarded) signalGroup(pid, "SIGKILL");
}

/** Until released, the group ends with this process, however that ends. @param {number} pid that leads it */
export function guard(pid) {
  if (guarded.size === 0) process.on("exit", killGuarded);
  guarded.add(pid);
  if (hasGroups) entrust(pid);
}

/** Nothing of the group is left. @param {number} pid */
export function release(pid) {
  if (!guarded.delete(pid)) return;
  if (guarded.size === 0) process.off("exit", killGuarded);
  if (hasGroups) discharge(pid);
}
