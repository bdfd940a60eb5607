// Commits that an attempt has made and left.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  parseReflog,
  archiveUnreachableCommits,
  filterCreatedCommits,
} from "../../../js/git/archive.mjs";
import { commit, git, makeRepository, write } from "./rig.mjs";

const KEPT = "refs/tap/kept/p/n";
const [A, B, C] = ["a", "b", "c"].map((letter) => letter.repeat(40));

test("what was made in a worktree is told from what was only looked at", () => {
  const line = (/** @type {string} */ at, /** @type {string} */ what) =>
    `${"0".repeat(40)} ${at} A <a@b> 1 +0000\t${what}\n`;
  const log = parseReflog(
    line(A, "checkout: moving from x to commit") +
      line(B, "commit: one") +
      line(B, "commit (amend): again") +
      line(C, "merge other: Fast-forward") +
      "not a line of a log\n",
  );
  assert.equal(log.length, 4);
  assert.deepEqual(filterCreatedCommits(log, []), [B]);
  assert.deepEqual(filterCreatedCommits(log, [B]), []);
  for (const what of ["commit (merge): x", "rebase (pick): x", "merge x: Merge made by 'ort'."]) {
    assert.deepEqual(filterCreatedCommits([{ commit: A, what }], []), [A], what);
  }
  for (const what of ["reset: moving to commit", "rebase (finish): x", "pull: Fast-forward"]) {
    assert.deepEqual(filterCreatedCommits([{ commit: A, what }], []), [], what);
  }
});

test("commits on another branch are found with it, and kept once", async (t) => {
  const { root, repository, worktrees, wanted, first } = await makeRepository(t);
  const made = await worktrees.add(wanted());
  assert.equal(await archiveUnreachableCommits(repository, made, first), undefined);
  git(made.path, "checkout", "--quiet", "-b", "mine");
  const one = commit(made.path, { "one.txt": "1\n" });
  commit(made.path, { "two.txt": "1\n" });
  write(made.path, { "two.txt": "2\n" });
  git(made.path, "commit", "--quiet", "--all", "--amend", "-m", "amended");
  const two = git(made.path, "rev-parse", "HEAD");
  assert.equal(
    await archiveUnreachableCommits(repository, made, two),
    undefined,
    "it has stayed there",
  );
  git(made.path, "checkout", "--quiet", "--detach", first);
  for (let i = 0; i < 2; ++i) {
    assert.deepEqual(await archiveUnreachableCommits(repository, made, first), {
      ...{ commits: [one, two], branches: ["mine"], ref: KEPT },
    });
    assert.equal(git(root, "rev-parse", `${KEPT}^@`), two);
  }
  assert.equal(git(root, "show", `${KEPT}:two.txt`), "2");
  git(root, "branch", "--quiet", "-D", "mine");
});

test("commits on no branch are found, too; those of another node that had the worktree are not", async (t) => {
  const { root, repository, worktrees, wanted, first } = await makeRepository(t);
  const made = await worktrees.add(wanted());
  const lost = commit(made.path, { "lost.txt": "1\n" });
  git(made.path, "reset", "--quiet", "--hard", first);
  const left = await archiveUnreachableCommits(repository, made, first);
  assert.deepEqual([left?.commits, left?.branches], [[lost], []]);
  assert.equal(git(root, "rev-parse", `${KEPT}^@`), lost);
  assert.equal(
    await archiveUnreachableCommits(repository, { ...made, node: "next" }, first),
    undefined,
  );
});
