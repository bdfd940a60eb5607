// Finds a C library that the native addon is linked with.
//
// Looked at, in this order:
//   a variable     names a folder with include/ and lib/; the way to go on Windows, where vcpkg makes one
//   pkg-config     (PKG_CONFIG names another program), so also PKG_CONFIG_PATH
//   Homebrew's folders, then the system's
// The static library is preferred, if it can be linked with an addon: that then needs nothing at run time.

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

/** @typedef {{include: string, library: string}} LibraryPaths */
/**
 * @typedef {object} Library
 * @property {string} header
 * @property {string} variable its value is a folder
 * @property {string} pkgConfig the name there
 * @property {string} homebrew the name there
 * @property {string[]} windows names of the library's file, the static one's first
 * @property {string} unix name of the library, after "lib"
 * @property {boolean} [sharedOnLinux] whether the static library there cannot be part of an addon
 */

/** @param {Library} library @returns {string[]} the preferred name first */
function libraryNames({ windows, unix, sharedOnLinux }) {
  if (process.platform === "win32") return windows;
  if (process.platform === "darwin") return [`lib${unix}.a`, `lib${unix}.dylib`];
  return sharedOnLinux ? [`lib${unix}.so`] : [`lib${unix}.a`, `lib${unix}.so`];
}

/** @param {string} folder @returns {string[]} where a library may be under it */
function libraryFolders(folder) {
  const lib = path.join(folder, "lib");
  const names = fs.existsSync(lib) ? fs.readdirSync(lib) : [];
  const multiarch = names.filter((name) => /-linux-gnu/.test(name)).sort(nativeFirst);
  return [...multiarch.map((name) => path.join(lib, name)), path.join(folder, "lib64"), lib];
}

/** Of several architectures' folders, the one of this process comes first. @type {(a: string, b: string) => number} */
function nativeFirst(a, b) {
  /** @type {Record<string, string>} */
  const machines = { x64: "x86_64", arm64: "aarch64", ia32: "i386" };
  const machine = machines[process.arch] ?? process.arch;
  return Number(b.startsWith(machine)) - Number(a.startsWith(machine));
}

/** @param {string} folder @returns {{includes: string[], libs: string[]}} */
function under(folder) {
  return { includes: [path.join(folder, "include")], libs: libraryFolders(folder) };
}

/** @param {string} name @param {string} variable @returns {string[]} */
function pkgConfig(name, variable) {
  const command = process.env.PKG_CONFIG || "pkg-config";
  const run = spawnSync(command, [`--variable=${variable}`, name], { encoding: "utf8" });
  const folder = run.status === 0 ? run.stdout.trim() : "";
  return folder ? [folder] : [];
}

/** @param {Library} library @returns {Generator<{includes: string[], libs: string[]}>} */
function* places(library) {
  const named = process.env[library.variable];
  if (named) yield under(named);
  yield {
    includes: pkgConfig(library.pkgConfig, "includedir"),
    libs: pkgConfig(library.pkgConfig, "libdir"),
  };
  if (process.platform === "win32") return;
  for (const folder of ["/opt/homebrew", "/usr/local"]) {
    yield under(path.join(folder, "opt", library.homebrew));
  }
  yield under("/usr/local");
  yield under("/usr");
}

/** @param {Library} library @returns {LibraryPaths | undefined} */
export function findLibrary(library) {
  const names = libraryNames(library);
  for (const { includes, libs } of places(library)) {
    const include = includes.find((folder) => fs.existsSync(path.join(folder, library.header)));
    const file = names
      .flatMap((name) => libs.map((folder) => path.join(folder, name)))
      .find((one) => fs.existsSync(one));
    if (include && file) return { include, library: file };
  }
  return undefined;
}
