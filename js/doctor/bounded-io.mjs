// Operations that may hang, with a limit on time and size.

import { spawn } from "node:child_process";
import fs from "node:fs";

const MAX_OUTPUT = 64 * 1024;
/** For a program that is told to end: it may have something half done. */
const FAREWELL_MS = 400;

/**
 * @template T, F
 * @param {Promise<T>} promise @param {number} ms @param {F} instead if nothing came by then
 * @returns {Promise<T | F>}
 */
export function withTimeout(promise, ms, instead) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(instead), ms);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** @typedef {{code: number | null, out: string, late: boolean, error?: string}} Answer */

/**
 * Runs a program to its end, or tells it and what it has started to end, and kills what does not.
 * @param {string} command @param {string[]} args @param {{env?: NodeJS.ProcessEnv, cwd?: string, ms: number}} options
 * @returns {Promise<Answer>} `out` is all that it has printed
 */
export function runProgram(command, args, { env = process.env, cwd, ms }) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      ...{ env, cwd, windowsHide: true },
      stdio: ["ignore", "pipe", "pipe"],
      detached: process.platform !== "win32",
    });
    let out = "";
    let late = false;
    const settle = (/** @type {Omit<Answer, "out">} */ end) => {
      clearTimeout(timer);
      resolve({ ...end, out });
    };
    let timer = setTimeout(() => {
      late = true;
      signalAll(child, "SIGTERM");
      timer = setTimeout(giveUp, FAREWELL_MS);
    }, ms);
    const giveUp = () => {
      child.stdout.destroy();
      child.stderr.destroy();
      signalAll(child, "SIGKILL");
      settle({ code: null, late: true });
    };
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => {
        if (out.length < MAX_OUTPUT) out += text;
      });
    }
    child.on("error", (error) => settle({ code: null, late: false, error: error.message }));
    child.on("close", (code) => (late ? giveUp() : settle({ code, late: false })));
  });
}

/** @param {import("node:child_process").ChildProcess} child @param {NodeJS.Signals} signal */
function signalAll(child, signal) {
  try {
    if (child.pid !== undefined && process.platform !== "win32") process.kill(-child.pid, signal);
    else child.kill(signal);
  } catch {
    // It has ended meanwhile.
  }
}

/** The first bytes of a regular file; empty if there is no such file. @param {string} file @param {number} bytes */
export const readHead = (file, bytes) => readPart(file, bytes, () => 0);

/** The last bytes of one. @param {string} file @param {number} bytes */
export const readTail = (file, bytes) => readPart(file, bytes, (size) => Math.max(0, size - bytes));

/** A pipe in its place is not waited for. @param {string} file @param {number} bytes @param {(size: number) => number} from */
function readPart(file, bytes, from) {
  let handle;
  try {
    if (!fs.statSync(file).isFile()) return "";
    handle = fs.openSync(file, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
    const { size } = fs.fstatSync(handle);
    const buffer = Buffer.alloc(Math.min(size, bytes));
    const length = fs.readSync(handle, buffer, 0, buffer.length, from(size));
    return buffer.toString("utf8", 0, length);
  } catch {
    return "";
  } finally {
    if (handle !== undefined) fs.closeSync(handle);
  }
}

/** A JSON file of ours, or undefined. @param {string} file @returns {any} */
export function readJson(file) {
  try {
    return JSON.parse(readTail(file, MAX_OUTPUT));
  } catch {
    return undefined;
  }
}

/** The names in a folder, sorted. @param {string} folder @returns {string[]} */
export const listNames = (folder) => {
  try {
    return fs.readdirSync(folder).sort();
  } catch {
    return [];
  }
};
