// Changes of files, as an emitter's onChange sees them.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { globProblem, readGlobs } from "../../../js/lib/globs.mjs";
import { watchFiles } from "../../../js/feature-host/file-watch.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { waitFor } from "../../support/wait.mjs";

/** @param {import("node:test").TestContext} t @param {string[]} globs @param {number} [most] */
async function watching(t, globs, most) {
  const folder = temporaryFolder(t);
  for (const one of ["src/deep", "node_modules/x", ".git", "docs"]) {
    fs.mkdirSync(path.join(folder, one), { recursive: true });
  }
  fs.writeFileSync(path.join(folder, "src", "old.ts"), "");
  const changed = /** @type {string[]} */ ([]);
  const failed = /** @type {string[]} */ ([]);
  const { close } = await watchFiles({
    folder,
    globs,
    most,
    onChange: (file) => void changed.push(file),
    onFailed: (reason) => void failed.push(reason),
  });
  t.after(close);
  const write = (/** @type {string} */ file) => fs.writeFileSync(path.join(folder, file), "x");
  return { folder, changed, failed, write };
}

test("a file that is changed, added or removed is told, others are not", async (t) => {
  const { folder, changed, write } = await watching(t, ["src/**/*.ts", "*.json"]);
  for (const file of ["docs/a.ts", "src/a.js", "node_modules/x/a.ts", ".git/a.ts"]) write(file);
  write("src/old.ts");
  await waitFor(() => changed.includes("src/old.ts"), { what: () => changed.join() });
  write("src/deep/new.ts");
  await waitFor(() => changed.includes("src/deep/new.ts"), { what: () => changed.join() });
  fs.mkdirSync(path.join(folder, "src", "later"));
  write("src/later/b.ts");
  await waitFor(() => changed.includes("src/later/b.ts"), { what: () => changed.join() });
  write("package.json");
  await waitFor(() => changed.includes("package.json"), { what: () => changed.join() });
  fs.rmSync(path.join(folder, "src", "old.ts"));
  await waitFor(() => changed.filter((file) => file === "src/old.ts").length > 1, {
    what: () => changed.join(),
  });
  assert.deepEqual([...new Set(changed)].sort(), [
    "package.json",
    "src/deep/new.ts",
    "src/later/b.ts",
    "src/old.ts",
  ]);
});

test("globs as people write them match the files that are meant", async (t) => {
  const files = ["app/[slug]/a.tsx", "app/(shop)/b.tsx", "a b/c.tsx", "src/deep/d.ts", "e.txt"];
  for (const [glob, file] of [
    [String.raw`app/\[slug\]/*.tsx`, files[0]],
    ["app/[slug]/*.tsx", files[0]],
    [String.raw`app/\(shop\)/*.tsx`, files[1]],
    ["app/(shop)/*.tsx", files[1]],
    [String.raw`a\ b/*.tsx`, files[2]],
    ["src", files[3]],
    ["src/", files[3]],
    ["./docs/../src/**/[!a-c].ts", files[3]],
    ["{src,docs}/**", files[3]],
    ["e.txt", files[4]],
    ["**/*.{ts,tsx}", files[3]],
  ]) {
    const { bases, matches } = readGlobs([glob]);
    assert.ok(matches(file), glob);
    assert.ok(!matches("other/x.ts~"), glob);
    assert.ok(
      bases.every((base) => base === "" || file === base || file.startsWith(`${base}/`)),
      `${glob}: ${bases}`,
    );
  }
  assert.ok(!readGlobs(["*.ts"]).matches("src/a.ts"), "no / is no name in any folder");
  assert.ok(!readGlobs(["src/*"]).matches("src/deep/d.ts"));
  const { folder, changed } = await watching(t, [String.raw`app/\[slug\]/*.tsx`, "src"]);
  fs.mkdirSync(path.join(folder, "app/[slug]"), { recursive: true });
  for (const file of [files[0], files[3]]) {
    fs.writeFileSync(path.join(folder, file), "");
    await waitFor(() => changed.includes(file), { what: () => changed.join() });
  }
});

test("a glob that could match no file is refused", async (t) => {
  for (const glob of [
    ...["@(a|b).ts", "src/*(x).ts", "{1..3}.ts", "[[:alpha:]].ts", String.raw`src\app\*.ts`, "[a"],
    ...["node_modules/x/*.js", ".git/HEAD"],
  ]) {
    assert.notEqual(globProblem(glob), "", glob);
    assert.throws(() => readGlobs([glob]), RangeError, glob);
  }
  assert.throws(() => readGlobs(["!src/**"]), RangeError);
  await assert.rejects(watching(t, ["../*.ts"]), RangeError);
});

test("a glob and a name that made a matcher search for minutes", () => {
  const { matches } = readGlobs(["*a*a*a*a*a*a*a*a*a*a*b", "!*a*a*a*a*a*a*a*a*a*a*c"]);
  assert.ok(!matches(`${"a".repeat(180)}z`));
  assert.ok(matches(`${"a".repeat(180)}b`));
});

test("a glob with ! leaves files out", async (t) => {
  const { changed, write } = await watching(t, ["src/**", "!src/deep/**"]);
  write("src/deep/a.ts");
  write("src/b.ts");
  await waitFor(() => changed.includes("src/b.ts"), { what: () => changed.join() });
  assert.deepEqual(changed, ["src/b.ts"]);
});

test("a folder that comes later is seen, and one that goes and comes back", async (t) => {
  const { folder, changed, write } = await watching(t, ["later/**", "src/deep/**"]);
  const seen = (/** @type {string} */ file) =>
    waitFor(() => changed.includes(file), { what: () => changed.join() });
  fs.mkdirSync(path.join(folder, "later"));
  write("later/a.txt");
  await seen("later/a.txt");
  write("src/b.txt");
  write("docs/c.txt");
  fs.rmSync(path.join(folder, "src"), { recursive: true });
  await new Promise((resolve) => setTimeout(resolve, 200));
  fs.mkdirSync(path.join(folder, "src", "deep"), { recursive: true });
  write("src/deep/d.txt");
  await seen("src/deep/d.txt");
  assert.deepEqual(
    changed.filter((file) => /[bc]\.txt/.test(file)),
    [],
  );
});

test("a link is not followed, and a glob does not leave the workspace", async (t) => {
  const elsewhere = temporaryFolder(t);
  const { folder, changed, write } = await watching(t, ["**/*.txt"]);
  fs.symlinkSync(elsewhere, path.join(folder, "out"));
  fs.writeFileSync(path.join(elsewhere, "far.txt"), "x");
  write("near.txt");
  await waitFor(() => changed.includes("near.txt"), { what: () => changed.join() });
  assert.ok(!changed.some((file) => /far/.test(file)), changed.join());
  const wrong = { folder, globs: ["../*.txt"], onChange() {}, onFailed() {} };
  await assert.rejects(watchFiles(wrong), /within the workspace/);
});

test("files that are gone do not count, and more than the limit at a time end the watch", async (t) => {
  const { folder, changed, failed, write } = await watching(t, ["src/**"], 60);
  for (const round of ["a", "b", "c", "d"]) {
    const files = Array.from({ length: 25 }, (_, at) => `src/${round}${at}.txt`);
    for (const act of [write, (file) => fs.rmSync(path.join(folder, file))]) {
      changed.length = 0;
      files.forEach(act);
      await waitFor(() => files.every((file) => changed.includes(file)), { what: round });
    }
  }
  assert.deepEqual(failed, []);
  for (let at = 0; at < 60; at += 1) write(`src/many${at}.txt`);
  await waitFor(() => failed.length > 0, { what: "the limit" });
  assert.equal(failed.length, 1);
});
