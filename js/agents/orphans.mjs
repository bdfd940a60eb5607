// Shells that a worker has left: the CLI gives each a session of its own, so that no signal to a group reaches them.
// They are found by their environment, on Linux only; elsewhere they are left to their end.

import fs from "node:fs";
import { isSameProcess, readStartTime } from "../lib/process-identity.mjs";
import { sleep } from "../lib/timers.mjs";
import { TERM_MS } from "../process/reaper.mjs";

const POLL_MS = 50;

/** Names this process, as TAP_WORKER_OWNER. */
export const ownerName = () => `${process.pid}:${readStartTime(process.pid)}`;

/** @param {string} pid @returns {Record<string, string> | undefined} of a worker, or of what it has started */
function workerEnvironment(pid) {
  try {
    const text = fs.readFileSync(`/proc/${pid}/environ`, "utf8");
    if (!text.includes("TAP_WORKER=1")) return undefined;
    const stat = fs.readFileSync(`/proc/${pid}/stat`, "latin1");
    if (/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2))) return undefined;
    return Object.fromEntries(
      text
        .split("\0")
        .map((entry) => [entry.split("=", 1)[0], entry.slice(entry.indexOf("=") + 1)]),
    );
  } catch {
    return undefined; // it has ended, or is not ours
  }
}

/** @param {(variables: Record<string, string>) => boolean} belongs @returns {number[]} pids */
function findProcesses(belongs) {
  if (process.platform !== "linux") return [];
  return fs
    .readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((name) => {
      const variables = workerEnvironment(name);
      return variables !== undefined && belongs(variables);
    })
    .map(Number);
}

/** @param {number} pid @param {NodeJS.Signals} signal */
function signalProcess(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch {
    // it has ended
  }
}

/** SIGTERM, then SIGKILL. @param {(variables: Record<string, string>) => boolean} belongs */
async function endProcesses(belongs) {
  const asked = new Set();
  const begun = performance.now();
  for (let left = findProcesses(belongs); left.length > 0; left = findProcesses(belongs)) {
    const late = performance.now() - begun;
    if (late > 2 * TERM_MS) return;
    const signal = late > TERM_MS ? "SIGKILL" : "SIGTERM";
    for (const pid of left.filter((one) => !asked.has(`${one} ${signal}`))) {
      asked.add(`${pid} ${signal}`);
      signalProcess(pid, signal);
    }
    await sleep(POLL_MS);
  }
}

/** What the session of a job has left. @param {string} sessionId */
export const endJobShells = (sessionId) =>
  endProcesses((variables) => variables.COPILOT_AGENT_SESSION_ID === sessionId);

/** What workers of processes that are gone have left. */
export const endOrphans = () =>
  endProcesses(({ TAP_WORKER_OWNER: owner = "" }) => {
    const [pid, start] = owner.split(":");
    return start !== undefined && start !== "" && !isSameProcess({ pid: Number(pid), start });
  });
