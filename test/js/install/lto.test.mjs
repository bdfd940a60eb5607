// What binding.gyp is told about optimising the addon as a whole: a flag that works, or nothing.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("../../../js/install/lto.mjs", import.meta.url));

/** What it prints. It ends with 0, or this throws: gyp would give up the whole build. @param {NodeJS.ProcessEnv} [env] */
const printed = (env = {}) =>
  execFileSync(process.execPath, [script], {
    encoding: "utf8",
    env: { ...process.env, TAP_ADDON_LTO: "1", ...env },
  });

test("a clone is compiled without it, which takes less time", () => {
  assert.equal(printed({ TAP_ADDON_LTO: undefined }), "");
});

test("a compiler that can is told to", () => {
  assert.match(printed(), /^-flto(=2)?$/);
  assert.match(printed({ CXX: "g++ -O1" }), /^-flto(=2)?$/);
});

test("where it does not work nothing is said, and nothing fails", () => {
  assert.equal(printed({ CXX: "no-such-compiler" }), "");
  assert.equal(printed({ LDFLAGS: "-fuse-ld=no-such-linker" }), "");
  assert.equal(printed({ CXXFLAGS: "-no-such-flag" }), "");
  assert.equal(printed({ TMPDIR: "/no/such/folder" }), "");
});
