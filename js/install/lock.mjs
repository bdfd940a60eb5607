// One install or uninstall at a time in a folder: two could remove each other's releases. The lock says
// which process holds it and when that started, so that it ends with it, also where its pid is used again.

import fs from "node:fs";
import path from "node:path";
import { removeIfOurs } from "../lib/host-files.mjs";
import { isAlive } from "../lib/process-liveness.mjs";
import { readStartTime } from "../lib/process-identity.mjs";
import { quoteWord } from "../lib/visible.mjs";
import { InstallError } from "./install-error.mjs";

const LOCK = ".install-lock";
/** Whoever has this may remove a stale lock: two could remove each other's new one. */
const TAKEOVER = `${LOCK}.takeover`;
/** The temporary file of a process that takes the lock. */
const PART = /^\.install-lock\.(\d{1,10})$/;
const RECORD = /^([1-9]\d{0,9})(?: (\S+))?$/;
const MAX_RECORD = 64;
/** For so long one without a record may be one that is being written. */
const WRITING_MS = 10_000;
const ATTEMPTS = 5;
/** Where a file cannot have two names. */
const NO_LINKS = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);

/** @param {unknown} error @returns {string} */
const errorCode = (error) => /** @type {NodeJS.ErrnoException} */ (error)?.code ?? "";

/** @param {string} file @param {fs.Stats} stat @returns {string} its first bytes */
function readRecord(file, stat) {
  if (!stat.isFile()) {
    throw new InstallError(
      "FILE_IN_THE_WAY",
      `${file} is not a file; nothing was changed`,
      `move it away, then run this again: mv ${quoteWord(file)} ${quoteWord(`${file}.old`)}`,
    );
  }
  const descriptor = fs.openSync(file, "r");
  try {
    const bytes = Buffer.alloc(MAX_RECORD);
    return bytes.toString("latin1", 0, fs.readSync(descriptor, bytes, 0, MAX_RECORD, 0));
  } finally {
    fs.closeSync(descriptor);
  }
}

/** @param {string} file @returns {{record: string, writtenMs: number} | undefined} undefined where it is gone */
function read(file) {
  try {
    const stat = fs.lstatSync(file);
    return { record: readRecord(file, stat), writtenMs: stat.mtimeMs };
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
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

/** At once and in full, unless it is there. @param {string} part @param {string} lock @param {string} record */
function createFile(part, lock, record) {
  fs.rmSync(part, { force: true });
  try {
    fs.writeFileSync(part, record, { flag: "wx" });
    fs.linkSync(part, lock);
  } catch (error) {
    if (!NO_LINKS.has(errorCode(error))) throw error;
    fs.writeFileSync(lock, record, { flag: "wx" });
  } finally {
    fs.rmSync(part, { force: true });
  }
}

/** @param {() => void} work that makes a file @returns {boolean} whether it was there already */
function isThere(work) {
  try {
    work();
    return false;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return true;
    throw error;
  }
}

/**
 * Removes the lock if it is still stale once nobody else may remove it.
 * @param {string} folder @param {string} record @returns {string | undefined} who is doing so
 */
function removeStale(folder, record) {
  const [lock, takeover] = [path.join(folder, LOCK), path.join(folder, TAKEOVER)];
  if (isThere(() => createFile(`${lock}.${process.pid}`, takeover, record))) {
    const there = read(takeover);
    const holder = there && findHolder(there);
    if (there && holder === undefined) removeIfOurs(takeover, there.record);
    return holder;
  }
  try {
    const there = read(lock);
    if (there && findHolder(there) === undefined) fs.rmSync(lock, { force: true });
  } finally {
    removeIfOurs(takeover, record);
  }
  return undefined;
}

/** @param {string} folder @param {string} lock @param {string} record @throws {InstallError} */
function acquire(folder, lock, record) {
  let holder;
  for (let attempt = 0; attempt < ATTEMPTS && holder === undefined; attempt += 1) {
    if (!isThere(() => createFile(`${lock}.${process.pid}`, lock, record))) return;
    const there = read(lock);
    if (there !== undefined) holder = findHolder(there) ?? removeStale(folder, record);
  }
  throw new InstallError(
    "BUSY",
    `another install or uninstall (${holder ?? "just started"}) is at work in ${folder}`,
    `wait for it, then run this again; if there is none: rm ${quoteWord(lock)}`,
  );
}

/** Temporary files of processes that were killed while taking the lock. @param {string} folder */
function removeParts(folder) {
  for (const name of fs.readdirSync(folder)) {
    const pid = PART.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) {
      fs.rmSync(path.join(folder, name), { force: true });
    }
  }
  const takeover = path.join(folder, TAKEOVER);
  const there = read(takeover);
  if (there && findHolder(there) === undefined) removeIfOurs(takeover, there.record);
}

/**
 * @template T @param {string} folder is created if it does not exist @param {() => T} work @returns {T}
 * @throws {InstallError} where another is at work
 */
export function withLock(folder, work) {
  const lock = path.join(folder, LOCK);
  const record = `${process.pid} ${readStartTime(process.pid)}`.trim();
  fs.mkdirSync(folder, { recursive: true });
  acquire(folder, lock, record);
  try {
    removeParts(folder);
    return work();
  } finally {
    removeIfOurs(lock, record);
  }
}
