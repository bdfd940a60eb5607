// Files of Git LFS in worktrees with a store. A stand-in for git-lfs writes and reads files as that does; where the
// machine has the real one, it is tried, too.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { snapshotContents } from "../../../js/git/archive.mjs";
import { commitWork } from "../../../js/git/commit-work.mjs";
import { storeFolder, takeOverWork } from "../../../js/git/private-store.mjs";
import { wrapInSandbox } from "../../../js/process/sandbox.mjs";
import { commit, git, makeRepository, write } from "./rig.mjs";

const computeSha256 = (/** @type {string} */ text) =>
  createHash("sha256").update(text).digest("hex");
const pointer = (/** @type {string} */ oid, /** @type {number} */ size) =>
  `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${size}\n`;

/** git-lfs in a few lines: its folders, its pointers, and its look into the folders of alternates. */
const STAND_IN = `#!/bin/bash
set -e
common=$(git rev-parse --path-format=absolute --git-common-dir)
place() { echo "$1/objects/\${2:0:2}/\${2:2:2}/$2"; }
if [ "$1" = clean ]; then
  mkdir -p "$common/lfs/tmp"
  t=$(mktemp -p "$common/lfs/tmp"); cat > "$t"
  oid=$(sha256sum < "$t"); oid=\${oid%% *}; size=$(stat -c %s "$t")
  to=$(place "$common/lfs" "$oid"); mkdir -p "$(dirname "$to")"; mv "$t" "$to"
  printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:%s\\nsize %s\\n' "$oid" "$size"
else
  text=$(cat); oid=\${text#*sha256:}; oid=\${oid%%$'\\n'*}
  while read -r other; do
    from=$(place "$(dirname "$other")/lfs" "$oid")
    [ ! -e "$from" ] || exec cat "$from"
  done < <(echo "$common/objects"; cat "$common/objects/info/alternates" 2> /dev/null)
  echo "git-lfs: $oid is not there" >&2; exit 1
fi
`;

/** @param {import("node:test").TestContext} t @param {string} [program] */
async function begin(t, program = STAND_IN) {
  const made = await makeRepository(t, { untouched: false });
  const { root, repository } = made;
  const folder = path.join(repository.commonDir, "tools"); // readable in the sandbox
  fs.mkdirSync(folder);
  fs.writeFileSync(path.join(folder, "git-lfs"), program, { mode: 0o755 });
  setPath(t, `${folder}:${process.env.PATH}`);
  for (const [name, value] of [
    ["clean", `${folder}/git-lfs clean`],
    ["smudge", `${folder}/git-lfs smudge`],
    ["required", "true"],
  ])
    git(root, "config", `filter.standin.${name}`, value);
  write(root, { ".gitattributes": "*.bin filter=standin -text\n", "old.bin": "old\n" });
  const at = commit(root, {}, "with LFS");
  const wanted = { ...made.wanted("n", 1, at), isPrivate: true };
  return { ...made, at, wanted, ...helpersOf(made) };
}

const { PATH } = process.env;

/** For git of the tests and of tap, during a test. @param {import("node:test").TestContext} t @param {string} search */
function setPath(t, search) {
  process.env.PATH = search;
  t.after(() => {
    process.env.PATH = PATH;
  });
}

/** @param {Awaited<ReturnType<typeof makeRepository>>} made */
function helpersOf({ root, repository }) {
  const { commonDir: common } = repository;
  const inside = (/** @type {any} */ { path: cwd, admin }, /** @type {string} */ script) => {
    const place = { checkout: root, common, admin, own: storeFolder(admin) };
    const none = { writable: [], readable: [], caches: [], hosts: [] };
    const policy = { cwd, repository: place, ...none, sandbox: /** @type {const} */ ("on") };
    const shell = { command: "sh", args: ["-ec", script], env: process.env };
    const started = wrapInSandbox(policy, shell);
    const options = { env: started.env, cwd, encoding: /** @type {const} */ ("utf8") };
    const { status, stdout, stderr } = spawnSync(started.command, started.args, options);
    return { status, text: stdout + stderr };
  };
  const objects = path.join(common, "lfs", "objects");
  const list = () =>
    fs
      .readdirSync(objects, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name)
      .sort();
  const fileOf = (/** @type {string} */ oid) =>
    path.join(objects, oid.slice(0, 2), oid.slice(2, 4), oid);
  return { inside, list, fileOf };
}

test("a node reads the repository's files of LFS, and its own become the repository's when they are taken over", async (t) => {
  const { root, repository, worktrees, wanted, inside, list, fileOf } = await begin(t);
  const before = list();
  assert.deepEqual(before, [computeSha256("old\n")]);
  const worktree = await worktrees.add(wanted);
  assert.equal(fs.readFileSync(path.join(worktree.path, "old.bin"), "utf8"), "old\n");
  const { status, text } = inside(
    worktree,
    "echo new > new.bin; git add new.bin; git commit -qm x",
  );
  assert.deepEqual([status, text], [0, ""]);
  assert.deepEqual(list(), before);
  await takeOverWork(repository, worktree);
  assert.deepEqual(list(), [...before, computeSha256("new\n")].sort());
  write(worktree.path, { "more.bin": "more\n" });
  const done = await commitWork(repository, worktree, { message: "m" });
  assert.equal(fs.readFileSync(fileOf(computeSha256("more\n")), "utf8"), "more\n");
  assert.equal(
    `${git(root, "show", `${done.commit}:more.bin`)}\n`,
    pointer(computeSha256("more\n"), 5),
  );
  const next = await worktrees.add({ ...wanted, node: "next", commit: done.commit });
  assert.equal(fs.readFileSync(path.join(next.path, "more.bin"), "utf8"), "more\n");
});

test("what is in a snapshot has its files of LFS", async (t) => {
  const { repository, worktrees, wanted, list } = await begin(t);
  const worktree = await worktrees.add(wanted);
  write(worktree.path, { "left.bin": "left\n" });
  const { kept } = await snapshotContents(repository, worktree, { why: "test" });
  assert.ok(kept);
  assert.ok(list().includes(computeSha256("left\n")));
});

test("a file that is not what its name says, a link and a pipe are not taken over", async (t) => {
  const oid = computeSha256("good\n");
  const at = `$LFS/objects/${oid.slice(0, 2)}/${oid.slice(2, 4)}`;
  const forged = [
    `mkdir -p ${at}; echo bad > ${at}/${oid}`,
    `mkdir -p ${at}; ln -s /etc/passwd ${at}/${oid}`,
    `mkdir -p ${at}; mkfifo ${at}/${oid}`,
    `echo x > $LFS/objects/x`,
    `rm -rf $LFS/objects; ln -s /etc $LFS/objects`,
  ];
  for (const script of forged) {
    const { repository, worktrees, wanted, inside, list } = await begin(t);
    const before = list();
    const worktree = await worktrees.add(wanted);
    const lfs = "LFS=$(git rev-parse --git-common-dir)/lfs";
    const { status, text } = inside(
      worktree,
      `echo 2 > a.txt; git commit -qam x; ${lfs}; ${script}`,
    );
    assert.equal(status, 0, text);
    const failed = commitWork(repository, worktree, { message: "m" });
    await assert.rejects(failed, { code: "NO_LFS" }, script);
    assert.deepEqual(list(), before);
  }
});

test("a node writes none of the repository's own files of LFS", async (t) => {
  const { worktrees, wanted, inside, fileOf } = await begin(t);
  const worktree = await worktrees.add(wanted);
  const file = fileOf(computeSha256("old\n"));
  const script = `cd $(git rev-parse --git-common-dir)/lfs
    for one in tap/lfs/objects/*/*/* objects/*/*/*; do (echo forged > $one) 2> /dev/null || true; done
    (echo x > tap/x) 2> /dev/null || (echo x > tap/objects/x) 2> /dev/null || echo refused`;
  assert.equal(inside(worktree, script).text, "refused\n");
  assert.equal(fs.readFileSync(file, "utf8"), "old\n");
});

test("a file that is not in the repository, and a machine without git-lfs, fail the node", async (t) => {
  const { worktrees, wanted, fileOf } = await begin(t);
  fs.rmSync(fileOf(computeSha256("old\n")));
  await assert.rejects(worktrees.add(wanted), { code: "NO_LFS" });
  const plain = await makeRepository(t, { untouched: false });
  const files = { ".gitattributes": "# x filter=lfs\n*.bin filter=lfs -text\n" };
  const at = commit(plain.root, files, "with LFS");
  const tools = path.join(plain.root, ".git", "tools");
  fs.mkdirSync(tools);
  for (const name of ["git", "sh", "bwrap"])
    fs.symlinkSync(String(findOnPath(name, process.env.PATH)), path.join(tools, name));
  setPath(t, tools);
  const added = plain.worktrees.add({ ...plain.wanted("n", 1, at), isPrivate: true });
  await assert.rejects(added, { code: "NO_LFS" });
});

/** @param {string} name @param {string} [search] */
const findOnPath = (name, search = "") =>
  search
    .split(path.delimiter)
    .map((folder) => path.join(folder, name))
    .find((file) => fs.existsSync(file));

const isInstalled = findOnPath("git-lfs", process.env.PATH) !== undefined;
test("the real git-lfs, where it is installed, does the same", async (t) => {
  if (!isInstalled) return t.diagnostic("git-lfs is not installed here");
  const made = await makeRepository(t, { untouched: false });
  const { root, repository, worktrees } = made;
  git(root, "lfs", "install", "--local");
  git(root, "lfs", "track", "*.bin");
  write(root, { "old.bin": "old\n" });
  const at = commit(root, {}, "with LFS");
  const { inside, list } = helpersOf(made);
  const worktree = await worktrees.add({ ...made.wanted("n", 1, at), isPrivate: true });
  assert.equal(fs.readFileSync(path.join(worktree.path, "old.bin"), "utf8"), "old\n");
  const { status, text } = inside(worktree, "echo new > new.bin; git add .; git commit -qm x");
  assert.equal(status, 0, text);
  write(worktree.path, { "more.bin": "more\n" });
  await commitWork(repository, worktree, { message: "m" });
  assert.deepEqual(list(), ["old\n", "new\n", "more\n"].map(computeSha256).sort());
  assert.equal(git(worktree.path, "status", "--porcelain"), "");
});
