// A landing in a checkout of the user's: what is in its way, and what it leaves where it is cut off.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { readStartTime } from "../../../js/lib/process-identity.mjs";
import { recoverLanding, land } from "../../../js/git/landing.mjs";
import { integrate } from "../../../js/git/integration.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { waitFor } from "../../support/wait.mjs";
import { commitOn, git, listLeft, makeRepository, write } from "./rig.mjs";

const OF = { plan: "p", target: "feature" };
const STEPS = new URL("../../../js/git/", import.meta.url);
const LANDS = `import { land } from "${new URL("landing.mjs", STEPS)}";
import { openRepository } from "${new URL("repository.mjs", STEPS)}";
await land(await openRepository(process.argv[1]), ${JSON.stringify(OF)});`;

/** A result with some files, whose target is checked out. @param {import("node:test").TestContext} t @param {Record<string, string | null>} files @param {Record<string, string>} [before] */
async function makeResult(t, files, before = {}) {
  const made = await makeRepository(t, { untouched: false });
  const { root, repository } = made;
  git(root, "checkout", "--quiet", "-b", "feature");
  fs.rmSync(path.join(root, "not-committed.txt"), { force: true });
  write(root, before);
  git(root, "add", "--all");
  git(root, "commit", "--quiet", "--allow-empty", "--message=before");
  const base = git(root, "rev-parse", "HEAD");
  const leaf = commitOn(root, [base], files);
  await integrate(repository, { ...OF, base, leaf, message: "Work" });
  const status = () => git(root, "--no-optional-locks", "status", "--porcelain");
  const read = (/** @type {string} */ name) => fs.readFileSync(path.join(root, name), "utf8");
  return { ...made, base, status, read, land: (more = {}) => land(repository, { ...OF, ...more }) };
}

const NEW = { "a.txt": "new a\n", "d/early.txt": "early\n", "m.slow": "slow\n", "z.txt": "late\n" };

/** A landing that comes to a filter in its middle. @param {import("node:test").TestContext} t @param {string} what the filter does @param {{files?: Record<string, string | null>, before?: Record<string, string>}} [of] */
async function makeSlow(t, what, { files = NEW, before = {} } = {}) {
  const made = await makeResult(t, files, { ".gitattributes": "*.slow filter=slow\n", ...before });
  const { root } = made;
  const armed = path.join(root, ".git", "armed");
  const script = path.join(root, ".git", "smudge");
  fs.writeFileSync(script, `if test -e "${armed}"; then\n${what}\nfi\ncat\n`);
  git(root, "config", "filter.slow.smudge", `exec sh "${script}"`);
  git(root, "config", "filter.slow.clean", "cat");
  fs.writeFileSync(armed, "");
  const disarm = () => fs.rmSync(armed);
  /** In a process of its own, which the filter may kill: its pid is in the file. */
  const landElsewhere = async () => {
    const child = spawn(process.execPath, ["--input-type=module", "-e", LANDS, root]);
    fs.writeFileSync(armed, String(child.pid));
    await once(child, "exit");
  };
  return { ...made, armed, disarm, landElsewhere };
}

const KILL_GIT = "kill -9 $PPID";
const killHost = (/** @type {string} */ then) =>
  `kill -9 "$(cat "$(dirname "$0")/armed")"; ${then}`;

/** The command that a message ends with, in a shell, as it is. @param {unknown} message */
function putBack(message) {
  const [command] = /git -C \S+ --literal-pathspecs stash .+$/.exec(String(message)) ?? [];
  execFileSync("sh", ["-c", String(command)], { stdio: "ignore" });
}

/** @param {string} root */
const listJournals = (root) =>
  fs.readdirSync(path.join(root, ".git", "tap")).filter((name) => /^landing-\w+$/.test(name));

/** @param {Promise<unknown>} landing @returns {Promise<any>} why it failed */
const catchFailure = (landing) => landing.then(assert.fail, (error) => error);

test("files and folders that git ignores are not overwritten: the result waits, and they are named", async (t) => {
  const files = { ".env": "the agent's\n", build: "a file\n", "b.txt": "b\n" };
  const made = await makeResult(t, files, { ".gitignore": ".env\nbuild\n" });
  const { root, base, read } = made;
  write(root, { ".env": "the user's\n", "build/out": "made\n" });
  const { status, changed, message } = await made.land();
  assert.deepEqual([status, changed?.sort()], ["dirty", [".env", "build"]]);
  assert.match(
    String(message),
    /would overwrite .*"\.env", which git does not track\. Move that away/,
  );
  assert.deepEqual([read(".env"), read("build/out")], ["the user's\n", "made\n"]);
  assert.deepEqual([git(root, "rev-parse", "feature"), made.status()], [base, ""]);
  fs.rmSync(path.join(root, ".env"));
  fs.rmSync(path.join(root, "build"), { recursive: true });
  assert.equal((await made.land()).status, "landed");
  assert.equal(read(".env"), "the agent's\n");
});

test("a filter that a node has changed does not run in the checkout: the result waits for a person", async (t) => {
  const filter = (/** @type {string} */ text) => `#!/bin/sh\n${text}\ncat\n`;
  const before = { ".gitattributes": "*.own filter=own\n", "tools/run.sh": filter("") };
  const made = await makeResult(t, { "tools/run.sh": filter("touch ran"), "x.own": "x\n" }, before);
  const { root, base } = made;
  git(root, "config", "filter.own.smudge", "sh ./tools/run.sh %f");
  const { status, changed } = await made.land();
  assert.deepEqual([status, changed], ["dirty", ["tools/run.sh"]]);
  assert.deepEqual([git(root, "rev-parse", "feature"), made.status()], [base, ""]);
  git(root, "config", "filter.own.smudge", "cat");
  assert.equal((await made.land()).status, "landed");
});

test("a branch that is checked out while the landing looks at the checkout is not moved", async (t) => {
  const made = await makeResult(t, { "new.txt": "x\n" });
  const { root, repository, base } = made;
  git(root, "branch", "mine");
  const { query } = repository;
  repository.query = async function (args, options) {
    const ended = await query.call(this, args, options);
    if (args[0] === "status") git(root, "symbolic-ref", "HEAD", "refs/heads/mine");
    return ended;
  };
  assert.equal((await made.land()).status, "lost");
  assert.deepEqual(
    [git(root, "rev-parse", "mine"), git(root, "rev-parse", "feature")],
    [base, base],
  );
  assert.equal((await made.land()).status, "landed");
  assert.equal(git(root, "rev-parse", "mine"), base);
});

test("a target that is checked out twice is not moved: both places are named", async (t) => {
  const made = await makeResult(t, { "new.txt": "x\n" });
  const { root, base } = made;
  const other = path.join(fs.realpathSync(temporaryFolder(t)), "other");
  git(root, "worktree", "add", "--quiet", "--force", other, "feature");
  const { status, message } = await made.land();
  assert.equal(status, "dirty");
  assert.ok(message?.includes(`checked out in "${root}", and in "${other}"`), message);
  assert.deepEqual([git(root, "rev-parse", "feature"), made.status()], [base, ""]);
});

test("a target that a node has checked out in its worktree is not moved beneath it", async (t) => {
  const made = await makeResult(t, { "new.txt": "x\n" });
  const { root, base, worktrees, wanted } = made;
  git(root, "checkout", "--quiet", "main");
  const worktree = await worktrees.add(wanted("one"));
  git(worktree.path, "checkout", "--quiet", "feature");
  const { status, path: where, message } = await made.land();
  assert.deepEqual([status, where], ["dirty", worktree.path]);
  assert.match(
    String(message),
    /a worktree of a node\. Let that node end, or run git checkout --detach/,
  );
  assert.equal(git(root, "rev-parse", "feature"), base);
  git(worktree.path, "checkout", "--quiet", "--detach");
  assert.equal((await made.land()).status, "landed");
  assert.equal(git(worktree.path, "status", "--porcelain"), "");
});

test("a cancel does not cut off git in the middle of a landing", async (t) => {
  const made = await makeSlow(t, 'touch "$(dirname "$0")/begun"; sleep 0.3');
  const controller = new AbortController();
  const landing = made.land({ signal: controller.signal });
  await waitFor(() => fs.existsSync(path.join(made.root, ".git", "begun")));
  controller.abort();
  assert.deepEqual([(await landing).status, made.status()], ["landed", ""]);
  const late = land(made.repository, { ...OF, signal: controller.signal });
  assert.equal((await late).again, true);
});

for (const [last, written] of /** @type {[string, string[]][]} */ ([
  ["0.slow", []],
  ["m.slow", ["a.txt", "d/early.txt"]],
  ["zz.slow", ["a.txt", "d/early.txt", "z.txt"]],
])) {
  test(`where git is killed before it writes ${last}, no file is touched, and they are named`, async (t) => {
    const { "m.slow": slow, ...others } = NEW;
    const files = { ...others, [last]: slow, "gone.txt": null };
    const before = { "a.txt": "old a\n", "gone.txt": "there\n" };
    const made = await makeSlow(t, KILL_GIT, { files, before });
    const { root, base } = made;
    write(root, { "d/mine.txt": "mine\n" });
    const { code, message, details } = await catchFailure(made.land());
    assert.deepEqual([code, details.path], ["GIT_FAILED", root]);
    // It deletes before it writes.
    assert.deepEqual(listLeft(root), [...written, "gone.txt"].sort());
    assert.doesNotMatch(message, /disk/);
    assert.deepEqual([git(root, "rev-parse", "HEAD"), listJournals(root)], [base, []]);
    assert.equal(fs.existsSync(path.join(root, ".git", "index.lock")), false);
    made.disarm();
    const { status, changed = [] } = await made.land();
    assert.deepEqual([status, changed.includes("gone.txt")], ["dirty", true]);
    putBack(message);
    assert.deepEqual([made.status(), made.read("a.txt")], ["?? d/", "old a\n"]);
    assert.equal((await made.land()).status, "landed");
    assert.deepEqual([made.status(), made.read("z.txt")], ["?? d/mine.txt", "late\n"]);
    assert.equal(made.read("d/mine.txt"), "mine\n");
  });
}

test("where git is killed before it has written a file, the landing can be tried again", async (t) => {
  const made = await makeSlow(t, KILL_GIT, { files: { "m.slow": "slow\n" } });
  const { code } = await catchFailure(made.land());
  assert.deepEqual([code, listLeft(made.root), made.status()], ["GIT_FAILED", [], ""]);
  made.disarm();
  assert.equal((await made.land()).status, "landed");
});

test("where git has written all but cannot move the branch, the next try moves it", async (t) => {
  const files = { ...NEW, "four/4.txt": null, four: "a file\n" };
  const made = await makeResult(t, files, { "four/4.txt": "4\n" });
  const { root, base } = made;
  const lock = path.join(root, ".git", "refs", "heads", "feature.lock");
  const holder = spawn("git", ["update-ref", "--stdin"], { cwd: root });
  t.after(() => holder.kill());
  holder.stdin.write(`start\nverify refs/heads/feature ${base}\nprepare\n`);
  await waitFor(() => fs.existsSync(lock));
  await assert.rejects(made.land(), { code: "LOCKED" });
  assert.deepEqual([fs.existsSync(lock), git(root, "rev-parse", "HEAD")], [true, base]);
  holder.stdin.end();
  await once(holder, "exit");
  assert.deepEqual([(await made.land()).again, made.status()], [true, ""]);
  assert.deepEqual([made.read("four"), listJournals(root)], ["a file\n", []]);
});

test("an index lock of somebody else stays, and nothing is written", async (t) => {
  const made = await makeResult(t, NEW);
  const { root } = made;
  const lock = path.join(root, ".git", "index.lock");
  fs.writeFileSync(lock, "somebody's");
  const { code, message } = await catchFailure(made.land());
  assert.equal(code, "LOCKED");
  assert.ok(message.includes(lock), message);
  assert.doesNotMatch(message, /disk/);
  assert.deepEqual([fs.readFileSync(lock, "utf8"), listJournals(root)], ["somebody's", []]);
  fs.rmSync(lock);
  assert.equal(made.status(), "");
  assert.equal((await made.land()).status, "landed");
});

test("where the host goes, git goes on with its landing, and the next host finds it", async (t) => {
  const made = await makeSlow(t, killHost("sleep 0.5"));
  await made.landElsewhere();
  const { status, again } = await made.land();
  assert.deepEqual([status, again, made.status()], ["landed", true, ""]);
});

/** Cut off before it has written its last files. @param {import("node:test").TestContext} t */
async function makeCutOff(t) {
  const made = await makeSlow(t, killHost(KILL_GIT));
  const { root } = made;
  await made.landElsewhere();
  await waitFor(() => fs.existsSync(path.join(root, ".git", "index.lock")));
  made.disarm();
  const [name] = listJournals(root);
  return { ...made, record: path.join(root, ".git", "tap", name) };
}

test("what a host and its git have left stays byte by byte, also what the user has written since", async (t) => {
  const made = await makeCutOff(t);
  const { root, base } = made;
  const mine = { "a.txt": "new", "d/early.txt": "ear", "z.txt": "late\n", "b.txt": "mine\n" };
  write(root, mine);
  const { status, changed = [], message } = await made.land();
  assert.deepEqual([status, changed.sort()], ["dirty", ["a.txt", "b.txt"]]);
  for (const name of ["a.txt", "d/early.txt", "z.txt"]) assert.ok(message?.includes(`"${name}"`));
  for (const [name, text] of Object.entries(mine)) assert.equal(made.read(name), text);
  assert.equal(git(root, "rev-parse", "HEAD"), base);
  putBack(message);
  assert.equal(made.status(), " M b.txt");
  assert.equal(git(root, "show", "stash@{0}:a.txt"), "new");
  assert.equal(git(root, "show", "stash@{0}^3:d/early.txt"), "ear");
  git(root, "checkout", "--quiet", "b.txt");
  assert.equal((await made.land()).status, "landed");
  assert.deepEqual([made.status(), made.read("z.txt")], ["", "late\n"]);
  assert.deepEqual(
    fs.readdirSync(path.dirname(made.record)).filter((name) => name.startsWith("landing-")),
    [],
  );
});

test("new files that a landing has left hold the next one back, and are named with the command", async (t) => {
  const made = await makeSlow(t, killHost(KILL_GIT), { files: { "d/b.txt": "b\n", "m.slow": "" } });
  await made.landElsewhere();
  await waitFor(() => fs.existsSync(path.join(made.root, ".git", "index.lock")));
  made.disarm();
  const { status, changed, message } = await made.land();
  assert.deepEqual([status, changed], ["dirty", ["d/b.txt"]]);
  putBack(message);
  assert.equal((await made.land()).status, "landed");
});

test("while a git of the user's holds the index, its lock stays", async (t) => {
  const made = await makeCutOff(t);
  const { root } = made;
  const living = spawn("git", ["cat-file", "--batch"], { cwd: root });
  t.after(() => living.kill());
  await once(living, "spawn");
  const before = git(root, "--no-optional-locks", "ls-files", "--modified", "--others");
  assert.match(before, /d\/early\.txt/);
  const message = /A git is at work in ".*"\. Let it end, or remove ".*index\.lock"/;
  await assert.rejects(made.land(), { code: "LOCKED", message });
  assert.equal(git(root, "--no-optional-locks", "ls-files", "--modified", "--others"), before);
  assert.equal(listJournals(root).length, 1);
  assert.equal(fs.existsSync(path.join(root, ".git", "index.lock")), true);
  living.stdin.end();
  await once(living, "exit");
  putBack((await made.land()).message);
  assert.equal((await made.land()).status, "landed");
  assert.deepEqual([made.status(), listJournals(root)], ["", []]);
});

test("a file that was to become a folder, and a folder a file, are there again", async (t) => {
  const files = { one: null, "one/two.txt": "two\n", "four/4.txt": null, four: "a file\n" };
  const before = { one: "1\n", "four/4.txt": "4\n" };
  const all = { ...files, "z.slow": "slow\n", "a*.txt": "any\n", "not.me": "ignored\n" };
  const made = await makeSlow(t, KILL_GIT, {
    files: all,
    before: { ...before, ".gitignore": "*.me\n", "ab.txt": "" },
  });
  write(made.root, { "ab.txt": "mine\n" });
  git(made.root, "update-index", "--assume-unchanged", "ab.txt");
  const { message } = await catchFailure(made.land());
  assert.deepEqual(
    listLeft(made.root),
    ["a*.txt", "four", "four/4.txt", "not.me", "one", "one/two.txt"].sort(),
  );
  putBack(message);
  assert.deepEqual([made.read("one"), made.read("four/4.txt")], ["1\n", "4\n"]);
  assert.deepEqual([made.status(), made.read("ab.txt")], ["", "mine\n"]);
  made.disarm();
  assert.equal((await made.land()).status, "landed");
});

/** A commit on top, with files of which the objects are there. @param {string} root @param {[name: string, object: string, mode?: string][]} files names: their bytes, as Latin-1 */
function commitObjects(root, files) {
  const env = { ...process.env, GIT_INDEX_FILE: path.join(root, ".git", "test-index") };
  const run = (/** @type {string[]} */ args, input = "") =>
    String(
      execFileSync("git", args, { cwd: root, env, input: Buffer.from(input, "latin1") }),
    ).trim();
  run(["read-tree", "HEAD"]);
  const lines = files.map(([name, object, mode = "100644"]) => `${mode} ${object}\t${name}\0`);
  run(["update-index", "-z", "--index-info"], lines.join(""));
  return run(["commit-tree", run(["write-tree"]), "-p", "HEAD", "-m", "on top"]);
}

const isStrict = process.platform !== "linux"; // there, names are UTF-8

test(
  "names that are no UTF-8, line ends and quotes in names are no hindrance",
  { skip: isStrict },
  async (t) => {
    const made = await makeSlow(t, KILL_GIT);
    const { root } = made;
    const names = ["caf\xe9", "\xc3\xa9", "d\xe9/x\ny", 'a "q" \\', "link\xe9", "end\r"];
    const modeOf = (/** @type {string} */ name) => (name.startsWith("link") ? "120000" : "100644");
    const object = git(root, "hash-object", "-w", ".gitattributes");
    const to = commitObjects(root, [
      ...names.map(
        (name) => /** @type {[string, string, string]} */ ([name, object, modeOf(name)]),
      ),
      ["\xff.slow", object],
    ]);
    git(root, "update-ref", "refs/tap/p/result", to);
    const { message } = await catchFailure(made.land());
    assert.equal(listLeft(root).length, names.length);
    putBack(message);
    assert.equal(made.status(), "");
    made.disarm();
    assert.equal((await made.land()).status, "landed");
  },
);

/** Its target is in a checkout of its own. @param {import("node:test").TestContext} t @param {string} what the filter does */
async function slowElsewhere(t, what) {
  const made = await makeSlow(t, what);
  const { root } = made;
  git(root, "checkout", "--quiet", "main");
  const other = path.join(fs.realpathSync(temporaryFolder(t)), "other");
  fs.renameSync(made.armed, `${made.armed}-later`);
  git(root, "worktree", "add", "--quiet", other, "feature");
  fs.renameSync(`${made.armed}-later`, made.armed);
  return { ...made, other };
}

/** A landing that was cut off there. @param {import("node:test").TestContext} t */
async function cutOffElsewhere(t) {
  const made = await slowElsewhere(t, killHost(KILL_GIT));
  const { root } = made;
  await made.landElsewhere();
  await waitFor(() => fs.existsSync(path.join(root, ".git", "worktrees", "other", "index.lock")));
  made.disarm();
  return made;
}

test("where a checkout was deleted in which a landing was cut off, the branch lands elsewhere", async (t) => {
  const { root, other, ...made } = await cutOffElsewhere(t);
  fs.rmSync(other, { recursive: true });
  assert.match(String((await made.land()).message), /whose folder or \.git is gone/);
  git(root, "worktree", "prune");
  assert.equal((await made.land()).status, "landed");
});

test("where a checkout is away for a while, what a landing has left in it is said later", async (t) => {
  const { other, ...made } = await cutOffElsewhere(t);
  fs.renameSync(other, `${other}-away`);
  assert.match(String((await made.land()).message), /whose folder or \.git is gone/);
  fs.renameSync(`${other}-away`, other);
  putBack((await made.land()).message);
  assert.equal((await made.land()).status, "landed");
  assert.equal(git(other, "status", "--porcelain"), "");
});

test("what is in the place of a checkout that is away is the user's", async (t) => {
  const { root, other, ...made } = await cutOffElsewhere(t);
  fs.renameSync(other, `${other}-away`);
  git(root, "clone", "--quiet", "--shared", "--branch=feature", root, other);
  write(other, { "d/early.txt": "early\n" });
  await recoverLanding(made.repository, "feature");
  assert.equal(fs.readFileSync(path.join(other, "d/early.txt"), "utf8"), "early\n");
  fs.rmSync(other, { recursive: true });
  fs.mkdirSync(other); // where a disk is mounted
  assert.match(String((await made.land()).message), /whose folder or \.git is gone/);
  assert.equal(listJournals(root).length, 1);
  fs.rmdirSync(other);
  fs.renameSync(`${other}-away`, other);
  putBack((await made.land()).message);
  assert.equal((await made.land()).status, "landed");
  assert.deepEqual([git(other, "status", "--porcelain"), listJournals(root)], ["", []]);
});

test("where a checkout goes away in the middle of a landing, its files are named once it is there", async (t) => {
  const what = `mv "$PWD" "$PWD-away"; ${KILL_GIT}`;
  const { other, ...made } = await slowElsewhere(t, what);
  await assert.rejects(made.land(), { code: "GIT_FAILED" });
  made.disarm();
  fs.renameSync(`${other}-away`, other);
  putBack((await made.land()).message);
  assert.equal((await made.land()).status, "landed");
  assert.equal(git(other, "status", "--porcelain"), "");
});

test("what cannot be listed is said, and the next try goes on", async (t) => {
  const made = await makeCutOff(t);
  const { root, record } = made;
  const text = fs.readFileSync(record, "utf8");
  fs.writeFileSync(record, text.replace(/"to":"[0-9a-f]+"/, `"to":"${"1".repeat(40)}"`));
  const { status, message } = await made.land();
  assert.equal(status, "dirty");
  assert.match(String(message), /cannot be listed: /);
  assert.deepEqual(listJournals(root), []);
  git(root, "reset", "--hard", "--quiet");
  git(root, "clean", "-fdq");
  assert.equal((await made.land()).status, "landed");
});

test("a wait for the git of a former host ends with its signal, also before it begins", async (t) => {
  const made = await makeCutOff(t);
  const { root, repository, record } = made;
  const former = spawn("sleep", ["60"]);
  t.after(() => former.kill());
  await once(former, "spawn");
  const pid = Number(former.pid);
  fs.appendFileSync(record, `${pid} ${readStartTime(pid)}\n`);
  const settle = (/** @type {AbortSignal} */ signal) =>
    recoverLanding(repository, "feature", signal);
  const refusal = { code: "CANCELLED", message: /landing in ".+" is still in progress/ };
  await assert.rejects(settle(AbortSignal.abort()), refusal);
  await assert.rejects(settle(AbortSignal.timeout(100)), refusal);
  const first = recoverLanding(repository, "feature");
  const behind = { code: "CANCELLED", message: /landing on "feature" is still in progress/ };
  await assert.rejects(settle(AbortSignal.timeout(100)), behind);
  await assert.rejects(made.land({ signal: AbortSignal.abort() }), behind);
  assert.deepEqual(listJournals(root), [path.basename(record)]);
  former.kill();
  await once(former, "exit");
  putBack(await first);
  assert.equal(await settle(AbortSignal.abort()), "");
  assert.deepEqual([git(root, "status", "--porcelain"), listJournals(root)], ["", []]);
});

test("what another process has written down since is not removed", async (t) => {
  const made = await makeResult(t, { "new.txt": "x\n" });
  const { root, repository, records } = { ...made, records: path.join(made.root, ".git", "tap") };
  const { change } = repository;
  let record = "";
  repository.change = async function (args, options) {
    const ended = await change.call(this, args, options);
    const name = fs.readdirSync(records).find((one) => one.startsWith("landing-"));
    if (args[0] !== "merge") return ended;
    record = path.join(records, String(name));
    fs.writeFileSync(record, "another's\n");
    return ended;
  };
  assert.equal((await made.land()).status, "landed");
  assert.equal(fs.readFileSync(record, "utf8"), "another's\n");
  assert.equal(git(root, "status", "--porcelain"), "");
});
