// The pool of worktrees: what one attempt has left is kept, and is not in the worktree of the next.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { removeWorktree } from "../../../js/git/cleanup.mjs";
import { copyUntrackedFiles } from "../../../js/git/copy-untracked.mjs";
import { noteSetup } from "../../../js/git/commit-work.mjs";
import { WorktreePool } from "../../../js/git/worktree-pool.mjs";
import { commit, filesOf, git, gitWorks, makeRepository, write } from "./rig.mjs";

const linux = { skip: process.platform !== "linux" && "looks into /proc" };
const KEPT = "refs/tap/kept/p/n";

test("a worktree with ignored files that are too large stays, unless a command makes them again", async (t) => {
  const { root, worktrees, wanted } = await makeRepository(t, {
    files: { ".gitignore": "*.bin\nmade/\nx.log\n" },
  });
  const made = await worktrees.add(wanted());
  const large = "x".repeat(17 * 1024 * 1024);
  write(made.path, { "made/CACHEDIR.TAG": "", "made/file": large, "x.log": "small\n" });
  write(made.path, { "own.bin": large });
  const record = { ...made, known: [made.commit] };
  const stays = await removeWorktree(worktrees, record);
  assert.deepEqual([stays.removed, stays.code], [false, "TOO_LARGE"]);
  assert.ok(stays.message?.includes("own.bin"));
  assert.equal(gitWorks(root, "rev-parse", KEPT), false);
  const pool = new WorktreePool(worktrees, { most: 1, onStay: ({ code }) => codes.push(code) });
  /** @type {(string | undefined)[]} */
  const codes = [];
  assert.equal((await pool.release(made)).pooled, true);
  const other = await pool.acquire(wanted("other"));
  assert.deepEqual([codes, other.path === made.path], [["TOO_LARGE"], false]);
  assert.ok(fs.existsSync(path.join(made.path, "own.bin")));
  const asked = await removeWorktree(worktrees, record, { isAsked: true });
  assert.deepEqual([asked.removed, asked.omitted], [true, ["made/", "own.bin"]]);
  assert.deepEqual(Object.keys(filesOf(root, KEPT)), [".gitignore", "x.log"]);
});

test("what somebody changes in a worktree that waits in the pool is kept before its next use", async (t) => {
  const { root, worktrees, wanted } = await makeRepository(t);
  const pool = new WorktreePool(worktrees, { most: 2 });
  const one = await pool.acquire(wanted("one"));
  await pool.release(one);
  write(one.path, { "a.txt": "by hand\n" });
  const two = await pool.acquire(wanted("two"));
  assert.equal(two.admin, one.admin);
  assert.equal(git(root, "show", "refs/tap/kept/p/one:a.txt"), "by hand");
  assert.equal(git(two.path, "status", "--porcelain"), "");
  await pool.release(two);
  write(two.path, { "new.txt": "by hand\n" });
  await pool.drain();
  assert.equal(git(root, "show", "refs/tap/kept/p/two:new.txt"), "by hand");
});

test("what checks leave is committed by no node, and is in no next worktree", async (t) => {
  const { root, worktrees, wanted } = await makeRepository(t, {
    files: { ".gitignore": "*.log\n", "a.txt": "a\n" },
  });
  const pool = new WorktreePool(worktrees, { most: 2 });
  const isForChecks = true;
  const one = await pool.acquire({ ...wanted("one"), isForChecks });
  assert.equal(path.basename(one.path), "p-one-1-checks");
  write(one.path, { "a.txt": "checked\n", "x.log": "x\n", "report.xml": "r\n" });
  git(one.path, "update-index", "--skip-worktree", "a.txt");
  await pool.release(one);
  const two = await pool.acquire(wanted("two"));
  assert.equal(two.admin, one.admin);
  assert.deepEqual(fs.readdirSync(two.path).sort(), [".git", ".gitignore", "a.txt"]);
  assert.equal(fs.readFileSync(path.join(two.path, "a.txt"), "utf8"), "a\n");
  assert.equal(git(root, "for-each-ref", "refs/tap/kept"), "");
});

test("a pool gives a worktree to one attempt after another, clean each time", async (t) => {
  const { root, worktrees, wanted, first } = await makeRepository(t, { untouched: false });
  write(root, { ".env": "KEY=1\n", "data/old.txt": "x", "modules/one.txt": "x" });
  const ignored = "*.log\n.env\ndata\nmodules\n";
  const second = commit(root, { "a.txt": "second\n", ".gitignore": ignored });
  const pool = new WorktreePool(worktrees, { most: 2 });
  const one = await pool.acquire(wanted("one", 1, second));
  const brought = { copy: [".env", "data"], link: ["modules"] };
  await copyUntrackedFiles(root, one, brought);
  git(one.path, "checkout", "--quiet", "-b", "agents-own");
  write(one.path, { "new.txt": "x", "y.log": "y", "a.txt": "dirty\n" });
  write(one.path, { ".env": "KEY=2\n", "data/new.txt": "x" });
  fs.unlinkSync(path.join(one.path, "modules"));
  write(one.path, { "modules/one.txt": "its own" });
  assert.equal((await pool.release(one)).pooled, true);
  const two = await pool.acquire(wanted("two", 1, first));
  assert.ok(gitWorks(root, "rev-parse", "refs/tap/kept/p/one"));
  assert.equal(two.admin, one.admin);
  assert.equal(path.basename(two.path), "p-two-1");
  assert.equal(fs.existsSync(one.path), false);
  assert.deepEqual(fs.readdirSync(two.path).sort(), [".git", "a.txt", "b.txt"]);
  assert.deepEqual((await copyUntrackedFiles(root, two, brought)).skipped, []);
  assert.equal(fs.readFileSync(path.join(two.path, ".env"), "utf8"), "KEY=1\n");
  assert.deepEqual(fs.readdirSync(path.join(two.path, "data")), ["old.txt"]);
  assert.equal(fs.readlinkSync(path.join(two.path, "modules")), path.join(root, "modules"));
  assert.equal(fs.readFileSync(path.join(root, "modules", "one.txt"), "utf8"), "x");
  assert.equal(git(two.path, "rev-parse", "HEAD"), first);
  assert.equal(git(root, "rev-parse", "agents-own"), second, "its branch did not move");
  await pool.release(two);
  assert.deepEqual(await pool.drain(), [{ path: two.path, removed: true }]);
  assert.deepEqual(fs.readdirSync(path.join(root, ".worktrees")), []);
});

test("a pool leaves an attempt the worktree that it had begun with before a crash", async (t) => {
  const { root, worktrees, wanted } = await makeRepository(t);
  const pool = new WorktreePool(worktrees, { most: 1 });
  const begun = await worktrees.add(wanted("two"));
  const idle = await pool.acquire(wanted("one"));
  assert.equal((await pool.release(idle)).pooled, true);
  const worktree = await pool.acquire(wanted("two"));
  assert.deepEqual(worktree, begun);
  assert.equal(git(worktree.path, "status", "--porcelain"), "");
  assert.equal(git(root, "worktree", "list").split("\n").length, 3);
});

test("a pool makes another worktree where the one that waited was deleted by hand", async (t) => {
  const { worktrees, wanted } = await makeRepository(t);
  const pool = new WorktreePool(worktrees, { most: 1 });
  const worktree = await pool.acquire(wanted("one"));
  await pool.release(worktree);
  fs.rmSync(worktree.path, { recursive: true });
  const two = await pool.acquire(wanted("two"));
  assert.ok(fs.existsSync(path.join(two.path, "a.txt")));
});

test(
  "a pool removes what it has no room for, and leaves what a process works in",
  linux,
  async (t) => {
    const { worktrees, wanted } = await makeRepository(t);
    const pool = new WorktreePool(worktrees, { most: 0 });
    const worktree = await pool.acquire(wanted("one"));
    const child = spawn("sleep", ["300"], { cwd: worktree.path });
    t.after(() => child.kill());
    const held = await pool.release(worktree);
    assert.deepEqual([held.removed, held.pooled, held.code], [false, false, "HELD"]);
    child.kill("SIGKILL");
    await new Promise((resolve) => child.on("exit", resolve));
    assert.deepEqual(await pool.release(worktree), { removed: true, pooled: false });
  },
);

test("a worktree on its way to checks when everything was killed, or canceled, loses nothing of its node", async (t) => {
  for (const isKilled of [true, false]) {
    const { root, worktrees, wanted } = await makeRepository(t, {
      files: { ".gitignore": "*.log\n" },
    });
    const one = await worktrees.add(wanted("one"));
    write(one.path, { "x.log": "mine\n" });
    const forChecks = { ...wanted("two"), isForChecks: true };
    if (isKilled) {
      const place = await worktrees.worktreePath(forChecks);
      git(root, "worktree", "move", "--force", "--force", one.path, place);
      const two = await worktrees.add(forChecks);
      assert.deepEqual(fs.readdirSync(two.path).sort(), [".git", ".gitignore"]);
    } else {
      const keep = () => Promise.reject(new Error("canceled"));
      await assert.rejects(worktrees.reuse(one, forChecks, keep), { message: "canceled" });
      assert.ok(fs.existsSync(path.join(one.path, "x.log")));
      assert.equal((await removeWorktree(worktrees, one)).removed, true);
    }
    assert.equal(git(root, "show", "refs/tap/kept/p/one:x.log"), "mine");
  }
});

test("a file that git was told to overlook, and that is gone, is there in the next attempt's worktree", async (t) => {
  const { worktrees, wanted } = await makeRepository(t);
  const pool = new WorktreePool(worktrees, { most: 1 });
  const one = await pool.acquire(wanted("one"));
  git(one.path, "update-index", "--skip-worktree", "a.txt");
  fs.rmSync(path.join(one.path, "a.txt"));
  await pool.release(one);
  const two = await pool.acquire(wanted("two"));
  assert.equal(two.admin, one.admin);
  assert.ok(fs.existsSync(path.join(two.path, "a.txt")));
});

test("a checkout for checks that were cut off begins anew", async (t) => {
  const { worktrees, wanted } = await makeRepository(t, { untouched: false });
  const forChecks = { ...wanted("one"), isForChecks: true };
  const one = await worktrees.add(forChecks);
  git(one.path, "update-index", "--skip-worktree", "a.txt");
  write(one.path, { "a.txt": "good\n", "new.txt": "x\n" });
  git(one.path, "sparse-checkout", "set", "--no-cone", "/a.txt");
  const two = await worktrees.add(forChecks);
  assert.deepEqual(fs.readdirSync(two.path).sort(), [".git", "a.txt", "b.txt"]);
  assert.notEqual(fs.readFileSync(path.join(two.path, "a.txt"), "utf8"), "good\n");
});

test("what a node adds to an ignored folder of the setup counts as its own", async (t) => {
  const { root, worktrees, wanted, repository } = await makeRepository(t, {
    files: { ".gitignore": "data/\n" },
  });
  const large = "x".repeat(17 * 1024 * 1024);
  const one = await worktrees.add(wanted("one"));
  write(one.path, { "data/large": large });
  await noteSetup(repository, one);
  const removal = await removeWorktree(worktrees, one);
  assert.deepEqual([removal.removed, removal.omitted], [true, ["data/"]]);
  const two = await worktrees.add(wanted("two"));
  write(two.path, { "data/large": large });
  await noteSetup(repository, two);
  write(two.path, { "data/notes.txt": "mine\n" });
  const stays = await removeWorktree(worktrees, two);
  assert.deepEqual([stays.removed, stays.code], [false, "TOO_LARGE"]);
  assert.equal(git(root, "for-each-ref", "refs/tap/kept"), "");
});

test("what git was told to overlook is kept from a split index, too", async (t) => {
  const { root, worktrees, wanted } = await makeRepository(t, { untouched: false });
  const made = await worktrees.add(wanted());
  git(made.path, "update-index", "--split-index");
  git(made.path, "update-index", "--skip-worktree", "a.txt");
  write(made.path, { "a.txt": "mine\n" });
  assert.equal((await removeWorktree(worktrees, made)).removed, true);
  assert.equal(git(root, "show", `${KEPT}:a.txt`), "mine");
});

test("settings that git gives a worktree are the user's, also once they have changed", async (t) => {
  const { root, worktrees, wanted } = await makeRepository(t, { untouched: false });
  git(root, "config", "extensions.worktreeConfig", "true");
  git(root, "config", "--worktree", "user.email", "one@example.com");
  const made = await worktrees.add(wanted());
  git(root, "config", "--worktree", "user.email", "two@example.com");
  write(made.path, { "new.txt": "mine\n" });
  const removal = await removeWorktree(worktrees, made);
  assert.deepEqual([removal.removed, removal.kept?.ref], [true, KEPT]);
});
