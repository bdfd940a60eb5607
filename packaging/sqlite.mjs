// SQLite's amalgamation, which is compiled into a release. It comes from the npm package better-sqlite3, is
// checked, and cached in .cache.

import { createHash } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { execute } from "./stage.mjs";

const PACKAGE = "better-sqlite3@13.2.0";
const VERSION = "3.54.1";
/** SHA-256 of each file. */
const FILES = {
  "sqlite3.c": "75a4760a7b9727a4c4c877aec92eacf39e52a8f2921ce00bd33be6d3a8e8e254",
  "sqlite3.h": "d6c84557261893439b341d2e6c35187ae3ea24fbfd843ad94616f72d89242b8c",
};

/** @param {string} folder @returns {string[]} missing files, and files with a wrong hash */
const wrongFiles = (folder) =>
  Object.entries(FILES)
    .filter(([name, digest]) => {
      const file = path.join(folder, name);
      if (!fs.existsSync(file)) return true;
      return createHash("sha256").update(fs.readFileSync(file)).digest("hex") !== digest;
    })
    .map(([name]) => name);

/** @param {string} folder */
function fetchInto(folder) {
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "tap-sqlite-"));
  try {
    const npm = process.platform === "win32" ? "npm.cmd" : "npm";
    execute(npm, ["pack", PACKAGE, "--silent", "--ignore-scripts"], scratch);
    const [tarball] = fs.readdirSync(scratch);
    execute("tar", ["-xzf", tarball], scratch);
    fs.mkdirSync(folder, { recursive: true });
    for (const name of Object.keys(FILES)) {
      const from = path.join(scratch, "package", "deps", "sqlite3", name);
      fs.copyFileSync(from, path.join(folder, name));
    }
  } finally {
    fs.rmSync(scratch, { recursive: true, force: true });
  }
}

/**
 * Puts the amalgamation into a folder.
 * @param {string} root @param {string} folder
 */
export function copyAmalgamation(root, folder) {
  const kept = path.join(root, ".cache", `sqlite-${VERSION}`);
  if (wrongFiles(kept).length > 0) fetchInto(kept);
  const wrong = wrongFiles(kept);
  if (wrong.length > 0) throw new Error(`${PACKAGE} has an unexpected ${wrong.join(", ")}`);
  fs.cpSync(kept, folder, { recursive: true });
}
