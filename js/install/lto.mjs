// binding.gyp asks: with TAP_ADDON_LTO=1, which a release sets, `node js/install/lto.mjs` prints the flag by which
// compiler and linker optimise the addon as a whole. That makes it smaller, and takes a third more time.
// It prints nothing where they cannot (clang lacks its linker's plugin on many systems).

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

/** For gcc, with as many processes as node-gyp is told to use; for clang. */
const FLAGS = ["-flto=2", "-flto"];
const ANSWER = 7;

/** Compiles, links and runs a program, as make would. @param {string} flag @param {string} folder */
function works(flag, folder) {
  const { CXX = "g++", CXXFLAGS = "", LDFLAGS = "" } = process.env;
  const command = `${CXX} ${CXXFLAGS} ${flag} -x c++ - -o tried ${LDFLAGS}`;
  const input = `int main() { return ${ANSWER}; }`;
  const made = spawnSync(command, { shell: true, cwd: folder, input, stdio: "pipe" });
  if (made.status !== 0) return false;
  return spawnSync(path.join(folder, "tried"), { stdio: "ignore" }).status === ANSWER;
}

function print() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tap-lto-"));
  try {
    process.stdout.write(FLAGS.find((flag) => works(flag, folder)) ?? "");
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

if (process.env.TAP_ADDON_LTO === "1") {
  try {
    print();
  } catch {
    // The addon is compiled without it.
  }
}
