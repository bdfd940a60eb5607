// How the user is told to type the command: short where that works, never by a path that an update takes away.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, test } from "node:test";
import { tapCommand } from "../../../js/lib/tap-command.mjs";
import { programFolder, version } from "../../../js/lib/paths.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

const ENTRY = path.join("js", "cli", "cli.mjs");

/** A folder on PATH. @param {import("node:test").TestContext} t */
function withPath(t) {
  const folder = fs.realpathSync(temporaryFolder(t));
  const bin = path.join(folder, "bin");
  fs.mkdirSync(bin);
  return { folder, bin, env: { PATH: bin, COPILOT_HOME: path.join(folder, "home") } };
}

/** @param {string} folder @param {object} manifest */
function package_(folder, manifest) {
  fs.mkdirSync(path.join(folder, "js", "cli"), { recursive: true });
  fs.writeFileSync(path.join(folder, ENTRY), "");
  fs.writeFileSync(path.join(folder, "package.json"), JSON.stringify(manifest));
  return path.join(folder, ENTRY);
}

describe("a line to copy", () => {
  test("is copilot-tap where that is this tap", (t) => {
    const { bin, env } = withPath(t);
    fs.symlinkSync(path.join(programFolder, ENTRY), path.join(bin, "copilot-tap"));
    const plain = { PATH: env.PATH };
    assert.equal(tapCommand(["allow", "/a b"], plain), "copilot-tap allow '/a b'");
  });

  test("also where it is the package of this version that this tap was installed from", (t) => {
    const { folder, bin } = withPath(t);
    const file = package_(path.join(folder, "lib"), { name: "copilot-tap", version });
    fs.symlinkSync(file, path.join(bin, "copilot-tap"));
    assert.equal(tapCommand(["doctor"], { PATH: bin }), "copilot-tap doctor");
  });

  for (const [what, manifest] of [
    ["another version of tap", { name: "copilot-tap", version: "0.0.1" }],
    ["another program", { name: "other", version }],
  ]) {
    test(`is node and a file where copilot-tap is ${what}`, (t) => {
      const { folder, bin } = withPath(t);
      fs.symlinkSync(package_(path.join(folder, "lib"), manifest), path.join(bin, "copilot-tap"));
      assert.match(tapCommand(["doctor"], { PATH: bin }), /^node \S+js\/cli\/cli\.mjs doctor$/);
    });
  }

  test("names the extension's folder where it is a link to this clone, and the home that is not usual", (t) => {
    const { env } = withPath(t);
    const tap = path.join(env.COPILOT_HOME, "extensions", "tap");
    assert.equal(
      tapCommand(["doctor"], env),
      `node ${path.join(programFolder, ENTRY).replace(`${os.homedir()}/`, "~/")} doctor --home ${env.COPILOT_HOME}`,
    );
    fs.mkdirSync(path.dirname(tap), { recursive: true });
    fs.symlinkSync(programFolder, tap);
    assert.equal(
      tapCommand(["doctor"], env),
      `node ${path.join(tap, ENTRY)} doctor --home ${env.COPILOT_HOME}`,
    );
  });

  test("of an installed release goes by its lasting name, with ~ for the user's folder", (t) => {
    const { folder } = withPath(t);
    const tap = path.join(folder, ".copilot", "extensions", "tap");
    const release = path.join(tap, "releases", "0.1.0-abc");
    fs.mkdirSync(release, { recursive: true });
    fs.cpSync(path.join(programFolder, "js"), path.join(release, "js"), { recursive: true });
    fs.copyFileSync(path.join(programFolder, "package.json"), path.join(release, "package.json"));
    fs.symlinkSync(release, path.join(tap, "current"));
    const script = `import { tapCommand } from ${JSON.stringify(path.join(release, "js/lib/tap-command.mjs"))};
      console.log(tapCommand(["allow", "/x"]));`;
    const run = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
      encoding: "utf8",
      env: { HOME: folder, PATH: "" },
    });
    assert.equal(
      run.stdout,
      "node ~/.copilot/extensions/tap/current/js/cli/cli.mjs allow /x\n",
      run.stderr,
    );
  });
});
