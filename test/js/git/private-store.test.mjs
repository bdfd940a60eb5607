// Worktrees whose programs have an object store of their own: what they commit there reaches the repository only as a
// checked pack, and nothing else of git's is changed.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { snapshotContents } from "../../../js/git/archive.mjs";
import { removeWorktree } from "../../../js/git/cleanup.mjs";
import { commitWork, diffWorktree } from "../../../js/git/commit-work.mjs";
import {
  emptyTemporaryFolder,
  gitFolder,
  hasStore,
  storeFolder,
  takeOverWork,
} from "../../../js/git/private-store.mjs";
import { WorktreePool } from "../../../js/git/worktree-pool.mjs";
import { wrapInSandbox } from "../../../js/process/sandbox.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { commit, filesOf, git, makeRepository, write } from "./rig.mjs";

const REF = "refs/tap/p/n/1";

/** @param {Awaited<ReturnType<typeof makeRepository>>} made @param {{path: string, admin: string}} worktree @returns {import("../../../js/process/sandbox.mjs").Policy} */
const createPolicy = ({ root, repository }, { path: cwd, admin }) => ({
  cwd,
  repository: { checkout: root, common: repository.commonDir, admin, own: storeFolder(admin) },
  ...{ writable: [], readable: [], caches: [], hosts: [], sandbox: "on" },
});

/** As a program of the node. @param {import("../../../js/process/sandbox.mjs").Policy} policy @param {string} script */
function runInside(policy, script) {
  const shell = { command: "sh", args: ["-ec", script], env: process.env };
  const { command, args, env } = wrapInSandbox(policy, shell);
  const { status, stdout, stderr } = spawnSync(command, args, {
    env,
    encoding: "utf8",
    cwd: policy.cwd,
  });
  return { status, text: stdout + stderr };
}

/** Each file of git's and what is in it. @param {string} folder @param {RegExp} without */
function digest(folder, without) {
  const names = fs.readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
  const files = names.filter((name) => !without.test(name));
  return files.map((name) => {
    const file = path.join(folder, name);
    const stat = fs.lstatSync(file);
    const bytes = stat.isFile() ? fs.readFileSync(file) : "";
    return `${name} ${stat.mode} ${createHash("sha256").update(bytes).digest("hex")}`;
  });
}

/** @param {import("node:test").TestContext} t @param {Parameters<typeof makeRepository>[1]} [options] */
async function begin(t, options) {
  const made = await makeRepository(t, options);
  const worktree = await made.worktrees.add({ ...made.wanted(), isPrivate: true });
  const policy = createPolicy(made, worktree);
  return { ...made, worktree, policy, inside: (/** @type {string} */ s) => runInside(policy, s) };
}

test("a program's own commits are in its store until they are taken over", async (t) => {
  const { root, repository, worktree, first, inside } = await begin(t);
  const look = () => digest(repository.commonDir, /^(?:tap|index$)/);
  const before = look();
  const { status, text } = inside("echo 2 > a.txt; git commit -qam own; git status --short");
  assert.deepEqual([status, text], [0, ""]);
  assert.deepEqual(look(), before);
  assert.equal(git(worktree.path, "rev-parse", "HEAD"), first);
  write(worktree.path, { "new.txt": "x\n" });
  const done = await commitWork(repository, worktree, { message: "m" });
  assert.equal(git(root, "rev-parse", REF), done.commit);
  assert.equal(git(root, "rev-parse", `${REF}~2`), first);
  assert.deepEqual(filesOf(root, REF), { "a.txt": "2\n", "b.txt": "b\n", "new.txt": "x\n" });
  git(root, "fsck", "--strict");
  // And the user's git sees the worktree at that commit.
  assert.equal(git(worktree.path, "rev-parse", "HEAD"), done.commit);
  assert.equal(git(worktree.path, "status", "--porcelain"), "");
});

test("hooks and filters of the tree run inside", async (t) => {
  const { root, repository, worktree, inside } = await begin(t, { untouched: false });
  const mark = path.join(root, "mark");
  git(root, "config", "core.hooksPath", ".hooks");
  git(root, "config", "filter.own.clean", "./clean.sh");
  write(worktree.path, { ".gitattributes": "*.own filter=own\n", "x.own": "x\n" });
  const script = `#!/bin/sh\ntouch '${mark}' || true\ntouch inside-$(basename $0)\n`;
  write(worktree.path, { ".hooks/pre-commit": script, "clean.sh": `${script}cat\n` });
  assert.equal(inside("chmod +x .hooks/pre-commit clean.sh").status, 0);
  await diffWorktree(repository, worktree);
  await commitWork(repository, worktree, { message: "m" });
  assert.equal(fs.existsSync(mark), false);
  const made = ["inside-pre-commit", "inside-clean.sh"];
  assert.deepEqual(
    made.map((name) => fs.existsSync(path.join(worktree.path, name))),
    [true, true],
  );
});

test("a commit that does not descend from the base is refused", async (t) => {
  const { root, repository, worktree, inside } = await begin(t);
  const alone = "git checkout -q --detach $(git commit-tree -m alone HEAD^{tree} < /dev/null)";
  const tag = [
    "c=$(git commit-tree -m x -p HEAD HEAD^{tree} < /dev/null)",
    "printf 'object %s\\ntype commit\\ntag x\\ntagger A <a@b> 1 +0000\\n\\nx\\n' $c | git mktag > tag",
    "cat tag > $(git rev-parse --absolute-git-dir)/HEAD",
  ];
  for (const script of [tag.join("\n"), alone, "git checkout -q --orphan x"]) {
    assert.equal(inside(script).status, 0);
    const failed = commitWork(repository, worktree, { message: "m" });
    await assert.rejects(failed, { code: "NOT_DESCENDED" });
  }
  assert.equal(git(root, "for-each-ref", "refs/tap"), "");
});

test("a commit without its tree, or a damaged one, is refused and leaves the repository whole", async (t) => {
  const broken = [
    "t=$(git write-tree); c=$(git commit-tree -p HEAD -m x $t); git checkout -q $c; rm -f $OBJECTS/??/?*; git update-ref --no-deref HEAD $c 2> /dev/null || echo $c > $(git rev-parse --git-dir)/HEAD",
    "echo new > a.txt; git commit -qam x; for f in $OBJECTS/??/?*; do chmod u+w $f; echo junk > $f; done",
    "echo new > a.txt; git commit -qam x; rm -rf $OBJECTS/*",
  ];
  for (const script of broken) {
    const { root, repository, worktree, inside } = await begin(t);
    inside(`OBJECTS=$(git rev-parse --git-common-dir)/objects; ${script}`);
    await assert.rejects(commitWork(repository, worktree, { message: "m" }), (error) => {
      const { code } = /** @type {any} */ (error);
      assert.ok(["BAD_OBJECTS", "DAMAGED", "GIT_FAILED", "NOT_DESCENDED"].includes(code), code);
      return true;
    });
    git(root, "fsck", "--strict");
    assert.equal(git(root, "for-each-ref", "refs/tap"), "");
  }
});

for (const lines of ["yes | head -c 60000000", "echo; echo"]) {
  test(`what a program has committed and left is in the snapshot, behind: ${lines}`, async (t) => {
    const { root, repository, worktree, inside, first } = await begin(t);
    const script = `echo 2 > a.txt; git commit -qam lost; git reset -q --hard HEAD^; echo 3 > b.txt
    log=$(git rev-parse --absolute-git-dir)/logs/HEAD; { ${lines}; cat $log; } > log; mv log $log`;
    assert.equal(inside(script).status, 0);
    const { kept } = await snapshotContents(repository, worktree, { why: "test" });
    assert.ok(kept);
    assert.equal(filesOf(root, kept.commit)["b.txt"], "3\n");
    const parents = git(root, "rev-list", "--parents", "-1", kept.commit).split(" ").slice(1);
    assert.ok(parents.includes(first));
    const [lost] = parents.filter((one) => one !== first);
    assert.equal(filesOf(root, lost)["a.txt"], "2\n");
    const { made } = await commitWork(repository, worktree, { message: "m" });
    assert.equal(made, true);
  });
}

test("a person's commit in the worktree is what the node goes on with", async (t) => {
  const { root, repository, worktree, inside, first } = await begin(t);
  assert.equal(inside("echo 2 > a.txt").status, 0);
  const byHand = commit(worktree.path, { "hand.txt": "x\n" }, "by hand");
  const done = await commitWork(repository, worktree, { message: "m" });
  assert.equal(done.commit, byHand);
  assert.equal(git(root, "rev-parse", `${byHand}^`), first);
  assert.equal(filesOf(root, REF)["a.txt"], "2\n");
});

test("a worktree of the pool gets a new store, and one that is removed leaves none", async (t) => {
  const { root, worktrees, worktree, wanted, repository, inside } = await begin(t);
  const pool = new WorktreePool(worktrees, { most: 2 });
  inside("echo 2 > a.txt; git commit -qam own; echo left > left.txt");
  const { commit: made } = await commitWork(repository, worktree, { message: "m" });
  await pool.release(worktree, { known: [made] });
  const next = await pool.acquire({ ...wanted("next", 1, made), isPrivate: true });
  assert.equal(next.admin, worktree.admin);
  assert.deepEqual(fs.readdirSync(path.join(storeFolder(next.admin), "objects")), ["info", "pack"]);
  assert.equal(git(next.path, "status", "--porcelain"), "");
  assert.equal(git(next.path, "rev-parse", "HEAD"), made);
  const record = { ...next, known: [made] };
  assert.equal((await removeWorktree(worktrees, record)).removed, true);
  assert.deepEqual(fs.readdirSync(path.dirname(storeFolder(next.admin))), []);
  assert.equal(hasStore(next.admin), false);
  git(root, "fsck");
});

test("links and pipes in a store do not lead git of tap anywhere, nor hold it up", async (t) => {
  const names = ["HEAD", "index", "commondir", "config.worktree", "logs/HEAD"];
  for (const name of names) {
    for (const make of ["ln -s /etc/passwd", "mkfifo"]) {
      const { repository, worktree, inside } = await begin(t);
      inside(`echo 2 > a.txt; f=$(git rev-parse --absolute-git-dir)/${name}; rm -f $f; ${make} $f`);
      const failed = commitWork(repository, worktree, { message: "m" });
      await assert.rejects(failed, { code: "BROKEN_WORKTREE" }, `${make} ${name}`);
      assert.equal(gitFolder(worktree.admin), path.join(storeFolder(worktree.admin), "admin"));
    }
  }
});

test("files of git's folder that are too long for what they are end no process", async (t) => {
  for (const name of ["config.worktree", "commondir"]) {
    const { repository, worktree, inside } = await begin(t);
    inside(`yes "" | head -c 100000 >> $(git rev-parse --absolute-git-dir)/${name}`);
    const failed = commitWork(repository, worktree, { message: "m" });
    await assert.rejects(failed, { code: "BROKEN_WORKTREE" }, name);
  }
});

test("what a program leaves in its temporary folder is deleted, however deep", async (t) => {
  const { worktree, inside } = await begin(t);
  const deep = "import os\nfor i in range(100): os.mkdir('a' * 100); os.chdir('a' * 100)";
  assert.equal(inside(`cd $TMPDIR; python3 -c "${deep}"`).status, 0);
  await emptyTemporaryFolder(worktree.admin);
  assert.deepEqual(fs.readdirSync(path.join(storeFolder(worktree.admin), "tmp")), []);
});

/** A program changes a file, and writes an index that calls it unchanged. @param {Awaited<ReturnType<typeof begin>>} made */
function hideChange({ worktree, inside }) {
  assert.equal(inside("echo hidden > a.txt; touch -d yesterday a.txt; git add a.txt").status, 0);
  const [is, was] = [":a.txt", "HEAD:a.txt"].map((one) => inside(`git rev-parse ${one}`).text);
  const file = path.join(gitFolder(worktree.admin), "index");
  const text = fs.readFileSync(file, "latin1").slice(0, -20);
  const bytes = (/** @type {string} */ hex) => Buffer.from(hex.trim(), "hex").toString("latin1");
  const forged = text.split("TREE")[0].replace(bytes(is), bytes(was));
  const sum = createHash("sha1").update(forged, "latin1").digest("latin1");
  fs.writeFileSync(file, forged + sum, "latin1");
  assert.equal(inside("git status --short").text, "");
}

test("a change that a forged index hides is in no next worktree, and not in the checkout of checks", async (t) => {
  const made = await begin(t);
  const { worktree, worktrees, wanted } = made;
  const read = (/** @type {string} */ folder) =>
    fs.readFileSync(path.join(folder, "a.txt"), "utf8");
  hideChange(made);
  await worktrees.restore(worktree);
  assert.equal(read(worktree.path), "a\n", "after a setup for checks");
  hideChange(made);
  const pool = new WorktreePool(worktrees, { most: 1 });
  await pool.release(worktree);
  const next = await pool.acquire({ ...wanted("next"), isForChecks: true, isPrivate: true });
  assert.equal(next.admin, worktree.admin);
  assert.equal(read(next.path), "a\n");
});

/** A repository with a submodule `sub`. @param {import("node:test").TestContext} t */
async function beginWithSubmodule(t) {
  const { root: inner } = await makeRepository(t);
  const made = await makeRepository(t, { untouched: false });
  git(made.root, "submodule", "--quiet", "add", inner, "sub");
  const at = commit(made.root, {}, "with a submodule");
  const wanted = { ...made.wanted("n", 1, at), isPrivate: true };
  const worktree = await made.worktrees.add(wanted);
  const inside = (/** @type {string} */ script) => runInside(createPolicy(made, worktree), script);
  return { ...made, inner, at, wanted, worktree, inside };
}

test("a repository that a program puts in the place of a submodule gives git of tap no program", async (t) => {
  const { root, worktrees, wanted, worktree, inside } = await beginWithSubmodule(t);
  const mark = path.join(root, ".git", "mark");
  const forge = [
    "rm -rf sub/.git; git init -q sub; cd sub",
    "git config protocol.ext.allow always",
    `git config remote.origin.url "ext::sh -c touch% ${mark}"`,
    `git config filter.own.smudge "touch ${mark}; cat"`,
    "echo '* filter=own' > .git/info/attributes",
  ].join("\n");
  assert.equal(inside(forge).status, 0);
  await worktrees.restore(worktree).catch(() => {});
  assert.equal(fs.existsSync(mark), false, "after a setup for checks");
  inside(forge);
  await worktrees.add(wanted).catch(() => {});
  assert.equal(fs.existsSync(mark), false, "again after a crash");
});

test("a setup's files in a submodule are still there for the checks", async (t) => {
  const { worktrees, worktree, inside } = await beginWithSubmodule(t);
  assert.equal(inside("echo built > sub/built; echo changed > sub/a.txt").status, 0);
  await worktrees.restore(worktree);
  const read = (/** @type {string} */ name) =>
    fs.readFileSync(path.join(worktree.path, "sub", name), "utf8");
  assert.deepEqual([read("a.txt"), read("built")], ["a\n", "built\n"]);
});

test("a submodule's URL that a node has written is not fetched for the next one", async (t) => {
  const { root, repository, worktrees, wanted, worktree, inside } = await beginWithSubmodule(t);
  const { root: other, first } = await makeRepository(t);
  const script = `git config -f .gitmodules submodule.out.path out
    git config -f .gitmodules submodule.out.url '${other}'
    mkdir out; git update-index --add --cacheinfo 160000,${first},out
    git add .gitmodules; git commit -qm out`;
  assert.equal(inside(script).status, 0);
  const { commit: made } = await commitWork(repository, worktree, { message: "m" });
  const next = await worktrees.add({ ...wanted, node: "next", commit: made });
  const list = (/** @type {string} */ name) => fs.readdirSync(path.join(next.path, name));
  assert.deepEqual(list("out"), []);
  assert.ok(list("sub").includes("a.txt"), "the user's own one is there");
  git(root, "checkout", "--quiet", "--detach", made);
  const later = await worktrees.add({ ...wanted, node: "later", commit: made });
  assert.ok(fs.existsSync(path.join(later.path, "out", "a.txt")), "the user has it now");
});

test("what a filter leaves in a store while git checks out is not followed, and holds up nobody", async (t) => {
  const secret = path.join(fs.realpathSync(temporaryFolder(t)), "secret");
  fs.writeFileSync(secret, "secret\n");
  const forge = (/** @type {string} */ how) => `#!/bin/sh
    ${how} $GIT_DIR/sharedindex.x; cat`;
  for (const how of [`ln -s '${secret}'`, "mkfifo"]) {
    const made = await makeRepository(t, { untouched: false });
    const { root, worktrees, wanted } = made;
    git(root, "config", "filter.own.smudge", "./run.sh");
    write(root, { ".gitattributes": "*.own filter=own\n", "run.sh": forge(how), "x.own": "x\n" });
    fs.chmodSync(path.join(root, "run.sh"), 0o755);
    const at = commit(root, {}, "with a filter");
    const added = worktrees.add({ ...wanted("n", 1, at), isPrivate: true });
    await assert.rejects(added, { code: "BROKEN_WORKTREE" }, how);
    const names = fs.readdirSync(path.join(root, ".git", "worktrees", "p-n-1"));
    assert.deepEqual(
      names.filter((name) => name.startsWith("shared")),
      [],
      how,
    );
  }
});

test("a link in the place of git's folder of submodules is not searched", async (t) => {
  const { repository, worktree, inside } = await begin(t);
  inside("echo 2 > a.txt; ln -s / $(git rev-parse --absolute-git-dir)/modules");
  const { kept } = await snapshotContents(repository, worktree, { why: "test" });
  assert.ok(kept);
});

test("a pipe, a device or a link among its objects is refused before git reads it", async (t) => {
  const loose = "$OBJECTS/$(git rev-parse HEAD | sed 's,^..,&/,')";
  const places = [loose, "$OBJECTS/info/alternates", `$OBJECTS/pack/pack-${"1".repeat(40)}.idx`];
  for (const place of places) {
    for (const make of ["mkfifo", "ln -s /dev/zero", "ln -s $PWD/pipe"]) {
      const { root, repository, worktree, inside } = await begin(t);
      const forge = `OBJECTS=$(git rev-parse --git-common-dir)/objects; echo 2 > a.txt; git commit -qam x
        mkfifo pipe; f=${place}; rm -f $f; ${make} $f`;
      assert.equal(inside(forge).status, 0, `${make} ${place}`);
      await takeOverWork(repository, worktree); // the node's commit says why
      const failed = commitWork(repository, worktree, { message: "m" });
      await assert.rejects(failed, { code: "BAD_OBJECTS" }, `${make} ${place}`);
      assert.equal(git(root, "for-each-ref", "refs/tap"), "");
    }
  }
  const { repository, worktree, inside } = await begin(t);
  inside("cd $(git rev-parse --git-common-dir)/objects; rmdir pack; ln -s /etc pack");
  await assert.rejects(commitWork(repository, worktree, { message: "m" }), { code: "BAD_OBJECTS" });
});

test("git of tap follows no alternates but the repository's", async (t) => {
  const { root, repository, worktree, inside } = await begin(t);
  const forge = `echo 2 > a.txt; git commit -qam own; c=$(git rev-parse HEAD | sed 's,^..,&/,')
    mkdir -p other/\${c%/*}; mkfifo other/$c; OBJECTS=$(git rev-parse --git-common-dir)/objects
    echo $PWD/other > $OBJECTS/info/alternates`;
  assert.equal(inside(forge).status, 0);
  await takeOverWork(repository, worktree);
  assert.notEqual(git(worktree.path, "rev-parse", "HEAD"), worktree.commit);
  assert.equal(git(root, "show", `${git(worktree.path, "rev-parse", "HEAD")}:a.txt`), "2");
});

test("a take-over ends with its signal, and comes with the next one", async (t) => {
  const { repository, worktree, first, inside } = await begin(t);
  assert.equal(inside("echo 2 > a.txt; git commit -qam own").status, 0);
  await takeOverWork(repository, worktree, { signal: AbortSignal.abort() });
  assert.equal(git(worktree.path, "rev-parse", "HEAD"), first);
  await takeOverWork(repository, worktree);
  assert.notEqual(git(worktree.path, "rev-parse", "HEAD"), first);
});
