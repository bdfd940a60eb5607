// What an install refuses; what was there stays.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { explainError, install } from "../../../js/install/install.mjs";
import { userTarget, compareInstalled } from "../../../js/install/target.mjs";
import { uninstall } from "../../../js/install/uninstall.mjs";
import {
  failureIn,
  installed,
  makeHome,
  makePackage,
  refuses,
  runEntry,
  said,
  versionsOf,
  writeFiles,
} from "../../support/install-place.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

describe("install refuses, and leaves what was there:", () => {
  test("a checkout, unless --force; uninstall puts its entry back", (t) => {
    const target = userTarget(makeHome(t));
    const manifest = '{"name": "copilot-tap", "version": "0.9.0"}';
    const checkout = { ".git/HEAD": "", "package.json": manifest, "extension.mjs": "// mine\n" };
    writeFiles(target.folder, checkout);
    const root = makePackage(t, "1.0.0");
    refuses(() => install(root, target), "NOT_OURS", /git pull && npm install/);
    refuses(() => compareInstalled(target, "1.0.0"), "NOT_OURS", /git pull && npm install/);
    refuses(() => uninstall(target), "NOT_OURS", /remove it yourself/);
    assert.equal(fs.readFileSync(path.join(target.folder, "extension.mjs"), "utf8"), "// mine\n");

    install(root, target, { force: true });
    assert.equal(runEntry(target), said("1.0.0"));
    assert.equal(uninstall(target).restored, true);
    for (const [name, content] of Object.entries(checkout)) {
      assert.equal(fs.readFileSync(path.join(target.folder, name), "utf8"), content);
    }
  });

  test("a copy that was put there by hand", (t) => {
    const target = userTarget(makeHome(t));
    writeFiles(target.folder, {
      "package.json": '{"name": "copilot-tap", "version": "0.9.0"}',
      "extension.mjs": "",
    });
    refuses(() => install(makePackage(t, "1.0.0"), target), "NOT_OURS", /npm install --omit=dev/);
  });

  test("somebody else's extension of that name", (t) => {
    const target = userTarget(makeHome(t));
    writeFiles(target.folder, { "extension.mjs": "// hers" });
    refuses(() => install(makePackage(t, "1.0.0"), target), "NOT_OURS", /is not tap's/);
  });

  test("links and files in the place of its folders", (t) => {
    const root = makePackage(t, "1.0.0");
    const elsewhere = temporaryFolder(t);
    for (const [where, code, put] of [
      ["extensions/tap", "LINK_IN_THE_WAY", (place) => fs.symlinkSync(elsewhere, place)],
      ["extensions/tap/releases", "LINK_IN_THE_WAY", (place) => fs.symlinkSync(elsewhere, place)],
      ["extensions/tap", "FILE_IN_THE_WAY", (place) => fs.writeFileSync(place, "")],
      ["extensions", "NOT_WRITABLE", (place) => fs.writeFileSync(place, "")],
    ]) {
      const home = makeHome(t);
      const place = path.join(home, where);
      fs.mkdirSync(path.dirname(place), { recursive: true });
      put(place);
      refuses(() => install(root, userTarget(home), { force: true }), code, /away|remove the link/);
    }
    assert.deepEqual(fs.readdirSync(elsewhere), []);
  });

  test("a package without an addon, and one that does not run", (t) => {
    const { target } = installed(t);
    const bare = makePackage(t, "1.1.0");
    fs.rmSync(path.join(bare, "build"), { recursive: true });
    refuses(() => install(bare, target), "NO_ADDON", /installer\.mjs/);
    const broken = makePackage(t, "1.1.0", {
      "js/extension/runtime.mjs": "throw new Error('no');",
    });
    refuses(() => install(broken, target), "DOES_NOT_RUN", /does not run on this machine: no/);
    const incomplete = makePackage(t, "1.1.0");
    fs.rmSync(path.join(incomplete, "node_modules/two"), { recursive: true });
    refuses(() => install(incomplete, target), "INCOMPLETE", /two is missing [^]*npm install/);
    assert.equal(runEntry(target), said("1.0.0"));
    assert.deepEqual(versionsOf(target), ["1.0.0"]);
  });

  test("a package that cannot be installed, and leaves no folder in the way of a link", (t) => {
    const target = userTarget(makeHome(t));
    const bare = makePackage(t, "1.0.0");
    fs.rmSync(path.join(bare, "build"), { recursive: true });
    refuses(() => install(bare, target), "NO_ADDON", /installer\.mjs/);
    assert.ok(!fs.existsSync(target.folder));
  });

  test("a second one beside it", async (t) => {
    const { target } = installed(t);
    const holder = spawn("sleep", ["600"], { stdio: "ignore" });
    t.after(() => holder.kill("SIGKILL"));
    fs.writeFileSync(path.join(target.folder, ".install-lock"), String(holder.pid));
    const newer = makePackage(t, "1.1.0");
    refuses(() => install(newer, target), "BUSY", new RegExp(`pid ${holder.pid}`));
    holder.kill("SIGKILL");
    await once(holder, "exit");
    install(newer, target);
    assert.equal(runEntry(target), said("1.1.0"));
  });

  test("a disk that does not take all of it", async (t) => {
    const { target } = installed(t);
    const large = makePackage(t, "1.1.0", { "js/large.mjs": `//${"x".repeat(300_000)}` });
    const failure = await failureIn(large, target, { limits: "ulimit -f 100" });
    assert.equal(failure.code, "NOT_WRITABLE");
    assert.match(failure.message, /cannot be written/);
    assert.equal(runEntry(target), said("1.0.0"));
    assert.deepEqual(versionsOf(target), ["1.0.0"]);
    const full = Object.assign(new Error("write"), { code: "ENOSPC" });
    assert.match(explainError(full, "/home").message, /the disk is full/);
  });

  test("a home that the user may not write to", async (t) => {
    const { target } = installed(t);
    const newer = makePackage(t, "1.1.0");
    // Root may write everywhere: as root this is tried by another.
    const uid = process.getuid() === 0 ? 65534 : undefined;
    if (uid) execFileSync("chmod", ["-R", "a+rX", newer, path.resolve(target.folder, "../..")]);
    else fs.chmodSync(target.folder, 0o555);
    const failure = await failureIn(newer, target, { uid });
    if (!uid) fs.chmodSync(target.folder, 0o755);
    assert.equal(failure.code, "NOT_WRITABLE");
    assert.match(failure.advice, /permissions/);
    assert.equal(runEntry(target), said("1.0.0"));
  });
});
