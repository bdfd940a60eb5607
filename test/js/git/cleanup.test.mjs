// Removing worktrees: what may be removed, what is kept of it, and what is said where it stays.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { copyUntrackedFiles } from "../../../js/git/copy-untracked.mjs";
import { commitWork } from "../../../js/git/commit-work.mjs";
import { readLsof } from "../../../js/git/processes.mjs";
import {
  expireArchives,
  extractArchive,
  restoreArchive,
  listArchives,
  snapshotContents,
} from "../../../js/git/archive.mjs";
import { diskUse, findOrphans, removeOrphan, removeWorktree } from "../../../js/git/cleanup.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { commit, filesOf, git, gitWorks, makeRepository, NONCE, write } from "./rig.mjs";

const linux = { skip: process.platform !== "linux" && "looks into /proc" };
const KEPT = "refs/tap/kept/p/n";

test("a worktree that has nothing of its own is removed without a snapshot, and a second time", async (t) => {
  const { root, worktrees, wanted } = await makeRepository(t);
  const made = await worktrees.add(wanted());
  const record = { ...made, known: [made.commit] };
  assert.deepEqual(await removeWorktree(worktrees, record), { removed: true });
  assert.deepEqual(await removeWorktree(worktrees, record), { removed: true });
  assert.deepEqual(fs.readdirSync(path.join(root, ".worktrees")), []);
  assert.equal(gitWorks(root, "rev-parse", "--verify", KEPT), false);
});

test("changed, staged, new and ignored files, and odd names, are in the snapshot", async (t) => {
  const { root, worktrees, wanted } = await makeRepository(t, {
    files: { ".gitignore": "*.log\nbuild/\n", "a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n" },
  });
  const made = await worktrees.add(wanted());
  const raw = Buffer.concat([Buffer.from(`${made.path}/caf`), Buffer.from([0xe9])]);
  fs.writeFileSync(raw, "latin1\n");
  write(made.path, { "a.txt": "changed\n", "b.txt": "staged\n", "new dir/new\nfile": "new\n" });
  write(made.path, { "x.log": "ignored\n", "build/out/y": "built\n" });
  git(made.path, "add", "b.txt");
  fs.rmSync(path.join(made.path, "c.txt"));
  const { removed, kept } = await removeWorktree(worktrees, { ...made, known: [made.commit] });
  assert.equal(removed, true);
  assert.equal(kept.ref, KEPT);
  assert.equal(git(root, "rev-parse", KEPT), kept.commit);
  assert.equal(git(root, "rev-parse", `${KEPT}^`), made.commit);
  const names = git(root, "ls-tree", "-r", "--name-only", KEPT).split("\n");
  assert.ok(
    names.some((name) => name.includes("\\351")),
    "a name that is no UTF-8",
  );
  const to = path.join(temporaryFolder(t), "restored");
  await extractArchive(worktrees.repository, { plan: "p", node: "n" }, to);
  const text = (name) => fs.readFileSync(path.join(to, name), "utf8");
  assert.deepEqual(["a.txt", "b.txt", "new dir/new\nfile", "x.log", "build/out/y"].map(text), [
    ...["changed\n", "staged\n", "new\n", "ignored\n", "built\n"],
  ]);
  assert.equal(fs.existsSync(path.join(to, "c.txt")), false);
  const again = extractArchive(worktrees.repository, { plan: "p", node: "n" }, to);
  await assert.rejects(again, { code: "EXISTS" });
});

test("an ignored repository with a commit is not removed", async (t) => {
  const { worktrees, wanted } = await makeRepository(t, { files: { ".gitignore": "inner/\n" } });
  const made = await worktrees.add(wanted());
  const inner = path.join(made.path, "inner", "deep");
  fs.mkdirSync(inner, { recursive: true });
  git(inner, "init", "--quiet");
  const own = commit(inner, { "x.txt": "x\n" });
  for (const isAsked of [false, true]) {
    const removal = await removeWorktree(worktrees, made, { isAsked });
    assert.deepEqual([removal.removed, removal.code], [false, "NESTED_REPOSITORY"]);
  }
  assert.equal(git(inner, "rev-parse", "HEAD"), own);
});

test("commits of the agent are kept: at HEAD, on the way, and those that it has left", async (t) => {
  const { root, worktrees, wanted, first } = await makeRepository(t);
  const made = await worktrees.add(wanted());
  const left = commit(made.path, { "left.txt": "1\n" });
  git(made.path, "reset", "--quiet", "--hard", first);
  const head = commit(made.path, { "head.txt": "2\n" });
  const { kept } = await removeWorktree(worktrees, { ...made, known: [first] });
  assert.deepEqual(git(root, "rev-parse", `${kept.commit}^@`).split("\n"), [head, left]);
});

test("a commit that has a ref is kept by that, though the caller does not say so", async (t) => {
  const { root, repository, worktrees, wanted, first } = await makeRepository(t);
  const made = await worktrees.add(wanted());
  write(made.path, { "a.txt": "2\n" });
  await commitWork(repository, made, { message: "m" });
  assert.deepEqual(await removeWorktree(worktrees, { ...made, known: [first] }), { removed: true });
  const two = await worktrees.add(wanted("n", 2));
  const head = commit(two.path, { "b.txt": "2\n" });
  await worktrees.add(wanted("n", 3, head)); // its HEAD is no ref
  const { kept } = await removeWorktree(worktrees, two);
  assert.equal(git(root, "rev-parse", `${kept.commit}^1`), head);
});

test("a worktree is removed whose folder is gone and whose HEAD names no commit", async (t) => {
  const { root, worktrees, wanted, first } = await makeRepository(t);
  const heads = [git(root, "rev-parse", `${first}:a.txt`), "f".repeat(40)];
  for (const [attempt, head] of heads.entries()) {
    const made = await worktrees.add(wanted("n", attempt + 1));
    fs.rmSync(made.path, { recursive: true });
    fs.writeFileSync(path.join(made.admin, "HEAD"), `${head}\n`);
    assert.deepEqual(await removeWorktree(worktrees, made), { removed: true }, head);
  }
  assert.equal(gitWorks(root, "rev-parse", "--verify", KEPT), false);
});

test("a later snapshot of the same node has the earlier one as a parent", async (t) => {
  const { root, worktrees, wanted } = await makeRepository(t);
  for (const attempt of [1, 2]) {
    const made = await worktrees.add(wanted("n", attempt));
    write(made.path, { "new.txt": `${attempt}\n` });
    await removeWorktree(worktrees, { ...made, known: [made.commit] });
  }
  assert.equal(git(root, "show", `${KEPT}:new.txt`), "2");
  assert.equal(git(root, "show", `${KEPT}^2:new.txt`), "1");
});

test("only what tap made for this plan is removed", async (t) => {
  const { root, worktrees, wanted } = await makeRepository(t);
  const made = await worktrees.add(wanted());
  const user = path.join(root, ".worktrees", "p-user-1");
  git(root, "worktree", "add", "--quiet", "--detach", user);
  write(root, { ".worktrees/p-plain-1/file": "x" });
  fs.symlinkSync(root, path.join(root, ".worktrees", "p-link-1"));
  const record = { plan: "p", node: "n", nonce: NONCE };
  const cases = [
    { ...record, path: user },
    { ...record, path: path.join(root, ".worktrees", "p-plain-1") },
    { ...record, path: path.join(root, ".worktrees", "p-link-1") },
    { ...record, path: root },
    { ...record, path: path.join(root, ".worktrees", "..") },
    { ...record, path: made.path, nonce: "f".repeat(16) },
  ];
  for (const one of cases) {
    const { removed, code } = await removeWorktree(worktrees, one);
    assert.deepEqual([removed, code], [false, "NOT_OURS"], one.path);
    assert.ok(fs.existsSync(one.path));
  }
  fs.rmSync(path.join(root, ".worktrees", "p-link-1"));
});

test("a worktree in which a process works stays, and the process is named", linux, async (t) => {
  const { worktrees, wanted } = await makeRepository(t);
  const made = await worktrees.add(wanted());
  fs.mkdirSync(path.join(made.path, "deep"));
  const child = spawn("sleep", ["300"], { cwd: path.join(made.path, "deep") });
  t.after(() => child.kill());
  const record = { ...made, known: [made.commit] };
  const { removed, code, holders, message } = await removeWorktree(worktrees, record);
  assert.deepEqual([removed, code], [false, "HELD"]);
  assert.deepEqual(
    holders.map(({ pid }) => pid),
    [child.pid],
  );
  assert.match(message, new RegExp(`process ${child.pid} \\(.*\\) works in it`));
  child.kill("SIGKILL");
  await new Promise((resolve) => child.on("exit", resolve));
  assert.equal((await removeWorktree(worktrees, record)).removed, true);
});

test("lsof's answer is read where there is no /proc", () => {
  const output =
    "p12\nR1\ncbash\nfcwd\nn/w/p-n-1/deep\np13\nczsh\nfcwd\nn/w/p-n-10\np14\nR12\ncvi\nn/w/p-n-1\n";
  assert.deepEqual(readLsof(output, "/w/p-n-1"), [
    { pid: 12, parent: 1, name: "bash" },
    { pid: 14, parent: 12, name: "vi" },
  ]);
});

test("a worktree without its .git file is not taken for the user's checkout", async (t) => {
  const { root, worktrees, wanted } = await makeRepository(t);
  const made = await worktrees.add(wanted());
  write(made.path, { "new.txt": "x\n" });
  fs.rmSync(path.join(made.path, ".git"));
  const { removed } = await removeWorktree(worktrees, { ...made, known: [made.commit] });
  assert.equal(removed, true);
  assert.equal(git(root, "show", `${KEPT}:new.txt`), "x");
});

test("a repository inside the worktree cannot be kept, so the worktree stays", async (t) => {
  const { worktrees, wanted } = await makeRepository(t);
  for (const [node, hasCommit] of /** @type {const} */ ([
    ["with", true],
    ["empty", false],
  ])) {
    const made = await worktrees.add(wanted(node));
    const inner = path.join(made.path, "inner");
    fs.mkdirSync(inner);
    git(inner, "init", "--quiet");
    write(inner, { file: "x" });
    if (hasCommit) commit(inner, {});
    const removal = await removeWorktree(worktrees, { ...made, known: [made.commit] });
    assert.deepEqual([removal.removed, removal.code], [false, "NESTED_REPOSITORY"], node);
    assert.equal(fs.readFileSync(path.join(inner, "file"), "utf8"), "x");
  }
});

test("a removal that was interrupted is finished by the next call", async (t) => {
  const { root, worktrees, wanted } = await makeRepository(t);
  const made = await worktrees.add(wanted());
  const record = { ...made, known: [made.commit] };
  const aside = path.join(root, ".worktrees", `.removed-${NONCE}-p-n-1`);
  fs.renameSync(made.path, aside);
  assert.deepEqual(await removeWorktree(worktrees, record), { removed: true });
  assert.equal(git(root, "worktree", "list").split("\n").length, 1);
  write(aside, { left: "x" });
  assert.deepEqual(await removeWorktree(worktrees, record), { removed: true });
  assert.equal(fs.existsSync(aside), false);
});

test("what was brought is no part of a snapshot", async (t) => {
  const { root, worktrees, wanted } = await makeRepository(t, { untouched: false });
  write(root, { ".env": "KEY=1\n", "modules/x": "x\n" });
  const made = await worktrees.add(wanted());
  await copyUntrackedFiles(root, made, { copy: [".env"], link: ["modules"] });
  assert.deepEqual(await removeWorktree(worktrees, { ...made, known: [made.commit] }), {
    removed: true,
  });
  assert.equal(fs.readFileSync(path.join(root, "modules", "x"), "utf8"), "x\n");
});

test("snapshots are listed, and expire by their age", async (t) => {
  const { root, repository, worktrees, wanted } = await makeRepository(t);
  const made = await worktrees.add(wanted());
  write(made.path, { "new.txt": "x" });
  const { kept } = await removeWorktree(worktrees, { ...made, known: [made.commit] });
  const [{ plan, node, ref, commit: at, at: time }] = await listArchives(repository);
  assert.deepEqual({ plan, node, ref, at }, { plan: "p", node: "n", ref: KEPT, at: kept.commit });
  assert.deepEqual(await listArchives(repository, "other"), []);
  const month = 30 * 24 * 3600 * 1000;
  assert.deepEqual(await expireArchives(repository, { now: time + month }), []);
  assert.deepEqual(await expireArchives(repository, { now: time + month + 1 }), [KEPT]);
  assert.equal(gitWorks(root, "rev-parse", "--verify", KEPT), false);
  const gone = extractArchive(repository, { plan: "p", node: "n" }, temporaryFolder(t));
  await assert.rejects(gone, { code: "NOTHING_KEPT" });
});

test("orphans are found, other people's worktrees are not, and one that cannot be removed does not stop the rest", async (t) => {
  const { root, worktrees, wanted, first } = await makeRepository(t);
  const known = await worktrees.add(wanted("known"));
  const lost = await worktrees.add({ ...wanted("lost"), nonce: "e".repeat(16) });
  write(lost.path, { "new.txt": "x\n" });
  git(root, "worktree", "add", "--quiet", "--detach", ".worktrees/theirs");
  write(root, { ".worktrees/plain/deep/file": "mine\n", ".worktrees/plain/.gitignore": "*.log\n" });
  write(root, { ".worktrees/plain/x.log": "ignored\n" });
  write(root, { ".worktrees/own/file": "x" });
  git(path.join(root, ".worktrees", "own"), "init", "--quiet");
  write(root, { [`.worktrees/.removed-${"d".repeat(16)}-p-x-1/file`]: "x" });
  const plans = { paths: [known.path], nonces: [NONCE] };
  const found = await findOrphans(worktrees, plans);
  const kinds = Object.fromEntries(found.map((one) => [path.basename(one.path), one.kind]));
  assert.deepEqual(kinds, {
    [`.removed-${"d".repeat(16)}-p-x-1`]: "removed",
    own: "unregistered",
    "p-lost-1": "forgotten",
    plain: "unregistered",
  });
  const results = [];
  for (const orphan of found) results.push(await removeOrphan(worktrees, orphan, plans));
  assert.deepEqual(
    results.map(({ removed }) => removed),
    found.map(({ path: one }) => !one.endsWith("own")),
  );
  assert.equal(results.find(({ removed }) => !removed).code, "NESTED_REPOSITORY");
  assert.equal(git(root, "show", "refs/tap/kept/orphans/plain:deep/file"), "mine");
  assert.equal(git(root, "show", "refs/tap/kept/orphans/plain:x.log"), "ignored");
  assert.equal(git(root, "show", "refs/tap/kept/orphans/p-lost-1:new.txt"), "x");
  for (const one of ["p-known-1", "theirs"]) {
    const orphan = { path: path.join(root, ".worktrees", one) };
    assert.equal((await removeOrphan(worktrees, orphan, plans)).code, "NOT_OURS");
  }
  assert.equal(git(known.path, "rev-parse", "HEAD"), first);
});

test("the disk use of worktrees is told", async (t) => {
  const { worktrees, wanted } = await makeRepository(t, { files: { big: "x".repeat(100_000) } });
  const { bytes, complete } = await diskUse((await worktrees.add(wanted())).path);
  assert.ok(bytes >= 100_000 && bytes < 200_000 && complete, `${bytes}`);
});

test("a removal that was interrupted before anything was kept keeps it then", async (t) => {
  const { root, worktrees, wanted } = await makeRepository(t);
  const made = await worktrees.add(wanted());
  write(made.path, { "new.txt": "mine\n" });
  const aside = path.join(path.dirname(made.path), `.aside-${NONCE}-${path.basename(made.path)}`);
  fs.renameSync(made.path, aside);
  const removal = await removeWorktree(worktrees, made);
  assert.deepEqual([removal.removed, removal.kept?.ref], [true, KEPT]);
  assert.equal(git(root, "show", `${KEPT}:new.txt`), "mine");
  assert.deepEqual(fs.readdirSync(path.dirname(made.path)), []);
  const orphan = await worktrees.add(wanted("o"));
  write(orphan.path, { "new.txt": "orphan\n" });
  const other = path.join(path.dirname(made.path), `.aside-${NONCE}-${path.basename(orphan.path)}`);
  fs.renameSync(orphan.path, other);
  const gone = await removeOrphan(worktrees, { path: other }, { nonces: [] });
  assert.equal(git(root, "show", `${gone.kept?.ref}:new.txt`), "orphan");
});

test("what git has forgotten of a removal that was cut off is kept, too", async (t) => {
  const { root, worktrees, wanted } = await makeRepository(t);
  const made = await worktrees.add(wanted());
  write(made.path, { "new.txt": "mine\n" });
  const aside = path.join(path.dirname(made.path), `.aside-${NONCE}-${path.basename(made.path)}`);
  fs.renameSync(made.path, aside);
  git(root, "worktree", "unlock", made.path);
  git(root, "worktree", "prune");
  assert.equal((await removeWorktree(worktrees, made)).removed, true);
  assert.equal(git(root, "show", `${KEPT}:new.txt`), "mine");
  assert.deepEqual(fs.readdirSync(path.dirname(made.path)), []);
});

test("two who keep or remove a worktree at once get all that is in it", async (t) => {
  const files = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`f${i}`, `${i}\n`]));
  const { root, worktrees, wanted } = await makeRepository(t, { files });
  const made = await worktrees.add(wanted());
  write(made.path, { "new.txt": "mine\n" });
  const why = "test";
  const both = [1, 2].map(() => snapshotContents(worktrees.repository, made, { why }));
  for (const { kept } of await Promise.all(both))
    assert.equal(Object.keys(filesOf(root, String(kept?.commit))).length, 301);
  const removals = await Promise.all([1, 2].map(() => removeWorktree(worktrees, made)));
  assert.deepEqual(
    removals.map(({ removed }) => removed),
    [true, true],
  );
});

test("a filter that is a program among the files does not run when they are kept, nor outside when they are brought back", async (t) => {
  const { root, repository, worktrees } = await makeRepository(t, { untouched: false });
  const mark = path.join(root, ".git", "mark");
  git(root, "config", "filter.own.clean", "./run.sh");
  git(root, "config", "filter.own.smudge", "./run.sh");
  const place = path.join(await worktrees.folder(), "lost");
  const script = `#!/bin/sh\ntouch '${mark}' || true\ntouch ran\ncat\n`;
  write(place, { ".gitattributes": "*.own filter=own\n", "run.sh": script, "x.own": "x\n" });
  fs.chmodSync(path.join(place, "run.sh"), 0o755);
  assert.equal((await removeOrphan(worktrees, { path: place }, { nonces: [] })).removed, true);
  assert.equal(fs.existsSync(mark), false);
  const to = path.join(temporaryFolder(t), "back");
  await restoreArchive(repository, { plan: "orphans", node: "lost" }, { to });
  assert.equal(fs.existsSync(mark), false);
  assert.equal(fs.readFileSync(path.join(to, "x.own"), "utf8"), "x\n");
});
