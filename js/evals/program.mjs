// A program with all that it starts: a process group that ends when it is to, or with this process.

import { spawn } from "node:child_process";
import { sleep } from "../lib/timers.mjs";
import { guard, ownGroup, release, signalGroup } from "../process/group.mjs";

/** From SIGTERM to SIGKILL. */
const TERM_MS = 5000;
/** After SIGKILL: a group of zombies that nobody reaps is not waited for. */
const KILL_MS = 1000;
const POLL_MS = 25;
/** For output that is still in the pipe after the end. */
const PIPE_MS = 500;

/** @typedef {{code: number | null, signal: NodeJS.Signals | null, error?: Error}} End */

export class Program {
  /** Settles when the program itself has ended. Never rejects. @type {Promise<End>} */
  ended;
  #child;

  /**
   * @param {string} command @param {string[]} args
   * @param {{cwd: string, env: NodeJS.ProcessEnv, log: number, shell?: boolean, onOutput?: (text: string) => void}} options
   *   log: a descriptor that gets stderr, and stdout where nobody reads that
   */
  constructor(command, args, { cwd, env, log, shell = false, onOutput }) {
    const stdio = /** @type {const} */ (["ignore", onOutput ? "pipe" : log, log]);
    const child = spawn(command, args, { cwd, env, stdio: [...stdio], shell, detached: ownGroup });
    this.#child = child;
    if (child.pid !== undefined) guard(child.pid);
    const output = child.stdout;
    if (onOutput) output?.setEncoding("utf8").on("data", onOutput);
    const read = output ? new Promise((resolve) => output.once("close", resolve)) : undefined;
    this.ended = new Promise((resolve) => {
      child.once("error", (error) => resolve({ code: null, signal: null, error }));
      child.once("exit", async (code, signal) => {
        // Not "close": a detached child may hold the pipe open.
        await Promise.race([read, sleep(output ? PIPE_MS : 0)]);
        output?.destroy();
        resolve({ code, signal });
      });
    });
  }

  /**
   * Its end, or what comes first: the time is up, or the user has interrupted.
   * @param {number} ms @param {AbortSignal} ending @returns {Promise<End | "late" | "interrupted">}
   */
  async waitFor(ms, ending) {
    /** @type {(why: "late" | "interrupted") => void} */
    let stop = () => {};
    /** @type {Promise<"late" | "interrupted">} */
    const stopped = new Promise((resolve) => (stop = resolve));
    const timer = setTimeout(() => stop("late"), ms);
    const interrupt = () => stop("interrupted");
    ending.addEventListener("abort", interrupt);
    if (ending.aborted) interrupt();
    const first = await Promise.race([this.ended, stopped]);
    clearTimeout(timer);
    ending.removeEventListener("abort", interrupt);
    return first;
  }

  /** Ends the whole group. */
  async end() {
    const { pid } = this.#child;
    if (pid === undefined) return;
    const signals = /** @type {const} */ ([
      ["SIGTERM", TERM_MS],
      ["SIGKILL", KILL_MS],
    ]);
    for (const [signal, ms] of signals) {
      signalGroup(pid, signal);
      const until = performance.now() + ms;
      while (signalGroup(pid, 0) && performance.now() < until) await sleep(POLL_MS);
    }
    release(pid);
  }
}
