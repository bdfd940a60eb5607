// Ends the processes of a gateway that cannot end them itself: after SIGKILL a process runs no code. A shell
// (reaper.sh) waits at the end of a pipe that this process holds open. This process reports each process group that
// starts and ends. When the pipe closes, this process has ended, and the shell ends the remaining groups. It runs only
// while there is a group. On Windows the system ends a child with the process that started it.

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

/** @typedef {import("node:child_process").ChildProcess} ChildProcess */

/** From SIGTERM to SIGKILL, for all programs that tap ends. */
export const TERM_MS = 3000;
/** The shortest time between a start of the shell and a restart after it was killed. */
const RESTART_DELAY_MS = 1000;
const SCRIPT = fileURLToPath(new URL("reaper.sh", import.meta.url));

/** Groups that may have processes. @type {Set<number>} */
const groups = new Set();
/** @type {ChildProcess | undefined} */
let shell;

function start() {
  const startedAt = performance.now();
  const child = spawn("/bin/sh", [SCRIPT, String(TERM_MS / 100)], {
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
    detached: true, // a signal to this process and its group does not reach the shell
    stdio: ["pipe", "ignore", "ignore"],
  });
  shell = child;
  child.once("error", () => {}); // without /bin/sh the groups are not ended
  child.once("exit", () => {
    if (shell !== child) return;
    shell = undefined;
    const wait = Math.max(0, startedAt + RESTART_DELAY_MS - performance.now());
    setTimeout(() => shell ?? (groups.size > 0 && start()), wait).unref();
  });
  child.stdin?.on("error", () => {}); // "exit" reports the end
  child.unref();
  /** @type {import("node:net").Socket} */ (child.stdin).unref();
  for (const group of groups) writeLine(`+ ${group}`);
}

/** @param {string} line */
const writeLine = (line) => shell?.stdin?.write(`${line}\n`);

/** Ends the group if this process is killed. @param {number} group */
export function registerGroup(group) {
  groups.add(group);
  if (shell) writeLine(`+ ${group}`);
  else start();
}

/** The group has no more processes, and its pid may be reused. @param {number} group */
export function unregisterGroup(group) {
  if (!groups.delete(group)) return;
  writeLine(`- ${group}`);
  if (groups.size > 0) return;
  shell?.stdin?.end();
  shell = undefined;
}
