// Serializes installs and uninstalls in a folder: two could remove each other's releases. The lock names the
// process that holds it and its start time, so that it ends with that process, even if its pid is reused.
// Two processes that find the same stale lock at the same moment may both continue; that takes a killed install.

import fs from "node:fs";
import path from "node:path";
import { removeIfOurs } from "../lib/host-files.mjs";
import { isAlive } from "../lib/process-liveness.mjs";
import { readStartTime } from "../lib/process-identity.mjs";
import { quoteWord } from "../lib/visible.mjs";
import { InstallError } from "./install-error.mjs";

const LOCK = ".install-lock";
const RECORD = /^([1-9]\d{0,9})(?: (\S+))?$/;
/** A younger lock without a record may be in the middle of its write. */
const WRITING_MS = 10_000;

/** @param {string} lock @returns {{record: string, writtenMs: number} | undefined} undefined if it does not exist */
function read(lock) {
  const stat = fs.lstatSync(lock, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  if (!stat.isFile()) {
    throw new InstallError(
      "FILE_IN_THE_WAY",
      `${lock} is not a file; no files were changed`,
      `move it away, then run this again: mv ${quoteWord(lock)} ${quoteWord(`${lock}.old`)}`,
    );
  }
  return { record: fs.readFileSync(lock, "latin1"), writtenMs: stat.mtimeMs };
}

/** @param {{record: string, writtenMs: number}} lock @returns {string | undefined} its holder, for people */
function findHolder({ record, writtenMs }) {
  const match = RECORD.exec(record);
  if (match === null) return Date.now() - writtenMs < WRITING_MS ? "just started" : undefined;
  const pid = Number(match[1]);
  if (pid === process.pid || !isAlive(pid)) return undefined;
  const [then, now] = [match[2] ?? "", readStartTime(pid)];
  return then !== "" && now !== "" && then !== now ? undefined : `pid ${pid}`;
}

/** @param {string} lock @param {string} record @returns {boolean} whether it is ours now */
function create(lock, record) {
  try {
    fs.writeFileSync(lock, record, { flag: "wx" });
    return true;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === "EEXIST") return false;
    throw error;
  }
}

/**
 * @template T @param {string} folder is created if it does not exist @param {() => T} work @returns {T}
 * @throws {InstallError} BUSY
 */
export function withLock(folder, work) {
  const lock = path.join(folder, LOCK);
  const record = `${process.pid} ${readStartTime(process.pid)}`.trim();
  fs.mkdirSync(folder, { recursive: true });
  if (!create(lock, record)) {
    const there = read(lock);
    const holder = there && findHolder(there);
    if (there && holder === undefined) removeIfOurs(lock, there.record);
    if (holder !== undefined || !create(lock, record)) {
      throw new InstallError(
        "BUSY",
        `an install or uninstall (${holder ?? "just started"}) is running in ${folder}`,
        `wait for it, then run this again; if no such process runs: rm ${quoteWord(lock)}`,
      );
    }
  }
  try {
    return work();
  } finally {
    removeIfOurs(lock, record);
  }
}
