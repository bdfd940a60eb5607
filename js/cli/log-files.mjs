// Reading the log files of js/lib/log.mjs: the last lines of all, merged by time, and what comes after
// them, over rotations.

import fs from "node:fs";
import path from "node:path";

/** @typedef {import("../lib/log.mjs").Level} Level */
/** @typedef {{at: string, level: Level, from: string, text: string}} Entry */

/** The writer of each file. */
export const SOURCES = { host: "host.log", extension: "extension.log" };

/** Of one file: a log is rotated at 1 MB, but nobody can be made to hold to that. */
const MAX_BYTES = 4 * 1024 * 1024;
const MAX_LINE = 16 * 1024;
const ATTEMPTS = 5;
const LINE = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) (info|warning|error) (.*)$/s;

/**
 * A text that is not a line of a log (somebody else has written to the file) gets the time of the line
 * before.
 * @param {string} from @param {string} line @param {string} before
 * @returns {Entry}
 */
function parseEntry(from, line, before) {
  const [, at, level, text] = LINE.exec(line) ?? ["", before, "info", line];
  return { at: String(at), level: /** @type {Level} */ (level), from, text: String(text) };
}

/** Cuts what a file has into entries; the last line may still be written. */
class Lines {
  #from;
  #decoder = new TextDecoder();
  #rest = "";
  #at = "";

  /** @param {string} from */
  constructor(from) {
    this.#from = from;
  }

  /** @param {Uint8Array} bytes @returns {Entry[]} */
  push(bytes) {
    const lines = (this.#rest + this.#decoder.decode(bytes, { stream: true })).split("\n");
    this.#rest = lines.pop() ?? "";
    if (this.#rest.length > MAX_LINE) {
      lines.push(this.#rest);
      this.#rest = "";
    }
    return lines.filter((line) => line !== "").map((line) => this.#entry(line));
  }

  /** @param {string} line */
  #entry(line) {
    const entry = parseEntry(this.#from, line, this.#at);
    this.#at = entry.at;
    return entry;
  }
}

/**
 * A log and what was rotated away of it, oldest first.
 * @param {string} folder @param {string} name
 */
function listLogFiles(folder, name) {
  const files = fs.existsSync(folder) ? fs.readdirSync(folder) : [];
  const isRotated = (/** @type {string} */ file) =>
    file.startsWith(name) && /^\.\d$/.test(file.slice(name.length));
  return [...files.filter(isRotated).sort().reverse(), name].map((file) => path.join(folder, file));
}

/**
 * A pipe in its place is not waited for. None, where it has just gone.
 * @param {string} file @returns {number[]}
 */
function openRegularFile(file) {
  try {
    return fs.lstatSync(file).isFile() ? [fs.openSync(file, "r")] : [];
  } catch {
    return [];
  }
}

/**
 * All of them at one time: a rotation while they are being opened would hide one.
 * @param {string} folder @param {string} name @returns {number[]} file descriptors, oldest first
 */
function openAll(folder, name) {
  const inodes = () =>
    listLogFiles(folder, name).flatMap((file) => {
      const now = fs.lstatSync(file, { throwIfNoEntry: false });
      return now?.isFile() ? [now.ino] : [];
    });
  for (let attempt = 1; ; ++attempt) {
    const all = listLogFiles(folder, name).flatMap(openRegularFile);
    const same = all.map((fd) => fs.fstatSync(fd).ino).join() === inodes().join();
    if (same || attempt === ATTEMPTS) return all;
    for (const fd of all) fs.closeSync(fd);
  }
}

/**
 * One log, read as it grows. Files are known by their inodes, under whatever name: after a rotation those
 * who had the old file open may still write to it.
 */
class Tail {
  #folder;
  #from;
  /** @type {Map<number, {lines: Lines, position: number}> | undefined} before the first look: none */
  #known;

  /** @param {string} folder @param {string} from one of SOURCES */
  constructor(folder, from) {
    this.#folder = folder;
    this.#from = from;
  }

  /** @param {number} fd @param {Map<number, {lines: Lines, position: number}>} seen @returns {Entry[]} */
  #readFile(fd, seen) {
    const { ino, size } = fs.fstatSync(fd);
    const file = this.#known?.get(ino) ?? { lines: new Lines(this.#from), position: 0 };
    seen.set(ino, file);
    // Of the past the end is enough.
    if (!this.#known) file.position = Math.max(0, size - MAX_BYTES);
    if (size < file.position) file.position = 0; // it was emptied
    const bytes = new Uint8Array(Math.min(size - file.position, MAX_BYTES));
    const read = fs.readSync(fd, bytes, 0, bytes.length, file.position);
    file.position += read;
    return file.lines.push(bytes.subarray(0, read));
  }

  /** New lines since the last time, in the order of the files. @returns {Entry[]} */
  readNew() {
    const seen = new Map();
    const name = SOURCES[/** @type {keyof typeof SOURCES} */ (this.#from)];
    const entries = openAll(this.#folder, name).flatMap((fd) => {
      try {
        return this.#readFile(fd, seen);
      } finally {
        fs.closeSync(fd);
      }
    });
    this.#known = seen;
    return entries;
  }
}

/** @param {Entry[]} entries in the order of their files @returns {Entry[]} in that of time; ISO 8601 sorts as text */
const byTime = (entries) => entries.toSorted((a, b) => (a.at === b.at ? 0 : a.at < b.at ? -1 : 1));

export class LogFiles {
  #tails;

  /** @param {string} folder @param {string[]} [sources] */
  constructor(folder, sources = Object.keys(SOURCES)) {
    this.#tails = sources.map((from) => new Tail(folder, from));
  }

  /** At first everything there is, then what has come since the last call. @returns {Entry[]} by time */
  readNew() {
    return byTime(this.#tails.flatMap((tail) => tail.readNew()));
  }
}
