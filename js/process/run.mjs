// A run of a command: from spawn until its group has no more processes.

import { spawn } from "node:child_process";
import fs from "node:fs/promises";
import { endGroup, guard, ownGroup } from "./group.mjs";
import { TERM_MS } from "./reaper.mjs";
import { wrapInSandbox } from "./sandbox.mjs";

/**
 * @typedef {object} Clock
 * @property {() => number} now milliseconds
 * @property {(action: () => void, ms: number) => any} setTimeout
 * @property {(timer: any) => void} clearTimeout
 */
/**
 * @typedef {object} System the system calls of a run; replaced in tests
 * @property {typeof import("node:child_process").spawn} spawn
 * @property {import("./group.mjs").SignalGroup} signalGroup
 * @property {(pid: number) => void} guard until released, the group ends with this process
 * @property {(pid: number) => void} release
 * @property {Clock} clock
 */
/**
 * How it ended.
 * @typedef {{error?: NodeJS.ErrnoException, code?: number | null, signal?: NodeJS.Signals | null, lastLine: string}}
 *   End `lastLine`: of stderr, without the stack below an error
 */
/**
 * `input`: the first line of its stdin, which stays open during the run; without it stdin is empty.
 * `hasPipes`: stdin and stdout are the caller's (`pipes`), and stdout is not in the log. To end such a run, its stdin
 * is closed CLOSE_MS before SIGTERM.
 * @typedef {{command: string, args: string[], cwd: string, env: NodeJS.ProcessEnv, input?: string,
 *   hasPipes?: boolean}} RunOptions
 */

const CLOSE_MS = 2000;

/** After SIGKILL: zombies without a parent that waits for them are ignored. */
const KILL_MS = 1000;
const POLL_MS = 25;
/** Time to read the last output from the pipes, which a process that left its group may hold open. */
const PIPES_MS = 250;
/** Lines of Node.js below the message of an uncaught error. */
const BELOW_AN_ERROR = /^(\s|\}|Node\.js v\d|$)/;

export class ProcessRun {
  /** Resolves when the whole group has ended. Never rejects. @type {Promise<End>} */
  ended;
  /** @type {number | undefined} */
  pid;
  #system;
  #log;
  /** @type {Omit<End, "lastLine"> | undefined} */
  #end;
  #closed = false;
  #lastLine = "";
  #sweeping = false;
  #hasPipes;
  /** @type {import("node:child_process").ChildProcess | undefined} */
  #child;
  /** @type {(end: End) => void} */
  #settle = () => {};

  /**
   * @param {RunOptions} options @param {System} system
   * @param {import("./log.mjs").OutputLog} log
   */
  constructor(options, system, log) {
    this.#system = system;
    this.#log = log;
    this.#hasPipes = options.hasPipes ?? false;
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
    try {
      this.#start(options);
    } catch (error) {
      this.#fail(/** @type {NodeJS.ErrnoException} */ (error));
    }
  }

  /** @param {RunOptions} options */
  #start({ command, args, cwd, env, input }) {
    const child = this.#system.spawn(command, args, {
      cwd,
      env,
      detached: ownGroup,
      stdio: [input === undefined && !this.#hasPipes ? "ignore" : "pipe", "pipe", "pipe"],
      windowsHide: true,
    });
    this.#child = child;
    child.stdin?.on("error", () => {}); // "exit" reports the end
    if (input !== undefined) this.writeLine(input);
    this.pid = child.pid;
    child.on("error", (error) => {
      if (child.pid === undefined) this.#fail(error);
    });
    if (child.pid === undefined) return;
    this.#system.guard(child.pid);
    child.on("close", () => {
      this.#closed = true;
    });
    child.on("exit", (code, signal) => {
      this.#end = { code, signal };
      this.#sweep();
    });
    this.#read(child);
  }

  /** @param {import("node:child_process").ChildProcess} child */
  #read(child) {
    const noteLine = (/** @type {string} */ line) => {
      if (this.#lastLine === "" || !BELOW_AN_ERROR.test(line)) this.#lastLine = line;
    };
    if (child.stdout && !this.#hasPipes) this.#log.attach(child.stdout, `${child.pid} out`);
    if (child.stderr) this.#log.attach(child.stderr, `${child.pid} err`, noteLine);
  }

  /** @param {NodeJS.ErrnoException} error */
  #fail(error) {
    this.#settle({ error, lastLine: "" });
  }

  /** Writes a line to its stdin, if that is open. @param {string} line */
  writeLine(line) {
    if (this.#child?.stdin?.writable) this.#child.stdin.write(`${line}\n`);
  }

  /** @returns {{stdin: import("node:stream").Writable, stdout: import("node:stream").Readable} | undefined} */
  get pipes() {
    const { stdin, stdout } = this.#child ?? {};
    return this.#hasPipes && this.pid !== undefined && stdin && stdout
      ? { stdin, stdout }
      : undefined;
  }

  /** Ends the whole group at once. */
  kill() {
    if (!this.#sweeping) this.#signal("SIGKILL");
  }

  /** Sends SIGTERM to the whole group, then SIGKILL. */
  terminate() {
    this.#child?.stdin?.end();
    if (this.#hasPipes && !this.#end) this.#system.clock.setTimeout(() => this.#sweep(), CLOSE_MS);
    else this.#sweep();
    return this.ended;
  }

  /** @param {NodeJS.Signals | 0} signal @returns {boolean} whether it has processes */
  #signal(signal) {
    return this.pid !== undefined && this.#system.signalGroup(this.pid, signal);
  }

  /**
   * The command has ended, or has to end: in both cases all processes that it started are ended. The
   * group's pid is not reused while a process of it lives. After that it is not signalled again.
   */
  #sweep() {
    if (this.#sweeping || this.pid === undefined) return;
    this.#sweeping = true;
    const { clock } = this.#system;
    const start = clock.now();
    let killedAt = Infinity;
    if (!this.#signal("SIGTERM") && this.#end) return this.#finish();
    const poll = () => {
      const left = this.#signal(0) || !this.#end;
      const now = clock.now();
      if (!left || now - killedAt >= KILL_MS) return this.#finish();
      if (killedAt === Infinity && now - start >= TERM_MS) {
        killedAt = now;
        this.#signal("SIGKILL");
      }
      clock.setTimeout(poll, POLL_MS);
    };
    clock.setTimeout(poll, POLL_MS);
  }

  /** No process of the group is left. Waits a short time for output that is still in the pipes. */
  #finish() {
    if (this.pid !== undefined) this.#system.release(this.pid);
    if (this.#closed) return this.#conclude();
    const { clock } = this.#system;
    const timer = clock.setTimeout(() => this.#conclude(), PIPES_MS);
    this.#child?.once("close", () => {
      clock.clearTimeout(timer);
      this.#conclude();
    });
  }

  #conclude() {
    this.#child?.stdout?.destroy();
    this.#child?.stderr?.destroy();
    const end = this.#end ?? { code: null, signal: "SIGKILL" };
    this.#settle({ ...end, lastLine: this.#lastLine });
  }
}

// Not in supervisor.mjs, which needs the addon: the doctor runs without it.

/** A run this long counts as good: the number of restarts is reset. */
export const GOOD_RUN_MS = 60_000;

// Runs a program to its end, with limits on time and output. All such programs of tap are started here.

const MAX_OUTPUT_BYTES = 64 * 1024;

/**
 * @typedef {object} ProgramOptions
 * @property {string} [cwd]
 * @property {NodeJS.ProcessEnv} [env] default: that of this process
 * @property {number} [ms] after which it is ended
 * @property {AbortSignal} [signal] ends it
 * @property {boolean} [isGuarded] its children end with it, and both with this process
 * @property {string | Buffer} [input] for its stdin; empty
 * @property {number} [stdin] a file, instead of `input`
 * @property {number} [stdout] a file, instead of the result's `stdout` @property {number} [stderr]
 * @property {number} [maxBytes] of stdout and of stderr: the rest is dropped
 * @property {boolean} [endsFull] end it if stdout has more
 * @property {BufferEncoding} [encoding] of stdout
 * @property {(bytes: Buffer) => void} [onOutput] sees all of stdout
 * @property {(pid: number) => void} [onStart]
 * @property {boolean} [shell] the command is a line for a shell
 * @property {import("./sandbox.mjs").Policy} [sandbox] run it in this sandbox
 * @property {import("./sandbox.mjs").Ways} [ways] out of the sandbox
 *
 * @typedef {object} ProgramEnd
 * @property {number | null} code
 * @property {string | null} signal
 * @property {"" | "late" | "cancelled" | "full"} why it was ended
 * @property {string} stdout @property {string} stderr
 * @property {boolean} cut stdout or stderr had more
 * @property {NodeJS.ErrnoException} [error] it could not be started
 */

/** @param {import("node:stream").Readable | null} stream @param {number} most @param {(piece: Buffer) => void} onPiece */
function collectOutput(stream, most, onPiece) {
  const pieces = /** @type {Buffer[]} */ ([]);
  const output = { cut: false, text: () => Buffer.concat(pieces) };
  let room = most;
  stream?.on("data", (/** @type {Buffer} */ piece) => {
    output.cut ||= piece.length > room;
    if (room > 0) pieces.push(piece.subarray(0, room));
    room = Math.max(0, room - piece.length);
    onPiece(piece);
  });
  return output;
}

/** @param {import("node:child_process").ChildProcess} child @param {ProgramOptions} options @returns {Promise<ProgramEnd>} */
function waitForEnd(child, options) {
  const { ms, signal, isGuarded, maxBytes = MAX_OUTPUT_BYTES, endsFull, encoding } = options;
  const { pid } = child;
  return new Promise((resolve) => {
    /** @type {ProgramEnd["why"]} */
    let why = "";
    /** @type {Promise<void> | undefined} */
    let ending;
    const end = (/** @type {ProgramEnd["why"]} */ reason) => {
      why ||= reason;
      ending ??= pid === undefined ? undefined : endGroup(pid).then(closePipes);
    };
    const out = collectOutput(child.stdout, maxBytes, (piece) => {
      options.onOutput?.(piece);
      if (endsFull && out.cut) end("full");
    });
    const err = collectOutput(child.stderr, maxBytes, () => {});
    const timer = ms === undefined ? undefined : setTimeout(() => end("late"), ms);
    const cancel = () => end("cancelled");
    signal?.addEventListener("abort", cancel, { once: true });
    if (signal?.aborted) cancel();
    const settle = (/** @type {Pick<ProgramEnd, "code" | "signal" | "error">} */ how) => {
      const [stdout, stderr] = [out.text().toString(encoding), err.text().toString()];
      resolve({ ...how, why, stdout, stderr, cut: out.cut || err.cut });
    };
    const closePipes = () => {
      // Processes outside of the group may hold the pipes open, and a process may be unkillable: do not wait for them.
      const close = () => {
        child.stdout?.destroy();
        child.stderr?.destroy();
        const hasEnded = child.exitCode !== null || child.signalCode !== null;
        if (!hasEnded) settle({ code: null, signal: "SIGKILL" });
      };
      setTimeout(close, PIPES_MS).unref();
    };
    const stopWaiting = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", cancel);
    };
    child.on("error", (error) => {
      stopWaiting();
      if (pid === undefined) settle({ code: null, signal: null, error });
    });
    child.on("exit", () => {
      stopWaiting();
      if (isGuarded) end("");
      if (!ending) closePipes();
    });
    child.on("close", async (code, ended) => {
      await ending;
      settle({ code, signal: ended });
    });
    child.stdin?.on("error", () => {}); // "exit" reports the end
    child.stdin?.end(options.input);
  });
}

/**
 * @param {string} command @param {string[]} args @param {ProgramOptions} options
 * @returns {Promise<ProgramEnd>}
 */
export async function runProgram(command, args, options) {
  const { env = process.env, cwd, shell, sandbox, input, stdin, stdout, stderr } = options;
  const own = { command, args, env };
  const program = sandbox ? wrapInSandbox(sandbox, own, { ways: options.ways }) : own;
  const child = spawn(program.command, program.args, {
    ...{ cwd, env: program.env, shell, detached: ownGroup, windowsHide: true },
    stdio: [stdin ?? (input === undefined ? "ignore" : "pipe"), stdout ?? "pipe", stderr ?? "pipe"],
  });
  if (child.pid !== undefined) {
    if (options.isGuarded) guard(child.pid);
    options.onStart?.(child.pid);
  }
  return waitForEnd(child, options);
}

/**
 * Deletes files of programs, including read-only folders, such as those of Go's modules, and folders that
 * are deeper than a path can name.
 * @param {string} folder or a file; a link is not followed
 */
export async function deleteFolder(folder) {
  const isFolder = (await fs.lstat(folder).catch(() => undefined))?.isDirectory();
  if (isFolder && process.platform !== "win32") {
    // Faster than Node.js.
    const remove = () => runProgram("rm", ["-rf", "--", folder], {});
    if ((await remove()).code === 0) return;
    await runProgram("chmod", ["-R", "u+rwx", "--", folder], {});
    if ((await remove()).code === 0) return;
  }
  await fs.rm(folder, { recursive: true, force: true, maxRetries: 3 });
}
