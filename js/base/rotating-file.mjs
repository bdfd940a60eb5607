// A file that grows at its end. At 1 MB it becomes <file>.1, what had that name <file>.2, and so on.

import fs from "node:fs";
import { Writable } from "node:stream";

const MOST_BYTES = 1024 * 1024;
const { O_APPEND, O_CREAT, O_NONBLOCK, O_WRONLY } = fs.constants;
/** A pipe in its place is not waited for. */
const HOW = O_APPEND | O_CREAT | O_NONBLOCK | O_WRONLY;

export class RotatingFile extends Writable {
  #file;
  #kept;
  #fd = -1;
  #size = 0;

  /** @param {string} file @param {number} kept so many old ones @throws where it cannot be opened */
  constructor(file, kept) {
    super();
    this.#file = file;
    this.#kept = kept;
    this.#open();
  }

  #open() {
    this.#fd = fs.openSync(this.#file, HOW, 0o600);
    this.#size = fs.fstatSync(this.#fd).size;
  }

  #rotate() {
    const { ino } = fs.fstatSync(this.#fd);
    fs.closeSync(this.#fd);
    // Another process may write to it, and have been faster.
    const isStillIt = fs.statSync(this.#file, { throwIfNoEntry: false })?.ino === ino;
    const name = (/** @type {number} */ n) => (n === 0 ? this.#file : `${this.#file}.${n}`);
    for (let n = this.#kept; isStillIt && n > 0; --n) {
      if (fs.existsSync(name(n - 1))) fs.renameSync(name(n - 1), name(n));
    }
    this.#open();
  }

  /** @override @param {Buffer} bytes @param {string} _encoding @param {(error?: Error | null) => void} done */
  _write(bytes, _encoding, done) {
    try {
      if (this.#size >= MOST_BYTES) this.#rotate();
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
