// The doctor, where something that is installed is broken: each test breaks one thing.

import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { programFolder, version } from "../../../js/lib/paths.mjs";
import { entryText, releaseId } from "../../../js/install/extension-folder.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { copyOfProject } from "../../support/tap.mjs";
import { waitFor } from "../../support/wait.mjs";
import { CLI } from "../../support/cli-process.mjs";
import { diagnoseWith, fakeProgram, Place, staged, WELL } from "./doctor-place.mjs";

describe("copilot-tap doctor, the home", () => {
  test("a home that is not there", async (t) => {
    const at = await Place.create(t);
    const elsewhere = path.join(at.workspace, "nowhere");
    const { code, first, exit } = await at.diagnose(["--home", elsewhere]);
    assert.equal(code, "HOME_MISSING");
    assert.equal(exit, 1);
    assert.ok(first.problem.includes(elsewhere));
    assert.equal((await at.diagnose(["--home", at.home])).code, WELL);
  });

  test("a home that is a file", async (t) => {
    const at = await Place.create(t);
    const file = path.join(at.workspace, "file");
    fs.writeFileSync(file, "");
    assert.equal((await at.diagnose([], { COPILOT_HOME: file })).code, "HOME_UNWRITABLE");
  });

  test("a home that cannot be written", async (t) => {
    const at = await Place.create(t);
    const { folder } = at.files;
    fs.chmodSync(folder, 0o555);
    t.after(() => fs.chmodSync(folder, 0o755));
    // The rights of root go beyond modes.
    const asRoot = process.getuid?.() === 0;
    const words = [process.execPath, CLI, "doctor", "--json"];
    const powerless = ["setpriv", "--bounding-set=-dac_override", ...words];
    const [command, ...args] = asRoot ? powerless : words;
    const out = await new Promise((resolve) => {
      const env = /** @type {any} */ (at.env);
      execFile(command, args, { cwd: at.workspace, env }, (_error, stdout) => resolve(stdout));
    });
    const { finding } = JSON.parse(out).checks.find(({ status }) => status === "failed");
    assert.equal(finding.code, "HOME_UNWRITABLE");
    assert.ok([folder, "(EACCES)"].every((part) => finding.problem.includes(part)));
  });

  test("a home on a full disk", async (t) => {
    const home = fs.realpathSync(temporaryFolder(t));
    const disk = ["-t", "tmpfs", "-o", "size=1m,mode=700", "tap-test", home];
    if (spawnSync("mount", disk).status !== 0) return t.skip("this process may not mount");
    t.after(() => spawnSync("umount", ["--lazy", home]));
    const at = await Place.create(t, { home });
    const ballast = path.join(home, "ballast");
    assert.throws(() => fs.writeFileSync(ballast, Buffer.alloc(2_000_000)), { code: "ENOSPC" });
    assert.equal((await at.diagnose()).code, "HOME_UNWRITABLE");
    fs.rmSync(ballast);
    assert.equal((await at.diagnose()).code, WELL);
  });

  test("nothing is written into a home that can be", async (t) => {
    const at = await Place.create(t);
    const { folder, logs } = at.files;
    const changes = () =>
      [at.home, folder, logs].map((one) => fs.statSync(one, { bigint: true }).mtimeNs);
    const before = changes();
    assert.equal((await at.diagnose()).code, WELL);
    assert.deepEqual(changes(), before);
  });

  test("a log folder that cannot be written is no more than a warning", async (t) => {
    const at = await Place.create(t);
    const { logs } = at.files;
    fs.renameSync(logs, `${logs}.old`);
    fs.writeFileSync(logs, "");
    const { warned, warnings } = await at.diagnose();
    assert.ok(warned.includes("HOME_UNWRITABLE"));
    assert.ok(warnings[0].problem.includes(logs));
    fs.rmSync(logs);
    fs.renameSync(`${logs}.old`, logs);
    assert.deepEqual((await at.diagnose()).warned, []);
  });
});

describe("copilot-tap doctor, variables", () => {
  test("a port that is not a number", async (t) => {
    const at = await Place.create(t);
    const { code, first } = await at.diagnose([], { TAP_GATEWAY_PORT: "94OO" });
    assert.equal(code, "VARIABLE_INVALID");
    assert.match(first.problem, /TAP_GATEWAY_PORT is "94OO"/);
    assert.equal(first.command, "unset TAP_GATEWAY_PORT");
    const without = await at.diagnose([], { TAP_GATEWAY_PORT: undefined });
    assert.notEqual(without.code, "VARIABLE_INVALID");
  });

  test("a limit that is no number", async (t) => {
    const at = await Place.create(t);
    const { warned, warnings } = await at.diagnose([], { TAP_GRACE_MS: "30s" });
    assert.deepEqual(warned, ["VARIABLE_INVALID"]);
    assert.match(warnings[0].problem, /TAP_GRACE_MS is "30s".*30000 ms/);
    assert.equal(warnings[0].command, "unset TAP_GRACE_MS");
    assert.deepEqual((await at.diagnose([], { TAP_MAX_TOOLS: "0" })).warned, ["VARIABLE_INVALID"]);
    assert.deepEqual((await at.diagnose([], { TAP_GRACE_MS: "30000" })).warned, []);
  });
});

describe("copilot-tap doctor, the installed tap", () => {
  test("none, and the command that is told installs it", async (t) => {
    const at = await Place.create(t);
    fs.rmSync(at.files.folder, { recursive: true });
    const { code, first } = await at.diagnose();
    assert.equal(code, "EXTENSION_MISSING");
    await at.do(first.command);
    assert.equal((await at.diagnose()).code, WELL);
  });

  test("a link that leads nowhere, and the command that is told mends it", async (t) => {
    const at = await Place.create(t);
    fs.rmSync(at.files.folder, { recursive: true });
    fs.symlinkSync(path.join(at.workspace, "moved away"), at.files.folder);
    const { code, first } = await at.diagnose();
    // Nothing can be written through it either, but that follows from it.
    assert.equal(code, "EXTENSION_MISSING");
    assert.match(first.problem, /moved away/);
    await at.do(first.command);
    assert.equal((await at.diagnose()).code, WELL);
  });

  test("a folder without the extension, and the command that is told mends it", async (t) => {
    const at = await Place.create(t);
    fs.rmSync(path.join(at.files.folder, "extension.mjs"));
    const { code, first } = await at.diagnose();
    assert.equal(code, "EXTENSION_MISSING");
    await at.do(first.command);
    assert.equal((await at.diagnose()).code, WELL);
  });

  test("none any more, while a session is open that runs it", async (t) => {
    const at = await staged(t);
    fs.rmSync(path.join(at.files.folder, "extension.mjs"));
    const { warned, warnings } = await at.diagnose();
    assert.ok(warned.includes("EXTENSION_MISSING"), warned.join());
    const { problem, command } = warnings.find(({ code }) => code === "EXTENSION_MISSING");
    assert.match(problem, /no longer installed in .*The open session still runs it/);
    await at.do(command);
    assert.ok(!(await at.diagnose()).warned.includes("EXTENSION_MISSING"));
  });

  test("for one project only", async (t) => {
    const at = await Place.create(t);
    fs.rmSync(at.files.folder, { recursive: true });
    const folder = path.join(at.workspace, ".github", "extensions", "tap");
    fs.mkdirSync(path.join(at.workspace, ".git"));
    fs.mkdirSync(path.dirname(folder), { recursive: true });
    fs.symlinkSync(programFolder, folder);
    const below = path.join(at.workspace, "src");
    fs.mkdirSync(below);
    at.workspace = below;
    const { warned, warnings } = await at.diagnose();
    assert.deepEqual(warned, ["EXTENSION_MISSING"]);
    await at.do(warnings[0].command);
    assert.deepEqual((await at.diagnose()).warned, []);
  });

  test("twice", async (t) => {
    const at = await Place.create(t);
    const second = path.join(at.home, "extensions", "copilot-tap");
    fs.symlinkSync(await copyOfProject(t), second);
    const { warned, warnings } = await at.diagnose();
    assert.deepEqual(warned, ["EXTENSION_TWICE"]);
    assert.ok(warnings[0].problem.includes(second));
  });

  test("of another version than the command", async (t) => {
    const at = await Place.create(t);
    fs.rmSync(at.files.folder, { recursive: true });
    fs.symlinkSync(await copyOfProject(t, "9.9.9"), at.files.folder);
    const { warned, warnings } = await at.diagnose();
    assert.deepEqual(warned, ["EXTENSION_OTHER_VERSION"]);
    assert.match(warnings[0].problem, /is 9\.9\.9/);
    await assert.doesNotReject(at.do(`${warnings[0].command} --json || test $? = 1`));
  });

  test("of a release that copilot-tap install has put there, with and without its addon", async (t) => {
    const at = await Place.create(t);
    const id = releaseId(version, "0123456789ab", 0);
    const program = await copyOfProject(t);
    const { folder } = at.files;
    fs.mkdirSync(path.join(folder, "releases"));
    fs.cpSync(program, path.join(folder, "releases", id), { recursive: true });
    fs.rmSync(path.join(folder, "extension.mjs"));
    fs.writeFileSync(path.join(folder, "extension.mjs"), entryText(id));
    const { code, warned, value } = await at.diagnose();
    assert.deepEqual([code, warned], [WELL, []]);
    const { seen } = value.checks.find((check) => check.id === "extension");
    assert.equal(seen, `${version}, ${folder}`);
    fs.rmSync(path.join(folder, "releases", id, "build"), { recursive: true });
    const { first } = await at.diagnose();
    assert.equal(first.code, "ADDON_BROKEN");
    assert.match(first.fix, /Install tap again/);
  });

  test("without its addon, or with one that does not load", async (t) => {
    const at = await Place.create(t);
    const program = await copyOfProject(t);
    fs.rmSync(at.files.folder, { recursive: true });
    fs.symlinkSync(program, at.files.folder);
    const file = path.join(program, "build", "Release", "tap.node");
    const good = fs.readFileSync(file);
    fs.rmSync(file);
    const missing = await at.diagnose();
    assert.equal(missing.code, "ADDON_BROKEN");
    assert.equal(missing.first.command, `cd ${program} && npm install --omit=dev`);
    // The doctor of that tap itself says it, too.
    assert.ok((await diagnoseWith(program, at)).codes.includes("ADDON_BROKEN"));
    fs.writeFileSync(file, "not a library");
    const broken = await at.diagnose();
    assert.equal(broken.code, "ADDON_BROKEN");
    assert.match(broken.first.problem, new RegExp(`${process.platform}-${process.arch}`));
    assert.ok((await diagnoseWith(program, at)).codes.includes("ADDON_BROKEN"));
    fs.writeFileSync(file, good);
    assert.notEqual((await at.diagnose()).code, "ADDON_BROKEN");
  });
});

describe("copilot-tap doctor, an addon that cannot be seen to load", () => {
  /** A Node.js in which a program does this. @param {Place} at @param {string} script */
  const nodeThat = (at, script) =>
    fakeProgram(at.bin, "node-20", `[ "$1" = --version ] && echo v20.19.0 || ${script}`);

  test("in time, on a slow disk: a warning", async (t) => {
    const at = await Place.create(t);
    const TAP_NODE = nodeThat(at, "exec sleep 300");
    const { warned, warnings, code } = await at.diagnose([], { TAP_NODE });
    assert.deepEqual([warned, code], [["ADDON_BROKEN"], WELL]);
    assert.match(warnings[0].problem, /has not returned after 3 s/);
  });

  test("in another Node.js than that of a gateway with a session: a warning", async (t) => {
    const at = await staged(t);
    const TAP_NODE = nodeThat(at, "exit 1");
    const { warned, code } = await at.diagnose([], { TAP_NODE });
    assert.deepEqual([warned, code], [["ADDON_BROKEN", "NO_PROVIDER"], undefined]);
    at.session.close();
    await waitFor(async () => (await at.diagnose([], { TAP_NODE })).code === "ADDON_BROKEN");
  });
});

describe("copilot-tap doctor, the start of the extension", () => {
  /** What the CLI leaves of a start. @param {Place} at @param {number} ms @param {string} said */
  function launched(at, ms, said) {
    const entry = path.join(at.files.folder, "extension.mjs");
    const text = `=== launch pid=7 module=${entry} ===\n[extension-bootstrap] importing\n${said}`;
    fs.writeFileSync(path.join(at.home, "logs", `process-${ms}-7.log`), text);
  }

  /** The check that fails, and its code. @param {Place} at */
  const failing = async (at) => {
    const { failed, code } = await at.diagnose();
    return [failed, code];
  };

  test("never", async (t) => {
    const at = await Place.create(t);
    fs.rmSync(path.join(at.files.logs, "extension.log"));
    assert.deepEqual(await failing(at), ["start", "NO_SESSION"]);
    launched(at, 1700000000000, "");
    assert.deepEqual(await failing(at), ["port", WELL]);
  });

  test("in vain, the last time", async (t) => {
    const at = await Place.create(t);
    launched(at, 1700000000000, "tap: the native addon does not load\n");
    const { code, first } = await at.diagnose();
    assert.equal(code, "EXTENSION_FAILED");
    assert.match(first.problem, /the native addon does not load/);
    assert.match(first.problem, /process-1700000000000-7\.log/);
    launched(at, 1700000000001, "");
    assert.equal((await at.diagnose()).code, WELL);
  });
});
