// The processes whose current folder is in a folder.

import fs from "node:fs/promises";
import { isInside } from "../lib/paths.mjs";
import { visible } from "../lib/visible.mjs";
import { runProgram } from "../process/run.mjs";

const LSOF_MS = 10_000;
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;
const MAX_NAME = 40;

/** @typedef {{pid: number, parent: number, name: string}} FolderProcess */

/** @param {string} pid @param {string} folder @returns {Promise<FolderProcess[]>} */
async function readProcess(pid, folder) {
  try {
    if (!isInside(await fs.readlink(`/proc/${pid}/cwd`), folder)) return [];
    // pid (name) state parent …; a name may have any character.
    const stat = await fs.readFile(`/proc/${pid}/stat`, "utf8");
    const end = stat.lastIndexOf(")");
    const name = visible(stat.slice(stat.indexOf("(") + 1, end)).slice(0, MAX_NAME);
    return [{ pid: Number(pid), parent: Number(stat.slice(end + 2).split(" ")[1]), name }];
  } catch {
    return []; // it has ended, or belongs to a different user
  }
}

/** @param {string} output of lsof -F pcRn @param {string} folder @returns {FolderProcess[]} */
export function readLsof(output, folder) {
  /** @type {FolderProcess[]} */
  const found = [];
  let [pid, parent, name] = [0, 0, ""];
  for (const line of output.split("\n")) {
    const value = line.slice(1);
    if (line[0] === "p") pid = Number(value);
    if (line[0] === "R") parent = Number(value);
    if (line[0] === "c") name = visible(value).slice(0, MAX_NAME);
    if (line[0] === "n" && isInside(value, folder)) found.push({ pid, parent, name });
  }
  return found;
}

/** @param {string} folder @returns {Promise<FolderProcess[] | undefined>} */
async function runLsof(folder) {
  const limits = { ms: LSOF_MS, maxBytes: MAX_OUTPUT_BYTES };
  const { stdout, code } = await runProgram("lsof", ["-a", "-d", "cwd", "-FpcRn"], limits);
  return stdout === "" && code !== 0 ? undefined : readLsof(stdout, folder);
}

/**
 * @param {string} folder without links
 * @returns {Promise<FolderProcess[] | undefined>} undefined: not known on this system
 */
export async function processesUsing(folder) {
  if (process.platform === "win32") return undefined;
  if (process.platform !== "linux") return runLsof(folder);
  const pids = (await fs.readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(pids.map((pid) => readProcess(pid, folder)));
  return found.flat();
}
