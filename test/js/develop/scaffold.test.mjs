// `new`: what it writes is run.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, test } from "node:test";
import { createProject } from "../../../js/develop/scaffold.mjs";
import { pythonForSdk } from "../../../tools/setup.mjs";
import { root } from "../../../tools/commands.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { tap } from "../../support/cli-process.mjs";
import { CLI, Program, surroundings } from "./program.mjs";

const python = await pythonForSdk();

/** @param {string} workspace @param {string[]} args */
const make = (workspace, ...args) => tap(["new", ...args], { workspace, env: surroundings() });

describe("new", () => {
  test("node: its provider and test run at once", async (t) => {
    const folder = temporaryFolder(t);
    const made = new Program(t, process.execPath, [CLI, "new", "node", "my-weather"], folder);
    assert.equal(await made.end(), 0, made.output);
    assert.match(made.output, /npm test/);
    const project = path.join(folder, "my-weather");
    assert.match(made.output, /^tool: my_weather_greet – try: copilot-tap call my_weather_greet /m);
    assert.ok(existsSync(path.join(project, ".gitignore")));
    const tested = new Program(t, "npm", ["test"], project);
    assert.equal(await tested.end(), 0, tested.output);
    assert.match(tested.output, /pass 2/);
  });

  test("python: its provider and test run at once", async (t) => {
    assert.ok(python, "a Python with websockets, jsonschema and pytest");
    const folder = temporaryFolder(t);
    const made = await make(folder, "python", "my-weather");
    assert.equal(made.code, 0, made.err);
    const project = path.join(folder, "my-weather");
    const tested = new Program(t, python, ["-m", "pytest", "-q"], project);
    assert.equal(await tested.end(), 0, tested.output);
    assert.match(tested.output, /1 passed/);
  });

  for (const [language, command, wanted] of /** @type {[string, string[], RegExp][]} */ ([
    ["node", ["npm", "test"], /pass 2/],
    ["python", [String(python), "-m", "pytest", "-q"], /1 passed/],
  ])) {
    test(`${language}: what is committed of it names no place, and runs on another machine`, async (t) => {
      const folder = temporaryFolder(t);
      createProject(language, "shared", folder);
      const project = path.join(folder, "shared");
      const git = (...args) =>
        execFileSync("git", ["-c", "user.name=x", "-c", "user.email=x@x", ...args], {
          cwd: project,
        });
      git("init", "--quiet");
      git("add", ".");
      git("commit", "--quiet", "-m", "x");
      const committed = git("ls-files").toString().trim().split("\n");
      for (const file of committed) {
        const text = readFileSync(path.join(project, file), "utf8");
        for (const place of [root, folder, os.homedir()]) assert.ok(!text.includes(place), file);
      }
      const clone = path.join(folder, "clone");
      execFileSync("git", ["clone", "--quiet", project, clone]);
      assert.ok(!existsSync(path.join(clone, "node_modules")));
      assert.ok(!existsSync(path.join(clone, "copilot_tap")));
      const home = path.join(folder, "home");
      mkdirSync(path.join(home, "extensions"), { recursive: true });
      symlinkSync(root, path.join(home, "extensions", "tap"));
      const [program, ...args] = command;
      const tested = new Program(t, program, args, clone, { COPILOT_HOME: home });
      assert.equal(await tested.end(), 0, tested.output);
      assert.match(tested.output, wanted);
      const nowhere = { COPILOT_HOME: path.join(folder, "empty") };
      const start =
        language === "node" ? ["node", "provider.mjs"] : [String(python), "provider.py"];
      const lost = new Program(t, start[0], start.slice(1), clone, nowhere);
      assert.equal(await lost.end(), 1);
      assert.match(lost.output, /tap is not in .*empty.*: install it, or set TAP_FOLDER/);
    });
  }

  test("overwrites nothing", async (t) => {
    const folder = temporaryFolder(t);
    mkdirSync(path.join(folder, "there"));
    const made = await make(folder, "node", "there");
    assert.equal(made.code, 1);
    assert.match(made.err, /there exists already: choose a different name/);
    assert.deepEqual(readdirSync(path.join(folder, "there")), []);
  });

  test("says where to go if it cannot make the folder", async (t) => {
    const file = path.join(temporaryFolder(t), "file");
    writeFileSync(file, "");
    await assert.rejects(
      async () => createProject("node", "die", file),
      /die cannot be made \(ENOTDIR\): go to a folder in which you can write/,
    );
  });

  for (const name of ["../x", "A", "9lives", "a--b", "a b", "", "x".repeat(41), "wetter-ü"]) {
    test(`refuses the name ${JSON.stringify(name.slice(0, 12))}`, async (t) => {
      const made = await make(temporaryFolder(t), "python", name);
      assert.equal(made.code, 2);
      assert.match(made.err, /invalid provider name ".*": use a-z, 0-9/);
    });
  }

  test("says which languages there are", async (t) => {
    for (const args of [[], ["cobol", "x"], ["node"], ["node", "a", "b"]]) {
      const made = await make(temporaryFolder(t), ...args);
      assert.equal(made.code, 2, made.err);
      assert.match(made.err, /usage: copilot-tap new <language> <name>/);
    }
  });
});
