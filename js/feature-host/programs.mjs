// Programs that features start: each in a process group of its own, with a clean environment, and ended with its
// feature, its caller or this process, however that ends (js/process/reaper.mjs).

import { spawn } from "node:child_process";
import path from "node:path";
import { endGroup, guard, ownGroup } from "../process/group.mjs";

/** From SIGTERM to SIGKILL. */
const TERM_MS = 3000;
const POLL_MS = 25;
/** To read the last output. */
const PIPES_MS = 250;
const MAX_OUTPUT = 1024 * 1024;
/** What a program gets of this process's environment. */
const INHERITED = /^(PATH|HOME|USERPROFILE|SystemRoot|LANG|TMPDIR|TEMP|TMP)$/i;
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/**
 * @typedef {object} Program
 * @property {string} command
 * @property {string[]} [args]
 * @property {string} cwd absolute
 * @property {Record<string, string>} [env] besides PATH and the like
 * @property {string} [traceparent] of the call for which it runs
 * @property {AbortSignal} [signal] ends it
 *
 * @typedef {{code: number | null, signal: string | null, stdout: string, stderr: string, cut: boolean}} ProgramResult
 */

/**
 * What a program sees: PATH and the like, and what it is given.
 * @param {{env?: Record<string, string>, path?: string, traceparent?: string}} program
 * @param {NodeJS.ProcessEnv} around of this process
 * @returns {Record<string, string | undefined>}
 */
export function programEnvironment({ env = {}, path: search, traceparent }, around) {
  const own = Object.entries(around).filter(([name]) => INHERITED.test(name));
  const trace = traceparent !== undefined && TRACEPARENT.test(traceparent);
  const found = search === undefined ? {} : { PATH: search };
  const given = { ...found, ...env, ...(trace && { TRACEPARENT: traceparent }) };
  return { ...Object.fromEntries(own), ...given };
}

/** @param {import("node:stream").Readable | null} stream */
function collectOutput(stream) {
  const seen = { text: "", cut: false };
  stream?.setEncoding("utf8").on("data", (/** @type {string} */ piece) => {
    const room = MAX_OUTPUT - seen.text.length;
    seen.cut ||= piece.length > room;
    seen.text += piece.slice(0, room);
  });
  return seen;
}

export class Programs {
  /** The groups that run, and how each is ended. @type {Map<number, () => Promise<void>>} */
  #running = new Map();
  #env;
  #closed = false;

  /** @param {NodeJS.ProcessEnv} env of this process */
  constructor(env) {
    this.#env = env;
  }

  /** @param {Program} program @returns {Promise<ProgramResult>} rejected where it cannot be started */
  run(program) {
    const { command, args = [], cwd, signal } = program;
    if (this.#closed) return Promise.reject(new Error("the feature has ended"));
    if (typeof command !== "string" || !Array.isArray(args)) {
      throw new TypeError("expected a command and its arguments");
    }
    if (typeof cwd !== "string" || !path.isAbsolute(cwd)) {
      throw new TypeError("cwd: expected an absolute path");
    }
    if (signal?.aborted) return Promise.reject(new Error("it was cancelled"));
    return new Promise((resolve, reject) => {
      const child = spawn(command, args, {
        cwd,
        env: programEnvironment(program, this.#env),
        detached: ownGroup,
        stdio: ["ignore", "pipe", "pipe"],
        windowsHide: true,
      });
      child.on("error", reject);
      const { pid } = child;
      if (pid === undefined) return;
      const [out, err] = [collectOutput(child.stdout), collectOutput(child.stderr)];
      const end = this.#track(pid, child);
      const onAbort = () => void end();
      signal?.addEventListener("abort", onAbort, { once: true });
      child.on("close", (code, ended) => {
        signal?.removeEventListener("abort", onAbort);
        resolve({
          code,
          signal: ended,
          stdout: out.text,
          stderr: err.text,
          cut: out.cut || err.cut,
        });
      });
    });
  }

  /** @param {number} pid @param {import("node:child_process").ChildProcess} child @returns {() => Promise<void>} how it is ended */
  #track(pid, child) {
    guard(pid);
    /** @type {Promise<void> | undefined} */
    let ending;
    const end = () => (ending ??= this.#end(pid, child));
    this.#running.set(pid, end);
    child.on("exit", () => void end()); // what it has started ends, too
    return end;
  }

  /** @param {number} pid @param {import("node:child_process").ChildProcess} child */
  async #end(pid, child) {
    await endGroup(pid, TERM_MS);
    this.#running.delete(pid);
    // What has left its group may hold the pipes open.
    for (let waited = 0; waited < PIPES_MS && !child.stdout?.closed; waited += POLL_MS) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    child.stdout?.destroy();
    child.stderr?.destroy();
  }

  /** @returns {Promise<number>} how many had to be ended, once nothing of them is left */
  async endAll() {
    this.#closed = true;
    const ends = [...this.#running.values()];
    await Promise.all(ends.map((end) => end()));
    return ends.length;
  }
}
