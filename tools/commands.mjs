// Runs commands for the test tooling: prints output at once, and a sign of life while a command is silent.

import { AsyncLocalStorage } from "node:async_hooks";
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");

const HEARTBEAT_MS = 10_000;
/** Ends a command that hangs: the slowest, a bench or all JavaScript tests, takes a third of it. */
const COMMAND_LIMIT_MS = 60 * 60_000;
/** A detached process may hold a pipe of a command that has ended. */
const PIPE_GRACE_MS = 1000;

/** The output of an action that runs in parallel. @type {AsyncLocalStorage<string[]>} */
const aside = new AsyncLocalStorage();

/** @param {string} text */
function print(text) {
  const kept = aside.getStore();
  if (kept) kept.push(text);
  else process.stdout.write(text);
}

/** @param {string} text */
export function printLine(text) {
  print(`${text}\n`);
}

/**
 * Starts an action in parallel, and keeps its output.
 * @template T
 * @param {() => Promise<T>} action
 * @returns {() => Promise<T>} its end, with all that it has printed
 */
export function begin(action) {
  /** @type {string[]} */
  const printed = [];
  const ended = aside.run(printed, () => Promise.allSettled([action()]));
  return async () => {
    const [outcome] = await ended;
    print(printed.join(""));
    if (outcome.status === "rejected") throw outcome.reason;
    return outcome.value;
  };
}

/** @param {number} startedAt of performance.now() */
export const seconds = (startedAt) => `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;

/** The error was printed already. */
export class CommandFailed extends Error {}

/**
 * @typedef {{
 *   env?: Record<string, string | undefined>, cwd?: string,
 *   quiet?: boolean, limitMs?: number,
 * }} RunOptions quiet: the output appears only if the command fails; limitMs: it is ended then
 * @typedef {{ok: boolean, code: number | string, output: string}} RunOutcome code: or the signal
 */

/**
 * Runs a command to its end. Its stdin is empty.
 * @param {string} command @param {string[]} args @param {RunOptions} [options]
 * @returns {Promise<RunOutcome>}
 */
export async function attempt(command, args, options = {}) {
  const { env = {}, cwd = root, quiet = false, limitMs = COMMAND_LIMIT_MS } = options;
  const startedAt = performance.now();
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    shell: process.platform === "win32" && !path.extname(command),
  });
  /** @type {string[]} */
  const parts = [];
  const beat = () => printLine(`   … still at it after ${seconds(startedAt)}`);
  let heart = setInterval(beat, HEARTBEAT_MS);
  for (const pipe of [child.stdout, child.stderr]) {
    pipe.setEncoding("utf8").on("data", (/** @type {string} */ text) => {
      parts.push(text);
      if (quiet) return;
      print(text);
      clearInterval(heart);
      heart = setInterval(beat, HEARTBEAT_MS);
    });
  }
  const limit = setTimeout(() => {
    const stopped = `${command}: stopped, since it has run for ${seconds(startedAt)}\n`;
    parts.push(stopped);
    if (!quiet) print(stopped);
    child.kill("SIGKILL");
  }, limitMs);
  const code = await ended(child).catch((error) => {
    parts.push(`${command}: ${error.message}\n`);
    return 127;
  });
  clearTimeout(limit);
  clearInterval(heart);
  for (const pipe of [child.stdout, child.stderr]) pipe.destroy();
  return { ok: code === 0, code, output: parts.join("") };
}

/** @param {import("node:child_process").ChildProcess} child @returns {Promise<number | string>} */
function ended(child) {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve(code ?? String(signal)));
    child.once("exit", (code, signal) => {
      setTimeout(() => resolve(code ?? String(signal)), PIPE_GRACE_MS).unref();
    });
  });
}

/**
 * As `attempt`, but a failure is an error, with the output shown if it has not been.
 * @param {string} command @param {string[]} args @param {RunOptions} [options]
 * @returns {Promise<string>} its output
 * @throws {CommandFailed}
 */
export async function run(command, args, options = {}) {
  const { ok, code, output } = await attempt(command, args, options);
  if (ok) return output;
  if (options.quiet || code === 127) print(output);
  throw new CommandFailed(`${[path.basename(command), ...args].join(" ")} ended with ${code}`);
}

/**
 * A step that may take a while: named before it starts, timed when it is done.
 * @template T
 * @param {string} name @param {() => Promise<T>} action
 * @returns {Promise<T>}
 */
export async function step(name, action) {
  const startedAt = performance.now();
  printLine(`-- ${name} …`);
  const value = await action();
  printLine(`-- ${name}: ${seconds(startedAt)}`);
  return value;
}

/** Those below a folder of the root, which are named alike on every system. @param {string} folder @returns {string[]} */
export const testFiles = (folder) =>
  readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.mjs"))
    .sort()
    .map((name) => path.posix.join(folder, name.replaceAll("\\", "/")));
