// Finds PCRE2, which the native addon is linked with. binding.gyp asks on the command line:
// `node js/install/pcre2.mjs include` prints the folder of pcre2.h, `node js/install/pcre2.mjs library` the library.
//
// Looked at, in this order:
//   TAP_PCRE2_DIR  a folder with include/ and lib/; the way to go on Windows, where vcpkg makes one:
//                  `vcpkg install pcre2:x64-windows-static`, then <vcpkg>\installed\x64-windows-static
//   pkg-config     (PKG_CONFIG names another program), so also PKG_CONFIG_PATH
//   Homebrew's folders, then the system's
// The static library is preferred: a built addon then needs nothing at run time.

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

/** @typedef {{include: string, library: string}} Pcre2 */

/** @returns {string[]} the static library's name first */
function libraryNames() {
  if (process.platform === "win32") return ["pcre2-8-static.lib", "pcre2-8.lib"];
  return ["libpcre2-8.a", process.platform === "darwin" ? "libpcre2-8.dylib" : "libpcre2-8.so"];
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

/** @param {string} variable @returns {string[]} */
function pkgConfig(variable) {
  const command = process.env.PKG_CONFIG || "pkg-config";
  const run = spawnSync(command, [`--variable=${variable}`, "libpcre2-8"], { encoding: "utf8" });
  const folder = run.status === 0 ? run.stdout.trim() : "";
  return folder ? [folder] : [];
}

/** @returns {Generator<{includes: string[], libs: string[]}>} */
function* places() {
  if (process.env.TAP_PCRE2_DIR) yield under(process.env.TAP_PCRE2_DIR);
  yield { includes: pkgConfig("includedir"), libs: pkgConfig("libdir") };
  if (process.platform === "win32") return;
  for (const folder of ["/opt/homebrew/opt/pcre2", "/usr/local/opt/pcre2", "/usr/local", "/usr"]) {
    yield under(folder);
  }
}

/** @returns {Pcre2 | undefined} */
export function findPcre2() {
  const names = libraryNames();
  for (const { includes, libs } of places()) {
    const include = includes.find((folder) => fs.existsSync(path.join(folder, "pcre2.h")));
    const library = names
      .flatMap((name) => libs.map((folder) => path.join(folder, name)))
      .find((file) => fs.existsSync(file));
    if (include && library) return { include, library };
  }
  return undefined;
}

/** The command that installs it here, for people to run. @returns {string} */
export function pcre2Hint() {
  if (process.platform === "win32") {
    return "vcpkg install pcre2:x64-windows-static, and set TAP_PCRE2_DIR to its folder installed\\x64-windows-static";
  }
  if (process.platform === "darwin") return "brew install pcre2";
  if (fs.existsSync("/usr/bin/apt-get")) {
    return "sudo apt-get update && sudo apt-get install -y libpcre2-dev";
  }
  return "install the development package of PCRE2 (Fedora: dnf install pcre2-devel), or set TAP_PCRE2_DIR";
}

if (process.argv[1] && fs.realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const found = findPcre2();
  const asked = process.argv[2];
  if (found && (asked === "include" || asked === "library")) {
    process.stdout.write(`${found[asked]}\n`);
  } else {
    process.stderr.write(found ? "include or library?\n" : `PCRE2 is missing: ${pcre2Hint()}\n`);
    process.exitCode = 1;
  }
}
