// `npm install` before it compiles: what the system lacks is named, each thing by itself, and nothing is
// installed that nobody asked for. And when compiling fails: what the compiler said.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { chooseUnit } from "../../../js/install/addon-units.mjs";
import { findErrors } from "../../../js/install/node-gyp.mjs";
import { nextSteps } from "../../../js/install/installer.mjs";
import { REPO_ROOT } from "../../support/cli.mjs";

const isRoot = process.getuid?.() === 0;
const hasApt = fs.existsSync("/usr/bin/apt-get");

/** A clone in which nothing has been built. @param {import("node:test").TestContext} t @param {string} source of its addon */
function clone(t, source = "") {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tap-installer-"));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  for (const part of ["js/install", "js/lib", "package.json", "binding.gyp"]) {
    fs.cpSync(path.join(REPO_ROOT, part), path.join(folder, part), { recursive: true });
  }
  fs.symlinkSync(path.join(REPO_ROOT, "node_modules"), path.join(folder, "node_modules"));
  const list = fs.readFileSync(path.join(REPO_ROOT, "native", "sources.gypi"), "utf8");
  const gyp = fs.readFileSync(path.join(REPO_ROOT, "binding.gyp"), "utf8");
  for (const [, file] of (list + gyp).matchAll(/'([\w/]+\.cc)'/g)) {
    fs.mkdirSync(path.dirname(path.join(folder, "native", file)), { recursive: true });
    fs.writeFileSync(path.join(folder, "native", file), source);
  }
  fs.writeFileSync(path.join(folder, "native", "sources.gypi"), list);
  return folder;
}

/** @param {string} folder @param {NodeJS.ProcessEnv} [env] */
function install(folder, env = {}) {
  const script = path.join(folder, "js", "install", "installer.mjs");
  const run = spawnSync(process.execPath, [script], {
    encoding: "utf8",
    env: { ...process.env, TAP_INSTALL_DEPS: undefined, CXX: undefined, ...env },
  });
  return { status: run.status, said: run.stderr };
}

/** A folder for PATH that has an apt-get, which only notes what it was asked. @param {string} folder */
function pathWithApt(folder) {
  const bin = path.join(folder, "bin");
  const asked = path.join(folder, "asked");
  fs.mkdirSync(bin);
  fs.writeFileSync(path.join(bin, "apt-get"), `#!/bin/sh\necho "$@" >> ${asked}\n`, {
    mode: 0o755,
  });
  return { bin, asked: () => (fs.existsSync(asked) ? fs.readFileSync(asked, "utf8") : "") };
}

test("what is missing is named, each by itself, before anything is compiled", (t) => {
  const folder = clone(t);
  const { bin, asked } = pathWithApt(folder);
  const { status, said } = install(folder, { PATH: bin });
  assert.equal(status, 1);
  assert.match(
    said,
    /this machine lacks:\ntap: {3}a C\+\+20 compiler .*\ntap: {3}make\ntap: {3}Python 3/,
  );
  assert.match(said, /A release needs no compiler/);
  assert.doesNotMatch(said, /PCRE2|gyp|compiling 1/);
  if (hasApt) assert.match(said, /apt-get install -y g\+\+ make python3$/m);
  if (hasApt && !isRoot) assert.match(said, /sudo apt-get/);
  assert.equal(asked(), "", "nothing is installed that nobody asked for");
});

test("one thing that is missing is the one that is named", (t) => {
  const folder = clone(t);
  const { bin } = pathWithApt(folder);
  for (const tool of ["g++", "python3"]) {
    fs.writeFileSync(path.join(bin, tool), "#!/bin/sh\nexit 0\n", { mode: 0o755 });
  }
  const { said } = install(folder, { PATH: bin });
  assert.match(said, /this machine lacks:\ntap: {3}make\ntap: Install/);
});

test("a compiler that knows no C++20 is not one", (t) => {
  const folder = clone(t);
  const { bin } = pathWithApt(folder);
  fs.writeFileSync(path.join(bin, "old-g++"), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
  const { said } = install(folder, { CXX: path.join(bin, "old-g++") });
  assert.match(said, /lacks:\ntap: {3}a C\+\+20 compiler/);
});

test("root has it installed with TAP_INSTALL_DEPS=1, and is told of that", (t) => {
  const folder = clone(t);
  const { bin, asked } = pathWithApt(folder);
  const without = install(folder, { PATH: bin });
  const { status, said } = install(folder, { PATH: bin, TAP_INSTALL_DEPS: "1" });
  assert.equal(status, 1, "this apt-get brings nothing");
  if (isRoot && hasApt) {
    assert.match(without.said, /With TAP_INSTALL_DEPS=1 /);
    assert.match(said, /installing g\+\+, make, python3 with apt-get/);
    assert.match(asked(), /^install -y --no-install-recommends g\+\+ make python3$/m);
  } else {
    assert.doesNotMatch(said, /with apt-get/);
    assert.equal(asked(), "");
  }
});

test("of a failed compile the first errors are shown, and the log is named", (t) => {
  const folder = clone(t, "#error this header is broken\n");
  const { status, said } = install(folder);
  assert.equal(status, 1);
  assert.match(
    said,
    /does not compile. The first errors:\ntap: {3}.*error: .*this header is broken/,
  );
  assert.ok(said.split("\n").length < 20, said);
  const log = path.join(folder, "build", "compile.log");
  assert.ok(said.includes(log));
  assert.match(fs.readFileSync(log, "utf8"), /gyp info/);
});

test("errors are found in what compilers, linkers and node-gyp say, each once", () => {
  const output = [
    "../native/a.cc:3:1: error: expected ';'",
    "../native/a.cc:3:1: error: expected ';'",
    "a.cc:1:10: fatal error: no.h: No such file or directory",
    "native\\a.cc(3): error C2143: syntax error",
    "a.o: undefined reference to `x'",
    "gyp ERR! find Python Python is not set",
    "gyp info ok",
  ].join("\n");
  assert.equal(findErrors(output).length, 5);
  assert.deepEqual(findErrors("only\nthis\n"), ["only", "this"]);
});

test("each source is in one unit, and what a call passes is compiled for speed", () => {
  const list = fs.readFileSync(path.join(REPO_ROOT, "native", "sources.gypi"), "utf8");
  const sources = [...list.matchAll(/'([^']+\.cc)'/g)].map(([, source]) => source);
  const hot = sources.filter((source) => chooseUnit(source) === "hot");
  for (const source of ["gateway/calls/calls.cc", "ws/frame_parser.cc", "base/json_scanner.cc"]) {
    assert.ok(hot.includes(source), source);
  }
  for (const source of ["plan/engine.cc", "records/store.cc", "gateway/control/inspection.cc"]) {
    assert.ok(sources.includes(source), source);
    assert.equal(chooseUnit(source), "cold");
  }
  const bytes = (/** @type {string[]} */ some) =>
    some.reduce((sum, one) => sum + fs.statSync(path.join(REPO_ROOT, "native", one)).size, 0);
  const share = bytes(hot) / bytes(sources);
  assert.ok(share > 0.3 && share < 0.7, `both cores are busy: ${share}`);
});

test("the next steps begin with the link, where the CLI would not find this tap", (t) => {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), "tap-installer-"));
  t.after(() => fs.rmSync(home, { recursive: true, force: true }));
  const folder = path.join(home, "src", "tap");
  const place = path.join(home, "extensions", "tap");
  fs.mkdirSync(folder, { recursive: true });
  fs.mkdirSync(path.dirname(place));
  const link = `to use this tap in the CLI, make ${place} a symbolic link to ${folder} (its tests do not need that)`;
  const steps = nextSteps({ COPILOT_HOME: home }, folder);
  assert.deepEqual([steps.length, steps[0]], [3, link]);
  fs.symlinkSync(folder, place);
  assert.deepEqual(nextSteps({ COPILOT_HOME: home }, folder), steps.slice(1));
  const projects = path.join(home, "shop", ".github", "extensions", "tap");
  assert.match(nextSteps({ COPILOT_HOME: home }, projects)[0], /^next: start `copilot/);
  assert.deepEqual(nextSteps({ npm_config_global: "true" }), ["next: copilot-tap install"]);
});
