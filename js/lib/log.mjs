// The log files under <COPILOT_HOME>/logs/tap/: rotated, and never a reason to fail.

import fs from "node:fs";
import path from "node:path";
import { Writable } from "node:stream";
import { visible } from "./visible.mjs";

// A file that grows at its end. At 1 MB it is renamed to <file>.1, the former <file>.1 to <file>.2, and so on.

const MAX_LOG_BYTES = 1024 * 1024;
const { O_APPEND, O_CREAT, O_NONBLOCK, O_WRONLY } = fs.constants;
/** Does not block on a pipe. */
const OPEN_FLAGS = O_APPEND | O_CREAT | O_NONBLOCK | O_WRONLY;

export class RotatingFile extends Writable {
  #file;
  #maxOldFiles;
  #fd = -1;
  #size = 0;

  /** @param {string} file @param {number} kept number of old files @throws if it cannot be opened */
  constructor(file, kept) {
    super();
    this.#file = file;
    this.#maxOldFiles = kept;
    this.#open();
  }

  #open() {
    this.#fd = fs.openSync(this.#file, OPEN_FLAGS, 0o600);
    this.#size = fs.fstatSync(this.#fd).size;
  }

  #rotate() {
    const { ino } = fs.fstatSync(this.#fd);
    fs.closeSync(this.#fd);
    // A process that also writes the log may have rotated it already.
    const isStillIt = fs.statSync(this.#file, { throwIfNoEntry: false })?.ino === ino;
    const name = (/** @type {number} */ n) => (n === 0 ? this.#file : `${this.#file}.${n}`);
    for (let n = this.#maxOldFiles; isStillIt && n > 0; --n) {
      if (fs.existsSync(name(n - 1))) fs.renameSync(name(n - 1), name(n));
    }
    this.#open();
  }

  /** @override @param {Buffer} bytes @param {string} _encoding @param {(error?: Error | null) => void} done */
  _write(bytes, _encoding, done) {
    try {
      if (this.#size >= MAX_LOG_BYTES) this.#rotate();
    } catch (error) {
      return done(/** @type {Error} */ (error));
    }
    this.#append(bytes, done);
  }

  /** @param {Buffer} bytes @param {(error?: Error | null) => void} done */
  #append(bytes, done) {
    fs.write(this.#fd, bytes, (error, written) => {
      if (error) return done(error);
      this.#size += written;
      if (written < bytes.length) return this.#append(bytes.subarray(written), done);
      done();
    });
  }

  /** @override @param {Error | null} error @param {(error: Error | null) => void} done */
  _destroy(error, done) {
    fs.close(this.#fd, () => done(error));
  }
}

/** @typedef {"info" | "warning" | "error"} Level */
/** @typedef {(level: Level, text: string) => void} Log */

const MAX_OLD_FILES = 3;
const RANK = { info: 0, warning: 1, error: 2, none: 3 };

/**
 * Opens a log. If the disk is full or the folder is not writable, lines are dropped: the
 * gateway works without a log.
 * @param {string} folder @param {string} name @param {NodeJS.ProcessEnv} env
 * @returns {Log & {end: () => void}}
 */
export function openLog(folder, name, env = process.env) {
  const wanted = env.TAP_LOG_LEVEL ?? "info";
  const least = wanted in RANK ? RANK[/** @type {keyof typeof RANK} */ (wanted)] : RANK.info;
  /** @type {RotatingFile | undefined} */
  let stream;
  try {
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
    stream = new RotatingFile(path.join(folder, name), MAX_OLD_FILES);
    stream.on("error", () => {
      stream = undefined;
    });
  } catch {
    stream = undefined;
  }
  // Hidden characters are escaped, since a log is read in a terminal.
  /** @type {Log} */
  const log = (level, text) => {
    if (RANK[level] < least) return;
    stream?.write(`${new Date().toISOString()} ${level} ${visible(text)}\n`);
  };
  return Object.assign(log, { end: () => stream?.end() });
}
