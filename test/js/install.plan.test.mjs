// What a release consists of, and whether it runs.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { failureOf, releasePlan } from "../../js/install/plan.mjs";
import { makePackage, writeFiles } from "./install-place.mjs";
import { temporaryFolder } from "./temporary.mjs";

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
  const root = makePackage(t, "1.0.0", { "js/session/runtime.mjs": hangs });
  assert.equal(failureOf(root, 200), "it was not loaded within 0.2 s");
  const ends = makePackage(t, "1.0.0", { "js/session/runtime.mjs": "process.exit(3);" });
  assert.equal(failureOf(ends), "it ended with 3");
});
