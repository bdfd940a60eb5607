// A rename that is refused for a moment.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { renameWithRetry } from "../../../js/install/copy.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

/** @param {import("node:test").TestContext} t @param {string} code @param {number} times it is refused */
function refused(t, code, times) {
  const folder = temporaryFolder(t);
  const [from, to] = ["from", "to"].map((name) => path.join(folder, name));
  fs.writeFileSync(from, "new");
  const rename = fs.renameSync;
  let left = times;
  const { mock } = t.mock.method(fs, "renameSync", (...names) => {
    if ((left -= 1) >= 0) throw Object.assign(new Error("rename"), { code });
    rename(...names);
  });
  return { from, to, mock };
}

test("a rename that Windows refuses for a moment is tried again", (t) => {
  for (const code of ["EPERM", "EBUSY", "EACCES"]) {
    const { from, to, mock } = refused(t, code, 2);
    renameWithRetry(from, to, "win32");
    assert.equal(fs.readFileSync(to, "utf8"), "new");
    assert.equal(mock.callCount(), 3);
    mock.restore();
  }
});

test("one that it goes on refusing fails after two seconds", (t) => {
  const { from, to, mock } = refused(t, "EBUSY", Infinity);
  const start = performance.now();
  assert.throws(() => renameWithRetry(from, to, "win32"), { code: "EBUSY" });
  assert.ok(performance.now() - start >= 2000);
  assert.ok(mock.callCount() > 1);
});

test("other failures, and those of other systems, are no matter of time", (t) => {
  for (const [code, platform] of [
    ["ENOSPC", "win32"],
    ["EPERM", "linux"],
  ]) {
    const { from, to, mock } = refused(t, code, 1);
    assert.throws(() => renameWithRetry(from, to, platform), { code });
    assert.equal(mock.callCount(), 1);
    mock.restore();
  }
});
