// Commits that an attempt has made and left.

import assert from "node:assert/strict";
import { test } from "node:test";
import { archiveUnreachableCommits } from "../../../js/git/archive.mjs";
import { commit, git, makeRepository, write } from "./rig.mjs";

const KEPT = "refs/tap/kept/p/n";

test("commits that are left on no branch are found, and kept once", async (t) => {
  const { root, repository, worktrees, wanted, first } = await makeRepository(t);
  const made = await worktrees.add(wanted());
  assert.equal(await archiveUnreachableCommits(repository, made, first), undefined);
  const one = commit(made.path, { "one.txt": "1\n" });
  const before = commit(made.path, { "two.txt": "1\n" });
  write(made.path, { "two.txt": "2\n" });
  git(made.path, "commit", "--quiet", "--all", "--amend", "-m", "amended");
  const two = git(made.path, "rev-parse", "HEAD");
  const look = (/** @type {string} */ head) => archiveUnreachableCommits(repository, made, head);
  assert.equal(await look(two), undefined, "it has stayed there");
  git(made.path, "checkout", "--quiet", "--detach", first);
  for (let i = 0; i < 2; ++i) {
    assert.deepEqual(await look(first), { commits: [one, before, two], ref: KEPT });
    assert.deepEqual(git(root, "rev-parse", `${KEPT}^@`).split("\n"), [one, before, two]);
  }
  assert.equal(git(root, "show", `${KEPT}:two.txt`), "2");
  git(root, "branch", "mine", two);
  git(root, "update-ref", "-d", KEPT);
  assert.deepEqual((await look(first))?.commits, [before], "a branch has the others");
  git(root, "branch", "--quiet", "-D", "mine");
});

test("what is found are commits of the node; those of another node that had the worktree are not", async (t) => {
  const { root, repository, worktrees, wanted, first } = await makeRepository(t);
  const made = await worktrees.add(wanted());
  const lost = commit(made.path, { "lost.txt": "1\n" });
  git(made.path, "reset", "--quiet", "--hard", first);
  const left = await archiveUnreachableCommits(repository, made, first);
  assert.deepEqual(left?.commits, [lost]);
  assert.equal(git(root, "rev-parse", `${KEPT}^@`), lost);
  assert.equal(
    await archiveUnreachableCommits(repository, { ...made, node: "next" }, first),
    undefined,
  );
});
