// binding.gyp asks: `node js/install/lto.mjs` prints the flag with which compiler and linker optimise the
// addon as a whole, which makes it smaller and faster; nothing where they cannot (clang lacks its linker's
// plugin on many systems).

import { spawnSync } from "node:child_process";
import os from "node:os";
import path from "node:path";
import fs from "node:fs";

const FLAG = "-flto=auto";

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tap-lto-"));
try {
  // As make would call it: CXX may have arguments.
  const command = `${process.env.CXX || "g++"} ${FLAG} -shared -fPIC -x c++ - -o '${folder}/tried.so'`;
  const run = spawnSync(command, {
    shell: true,
    input: "int tried() { return 1; }",
    stdio: "pipe",
  });
  if (run.status === 0) process.stdout.write(FLAG);
} finally {
  fs.rmSync(folder, { recursive: true, force: true });
}
