// Finds PCRE2, which the native addon is linked with. binding.gyp asks on the command line:
// `node js/install/pcre2.mjs include` prints the folder of pcre2.h, `node js/install/pcre2.mjs library` the library.
// TAP_PCRE2_DIR names a folder that has it; on Windows, where vcpkg makes one:
// `vcpkg install pcre2:x64-windows-static`, then <vcpkg>\installed\x64-windows-static

import fs from "node:fs";
import { fileURLToPath } from "node:url";
import { findLibrary } from "./libraries.mjs";

export const findPcre2 = () =>
  findLibrary({
    header: "pcre2.h",
    variable: "TAP_PCRE2_DIR",
    pkgConfig: "libpcre2-8",
    homebrew: "pcre2",
    windows: ["pcre2-8-static.lib", "pcre2-8.lib"],
    unix: "pcre2-8",
  });

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
