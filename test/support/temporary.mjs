// Folders for the time of a test.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";

/** @type {string[]} */
const folders = [];

// After the tests, and not after each: processes that were started first end last, so that a host may still
// be writing when the test that it belongs to is over.
process.on("exit", () => {
  for (const folder of folders) remove(folder);
});

const ATTEMPTS = 100;
const PAUSE_MS = 100;

/** A host whose gateway was killed takes a moment to end, and writes its last files until then. @param {string} folder */
function remove(folder) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      fs.rmSync(folder, { recursive: true, force: true });
      return;
    } catch (error) {
      const isWritten = /** @type {NodeJS.ErrnoException} */ (error).code === "ENOTEMPTY";
      if (!isWritten || attempt === ATTEMPTS) throw error;
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
  }
}

/** @param {import("node:test").TestContext} _t whose test it is for */
export function temporaryFolder(_t) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tap-"));
  folders.push(folder);
  return folder;
}
