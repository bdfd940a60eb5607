// Retries of a node, where somebody or something has changed what it began with.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { waitFor } from "../../support/wait.mjs";
import { gitIn, plansRig, typeCommand, findCommands, flagFile } from "./plans-rig.mjs";

test("a node that conflicts with what has landed begins with that when it is retried from the start", async (t) => {
  const { ask, create, ended, git } = await plansRig(t);
  git("branch", "out");
  // Both write the same line; the second adds to what it finds once the first is there.
  const nodes = ["one", "two"].map((id) => ({
    id,
    work: `if grep -q by a.txt; then echo "and by ${id}" >> a.txt; else echo "by ${id}" > a.txt; fi`,
  }));
  const planId = await create({ targetBranch: "out", nodes });
  const { nodes: seen } = await ended(planId);
  const failed = seen.find((/** @type {any} */ { status }) => status === "failed").id;
  const why = await ask("get_copilot_node_failure_context", { planId, nodeId: failed });
  assert.equal(why.error.code, "MERGE_CONFLICT");
  await ask("retry_copilot_node", { planId, nodeId: failed, from: "start" });
  assert.equal((await ended(planId)).status, "succeeded");
  const other = failed === "one" ? "two" : "one";
  assert.equal(git("show", "out:a.txt"), `by ${other}\nand by ${failed}`);
  assert.equal(git("rev-list", "--count", "main..out"), "2");
});

test("a node that is retried from the start keeps the base of its plan, beside what has landed", async (t) => {
  const { ask, create, ended, git } = await plansRig(t);
  git("checkout", "--quiet", "-b", "feature");
  git("commit", "--quiet", "--allow-empty", "--message=feature");
  const base = git("rev-parse", "HEAD");
  git("checkout", "--quiet", "main");
  git("branch", "out");
  const work = `git merge-base --is-ancestor ${base} HEAD || exit 7; test -e .git-never || exit 4`;
  const nodes = [{ id: "a", work }];
  const planId = await create({ baseBranch: "feature", targetBranch: "out", nodes });
  for (const from of ["failed-phase", "start"]) {
    await ended(planId);
    const { exitCode } = await ask("get_copilot_node_failure_context", { planId, nodeId: "a" });
    assert.equal(exitCode, 4, from);
    await ask("retry_copilot_node", { planId, nodeId: "a", from: "start" });
  }
  await ended(planId);
  const { exitCode } = await ask("get_copilot_node_failure_context", { planId, nodeId: "a" });
  assert.equal(exitCode, 4);
});

test("where the target conflicts with what a node depends on, a retry from the start begins without it", async (t) => {
  const { ask, create, ended, git, repo } = await plansRig(t);
  git("branch", "out");
  const nodes = [
    { id: "first", work: "echo first > a.txt" },
    { id: "last", dependencies: ["first"], work: "exit 4" },
  ];
  const planId = await create({ targetBranch: "out", nodes });
  await ended(planId);
  git("checkout", "--quiet", "out");
  fs.writeFileSync(path.join(repo, "a.txt"), "theirs\n");
  git("commit", "--quiet", "--all", "--message=theirs");
  git("checkout", "--quiet", "main");
  await ask("retry_copilot_node", { planId, nodeId: "last", from: "start" });
  await ended(planId);
  const why = await ask("get_copilot_node_failure_context", { planId, nodeId: "last" });
  assert.deepEqual([why.phase, why.exitCode], ["work", 4]);
});

/** @param {any} rig @param {string} planId @param {string} nodeId */
const show = (rig, planId, nodeId) => typeCommand(rig, { do: "node", planId, nodeId });

test("checks run on the node's commit, in every attempt: an edit of the worktree is no way to pass them", async (t) => {
  for (const targetBranch of [undefined, "out"]) {
    const rig = await plansRig(t);
    const { ask, create, ended, git } = rig;
    const nodes = [{ id: "a", work: "echo bad > a.txt", postchecks: "grep -q good a.txt" }];
    const planId = await create({ ...(targetBranch && { targetBranch }), nodes });
    await ended(planId);
    const { worktreePath } = await show(rig, planId, "a");
    const file = path.join(worktreePath, "a.txt");
    for (const [name, text] of Object.entries({ "a.txt": "good\n", "mine.txt": "mine\n" }))
      fs.writeFileSync(path.join(worktreePath, name), text);
    await ask("retry_copilot_node", { planId, nodeId: "a" });
    assert.equal((await ended(planId)).status, "failed");
    const why = await ask("get_copilot_node_failure_context", { planId, nodeId: "a" });
    assert.deepEqual([why.phase, why.exitCode], ["postchecks", 1], JSON.stringify(why));
    assert.ok(why.error.message.includes(`plan retry ${planId}/a --take`), why.error.message);
    assert.equal(fs.readFileSync(file, "utf8"), "good\n");
    assert.equal(fs.readFileSync(path.join(worktreePath, "mine.txt"), "utf8"), "mine\n");
    assert.equal(git("show", `refs/tap/${planId}/a/1:a.txt`), "bad");
    assert.equal(git("for-each-ref", "refs/heads/out"), "");
  }
});

test("checks see nothing that the commit does not have: overlooked, ignored and filtered files", async (t) => {
  const rig = await plansRig(t);
  const { create, ended, git, repo, ask } = rig;
  fs.writeFileSync(path.join(repo, ".gitignore"), "*.gen\n");
  fs.writeFileSync(path.join(repo, ".gitattributes"), "c.txt filter=blank\n");
  git("config", "filter.blank.clean", "sed s/good/bad/");
  git("add", "--all");
  git("commit", "--quiet", "--message=ignore");
  fs.appendFileSync(path.join(repo, ".git", "info", "exclude"), "*.no\n");
  const good = (/** @type {string} */ file) => `grep -q good ${file}`;
  const planId = await create({
    targetBranch: "out",
    nodes: [
      {
        id: "overlooked",
        work: "git update-index --skip-worktree a.txt; echo good > a.txt; echo x > x.txt",
        postchecks: good("a.txt"),
      },
      { id: "ignored", work: "echo good > y.gen; echo y > y.txt", postchecks: good("y.gen") },
      {
        id: "excluded",
        work: "echo good > z.no; echo z > z.txt",
        postchecks: good("z.no"),
      },
      { id: "filtered", work: "echo good > c.txt", postchecks: good("c.txt") },
    ],
  });
  const { nodes } = await ended(planId);
  for (const { id, status, phase } of nodes)
    assert.deepEqual([id, status, phase], [id, "failed", "postchecks"]);
  const { error } = await ask("get_copilot_node_failure_context", { planId, nodeId: "ignored" });
  assert.ok(error.message.includes("y.gen"), error.message);
  assert.equal(git("for-each-ref", "refs/heads/out"), "");
});

test("a node that only checks has a checkout of its own, and leaves nothing", async (t) => {
  const { create, ended, git, repo } = await plansRig(t);
  const planId = await create({
    targetBranch: "out",
    nodes: [
      { id: "a", work: "echo a > new.txt" },
      { id: "b", dependencies: ["a"], postchecks: "test -f new.txt && echo r > report.txt" },
    ],
  });
  const seen = await ended(planId);
  assert.equal(seen.status, "succeeded", JSON.stringify(seen.nodes));
  assert.equal(git("ls-tree", "--name-only", "out"), "a.txt\nb.txt\nc.txt\nnew.txt");
  assert.equal(git("for-each-ref", "refs/tap/kept"), "");
  await waitFor(() => fs.readdirSync(path.join(repo, ".worktrees")).length === 0);
});

/** A plan whose node `a` has failed its checks, and that `b` waits for. @param {import("node:test").TestContext} t */
async function makeFailed(t) {
  const rig = await plansRig(t);
  const planId = await rig.create({
    targetBranch: "out",
    env: { GIT_AUTHOR_NAME: "Plan", GIT_AUTHOR_EMAIL: "plan@example.com" },
    nodes: [
      { id: "a", work: "echo bad > a.txt", postchecks: "grep -q good a.txt" },
      { id: "b", dependencies: ["a"], work: "cat a.txt > b.txt" },
    ],
  });
  await rig.ended(planId);
  const { worktreePath: place } = await show(rig, planId, "a");
  const take = () => typeCommand(rig, { do: "take", planId, nodeId: "a" });
  const write = (/** @type {string} */ name, /** @type {string} */ text) =>
    fs.writeFileSync(path.join(place, name), text);
  return { ...rig, planId, place, take, write };
}

test("what a person has changed in a failed node's worktree becomes its work, by that person", async (t) => {
  const rig = await makeFailed(t);
  const { planId, take, write, git, ended } = rig;
  write("a.txt", "good\n");
  write("mine.txt", "mine\n");
  const { kept } = await take();
  assert.equal(kept.ref, `refs/tap/kept/${planId}/a`);
  const seen = await ended(planId);
  assert.equal(seen.status, "succeeded", JSON.stringify(seen.nodes));
  assert.equal(git("show", "out:b.txt"), "good");
  assert.equal(git("show", "out:mine.txt"), "mine");
  assert.equal(git("show", `${kept.ref}:a.txt`), "good");
  const now = (await show(rig, planId, "a")).kept;
  assert.deepEqual([now.of, now.ref], [`${planId}/a`, kept.ref]);
  assert.equal(git("log", "-1", "--format=%an", `refs/tap/${planId}/a/2`), "A");
  assert.equal(git("show", `refs/tap/${planId}/a/1:a.txt`), "bad");
});

test("a person's own commit in a failed node's worktree is taken, too", async (t) => {
  const { planId, place, take, write, git, ended } = await makeFailed(t);
  write("a.txt", "good\n");
  gitIn(place)("commit", "--quiet", "--all", "--message=by hand");
  const own = gitIn(place)("rev-parse", "HEAD");
  await take();
  assert.equal((await ended(planId)).status, "succeeded");
  assert.equal(git("rev-parse", `refs/tap/${planId}/a/2`), own);
});

test("a worktree that cannot be taken is left as it is, and says why", async (t) => {
  const { planId, place, take, write, ask } = await makeFailed(t);
  await assert.rejects(take(), { code: "NOTHING_TO_TAKE" });
  const child = spawn("sleep", ["300"], { cwd: place });
  t.after(() => child.kill());
  await once(child, "spawn");
  await assert.rejects(take(), { code: "WORKTREE_IN_USE" });
  child.kill();
  await once(child, "exit");
  const git = gitIn(place);
  git("checkout", "--quiet", "-b", "side", "HEAD^");
  write("a.txt", "theirs\n");
  git("commit", "--quiet", "--all", "--message=side");
  assert.throws(() => git("merge", `refs/tap/${planId}/a/1`));
  await assert.rejects(take(), { code: "UNMERGED" });
  fs.rmSync(place, { recursive: true });
  await assert.rejects(take(), { code: "WORKTREE_GONE" });
  const { status, attempt } = (await ask("get_copilot_plan_status", { planId })).nodes[0];
  assert.deepEqual([status, attempt], ["failed", 1]);
  await ask("retry_copilot_node", { planId, nodeId: "a", from: "start" });
});

test("the setup of checks changes nothing that the commit has, and brings nothing back", async (t) => {
  const { create, ended, repo, ask } = await plansRig(t);
  fs.writeFileSync(path.join(repo, "own.env"), "x\n");
  const planId = await create({
    targetBranch: "out",
    setup: "git update-index --skip-worktree a.txt && echo good > a.txt",
    copy: ["b.txt", "own.env"],
    nodes: [
      { id: "overlooked", work: "echo x > x.txt", postchecks: "grep -q good a.txt" },
      { id: "deleted", work: "rm b.txt", postchecks: "test -f own.env && test -f b.txt" },
    ],
  });
  const { nodes } = await ended(planId);
  for (const { id, status, phase } of nodes)
    assert.deepEqual([id, status, phase], [id, "failed", "postchecks"]);
  const failing = await create({
    setup: "test ! -e new.txt",
    nodes: [{ id: "a", work: "echo x > new.txt", postchecks: "true" }],
  });
  await ended(failing);
  const { error } = await ask("get_copilot_node_failure_context", { planId: failing, nodeId: "a" });
  assert.match(error.message, /^The setup for the checks: /);
});

test("a node whose checks are taken away has the commit that it had, not what is in its worktree", async (t) => {
  const rig = await plansRig(t);
  const { create, ended, ask, git } = rig;
  const nodes = [
    { id: "a", work: "echo bad > a.txt", postchecks: "false" },
    { id: "b", dependencies: ["a"], work: "ls > ls.txt" },
  ];
  const planId = await create({ targetBranch: "out", nodes });
  await ended(planId);
  const { worktreePath } = await show(rig, planId, "a");
  fs.writeFileSync(path.join(worktreePath, "scratch.txt"), "mine\n");
  await typeCommand(rig, { do: "edit", planId, nodeId: "a", changes: { postchecks: null } });
  await ask("retry_copilot_node", { planId, nodeId: "a" });
  assert.equal((await ended(planId)).status, "succeeded");
  assert.equal(git("ls-tree", "--name-only", "out"), "a.txt\nb.txt\nc.txt\nls.txt");
  const kept = `refs/tap/kept/${planId}/a`;
  await waitFor(() => git("for-each-ref", kept) !== "");
  assert.equal(git("show", `${kept}:scratch.txt`), "mine");
});

test("a worktree in the middle of a rebase is not taken", async (t) => {
  const { place, take, write } = await makeFailed(t);
  const git = gitIn(place);
  write("one.txt", "one\n");
  git("add", "--all");
  git("commit", "--quiet", "--message=one");
  git("-c", "sequence.editor=sed -i s/^pick/edit/", "rebase", "--quiet", "--interactive", "HEAD^");
  write("a.txt", "good\n");
  await assert.rejects(take(), { code: "UNMERGED" });
});

test("what the checks leave running ends with them, and keeps no checkout", async (t) => {
  const rig = await plansRig(t);
  const began = flagFile(rig.repo, "began");
  const left = `sleep 300.${process.pid}`;
  const stays = `setsid sh -c 'touch ${began}; exec ${left}' > /dev/null 2>&1 &`;
  const postchecks = `${stays} until test -e ${began}; do sleep 0.05; done`;
  const planId = await rig.create({ nodes: [{ id: "a", work: "echo x > x.txt", postchecks }] });
  await rig.ended(planId);
  assert.deepEqual(findCommands(left), []);
  const { stay } = await rig.ask("delete_copilot_plan", { planId });
  assert.deepEqual(stay ?? [], []);
});
