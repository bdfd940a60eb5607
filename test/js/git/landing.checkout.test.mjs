// A landing in a checkout of the user's: what is in its way, and what it leaves where it is cut off.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { readStartTime } from "../../../js/lib/process-identity.mjs";
import { recoverLanding, land, rollBackCheckout } from "../../../js/git/landing.mjs";
import { integrate } from "../../../js/git/integration.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { waitFor } from "../../support/wait.mjs";
import { commitOn, git, makeRepository, write } from "./rig.mjs";

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

test("where git is killed in the middle of a landing, the checkout is as it was, and the next try lands", async (t) => {
  const made = await makeSlow(t, KILL_GIT);
  const { root, base } = made;
  const message =
    /SIGKILL.* are as they were\. If the disk is full, free some space\. Then try again\./;
  await assert.rejects(made.land(), { code: "GIT_FAILED", message });
  assert.deepEqual([made.status(), git(root, "rev-parse", "HEAD")], ["", base]);
  assert.deepEqual(
    ["d", ".git/index.lock"].map((name) => fs.existsSync(path.join(root, name))),
    [false, false],
  );
  made.disarm();
  assert.equal((await made.land()).status, "landed");
  assert.deepEqual([made.status(), made.read("z.txt")], ["", "late\n"]);
});

test("where the host goes, git goes on with its landing, and the next host finds it", async (t) => {
  const made = await makeSlow(t, killHost("sleep 0.5"));
  await made.landElsewhere();
  const { status, again } = await made.land();
  assert.deepEqual([status, again, made.status()], ["landed", true, ""]);
});

test("what a host and its git have left is taken back first, also a file that was cut off", async (t) => {
  const made = await makeSlow(t, killHost(KILL_GIT));
  const { root } = made;
  await made.landElsewhere();
  await waitFor(() => fs.existsSync(path.join(root, ".git", "index.lock")));
  assert.notEqual(git(root, "--no-optional-locks", "ls-files", "--modified", "--others"), "");
  write(root, { "a.txt": "new", "z.txt": "" });
  made.disarm();
  assert.equal((await made.land()).again, false);
  assert.deepEqual(
    [made.status(), made.read("a.txt"), made.read("z.txt")],
    ["", "new a\n", "late\n"],
  );
});

test("what the user has written where a landing was cut off stays, and holds it back", async (t) => {
  const made = await makeSlow(t, killHost(KILL_GIT));
  const { root, base } = made;
  await made.landElsewhere();
  await waitFor(() => fs.existsSync(path.join(root, ".git", "index.lock")));
  write(root, { "a.txt": "mine\n", "d/early.txt": "mine, too\n" });
  made.disarm();
  const { status, changed } = await made.land();
  assert.deepEqual([status, changed], ["dirty", ["a.txt"]]);
  assert.deepEqual([made.read("a.txt"), made.read("d/early.txt")], ["mine\n", "mine, too\n"]);
  assert.equal(git(root, "rev-parse", "HEAD"), base);
});

test("a new file that was there before the landing is the user's, whatever is in it", async (t) => {
  const { root, repository, base, read } = await makeResult(t, { "y.txt": "y\n", "z.txt": "z\n" });
  write(root, { "y.txt": "", "z.txt": "" });
  const to = git(root, "rev-parse", "refs/tap/p/result");
  await rollBackCheckout(repository, { path: root, from: base, to, had: ["z.txt"] });
  assert.deepEqual([fs.existsSync(path.join(root, "y.txt")), read("z.txt")], [false, ""]);
});

/** Cut off before it has written its last files. @param {import("node:test").TestContext} t */
async function makeCutOff(t) {
  const made = await makeSlow(t, killHost(KILL_GIT));
  const { root } = made;
  await made.landElsewhere();
  await waitFor(() => fs.existsSync(path.join(root, ".git", "index.lock")));
  made.disarm();
  const own = path.join(root, ".git", "tap");
  const records = () => fs.readdirSync(own).filter((name) => name.startsWith("landing-"));
  const [name] = records();
  return { ...made, records, record: path.join(own, name) };
}

test("while a git of the user's holds the index, nothing is taken back beneath it", async (t) => {
  const made = await makeCutOff(t);
  const { root, records } = made;
  const living = spawn("git", ["cat-file", "--batch"], { cwd: root });
  t.after(() => living.kill());
  await once(living, "spawn");
  const before = git(root, "--no-optional-locks", "ls-files", "--modified", "--others");
  assert.match(before, /d\/early\.txt/);
  const message = /A git is at work in ".*"\. Let it end, or remove ".*index\.lock"/;
  await assert.rejects(made.land(), { code: "LOCKED", message });
  assert.equal(git(root, "--no-optional-locks", "ls-files", "--modified", "--others"), before);
  assert.equal(records().length, 1);
  living.stdin.end();
  await once(living, "exit");
  assert.equal((await made.land()).status, "landed");
  assert.deepEqual([made.status(), records()], ["", []]);
});

test("a file that a landing turns into a folder is there again", async (t) => {
  const files = { one: null, "one/two.txt": "two\n", "three/four.txt": null, three: "3\n" };
  const before = { one: "1\n", "three/four.txt": "four\n" };
  const { root, repository, base, read, status } = await makeResult(t, files, before);
  const to = git(root, "rev-parse", "refs/tap/p/result");
  fs.rmSync(path.join(root, "one"));
  fs.rmSync(path.join(root, "three"), { recursive: true });
  write(root, { "one/two.txt": "tw", three: "3\n" });
  await rollBackCheckout(repository, { path: root, from: base, to, had: [] });
  assert.deepEqual([read("one"), read("three/four.txt"), status()], ["1\n", "four\n", ""]);
});

test("a folder that a landing turns into a file is there again", async (t) => {
  const files = { "four/4.txt": null, four: "a file\n", "m.slow": "slow\n" };
  const made = await makeSlow(t, KILL_GIT, { files, before: { "four/4.txt": "4\n" } });
  await assert.rejects(made.land(), /are as they were/);
  assert.deepEqual([made.read("four/4.txt"), made.status()], ["4\n", ""]);
});

test("what a filter leaves out of a file is the user's, and stays", async (t) => {
  const { root, repository, base, read } = await makeResult(t, { "x.book": "book\n" });
  const to = git(root, "rev-parse", "refs/tap/p/result");
  fs.writeFileSync(path.join(root, ".git", "info", "attributes"), "*.book filter=book\n");
  git(root, "config", "filter.book.clean", "sed /output/d");
  write(root, { "x.book": "book\noutput\n" });
  await rollBackCheckout(repository, { path: root, from: base, to, had: [] });
  assert.equal(read("x.book"), "book\noutput\n");
  write(root, { "x.book": "book\n" });
  await rollBackCheckout(repository, { path: root, from: base, to, had: [] });
  assert.equal(fs.existsSync(path.join(root, "x.book")), false);
});

test("no file comes back where the user has put another since", async (t) => {
  const files = { "three/four.txt": null, three: "3\n", "a.txt": null };
  const { root, repository, base, read } = await makeResult(t, files, { "three/four.txt": "4\n" });
  const to = git(root, "rev-parse", "refs/tap/p/result");
  fs.rmSync(path.join(root, "three"), { recursive: true });
  write(root, { three: "mine\n", "a.txt": "mine, too\n" });
  await rollBackCheckout(repository, { path: root, from: base, to, had: [] });
  assert.deepEqual([read("three"), read("a.txt")], ["mine\n", "mine, too\n"]);
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
    const made = await makeRepository(t, { untouched: false });
    const { root, repository, first } = made;
    const names = [
      "caf\xe9",
      "\xc3\xa9",
      "d\xe9/x\ny",
      'a "q" \\',
      "whole\xff",
      "link\xe9",
      "had\xe9",
      "end\r",
      "whole, too\r",
    ];
    const place = (/** @type {string} */ name) => Buffer.from(`${root}/${name}`, "latin1");
    fs.writeFileSync(path.join(root, "x"), "content\n");
    const object = git(root, "hash-object", "-w", "x");
    fs.rmSync(path.join(root, "x"));
    const modeOf = (/** @type {string} */ name) => (name.startsWith("link") ? "120000" : "100644");
    const to = commitObjects(
      root,
      names.map((name) => [name, object, modeOf(name)]),
    );
    fs.mkdirSync(place("d\xe9"));
    for (const name of names) {
      if (name.startsWith("link")) fs.symlinkSync("content\n", place(name));
      else fs.writeFileSync(place(name), name.startsWith("whole") ? "content\n" : "cont");
    }
    await rollBackCheckout(repository, { path: root, from: first, to, had: ["had\xe9"] });
    const left = git(root, "-c", "core.quotePath=true", "ls-files", "--others");
    assert.equal(left, '"had\\351"\nnot-committed.txt');
  },
);

test("a file that was cut off is taken back, however long it was to become", async (t) => {
  const { root, repository, first } = await makeRepository(t, { untouched: false });
  const big = path.join(root, ".git", "big");
  fs.writeFileSync(big, "");
  fs.truncateSync(big, 257 * 1024 * 1024);
  git(root, "config", "core.looseCompression", "0"); // which takes most of the time
  const to = commitObjects(root, [["big", git(root, "hash-object", "-w", big)]]);
  fs.writeFileSync(path.join(root, "big"), Buffer.alloc(1000));
  await rollBackCheckout(repository, { path: root, from: first, to, had: [] });
  assert.equal(fs.existsSync(path.join(root, "big")), false);
  fs.writeFileSync(path.join(root, "big"), `${"\0".repeat(1000)}mine`);
  await rollBackCheckout(repository, { path: root, from: first, to, had: [] });
  assert.equal(fs.existsSync(path.join(root, "big")), true);
});

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
  const own = path.join(root, ".git", "tap");
  const records = () => fs.readdirSync(own).filter((name) => name.startsWith("landing-"));
  return { ...made, records };
}

test("where a checkout was deleted in which a landing was cut off, the branch lands elsewhere", async (t) => {
  const { root, other, ...made } = await cutOffElsewhere(t);
  fs.rmSync(other, { recursive: true });
  assert.match(String((await made.land()).message), /whose folder or \.git is gone/);
  git(root, "worktree", "prune");
  assert.equal((await made.land()).status, "landed");
});

test("where a checkout is away for a while, what a landing has left in it is taken back later", async (t) => {
  const { other, ...made } = await cutOffElsewhere(t);
  fs.renameSync(other, `${other}-away`);
  assert.match(String((await made.land()).message), /whose folder or \.git is gone/);
  fs.renameSync(`${other}-away`, other);
  assert.equal((await made.land()).status, "landed");
  assert.equal(git(other, "status", "--porcelain"), "");
});

test("what is in the place of a checkout that is away is the user's", async (t) => {
  const { root, other, records, ...made } = await cutOffElsewhere(t);
  fs.renameSync(other, `${other}-away`);
  git(root, "clone", "--quiet", "--shared", "--branch=feature", root, other);
  write(other, { "d/early.txt": "early\n" });
  await recoverLanding(made.repository, "feature");
  assert.equal(fs.readFileSync(path.join(other, "d/early.txt"), "utf8"), "early\n");
  fs.rmSync(other, { recursive: true });
  fs.mkdirSync(other); // where a disk is mounted
  assert.match(String((await made.land()).message), /whose folder or \.git is gone/);
  assert.equal(records().length, 1);
  fs.rmdirSync(other);
  fs.renameSync(`${other}-away`, other);
  assert.equal((await made.land()).status, "landed");
  assert.deepEqual([git(other, "status", "--porcelain"), records()], ["", []]);
});

test("where a checkout goes away in the middle of a landing, its files are taken back once it is there", async (t) => {
  const what = `mv "$PWD" "$PWD-away"; ${KILL_GIT}`;
  const { other, ...made } = await slowElsewhere(t, what);
  await assert.rejects(made.land(), /may be those of the landing\. The next try takes them back/);
  made.disarm();
  fs.renameSync(`${other}-away`, other);
  assert.equal((await made.land()).status, "landed");
  assert.equal(git(other, "status", "--porcelain"), "");
});

test("what cannot be taken back is said, its record stays, and the next try goes on", async (t) => {
  const made = await makeCutOff(t);
  const { root, record, records } = made;
  const text = fs.readFileSync(record, "utf8");
  const broken = text.replace(/"to":"[0-9a-f]+"/, `"to":"${"1".repeat(40)}"`);
  fs.writeFileSync(record, broken);
  const { status, message } = await made.land();
  assert.equal(status, "dirty");
  const [, aside] = /cannot be taken back: .* is in "(.+)"/.exec(String(message)) ?? [];
  assert.equal(fs.readFileSync(aside, "utf8"), broken);
  assert.deepEqual(records(), [path.basename(aside)]);
  git(root, "reset", "--hard", "--quiet");
  git(root, "clean", "-fdq");
  assert.equal((await made.land()).status, "landed");
});

test("a wait for the git of a former host ends with its signal, also before it begins", async (t) => {
  const made = await makeCutOff(t);
  const { root, repository, record, records } = made;
  const former = spawn("sleep", ["60"]);
  t.after(() => former.kill());
  await once(former, "spawn");
  const pid = Number(former.pid);
  fs.appendFileSync(record, `${pid} ${readStartTime(pid)}\n`);
  const settle = (/** @type {AbortSignal} */ signal) =>
    recoverLanding(repository, "feature", signal);
  const refusal = { code: "CANCELLED", message: /former landing in ".+" still goes on/ };
  await assert.rejects(settle(AbortSignal.abort()), refusal);
  await assert.rejects(settle(AbortSignal.timeout(100)), refusal);
  const first = recoverLanding(repository, "feature");
  const behind = { code: "CANCELLED", message: /Another landing on "feature" still goes on/ };
  await assert.rejects(settle(AbortSignal.timeout(100)), behind);
  await assert.rejects(made.land({ signal: AbortSignal.abort() }), behind);
  assert.deepEqual(records(), [path.basename(record)]);
  former.kill();
  await once(former, "exit");
  assert.equal(await first, "");
  assert.equal(await settle(AbortSignal.abort()), "");
  assert.deepEqual([git(root, "status", "--porcelain"), records()], ["", []]);
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

test("what is whole is taken back by as many processes as there are of one file", async (t) => {
  const names = [...Array(20).keys()].map((n) => `new/${n}.txt`);
  const files = Object.fromEntries(names.map((name) => [name, `${name}\n`]));
  const { root, repository, base, status } = await makeResult(t, files);
  const to = git(root, "rev-parse", "refs/tap/p/result");
  /** @type {string[]} */
  const runs = [];
  repository.git.onRun = ([name]) => runs.push(name);
  const takenBack = async (/** @type {string[]} */ some) => {
    write(root, Object.fromEntries(some.map((name) => [name, files[name]])));
    await rollBackCheckout(repository, { path: root, from: base, to, had: [] });
    assert.equal(status(), "");
    return runs.splice(0);
  };
  assert.deepEqual(await takenBack(names.slice(1)), await takenBack(names.slice(0, 1)));
});
