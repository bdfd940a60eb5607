// One run of a command: from spawn until nothing of its group is left.

import { spawn } from "node:child_process";
import { ownGroup, signalGroup } from "./group.mjs";
import { TERM_MS } from "./reaper.mjs";

/**
 * @typedef {object} Clock
 * @property {() => number} now milliseconds
 * @property {(action: () => void, ms: number) => any} setTimeout
 * @property {(timer: any) => void} clearTimeout
 */
/**
 * @typedef {object} System what a run does to the world; replaced in tests
 * @property {typeof import("node:child_process").spawn} spawn
 * @property {import("./group.mjs").SignalGroup} signalGroup
 * @property {(pid: number) => void} guard until released, the group ends with this process
 * @property {(pid: number) => void} release
 * @property {Clock} clock
 */
/**
 * How it ended.
 * @typedef {{error?: NodeJS.ErrnoException, code?: number | null, signal?: NodeJS.Signals | null, lastLine: string}} End `lastLine`: of stderr, without the stack below an error
 */
/**
 * `input`: the first line of its stdin, which stays open until the run is to end; without it stdin is empty.
 * @typedef {{command: string, args: string[], cwd: string, env: NodeJS.ProcessEnv, input?: string}} RunOptions
 */

/** After SIGKILL: a group of zombies that nobody reaps is not waited for. */
const KILL_MS = 1000;
const POLL_MS = 25;
/** Time to read the last output from the pipes; a process that has left its group may hold them open. */
const PIPES_MS = 250;
/** What Node.js writes below the message of the error that ends it. */
const BELOW_AN_ERROR = /^(\s|\}|Node\.js v\d|$)/;

export class ProcessRun {
  /** Settles once the whole group is gone. Never rejects. @type {Promise<End>} */
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
      stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
      windowsHide: true,
    });
    this.#child = child;
    child.stdin?.on("error", () => {}); // it has ended, which "exit" says
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
    if (child.stdout) this.#log.attach(child.stdout, `${child.pid} out`);
    if (child.stderr) this.#log.attach(child.stderr, `${child.pid} err`, noteLine);
  }

  /** @param {NodeJS.ErrnoException} error */
  #fail(error) {
    this.#settle({ error, lastLine: "" });
  }

  /** Writes a line to its stdin, where that is open. @param {string} line */
  writeLine(line) {
    if (this.#child?.stdin?.writable) this.#child.stdin.write(`${line}\n`);
  }

  /** Asks the whole group to end, then ends it. */
  terminate() {
    this.#child?.stdin?.end();
    this.#sweep();
    return this.ended;
  }

  /** @param {NodeJS.Signals | 0} signal @returns {boolean} whether anything is left */
  #signal(signal) {
    return this.pid !== undefined && this.#system.signalGroup(this.pid, signal);
  }

  /**
   * The command has ended on its own or is to end: in both cases all processes that it started end too. The
   * group's number cannot be given to others while one of it lives; once it is gone, it is not signalled
   * again.
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

// Apart from supervisor.mjs, which needs the addon: the doctor runs without it.

/** A run this long counts as good: the count of restarts starts again at zero. */
export const GOOD_RUN_MS = 60_000;

// A program that answers with what it prints, in bounded time.

/** Characters of each stream. */
const MAX_ANSWER = 64 * 1024;
/** For a program that is told to end: it may have something half done. */
const FAREWELL_MS = 400;

/**
 * @typedef {object} Answer
 * @property {number | null} code
 * @property {string} out all that it has printed, in the order in which it came
 * @property {string} stdout @property {string} stderr
 * @property {boolean} late @property {string} [error] why it could not be started
 */

/**
 * Runs a program to its end, or tells it and what it has started to end, and kills what does not.
 * @param {string} command @param {string[]} args @param {{env?: NodeJS.ProcessEnv, cwd?: string, ms: number}} options
 * @returns {Promise<Answer>}
 */
export function runProgram(command, args, { env = process.env, cwd, ms }) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      ...{ env, cwd, windowsHide: true },
      stdio: ["ignore", "pipe", "pipe"],
      detached: ownGroup,
    });
    const said = { out: "", stdout: "", stderr: "" };
    let late = false;
    const settle = (/** @type {{code: number | null, late: boolean, error?: string}} */ end) => {
      clearTimeout(timer);
      resolve({ ...end, ...said });
    };
    const signal = (/** @type {NodeJS.Signals} */ name) =>
      child.pid !== undefined && signalGroup(child.pid, name);
    let timer = setTimeout(() => {
      late = true;
      signal("SIGTERM");
      timer = setTimeout(giveUp, FAREWELL_MS);
    }, ms);
    const giveUp = () => {
      child.stdout.destroy();
      child.stderr.destroy();
      signal("SIGKILL");
      settle({ code: null, late: true });
    };
    for (const name of /** @type {const} */ (["stdout", "stderr"])) {
      child[name].setEncoding("utf8").on("data", (/** @type {string} */ text) => {
        const piece = text.slice(0, MAX_ANSWER - said[name].length);
        said[name] += piece;
        said.out += piece;
      });
    }
    child.on("error", (error) => settle({ code: null, late: false, error: error.message }));
    child.on("close", (code) => (late ? giveUp() : settle({ code, late: false })));
  });
}
