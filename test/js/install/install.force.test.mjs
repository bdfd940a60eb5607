// What --force finds in the entry's place is kept as it was.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { install } from "../../../js/install/install.mjs";
import { userTarget } from "../../../js/install/target.mjs";
import { uninstall } from "../../../js/install/uninstall.mjs";
import {
  killedAt,
  makeHome,
  makePackage,
  runEntry,
  writeFiles,
} from "../../support/install-place.mjs";

const said = "1.0.0 one:1 two:2";

/** @param {import("node:test").TestContext} t */
function somewhere(t) {
  const target = userTarget(makeHome(t));
  fs.mkdirSync(target.folder, { recursive: true });
  return {
    target,
    root: makePackage(t, "1.0.0"),
    entry: path.join(target.folder, "extension.mjs"),
  };
}

/** Does something once, just before an install takes its lock. @param {import("node:test").TestContext} t @param {() => void} work */
function beforeLock(t, work) {
  const write = fs.writeFileSync;
  const { mock } = t.mock.method(fs, "writeFileSync", (file, ...rest) => {
    if (path.basename(String(file)) === ".install-lock") {
      mock.restore();
      work();
    }
    write(file, ...rest);
  });
}

describe("install --force", () => {
  test("keeps a link as that link, also one that leads nowhere", (t) => {
    for (const to of ["other.mjs", "nowhere.mjs"]) {
      const { target, root, entry } = somewhere(t);
      writeFiles(target.folder, { "other.mjs": "// other\n" });
      fs.symlinkSync(to, entry);
      install(root, target, { force: true });
      assert.equal(runEntry(target), said);
      assert.equal(fs.readlinkSync(`${entry}.before-install`), to);
      assert.equal(uninstall(target).restored, true);
      assert.equal(fs.readlinkSync(entry), to);
      assert.deepEqual(fs.readdirSync(target.folder).sort(), ["extension.mjs", "other.mjs"]);
    }
  });

  test("keeps a folder, and the permissions of a file", (t) => {
    const { target, root, entry } = somewhere(t);
    writeFiles(entry, { file: "mine" });
    install(root, target, { force: true });
    assert.equal(runEntry(target), said);
    uninstall(target);
    assert.equal(fs.readFileSync(path.join(entry, "file"), "utf8"), "mine");
    fs.rmSync(entry, { recursive: true });
    fs.writeFileSync(entry, "// private", { mode: 0o600 });
    install(root, target, { force: true });
    uninstall(target);
    assert.equal(fs.statSync(entry).mode & 0o777, 0o600);
  });

  test("overwrites none that it kept before, and uninstall puts the last one back", (t) => {
    const { target, root, entry } = somewhere(t);
    for (const text of ["// first", "// second", "// third"]) {
      fs.writeFileSync(entry, text);
      install(root, target, { force: true });
    }
    const kept = ["", ".2", ".3"].map((number) => `${entry}.before-install${number}`);
    const texts = kept.map((file) => fs.readFileSync(file, "utf8"));
    assert.deepEqual(texts, ["// first", "// second", "// third"]);
    uninstall(target);
    assert.equal(fs.readFileSync(entry, "utf8"), "// third");
    assert.deepEqual(fs.readdirSync(target.folder).sort(), [
      "extension.mjs",
      "extension.mjs.before-install",
      "extension.mjs.before-install.2",
    ]);
  });

  test("keeps one entry once, however often it is interrupted", async (t) => {
    const { target, root, entry } = somewhere(t);
    fs.writeFileSync(entry, "// mine");
    fs.writeFileSync(`${entry}.before-install`, "// mine");
    install(root, target, { force: true });
    assert.ok(!fs.existsSync(`${entry}.before-install.2`));
    uninstall(target);
    assert.deepEqual(fs.readdirSync(target.folder), ["extension.mjs"]);

    await killedAt(root, target, { step: "place" }, { force: true });
    assert.equal(fs.readFileSync(entry, "utf8"), "// mine");
    fs.writeFileSync(`${entry}.before-install`, "// mine");
    assert.equal(uninstall(target).restored, true);
    assert.equal(fs.readFileSync(entry, "utf8"), "// mine");
    assert.deepEqual(fs.readdirSync(target.folder), ["extension.mjs"]);
  });

  test("keeps no entry of an install that ended while this one began", (t) => {
    const { target, root, entry } = somewhere(t);
    fs.writeFileSync(entry, "// mine");
    const other = makePackage(t, "1.1.0");
    beforeLock(t, () => {
      assert.equal(install(other, target, { force: true }).before.state, "foreign");
    });
    const { before } = install(root, target, { force: true });
    assert.equal(before.version, "1.1.0");
    assert.deepEqual(
      fs.readdirSync(target.folder).filter((name) => name.includes("before")),
      ["extension.mjs.before-install"],
    );
    uninstall(target);
    assert.equal(fs.readFileSync(entry, "utf8"), "// mine");
  });

  test("is needed for what somebody else put there while this install began", (t) => {
    const { target, root, entry } = somewhere(t);
    beforeLock(t, () => fs.writeFileSync(entry, "// mine"));
    assert.throws(() => install(root, target), { code: "NOT_OURS" });
    assert.deepEqual(fs.readdirSync(target.folder), ["extension.mjs"]);
  });
});
