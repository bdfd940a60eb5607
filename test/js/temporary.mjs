// Folders for the time of one test.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";

/** @param {import("node:test").TestContext} t */
export function temporaryFolder(t) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tap-"));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}
