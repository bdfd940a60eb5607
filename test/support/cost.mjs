// The CPU time of a process, whatever runs on the machine.

import fs from "node:fs";

/** @returns {number} CPU time of this process until now, its threads included, in ms */
export function cpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

const TICK_MS = 10;

/** @param {number} pid @returns {number} CPU time of that process until now, its threads included, in ms; on Linux */
export function processCpuMs(pid) {
  const [, fields] = fs.readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
  const [user, system] = fields.split(" ").slice(11, 13).map(Number);
  return (user + system) * TICK_MS;
}
