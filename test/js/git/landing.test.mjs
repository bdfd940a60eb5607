// Leaves on their way to the target: merged with true parents, landed as one squash commit each.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { previewIntegration, integrate, findSquashCommit } from "../../../js/git/integration.mjs";
import { createTarget, land } from "../../../js/git/landing.mjs";
import { resolveTree } from "../../../js/git/merge.mjs";
import { openRepository } from "../../../js/git/repository.mjs";
import { expireRefs, moveRefs, planRefs } from "../../../js/git/refs.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { commit, commitOn, git, gitWorks, lookAtUser, makeRepository, write } from "./rig.mjs";

const LINES = Array.from({ length: 30 }, (_, i) => `line ${i}`);
const text = (changed = {}) => LINES.map((line, i) => changed[i] ?? line).join("\n") + "\n";

/** A plan with one root node, whose commit is below three leaves that edit the same file. */
async function makePlan(t, options = {}) {
  const made = await makeRepository(t, { files: { "a.txt": text() }, ...options });
  const { root, repository, first } = made;
  await createTarget(repository, "feature", first);
  const rootNode = commitOn(root, [first], { "a.txt": text({ 2: "root", 10: "root" }) });
  const leaf = (line, value = "leaf") =>
    commitOn(root, [rootNode], { "a.txt": text({ 2: "root", 10: "root", [line]: value }) });
  /** Commits of leaves that have not landed. @type {string[]} */
  const waits = [];
  const asked = (at, more = {}) => ({
    plan: "p",
    target: "feature",
    base: first,
    leaf: at,
    message: `Work of ${at}`,
    waiting: () => waits,
    ...more,
  });
  const deliver = async (at) => {
    const integrated = await integrate(repository, asked(at));
    return [integrated.status, (await land(repository, { plan: "p", target: "feature" })).status];
  };
  return { ...made, leaf, asked, waits, deliver, rootNode };
}

test("leaves with a common ancestor land one after another, each as one commit, where squash onto squash would conflict", async (t) => {
  const { root, first, leaf, deliver } = await makePlan(t);
  const leaves = [leaf(2, "one"), leaf(20, "two"), leaf(28, "three")];
  for (const at of leaves) assert.deepEqual(await deliver(at), ["integrated", "landed"]);
  const expected = text({ 2: "one", 10: "root", 20: "two", 28: "three" }).trimEnd();
  assert.equal(git(root, "show", "feature:a.txt"), expected);
  assert.equal(git(root, "rev-list", "--count", `${first}..feature`), "3");
  assert.equal(git(root, "rev-list", "--count", "--merges", "feature"), "0");
  for (const at of leaves) git(root, "merge-base", "--is-ancestor", at, "refs/tap/p/integration");
  // The other way: a squash of the second leaf onto that of the first.
  const squash = commitOn(root, [first], { "a.txt": text({ 2: "one", 10: "root" }) });
  assert.equal(gitWorks(root, "merge-tree", "--write-tree", squash, leaves[1]), false);
});

test("a second call finds the leaf integrated and landed, after a crash at any point", async (t) => {
  const { root, repository, leaf, asked, deliver } = await makePlan(t);
  await deliver(leaf(20, "two"));
  const at = leaf(25, "next");
  const refs = () => git(root, "for-each-ref", "refs/tap", "refs/heads/feature");
  const ready = await previewIntegration(repository, asked(at));
  const before = refs();
  await previewIntegration(repository, asked(at));
  assert.equal(refs(), before, "a candidate moves nothing");
  const integrated = await integrate(repository, asked(at));
  assert.equal(integrated.tree, ready.tree);
  assert.equal(integrated.again, false);
  const after = refs();
  const again = await integrate(repository, asked(at));
  assert.deepEqual(again, { ...integrated, tip: integrated.commit, again: true });
  assert.equal(refs(), after);
  assert.equal((await land(repository, { plan: "p", target: "feature" })).again, false);
  assert.equal((await land(repository, { plan: "p", target: "feature" })).again, true);
  assert.deepEqual(await integrate(repository, asked(at)), {
    ...integrated,
    tip: integrated.commit,
    again: true,
  });
  assert.equal(git(root, "rev-list", "--count", "--grep", at, "feature"), "1");
});

test("what was tested is what lands: a target that moved since is told, with the new tree", async (t) => {
  const { root, repository, leaf, asked } = await makePlan(t);
  const at = leaf(20);
  const { tree, tip, merge } = await previewIntegration(repository, asked(at));
  assert.equal(await resolveTree(repository, merge), tree);
  const users = commitOn(root, [tip], { "new.txt": "by the user\n" });
  git(root, "update-ref", "refs/heads/feature", users);
  const moved = await integrate(repository, asked(at, { expect: { tree, tip } }));
  assert.equal(moved.status, "moved");
  assert.equal(moved.tip, users);
  const next = await integrate(repository, asked(at, { expect: { tree: moved.tree, tip: users } }));
  assert.deepEqual([next.status, next.tree], ["integrated", moved.tree]);
  await land(repository, { plan: "p", target: "feature" });
  assert.equal(git(root, "show", "feature:new.txt"), "by the user");
});

test("the user's commits on top of a landed leaf merge with later leaves", async (t) => {
  const { root, leaf, deliver } = await makePlan(t);
  await deliver(leaf(20, "two"));
  const landed = git(root, "rev-parse", "feature");
  const edited = text({ 2: "root", 10: "root", 20: "two, edited by the user" });
  git(root, "update-ref", "refs/heads/feature", commitOn(root, [landed], { "a.txt": edited }));
  assert.deepEqual(await deliver(leaf(28, "three")), ["integrated", "landed"]);
  const expected = text({ 2: "root", 10: "root", 20: "two, edited by the user", 28: "three" });
  assert.equal(git(root, "show", "feature:a.txt"), expected.trimEnd());
});

test("a conflict leaves everything as it was and names files and commits; the next leaf lands", async (t) => {
  const { root, repository, leaf, asked, deliver } = await makePlan(t);
  await deliver(leaf(20, "two"));
  const before = git(root, "for-each-ref", "refs");
  const clash = leaf(20, "other");
  const found = await integrate(repository, asked(clash));
  assert.deepEqual(
    [found.status, found.side, found.theirs, found.conflicts],
    [...["conflict", "leaves", clash], ["a.txt"]],
  );
  assert.equal(found.other, git(root, "rev-parse", "refs/tap/p/integration"));
  assert.equal(git(root, "for-each-ref", "refs"), before);
  assert.deepEqual(await deliver(leaf(28, "three")), ["integrated", "landed"]);
});

test("what conflicts with the target before anything has landed names the target's commit", async (t) => {
  const { root, repository, first, leaf, asked } = await makePlan(t);
  const users = commitOn(root, [first], { "a.txt": text({ 20: "the user's" }) });
  git(root, "update-ref", "refs/heads/feature", users);
  const found = await integrate(repository, asked(leaf(20)));
  assert.deepEqual([found.status, found.side, found.other], ["conflict", "target", users]);
});

test("the squash commit of a node is found once it is in the result", async (t) => {
  const { repository, first, leaf, asked, waits, deliver } = await makePlan(t);
  const message = (node) => ({ message: `Work\n\nPlan-Node: p/${node}` });
  waits.push(leaf(20));
  const one = await integrate(repository, asked(waits[0], message("one")));
  await deliver(leaf(28));
  const { commit: result } = await integrate(repository, asked(leaf(25), message("one-more")));
  assert.deepEqual(await findSquashCommit(repository, result, "p/one"), [first, one.commit]);
  assert.deepEqual(await findSquashCommit(repository, result, "p/two"), [result, result]);
});

test("a leaf that changes nothing lands without a commit", async (t) => {
  const { root, repository, first, asked } = await makePlan(t);
  const empty = commitOn(root, [first], {});
  const { status, commit: at } = await integrate(repository, asked(empty));
  assert.deepEqual([status, at], ["integrated", first]);
  assert.equal((await land(repository, { plan: "p", target: "feature" })).status, "landed");
  assert.equal(git(root, "rev-parse", "feature"), first);
});

test("a target in a clean checkout is moved there, files and all", async (t) => {
  const { root, repository, leaf, asked } = await makePlan(t, { untouched: false });
  git(root, "checkout", "--quiet", "feature");
  await integrate(repository, asked(leaf(20, "two")));
  const { status, path: where } = await land(repository, { plan: "p", target: "feature" });
  assert.deepEqual([status, where], ["landed", root]);
  assert.equal(git(root, "status", "--porcelain"), "?? not-committed.txt");
  assert.match(fs.readFileSync(path.join(root, "a.txt"), "utf8"), /two/);
  assert.equal(git(root, "branch", "--show-current"), "feature");
});

test("a target in a dirty checkout is not moved; the result waits and lands later, with what came meanwhile", async (t) => {
  const made = await makePlan(t, { untouched: false });
  const { root, repository, first, leaf, asked, waits } = made;
  git(root, "checkout", "--quiet", "feature");
  write(root, { "a.txt": "dirty\n" });
  const before = lookAtUser(root);
  for (const at of [leaf(20, "two"), leaf(28, "three")]) {
    assert.equal((await integrate(repository, asked(at))).status, "integrated");
    const refused = await land(repository, { plan: "p", target: "feature" });
    assert.deepEqual([refused.status, refused.path, refused.changed], ["dirty", root, ["a.txt"]]);
    waits.push(at);
  }
  assert.deepEqual(lookAtUser(root), before);
  assert.equal(git(root, "rev-list", "--count", `${first}..refs/tap/p/result`), "2");
  git(root, "checkout", "--quiet", "--", "a.txt");
  commit(root, { "by-user.txt": "x\n" });
  const moved = await land(repository, { plan: "p", target: "feature" });
  assert.equal(moved.status, "moved");
  assert.equal((await integrate(repository, asked(undefined))).status, "integrated");
  assert.equal((await land(repository, { plan: "p", target: "feature" })).status, "landed");
  assert.equal(git(root, "show", "feature:by-user.txt"), "x");
  assert.match(git(root, "show", "feature:a.txt"), /two[^]*three/);
  assert.equal(git(root, "status", "--porcelain"), "");
});

test("a worktree whose folder was deleted holds back no landing but that on its own branch", async (t) => {
  const { root, repository, leaf, asked, deliver, worktrees, wanted } = await makePlan(t);
  const gone = await worktrees.add(wanted("gone"));
  fs.rmSync(gone.path, { recursive: true });
  const broken = await worktrees.add(wanted("broken"));
  fs.rmSync(path.join(broken.path, ".git"));
  assert.deepEqual(await deliver(leaf(20, "two")), ["integrated", "landed"]);
  const place = path.join(temporaryFolder(t), "on-a-disk");
  git(root, "worktree", "add", "--quiet", "--lock", place, "feature");
  fs.rmSync(place, { recursive: true });
  const at = git(root, "rev-parse", "feature");
  await integrate(repository, asked(leaf(28, "three")));
  const waits = await land(repository, { plan: "p", target: "feature" });
  assert.deepEqual([waits.status, git(root, "rev-parse", "feature")], ["dirty", at]);
  assert.match(
    String(waits.message),
    /gone\. Bring it back, or remove it with git worktree remove/,
  );
  git(root, "worktree", "remove", "--force", "--force", place);
  assert.equal((await land(repository, { plan: "p", target: "feature" })).status, "landed");
});

test("a target in a worktree that is away for a while is not moved beneath it", async (t) => {
  const { root, repository, leaf, asked } = await makePlan(t);
  const place = path.join(temporaryFolder(t), "on-a-disk");
  git(root, "worktree", "add", "--quiet", place, "feature");
  fs.renameSync(place, `${place}-away`);
  await integrate(repository, asked(leaf(20, "two")));
  const waits = await land(repository, { plan: "p", target: "feature" });
  assert.equal(waits.status, "dirty");
  assert.match(
    String(waits.message),
    /whose folder or \.git is gone\. Bring it back, or remove it/,
  );
  fs.renameSync(`${place}-away`, place);
  assert.equal(git(place, "status", "--porcelain"), "");
  assert.equal((await land(repository, { plan: "p", target: "feature" })).status, "landed");
  assert.equal(git(place, "status", "--porcelain"), "");
  assert.match(fs.readFileSync(path.join(place, "a.txt"), "utf8"), /two/);
});

test("an untracked file that would be overwritten keeps the target from moving", async (t) => {
  const { root, repository, first, asked } = await makePlan(t, { untouched: false });
  git(root, "checkout", "--quiet", "feature");
  write(root, { "new.txt": "mine\n" });
  await integrate(repository, asked(commitOn(root, [first], { "new.txt": "the agent's\n" })));
  const refused = await land(repository, { plan: "p", target: "feature" });
  assert.deepEqual([refused.status, refused.changed], ["dirty", ["new.txt"]]);
  assert.equal(fs.readFileSync(path.join(root, "new.txt"), "utf8"), "mine\n");
  assert.equal(git(root, "rev-parse", "feature"), first);
});

test("a target that is being rebased is not moved", async (t) => {
  const { root, repository, first, leaf, asked } = await makePlan(t, { untouched: false });
  git(root, "checkout", "--quiet", "feature");
  commit(root, { "a.txt": text({ 5: "feature" }) });
  git(root, "branch", "onto", commitOn(root, [first], { "a.txt": text({ 5: "onto" }) }));
  assert.equal(gitWorks(root, "rebase", "onto"), false);
  await integrate(repository, asked(leaf(20)));
  const refused = await land(repository, { plan: "p", target: "feature" });
  assert.equal(refused.status, "dirty");
  assert.match(refused.message, /in the middle of a rebase/);
});

test("a target that was deleted is not made again, unless that is asked for", async (t) => {
  const { root, repository, leaf, asked } = await makePlan(t);
  await integrate(repository, asked(leaf(20, "two")));
  git(root, "branch", "--quiet", "-D", "feature");
  const { status, message } = await land(repository, { plan: "p", target: "feature" });
  const result = git(root, "rev-parse", "refs/tap/p/result");
  assert.equal(status, "gone");
  assert.ok(message?.endsWith(`: git branch "feature" ${result}`), message);
  const made = await land(repository, { plan: "p", target: "feature", create: true });
  assert.equal(made.status, "landed");
  assert.match(git(root, "show", "feature:a.txt"), /two/);
});

test("somebody who moves the target at the same moment wins, and that is told", async (t) => {
  const { root, repository, first, leaf, asked } = await makePlan(t);
  await integrate(repository, asked(leaf(20)));
  const users = commitOn(root, [first], { "b.txt": "b\n" });
  const { change } = repository;
  repository.change = function (args, options) {
    if (args[0] === "update-ref") git(root, "update-ref", "refs/heads/feature", users);
    return change.call(this, args, options);
  };
  const { status, message } = await land(repository, { plan: "p", target: "feature" });
  assert.deepEqual([status, /a different program/.test(message)], ["lost", true]);
  assert.equal(git(root, "rev-parse", "feature"), users);
});

test("leaves that are integrated at once all get in", async (t) => {
  const { root, repository, leaf, asked, waits } = await makePlan(t);
  const other = await openRepository(root);
  const leaves = [14, 18, 22, 26].map((line) => leaf(line, `at ${line}`));
  waits.push(...leaves);
  const found = await Promise.all(
    leaves.map((at, i) => integrate(i % 2 ? other : repository, asked(at))),
  );
  assert.deepEqual(
    found.map(({ status }) => status),
    leaves.map(() => "integrated"),
  );
  await land(repository, { plan: "p", target: "feature" });
  for (const line of [14, 18, 22, 26])
    assert.match(git(root, "show", "feature:a.txt"), new RegExp(`at ${line}$`, "m"));
  assert.equal(git(root, "rev-list", "--count", "main..feature"), "4");
});

test("with an old git the same lands, by way of a checkout", async (t) => {
  const { root, leaf, deliver } = await makePlan(t, { merges: "scratch" });
  for (const at of [leaf(20, "two"), leaf(28, "three")]) {
    assert.deepEqual(await deliver(at), ["integrated", "landed"]);
  }
  assert.match(git(root, "show", "feature:a.txt"), /two[^]*three/);
});

test("refs move all or none, and expire by age", async (t) => {
  const { root, repository, first } = await makeRepository(t);
  const second = commitOn(root, [first], { "a.txt": "2\n" });
  const move = (name, from, to) => ({ ref: `refs/tap/p/${name}`, from, to });
  assert.equal(
    await moveRefs(repository, [move("x", undefined, first), move("y", undefined, first)]),
    true,
  );
  assert.equal(
    await moveRefs(repository, [move("x", first, second), move("y", second, first)]),
    false,
  );
  assert.equal(git(root, "rev-parse", "refs/tap/p/x"), first);
  assert.equal(await moveRefs(repository, [move("x", undefined, second)]), false);
  assert.equal(await moveRefs(repository, [move("x", first, undefined)]), true);
  assert.deepEqual(await expireRefs(repository, planRefs("p"), 0), []);
  assert.deepEqual(await expireRefs(repository, planRefs("p"), Date.now() + 1000), [
    "refs/tap/p/y",
  ]);
  await assert.rejects(expireRefs(repository, "refs/heads", Date.now()), { code: "INVALID" });
  assert.ok(temporaryFolder(t));
});

test("a lock that a killed git has left on a ref of ours is removed once it is old", async (t) => {
  const { root, repository, first } = await makeRepository(t);
  const lock = path.join(root, ".git", "refs", "tap", "p", "x.lock");
  write(path.dirname(lock), { "x.lock": "" });
  const old = new Date(Date.now() - 60_000);
  fs.utimesSync(lock, old, old);
  assert.equal(
    await moveRefs(repository, [{ ref: "refs/tap/p/x", from: undefined, to: first }]),
    true,
  );
  write(path.dirname(lock), { "y.lock": "" });
  const young = moveRefs(repository, [{ ref: "refs/tap/p/y", from: undefined, to: first }]);
  await assert.rejects(young, { code: "LOCKED" });
});
