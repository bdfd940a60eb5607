// The log of a started program: its stdout and stderr, in a bounded, rotated file for each name.
// If the log cannot be written, output is dropped, so that the program does not block for long.

import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { RotatingFile } from "../lib/log.mjs";
import { shortenText, visible } from "../lib/visible.mjs";

const MAX_OLD_FILES = 2;
const MAX_LINE = 8192;
/** A file name has at most 255 bytes, and rotation adds to it. */
const MAX_ENCODED = 200;

/**
 * A name as a part of a path: percent-encoded outside [a-zA-Z0-9._-], never "." or "..". A name that
 * gets too long is cut, and gets a digest.
 * @param {string} name
 */
export function encodeName(name) {
  const bytes = [...Buffer.from(name, "utf8")];
  const encoded = bytes
    .map(encodeByte)
    .join("")
    .replace(/^\.{1,2}$/, (dots) => "%2E".repeat(dots.length));
  if (encoded.length <= MAX_ENCODED) return encoded || "%";
  const digest = createHash("sha256").update(name).digest("hex").slice(0, 16);
  return `${encoded.slice(0, MAX_ENCODED - 17)}-${digest}`;
}

/** @param {number} byte */
function encodeByte(byte) {
  const character = String.fromCharCode(byte);
  if (/[a-zA-Z0-9._-]/.test(character)) return character;
  return `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
}

/** @param {string} logs <COPILOT_HOME>/logs/tap @param {string} name */
export const providerLogFile = (logs, name) =>
  path.join(logs, "providers", `${encodeName(name)}.log`);

/**
 * Splits a stream of text into lines; a line that is too long is cut.
 * @param {(line: string) => void} onLine
 */
function lineCutter(onLine) {
  let rest = "";
  return {
    /** @param {string} text */
    push(text) {
      const lines = (rest + text).split(/\r?\n/);
      rest = lines.pop() ?? "";
      for (const line of lines) onLine(line);
      for (; rest.length > MAX_LINE; rest = rest.slice(MAX_LINE)) onLine(rest.slice(0, MAX_LINE));
    },
    end() {
      if (rest !== "") onLine(rest);
      rest = "";
    },
  };
}

/** Open files by path: providers of the same name in several sessions share a file. @type {Map<string, OutputLog>} */
const openLogs = new Map();

export class OutputLog {
  #file;
  #mask;
  #users = 0;
  /** @type {RotatingFile | undefined} */
  #stream;
  /** Paused until the file has caught up. @type {Set<import("node:stream").Readable>} */
  #pausedStreams = new Set();

  /**
   * @param {string} file @param {(text: string) => string} [mask] removes secrets
   * @returns {OutputLog} close it once for each opening
   */
  static open(file, mask) {
    const log = openLogs.get(file) ?? new OutputLog(file, mask);
    openLogs.set(file, log);
    log.#users += 1;
    return log;
  }

  /** @param {string} file @param {(text: string) => string} [mask] */
  constructor(file, mask = (text) => text) {
    this.#file = file;
    this.#mask = mask;
    try {
      fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
      const stream = new RotatingFile(file, MAX_OLD_FILES);
      stream.on("error", () => this.#fail());
      stream.on("drain", () => this.#resume());
      this.#stream = stream;
    } catch {
      this.#stream = undefined;
    }
  }

  get file() {
    return this.#file;
  }

  /** @param {string} tag the source @param {string} text */
  note(tag, text) {
    const line = `${new Date().toISOString()} ${tag} ${visible(shortenText(this.#mask(text), MAX_LINE))}\n`;
    return this.#stream?.write(line) ?? true;
  }

  /**
   * Reads a stream as fast as the file can be written.
   * @param {import("node:stream").Readable} readable @param {string} tag
   * @param {(line: string) => void} [onLine]
   */
  attach(readable, tag, onLine = () => {}) {
    let taken = true;
    const lines = lineCutter((line) => {
      if (line.trim() !== "") onLine(line);
      taken = this.note(tag, line) && taken;
    });
    readable.setEncoding("utf8");
    readable.on("data", (/** @type {string} */ text) => {
      taken = true;
      lines.push(text);
      if (!taken && this.#stream) this.#pause(readable);
    });
    readable.on("error", () => {});
    readable.on("close", () => {
      lines.end();
      this.#pausedStreams.delete(readable);
    });
  }

  /** @param {import("node:stream").Readable} readable */
  #pause(readable) {
    this.#pausedStreams.add(readable);
    readable.pause();
  }

  #resume() {
    for (const readable of this.#pausedStreams) readable.resume();
    this.#pausedStreams.clear();
  }

  /** The disk is full or the folder was removed: later lines are dropped. */
  #fail() {
    this.#stream = undefined;
    this.#resume();
  }

  /** @returns {Promise<void>} when all is written, if this was the last user */
  close() {
    this.#users -= 1;
    if (this.#users > 0) return Promise.resolve();
    openLogs.delete(this.#file);
    const stream = this.#stream;
    this.#fail();
    if (!stream) return Promise.resolve();
    return new Promise((resolve) => {
      stream.once("error", () => resolve());
      stream.end(() => resolve());
    });
  }
}
