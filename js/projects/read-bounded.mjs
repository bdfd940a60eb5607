// Reads a file that somebody else may have made.

import fs from "node:fs";

/**
 * Never waits on a pipe and never reads more than it may.
 * @param {string} file @param {number} most bytes @param {string} tooLarge for the error
 * @returns {Buffer | undefined} undefined where there is no such file
 */
export function readBounded(file, most, tooLarge) {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  if (!stat) return undefined;
  if (!stat.isFile()) throw new Error("expected a file");
  const handle = fs.openSync(file, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
  try {
    const buffer = Buffer.alloc(most + 1);
    let length = 0;
    for (let read = 1; read > 0 && length < buffer.length; length += read) {
      read = fs.readSync(handle, buffer, length, buffer.length - length, null);
    }
    if (length > most) throw new Error(tooLarge);
    return buffer.subarray(0, length);
  } finally {
    fs.closeSync(handle);
  }
}
