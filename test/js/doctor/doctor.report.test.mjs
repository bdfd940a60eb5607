// The doctor's report, for people in their terminals and for programs; and its codes.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { programFolder } from "../../../js/lib/paths.mjs";
import { CHECKS } from "../../../js/doctor/checks.mjs";
import { readDoctorReport } from "../../../js/gateway-host/doctor-report.mjs";
import { FINDINGS } from "../../../js/doctor/findings.mjs";
import { InTerminal, place, tap, tapJson } from "../../support/cli-process.mjs";
import { fakeProgram, Place, running, staged, TESTED_CLIS } from "./doctor-place.mjs";

const read = (/** @type {string} */ file) =>
  fs.readFileSync(path.join(programFolder, file), "utf8");

/** @param {"tool" | "all"} asked @returns {string[]} ids */
const checksFor = (asked) =>
  CHECKS.filter(({ only = asked }) => only === asked).map(({ id }) => id);

describe("copilot-tap doctor prints", () => {
  test("that all is well, in two lines; with --verbose a line for each check", async (t) => {
    const at = await running(t);
    const { out, err, code } = await at.read(["roll_die"]);
    assert.deepEqual([err, code], ["", 0]);
    const count = checksFor("tool").length;
    assert.match(
      out,
      new RegExp(`^✓ ${count} checks {2}session .+\nAll is well: the model has roll_die\\.\n$`),
    );
    const all = await at.read(["roll_die", "--verbose"]);
    const lines = all.out.trimEnd().split("\n");
    assert.equal(lines.length, count + 1);
    assert.ok(lines.slice(0, -1).every((line) => line.startsWith("✓ ")));
    assert.equal(lines.at(-1), "All is well: the model has roll_die.");
    assert.match(all.out, /^✓ port is the gateway's {2}pid \d+$/m);
  });

  test("the first that has failed with its fix first, and nothing that depends on it", async (t) => {
    const at = await Place.create(t);
    fs.rmSync(at.files.folder, { recursive: true });
    const { out, code } = await at.read();
    assert.equal(code, 1);
    assert.match(
      out,
      /^✗ tap is not installed.*\n {2}Fix: .*\n {4}mkdir -p .*\n {2}EXTENSION_MISSING\n✓ \d+ checks\nFix this first, then run `copilot-tap doctor` again\.\n$/,
    );
    const verbose = await at.read(["-v"]);
    assert.equal(verbose.out.match(/✗/g)?.length, 1);
    assert.doesNotMatch(verbose.out, /Copilot CLI {2}/);
  });

  test("warnings, and goes on", async (t) => {
    const at = await staged(t);
    const { out, code } = await at.read();
    assert.equal(code, 0);
    assert.match(out, /^! No provider is connected\.\n {2}Fix: .*\n {2}NO_PROVIDER\n/);
    assert.match(out, /\n✓ \d+ checks .*\nTools work\. 1 warning\.\n$/);
  });

  test("in a session lines that keep their indent", async (t) => {
    const at = await Place.create(t, { port: 1 });
    const text = await readDoctorReport(
      { id: "", cwd: at.workspace },
      undefined,
      /** @type {any} */ (at.env),
    );
    const lines = text.split("\n");
    assert.ok(lines.length > 4, text);
    // A command is not broken: it is to be copied.
    const prose = lines.filter((line) => !line.startsWith("    "));
    assert.ok(
      prose.every((line) => line.length <= 74),
      text,
    );
    assert.match(text, /^[✗!] .*\n( {2}\S.*\n)+/);
  });

  test("in 80 columns, with colours; without them where NO_COLOR says so", async (t) => {
    const at = await Place.create(t);
    fs.rmSync(at.files.folder, { recursive: true });
    const terminal = new InTerminal(t, ["doctor"], at, { cols: 80 });
    assert.equal(await terminal.end(), 1);
    // Words are not broken: a path or a command that is longer has a line of its own.
    const broken = terminal.raw
      .split("\r\n")
      .filter((line) => /^ {2}\S+ /.test(line) && line.length > 80);
    assert.deepEqual(broken, []);
    // eslint-disable-next-line no-control-regex -- a colour is one
    assert.match(terminal.raw, /\u001b\[31m✗/);
    const plain = new InTerminal(t, ["doctor"], at, { cols: 80, extra: { NO_COLOR: "1" } });
    await plain.end();
    assert.ok(!plain.raw.includes("\u001b[3"));
    assert.match(plain.text, /✗ tap is not installed/);
  });

  test("what others have written as it is, and not as a terminal would obey it", async (t) => {
    const at = await Place.create(t);
    fakeProgram(at.bin, "copilot", "printf '\\033]0;owned\\007no such libc'; exit 3");
    const { out } = await at.read();
    assert.ok(!out.includes("\u001b"));
    assert.match(out, /\\x1b\]0;owned\\x07no such libc/);
    const { text, first } = await at.diagnose();
    assert.equal(first.code, "CLI_NOT_FOUND");
    assert.ok(!text.includes("\u001b"));
  });

  test("no label of a session raw", async (t) => {
    const at = await staged(t, { session: { label: "shop\u001b[2J\u202eevil" } });
    const { out } = await at.read(["--verbose"]);
    assert.match(out, /✓ session {2}shop\\x1b\[2J\\u\{202e\}evil/);
  });

  test("JSON of every check, those that were not done included", async (t) => {
    const at = await Place.create(t);
    const { value } = await at.diagnose(["roll_die"]);
    assert.deepEqual([value.well, value.tool], [false, "roll_die"]);
    assert.deepEqual(
      value.checks.map(({ id }) => id),
      checksFor("tool"),
    );
    const failed = value.checks.findIndex(({ status }) => status === "failed");
    assert.ok(failed > 0);
    assert.ok(value.checks.slice(failed + 1).every(({ status }) => status === "skipped"));
  });
});

describe("the codes of copilot-tap doctor", () => {
  test("are listed with severity and fix, without an examination", async (t) => {
    const { code, value } = await tapJson(["doctor", "--codes"], place(t));
    assert.equal(code, 0);
    assert.deepEqual(
      value.codes.map((row) => [row.code, row.severity]),
      Object.entries(FINDINGS),
    );
    const { out } = await tap(["doctor", "--codes"], place(t));
    assert.match(out, /^PORT_FOREIGN +error +\S/m);
  });

  test("are found by tests", () => {
    const tests = fs
      .readdirSync(path.join(programFolder, "test", "js", "doctor"))
      .filter((name) =>
        /^doctor\.(installed|gateway|parts|plans|programs|session|waiting)\.test\.mjs$/.test(name),
      )
      .map((name) => read(path.join("test", "js", "doctor", name)))
      .join("\n");
    const untested = Object.keys(FINDINGS).filter((code) => !tests.includes(`"${code}"`));
    assert.deepEqual(untested, []);
  });

  test("names the CLIs that docs/compatibility.md names", () => {
    const versions = [...read("docs/compatibility.md").matchAll(/^\| (\d+\.\d+\.\d+) \|/gm)];
    assert.equal(versions.at(0)?.[1], TESTED_CLIS.from);
    assert.equal(versions.at(-1)?.[1], TESTED_CLIS.to);
  });
});
