// A target below a branch that there is, or above one, cannot be made.

import assert from "node:assert/strict";
import { test } from "node:test";
import { findBlockingBranch, requireFreeName, land } from "../../../js/git/landing.mjs";
import { integrate } from "../../../js/git/integration.mjs";
import { commitOn, git, makeRepository } from "./rig.mjs";

test("a branch is in the way of names below it and above it, and of no other", () => {
  const branches = ["main", "a/b", "mainly"];
  assert.equal(findBlockingBranch("main/sub/x", branches), "main");
  assert.equal(findBlockingBranch("a", branches), "a/b");
  assert.equal(findBlockingBranch("a/b/c", branches), "a/b");
  for (const free of ["main", "a/c", "mai", "main-2", "a/bc"]) {
    assert.equal(findBlockingBranch(free, branches), undefined, free);
  }
});

test("a target that cannot be made is refused with the branch that is in its way", async (t) => {
  const { root, repository } = await makeRepository(t);
  git(root, "branch", "feature/one");
  const taken = (/** @type {RegExp} */ message) => ({ code: "NAME_TAKEN", message });
  await assert.rejects(
    requireFreeName(repository, "main/sub"),
    taken(/"main\/sub" cannot .* branch "main" exists: .* targetBranch\.$/),
  );
  await assert.rejects(requireFreeName(repository, "feature"), taken(/"feature\/one"/));
  for (const free of ["feature/two", "main", "new"]) await requireFreeName(repository, free);
});

test("one that has come meanwhile is named when the plan lands, with what to do", async (t) => {
  const { root, repository, first } = await makeRepository(t);
  const leaf = commitOn(root, [first], { one: "x\n" });
  const of = { plan: "p", target: "new/x" };
  await integrate(repository, { ...of, base: first, leaf, message: "m" });
  git(root, "branch", "new");
  const landing = await land(repository, { ...of, create: true });
  assert.equal(landing.status, "taken");
  assert.match(
    String(landing.message),
    /branch "new" exists: .* Rename or delete "new", and retry the node, or merge refs\/tap\/p\/result by hand\.$/,
  );
  git(root, "branch", "-D", "new");
  assert.equal((await land(repository, { ...of, create: true })).status, "landed");
});
