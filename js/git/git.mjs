// Starts git: never through a shell, in a clean environment, with limits on output and time.

import { randomBytes } from "node:crypto";
import fs from "node:fs/promises";
import { visible } from "../lib/visible.mjs";
import { runProgram } from "../process/run.mjs";
import { GitError, isGitError, toGitError } from "./errors.mjs";

const TIMEOUT_MS = 120_000;
const MAX_OUTPUT_BYTES = 32 * 1024 * 1024;
/** Longest wait for a lock of a different git process. */
const LOCK_MS = 10_000;
const FIRST_WAIT_MS = 10;
const MAX_WAIT_MS = 250;

/** The variables of this process that git gets: no GIT_*, no tokens. */
const INHERITED_VARIABLES =
  /^(?:PATH|HOME|USER|LOGNAME|USERNAME|USERPROFILE|HOMEDRIVE|HOMEPATH|SystemRoot|ProgramData|APPDATA|LOCALAPPDATA|TMPDIR|TEMP|TMP|PATHEXT|XDG_CONFIG_HOME)$/i;
/** Additional variables for commands that use the network, as the user's git has them. */
const NETWORK_VARIABLES = /^(?:SSH_AUTH_SOCK|https?_proxy|no_proxy|all_proxy)$/i;

/** No daemons, no background garbage collection, and objects reach the disk before their refs. */
const SETTINGS = Object.entries({
  "core.fsmonitor": "false",
  "maintenance.auto": "false",
  "gc.auto": "0",
  "core.fsync": "committed,loose-object",
  "core.fsyncMethod": "batch",
  "advice.addEmbeddedRepo": "false",
}).flatMap(([key, value]) => ["-c", `${key}=${value}`]);
/** No file can exist below it. */
const NO_HOOKS = ["-c", "core.hooksPath=/dev/null"];

/**
 * @typedef {object} RunOptions
 * @property {string} cwd absolute
 * @property {string | Buffer} [input] for its stdin
 * @property {number[]} [codes] exit codes that are not a failure; default: 0
 * @property {number} [timeoutMs]
 * @property {AbortSignal} [signal] stops git
 * @property {boolean} [hooks] run the user's hooks
 * @property {boolean} [network] allow connections to other machines
 * @property {boolean} [lasting] it may take long or run the user's programs: its process group ends with this process
 * @property {boolean} [reading] take no lock, not even to refresh an index
 * @property {boolean} [cuts] true: output beyond `mostBytes` is cut and git is stopped; false: that is a failure
 * @property {number} [mostBytes] of output
 * @property {string[]} [settings] "key=value", of git
 * @property {Record<string, string>} [env] added to the inherited variables
 * @property {(pid: number) => void} [onStart]
 * @property {import("../process/sandbox.mjs").Policy} [sandbox] for git and the programs that it runs
 * @property {string} [inputFile] instead of `input`: a file for its stdin, read from the start at each try
 * @property {number} [outputFile] file descriptor for its stdout
 * @property {"utf8" | "latin1"} [encoding] of its stdout; latin1: one character a byte, for names that are not UTF-8
 *
 * @typedef {{code: number | null, signal: string | null, stdout: string, stderr: string, cut: boolean}} GitResult
 */

/** @param {RunOptions} options @param {NodeJS.ProcessEnv} around @returns {Record<string, string | undefined>} */
function environment({ env, network, reading }, around) {
  const own = Object.entries(around).filter(
    ([name]) => INHERITED_VARIABLES.test(name) || (network && NETWORK_VARIABLES.test(name)),
  );
  return {
    ...Object.fromEntries(own),
    LC_ALL: "C.UTF-8", // in English; hooks count characters and not bytes
    GIT_TERMINAL_PROMPT: "0",
    GIT_EDITOR: "false",
    ...(reading && { GIT_OPTIONAL_LOCKS: "0" }),
    ...env,
  };
}

/** @param {string[]} args @param {RunOptions} options */
const toArguments = (args, { hooks, settings = [] }) => [
  ...[...SETTINGS, ...(hooks ? [] : NO_HOOKS)],
  ...settings.flatMap((setting) => ["-c", setting]),
  ...args,
];

/** By the reason why it was stopped. @type {Record<string, [string, (ms: number, bytes: number) => string]>} */
const FAILURES = {
  "": ["", () => ""],
  late: ["TIMEOUT", (ms) => ` has not ended within ${ms} ms`],
  cancelled: ["CANCELLED", () => " was cancelled"],
  full: ["TOO_LARGE", (_, bytes) => `: more than ${bytes} bytes of output`],
};

export class Git {
  /** @type {Promise<number[]> | undefined} */
  #version;

  /**
   * @param {object} [options]
   * @param {string} [options.program]
   * @param {NodeJS.ProcessEnv} [options.env] of this process
   * @param {number} [options.lockMs] longest wait for a lock of a different git process
   * @param {(args: string[]) => void} [options.onRun] for tests and measurements
   */
  constructor({ program = "git", env = process.env, lockMs = LOCK_MS, onRun = () => {} } = {}) {
    this.program = program;
    this.env = env;
    this.lockMs = lockMs;
    this.onRun = onRun;
  }

  /** @returns {Promise<number[]>} major and minor; git runs once */
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
   * @param {string[]} args a user's values stand behind `--` or `--end-of-options`, or were checked
   * @param {RunOptions} options
   * @returns {Promise<GitResult>}
   * @throws {GitError}
   */
  async run(args, options) {
    const { codes = [0], cuts = false, signal, cwd } = options;
    const { timeoutMs = TIMEOUT_MS, mostBytes = MAX_OUTPUT_BYTES } = options;
    const name = `git ${args[0]}`;
    if (signal?.aborted) throw new GitError("CANCELLED", `${name} was cancelled`);
    this.onRun(args);
    const stdin = options.inputFile === undefined ? undefined : await fs.open(options.inputFile);
    const ended = await runProgram(this.program, toArguments(args, options), {
      ...{ cwd, env: environment(options, this.env), sandbox: options.sandbox },
      ...{ ms: timeoutMs, signal, isGuarded: options.lasting, onStart: options.onStart },
      ...{ input: options.input, stdin: stdin?.fd, stdout: options.outputFile },
      ...{ maxBytes: mostBytes, endsFull: true, encoding: options.encoding },
    }).finally(() => stdin?.close());
    const { code, why, error } = ended;
    if (error) throw this.#toStartError(error, cwd);
    if (why === "full" && cuts) return { ...ended, cut: true };
    const [failure, text] = FAILURES[why];
    if (failure) throw new GitError(failure, `${name}${text(timeoutMs, mostBytes)}`);
    if (code === null || !codes.includes(code)) throw toGitError([args[0]], ended);
    return { ...ended, cut: false };
  }

  /** @param {NodeJS.ErrnoException} cause @param {string} cwd */
  #toStartError(cause, cwd) {
    const missing = cause.code === "ENOENT";
    const text = missing
      ? `"${this.program}" is not installed, or "${cwd}" does not exist. Install git 2.38 or newer.`
      : `"${this.program}" cannot be started: ${cause.message}`;
    return new GitError(missing ? "NO_GIT" : "GIT_FAILED", text, { cause });
  }

  /**
   * Like run, with retries while a different git process holds a lock or changes worktrees.
   * @param {string[]} args @param {RunOptions} options
   * @param {(lockFile: string) => Promise<boolean>} [clear] removes a stale lock
   */
  async change(args, options, clear) {
    const until = performance.now() + this.lockMs;
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, MAX_WAIT_MS)) {
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

// Checks of values for git's command line and refs: names of branches and refs, ids of plans
// and nodes, commits, paths, messages.

/** Agents put evidence there. It is not part of the work. */
export const EVIDENCE = ".orchestrator";

const MAX_NAME = 200;
const MAX_MESSAGE = 64 * 1024;
const MAX_PATH = 1024;
const ID = /^[a-zA-Z0-9_-]{1,64}$/;
const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
/** The characters and sequences that `git check-ref-format` refuses. */
// eslint-disable-next-line no-control-regex
const NOT_IN_REF = /[\u0000-\u0020\u007f~^:?*[\\]|\.\.|@\{|\/\/|^\/|\/$|\.$/;
const BAD_PART = /^\.|\.lock$/i;

/** @param {string} label @param {unknown} value @param {string} why */
const invalid = (label, value, why) =>
  new GitError(
    "INVALID",
    `${label}: ${visible(JSON.stringify(value) ?? "(missing)").slice(0, 200)} ${why}`,
  );

/** @param {string} label @param {unknown} value @param {number} most @returns {string} */
function checkText(label, value, most) {
  if (typeof value !== "string" || value === "") throw invalid(label, value, "is not a text");
  if (value.length > most) throw invalid(label, value, `has more than ${most} characters`);
  return value;
}

/** @param {string} name @returns {string | undefined} why it cannot be a ref's name */
function refProblem(name) {
  if (NOT_IN_REF.test(name)) {
    return "has a blank, a control character, or one of the characters ~ ^ : ? * [ \\, or .. // @{, or ends with / or .";
  }
  if (name.split("/").some((part) => BAD_PART.test(part))) {
    return "has a part that begins with . or ends with .lock";
  }
  if (visible(name) !== name) return "has characters that cannot be seen";
  if (name.normalize("NFC") !== name) {
    return "is not in composed form (NFC): it looks like a different name";
  }
  return undefined;
}

/**
 * @param {unknown} name of a branch, without refs/heads/ @param {string} [label] its name in messages
 * @returns {string} the name
 */
export function checkBranch(name, label = "branch") {
  const value = checkText(label, name, MAX_NAME);
  const problem = refProblem(value);
  if (problem) throw invalid(label, name, problem);
  if (value.startsWith("-") || value === "@" || value === "HEAD" || value.startsWith("refs/")) {
    throw invalid(label, name, "cannot be the name of a branch");
  }
  return value;
}

/** @param {unknown} name that begins with refs/ @returns {string} */
export function checkRef(name) {
  const value = checkText("ref", name, 2 * MAX_NAME);
  const problem = value.startsWith("refs/") ? refProblem(value) : "does not begin with refs/";
  if (problem) throw invalid("ref", name, problem);
  return value;
}

/** @param {unknown} id of a plan or a node @param {string} label @returns {string} */
export function checkId(id, label) {
  const value = checkText(label, id, MAX_NAME);
  if (!ID.test(value)) throw invalid(label, id, "is not 1 to 64 of a-z A-Z 0-9 _ -");
  return value;
}

/** @param {unknown} number of an attempt @returns {number} */
export function checkAttempt(number) {
  if (Number.isSafeInteger(number) && Number(number) >= 1) return Number(number);
  throw invalid("attempt", number, "is not a whole number from 1");
}

/** @param {unknown} commit @returns {string} its full name, in hexadecimal digits */
export function checkCommit(commit) {
  const value = checkText("commit", commit, MAX_NAME);
  if (!COMMIT.test(value)) throw invalid("commit", commit, "is not the full name of a commit");
  return value;
}

/** @param {unknown} value */
export const isCommit = (value) => typeof value === "string" && COMMIT.test(value);

/**
 * A file or folder below a folder: relative, with /.
 * @param {unknown} path @param {string} label @returns {string}
 */
export function checkInnerPath(path, label) {
  const value = checkText(label, path, MAX_PATH).replace(/\/+$/, "");
  const parts = value.split(/[\\/]/);
  if (value.includes("\0") || value.includes("\n")) throw invalid(label, path, "has a line break");
  if (/^(?:[\\/]|[A-Za-z]:)/.test(value) || value === "") {
    throw invalid(label, path, "is not a path below the repository");
  }
  if (parts.some((part) => part === ".." || part === "." || part === "")) {
    throw invalid(label, path, "has a part that is empty, . or ..");
  }
  if (parts.some((part) => part.toLowerCase() === ".git")) {
    throw invalid(label, path, "leads into git's own folder");
  }
  return value;
}

/** @param {unknown} message of a commit @returns {string} with a single line break at the end */
export function checkMessage(message) {
  const value = checkText("message", message, MAX_MESSAGE).replace(/\r\n?/g, "\n").trim();
  if (value === "") throw invalid("message", message, "is empty");
  if (value.includes("\0")) throw invalid("message", message, "has a NUL character");
  return `${value}\n`;
}

/** Marks the worktrees of a plan: only the plan's record has it. */
export const newNonce = () => randomBytes(16).toString("hex");

/** @param {unknown} nonce marks things that were made for a plan @returns {string} */
export function checkNonce(nonce) {
  const value = checkText("nonce", nonce, MAX_NAME);
  if (!/^[0-9a-zA-Z]{16,64}$/.test(value))
    throw invalid("nonce", nonce, "is not 16 to 64 of 0-9 a-z");
  return value;
}
