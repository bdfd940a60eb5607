// The one place that starts git: never through a shell, in an environment of its own, bounded in output and time,
// each run in a process group of its own.

import { spawn } from "node:child_process";
import { endGroup } from "../process/end-group.mjs";
import { guard, ownGroup, release } from "../process/group.mjs";
import { failureOf, GitError, isGitError } from "./git-error.mjs";

/** From SIGTERM to SIGKILL. */
const TERM_MS = 5000;
/** To read what is left in the pipes; a process that has left its group may hold them open. */
const PIPES_MS = 250;
const TIMEOUT_MS = 120_000;
const MOST_OUTPUT = 32 * 1024 * 1024;
/** For a lock of another git. */
const LOCK_MS = 10_000;
const FIRST_WAIT_MS = 10;
const LONGEST_WAIT_MS = 250;

/** What git gets of this process's environment: no GIT_*, no tokens. */
const PASSED =
  /^(?:PATH|HOME|USER|LOGNAME|USERNAME|USERPROFILE|HOMEDRIVE|HOMEPATH|SystemRoot|ProgramData|APPDATA|LOCALAPPDATA|TMPDIR|TEMP|TMP|PATHEXT|XDG_CONFIG_HOME)$/i;
/** And where it reaches other machines, as the user's git does it. */
const PASSED_TO_NETWORK = /^(?:SSH_AUTH_SOCK|https?_proxy|no_proxy|all_proxy)$/i;

/** No daemons, no collection of garbage in the background, and objects on the disk before the refs that need them. */
const SETTINGS = Object.entries({
  "core.fsmonitor": "false",
  "maintenance.auto": "false",
  "gc.auto": "0",
  "core.fsync": "committed,loose-object",
  "core.fsyncMethod": "batch",
  "advice.addEmbeddedRepo": "false",
}).flatMap(([key, value]) => ["-c", `${key}=${value}`]);
/** No file can be in it. */
const NO_HOOKS = ["-c", "core.hooksPath=/dev/null"];

/**
 * @typedef {object} RunOptions
 * @property {string} cwd absolute
 * @property {string | Buffer} [input] for its stdin
 * @property {number[]} [codes] that are no failure; 0
 * @property {number} [timeoutMs]
 * @property {AbortSignal} [signal] ends it
 * @property {boolean} [hooks] the user's hooks run
 * @property {boolean} [network] it may reach other machines
 * @property {boolean} [lasting] it may take long or run programs of the user: its group ends with this process
 * @property {boolean} [reading] it takes no lock, not even to refresh an index
 * @property {boolean} [cuts] output beyond `mostBytes` is cut and git is ended; else that is a failure
 * @property {number} [mostBytes] of output
 * @property {string[]} [settings] "key=value", of git
 * @property {Record<string, string>} [env] besides what every git gets
 * @property {(pid: number) => void} [onStart]
 * @property {"utf8" | "latin1"} [encoding] of its stdout; latin1: one character for each byte, since names of files may be no UTF-8
 *
 * @typedef {{code: number | null, signal: string | null, stdout: string, stderr: string, cut: boolean}} Ended
 */

/** @param {RunOptions} options @param {NodeJS.ProcessEnv} around @returns {Record<string, string | undefined>} */
function environment({ env, network, reading }, around) {
  const own = Object.entries(around).filter(
    ([name]) => PASSED.test(name) || (network && PASSED_TO_NETWORK.test(name)),
  );
  return {
    ...Object.fromEntries(own),
    LC_ALL: "C",
    GIT_TERMINAL_PROMPT: "0",
    GIT_EDITOR: "false",
    ...(reading && { GIT_OPTIONAL_LOCKS: "0" }),
    ...env,
  };
}

/** Bytes up to a limit. */
class Collected {
  /** @type {Buffer[]} */
  #pieces = [];
  #room;
  cut = false;

  /** @param {import("node:stream").Readable} stream @param {number} most @param {() => void} onCut */
  constructor(stream, most, onCut) {
    this.#room = most;
    stream.on("data", (/** @type {Buffer} */ piece) => {
      if (piece.length > this.#room && !this.cut) {
        this.cut = true;
        onCut();
      }
      if (this.#room > 0) this.#pieces.push(piece.subarray(0, this.#room));
      this.#room = Math.max(0, this.#room - piece.length);
    });
  }

  /** @param {BufferEncoding} [encoding] */
  text = (encoding = "utf8") => Buffer.concat(this.#pieces).toString(encoding);
}

/** One process, from its start to its end. */
class Run {
  /** Why it was ended before its time. @type {GitError | undefined} */
  why;
  #ending = false;

  /** @param {import("node:child_process").ChildProcess} child @param {RunOptions} options @param {string} name */
  constructor(child, options, name) {
    this.child = child;
    this.options = options;
    this.name = name;
  }

  /** @param {GitError} [why] */
  end(why) {
    this.why ??= why;
    if (this.#ending || this.child.pid === undefined) return;
    this.#ending = true;
    void endGroup(this.child.pid, TERM_MS);
  }

  #onExit() {
    const { child, options } = this;
    if (options.lasting) this.end(); // what a hook has started ends, too
    setTimeout(() => {
      child.stdout?.destroy();
      child.stderr?.destroy();
    }, PIPES_MS).unref();
  }

  /** @returns {Promise<Ended>} */
  ended() {
    const { child, options, name } = this;
    const { timeoutMs = TIMEOUT_MS, mostBytes = MOST_OUTPUT, signal, cuts, input } = options;
    const onCut = () =>
      this.end(
        cuts
          ? undefined
          : new GitError("TOO_LARGE", `${name}: more than ${mostBytes} bytes of output`),
      );
    const [out, err] = [
      new Collected(/** @type {any} */ (child.stdout), mostBytes, onCut),
      new Collected(/** @type {any} */ (child.stderr), mostBytes, () => {}),
    ];
    const onAbort = () => this.end(new GitError("CANCELLED", `${name} was cancelled`));
    const late = () =>
      this.end(new GitError("TIMEOUT", `${name} has not ended within ${timeoutMs} ms`));
    const timer = setTimeout(late, timeoutMs);
    signal?.addEventListener("abort", onAbort, { once: true });
    child.stdin?.on("error", () => {}); // it has ended, which "exit" says
    child.stdin?.end(input);
    child.on("exit", () => this.#onExit());
    return new Promise((resolve) => {
      child.on("close", (code, ended) => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
        if (options.lasting && child.pid !== undefined) release(child.pid);
        resolve({
          code,
          signal: ended,
          stdout: out.text(options.encoding),
          stderr: err.text(),
          cut: out.cut,
        });
      });
    });
  }
}

export class Git {
  /** @type {Promise<number[]> | undefined} */
  #version;

  /**
   * @param {object} [options]
   * @param {string} [options.program]
   * @param {NodeJS.ProcessEnv} [options.env] of this process
   * @param {number} [options.lockMs] how long a lock of another git is waited for
   * @param {(args: string[]) => void} [options.onRun] for tests and measurements
   */
  constructor({ program = "git", env = process.env, lockMs = LOCK_MS, onRun = () => {} } = {}) {
    this.program = program;
    this.env = env;
    this.lockMs = lockMs;
    this.onRun = onRun;
  }

  /** @returns {Promise<number[]>} major and minor; asked once */
  version() {
    this.#version ??= this.run(["version"], { cwd: "/" }).then(({ stdout }) => {
      const [, major, minor] = /(\d+)\.(\d+)/.exec(stdout) ?? [];
      if (minor === undefined) throw new GitError("NO_GIT", `"${this.program}" is not git`);
      return [Number(major), Number(minor)];
    });
    return this.#version;
  }

  /** @param {number} major @param {number} minor */
  async isAtLeast(major, minor) {
    const [own, ownMinor] = await this.version();
    return own > major || (own === major && ownMinor >= minor);
  }

  /**
   * @param {string[]} args what a user gave stands behind `--` or `--end-of-options`, or was checked
   * @param {RunOptions} options
   * @returns {Promise<Ended>}
   * @throws {GitError}
   */
  async run(args, options) {
    const { codes = [0], signal } = options;
    const name = `git ${args[0]}`;
    if (signal?.aborted) throw new GitError("CANCELLED", `${name} was cancelled`);
    const run = new Run(this.#spawn(args, options), options, name);
    const { child } = run;
    if (child.pid === undefined) throw await this.#notStarted(child, options);
    if (options.lasting) guard(child.pid);
    options.onStart?.(child.pid);
    const ended = await run.ended();
    if (run.why) throw run.why;
    if (ended.cut && options.cuts) return ended;
    if (ended.code === null || !codes.includes(ended.code)) throw failureOf([args[0]], ended);
    return ended;
  }

  /** @param {string[]} args @param {RunOptions} options */
  #spawn(args, options) {
    this.onRun(args);
    const { cwd, hooks, settings = [] } = options;
    const own = [...SETTINGS, ...(hooks ? [] : NO_HOOKS)];
    const given = settings.flatMap((setting) => ["-c", setting]);
    return spawn(this.program, [...own, ...given, ...args], {
      cwd,
      env: environment(options, this.env),
      detached: ownGroup,
      stdio: ["pipe", "pipe", "pipe"],
      windowsHide: true,
    });
  }

  /** @param {import("node:child_process").ChildProcess} child @param {RunOptions} options @returns {Promise<GitError>} */
  #notStarted(child, { cwd }) {
    return new Promise((resolve) => {
      child.once("error", (/** @type {NodeJS.ErrnoException} */ cause) => {
        const missing = cause.code === "ENOENT";
        const text = missing
          ? `"${this.program}" is not installed, or "${cwd}" does not exist. Install git 2.38 or newer.`
          : `"${this.program}" cannot be started: ${cause.message}`;
        resolve(new GitError(missing ? "NO_GIT" : "GIT_FAILED", text, { cause }));
      });
    });
  }

  /**
   * The same, again while another git holds a lock or changes worktrees.
   * @param {string[]} args @param {RunOptions} options
   * @param {(lockFile: string) => Promise<boolean>} [clear] removes a lock that nobody holds
   */
  async change(args, options, clear) {
    const until = performance.now() + this.lockMs;
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
      try {
        return await this.run(args, options);
      } catch (error) {
        if (!isGitError(error, "LOCKED", "RACE")) throw error;
        const file = /'([^'\n]+\.lock)'/.exec(/** @type {GitError} */ (error).said)?.[1];
        if (file && (await clear?.(file))) continue;
        if (performance.now() >= until) throw error;
        await new Promise((resolve) => setTimeout(resolve, wait * (0.5 + Math.random())));
      }
    }
  }
}
