// binding.gyp asks: `node js/install/lto.mjs` prints the flag with which compiler and linker optimise the
// addon as a whole, which makes it smaller and faster; nothing where they cannot (clang lacks its linker's
// plugin on many systems, another linker may know nothing of it).

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

/** For gcc, with as many processes as node-gyp is told to use; for clang. */
const FLAGS = ["-flto=2", "-flto"];
const ANSWER = 7;

/** What is compiled and linked as make would do it is run, too. @param {string} flag @param {string} folder */
function works(flag, folder) {
  const { CXX = "g++", CXXFLAGS = "", LDFLAGS = "" } = process.env;
  const command = `${CXX} ${CXXFLAGS} ${flag} -x c++ - -o tried ${LDFLAGS}`;
  const input = `int main() { return ${ANSWER}; }`;
  const made = spawnSync(command, { shell: true, cwd: folder, input, stdio: "pipe" });
  if (made.status !== 0) return false;
  return spawnSync(path.join(folder, "tried"), { stdio: "ignore" }).status === ANSWER;
}

try {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tap-lto-"));
  try {
    process.stdout.write(FLAGS.find((flag) => works(flag, folder)) ?? "");
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
} catch {
  // It goes without.
}
