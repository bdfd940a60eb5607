// Retries renames that Windows refuses for a moment, because a scanner has the new files open.

import fs from "node:fs";

const PATIENCE_MS = 2000;
const PAUSE_MS = 50;
const FOR_A_MOMENT = new Set(["EPERM", "EBUSY", "EACCES"]);

/** @param {string} from @param {string} to */
export function renamePatiently(from, to, platform = process.platform) {
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      fs.renameSync(from, to);
      return;
    } catch (error) {
      const { code } = /** @type {NodeJS.ErrnoException} */ (error);
      const mayPass = platform === "win32" && FOR_A_MOMENT.has(code ?? "");
      if (!mayPass || performance.now() >= end) throw error;
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
  }
}
