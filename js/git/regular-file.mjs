// Files that somebody else may have made: an agent, in its worktree or in the repository.

import { constants } from "node:fs";
import fs from "node:fs/promises";

/** The clock of files may be behind by so much. */
export const CLOCK_MS = 100;

/** @param {Promise<unknown>} look */
const succeeds = (look) =>
  look.then(
    () => true,
    () => false,
  );

/** Also by a link. @param {string} file */
export const exists = (file) => succeeds(fs.access(file));

/** Also a link that leads nowhere. @param {string | Buffer} file */
export const isThere = (file) => succeeds(fs.lstat(file));

const FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
const MOST = 1024 * 1024;

/**
 * Never waits for the other end of a pipe, which would hold one of the few threads for files, and never reads more
 * than it may.
 * @param {string | Buffer} file @param {number} [most] bytes @param {BufferEncoding} [encoding]
 * @returns {Promise<string>} rejected where it is no regular file, or longer
 */
export async function readRegular(file, most = MOST, encoding = "utf8") {
  const handle = await fs.open(file, FLAGS);
  try {
    const stat = await handle.stat();
    if (!stat.isFile() || stat.size > most) {
      throw new Error(`"${file}" is not a regular file, or too long`);
    }
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(stat.size), 0, stat.size, 0);
    return buffer.toString(encoding, 0, bytesRead);
  } finally {
    await handle.close();
  }
}
