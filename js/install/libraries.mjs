// Finds the C libraries that the native addon is linked with. binding.gyp runs
// `node js/install/libraries.mjs <pcre2 or sqlite> <include, libraries, sources or defines>`.
//
// Searched in this order:
//   a variable     a folder with include/ and lib/; for Windows, where vcpkg makes such a folder
//   pkg-config     (PKG_CONFIG may name a different program), with PKG_CONFIG_PATH
//   Homebrew's folders, then the system's
// The static library is preferred, if it can be linked with an addon, which then has no dependency at run time.
// TAP_SQLITE_SOURCE names a folder with sqlite3.c, which releases are built from.

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

/**
 * @typedef {object} Library
 * @property {string} header
 * @property {string} variable its value is a folder
 * @property {string} pkgConfig the name there
 * @property {string} homebrew the name there
 * @property {string} vcpkg the name there
 * @property {string[]} windows names of the library's file, the static file first
 * @property {string} unix name of the library, after "lib"
 * @property {boolean} [sharedOnLinux] whether the static library there cannot be part of an addon
 */

/** @satisfies {Record<string, Library>} */
export const LIBRARIES = {
  pcre2: {
    header: "pcre2.h",
    variable: "TAP_PCRE2_DIR",
    pkgConfig: "libpcre2-8",
    homebrew: "pcre2",
    vcpkg: "pcre2",
    windows: ["pcre2-8-static.lib", "pcre2-8.lib"],
    unix: "pcre2-8",
  },
  sqlite: {
    header: "sqlite3.h",
    variable: "TAP_SQLITE_DIR",
    pkgConfig: "sqlite3",
    homebrew: "sqlite",
    vcpkg: "sqlite3",
    windows: ["sqlite3.lib"],
    unix: "sqlite3",
    sharedOnLinux: true, // Debian's static library is not position-independent
  },
};

/** For SQLite's amalgamation: without unused parts, and with each connection used by a single thread only. */
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

/** @param {Library} library @returns {string[]} the preferred name first */
function libraryNames({ windows, unix, sharedOnLinux }) {
  if (process.platform === "win32") return windows;
  const shared = process.platform === "darwin" ? `lib${unix}.dylib` : `lib${unix}.so`;
  const isStatic = process.platform === "darwin" || !sharedOnLinux;
  return isStatic ? [`lib${unix}.a`, shared] : [shared];
}

/** Debian's name of this machine, as in its folders of libraries. @type {Record<string, string>} */
const MACHINES = { x64: "x86_64", arm64: "aarch64", ia32: "i386" };

/** @param {string} folder @returns {{includes: string[], libs: string[]}} */
function under(folder) {
  const machine = `lib/${MACHINES[process.arch] ?? process.arch}-linux-gnu`;
  const libs = [machine, "lib64", "lib"].map((name) => path.join(folder, name));
  return { includes: [path.join(folder, "include")], libs };
}

/** @param {string} name @param {string} variable @returns {string[]} */
function pkgConfig(name, variable) {
  const command = process.env.PKG_CONFIG || "pkg-config";
  const run = spawnSync(command, [`--variable=${variable}`, name], { encoding: "utf8" });
  const folder = run.status === 0 ? run.stdout.trim() : "";
  return folder ? [folder] : [];
}

/** @param {Library} library @returns {Generator<{includes: string[], libs: string[]}>} */
function* places({ variable, pkgConfig: name, homebrew }) {
  const named = process.env[variable];
  if (named) yield under(named);
  yield { includes: pkgConfig(name, "includedir"), libs: pkgConfig(name, "libdir") };
  if (process.platform === "win32") return;
  const brewed = ["/opt/homebrew", "/usr/local"].map((base) => path.join(base, "opt", homebrew));
  for (const folder of [...brewed, "/usr/local", "/usr"]) yield under(folder);
}

/** @typedef {{include: string, libraries: string[], sources: string[], defines: string[]}} Found */

/** @param {keyof typeof LIBRARIES} name @returns {Found | undefined} */
export function findLibrary(name) {
  const folder = name === "sqlite" && process.env.TAP_SQLITE_SOURCE;
  if (folder) {
    const source = path.join(folder, "sqlite3.c");
    if (!fs.existsSync(source)) return undefined;
    return { include: folder, libraries: [], sources: [source], defines: DEFINES };
  }
  const library = LIBRARIES[name];
  for (const { includes, libs } of places(library)) {
    const include = includes.find((place) => fs.existsSync(path.join(place, library.header)));
    const file = libraryNames(library)
      .flatMap((fileName) => libs.map((place) => path.join(place, fileName)))
      .find((candidate) => fs.existsSync(candidate));
    if (include && file) return { include, libraries: [file], sources: [], defines: [] };
  }
  return undefined;
}

if (process.argv[1] && fs.realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const [name, part] = process.argv.slice(2);
  const found = findLibrary(/** @type {keyof typeof LIBRARIES} */ (name));
  const answer = found?.[/** @type {keyof Found} */ (part)];
  if (answer === undefined) {
    process.stderr.write(`${name} is missing: run node js/install/installer.mjs\n`);
    process.exitCode = 1;
  } else {
    process.stdout.write(`${[answer].flat().join(" ")}\n`);
  }
}
