// copilot-tap plan restore, clean, export and import, with real git and the real feature host.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { InTerminal, tap, tapJson } from "../../support/cli-process.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { waitFor } from "../../support/wait.mjs";
import { checkoutOf } from "../features/plans-rig.mjs";
import { FLAGS, gate, setUp } from "./plan-rig.mjs";

const FAILS = { id: "bad", work: "echo kept > kept.txt; false" };
const idIn = (/** @type {string} */ out) => String(/^plan (p\w{8}) runs/m.exec(out)?.[1]);
const linux = { skip: process.platform !== "linux" && "looks into /proc" };

test("restore brings a snapshot back as a branch, and with --to its files, not in the checkout", async (t) => {
  const { repo, git, plan, file, at } = await setUp(t);
  const id = idIn((await plan("run", file({ name: "x", nodes: [FAILS] }))).out);
  assert.match(
    (await plan("restore", id)).err,
    new RegExp(`nothing is kept of ${id}; there are: none`),
  );
  assert.match((await plan("delete", id, "--yes")).out, /is deleted/);
  const before = checkoutOf(repo);
  const restored = await plan("restore", `${id}/bad`);
  assert.deepEqual([restored.code, restored.err], [0, ""]);
  assert.match(restored.out, new RegExp(`^${id}/bad is the branch restored-${id}-bad of ${repo}`));
  assert.equal(git("show", `restored-${id}-bad:kept.txt`), "kept");
  const to = path.join(temporaryFolder(t), "files");
  const { value } = await tapJson(["plan", "restore", id.slice(0, 6), "--to", to], at);
  assert.deepEqual(
    value.restored.map(({ branch, folder }) => [branch, folder]),
    [[`restored-${id}-bad`, to]],
  );
  assert.equal(fs.readFileSync(path.join(to, "kept.txt"), "utf8"), "kept\n");
  assert.deepEqual(checkoutOf(repo), before);
  const inside = path.join(repo, "inside");
  assert.match((await plan("restore", id, "--to", inside)).err, /is in the checkout/);
  assert.equal(fs.existsSync(inside), false);
  assert.match((await plan("restore", `${id}/no`)).err, new RegExp(`there are: ${id}/bad`));
});

test(
  "clean lists what belongs to nobody, asks, keeps it, and goes on after one that stays",
  linux,
  async (t) => {
    const { repo, git, plan, at, file, detached } = await setUp(t);
    const { wait, open } = gate();
    const live = await detached({ name: "live", nodes: [{ id: "a", work: wait }] });
    const failed = idIn((await plan("run", file({ name: "x", nodes: [FAILS] }))).out);
    const all = path.join(repo, ".worktrees");
    await waitFor(() => fs.existsSync(path.join(all, `${live}-a-1`)));
    assert.match((await plan("clean")).out, /there is nothing to clean/);
    const [held, lost] = ["held", "lost"].map((name) => path.join(all, name));
    for (const folder of [held, lost]) {
      fs.mkdirSync(folder);
      fs.writeFileSync(path.join(folder, "mine.txt"), `${path.basename(folder)}\n`);
    }
    const holder = spawn("sleep", ["600"], { cwd: held, stdio: "ignore" });
    t.after(() => holder.kill("SIGKILL"));
    const asked = await tap(["plan", "clean", "--json"], at);
    assert.equal(asked.code, 1);
    assert.deepEqual(
      JSON.parse(asked.out).orphans.map(({ name, kind, complete }) => [name, kind, complete]),
      ["held", "lost"].map((name) => [name, "unregistered", true]),
    );
    const terminal = new InTerminal(t, ["plan", "clean"], at, { cols: 160, rows: 24 });
    await terminal.shows(/lost {2}git does not know it/);
    await terminal.shows("Keep a snapshot of 2 folders and remove them? [y/N]");
    terminal.type("n\r");
    assert.equal(await terminal.end(), 1);
    assert.deepEqual(
      fs.readdirSync(all).sort(),
      ["held", "lost", `${failed}-bad-1`, `${live}-a-1`].sort(),
    );
    const cleaned = await plan("clean", "--yes");
    assert.equal(cleaned.code, 1);
    assert.match(
      cleaned.out,
      new RegExp(
        `^"[^"]*held" stays: process ${holder.pid} \\(sleep\\) works in it\\. End it first\\.$`,
        "m",
      ),
    );
    assert.match(
      cleaned.out,
      /^removed: .*lost; copilot-tap plan restore orphans\/lost brings it back$/m,
    );
    assert.match(cleaned.out, /^1 of 2 removed, 1 stay$/m);
    assert.equal(git("show", "refs/tap/kept/orphans/lost:mine.txt"), "lost");
    assert.equal((await plan("restore", "orphans/lost")).code, 0);
    assert.equal(git("show", "restored-orphans-lost:mine.txt"), "lost");
    assert.deepEqual(fs.readdirSync(all).sort(), ["held", `${failed}-bad-1`, `${live}-a-1`].sort());
    open();
  },
);

test("delete names what stays, and the command that helps, and ends with 1", linux, async (t) => {
  const { repo, plan, file, at } = await setUp(t);
  const id = idIn((await plan("run", file({ name: "x", nodes: [FAILS] }))).out);
  const folder = path.join(repo, ".worktrees", `${id}-bad-1`);
  const holder = spawn("sleep", ["600"], { cwd: folder, stdio: "ignore" });
  t.after(() => holder.kill("SIGKILL"));
  const { code, out } = await plan("delete", id, "--yes");
  assert.equal(code, 1, out);
  assert.equal(
    out,
    [
      `plan ${id} is deleted`,
      `"${folder}" stays: process ${holder.pid} (sleep) works in it. End it first.`,
      `Then copilot-tap plan clean, in ${repo}, keeps what is in it, and removes it.`,
      "",
    ].join("\n"),
  );
  holder.kill("SIGKILL");
  await new Promise((resolve) => holder.on("exit", resolve));
  const cleaned = await tap(["plan", "clean", "--yes"], at);
  assert.deepEqual([cleaned.code, fs.existsSync(folder)], [0, false], cleaned.out);
});

test("what takes long is waited for, and a terminal says so", async (t) => {
  const { repo, git, plan, file, at } = await setUp(t);
  const { wait, open } = gate();
  git("branch", "target");
  git("checkout", "--quiet", "target");
  fs.writeFileSync(path.join(repo, "a.txt"), "mine\n");
  const nodes = [{ id: "a", work: "echo new > slow.txt" }];
  const ran = await plan("run", file({ name: "x", targetBranch: "target", nodes }));
  assert.match(ran.out, /copilot-tap plan land/);
  git("checkout", "--quiet", "a.txt");
  // The user's own filter takes as long as it likes while the checkout is moved.
  git("config", "filter.slow.smudge", `${wait}; cat`);
  fs.writeFileSync(path.join(repo, ".git", "info", "attributes"), "slow.txt filter=slow\n");
  const env = { ...at.env, LANG: "C.UTF-8" };
  const args = ["plan", "land", idIn(ran.out)];
  const terminal = new InTerminal(t, args, { ...at, env }, { cols: 100, rows: 24 });
  await terminal.shows(/landing the result: [2-9] s/);
  open();
  await terminal.shows(/has landed: [0-9a-f]{40}/);
  assert.equal(await terminal.end(), 0);
  assert.equal(fs.readFileSync(path.join(repo, "slow.txt"), "utf8"), "new\n");
});

const DIAMOND = {
  name: "diamond",
  targetBranch: "feature/x",
  nodes: [
    { id: "root", work: "echo root > root.txt", timeout: "5m" },
    { id: "left", dependencies: ["root"], work: "echo left > left.txt" },
    { id: "join", dependencies: ["left"], work: "cat root.txt left.txt > both.txt" },
  ],
};

test("a plan that ended is exported, deleted and imported as it was", async (t) => {
  const { plan, file, at } = await setUp(t);
  const id = idIn((await plan("run", file(DIAMOND))).out);
  const { value: before } = await tapJson(["plan", "export", id], at);
  assert.equal("path" in before.plan.facts || "cli" in before.plan.facts, false);
  const exported = file(before, "export.json");
  assert.match((await plan("import", exported)).err, /is here already: delete it first/);
  await plan("delete", id, "--yes");
  const imported = await plan("import", exported);
  assert.deepEqual([imported.code, imported.err], [0, ""]);
  assert.match(
    imported.out,
    new RegExp(`^plan ${id} \\(diamond, 3 nodes\\) is here: succeeded, in `),
  );
  const { value: after } = await tapJson(["plan", "export", id], at);
  assert.deepEqual(after.source, before.source);
  assert.deepEqual(after.graph, before.graph);
  const { facts: _a, ...planAfter } = after.plan;
  const { facts: _b, ...planBefore } = before.plan;
  assert.deepEqual(planAfter, planBefore);
  await plan("delete", id, "--yes");
  await plan("import", file(after, "again.json"));
  const { value: again } = await tapJson(["plan", "export", id], at);
  assert.deepEqual(again, after);
});

test("one that had not ended comes paused, runs nothing, and goes on with what it had", async (t) => {
  const { plan, file, at, repo, git, detached } = await setUp(t);
  const { wait, open } = gate();
  const ran = path.join(FLAGS, crypto.randomUUID());
  const id = await detached({
    name: "half",
    targetBranch: "feature/x",
    nodes: [
      { id: "first", work: `echo first >> ${ran}; echo 1 > 1.txt` },
      { id: "slow", dependencies: ["first"], work: `echo slow >> ${ran}; ${wait}; echo 2 > 2.txt` },
      { id: "last", dependencies: ["slow"], work: "cat 1.txt 2.txt > 3.txt" },
    ],
  });
  await waitFor(() => fs.existsSync(ran) && fs.readFileSync(ran, "utf8").includes("slow"));
  const { value } = await tapJson(["plan", "export", id], at);
  await plan("cancel", id, "--yes");
  await waitFor(async () => (await plan("delete", id, "--yes")).code === 0);

  const other = await setUp(t);
  const elsewhere = file(value, "half.json");
  const missing = await other.plan("import", elsewhere);
  assert.match(missing.err, new RegExp(`has not \\d of the plan's commits .*git fetch .*${id}`));
  other.git("fetch", "--quiet", repo, "main:main2", `refs/tap/${id}/*:refs/tap/${id}/*`);
  assert.match((await other.plan("import", elsewhere)).out, /is here: paused, .*\n.*plan resume/);
  const shown = (await tapJson(["plan", "show", id], other.at)).value;
  assert.deepEqual(
    [shown.status, shown.pausedFor, shown.nodes.map(({ status }) => status)],
    ["paused", "imported", ["succeeded", "ready", "pending"]],
  );
  assert.equal(fs.readFileSync(ran, "utf8"), "first\nslow\n");
  open();
  await other.plan("resume", id);
  await waitFor(async () => /: succeeded\n/.test((await other.plan("show", id)).out), {
    what: async () => (await other.plan("show", id)).out,
  });
  assert.equal(fs.readFileSync(ran, "utf8"), "first\nslow\nslow\n");
  assert.equal(other.git("show", "feature/x:3.txt"), "1\n2");
  assert.notEqual(git("rev-parse", "HEAD"), "");
});

test("one that comes back without its journal runs again, and lands what it makes then", async (t) => {
  const { plan, file, at, git, detached } = await setUp(t);
  const nodes = [{ id: "a", work: "date +%N > a.txt" }];
  const id = await detached({ name: "x", startPaused: true, targetBranch: "feature/x", nodes });
  const fresh = file((await tapJson(["plan", "export", id], at)).value, "fresh.json");
  await plan("cancel", id, "--yes");
  await waitFor(async () => (await plan("delete", id, "--yes")).code === 0);
  const run = async () => {
    assert.equal((await plan("import", fresh)).code, 0);
    await plan("resume", id);
    await waitFor(async () => /: succeeded\n/.test((await plan("show", id)).out));
    return git("show", "feature/x:a.txt");
  };
  const first = await run();
  await waitFor(async () => (await plan("delete", id, "--yes")).code === 0);
  git("branch", "--quiet", "-D", "feature/x");
  const second = await run();
  assert.notEqual(second, first);
  assert.equal(git("show", `refs/tap/${id}-1/a/1:a.txt`), first);
});

test("a node that failed elsewhere begins again from its start when it is retried", async (t) => {
  const { plan, file, at, repo, git } = await setUp(t);
  const flag = path.join(repo, ".git", "go-on");
  const nodes = [{ id: "a", work: `echo 1 > a.txt; test -f ${flag}` }];
  const id = idIn((await plan("run", file({ name: "x", targetBranch: "feature/x", nodes }))).out);
  const exported = file((await tapJson(["plan", "export", id], at)).value, "failed.json");
  await plan("delete", id, "--yes");
  assert.match((await plan("import", exported)).out, /is here: failed/);
  fs.writeFileSync(flag, "");
  await plan("retry", id);
  await waitFor(async () => /: succeeded\n/.test((await plan("show", id)).out), {
    what: async () => (await plan("show", `${id}/a`)).out,
  });
  assert.equal(git("show", "feature/x:a.txt"), "1");
});

test("a file that anybody may have written is checked, and says where it is wrong", async (t) => {
  const { plan, file, at, repo, git } = await setUp(t);
  const nodes = [{ id: "a", work: "touch ran", postchecks: "false" }];
  const id = idIn((await plan("run", file({ name: "x", nodes }))).out);
  const { value: good } = await tapJson(["plan", "export", id], at);
  await plan("delete", id, "--yes");
  let files = 0;
  const changed = (/** @type {(copy: any) => void} */ change) => {
    const copy = structuredClone(good);
    change(copy);
    return file(copy, `hostile${(files += 1)}.json`);
  };
  const at0 = (/** @type {object} */ entry) => (/** @type {any} */ copy) =>
    copy.journal.unshift(entry);
  // No JSON.stringify writes it.
  const deep = `{"version":1,"x":${"[".repeat(16_000)}${"]".repeat(16_000)}}`;
  const cases = /** @type {[string, RegExp][]} */ ([
    [file("[]", "a.json"), /expected an object\ncopilot-tap plan export/],
    [file("{", "b.json"), /JSON/],
    [file(deep, "deep.json"), /it has more than 160 levels\ncopilot-tap plan export/],
    [file({ version: 2 }, "c.json"), /version: /],
    [file({ version: 1 }, "d.json"), /source: /],
    [changed((copy) => (copy.plan.planId = "../../x")), /plan\.planId: expected/],
    [changed((copy) => (copy.plan.facts.baseCommit = "--help")), /baseCommit: expected the full/],
    [changed((copy) => (copy.source.nodes[0].wrok = 1)), /nodes\[0\]\.wrok/],
    [changed((copy) => (copy.source.nodes = [])), /nodes: must have/],
    [changed(at0({ kind: "paused", at: 1, detail: 5 })), /detail: expected an object/],
    [changed(at0({ kind: "created", at: 1 })), /journal\[0\]\.kind: expected/],
    [changed(at0({ kind: "constructor", at: 1 })), /journal\[0\]\.kind: expected/],
    [changed(at0({ kind: "node-succeeded", at: 1, node: "a" })), /journal\[0\]: node a cannot go/],
    [changed(at0({ kind: "began", at: 1, node: "\u001b[2J" })), /there is no node \\x1b\[2J/],
    [changed(at0({ kind: "plan-ended", at: 1, plan: "succeeded" })), /the plan has not ended/],
    [
      changed(at0({ kind: "scheduled", at: 1, node: "a", attempt: 1, phase: "fly" })),
      /not a value of phase/,
    ],
    [
      changed(
        at0({
          kind: "phase-ended",
          at: 1,
          node: "a",
          attempt: 1,
          detail: { commit: git("rev-parse", "HEAD") },
        }),
      ),
      /journal\[0\]: /,
    ],
    [changed((copy) => copy.journal.shift()), /journal\[\d+\]: /],
  ]);
  const refs = () => git("for-each-ref", "--format=%(refname)", `refs/tap/${id}`);
  const before = refs();
  for (const [exported, wanted] of cases) {
    const { code, err } = await plan("import", exported);
    assert.equal(refs(), before);
    assert.match(err, wanted);
    assert.equal(code, 1, err);
  }
  assert.match((await plan("list")).out, /There is no plan/);
  assert.deepEqual(fs.readdirSync(path.join(repo, ".worktrees")), []);
  // What is another machine's, or only the engine may say, is left out.
  const sly = changed((copy) => {
    Object.assign(copy.plan.facts, { path: "/evil", cli: { cli: "/evil", sdk: "/evil" } });
    copy.plan.facts.repo = "/";
    for (const { kind, detail } of copy.journal) {
      if (kind === "step")
        Object.assign(detail, {
          sessionId: "mine",
          worktree: { path: "/", nonce: "0123456789abcdef" },
        });
      if (kind === "phase-ended")
        Object.assign(detail ?? {}, { tested: { tree: "x" }, worktreePath: "/" });
      if (kind === "plan-ended") copy.journal.find((one) => one.kind === kind).plan = "running";
    }
  });
  assert.match((await plan("import", sly)).out, /is here: failed, in /);
  const { value } = await tapJson(["plan", "export", id], at);
  const text = JSON.stringify([value.plan.facts, value.journal]);
  for (const word of ["evil", "mine", "tested", "worktreePath", "nonce"]) {
    assert.equal(text.includes(word), false, word);
  }
  assert.equal(value.plan.facts.repo, repo);
});
