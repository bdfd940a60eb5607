// The doctor, where Node.js or the CLI is broken: each test breaks one thing.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, test } from "node:test";
import { programFolder } from "../../../js/lib/paths.mjs";
import { copyOfProject } from "../../support/tap.mjs";
import { withTimeout } from "../../support/wait.mjs";
import {
  diagnoseWith,
  fakeProgram,
  linkBwrap,
  Place,
  staged,
  TESTED_CLIS,
  WELL,
} from "./doctor-place.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

/** PATH without a node, but with what shells and scripts need. @param {import("node:test").TestContext} t */
function pathWithoutNode(t) {
  const folder = temporaryFolder(t);
  for (const name of ["sh", "bash", "echo", "sleep"]) {
    const [there] = ["/bin", "/usr/bin"].map((at) => path.join(at, name)).filter(fs.existsSync);
    if (there) fs.symlinkSync(there, path.join(folder, name));
  }
  return folder;
}

/** A place in which there is no Node.js but the one that the doctor itself runs on. @param {Place} [place] */
async function withoutNode(t, place) {
  const program = await copyOfProject(t);
  fs.rmSync(path.join(program, "build", "node-path.json"));
  const at = place ?? (await Place.create(t));
  const PATH = `${at.bin}${path.delimiter}${pathWithoutNode(t)}`;
  return { at, diagnose: (extra = {}) => diagnoseWith(program, at, { PATH, ...extra }) };
}

describe("copilot-tap doctor, Node.js", () => {
  test("a Node.js of the gateway that is too old", async (t) => {
    const { at, diagnose } = await withoutNode(t);
    const old = fakeProgram(at.bin, "old-node", "echo v18.20.4");
    const { codes, findings } = await diagnose({ TAP_NODE: old });
    assert.ok(codes.includes("NODE_NOT_FOUND"), codes.join());
    const { problem } = findings.find(({ code }) => code === "NODE_NOT_FOUND");
    assert.ok(problem.includes(`${old}, which would run the gateway, is Node.js 18.20.4`));
    assert.ok(!(await diagnose({ TAP_NODE: process.execPath })).codes.includes("NODE_NOT_FOUND"));
  });

  test("a TAP_NODE that is too old or silent is passed over, and named", async (t) => {
    const at = await Place.create(t);
    for (const [script, expected] of [
      [
        "echo v18.20.4",
        /is Node\.js 18\.20\.4; the gateway needs 20\.19\.0 or later\. The gateway runs on /,
      ],
      ["exit 127", /does not print its version/],
    ]) {
      const TAP_NODE = fakeProgram(at.bin, "other-node", script);
      const { warned, warnings, code } = await at.diagnose([], { TAP_NODE });
      assert.deepEqual([warned, code], [["VARIABLE_INVALID"], WELL]);
      assert.match(warnings[0].problem, expected);
    }
  });

  test("a Node.js of the gateway that does not run", async (t) => {
    const { at, diagnose } = await withoutNode(t);
    const broken = fakeProgram(at.bin, "broken-node", "exit 127");
    assert.ok((await diagnose({ TAP_NODE: broken })).codes.includes("NODE_NOT_FOUND"));
  });

  test("either is no more than a warning where a session is linked", async (t) => {
    const { diagnose, at } = await withoutNode(t, await staged(t));
    for (const [script, expected] of [
      ["echo v18.20.4", "NODE_NOT_FOUND"],
      ["exit 127", "NODE_NOT_FOUND"],
    ]) {
      const TAP_NODE = fakeProgram(at.bin, "other-node", script);
      const { findings } = await diagnose({ TAP_NODE });
      const { severity } = findings.find(({ code }) => code === expected);
      assert.equal(severity, "warning");
    }
  });

  test("a TAP_NODE that is no program", async (t) => {
    const at = await Place.create(t);
    const { warned, code } = await at.diagnose([], { TAP_NODE: "node" });
    assert.deepEqual([warned, code], [["VARIABLE_INVALID"], WELL]);
  });

  test("no Node.js that a session would find, though the doctor runs on one", async (t) => {
    const { diagnose } = await withoutNode(t);
    assert.ok((await diagnose()).codes.includes("NODE_NOT_FOUND"));
    const { codes } = await diagnose({ PATH: process.env.PATH });
    assert.ok(!codes.includes("NODE_NOT_FOUND"));
  });
});

describe("copilot-tap doctor, the CLI", () => {
  test("none on PATH", async (t) => {
    const at = await Place.create(t);
    const node = path.join(temporaryFolder(t), "node");
    fs.symlinkSync(process.execPath, node);
    const PATH = path.dirname(node);
    fakeProgram(PATH, "git", 'echo "git version 2.50.0"');
    linkBwrap(PATH);
    fs.rmSync(path.join(at.files.logs, "extension.log"));
    const { code, warned } = await at.diagnose([], { PATH });
    assert.deepEqual([code, warned], ["CLI_NOT_FOUND", []]);
    // It has been one before: under another name, or elsewhere.
    fs.writeFileSync(path.join(at.files.logs, "extension.log"), "");
    const known = await at.diagnose([], { PATH });
    assert.deepEqual([known.code, known.warned], [WELL, ["CLI_NOT_FOUND"]]);
  });

  test("none on PATH while a gateway runs is no more than a warning", async (t) => {
    const at = await staged(t, { session: null });
    fs.rmSync(path.join(at.files.logs, "extension.log"), { force: true });
    fs.rmSync(path.join(at.bin, "copilot"));
    fs.symlinkSync(process.execPath, path.join(at.bin, "node"));
    fakeProgram(at.bin, "git", 'echo "git version 2.50.0"');
    linkBwrap(at.bin);
    const { code, warned } = await at.diagnose([], { PATH: at.bin });
    assert.deepEqual([code, warned], ["NO_SESSION", ["CLI_NOT_FOUND"]]);
  });

  test("the real one is as it should be", async (t) => {
    const at = await Place.create(t);
    const real = path.join(programFolder, "node_modules", ".bin");
    const home = { HOME: os.homedir() }; // where it has unpacked itself
    const { value, code } = await at.diagnose([], {
      ...home,
      PATH: `${real}${path.delimiter}${process.env.PATH}`,
    });
    const { status, seen } = value.checks.find(({ id }) => id === "cli");
    assert.deepEqual([status, code], ["passed", WELL]);
    assert.equal(seen, `${TESTED_CLIS.to}, ${path.join(real, "copilot")}`);
  });

  const versions = /** @type {const} */ ([
    ["0.0.420", "failed"],
    ["1.0.2", "failed"],
    ["1.0.47", "warning"],
    [TESTED_CLIS.from, "passed"],
    ["1.1.0", "passed"],
  ]);
  for (const [cliVersion, expected] of versions) {
    test(`${cliVersion}: ${expected}`, async (t) => {
      const at = await Place.create(t);
      fakeProgram(at.bin, "copilot", `echo "GitHub Copilot CLI ${cliVersion}."`);
      const { value } = await at.diagnose();
      const { status, finding } = value.checks.find(({ id }) => id === "cli");
      assert.equal(status, expected);
      assert.equal(finding?.code, expected === "passed" ? undefined : "CLI_NOT_FOUND");
    });
  }

  test("one that fails says so in its own words", async (t) => {
    const at = await Place.create(t);
    fakeProgram(at.bin, "copilot", "echo no such libc >&2; exit 3");
    const { code, first } = await at.diagnose();
    assert.equal(code, "CLI_NOT_FOUND");
    assert.match(first.problem, /no such libc/);
  });

  for (const [which, trap] of [
    ["hangs", ""],
    ["hangs and does not listen", "trap '' TERM;"],
  ]) {
    test(`one that ${which} is not waited for, and nothing of it is left`, async (t) => {
      const at = await Place.create(t);
      const pids = path.join(at.workspace, "pids");
      fakeProgram(at.bin, "copilot", `${trap} sleep 300 & echo $$ $! > ${pids}; wait`);
      const { warned } = await withTimeout(at.diagnose(), "the doctor");
      assert.ok(warned.includes("CLI_SILENT"));
      for (const pid of fs.readFileSync(pids, "utf8").trim().split(" ")) {
        const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", pid], { encoding: "utf8" });
        assert.match(stdout.trim(), /^(Z.*)?$/, "it is gone, or waits to be buried");
      }
    });
  }

  test("one that is late can end in good order", async (t) => {
    const at = await Place.create(t);
    const said = path.join(at.workspace, "said");
    const farewell = `trap 'echo goodbye > ${said}; exit 0' TERM; sleep 300 & wait`;
    fakeProgram(at.bin, "copilot", farewell);
    assert.ok((await at.diagnose()).warned.includes("CLI_SILENT"));
    assert.equal(fs.readFileSync(said, "utf8"), "goodbye\n");
  });

  /** What settings.json may say. */
  const settings = /** @type {const} */ ([
    ["EXPERIMENTAL_OFF", '{"experimental": true'],
    ["EXPERIMENTAL_OFF", '{"experimental": false}'],
    ["EXTENSION_DISABLED", '{"experimental": true, "extensions": {"mode": "disabled"}}'],
    [
      "EXTENSION_DISABLED",
      '{"experimental": true, "extensions": {"disabledExtensions": ["user:tap"]}}',
    ],
    [WELL, '// mine\n{"experimental": true, "extensions": {"disabledExtensions": ["user:x"]}}'],
  ]);
  for (const [expected, text] of settings) {
    test(`${text} is ${expected}`, async (t) => {
      const at = await Place.create(t);
      fs.writeFileSync(at.settings, text);
      assert.equal((await at.diagnose()).code, expected);
    });
  }

  test("without settings: extensions are off, or it cannot be told", async (t) => {
    const at = await Place.create(t);
    fs.rmSync(at.settings);
    const before = await at.diagnose();
    assert.deepEqual([before.warned, before.code], [["EXPERIMENTAL_OFF"], WELL]);
    assert.match(before.warnings[0].problem, /cannot see/);
    fs.rmSync(path.join(at.files.logs, "extension.log"));
    assert.equal((await at.diagnose()).code, "EXPERIMENTAL_OFF");
  });
});
