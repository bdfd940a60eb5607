// One install or uninstall at a time in a folder: two could remove each other's releases. The lock says
// which process holds it and when that started, so that it ends with it, also where its pid is used again.
// Two that find the same stale lock in the same moment may both go on: it takes a killed install and two more.

import fs from "node:fs";
import path from "node:path";
import { removeIfOurs } from "../lib/host-files.mjs";
import { isAlive } from "../lib/process-liveness.mjs";
import { readStartTime } from "../lib/process-identity.mjs";
import { quoteWord } from "../lib/visible.mjs";
import { InstallError } from "./install-error.mjs";

const LOCK = ".install-lock";
const RECORD = /^([1-9]\d{0,9})(?: (\S+))?$/;
/** For so long one without a record may be one that is being written. */
const WRITING_MS = 10_000;

/** @param {string} lock @returns {{record: string, writtenMs: number} | undefined} undefined where it is gone */
function read(lock) {
  const stat = fs.lstatSync(lock, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  if (!stat.isFile()) {
    throw new InstallError(
      "FILE_IN_THE_WAY",
      `${lock} is not a file; nothing was changed`,
      `move it away, then run this again: mv ${quoteWord(lock)} ${quoteWord(`${lock}.old`)}`,
    );
  }
  return { record: fs.readFileSync(lock, "latin1"), writtenMs: stat.mtimeMs };
}

/** @param {{record: string, writtenMs: number}} lock @returns {string | undefined} who holds it */
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
 * @throws {InstallError} where another is at work
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
        `another install or uninstall (${holder ?? "just started"}) is at work in ${folder}`,
        `wait for it, then run this again; if there is none: rm ${quoteWord(lock)}`,
      );
    }
  }
  try {
    return work();
  } finally {
    removeIfOurs(lock, record);
  }
}
