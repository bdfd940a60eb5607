// Files that only their user may read: the token, the descriptor, and the folder of the link.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import * as hostFiles from "../../../js/lib/host-files.mjs";
import { temporaryFolder } from "../../support/harness.mjs";

test("files for this user only: whole, replaced, and removed only if ours", (t) => {
  const file = path.join(temporaryFolder(t), "deep", "file");
  hostFiles.writePrivate(file, "one");
  hostFiles.writePrivate(file, "two");
  assert.equal(fs.readFileSync(file, "utf8"), "two");
  assert.equal(fs.statSync(file).mode & 0o777, 0o600);
  assert.deepEqual(fs.readdirSync(path.dirname(file)), ["file"]);
  hostFiles.removeIfOurs(file, "one");
  assert.ok(fs.existsSync(file));
  hostFiles.removeIfOurs(file, "two");
  assert.ok(!fs.existsSync(file));
  hostFiles.removeIfOurs(file, "two");
});

test("of a file that cannot be put in its place nothing is left", (t) => {
  const folder = temporaryFolder(t);
  const file = path.join(folder, "file");
  fs.mkdirSync(path.join(file, "in the way"), { recursive: true });
  assert.throws(() => hostFiles.writePrivate(file, "one"), /EISDIR|ENOTEMPTY/);
  assert.deepEqual(fs.readdirSync(folder), ["file"]);
});

test("a descriptor that cannot be used is ignored", (t) => {
  const file = path.join(temporaryFolder(t), "descriptor");
  const link = path.join(path.dirname(file), "link");
  const good = { pid: 1, port: 2, link, secret: "s", version: "v" };
  assert.equal(hostFiles.readDescriptor(file), undefined);
  for (const text of [
    "",
    "{",
    "null",
    "[]",
    '"x"',
    ...Object.keys(good).map((key) => JSON.stringify({ ...good, [key]: {} })),
  ]) {
    fs.writeFileSync(file, text);
    assert.equal(hostFiles.readDescriptor(file), undefined, text);
  }
  fs.writeFileSync(file, JSON.stringify(good));
  assert.deepEqual(hostFiles.readDescriptor(file), good);
});

test("a private folder is made, narrowed, and refused where it is no folder", (t) => {
  const parent = temporaryFolder(t);
  const folder = path.join(parent, "run");
  fs.mkdirSync(folder, { mode: 0o777 });
  hostFiles.makePrivateFolder(folder);
  assert.equal(fs.statSync(folder).mode & 0o777, 0o700);
  const link = path.join(parent, "link");
  fs.symlinkSync(folder, link);
  assert.throws(() => hostFiles.makePrivateFolder(link), /not a folder of this user/);
});
