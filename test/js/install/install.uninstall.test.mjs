// Uninstalling that does not get to its end at once: it is interrupted, or sessions are still open.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { install } from "../../../js/install/install.mjs";
import { inspect, projectTarget, userTarget } from "../../../js/install/target.mjs";
import { uninstall } from "../../../js/install/uninstall.mjs";
import { killedAt, makeHome, makePackage, writeFiles } from "../../support/install-place.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

/** @param {import("node:test").TestContext} t */
function installed(t, target = userTarget(makeHome(t))) {
  const { id } = install(makePackage(t, "1.0.0"), target);
  return { target, release: path.join(target.folder, "releases", id) };
}

/** A process that says it runs from there. @param {import("node:test").TestContext} t @param {string} release */
function userOf(t, release) {
  const user = spawn("sleep", ["600"], { stdio: "ignore" });
  t.after(() => user.kill("SIGKILL"));
  writeFiles(release, { [path.join(".in-use", String(user.pid))]: "" });
  return async () => {
    user.kill("SIGKILL");
    await once(user, "exit");
  };
}

describe("an uninstall that was interrupted", () => {
  test("after any step is finished by the next, with all that it would have removed", (t) => {
    const steps = ["extension.mjs", "current", ".provider-token", "consent.json"];
    for (let done = 1; done <= steps.length; done += 1) {
      const { target } = installed(t);
      const logs = path.resolve(target.folder, "../../logs/tap");
      writeFiles(logs, { "host.log": "" });
      writeFiles(target.folder, { ".provider-token": "", "consent.json": "{}" });
      for (const step of steps.slice(0, done)) fs.rmSync(path.join(target.folder, step));
      assert.equal(inspect(target).state, "nothing");
      assert.equal(uninstall(target, { purge: true, data: [logs] }).version, "1.0.0");
      assert.ok(!fs.existsSync(target.folder));
      assert.ok(!fs.existsSync(logs));
      assert.throws(() => uninstall(target), { code: "NOT_INSTALLED" });
    }
  });

  test("by an error says so, and keeps what shows that it is not done", (t) => {
    const { target, release } = installed(t);
    const inTheWay = path.join(path.dirname(target.folder), "file");
    fs.writeFileSync(inTheWay, "");
    assert.throws(() => uninstall(target, { purge: true, data: [path.join(inTheWay, "logs")] }), {
      code: "NOT_WRITABLE",
      message: /Parts of it may be gone: run uninstall again to continue$/,
    });
    assert.ok(!fs.existsSync(path.join(target.folder, "extension.mjs")));
    assert.ok(fs.existsSync(release));
    uninstall(target);
    assert.ok(!fs.existsSync(target.folder));
  });

  test("after it has put the former entry back leaves that one", (t) => {
    const target = userTarget(makeHome(t));
    const entry = path.join(target.folder, "extension.mjs");
    writeFiles(target.folder, { "extension.mjs": "// mine\n" });
    install(makePackage(t, "1.0.0"), target, { force: true });
    fs.renameSync(`${entry}.before-install`, entry);
    assert.equal(uninstall(target).restored, true);
    assert.equal(fs.readFileSync(entry, "utf8"), "// mine\n");
    assert.deepEqual(fs.readdirSync(target.folder), ["extension.mjs"]);
    assert.throws(() => uninstall(target), { code: "NOT_OURS" });
  });

  test("and a first install that was: what it copied goes, too", async (t) => {
    for (const moment of [{ step: "copy", files: 3 }, { step: "place" }]) {
      const target = userTarget(makeHome(t));
      await killedAt(makePackage(t, "1.0.0"), target, moment);
      uninstall(target);
      assert.ok(!fs.existsSync(target.folder));
    }
  });
});

describe("uninstall while a process runs from the release", () => {
  test("keeps that release and says so, and the next one removes it", async (t) => {
    const { target, release } = installed(t);
    const end = userOf(t, release);
    assert.deepEqual(uninstall(target).inUse, [release]);
    assert.equal(inspect(target).state, "nothing");
    assert.ok(fs.existsSync(path.join(release, "js/extension/start.mjs")));
    assert.deepEqual(uninstall(target).inUse, [release]);
    await end();
    assert.deepEqual(uninstall(target).inUse, []);
    assert.ok(!fs.existsSync(target.folder));
  });

  test("in a project keeps it out of commits until then", async (t) => {
    const { target, release } = installed(t, projectTarget(temporaryFolder(t)));
    const end = userOf(t, release);
    uninstall(target);
    assert.ok(fs.existsSync(path.join(target.folder, ".gitignore")));
    await end();
    uninstall(target);
    assert.ok(!fs.existsSync(target.folder));
  });
});
