// The system tools that compiling the native addon needs. Each is checked on its own, so that the missing
// ones can be named before anything is compiled.

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { findLibrary, LIBRARIES } from "./libraries.mjs";

/**
 * @typedef {object} BuildTool
 * @property {string} label for people
 * @property {string} apt the package of Debian and Ubuntu
 * @property {string} macos the command that installs it there
 * @property {() => boolean} isThere
 * @property {keyof typeof LIBRARIES} [library]
 */

/** Whether any of the commands runs. @param {(string | undefined)[]} commands @param {string[]} args @param {string} [input] */
function runs(commands, args, input) {
  return commands.some((command) => {
    if (!command) return false;
    const [program, ...own] = command.split(" ");
    return spawnSync(program, [...own, ...args], { input }).status === 0;
  });
}

const XCODE = "xcode-select --install";
/** `<=>` is the newest feature that the sources use. */
const CPP20 = "#include <compare>\nint main() { return (1 <=> 1) == 0 ? 0 : 1; }\n";

/** @type {BuildTool[]} */
const TOOLS = [
  {
    label: "a C++20 compiler (g++ 11, clang++ 14, or later)",
    apt: "g++",
    macos: XCODE,
    isThere: () =>
      runs(
        process.env.CXX ? [process.env.CXX] : ["g++", "c++", "clang++"],
        ["-std=c++20", "-x", "c++", "-fsyntax-only", "-"],
        CPP20,
      ),
  },
  {
    label: "make",
    apt: "make",
    macos: XCODE,
    isThere: () => runs([process.env.MAKE, "make", "gmake"], ["--version"]),
  },
  {
    label: "Python 3.8 or later",
    apt: "python3",
    macos: XCODE,
    isThere: () =>
      runs(
        [process.env.npm_config_python, process.env.PYTHON, "python3", "python"],
        ["-c", "import sys; sys.exit(sys.version_info < (3, 8))"],
      ),
  },
  {
    label: "PCRE2 (pcre2.h and its library)",
    apt: "libpcre2-dev",
    macos: "brew install pcre2",
    library: "pcre2",
    isThere: () => findLibrary("pcre2") !== undefined,
  },
  {
    label: "SQLite (sqlite3.h and its library)",
    apt: "libsqlite3-dev",
    macos: "brew install sqlite",
    library: "sqlite",
    isThere: () => findLibrary("sqlite") !== undefined,
  },
];
/** On Windows, node-gyp finds Visual Studio itself and reports missing parts. @returns {BuildTool[]} */
export function missingTools() {
  const isChecked = (/** @type {BuildTool} */ { library }) =>
    process.platform !== "win32" || library !== undefined;
  return TOOLS.filter((tool) => isChecked(tool) && !tool.isThere());
}

const isRoot = () => process.getuid?.() === 0;
export const hasApt = () => fs.existsSync("/usr/bin/apt-get");
/** Whether this process may install packages if the user requests it. */
export const canInstall = () => isRoot() && hasApt();

/** The commands that install them, for people to run. @param {BuildTool[]} missing @returns {string[]} */
export function commandsFor(missing) {
  if (process.platform === "win32") {
    return missing.flatMap(({ library }) => {
      if (library === undefined) return [];
      const { vcpkg, variable } = LIBRARIES[library];
      return `vcpkg install ${vcpkg}:x64-windows-static, and set ${variable} to its folder installed\\x64-windows-static`;
    });
  }
  if (process.platform === "darwin") return [...new Set(missing.map(({ macos }) => macos))];
  const sudo = isRoot() ? "" : "sudo ";
  const packages = missing.map(({ apt }) => apt).join(" ");
  if (hasApt()) return [`${sudo}apt-get update && ${sudo}apt-get install -y ${packages}`];
  return [`install your system's equivalents of Debian's ${packages}`];
}

/**
 * @param {BuildTool[]} missing @param {(message: string) => void} say
 * @returns {BuildTool[]} tools that are still missing
 */
export function aptInstall(missing, say) {
  const packages = missing.map(({ apt }) => apt);
  say(`installing ${packages.join(", ")} with apt-get, because TAP_INSTALL_DEPS=1 is set …`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const install = ["install", "-y", "--no-install-recommends", ...packages];
  // The lists of packages may be missing or old.
  for (const args of [install, ["update"], install]) {
    const run = spawnSync("apt-get", args, { env, encoding: "utf8" });
    if (args === install && run.status === 0) break;
    if (args !== install && run.status !== 0) say(`apt-get update failed: ${run.stderr.trim()}`);
  }
  return missing.filter(({ isThere }) => !isThere());
}
