// The log files under <COPILOT_HOME>/logs/tap/: rotated, and never a reason to fail.

import fs from "node:fs";
import path from "node:path";
import { RotatingFile } from "./rotating-file.mjs";
import { visible } from "./visible.mjs";

/** @typedef {"info" | "warning" | "error"} Level */
/** @typedef {(level: Level, text: string) => void} Log */

const KEPT = 3;
const RANK = { info: 0, warning: 1, error: 2, none: 3 };

/**
 * Opens a log. Where the disk is full or the folder cannot be written, lines are dropped: the
 * gateway serves without a log.
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
    stream = new RotatingFile(path.join(folder, name), KEPT);
    stream.on("error", () => {
      stream = undefined;
    });
  } catch {
    stream = undefined;
  }
  // Hidden characters are shown, not obeyed: a log is read in a terminal.
  /** @type {Log} */
  const log = (level, text) => {
    if (RANK[level] < least) return;
    stream?.write(`${new Date().toISOString()} ${level} ${visible(text)}\n`);
  };
  return Object.assign(log, { end: () => stream?.end() });
}
