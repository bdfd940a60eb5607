// A target that somebody else moves between the checks of a leaf and its landing: the leaf is on no ref that another
// one lands with until its checks have passed on the new tree.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  checkResult,
  removePendingLeaves,
  previewIntegration,
  integrate,
  findLandedCommit,
} from "../../../js/git/integration.mjs";
import { createTarget, land } from "../../../js/git/landing.mjs";
import { waitFor } from "../../support/wait.mjs";
import { commitOn, git, makeRepository } from "./rig.mjs";

/** A plan with two leaves, and a target that others move. */
async function makePlan(t) {
  const { root, repository, first } = await makeRepository(t);
  await createTarget(repository, "feature", first);
  const target = "feature";
  /** Commits of leaves that have not landed. @type {string[]} */
  const waits = [];
  const asked = (leaf, more = {}) => ({
    ...{ plan: "p", target, base: first, leaf, message: `Work of ${leaf}` },
    ...{ waiting: () => waits, ...more },
  });
  const leaf = (/** @type {string} */ name) => commitOn(root, [first], { [name]: "x\n" });
  /** Somebody else's commit. @param {string} name */
  const move = (name) => {
    const tip = commitOn(root, [git(root, "rev-parse", target)], { [name]: "y\n" });
    git(root, "update-ref", `refs/heads/${target}`, tip);
    return tip;
  };
  const tested = async (/** @type {string} */ at) => {
    const { tree, tip } = await previewIntegration(repository, asked(at));
    return asked(at, { expect: { tree, tip } });
  };
  const landIt = async () => (await land(repository, { plan: "p", target })).status;
  const files = (/** @type {string} */ ref) => git(root, "ls-tree", "--name-only", ref).split("\n");
  const merges = () => git(root, "rev-list", "--count", "--merges", target);
  const rest = { asked, leaf, move, tested, landIt, files, merges };
  return { root, repository, first, waits, ...rest };
}

test("a leaf whose target moves before it lands is checked again, and lands as one commit", async (t) => {
  const { root, repository, first, leaf, move, tested, landIt, files, merges } = await makePlan(t);
  const one = leaf("one");
  const before = await tested(one);
  assert.equal((await integrate(repository, before)).status, "integrated");
  const tip = move("other");
  assert.equal(await landIt(), "moved");
  for (let i = 0; i < 2; ++i) {
    const moved = await integrate(repository, before);
    assert.deepEqual([moved.status, moved.tip], ["moved", tip]);
    assert.equal(files("refs/tap/p/result").includes("one"), false, "no other leaf lands with it");
  }
  const other = await tested(leaf("two"));
  assert.equal((await integrate(repository, other)).status, "integrated");
  assert.equal(await landIt(), "landed");
  assert.deepEqual(files("feature"), ["a.txt", "b.txt", "other", "two"]);
  assert.equal((await integrate(repository, await tested(one))).status, "integrated");
  assert.equal(await landIt(), "landed");
  assert.deepEqual(files("feature"), ["a.txt", "b.txt", "one", "other", "two"]);
  assert.deepEqual(
    [git(root, "rev-list", "--count", `${first}..feature`), merges()],
    ["3", "0"],
    "one commit for each leaf",
  );
});

test("a leaf without checks goes on the new tip by itself, as one commit", async (t) => {
  const { root, repository, first, asked, leaf, move, landIt, files, merges } = await makePlan(t);
  const one = leaf("one");
  await integrate(repository, asked(one));
  move("other");
  assert.equal(await landIt(), "moved");
  assert.equal((await integrate(repository, asked(one))).again, false);
  assert.equal(await landIt(), "landed");
  assert.deepEqual(files("feature"), ["a.txt", "b.txt", "one", "other"]);
  assert.deepEqual([git(root, "rev-list", "--count", `${first}..feature`), merges()], ["2", "0"]);
});

test("a leaf that conflicts with the target's new tip is in nothing that lands later", async (t) => {
  const { repository, asked, leaf, move, tested, landIt, files } = await makePlan(t);
  const one = leaf("one");
  const before = await tested(one);
  await integrate(repository, before);
  move("one");
  assert.equal((await integrate(repository, before)).status, "conflict");
  await integrate(repository, asked(leaf("two")));
  assert.equal(await landIt(), "landed");
  assert.deepEqual(files("feature"), ["a.txt", "b.txt", "one", "two"]);
});

test("leaves that wait and were checked are not merged with a target that has moved", async (t) => {
  const { root, repository, leaf, asked, waits, move, landIt, files } = await makePlan(t);
  const apart = () => true;
  waits.push(leaf("one"));
  await integrate(repository, asked(waits[0]));
  move("other");
  const last = leaf("two");
  const two = asked(last, { apart });
  const result = git(root, "rev-parse", "refs/tap/p/result");
  const { tree, tip } = await previewIntegration(repository, two);
  assert.equal(tip, result);
  const taken = await integrate(repository, { ...two, expect: { tree, tip } });
  assert.deepEqual([taken.status, taken.waits, await landIt()], ["integrated", true, "moved"]);
  assert.equal(files("feature").includes("two"), false);
  waits.push(last);
  assert.equal((await integrate(repository, asked(undefined))).waits, false);
  assert.equal(await landIt(), "landed");
  assert.deepEqual(files("feature"), ["a.txt", "b.txt", "one", "other", "two"]);
});

test("leaves that wait unchecked are below the same tip each time, however long the next one's checks take", async (t) => {
  const { repository, leaf, asked, waits, move, tested } = await makePlan(t);
  waits.push(leaf("one"));
  await integrate(repository, asked(waits[0]));
  move("other");
  const two = await tested(leaf("two"));
  const second = () => Math.floor(Date.now() / 1000); // the times of commits are whole seconds
  const before = second();
  await waitFor(() => second() > before);
  assert.equal((await integrate(repository, two)).status, "integrated");
});

test("a leaf is taken back where it has not landed, and only there", async (t) => {
  const { root, repository, first, asked, leaf, waits, landIt, files } = await makePlan(t);
  const refs = () => git(root, "for-each-ref", "refs/tap", "refs/heads/feature");
  const back = (/** @type {string} */ at) =>
    removePendingLeaves(repository, { plan: "p", target: "feature", leaves: [at] });
  const [one, two, none] = [leaf("one"), leaf("two"), commitOn(root, [first], {}, "nothing")];
  await back(one);
  await integrate(repository, asked(one));
  waits.push(one);
  const held = refs();
  await integrate(repository, asked(two));
  await back(one);
  assert.ok(files("refs/tap/p/result").includes("one"), "another one stands on it");
  await back(two);
  assert.equal(refs(), held);
  await integrate(repository, asked(none));
  await back(none);
  assert.equal(refs(), held);
  await back(one);
  assert.deepEqual(files("refs/tap/p/result"), ["a.txt", "b.txt"]);
  await integrate(repository, asked(one));
  await landIt();
  const landed = refs();
  await back(one);
  assert.equal(refs(), landed);
});

test("leaves that wait are taken out together, and what has landed before them stays", async (t) => {
  const { root, repository, first, asked, leaf, waits, move, landIt, files } = await makePlan(t);
  const [zero, one, two] = ["zero", "one", "two"].map(leaf);
  const out = (leaves, more = {}) =>
    removePendingLeaves(repository, { plan: "p", target: "feature", leaves, ...more });
  assert.equal(await out([one]), false, "nothing is held");
  await integrate(repository, asked(zero));
  await landIt();
  const refs = () => git(root, "for-each-ref", "refs/tap");
  const landed = refs();
  assert.equal(await out([zero]), false, "it has landed");
  for (const next of [one, two]) {
    await integrate(repository, asked(next));
    waits.push(next);
  }
  assert.equal(await out([one]), false, "another one came after it");
  move("other");
  assert.equal(await out([two, one]), true);
  assert.equal(refs(), landed);
  waits.length = 0;
  await integrate(repository, asked(two));
  assert.equal(await landIt(), "landed");
  assert.deepEqual(files("feature"), ["a.txt", "b.txt", "other", "two", "zero"]);
  git(root, "update-ref", "-d", "refs/heads/feature");
  await integrate(repository, asked(one));
  assert.equal(await out([one]), false, "the result is all that there is");
  assert.equal(await out([one], { create: true }), true);
  assert.equal(
    await findLandedCommit(repository, { target: "feature", base: first, node: "p/x" }),
    undefined,
  );
});

test("a result that is not the one that was checked does not land", async (t) => {
  const { root, repository, first, asked, leaf, waits, move } = await makePlan(t);
  const of = { plan: "p", target: "feature", waiting: () => waits };
  assert.deepEqual(await checkResult(repository, of), { result: undefined, follows: false });
  const one = leaf("one");
  const { commit } = await integrate(repository, asked(one));
  waits.push(one);
  assert.deepEqual(await checkResult(repository, of), { result: commit, follows: true });
  const lost = await land(repository, { ...of, expect: first });
  assert.deepEqual([lost.status, git(root, "rev-parse", "feature")], ["lost", first]);
  move("other");
  assert.equal((await checkResult(repository, of)).follows, true, "nothing of it is checked");
  const apart = () => true;
  assert.equal((await checkResult(repository, { ...of, apart })).follows, false);
  for (const to of [commitOn(root, [], { "a.txt": "x\n" }), commitOn(root, [first], {}, "mine")]) {
    git(root, "update-ref", "refs/heads/feature", to);
    const follows = git(root, "rev-parse", `${to}^@`) !== "";
    assert.equal((await checkResult(repository, of)).follows, follows);
  }
});

test("what the user takes back from the target comes back with no leaf", async (t) => {
  const { root, repository, first, asked, leaf, waits, move, tested, landIt, files } =
    await makePlan(t);
  const reset = (/** @type {string} */ to) => git(root, "update-ref", "refs/heads/feature", to);
  const one = leaf("one");
  await integrate(repository, asked(one));
  assert.equal(await landIt(), "landed");
  reset(first);
  const two = leaf("two");
  assert.equal((await integrate(repository, await tested(two))).status, "integrated");
  assert.equal(await landIt(), "landed");
  assert.deepEqual(files("feature"), ["a.txt", "b.txt", "two"]);
  assert.equal(git(root, "rev-list", "--count", `${first}..feature`), "1");
  // A commit of the user's, on which a leaf waits.
  move("secret");
  const three = leaf("three");
  await integrate(repository, asked(three));
  reset(first);
  waits.push(three);
  const of = { plan: "p", target: "feature", waiting: () => waits };
  assert.equal((await checkResult(repository, of)).follows, false);
  const result = git(root, "rev-parse", "refs/tap/p/result");
  const last = leaf("next");
  const next = await integrate(repository, asked(last));
  assert.deepEqual([next.waits, next.tip], [true, result], "also where nothing is checked");
  await removePendingLeaves(repository, { plan: "p", target: "feature", leaves: [last, three] });
  waits.length = 0;
  await integrate(repository, await tested(three));
  assert.equal(await landIt(), "landed");
  assert.deepEqual(files("feature"), ["a.txt", "b.txt", "three"]);
});

test("what has landed and was changed by the user holds back no later leaf", async (t) => {
  const { root, repository, first, asked, leaf, tested, landIt, files } = await makePlan(t);
  await integrate(repository, asked(leaf("one")));
  await landIt();
  const amended = git(root, "commit-tree", "-p", first, "-m", "by the user", "feature^{tree}");
  git(root, "update-ref", "refs/heads/feature", amended);
  const two = { ...(await tested(leaf("two"))), apart: () => true };
  const { status, tip, waits } = await integrate(repository, two);
  assert.deepEqual([status, tip, waits], ["integrated", amended, false]);
  assert.equal(await landIt(), "landed");
  assert.deepEqual(files("feature"), ["a.txt", "b.txt", "one", "two"]);
  assert.equal(git(root, "rev-list", "--count", `${first}..feature`), "2");
});

test("a leaf that waits no more, as others depend on it now, is in nothing that lands later", async (t) => {
  const { repository, asked, leaf, waits, tested, landIt, files } = await makePlan(t);
  const [one, two, three] = ["one", "two", "three"].map(leaf);
  await integrate(repository, asked(one));
  await integrate(repository, asked(two, { waiting: () => [one] }));
  waits.push(two);
  const taken = await integrate(repository, asked(three));
  assert.equal(taken.waits, true, "the other one was made on it");
  await removePendingLeaves(repository, { plan: "p", target: "feature", leaves: [two, three] });
  waits.length = 0;
  await integrate(repository, await tested(three));
  assert.equal(await landIt(), "landed");
  assert.deepEqual(files("feature"), ["a.txt", "b.txt", "three"]);
});

test("a node's commit is found on the target by its trailer, since the plan's base", async (t) => {
  const { root, repository, first, leaf, asked, landIt, move } = await makePlan(t);
  const of = { target: "feature", base: first, node: "p/one" };
  assert.equal(await findLandedCommit(repository, of), undefined);
  const message = "one\n\nPlan-Node: p/one";
  await integrate(repository, { ...asked(leaf("one")), message });
  await landIt();
  const landed = git(root, "rev-parse", "feature");
  move("other");
  assert.deepEqual(await findLandedCommit(repository, of), [first, landed]);
  assert.equal(await findLandedCommit(repository, { ...of, node: "p/on" }), undefined);
  assert.equal(await findLandedCommit(repository, { ...of, base: landed }), undefined);
});
