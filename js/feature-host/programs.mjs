// Programs of features: each in its own process group, with a clean environment. They end with their
// feature, their caller or this process, in any case (js/process/reaper.mjs).

import path from "node:path";
import { runProgram } from "../process/run.mjs";

const MAX_OUTPUT_BYTES = 1024 * 1024;
/** The variables that a program inherits from this process. */
const INHERITED = /^(PATH|HOME|USERPROFILE|SystemRoot|LANG|TMPDIR|TEMP|TMP)$/i;
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/**
 * @typedef {object} Program
 * @property {string} command
 * @property {string[]} [args]
 * @property {string} cwd absolute
 * @property {Record<string, string>} [env] in addition to PATH and the like
 * @property {string} [traceparent] of the call for which it runs
 * @property {AbortSignal} [signal] ends it
 *
 * @typedef {{code: number | null, signal: string | null, stdout: string, stderr: string, cut: boolean}} ProgramResult
 */

/**
 * The environment of a program: PATH and the like, and its own variables.
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

export class Programs {
  /** @type {Set<Promise<unknown>>} */
  #running = new Set();
  #closing = new AbortController();
  #env;

  /** @param {NodeJS.ProcessEnv} env of this process */
  constructor(env) {
    this.#env = env;
  }

  /** @param {Program} program @returns {Promise<ProgramResult>} rejects if it cannot be started */
  async run(program) {
    const { command, args = [], cwd, signal } = program;
    if (this.#closing.signal.aborted) throw new Error("the feature has ended");
    if (typeof command !== "string" || !Array.isArray(args)) {
      throw new TypeError("expected a command and its arguments");
    }
    if (typeof cwd !== "string" || !path.isAbsolute(cwd)) {
      throw new TypeError("cwd: expected an absolute path");
    }
    if (signal?.aborted) throw new Error("it was cancelled");
    const running = runProgram(command, args, {
      ...{ cwd, env: programEnvironment(program, this.#env), isGuarded: true },
      ...{ maxBytes: MAX_OUTPUT_BYTES },
      signal: AbortSignal.any([this.#closing.signal, ...(signal ? [signal] : [])]),
    });
    this.#running.add(running);
    const { error, why: _, ...ended } = await running.finally(() => this.#running.delete(running));
    if (error) throw error;
    return ended;
  }

  /** @returns {Promise<number>} number of programs that had to be ended, after their end */
  async endAll() {
    const { size } = this.#running;
    this.#closing.abort();
    await Promise.allSettled(this.#running);
    return size;
  }
}
