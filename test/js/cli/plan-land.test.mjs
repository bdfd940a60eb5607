// copilot-tap plan land: a result that waited for a clean checkout.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { InTerminal, tap, tapJson } from "../../support/cli-process.mjs";
import { waitFor } from "../../support/wait.mjs";
import { FLAGS, gate, setUp } from "./plan-rig.mjs";

/** A plan whose result waits: its target is checked out with changes. */
async function makeWaiting(t, more = {}, others = []) {
  const made = await setUp(t);
  const { git, repo, plan, file } = made;
  git("checkout", "--quiet", "-b", "feature/x");
  fs.writeFileSync(path.join(repo, "a.txt"), "mine\n");
  fs.writeFileSync(path.join(repo, ".git", "info", "exclude"), "brought\nmade\n");
  fs.writeFileSync(path.join(repo, "brought"), "");
  const nodes = [{ id: "one", work: "echo one > one.txt", ...more }, ...others];
  const tools = { copy: ["brought"], setup: "touch made" };
  const written = file({ name: "x", targetBranch: "feature/x", ...tools, nodes });
  const ran = await plan("run", written);
  const [, id] = /plan land (p[a-z0-9]{8})/.exec(ran.out) ?? assert.fail(ran.out);
  /** The user commits what was changed, and another file. */
  const commitAlso = (/** @type {string} */ name) => {
    fs.writeFileSync(path.join(repo, name), "y\n");
    git("add", "--all");
    git("commit", "--quiet", "--message=mine");
  };
  return { ...made, id, commitAlso };
}

test("a plan whose node could not land says what has landed and what has not, and what to do", async (t) => {
  const { git, repo, plan, file, at } = await setUp(t);
  git("checkout", "--quiet", "-b", "feature/x");
  const tip = git("rev-parse", "HEAD");
  const lock = path.join(repo, ".git", "index.lock");
  const { wait, open } = gate();
  const began = path.join(FLAGS, crypto.randomUUID());
  const work = `echo two > two.txt; touch ${began}; ${wait}`;
  const nodes = [
    { id: "one", work: "echo one > one.txt" },
    { id: "two", work, dependencies: ["one"] },
  ];
  const running = plan("run", file({ name: "x", targetBranch: "feature/x", nodes }));
  await waitFor(() => fs.existsSync(began));
  fs.writeFileSync(lock, "");
  open();
  const ran = await running;
  assert.notEqual(ran.code, 0, ran.out);
  const [, id] = /\b(p[a-z0-9]{8})\b/.exec(ran.out) ?? assert.fail(ran.out);
  const { code, value } = await tapJson(["plan", "land", id], at);
  assert.notEqual(code, 0);
  assert.equal(value.error?.code ?? value.code, "WRONG_STATE", JSON.stringify(value));
  assert.match(JSON.stringify(value), new RegExp(`two.*plan show ${id}/two`));
  assert.equal(git("rev-parse", "feature/x"), tip);
  fs.rmSync(lock);
  assert.equal((await plan("retry", `${id}/two`)).code, 0);
  await waitFor(async () => (await tapJson(["plan", "show", id], at)).value.status === "succeeded");
  assert.match((await plan("land", id)).out, /has landed/);
  assert.equal(git("show", "feature/x:two.txt"), "two");
});

describe("a result that waits", { concurrency: 2 }, () => {
  test("another node can take its place once its checks fail", async (t) => {
    const checked = { postchecks: "test ! -f bad" };
    const { id, plan, git, at, file, commitAlso } = await makeWaiting(t, checked);
    commitAlso("bad");
    const node = file({ id: "other", work: "echo other > one.txt" }, "other.json");
    const add = () => tapJson(["plan", "add", id, node, "--replaces", "one"], at);
    assert.equal((await add()).value.error.code, "WRONG_STATE", "it waits, and may land");
    assert.equal((await plan("land", id)).code, 1);
    assert.equal((await add()).code, 0);
    await waitFor(
      async () => (await tapJson(["plan", "show", id], at)).value.status === "succeeded",
    );
    assert.equal(git("show", "feature/x:one.txt"), "other");
  });

  test("its checks run on what the target has got meanwhile, and it lands once they pass", async (t) => {
    const postchecks = "ls; test ! -f bad";
    const { id, plan, git, repo, at, commitAlso } = await makeWaiting(t, { postchecks });
    commitAlso("bad");
    const tip = git("rev-parse", "feature/x");
    for (const again of [false, true]) {
      const failed = await plan("land", id);
      assert.deepEqual([failed.code, failed.err], [1, ""], failed.out);
      assert.match(
        failed.out,
        /^its checks have not seen what would land: they run again \(one\)$/m,
      );
      assert.match(failed.out, /one printed last:\n(?: {2}.*\n)* {2}bad\n {2}brought\n/);
      assert.match(failed.out, new RegExp(`copilot-tap plan land ${id}\\..* --replaces `));
      assert.match(failed.out, /^not landed: one$/m);
      const shown = (await tapJson(["plan", "show", id], at)).value;
      assert.deepEqual([shown.status, shown.leftToLand, again], ["failed", ["one"], again]);
      assert.equal(git("rev-parse", "feature/x"), tip);
    }
    git("rm", "--quiet", "bad");
    git("commit", "--quiet", "--message=mended");
    const landed = await plan("land", id);
    assert.deepEqual([landed.code, landed.err], [0, ""], landed.out);
    assert.match(landed.out, new RegExp(`^plan ${id} has landed on feature/x$`, "m"));
    assert.equal(git("rev-list", "--count", "--no-merges", `${tip}..feature/x`), "2");
    assert.equal(git("rev-list", "--count", "--merges", "feature/x"), "0");
    assert.equal(git("ls-files"), "a.txt\nb.txt\nc.txt\none.txt");
    const { status, notLanded, landed: changes } = (await tapJson(["plan", "show", id], at)).value;
    const one = { files: 1, insertions: 1, deletions: 0 };
    assert.deepEqual([status, notLanded, changes], ["succeeded", undefined, one]);
    const isGone = () => fs.readdirSync(path.join(repo, ".worktrees")).length === 0;
    await waitFor(isGone);
    assert.match((await plan("land", id)).out, /has landed/, "it is told again");
  });

  test("all that wait are checked, each on what has landed before it", async (t) => {
    const { id, git, at, commitAlso } = await makeWaiting(
      t,
      {
        postchecks: "true",
      },
      [
        { id: "two", dependencies: [], work: "echo two > two.txt", postchecks: "test ! -f bad" },
        { id: "three", work: "echo three > three.txt" },
      ],
    );
    const waits = (await tapJson(["plan", "show", id], at)).value;
    assert.deepEqual([...waits.leftToLand].sort(), ["one", "three", "two"]);
    commitAlso("bad");
    const { out, code } = await tap(["plan", "land", id, "--json"], at);
    const lines = out.trim().split("\n");
    const last = JSON.parse(lines.at(-1) ?? "");
    assert.deepEqual([code, last.landed, last.leftToLand], [1, false, ["two"]]);
    assert.equal(git("ls-files"), "a.txt\nb.txt\nbad\nc.txt\none.txt\nthree.txt");
    assert.equal(git("ls-tree", "--name-only", `refs/tap/${id}/result`, "two.txt"), "");
  });

  test("its checks have the worktree that the plan describes", async (t) => {
    const { id, plan, git, repo, commitAlso } = await makeWaiting(t, {
      postchecks: "test -f brought && test -f made && test -f one.txt",
    });
    commitAlso("other");
    const landed = await plan("land", id);
    assert.equal(landed.code, 0, landed.out + landed.err);
    assert.ok(fs.existsSync(path.join(repo, "one.txt")));
    assert.equal(git("status", "--porcelain"), "");
  });

  test("its checks have what would land, also after they have failed on another merge", async (t) => {
    const made = await makeWaiting(t, { postchecks: "test ! -f bad" });
    const { id, plan, git, commitAlso } = made;
    commitAlso("bad");
    assert.equal((await plan("land", id)).code, 1);
    git("checkout", "--quiet", "main");
    git("branch", "--force", "feature/x", `refs/tap/${id}/one/1`);
    const landed = await plan("land", id);
    assert.equal(landed.code, 0, landed.out + landed.err);
  });

  test("made on a commit that the user has taken back, it is made again", async (t) => {
    const made = await setUp(t);
    const { git, repo, plan, file } = made;
    git("checkout", "--quiet", "-b", "feature/x");
    fs.writeFileSync(path.join(repo, "secret"), "s\n");
    git("add", "--all");
    git("commit", "--quiet", "--message=secret");
    fs.writeFileSync(path.join(repo, "a.txt"), "mine\n");
    const nodes = [{ id: "one", work: "echo one > one.txt" }];
    const given = { name: "x", baseBranch: "main", targetBranch: "feature/x", nodes };
    const ran = await plan("run", file(given));
    const [, id] = /plan land (p[a-z0-9]{8})/.exec(ran.out) ?? assert.fail(ran.out);
    git("reset", "--quiet", "--hard", "main");
    assert.equal((await plan("land", id)).code, 0);
    assert.equal(git("log", "--format=%s", "feature/x"), "one\nfirst");
  });

  test("a result that was moved by hand is checked, and lands with what waited", async (t) => {
    const { id, plan, git } = await makeWaiting(t, { postchecks: "test -f one.txt" });
    git("checkout", "--quiet", "a.txt");
    const mine = git("commit-tree", "-p", "HEAD", "-m", "by hand", "HEAD^{tree}");
    git("update-ref", `refs/tap/${id}/result`, mine);
    assert.match((await plan("land", id)).out, /its checks have not seen [^]* has landed on/);
    assert.equal(git("log", "--format=%s", "feature/x"), "one\nby hand\nfirst");
    assert.equal(git("ls-files", "one.txt"), "one.txt");
  });

  test("an imported one is checked, also where its target has not moved", async (t) => {
    const made = await makeWaiting(t, { postchecks: "test ! -f ../../.git/bad" });
    const { id, plan, git, repo, at, file } = made;
    const bad = path.join(repo, ".git", "bad");
    fs.writeFileSync(bad, "");
    const { value } = await tapJson(["plan", "export", id], at);
    await plan("delete", id, "--yes");
    assert.equal((await plan("import", file(value, "export.json"))).code, 0);
    git("checkout", "--quiet", "a.txt");
    const tip = git("rev-parse", "feature/x");
    const failed = await plan("land", id);
    assert.match(failed.out, /exit code 1, on the merge .*\n[^]*^not landed: one$/m);
    assert.equal(git("rev-parse", "feature/x"), tip);
    fs.rmSync(bad);
    assert.match((await plan("land", id)).out, /has landed/);
    assert.equal(git("rev-list", "--count", `${tip}..feature/x`), "1");
    assert.ok(fs.existsSync(path.join(repo, "one.txt")));
  });

  test("a terminal says how far its checks are; after Ctrl-C they go on", async (t) => {
    const { wait, open } = gate();
    const made = await makeWaiting(t, { postchecks: `test ! -f other || { ${wait}; }` });
    const { id, git, at, commitAlso } = made;
    commitAlso("other");
    const env = { ...at.env, LANG: "C.UTF-8" };
    const size = { cols: 120, rows: 24 };
    const terminal = new InTerminal(t, ["plan", "land", id], { ...at, env }, size);
    await terminal.shows(/checking what is to land: \d+ s, 0 of 1/);
    terminal.type("\x03");
    await terminal.shows(`the checks of plan ${id} go on, and it lands after them`);
    assert.equal(await terminal.end(), 130);
    open();
    await waitFor(() => git("ls-files", "one.txt") !== "");
  });

  test("merged by hand, it has landed", async (t) => {
    const { id, plan, git, commitAlso } = await makeWaiting(t, { postchecks: "test ! -f bad" });
    commitAlso("bad");
    git("merge", "--quiet", "--no-edit", `refs/tap/${id}/result`);
    assert.match((await plan("land", id)).out, /has landed/);
    assert.match((await plan("show", id)).out, /: succeeded\n/);
  });

  test("lands as it was checked, once its checkout is clean", async (t) => {
    const { id, plan, git, at } = await makeWaiting(t, { postchecks: "true" });
    const seen = async () => ({
      plan: (await tapJson(["plan", "show", id], at)).value,
      node: (await tapJson(["plan", "show", `${id}/one`], at)).value,
    });
    const [none, one] = [0, 1].map((n) => ({ files: n, insertions: n, deletions: 0 }));
    const waits = await seen();
    assert.match(waits.plan.error, new RegExp(`checked out .* Then: copilot-tap plan land ${id}$`));
    assert.match(waits.plan.summary, /^partial \(1 succeeded\), 1 file not landed yet\. /);
    assert.deepEqual([waits.plan.landed, waits.plan.notLanded], [none, one]);
    assert.deepEqual([waits.node.workSummary, waits.node.aggregatedWorkSummary], [one, none]);
    git("checkout", "--quiet", "a.txt");
    assert.match((await plan("land", id)).out, /has landed/);
    assert.equal(git("rev-list", "--count", "main..feature/x"), "1");
    const landed = await seen();
    assert.deepEqual([landed.plan.landed, landed.node.aggregatedWorkSummary], [one, one]);
    assert.deepEqual([landed.plan.error, landed.plan.notLanded], [undefined, undefined]);
  });

  test("lands with a later node, which has it in its result", async (t) => {
    const { git, repo, at, plan, detached } = await setUp(t, { processes: true });
    const { wait, open } = gate();
    git("checkout", "--quiet", "-b", "feature/x");
    fs.writeFileSync(path.join(repo, "a.txt"), "mine\n");
    const nodes = [
      { id: "one", work: "echo one > one.txt" },
      { id: "two", work: `${wait}; echo two > two.txt` },
    ];
    const id = await detached({ name: "x", targetBranch: "feature/x", nodes });
    const show = async () => (await tapJson(["plan", "show", id], at)).value;
    await waitFor(async () => /Then: copilot-tap plan land/.test((await show()).error ?? ""));
    git("checkout", "--quiet", "a.txt");
    open();
    await waitFor(async () => (await show()).endedAt !== undefined);
    const { status, error, landed } = await show();
    const two = { files: 2, insertions: 2, deletions: 0 };
    assert.deepEqual([status, error, landed], ["succeeded", undefined, two]);
    assert.match((await plan("land", id)).out, /has landed/, "it is told again");
  });

  test("lands once where several ask at once, and each is told", async (t) => {
    const { id, plan, git } = await makeWaiting(t, { postchecks: "true" });
    git("checkout", "--quiet", "a.txt");
    for (const { code, out, err } of await Promise.all([1, 2, 3].map(() => plan("land", id)))) {
      assert.deepEqual([code, err], [0, ""]);
      assert.match(out, /has landed/);
    }
    assert.equal(git("rev-list", "--count", "main..feature/x"), "1");
  });

  test("a target that was deleted is made again as the error says, and it has landed", async (t) => {
    const { id, plan, git, at } = await makeWaiting(t);
    git("checkout", "--quiet", "a.txt");
    git("checkout", "--quiet", "main");
    git("branch", "--quiet", "-D", "feature/x");
    const { error } = JSON.parse((await tap(["plan", "land", id, "--json"], at)).out);
    const result = git("rev-parse", `refs/tap/${id}/result`);
    const advice = `: git branch "feature/x" ${result}, then: copilot-tap plan land ${id}`;
    assert.deepEqual([error.code, error.message.endsWith(advice)], ["TARGET_GONE", true]);
    git("branch", "feature/x", result);
    assert.match((await plan("land", id)).out, /has landed/);
    assert.equal(git("show", "feature/x:one.txt"), "one");
  });

  test("lands with what came meanwhile, where nothing of it was checked", async (t) => {
    const { id, plan, git, commitAlso } = await makeWaiting(t);
    commitAlso("other");
    assert.match((await plan("land", id)).out, /has landed/);
    assert.deepEqual(git("ls-files", "one.txt", "other"), "one.txt\nother");
  });
});
