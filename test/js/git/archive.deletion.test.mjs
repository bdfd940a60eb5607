// What a deleted plan had committed: its refs stay for a while, and go together.

import assert from "node:assert/strict";
import { test } from "node:test";
import { importRefs } from "../../../js/git/import-refs.mjs";
import { expireDeletions, markDeleted, listArchives } from "../../../js/git/archive.mjs";
import { attemptRef, moveRefs, resultRef } from "../../../js/git/refs.mjs";
import { git, makeRepository } from "./rig.mjs";

const MONTH = 30 * 24 * 3600 * 1000;
const refsIn = (root) =>
  git(root, "for-each-ref", "--format=%(refname)", "refs/tap").split("\n").filter(Boolean);

test("refs of a deleted plan go after 30 days, and those of other plans stay", async (t) => {
  const { root, repository, first } = await makeRepository(t);
  const refs = [attemptRef("p1", "a", 1), resultRef("p1"), attemptRef("p2", "a", 1)];
  assert.ok(
    await moveRefs(
      repository,
      refs.map((ref) => ({ ref, from: undefined, to: first })),
    ),
  );
  const before = Date.now();
  await markDeleted(repository, "p1");
  await markDeleted(repository, "p1");
  const marked = "refs/tap/deleted/p1";
  assert.deepEqual(refsIn(root), [marked, ...refs]);
  assert.deepEqual(await listArchives(repository), [], "it is no snapshot");

  const isThere = () => false;
  assert.deepEqual(await expireDeletions(repository, { now: before + MONTH - 1000, isThere }), []);
  const late = Date.now() + MONTH + 1000;
  assert.deepEqual(await expireDeletions(repository, { now: late, isThere: () => true }), []);
  const gone = await expireDeletions(repository, { now: late, isThere });
  assert.deepEqual(gone.sort(), [marked, refs[0], refs[1]]);
  assert.deepEqual(refsIn(root), [refs[2]]);
});

test("a plan that is imported after it was deleted keeps its refs, and is deleted again if that fails", async (t) => {
  const { root, repository, first } = await makeRepository(t);
  const ref = attemptRef("p1", "a", 1);
  assert.ok(await moveRefs(repository, [{ ref, from: undefined, to: first }]));
  await markDeleted(repository, "p1");
  const before = git(root, "for-each-ref");
  const made = [{ node: "a", attempt: 1, commit: first }];
  const undo = await importRefs(repository, "p1", made);
  const now = Date.now() + 2 * MONTH;
  // Another home does not know of the plan.
  assert.deepEqual(await expireDeletions(repository, { now, isThere: () => false }), []);
  assert.deepEqual(refsIn(root), [ref]);
  await undo();
  assert.equal(git(root, "for-each-ref"), before);
});

test("a plan that is called deleted has refs of its own", async (t) => {
  const { repository, first } = await makeRepository(t);
  const ref = attemptRef("deleted", "a", 1);
  assert.ok(await moveRefs(repository, [{ ref, from: undefined, to: first }]));
  await markDeleted(repository, "p1");
  const now = Date.now() + 2 * MONTH;
  assert.deepEqual(await expireDeletions(repository, { now, isThere: () => false }), [
    "refs/tap/deleted/p1",
  ]);
});
