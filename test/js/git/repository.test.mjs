// What a repository is asked before a plan begins, and why it may be refused.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import {
  compareFingerprints,
  findBranchCheckouts,
  fingerprintCheckout,
} from "../../../js/git/checkouts.mjs";
import { inspectCheckout, readStatus } from "../../../js/git/checkouts.mjs";
import { openRepository } from "../../../js/git/repository.mjs";
import {
  checkoutBytes,
  checkSpace,
  checkRepositoryReady,
  isProtected,
} from "../../../js/git/preflight.mjs";
import { Worktrees } from "../../../js/git/worktrees.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { commit, commitOn, git, gitWorks, makeRepository, write } from "./rig.mjs";

/** A bare repository with one commit on `main`. */
function remoteOf(t, root) {
  const remote = path.join(temporaryFolder(t), "remote.git");
  git(root, "clone", "--quiet", "--bare", root, remote);
  return remote;
}

test("a repository is opened from any folder in it, by way of links", async (t) => {
  const { root } = await makeRepository(t, { files: { "deep/er/a.txt": "a\n" } });
  const link = path.join(temporaryFolder(t), "link");
  fs.symlinkSync(path.join(root, "deep"), link);
  for (const folder of [root, path.join(root, "deep", "er"), link]) {
    const repository = await openRepository(folder);
    assert.equal(repository.root, root);
    assert.equal(repository.commonDir, path.join(root, ".git"));
    assert.equal(repository.shallow, false);
    assert.equal(repository.hexDigits, 40);
  }
});

test("what is no repository with a checkout is refused: nothing there, bare, git's own folder", async (t) => {
  const { root } = await makeRepository(t);
  const bare = remoteOf(t, root);
  await assert.rejects(openRepository(path.join(root, "none")), { code: "NOT_A_REPOSITORY" });
  await assert.rejects(openRepository(temporaryFolder(t)), { code: "NOT_A_REPOSITORY" });
  await assert.rejects(openRepository(bare), { code: "BARE", message: /with a checkout/ });
  await assert.rejects(openRepository(path.join(root, ".git")), { code: "NOT_A_REPOSITORY" });
});

test("a linked worktree of a repository is opened as the user's checkout, and worktrees go to the main one", async (t) => {
  const { root } = await makeRepository(t);
  const linked = path.join(fs.realpathSync(temporaryFolder(t)), "linked");
  git(root, "worktree", "add", "--quiet", "-b", "other", linked);
  const repository = await openRepository(linked);
  assert.equal(repository.root, linked);
  assert.equal(repository.commonDir, path.join(root, ".git"));
  assert.equal(await new Worktrees(repository).folder(), path.join(root, ".worktrees"));
});

test("a submodule has its worktrees in its own checkout, and none where git would look elsewhere", async (t) => {
  const { root } = await makeRepository(t, { untouched: false });
  const inner = path.join(fs.realpathSync(temporaryFolder(t)), "inner");
  git(root, "clone", "--quiet", root, inner);
  git(root, "submodule", "--quiet", "add", inner, "lib");
  const lib = path.join(root, "lib");
  const linked = path.join(fs.realpathSync(temporaryFolder(t)), "linked");
  git(lib, "worktree", "add", "--quiet", "-b", "other", linked);
  for (const folder of [lib, linked]) {
    const repository = await openRepository(folder);
    assert.equal(await new Worktrees(repository).folder(), path.join(lib, ".worktrees"));
  }
  git(lib, "config", "extensions.worktreeConfig", "true");
  const repository = await openRepository(lib);
  const toplevel = () => git(linked, "rev-parse", "--show-toplevel");
  assert.notEqual(toplevel(), linked);
  /** @type {any} */
  const error = await checkRepositoryReady(repository).catch((thrown) => thrown);
  assert.equal(error.code, "INVALID");
  const [, advice] = /: `(git config.*)`/.exec(error.message) ?? [];
  execFileSync("sh", ["-c", advice], { cwd: lib });
  assert.equal(toplevel(), linked);
  assert.equal(git(lib, "rev-parse", "--show-toplevel"), lib);
  await checkRepositoryReady(repository);
});

test("the default branch is what the remote says, else a usual one, else the one checked out", async (t) => {
  const { root, repository } = await makeRepository(t, { untouched: false });
  assert.equal(await repository.defaultBranch(), "main");
  git(root, "branch", "-m", "main", "own");
  assert.equal(await repository.defaultBranch(), "main", "it is asked once");
  assert.equal(await (await openRepository(root)).defaultBranch(), "own");
  git(root, "branch", "master");
  assert.equal(await (await openRepository(root)).defaultBranch(), "master");
  const clone = path.join(temporaryFolder(t), "clone");
  git(root, "clone", "--quiet", root, clone);
  git(clone, "branch", "main");
  assert.equal(await (await openRepository(clone)).defaultBranch(), "own");
});

test("a base is looked for locally, then at remotes, and after a fetch where that is asked for", async (t) => {
  const { root, first } = await makeRepository(t, { untouched: false });
  const clone = path.join(fs.realpathSync(temporaryFolder(t)), "clone");
  git(root, "clone", "--quiet", root, clone);
  git(root, "branch", "late");
  const second = commit(root, { "a.txt": "2\n" });
  git(clone, "tag", "-a", "-m", "x", "v1");
  const repository = await openRepository(clone);
  assert.deepEqual(await repository.resolveBase("main"), {
    name: "main",
    ref: "refs/heads/main",
    commit: first,
  });
  assert.equal((await repository.resolveBase()).commit, first);
  assert.equal(
    (await repository.resolveBase("v1")).commit,
    first,
    "an annotated tag means its commit",
  );
  assert.equal((await repository.resolveBase(first)).commit, first);
  assert.equal((await repository.resolveBase("HEAD")).commit, first);
  await assert.rejects(repository.resolveBase("late"), {
    code: "UNKNOWN_BRANCH",
    message: /fetch: true/,
  });
  const late = await repository.resolveBase("late", { fetch: true });
  assert.deepEqual(late, { name: "late", ref: "refs/remotes/origin/late", commit: first });
  assert.equal(git(clone, "rev-parse", "origin/main"), second);
  assert.deepEqual(await repository.resolveBase("main"), {
    ...{ name: "main", ref: "refs/heads/main", commit: first },
    remote: { name: "origin/main", behind: 1 },
  });
  const remote = { name: "origin/main", ref: "refs/remotes/origin/main", commit: second };
  assert.deepEqual(await repository.resolveBase("origin/main"), remote);
  await assert.rejects(repository.resolveBase("origin"), { code: "UNKNOWN_BRANCH" });
  const taken = await repository.resolveBase("main", { fetch: true });
  assert.deepEqual(taken, { ...remote, name: "main" }, "it is only behind");
  const own = commitOn(clone, [first], { "b.txt": "own\n" });
  git(clone, "update-ref", "refs/heads/main", own);
  const apart = await repository.resolveBase("main", { fetch: true });
  assert.deepEqual([apart.commit, apart.remote], [own, { name: "origin/main", behind: 1 }]);
  git(clone, "branch", "--quiet", "--track", "mine", "origin/main");
  assert.equal(await repository.findRemoteTip("mine"), undefined, "another branch is followed");
  assert.equal(await repository.findRemoteTip("nowhere"), undefined);
  await assert.rejects(repository.resolveBase("0".repeat(40)), { code: "UNKNOWN_COMMIT" });
  for (const name of ["--upload-pack=x", "a b", "main~1", "../x"]) {
    await assert.rejects(repository.resolveBase(name), { code: "INVALID" });
  }
});

test("a repository without a commit is refused", async (t) => {
  const root = temporaryFolder(t);
  git(root, "init", "--quiet");
  const repository = await openRepository(root);
  for (const name of [undefined, "HEAD"]) {
    await assert.rejects(repository.resolveBase(name), {
      code: "NO_COMMIT",
      message: /Commit something/,
    });
  }
});

test("a shallow repository works, and says that it is one", async (t) => {
  const { root } = await makeRepository(t, { untouched: false });
  commit(root, { "a.txt": "2\n" });
  const clone = path.join(temporaryFolder(t), "clone");
  git(root, "clone", "--quiet", "--depth=1", `file://${root}`, clone);
  const repository = await openRepository(clone);
  assert.equal(repository.shallow, true);
  const { commit: base } = await repository.resolveBase();
  const worktrees = new Worktrees(repository);
  const made = await worktrees.add({
    plan: "p",
    node: "n",
    attempt: 1,
    nonce: "x".repeat(16),
    commit: base,
  });
  assert.equal(fs.readFileSync(path.join(made.path, "a.txt"), "utf8"), "2\n");
});

test("a repository in the middle of something is refused, with how to end it", async (t) => {
  const { root, repository, first } = await makeRepository(t, { untouched: false });
  git(root, "checkout", "--quiet", "-b", "side", first);
  commit(root, { "a.txt": "side\n" });
  git(root, "checkout", "--quiet", "main");
  commit(root, { "a.txt": "main\n" });
  const cases = [
    ["a merge", ["merge", "side"], ["merge", "--abort"]],
    ["a rebase", ["rebase", "side"], ["rebase", "--abort"]],
    ["a cherry-pick", ["cherry-pick", "side"], ["cherry-pick", "--abort"]],
    ["a revert", ["revert", "--no-edit", first], ["revert", "--abort"]],
    ["a bisection", ["bisect", "start"], ["bisect", "reset"]],
  ];
  for (const [what, begin, end] of cases) {
    gitWorks(root, ...begin);
    await assert.rejects(checkRepositoryReady(repository), (error) => {
      assert.equal(error.code, "BUSY");
      assert.match(error.message, new RegExp(`in the middle of ${what}\\b.*git ${end.join(" ")}`));
      return true;
    });
    git(root, ...end);
    await checkRepositoryReady(repository);
  }
});

test("what the user has not committed is named", async (t) => {
  const { root, repository } = await makeRepository(t, { untouched: false });
  write(root, { "a.txt": "changed\n", "new name\nwith a break.txt": "x" });
  const { changed } = await checkRepositoryReady(repository);
  assert.deepEqual(changed, ["a.txt", "new name\nwith a break.txt", "not-committed.txt"]);
});

test("a dirty submodule is refused, a clean one is not", async (t) => {
  const { root: inner } = await makeRepository(t);
  const { root, repository } = await makeRepository(t, { untouched: false });
  git(root, "submodule", "--quiet", "add", inner, "sub");
  git(root, "commit", "--quiet", "-m", "with a submodule");
  await checkRepositoryReady(repository);
  write(root, { "sub/a.txt": "changed\n" });
  await assert.rejects(checkRepositoryReady(repository), {
    code: "DIRTY_SUBMODULE",
    message: /"sub"/,
  });
});

test("a protected target is refused by name and by pattern", async (t) => {
  const { repository } = await makeRepository(t);
  const plan = { targetBranch: "release/1", protectedBranches: ["main", "release/*"] };
  await assert.rejects(checkRepositoryReady(repository, plan), { code: "PROTECTED" });
  await checkRepositoryReady(repository, { ...plan, targetBranch: "release/1/x" });
  assert.equal(isProtected("release/1/x", ["release/**"]), true);
  assert.equal(isProtected("main2", ["main"]), false);
  assert.equal(isProtected("mXin", ["m.in"]), false);
  assert.equal(isProtected("Main", ["main"]), true, "the same file, on some systems");
  for (const [pattern, branch, wanted] of /** @type {[string, string, boolean][]} */ ([
    ...[
      ["*", "main", true],
      ["*", "a/b", false],
      ["**", "a/b", true],
      ["", "", true],
    ],
    ...[
      ["a*c", "abc", true],
      ["a*c", "ac", true],
      ["a*c", "a/c", false],
      ["a**c", "a/b/c", true],
    ],
    ...[
      ["*/x", "a/x", true],
      ["*/x", "a/b/x", false],
      ["**/x", "x", false],
      ["r*1*", "r11", true],
    ],
    ...[
      ["feature", "feature/x", false],
      ["*.x", "a.x", true],
      ["a+", "aa", false],
    ],
  ])) {
    assert.equal(isProtected(branch, [pattern]), wanted, `${pattern} ${branch}`);
  }
  const slow = "*a".repeat(100);
  assert.equal(isProtected(`${"a".repeat(199)}b`, [slow, slow.replaceAll("*", "**")]), false);
});

test("a checkout that would not fit on the disk is refused before it is made", async (t) => {
  const { repository, first, root } = await makeRepository(t, {
    files: { big: "x".repeat(10_000), small: "x" },
  });
  assert.equal(await checkoutBytes(repository, first), 4 * 4096);
  const wanted = { commit: first, folder: path.join(root, "not", "there"), count: 2 };
  await checkSpace(repository, wanted);
  const needed = 2 * 4 * 4096 + 64 * 1024 * 1024;
  await checkSpace(repository, { ...wanted, free: async () => needed });
  const full = checkSpace(repository, { ...wanted, free: async () => needed - 1 });
  await assert.rejects(full, { code: "NO_SPACE", message: /2 checkouts need about/ });
});

test("two looks at the user's checkout tell which files changed between them", async (t) => {
  const { root, repository } = await makeRepository(t, { untouched: false });
  write(root, { "a.txt": "dirty\n" });
  const before = await fingerprintCheckout(repository);
  assert.deepEqual(compareFingerprints(before, await fingerprintCheckout(repository)), []);
  write(root, { "a.txt": "dirtier\n", "b.txt": "now, too\n", "new.txt": "" });
  fs.rmSync(path.join(root, "not-committed.txt"));
  const after = await fingerprintCheckout(repository);
  assert.deepEqual(compareFingerprints(before, after), [
    "a.txt",
    "b.txt",
    "new.txt",
    "not-committed.txt",
  ]);
});

test("a look at a checkout does not refresh its index", async (t) => {
  const { root, repository } = await makeRepository(t);
  const index = fs.readFileSync(path.join(root, ".git", "index"));
  const file = path.join(root, "a.txt");
  fs.utimesSync(file, new Date(1e12), new Date(1e12));
  assert.deepEqual((await readStatus(repository)).tracked, []);
  assert.deepEqual(fs.readFileSync(path.join(root, ".git", "index")), index);
});

const whereIs = async (repository, branch) => {
  const [one] = await findBranchCheckouts(repository, branch);
  return one && { path: one.path, ...(await inspectCheckout(repository, one)) };
};

test("a branch is found where it is checked out, with what is changed there", async (t) => {
  const { root, repository } = await makeRepository(t, { untouched: false });
  const linked = path.join(fs.realpathSync(temporaryFolder(t)), "linked\nwith a break");
  git(root, "worktree", "add", "--quiet", "-b", "other", linked);
  git(root, "branch", "free");
  assert.equal(await whereIs(repository, "free"), undefined);
  const clean = { path: linked, isThere: true, clean: true, changed: [], operation: "" };
  assert.deepEqual(await whereIs(repository, "other"), clean);
  write(linked, { untracked: "x" });
  assert.deepEqual(
    await whereIs(repository, "other"),
    clean,
    "untracked files are in nobody's way",
  );
  write(linked, { "a.txt": "x" });
  assert.deepEqual(await whereIs(repository, "other"), {
    ...clean,
    clean: false,
    changed: ["a.txt"],
  });
  assert.equal((await whereIs(repository, "main")).path, root);
  fs.rmSync(linked, { recursive: true });
  assert.equal((await whereIs(repository, "other")).isThere, false, "its folder may come back");
  git(root, "worktree", "prune");
  assert.equal(await whereIs(repository, "other"), undefined);
});

test("a branch that is being rebased counts as checked out", async (t) => {
  const { root, repository, first } = await makeRepository(t, { untouched: false });
  git(root, "checkout", "--quiet", "-b", "side", first);
  commit(root, { "a.txt": "side\n" });
  git(root, "checkout", "--quiet", "main");
  commit(root, { "a.txt": "main\n" });
  assert.equal(gitWorks(root, "rebase", "side"), false);
  const { clean, operation } = await whereIs(repository, "main");
  assert.deepEqual([clean, operation], [false, "a rebase"]);
});

test("what a process that was killed has left in the folder of ours is deleted after a day", async (t) => {
  const { root } = await makeRepository(t);
  const folder = path.join(root, ".git", "tap");
  const view = `attributes-${"0".repeat(32)}`;
  const stays = [view, "landing-1", "locks"];
  const goes = [`${view}-17-x/deep`, `${view}-17-x.index`, "restore-p-n-17", "orphan-n-17.lock"];
  write(
    folder,
    Object.fromEntries([...stays, ...goes, "restore-p-n-18"].map((name) => [name, ""])),
  );
  const old = new Date(Date.now() - 90_000_000);
  for (const name of fs.readdirSync(folder)) {
    if (name !== "restore-p-n-18") fs.utimesSync(path.join(folder, name), old, old);
  }
  assert.equal(await (await openRepository(root)).ownFolder(), folder);
  assert.deepEqual(fs.readdirSync(folder).sort(), [...stays, "restore-p-n-18"].sort());
});
