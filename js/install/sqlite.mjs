// Finds SQLite, which the native addon is linked with. binding.gyp asks on the command line:
// `node js/install/sqlite.mjs include` prints the folder of sqlite3.h, the other words what
// is linked or compiled, and how.
//
// TAP_SQLITE_SOURCE names a folder with sqlite3.c, as a release is built from; else TAP_SQLITE_DIR
// one with include and lib. On Windows vcpkg makes that: `vcpkg install sqlite3:x64-windows-static`,
// then <vcpkg>\installed\x64-windows-static

import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { findLibrary } from "./libraries.mjs";

/**
 * Of the amalgamation: without what tap does not use, and for connections that each belong to one thread.
 */
export const DEFINES = [
  "SQLITE_DEFAULT_MEMSTATUS=0",
  "SQLITE_DQS=0",
  ...["COMPILEOPTION_DIAGS", "COMPLETE", "DECLTYPE", "DEPRECATED", "DESERIALIZE", "GET_TABLE"].map(
    (part) => `SQLITE_OMIT_${part}`,
  ),
  ...[
    "INCRBLOB",
    "LOAD_EXTENSION",
    "LOCALTIME",
    "SHARED_CACHE",
    "TCL_VARIABLE",
    "TRACE",
    "UTF16",
  ].map((part) => `SQLITE_OMIT_${part}`),
  "SQLITE_THREADSAFE=2",
  "SQLITE_UNTESTABLE",
];

/** @typedef {{include: string, libraries: string[], sources: string[], defines: string[]}} Sqlite */

/** @returns {Sqlite | undefined} */
export function findSqlite() {
  const folder = process.env.TAP_SQLITE_SOURCE;
  if (folder) {
    const source = path.join(folder, "sqlite3.c");
    return fs.existsSync(source)
      ? { include: folder, libraries: [], sources: [source], defines: DEFINES }
      : undefined;
  }
  const found = findLibrary({
    header: "sqlite3.h",
    variable: "TAP_SQLITE_DIR",
    pkgConfig: "sqlite3",
    homebrew: "sqlite",
    windows: ["sqlite3.lib"],
    unix: "sqlite3",
    sharedOnLinux: true, // Debian's static one is not position-independent
  });
  return found && { include: found.include, libraries: [found.library], sources: [], defines: [] };
}

/** The command that installs it here, for people to run. @returns {string} */
export function sqliteHint() {
  if (process.platform === "win32") {
    return "vcpkg install sqlite3:x64-windows-static, and set TAP_SQLITE_DIR to its folder installed\\x64-windows-static";
  }
  if (process.platform === "darwin") return "brew install sqlite";
  if (fs.existsSync("/usr/bin/apt-get")) {
    return "sudo apt-get update && sudo apt-get install -y libsqlite3-dev";
  }
  return "install the development package of SQLite (Fedora: dnf install sqlite-devel), or set TAP_SQLITE_DIR";
}

if (process.argv[1] && fs.realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const found = findSqlite();
  const asked = process.argv[2];
  if (found && asked && Object.hasOwn(found, asked)) {
    const answer = found[/** @type {keyof Sqlite} */ (asked)];
    process.stdout.write(`${[answer].flat().join(" ")}\n`);
  } else {
    const known = "include, libraries, sources or defines?";
    const problem = found ? known : `SQLite is missing: ${sqliteHint()}`;
    process.stderr.write(`${problem}\n`);
    process.exitCode = 1;
  }
}
