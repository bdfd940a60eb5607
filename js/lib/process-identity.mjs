// Identifies processes. Pids are reused, and a different PID namespace (a container) has separate pids,
// so a pid in a file or a message is not enough to signal a process.

import { spawnSync } from "node:child_process";
import fs from "node:fs";

/** A process: its pid and its start time. @typedef {{pid: number, start: string}} Identity */

/** Whether /proc is that of this process's own PID namespace. */
function hasOwnProc() {
  try {
    return fs.readlinkSync("/proc/self") === String(process.pid);
  } catch {
    return false;
  }
}

/** @param {number} pid @returns {string[]} from the third field of proc(5) on; empty without such a process */
function readProcStat(pid) {
  try {
    if (!hasOwnProc()) return [];
    const stat = fs.readFileSync(`/proc/${pid}/stat`, "latin1");
    // The second field is the name, which may contain anything.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return [];
  }
}

/** @param {number} pid @param {string} field */
function ps(pid, field) {
  const { stdout } = spawnSync("ps", ["-o", `${field}=`, "-p", String(pid)], {
    encoding: "utf8",
    env: { ...process.env, LC_ALL: "C", TZ: "UTC" },
    timeout: 5000,
  });
  return (stdout ?? "").trim().replace(/\s+/g, "_");
}

/** @param {number} pid @returns {string} its start time, as a word; "" if unknown */
export function readStartTime(pid) {
  if (process.platform === "win32") return "";
  return process.platform === "linux" ? (readProcStat(pid)[19] ?? "") : ps(pid, "lstart");
}

/** @param {number} pid @returns {string} the processor time it has used, only for comparison; "" if unknown */
export function readProcessorTime(pid) {
  if (process.platform === "win32") return "";
  if (process.platform !== "linux") return ps(pid, "time");
  const [user, system] = readProcStat(pid).slice(11, 13).map(Number);
  return system === undefined ? "" : String(user + system);
}

/** @param {Identity} process @returns {boolean} whether that pid still means the same process */
export const isSameProcess = ({ pid, start }) => start !== "" && readStartTime(pid) === start;
