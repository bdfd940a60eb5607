// install, update and uninstall as commands: what they say, to people and to programs.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { version } from "../../../js/lib/paths.mjs";
import { install } from "../../../js/install/install.mjs";
import { inspect, userTarget } from "../../../js/install/target.mjs";
import { formatBar, ProgressBar } from "../../../js/cli/progress.mjs";
import { InTerminal, place, tap, tapJson, tapProcess } from "../../support/cli-process.mjs";
import { makePackage, writeFiles } from "../../support/install-place.mjs";

describe("install", () => {
  test("says what it did, and what the user has to do", async (t) => {
    const at = place(t);
    const { code, out, err } = await tap(["install"], at);
    assert.equal(code, 0, err);
    assert.equal(err, "", "no bar where there is no terminal");
    assert.ok(out.includes(path.join(at.home, "extensions", "tap")));
    for (const step of ["copilot --experimental", "always allow", "--allow-all-tools"]) {
      assert.ok(out.includes(step), step);
    }
    assert.equal(inspect(userTarget(at.home)).version, version);
    assert.match((await tap(["install"], at)).out, /was there already, complete/);
  });

  test("shows in a terminal how far it is, and leaves nothing of that behind", async (t) => {
    const terminal = new InTerminal(t, ["install"], place(t));
    assert.equal(await terminal.end(), 0);
    assert.match(terminal.raw, /copying \[#+-+\] {2,}\d+ % {2}\d\.\d of \d\.\d MB/);
    assert.match(terminal.raw, /100 %/);
    assert.doesNotMatch(terminal.text, /copying/);
    assert.match(terminal.text, /is installed/);
  });

  test("--local goes into the project, and a second place is pointed out", async (t) => {
    const at = place(t);
    assert.equal((await tap(["install"], at)).code, 0);
    const { code, out, err } = await tap(["install", "--local"], at);
    assert.equal(code, 0, err);
    assert.ok(out.includes(path.join(at.workspace, ".github/extensions/tap")));
    assert.match(out, /GITHUB_COPILOT_PROMPT_MODE_EXTENSIONS=true/);
    assert.match(err, /would start both/);
    const given = await tapJson(["install", "--local", at.workspace], at);
    assert.equal(given.value.scope, "project");
    assert.equal(given.value.also, path.join(at.home, "extensions", "tap"));
  });

  test("refuses a checkout with a code, and a folder without --local as wrong usage", async (t) => {
    const at = place(t);
    writeFiles(path.join(at.home, "extensions", "tap"), {
      ".git/HEAD": "",
      "extension.mjs": "",
      "package.json": '{"name": "copilot-tap", "version": "0.0.1"}',
    });
    const refused = await tapJson(["install"], at);
    assert.equal(refused.code, 1);
    assert.equal(refused.value.error.code, "NOT_OURS");
    assert.match(refused.value.error.advice, /git pull/);
    assert.equal((await tap(["install", at.workspace], at)).code, 2);
  });
});

describe("update", () => {
  for (const [there, installed, words] of [
    ["0.0.1", version, /tap 0\.0\.1 is installed[^]*It replaces 0\.0\.1/],
    [version, version, /^Already up to date \(.*\)\. Use --force to reinstall\.$/m],
    ["99.0.0", "99.0.0", /The installed version 99\.0\.0 is newer/],
  ]) {
    test(`of ${there}, by ${version}`, async (t) => {
      const at = place(t);
      const target = userTarget(at.home);
      install(makePackage(t, there), target);
      const { code, out } = await tapProcess(["update"], at);
      assert.equal(code, 0);
      assert.match(out, words);
      assert.equal(inspect(target).version, installed);
      const forced = await tapJson(["update", "--force"], at);
      assert.equal(forced.value.version, version);
      assert.equal(inspect(target).version, version);
    });
  }

  test("of nothing says how to install", async (t) => {
    const { code, err } = await tap(["update"], place(t));
    assert.equal(code, 1);
    assert.match(err, /copilot-tap install/);
  });
});

test("uninstall says what is kept, and purge keeps nothing", async (t) => {
  const at = place(t);
  const target = userTarget(at.home);
  install(makePackage(t, "0.0.1"), target);
  fs.writeFileSync(at.store, "{}");
  const { code, out } = await tapProcess(["uninstall"], at);
  assert.equal(code, 0);
  assert.match(out, /^tap 0\.0\.1 is uninstalled from /);
  assert.doesNotMatch(out, /session/, "none is open");
  assert.match(out, /kept: .*consent\.json/);
  for (const wasInstalled of [false, true]) {
    const { value } = await tapJson(["uninstall", "--purge"], at);
    assert.deepEqual(
      { was: value.wasInstalled, kept: value.kept },
      { was: wasInstalled, kept: [] },
    );
    assert.ok(!fs.existsSync(target.folder));
    if (!wasInstalled) install(makePackage(t, "0.0.1"), target);
  }
  assert.equal(
    (await tapProcess(["uninstall", "--purge"], at)).code,
    1,
    "nothing is left to purge",
  );
});

test("uninstall says that a session is open, and that the providers' own files stay", async (t) => {
  const at = place(t);
  const target = userTarget(at.home);
  install(makePackage(t, "0.0.1"), target);
  const descriptor = { pid: process.pid };
  writeFiles(target.folder, { ".gateway-9400.json": JSON.stringify(descriptor) });
  writeFiles(at.home, { "providers/die/rolls.txt": "6" });
  const { out } = await tap(["uninstall", "--purge"], at);
  assert.match(out, /^A session is open: it keeps tap's tools until it ends\.$/m);
  assert.match(out, /^kept: .*providers\/die, the folder of a provider/m);
  assert.equal(fs.readFileSync(path.join(at.home, "providers", "die", "rolls.txt"), "utf8"), "6");
});

test("uninstall removes the empty folders of tap's own providers, and lists the others", async (t) => {
  const at = place(t);
  install(makePackage(t, "0.0.1"), userTarget(at.home));
  const folder = path.join(at.home, "providers");
  for (const name of ["tap-orchestrator", "mine"])
    fs.mkdirSync(path.join(folder, name), { recursive: true });
  writeFiles(at.home, { "providers/tap-goals/file": "x" });
  const { value } = await tapJson(["uninstall"], at);
  const left = ["mine", "tap-goals"];
  assert.deepEqual(
    value.providerFolders,
    left.map((name) => path.join(folder, name)),
  );
  assert.deepEqual(fs.readdirSync(folder), left);
  fs.rmSync(folder, { recursive: true });
  fs.mkdirSync(path.join(folder, "tap-emitters"), { recursive: true });
  install(makePackage(t, "0.0.1"), userTarget(at.home));
  assert.deepEqual((await tapJson(["uninstall"], at)).value.providerFolders, []);
  assert.ok(!fs.existsSync(folder));
});

test("uninstall names the release that a process still runs from", async (t) => {
  const at = place(t);
  const target = userTarget(at.home);
  const { id } = install(makePackage(t, "0.0.1"), target);
  const release = path.join(target.folder, "releases", id);
  writeFiles(release, { [`.in-use/${process.pid}`]: "" });
  const { code, out } = await tap(["uninstall"], at);
  assert.equal(code, 0);
  assert.ok(out.includes(`kept (in use): ${release}; run uninstall again later`), out);
  const meanwhile = await tap(["uninstall"], at);
  assert.match(meanwhile.out, /^tap 0\.0\.1 was uninstalled already; what was left of it in /);
  fs.rmSync(path.join(release, ".in-use"), { recursive: true });
  const again = await tapJson(["uninstall"], at);
  assert.deepEqual(again.value.inUse, []);
  assert.ok(!fs.existsSync(target.folder));
});

test("a progress bar is drawn on terminals only, and once per change", () => {
  assert.match(formatBar({ bytes: 0, allBytes: 0 }), /100 %/);
  const written = [];
  const stream = { isTTY: true, write: (text) => written.push(text) };
  const bar = new ProgressBar(stream);
  for (const bytes of [0, 1, 2, 3 << 19]) bar.show({ bytes, allBytes: 3 << 20 });
  assert.equal(written.length, 2);
  assert.match(written[1], /\[#{15}-{15}\] {2}50 % {2}1\.5 of 3\.0 MB/);
  bar.clear();
  assert.match(written[2], /^\r +\r$/);
  new ProgressBar({ ...stream, isTTY: false }).show({ bytes: 1, allBytes: 2 });
  assert.equal(written.length, 3);
});
