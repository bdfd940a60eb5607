// What the service says of files, and what it does not look at.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { inspectFiles } from "../../../js/feature-host/workspace.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

/** @param {string} folder @param {any[]} files */
const look = (folder, files) => inspectFiles(async () => folder, { session: "s", files });

test("a file has its size and digest, and says whether a pattern matches it", async (t) => {
  const folder = temporaryFolder(t);
  fs.mkdirSync(path.join(folder, "sub"));
  fs.writeFileSync(path.join(folder, "sub", "a"), "one\ntwo\n");
  fs.symlinkSync("sub/a", path.join(folder, "inside"));
  const sha256 = createHash("sha256").update("one\ntwo\n").digest("hex");
  const seen = { exists: true, bytes: 8, sha256 };
  const absolute = path.join(folder, "sub", "a");
  assert.deepEqual(
    await look(folder, [
      { file: "sub/a" },
      { file: absolute, match: "two" },
      { file: "inside", match: "^two" },
      { file: "none" },
    ]),
    [seen, { ...seen, matched: "yes" }, { ...seen, matched: "no" }, { exists: false }],
  );
});

test("a pattern sees the first 1 MB, and a file of more than 64 MB is not read", async (t) => {
  const folder = temporaryFolder(t);
  fs.writeFileSync(path.join(folder, "long"), `${"a".repeat(1024 * 1024)}b`);
  fs.writeFileSync(path.join(folder, "huge"), "");
  fs.truncateSync(path.join(folder, "huge"), 64 * 1024 * 1024 + 1);
  const [long, huge] = await look(folder, [{ file: "long", match: "b" }, { file: "huge" }]);
  assert.deepEqual([long.matched, long.cut], ["no", true]);
  assert.match(huge.problem ?? "", /more than 64 MB/);
  assert.equal(huge.sha256, undefined);
});

const windows = process.platform === "win32";

test("what is no regular file of the workspace is not opened", { skip: windows }, async (t) => {
  const outer = temporaryFolder(t);
  const folder = path.join(outer, "work");
  fs.mkdirSync(folder);
  fs.writeFileSync(path.join(outer, "work-secret"), "secret");
  fs.symlinkSync("../work-secret", path.join(folder, "link"));
  fs.symlinkSync("loop", path.join(folder, "loop"));
  execFileSync("mkfifo", [path.join(folder, "pipe")]);
  const files = ["link", "../work-secret", ".", "pipe", "loop", "/dev/zero"];
  const seen = await look(
    folder,
    files.map((file) => ({ file, match: "s" })),
  );
  assert.ok(seen.every(({ exists, matched }) => !exists && matched === undefined));
  const outside = "it is outside of the workspace";
  assert.deepEqual(
    seen.map(({ problem }) => problem),
    [outside, outside, outside, "it is not a regular file", "ELOOP", outside],
  );
});

test("what is asked for wrongly is refused", async (t) => {
  const folder = temporaryFolder(t);
  const many = Array.from({ length: 21 }, () => ({ file: "a" }));
  for (const files of [many, [{}], [{ file: "" }], [{ file: "a", match: "(" }], "a", [null]]) {
    await assert.rejects(look(folder, /** @type {any} */ (files)), RangeError);
  }
  await assert.rejects(
    inspectFiles(() => Promise.reject(new Error("the session has ended")), {
      session: "s",
      files: [],
    }),
    /the session has ended/,
  );
});
