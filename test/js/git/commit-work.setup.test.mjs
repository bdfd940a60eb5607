// What a plan's setup leaves in a worktree is no work of its node.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { commitWork, noteSetup, diffWorktree } from "../../../js/git/commit-work.mjs";
import { listArchives } from "../../../js/git/archive.mjs";
import { WorktreePool } from "../../../js/git/worktree-pool.mjs";
import { removeWorktree } from "../../../js/git/cleanup.mjs";
import { commit, filesOf, git, makeRepository, write } from "./rig.mjs";

const FILES = { "a.txt": "a\n", "b.txt": "b\n", "c/d.txt": "d\n", ".gitignore": "*.log\n" };
const linux = { skip: process.platform !== "linux" && "names are bytes there" };
const REF = "refs/tap/p/n/1";

/** A worktree in which a setup has run: a changed, a deleted, and new files. @param {import("node:test").TestContext} t */
async function setUpPlace(t) {
  const rig = await makeRepository(t, { files: FILES });
  const made = await rig.worktrees.add(rig.wanted());
  const at = (/** @type {string} */ name) => path.join(made.path, name);
  write(made.path, {
    "a.txt": "a\nsetup\n",
    "set.txt": "set\n",
    "deep/set.txt": "x\n",
    "i.log": "x\n",
  });
  fs.rmSync(at("b.txt"));
  if (process.platform !== "win32") fs.symlinkSync("/nowhere", at("node_modules"));
  await noteSetup(rig.repository, made);
  const work = () => commitWork(rig.repository, made, { message: "m" });
  const objects = () => git(rig.root, "count-objects").split(",")[0];
  return { ...rig, made, at, work, objects };
}

/** @param {import("../../../js/git/commit-work.mjs").Committed} done */
const changesOf = ({ changes }) =>
  changes.files.flatMap(({ path: name, from }) => (from ? [from, name] : [name])).sort();

test("files of the setup whose names are no UTF-8 are not committed", linux, async (t) => {
  const { repository, worktrees, wanted } = await makeRepository(t, { files: FILES });
  const made = await worktrees.add(wanted());
  fs.writeFileSync(Buffer.from(`${made.path}/caf\xe9`, "latin1"), "x\n");
  write(made.path, { "café.txt": "x\n" });
  await noteSetup(repository, made);
  write(made.path, { "mine é.txt": "mine\n" });
  const done = await commitWork(repository, made, { message: "m" });
  assert.deepEqual(changesOf(done), ["mine é.txt"]);
});

test("what the setup has left is not committed, and is no change", async (t) => {
  const { made, at, work, root, first, repository } = await setUpPlace(t);
  assert.equal((await diffWorktree(repository, made)).text, "");
  assert.deepEqual(await work(), {
    commit: first,
    made: false,
    changes: { files: [], insertions: 0, deletions: 0 },
  });
  assert.equal(fs.readFileSync(at("set.txt"), "utf8"), "set\n", "it stays in the worktree");
  write(made.path, { "mine.txt": "mine\n" });
  assert.deepEqual(changesOf(await work()), ["mine.txt"]);
  assert.deepEqual(filesOf(root, REF), { ...FILES, "mine.txt": "mine\n" });
  assert.equal(fs.readFileSync(at("a.txt"), "utf8"), "a\nsetup\n");
});

test("a file of the setup that the node changes or deletes is the node's as a whole", async (t) => {
  const { made, at, work, repository, objects } = await setUpPlace(t);
  write(made.path, { "a.txt": "a\nsetup\nmine\n", "b.txt": "again\n", "set.txt": "mine\n" });
  fs.rmSync(at("deep/set.txt"));
  const before = objects();
  const { text } = await diffWorktree(repository, made);
  assert.match(text, /\+setup\n\+mine/);
  assert.doesNotMatch(text, /deep|node_modules/);
  assert.equal(objects(), before, "a look adds no objects");
  assert.deepEqual(
    fs.readdirSync(made.admin).filter((name) => /^tap-(objects|index)-/.test(name)),
    [],
  );
  assert.deepEqual(changesOf(await work()), ["a.txt", "b.txt", "set.txt"]);
});

test("nor is it committed where the agent itself has committed it, or put a file back", async (t) => {
  const { made, work, root } = await setUpPlace(t);
  write(made.path, { "mine.txt": "mine\n", "b.txt": "b\n" });
  commit(made.path, {}, "the agent's own");
  const done = await work();
  assert.deepEqual(changesOf(done), ["mine.txt"]);
  assert.deepEqual(filesOf(root, REF), { ...FILES, "mine.txt": "mine\n" });
});

test("folders in the place of files, and files in the place of folders", async (t) => {
  const { repository, worktrees, wanted } = await makeRepository(t, { files: FILES });
  const change = (/** @type {string} */ folder) => {
    fs.rmSync(path.join(folder, "a.txt"));
    fs.rmSync(path.join(folder, "c"), { recursive: true });
    write(folder, { "a.txt/x": "x\n", "a.txt/y": "y\n", c: "file\n" });
  };
  const one = await worktrees.add(wanted("one"));
  change(one.path);
  await noteSetup(repository, one);
  assert.deepEqual(changesOf(await commitWork(repository, one, { message: "m" })), []);
  const two = await worktrees.add(wanted("two"));
  change(two.path);
  await noteSetup(repository, two);
  write(two.path, { "a.txt/y": "mine\n", c: "mine\n" });
  const done = await commitWork(repository, two, { message: "m" });
  assert.deepEqual(changesOf(done), ["a.txt", "a.txt/y", "c", "c/d.txt"]);
});

test("a note that nobody can read counts for nothing, and the next one takes its place", async (t) => {
  const { made, work, repository } = await setUpPlace(t);
  const note = path.join(made.admin, "tap-setup");
  const text = fs.readFileSync(note);
  fs.writeFileSync(note, text.subarray(0, 20));
  await noteSetup(repository, made);
  assert.deepEqual(fs.readFileSync(note), text);
  assert.deepEqual(changesOf(await work()), []);
});

test("a worktree that begins again has nothing of a setup, nor has the next node's", async (t) => {
  const { made, repository, worktrees, wanted, root } = await setUpPlace(t);
  const hasNote = (/** @type {{admin: string}} */ { admin }) =>
    fs.existsSync(path.join(admin, "tap-setup"));
  assert.equal(hasNote(made), true);
  const again = await worktrees.add(wanted());
  assert.equal(hasNote(again), false);
  assert.equal(git(again.path, "status", "--porcelain", "--ignored"), "");
  write(again.path, { "a.txt": "setup\n" });
  await noteSetup(repository, again);
  const pool = new WorktreePool(worktrees, { most: 1 });
  const kept = await listArchives(repository); // ignored files of the first
  assert.equal((await pool.release(again)).pooled, true);
  const worktree = await pool.acquire(wanted("two"));
  assert.deepEqual(await listArchives(repository), kept);
  assert.equal(hasNote(worktree), false);
  assert.equal(git(worktree.path, "status", "--porcelain", "--ignored"), "");
  await pool.release(worktree);
  await pool.drain();
  assert.deepEqual(fs.readdirSync(path.join(root, ".worktrees")), []);
});

test("what is there beyond the setup is kept when a worktree goes, evidence too", async (t) => {
  for (const name of ["mine.txt", "a.txt", ".orchestrator/evidence/n.json"]) {
    const { made, repository, worktrees, at } = await setUpPlace(t);
    fs.rmSync(at("i.log"));
    write(made.path, { [name]: "mine\n" });
    const removed = await removeWorktree(worktrees, made);
    assert.equal(removed.removed, true);
    const [kept] = await listArchives(repository);
    assert.equal(git(repository.root, "show", `${kept.commit}:${name}`), "mine");
  }
});
