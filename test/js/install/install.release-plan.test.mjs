// What a release consists of, and whether it runs.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { install } from "../../../js/install/install.mjs";
import { findLoadFailure, releasePlan } from "../../../js/install/release-plan.mjs";
import { inspect, notOurs, userTarget } from "../../../js/install/target.mjs";
import { makeHome, makePackage, writeFiles } from "../../support/install-place.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

test("a release has the addon of its package, and none from elsewhere", (t) => {
  const root = makePackage(t, "1.0.0");
  assert.ok(releasePlan(root).some(({ to }) => to === "build/Release/tap.node"));
  fs.rmSync(path.join(root, "build"), { recursive: true });
  const elsewhere = temporaryFolder(t);
  writeFiles(elsewhere, { "build/Release/tap.node": "native" });
  process.env.COPILOT_TAP_PREBUILD = elsewhere; // node-gyp-build obeys it
  t.after(() => delete process.env.COPILOT_TAP_PREBUILD);
  assert.throws(() => releasePlan(root), {
    code: "NO_ADDON",
    message: new RegExp(`no native addon of its own: it would load ${elsewhere}`),
    advice: /installer\.mjs/,
  });
});

test("a release that hangs while it loads is said to, also where it ignores signals", (t) => {
  const hangs = `process.on("SIGTERM", () => {});
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);`;
  const root = makePackage(t, "1.0.0", { "js/extension/runtime.mjs": hangs });
  assert.equal(findLoadFailure(root, 200), "it was not loaded within 0.2 s");
  const ends = makePackage(t, "1.0.0", { "js/extension/runtime.mjs": "process.exit(3);" });
  assert.equal(findLoadFailure(ends), "it ended with 3");
});

test("what to do can be copied into a shell, whatever the folders are called", (t) => {
  const strange = (folder) => {
    const place = path.join(path.dirname(folder), `it's $(a) folder ${path.basename(folder)}`);
    t.after(() => fs.rmSync(place, { recursive: true, force: true }));
    fs.renameSync(folder, place);
    return place;
  };
  /** What a shell takes the last command's folder for. */
  const asShell = (advice) => {
    const [, word] = /(?:cd|node) (.*?)(?: && .*)?$/.exec(advice);
    return execFileSync("sh", ["-c", `printf %s ${word}`], { encoding: "utf8" });
  };
  const root = strange(makePackage(t, "1.0.0", { "js/extension/runtime.mjs": "throw 1;" }));
  const target = userTarget(strange(makeHome(t)));
  const adviceOf = () => {
    try {
      install(root, target);
    } catch (error) {
      return error.advice;
    }
    return assert.fail("it is installed");
  };
  const installer = path.join(root, "js/install/installer.mjs");
  assert.equal(asShell(adviceOf()), installer);
  fs.rmSync(path.join(root, "build"), { recursive: true });
  assert.equal(asShell(adviceOf()), installer);
  writeFiles(root, { "build/Release/tap.node": "native" });
  fs.rmSync(path.join(root, "node_modules/two"), { recursive: true });
  assert.equal(asShell(adviceOf()), root);
  const manifest = '{"name": "copilot-tap", "version": "0.9.0"}';
  writeFiles(target.folder, { "package.json": manifest, "extension.mjs": "" });
  const { state } = inspect(target);
  assert.equal(state, "in-place");
  assert.equal(asShell(notOurs(target, { state }).advice), target.folder);
  fs.mkdirSync(path.join(target.folder, ".git"));
  assert.equal(asShell(notOurs(target, inspect(target)).advice), target.folder);
});
