// Folders for the time of one test.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";

/** @type {string[]} */
const folders = [];

// After the tests, and not after each: what was started first is ended last, so that a host may still
// be writing when the test that it belongs to is over.
process.on("exit", () => {
  for (const folder of folders) fs.rmSync(folder, { recursive: true, force: true });
});

/** @param {import("node:test").TestContext} _t whose test it is for */
export function temporaryFolder(_t) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tap-"));
  folders.push(folder);
  return folder;
}
