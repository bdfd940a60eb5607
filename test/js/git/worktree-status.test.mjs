// What git does not tell of a worktree: empty folders, pipes, and files that it was told to overlook.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { MARKED_ONLY, readIndex } from "../../../js/git/worktree-status.mjs";
import { WorktreePool } from "../../../js/git/worktree-pool.mjs";
import { Git } from "../../../js/git/git.mjs";
import { filesOf, git, makeRepository, write } from "./rig.mjs";

const posix = { skip: process.platform === "win32" };
const FILES = { "a.txt": "a\n", "b.txt": "b\n", "in/deep/c.txt": "c\n", "in/d é.txt": "d\n" };

/** @param {string} root */
const indexOf = (root) => readIndex(fs.readFileSync(path.join(root, ".git", "index")), 40);

for (const version of [2, 3, 4]) {
  test(`an index of version ${version} is read: its names, and which files git overlooks`, async (t) => {
    const { root } = await makeRepository(t, { files: FILES, untouched: false });
    git(root, "update-index", "--index-version", String(version));
    git(root, "update-index", "--assume-unchanged", "b.txt");
    if (version > 2) git(root, "update-index", "--skip-worktree", "in/deep/c.txt");
    const { names, assumed, skipped } = indexOf(root) ?? assert.fail("it is not read");
    const marked = readIndex(fs.readFileSync(path.join(root, ".git", "index")), 40, MARKED_ONLY);
    assert.deepEqual([marked?.assumed, marked?.skipped], [assumed, skipped]);
    const utf8 = names.map((one) => Buffer.from(one, "latin1").toString());
    assert.deepEqual(utf8, ["a.txt", "b.txt", "in/deep/c.txt", "in/d é.txt"].sort());
    assert.deepEqual([assumed, skipped], [["b.txt"], version > 2 ? ["in/deep/c.txt"] : []]);
  });
}

test("an index that is split, cut or no index is not known", async (t) => {
  const { root } = await makeRepository(t, { files: FILES, untouched: false });
  const bytes = fs.readFileSync(path.join(root, ".git", "index"));
  for (const length of [0, 11, 40, 120]) {
    assert.equal(readIndex(bytes.subarray(0, length), 40), undefined, `${length} bytes`);
  }
  git(root, "update-index", "--split-index");
  assert.equal(indexOf(root), undefined);
});

test("an index whose few bytes stand for long names is refused", () => {
  const entry = (/** @type {string} */ end, /** @type {number} */ cut) => [
    ...[Buffer.alloc(60), Buffer.from([0, 0, cut]), Buffer.from(`${end}\0`)],
  ];
  const count = 3000;
  const head = Buffer.alloc(12);
  head.write("DIRC");
  head.writeUInt32BE(4, 4);
  head.writeUInt32BE(count, 8);
  const rest = Array.from({ length: count - 1 }, (_, at) => entry(at % 2 ? "b" : "c", 1));
  const bytes = Buffer.concat([head, ...entry("a".repeat(200_000), 0), ...rest.flat()]);
  assert.throws(() => readIndex(bytes, 40), { code: "TOO_LARGE" });
});

test("a folder that looks as old as the checkout is not in the next attempt's worktree", async (t) => {
  const { worktrees, wanted } = await makeRepository(t, { files: FILES });
  const pool = new WorktreePool(worktrees, { most: 1 });
  const one = await pool.acquire(wanted("a"));
  await sleep(200); // else all of it is new
  assert.equal((await pool.release(one)).pooled, true);
  const two = await pool.acquire(wanted("b"));
  await sleep(200);
  fs.mkdirSync(path.join(two.path, "in", "out"));
  for (const name of ["in/out", "in"]) {
    const at = path.join(two.path, name);
    fs.utimesSync(at, 1_000_000, 1_000_000); // as programs that unpack do
  }
  assert.equal((await pool.release(two)).pooled, true);
  const three = await pool.acquire(wanted("c"));
  assert.deepEqual(fs.readdirSync(path.join(three.path, "in")).sort(), ["d é.txt", "deep"]);
  await pool.release(three);
  await pool.drain();
});

test(
  "empty folders and pipes of an attempt are not in the next one's worktree",
  posix,
  async (t) => {
    const { worktrees, wanted } = await makeRepository(t, { files: FILES });
    const pool = new WorktreePool(worktrees, { most: 1 });
    for (const [at, name] of ["out", "in/out", "pipe", "in/deep/pipe"].entries()) {
      const one = await pool.acquire(wanted(`n${at}`));
      const place = path.join(one.path, name);
      if (name.endsWith("pipe")) execFileSync("mkfifo", [place]);
      else fs.mkdirSync(path.join(place, "deep"), { recursive: true });
      assert.equal((await pool.release(one)).pooled, true);
      const next = await pool.acquire(wanted(`m${at}`));
      assert.equal(fs.existsSync(path.join(next.path, name)), false, name);
      assert.deepEqual(fs.readdirSync(next.path).sort(), [".git", "a.txt", "b.txt", "in"]);
      assert.equal((await pool.release(next)).pooled, true);
    }
    await pool.drain();
  },
);

test("a worktree in which nothing has changed costs one look of git, and is only moved", async (t) => {
  /** @type {string[]} */
  const runs = [];
  const counted = new Git({ lockMs: 3000, onRun: (args) => runs.push(args[0]) });
  const { worktrees, wanted } = await makeRepository(t, { files: FILES, git: counted });
  const pool = new WorktreePool(worktrees, { most: 1 });
  const one = await pool.acquire(wanted());
  runs.length = 0;
  await pool.release(one);
  await pool.acquire(wanted("m"));
  assert.deepEqual(runs, ["status"]);
});

test("what git was told to overlook is kept, and is not in the next attempt's worktree", async (t) => {
  const { root, worktrees, wanted } = await makeRepository(t, { files: FILES });
  const pool = new WorktreePool(worktrees, { most: 1 });
  const one = await pool.acquire(wanted());
  git(one.path, "update-index", "--assume-unchanged", "a.txt");
  git(one.path, "update-index", "--skip-worktree", "b.txt");
  write(one.path, { "a.txt": "mine\n", "b.txt": "mine\n" });
  await pool.release(one);
  const next = await pool.acquire(wanted("m"));
  const files = filesOf(root, "refs/tap/kept/p/n");
  assert.deepEqual([files["a.txt"], files["b.txt"]], ["mine\n", "mine\n"]);
  assert.equal(fs.readFileSync(path.join(next.path, "a.txt"), "utf8"), "a\n");
  assert.equal(fs.readFileSync(path.join(next.path, "b.txt"), "utf8"), "b\n");
});

test("a worktree that an attempt has made sparse is kept whole, and not used again", async (t) => {
  const { root, worktrees, wanted } = await makeRepository(t, { files: FILES, untouched: false });
  const pool = new WorktreePool(worktrees, { most: 1 });
  const one = await pool.acquire(wanted());
  git(one.path, "sparse-checkout", "set", "--no-cone", "/b.txt");
  write(one.path, { "new.txt": "new\n" });
  const { pooled, kept } = await pool.release(one);
  assert.equal(pooled, false);
  const files = filesOf(root, kept?.commit ?? assert.fail("nothing was kept"));
  assert.deepEqual(files, { ...FILES, "new.txt": "new\n" });
});
