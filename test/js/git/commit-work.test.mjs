// The commit of an attempt: once, of everything that is the agent's, by the user's hooks.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { copyUntrackedFiles } from "../../../js/git/copy-untracked.mjs";
import { changesBetween, diffBetween, linesBetween } from "../../../js/git/merge.mjs";
import {
  commitWork,
  diffWorktree,
  formatLandedMessage,
  withTrailer,
} from "../../../js/git/commit-work.mjs";
import { removeWorktree } from "../../../js/git/cleanup.mjs";
import { WorktreePool } from "../../../js/git/worktree-pool.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { commit, commitOn, filesOf, git, gitWorks, makeRepository, write } from "./rig.mjs";

const posix = { skip: process.platform === "win32" && "needs a shell script" };
const REF = "refs/tap/p/n/1";

/** @param {string} root @param {string} name @param {string} script */
function setHook(root, name, script) {
  const file = path.join(root, ".git", "hooks", name);
  fs.writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

const NO_LINES = { files: [], insertions: 0, deletions: 0 };

test("changed, new and deleted files are committed with the message and its trailer, and have a ref", async (t) => {
  const { root, repository, worktrees, wanted, first } = await makeRepository(t);
  const made = await worktrees.add(wanted());
  write(made.path, { "a.txt": "2\n", "new/file.txt": "x\n" });
  fs.rmSync(path.join(made.path, "b.txt"));
  const done = await commitWork(repository, made, {
    message: "Split the lexer\n\n# not a comment",
  });
  assert.equal(done.made, true);
  const changes = await changesBetween(repository, first, done.commit);
  assert.deepEqual(
    changes.map(({ path: one, kind }) => `${kind} ${one}`),
    [...["M a.txt", "D b.txt", "A new/file.txt"]],
  );
  assert.deepEqual([done.changes.insertions, done.changes.deletions], [2, 2]);
  assert.equal(git(root, "rev-parse", REF), done.commit);
  assert.equal(git(root, "rev-parse", `${REF}^`), first);
  const text = git(root, "log", "-1", "--format=%B", REF);
  assert.equal(text.trim(), "Split the lexer\n\n# not a comment\n\nPlan-Node: p/n/1");
  assert.deepEqual(filesOf(root, REF), { "a.txt": "2\n", "new/file.txt": "x\n" });
});

test("a second call finds the commit, whatever happened after it", async (t) => {
  const { root, repository, worktrees, wanted } = await makeRepository(t);
  const made = await worktrees.add(wanted());
  write(made.path, { "a.txt": "2\n" });
  const { commit: at, changes } = await commitWork(repository, made, { message: "m" });
  const same = { commit: at, made: false, changes };
  write(made.path, { "a.txt": "3\n" });
  assert.deepEqual(await commitWork(repository, made, { message: "m" }), same);
  git(root, "update-ref", "-d", REF); // killed before the commit had its ref
  assert.deepEqual(await commitWork(repository, made, { message: "m" }), same);
  assert.equal(git(root, "rev-parse", REF), at);
});

test("variables of a plan that say where git works reach no git of tap, but author and committer do", async (t) => {
  const { root, repository, worktrees, wanted } = await makeRepository(t);
  const index = path.join(temporaryFolder(t), "index");
  fs.copyFileSync(path.join(root, ".git", "index"), index);
  const before = fs.readFileSync(index);
  const made = await worktrees.add(wanted());
  write(made.path, { "new.txt": "x\n" });
  const env = {
    ...{ GIT_INDEX_FILE: index, git_dir: "/nonexistent", GIT_WORK_TREE: root, GIT_NAMESPACE: "x" },
    ...{ GIT_AUTHOR_NAME: "Ada", GIT_COMMITTER_EMAIL: "ada@example.com" },
  };
  const { changes } = await commitWork(repository, made, { message: "m", env });
  assert.deepEqual(
    changes.files.map(({ path: one }) => one),
    ["new.txt"],
  );
  assert.equal(git(root, "log", "-1", "--format=%an %ce", REF).trim(), "Ada ada@example.com");
  assert.deepEqual(fs.readFileSync(index), before);
});

test("where nothing was changed there is no commit and no ref", async (t) => {
  const { root, repository, worktrees, wanted, first } = await makeRepository(t);
  const made = await worktrees.add(wanted());
  const done = await commitWork(repository, made, { message: "m" });
  assert.deepEqual(done, { commit: first, made: false, changes: NO_LINES });
  assert.equal(gitWorks(root, "rev-parse", "--verify", "--quiet", REF), false);
});

test("evidence and what was brought are not committed, whether ignored or not, nor where the agent has added them", async (t) => {
  const { root, repository, worktrees, wanted, first } = await makeRepository(t, {
    untouched: false,
  });
  write(root, { ".env": "KEY=1\n", "a[b]/c": "x\n" });
  const evidence = { ".orchestrator/evidence/n.json": "{}" };
  for (const [node, ignored] of /** @type {const} */ ([
    ["n1", ""],
    ["n2", ".env\n.orchestrator\n"],
  ])) {
    const made = await worktrees.add(wanted(node));
    await copyUntrackedFiles(root, made, { copy: [".env", "a[b]"] });
    write(made.path, {
      ...evidence,
      "work.txt": "w\n",
      ".gitignore": ignored,
      "a/not": "brought\n",
    });
    const { changes } = await commitWork(repository, made, { message: "m" });
    assert.deepEqual(
      changes.files.map((change) => change.path),
      [".gitignore", "a/not", "work.txt"],
    );
  }
  const made = await worktrees.add(wanted("n3"));
  commit(made.path, { ...evidence, "work.txt": "w\n" }, "the agent's own");
  const own = await commitWork(repository, made, { message: "m" });
  assert.deepEqual(
    own.changes.files.map((change) => change.path),
    ["work.txt"],
  );
  assert.equal(git(root, "rev-list", "--count", `${first}..${own.commit}`), "2");
});

test("commits that the agent made itself are the work", async (t) => {
  const { root, repository, worktrees, wanted } = await makeRepository(t);
  const made = await worktrees.add(wanted());
  git(made.path, "checkout", "--quiet", "-b", "agents-own");
  const head = commit(made.path, { "a.txt": "2\n" });
  const done = await commitWork(repository, made, { message: "m" });
  assert.deepEqual([done.commit, done.made, done.changes.files.length], [head, false, 1]);
  assert.equal(git(root, "rev-parse", REF), head);
});

test("the user's hooks run, and see neither tokens nor another repository", posix, async (t) => {
  const { root, repository, worktrees, wanted } = await makeRepository(t);
  setHook(
    root,
    "pre-commit",
    'env > "$PWD/seen.txt"; git add seen.txt; git rev-parse --show-toplevel > top.txt; git add top.txt',
  );
  process.env.GITHUB_TOKEN = "secret";
  t.after(() => delete process.env.GITHUB_TOKEN);
  const made = await worktrees.add(wanted());
  write(made.path, { "a.txt": "2\n" });
  const { commit: at } = await commitWork(repository, made, { message: "m", env: { CI: "1" } });
  const files = filesOf(root, at);
  assert.equal(files["top.txt"].trim(), made.path, "what a hook adds is in the commit");
  assert.match(files["seen.txt"], /^CI=1$/m);
  assert.doesNotMatch(files["seen.txt"], /secret/);
});

test("a hook that refuses is quoted; without hooks the commit is made", posix, async (t) => {
  const { root, repository, worktrees, wanted } = await makeRepository(t);
  setHook(root, "pre-commit", "echo 'lint: a.txt is ugly' >&2; exit 1");
  const made = await worktrees.add(wanted());
  write(made.path, { "a.txt": "2\n" });
  const refused = commitWork(repository, made, { message: "m" });
  await assert.rejects(refused, {
    code: "HOOK_FAILED",
    message: /lint: a\.txt is ugly.*detached/s,
  });
  assert.equal(gitWorks(root, "rev-parse", "--verify", "--quiet", REF), false);
  const { made: isMade } = await commitWork(repository, made, { message: "m", hooks: false });
  assert.equal(isMade, true);
});

test(
  "a hook that hangs is ended with what it has started, and the commit can be tried again",
  posix,
  async (t) => {
    const { root, repository, worktrees, wanted } = await makeRepository(t);
    setHook(root, "pre-commit", "sleep 300 & wait");
    const made = await worktrees.add(wanted());
    write(made.path, { "a.txt": "2\n" });
    const hung = commitWork(repository, made, { message: "m", timeoutMs: 300 });
    await assert.rejects(hung, { code: "TIMEOUT", message: /stopped after 0\.3 s: a hook/ });
    fs.rmSync(path.join(root, ".git", "hooks", "pre-commit"));
    assert.equal((await commitWork(repository, made, { message: "m" })).made, true);
  },
);

test("a hook that edits the message cannot make the commit be lost", posix, async (t) => {
  const { root, repository, worktrees, wanted } = await makeRepository(t);
  setHook(root, "commit-msg", 'echo "other words" > "$1"');
  const made = await worktrees.add(wanted());
  write(made.path, { "a.txt": "2\n" });
  const { commit: at } = await commitWork(repository, made, { message: "m" });
  git(root, "update-ref", "-d", REF);
  assert.equal((await commitWork(repository, made, { message: "m" })).commit, at);
});

test("a repository inside the worktree is refused: a commit would not have its files", async (t) => {
  const { repository, worktrees, wanted } = await makeRepository(t);
  const made = await worktrees.add(wanted());
  const inner = path.join(made.path, "inner");
  fs.mkdirSync(inner);
  git(inner, "init", "--quiet");
  commit(inner, { file: "x" });
  const run = commitWork(repository, made, { message: "m" });
  await assert.rejects(run, { code: "NESTED_REPOSITORY", message: /"inner"/ });
});

test("a worktree whose .git was deleted is not committed into the user's checkout", async (t) => {
  const { repository, worktrees, wanted } = await makeRepository(t);
  const made = await worktrees.add(wanted());
  fs.rmSync(path.join(made.path, ".git"));
  await assert.rejects(commitWork(repository, made, { message: "m" }), { code: "BROKEN_WORKTREE" });
});

test("without a name and an address git says what to set", posix, async (t) => {
  const { root, repository, worktrees, wanted } = await makeRepository(t, { untouched: false });
  git(root, "config", "user.useConfigOnly", "true");
  const home = process.env.HOME;
  const made = await worktrees.add(wanted());
  write(made.path, { "a.txt": "2\n" });
  process.env.HOME = "/nonexistent";
  t.after(() => (process.env.HOME = home));
  const run = commitWork(repository, made, { message: "m" });
  await assert.rejects(run, { code: "NO_IDENTITY", message: /user\.email/ });
});

/** @param {any} repository @param {string} parent @param {string} message every byte of it */
async function commitVerbatim({ git: program, commonDir }, parent, message) {
  const cwd = commonDir;
  const args = ["commit-tree", "-p", parent, "-F", "-", `${parent}^{tree}`];
  return (await program.run(args, { cwd, input: message })).stdout.trim();
}

test("the message of a landed commit is bounded, needs no own commit, and runs no command of the user's config", async (t) => {
  const { root, repository, first } = await makeRepository(t);
  const text = `feat: long\n\n${"x".repeat(40_000)}\n\nA: ${"y".repeat(600)}\nB: 1\nB: 2`;
  const long = commitOn(root, [first], { one: "x\n" }, text);
  const merge = commitOn(root, [first, long], { two: "x\n" }, "Merge");
  const home = process.env.HOME;
  process.env.HOME = temporaryFolder(t);
  t.after(() => (process.env.HOME = home));
  const ran = path.join(process.env.HOME, "ran");
  git(root, "config", "--global", "trailer.x.command", `touch ${ran}`);
  const of = { plan: "p", planName: "a\nb", node: "n", name: "Name\nPlan-Node: p/other" };
  const end = "Plan: a b\nPlan-Node: p/n\n";
  const format = (/** @type {string} */ leaf, from = first) =>
    formatLandedMessage(repository, { ...of, leaf, from, since: [first] });
  assert.equal(await format(first), `Name\n\n${end}`);
  assert.equal(await format(long), `feat: long\n\nB: 1\nB: 2\n${end}`);
  assert.equal(await format(merge), `Name\n\nB: 1\nB: 2\n${end}`, "its first parent counts");
  assert.equal(fs.existsSync(ran), false);
});

test("an agent's message names no other node, hides no trailer, and has no control characters", async (t) => {
  const { repository, first } = await makeRepository(t);
  const odd =
    "W\u001B]0;x\u0007\n\nb\rPlan-Node: p/other\n\n# --- >8 ---\n# h\n\nFoo: x\rPlan-Node: p/third";
  const written = (/** @type {string} */ message) => commitVerbatim(repository, first, message);
  const of = { plan: "p", planName: "P", node: "n", name: "Name", from: first, since: [first] };
  const landed = await formatLandedMessage(repository, { ...of, leaf: await written(odd) });
  assert.deepEqual(
    landed.split("\n").filter((line) => line.startsWith("Plan-Node")),
    ["Plan-Node: p/n"],
  );
  assert.match(landed, /^W\]0;x\n/);
  assert.match(landed, /\n\n(?:.+\n)*Plan: P\nPlan-Node: p\/n\n$/);
  const huge = await formatLandedMessage(repository, {
    ...of,
    leaf: await written(`huge\n\n${"x".repeat(3_000_000)}`),
  });
  assert.equal(huge, "huge\n\nPlan: P\nPlan-Node: p/n\n");
});

test("a message has one trailer of ours, among other trailers where there are some", () => {
  const of = { plan: "p", node: "n", attempt: 2 };
  assert.equal(withTrailer("Do it", of), "Do it\n\nPlan-Node: p/n/2\n");
  const signed = "Do it\n\nSigned-off-by: A <a@b>\nPlan-Node: other/x/1";
  assert.equal(withTrailer(signed, of), "Do it\n\nSigned-off-by: A <a@b>\nPlan-Node: p/n/2\n");
  assert.equal(withTrailer("Plan-Node: x", of), "Work\n\nPlan-Node: p/n/2\n");
});

test("line ends by attributes, and names that differ only in case, are committed as git does it", async (t) => {
  const { root, repository, worktrees, wanted } = await makeRepository(t, {
    files: { ".gitattributes": "*.txt text eol=lf\n", "Readme.txt": "x\n" },
  });
  const made = await worktrees.add(wanted());
  write(made.path, { "crlf.txt": "1\r\n2\r\n" });
  git(made.path, "mv", "-f", "Readme.txt", "README.txt");
  const { commit: at } = await commitWork(repository, made, { message: "m" });
  const names = Object.keys(filesOf(root, at));
  assert.deepEqual(names, [".gitattributes", "README.txt", "crlf.txt"]);
  assert.equal(git(root, "show", `${at}:crlf.txt`), "1\n2");
});

test("lines and text of a difference are counted and bounded", async (t) => {
  const { root, repository, first } = await makeRepository(t);
  const at = commitOn(root, [first], {
    "a.txt": "a\nmore\n",
    "b.txt": null,
    "c\td.txt": "b\n",
    bin: "\0\x01",
  });
  const { files, insertions, deletions } = await linesBetween(repository, first, at);
  assert.deepEqual([insertions, deletions], [1, 0]);
  assert.deepEqual(
    files.map(({ path: one, from, binary }) => [one, from, binary]),
    [
      ["a.txt", undefined, false],
      ["bin", undefined, true],
      ["c\td.txt", "b.txt", false],
    ],
  );
  const whole = await diffBetween(repository, first, at);
  assert.match(whole.text, /^\+more$/m);
  assert.equal(whole.cut, false);
  const cut = await diffBetween(repository, first, at, { mostBytes: 50 });
  assert.deepEqual([cut.text.length, cut.cut], [50, true]);
  assert.deepEqual(await changesBetween(repository, first, first), []);
  await assert.rejects(diffBetween(repository, "--output=x", at), { code: "INVALID" });
});

test("what is in a worktree is told before it is committed, and nothing of it is changed by that", async (t) => {
  const { root, repository, worktrees, wanted, first } = await makeRepository(t);
  const made = await worktrees.add(wanted());
  const look = async () => (await diffWorktree(repository, made)).text;
  assert.equal(await look(), "");
  git(made.path, "rm", "--quiet", "b.txt");
  write(made.path, { "a.txt": "2\n", "new.txt": "new\n", ".gitignore": "out\n" });
  write(made.path, { out: "x\n", ".orchestrator/evidence/n.json": "{}" });
  const before = git(made.path, "status", "--porcelain", "--ignored");
  // The count alone: what the objects take on the disk is settled by the file system, later.
  const objects = () => git(root, "count-objects").split(",")[0];
  const countBefore = objects();
  const text = await look();
  for (const part of [/a\.txt\n[^]*-a\n\+2\n/, /new\.txt\nnew file/, /b\.txt\ndeleted file/]) {
    assert.match(text, part);
  }
  assert.doesNotMatch(text, /b\/out|evidence/);
  assert.equal(git(made.path, "status", "--porcelain", "--ignored"), before);
  assert.equal(objects(), countBefore);
  git(made.path, "commit", "--quiet", "--all", "--message=mine");
  assert.match(await look(), /a\.txt\n[^]*-a\n\+2\n/, "the agent's own commits are its work");
  const { cut } = await diffWorktree(repository, made, { mostBytes: 20 });
  assert.deepEqual([cut, made.commit], [true, first]);
  assert.deepEqual(
    fs.readdirSync(made.admin).filter((name) => /^tap-(index|objects)-/.test(name)),
    [],
  );
});

test("a branch that the work has checked out is not moved by the commit, and is free afterwards", async (t) => {
  const { root, repository, worktrees, wanted, first } = await makeRepository(t);
  const users = commitOn(root, [first], { "b.txt": "the user's\n" });
  git(root, "branch", "develop", users);
  const made = await worktrees.add(wanted());
  git(made.path, "checkout", "--quiet", "develop");
  write(made.path, { "a.txt": "2\n" });
  const done = await commitWork(repository, made, { message: "m" });
  assert.equal(git(root, "rev-parse", "develop"), users);
  assert.equal(git(root, "rev-parse", `${REF}^`), users, "with all before it");
  assert.deepEqual([done.made, git(made.path, "branch", "--show-current")], [true, ""]);
  assert.equal(git(root, "rev-parse", REF), done.commit);
});

test("a worktree that is given back keeps no branch checked out", async (t) => {
  const { root, worktrees, wanted } = await makeRepository(t);
  git(root, "branch", "develop");
  const pool = new WorktreePool(worktrees, { most: 1 });
  const made = await pool.acquire(wanted());
  git(made.path, "checkout", "--quiet", "develop");
  assert.equal((await pool.release(made)).pooled, true);
  git(
    root,
    "worktree",
    "add",
    "--quiet",
    path.join(root, "..", `${path.basename(root)}-d`),
    "develop",
  );
  t.after(() => fs.rmSync(`${root}-d`, { recursive: true, force: true }));
});

test("work that ends within a merge is not committed: its conflicts are named", async (t) => {
  const { root, repository, worktrees, wanted, first } = await makeRepository(t);
  const other = commitOn(root, [first], { "a.txt": "theirs\n" });
  const made = await worktrees.add(wanted());
  commit(made.path, { "a.txt": "ours\n" });
  const head = git(made.path, "rev-parse", "HEAD");
  assert.equal(gitWorks(made.path, "merge", other), false);
  const message =
    /within a merge: "a\.txt" has conflicts\. Let it resolve them and git add the files/;
  const committing = () => commitWork(repository, made, { message: "m" });
  await assert.rejects(committing(), { code: "UNMERGED", message });
  assert.equal(git(made.path, "rev-parse", "HEAD"), head);
  write(made.path, { "a.txt": "both\n" });
  git(made.path, "add", "a.txt");
  const { commit: at } = await committing();
  assert.deepEqual(
    [git(root, "show", `${at}:a.txt`), git(root, "rev-parse", `${at}^2`)],
    ["both", other],
  );
});

test("a log of HEAD that is a pipe fails the commit at once", posix, async (t) => {
  const { repository, worktrees, wanted } = await makeRepository(t);
  const made = await worktrees.add(wanted());
  write(made.path, { "a.txt": "2\n" });
  const log = path.join(made.admin, "logs", "HEAD");
  fs.rmSync(log, { force: true });
  execFileSync("mkfifo", [log]);
  const committing = commitWork(repository, made, { message: "m" });
  await assert.rejects(committing, { code: "BROKEN_WORKTREE", message: /is no regular file/ });
});

test("what work writes outside of a sparse checkout is committed, and what is left out of it stays", async (t) => {
  const files = { "in/a": "a\n", "out/b": "b\n", "out/c": "c\n" };
  const { root, repository, worktrees, wanted } = await makeRepository(t, {
    ...{ files, untouched: false },
  });
  git(root, "sparse-checkout", "set", "in");
  const worktree = await worktrees.add(wanted());
  assert.deepEqual(fs.readdirSync(worktree.path).sort(), [".git", "in"]);
  write(worktree.path, { "in/new": "1\n", "out/b": "2\n", "out/new": "3\n" });
  assert.match((await diffWorktree(repository, worktree)).text, /out\/new/);
  const { commit: made } = await commitWork(repository, worktree, { message: "work" });
  const names = git(root, "diff", "--name-status", `${made}~`, made).split("\n");
  assert.deepEqual(names, ["A\tin/new", "M\tout/b", "A\tout/new"]);
});

test("a folder of git that a node has forged runs no program of the node", posix, async (t) => {
  const forge = {
    commondir: (/** @type {string} */ admin, /** @type {string} */ other) =>
      fs.writeFileSync(path.join(admin, "commondir"), other),
    "config.worktree": (/** @type {string} */ admin, /** @type {string} */ other) =>
      fs.copyFileSync(path.join(other, "config"), path.join(admin, "config.worktree")),
    index: (/** @type {string} */ admin) => {
      fs.rmSync(path.join(admin, "index"));
      execFileSync("mkfifo", [path.join(admin, "index")]);
    },
    HEAD: (/** @type {string} */ admin, /** @type {string} */ other) => {
      fs.rmSync(path.join(admin, "HEAD"));
      fs.symlinkSync(path.join(other, "HEAD"), path.join(admin, "HEAD"));
    },
  };
  for (const [name, change] of Object.entries(forge)) {
    const made = await makeRepository(t, { untouched: false });
    const { root, repository, worktrees, wanted } = made;
    const worktree = await worktrees.add(wanted());
    const other = path.join(temporaryFolder(t), "other.git");
    fs.cpSync(path.join(root, ".git"), other, { recursive: true });
    const ran = path.join(path.dirname(other), "ran");
    git(root, "config", "extensions.worktreeConfig", "true");
    git(
      root,
      "config",
      "--file",
      path.join(other, "config"),
      "filter.x.clean",
      `touch ${ran}; cat`,
    );
    write(worktree.path, { ".gitattributes": "* filter=x\n", "new.txt": "x\n" });
    change(worktree.admin, other);
    const commits = commitWork(repository, worktree, { message: "m" });
    await assert.rejects(commits, { code: "BROKEN_WORKTREE" }, name);
    const removal = await removeWorktree(worktrees, worktree);
    assert.deepEqual([removal.removed, fs.existsSync(worktree.path)], [false, true], name);
    assert.equal(fs.existsSync(ran), false, name);
  }
});

test("a sparse checkout is no forgery", async (t) => {
  const { repository, worktrees, wanted, root } = await makeRepository(t, { untouched: false });
  git(root, "sparse-checkout", "set", "--no-cone", "/b.txt");
  const made = await worktrees.add(wanted());
  git(made.path, "sparse-checkout", "set", "--no-cone", "/a.txt");
  write(made.path, { "new.txt": "x\n" });
  const { changes } = await commitWork(repository, made, { message: "m" });
  assert.deepEqual(
    changes.files.map((change) => change.path),
    ["new.txt"],
  );
});
