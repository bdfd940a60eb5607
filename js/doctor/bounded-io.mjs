// Operations that may hang, with a limit on time and size.

import fs from "node:fs";

const MAX_JSON_BYTES = 64 * 1024;

/**
 * @template T, F
 * @param {Promise<T>} promise @param {number} ms @param {F} instead the result after a timeout
 * @returns {Promise<T | F>}
 */
export function withTimeout(promise, ms, instead) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(instead), ms);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** The first bytes of a regular file; empty if there is no such file. @param {string} file @param {number} bytes */
export const readHead = (file, bytes) => readPart(file, bytes, () => 0);

/** The last bytes of a regular file. @param {string} file @param {number} bytes */
export const readTail = (file, bytes) => readPart(file, bytes, (size) => Math.max(0, size - bytes));

/**
 * Does not block on a pipe.
 * @param {string} file @param {number} bytes @param {(size: number) => number} from
 */
function readPart(file, bytes, from) {
  let handle;
  try {
    if (!fs.statSync(file).isFile()) return "";
    handle = fs.openSync(file, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
    const { size } = fs.fstatSync(handle);
    const buffer = Buffer.alloc(Math.min(size, bytes));
    const length = fs.readSync(handle, buffer, 0, buffer.length, from(size));
    return buffer.toString("utf8", 0, length);
  } catch {
    return "";
  } finally {
    if (handle !== undefined) fs.closeSync(handle);
  }
}

/** A JSON file of tap's, or undefined. @param {string} file @returns {any} */
export function readJson(file) {
  try {
    return JSON.parse(readTail(file, MAX_JSON_BYTES));
  } catch {
    return undefined;
  }
}

/** The names in a folder, sorted. @param {string} folder @returns {string[]} */
export const listNames = (folder) => {
  try {
    return fs.readdirSync(folder).sort();
  } catch {
    return [];
  }
};
