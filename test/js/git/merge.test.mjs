// Merges without a checkout, compared with those of `git merge`.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { mergeCommits, probe, probeAll, resolveTree } from "../../../js/git/merge.mjs";
import { openRepository } from "../../../js/git/repository.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { commitOn, filesOf, git, makeRepository, write } from "./rig.mjs";

const LINES = Array.from({ length: 9 }, (_, i) => `line ${i}`);
/** @param {Record<number, string>} changed by number */
const text = (changed = {}) => LINES.map((line, i) => changed[i] ?? line).join("\n") + "\n";

/** @param {number} seed */
function randomOf(seed) {
  let state = seed * 7919 + 13;
  return (/** @type {number} */ most) => {
    state = (state * 48271) % 2147483647;
    return state % most;
  };
}

/**
 * Some commits over one root: edits at random lines, new files, deletions, renames, merges among them.
 * @param {string} root @param {string} first @param {(most: number) => number} next
 */
function randomHistory(root, first, next) {
  const heads = [first];
  for (let i = 0; i < 7; ++i) {
    const parent = heads[next(Math.min(3, heads.length))]; // mostly beside one another
    const files = filesOf(root, parent);
    const names = Object.keys(files);
    const name = names[next(names.length)];
    const lines = files[name].split("\n");
    lines[next(lines.length - 1)] = `changed ${next(9)}`;
    const changes = [
      { [name]: lines.join("\n") },
      { [name]: lines.join("\n") },
      { [`new-${next(3)}.txt`]: `new ${next(9)}\n` },
      { [name]: null },
      { [name]: null, [`moved-${next(2)}.txt`]: files[name] },
    ][next(5)];
    heads.push(commitOn(root, [parent], names.length > 1 ? changes : { [name]: lines.join("\n") }));
  }
  return heads;
}

/** By git itself, in a checkout of its own. @param {string} folder @param {string} ours @param {string} theirs */
function mergeByGit(folder, ours, theirs) {
  git(folder, "checkout", "--quiet", "--force", "--detach", ours);
  const { status } = spawnSync("git", ["merge", "--quiet", "--no-commit", "--no-ff", theirs], {
    cwd: folder,
  });
  const result =
    status === 0
      ? { tree: git(folder, "write-tree") }
      : { conflicts: git(folder, "diff", "--name-only", "--diff-filter=U").split("\n").sort() };
  git(folder, "reset", "--quiet", "--hard");
  git(folder, "clean", "-fdqx");
  return result;
}

const comparable = ({ tree, conflicts }) =>
  conflicts ? { conflicts: [...conflicts].sort() } : { tree };

test("merges of random histories have the trees and conflicts of git merge, one at a time, many at once, and in a checkout", async (t) => {
  const { root, repository, first } = await makeRepository(t, {
    files: { "a.txt": "1\n2\n3\n4\n", "dir/c.txt": "1\n2\n3\n4\n5\n" },
  });
  const scratch = await openRepository(root, { merges: "scratch" });
  const folder = path.join(temporaryFolder(t), "checkout");
  git(root, "worktree", "add", "--quiet", "--detach", folder);
  const counts = { clean: 0, conflicts: 0 };
  for (let seed = 1; seed <= 5; ++seed) {
    const next = randomOf(seed);
    const heads = randomHistory(root, first, next);
    /** @type {[string, string][]} */
    const pairs = Array.from({ length: 8 }, () => [heads[next(8)], heads[next(8)]]);
    const expected = pairs.map(([ours, theirs]) => mergeByGit(folder, ours, theirs));
    const many = await probeAll(repository, pairs);
    assert.deepEqual(many.map(comparable), expected, `seed ${seed}, many at once`);
    for (const [index, [ours, theirs]] of pairs.entries()) {
      const one = await probe(repository, ours, theirs);
      assert.deepEqual(comparable(one), expected[index], `seed ${seed}, pair ${index}`);
      counts[one.conflicts ? "conflicts" : "clean"] += 1;
    }
    const old = await probe(scratch, ...pairs[0]);
    assert.deepEqual(comparable(old), expected[0], `seed ${seed}, in a checkout`);
  }
  assert.ok(counts.clean > 10 && counts.conflicts > 4, JSON.stringify(counts));
  git(root, "worktree", "remove", "--force", folder);
});

test("a conflict names the files and says of what kind it is, with either way to merge", async (t) => {
  const { root, repository, first } = await makeRepository(t, {
    files: { "a b.txt": text(), "c.txt": text() },
  });
  const ours = commitOn(root, [first], {
    "a b.txt": text({ 1: "ours" }),
    "c.txt": text({ 1: "ours" }),
  });
  const theirs = commitOn(root, [first], { "a b.txt": text({ 1: "theirs" }), "c.txt": null });
  for (const merges of /** @type {const} */ (["tree", "scratch"])) {
    const opened = await openRepository(root, { merges });
    const { conflicts, notes } = await probe(opened, ours, theirs);
    assert.deepEqual(conflicts, ["a b.txt", "c.txt"], merges);
    assert.equal(notes.length, 2, merges);
    assert.match(
      notes.join("\n"),
      /CONFLICT \(content\).*a b\.txt[^]*CONFLICT \(modify\/delete\): c\.txt/,
    );
  }
  assert.equal(
    fs.readdirSync(path.join(root, ".git", "tap")).some((name) => name.startsWith("scratch")),
    false,
  );
  assert.equal(git(root, "worktree", "list").split("\n").length, 1);
  assert.deepEqual(await probeAll(repository, []), []);
});

test("several commits become one with all of them as parents, and a line of commits stays as it is", async (t) => {
  const { root, repository, first } = await makeRepository(t, { files: { "a.txt": text() } });
  const [a, b, c] = [0, 4, 8].map((line) =>
    commitOn(root, [first], { "a.txt": text({ [line]: "x" }) }),
  );
  const { commit } = await mergeCommits(repository, [a, b, c, first, a], "merge");
  assert.deepEqual(git(root, "rev-parse", `${commit}^@`).split("\n"), [a, b, c]);
  const dates = git(root, "show", "-s", "--format=%at %ct", commit, c).split("\n");
  assert.equal(dates[0], dates[1], "it is the same commit whenever it is made");
  assert.equal(git(root, "show", `${commit}:a.txt`), text({ 0: "x", 4: "x", 8: "x" }).trimEnd());
  const later = commitOn(root, [a], { "d.txt": "d" });
  assert.deepEqual(await mergeCommits(repository, [first, later, a], "m"), {
    status: "merged",
    commit: later,
  });
  const clash = commitOn(root, [first], { "a.txt": text({ 4: "y" }) });
  const found = await mergeCommits(repository, [b, clash], "m");
  assert.deepEqual(
    [found.status, found.ours, found.theirs, found.conflicts],
    ["conflict", [b], clash, ["a.txt"]],
  );
});

test("of several commits that were merged, a conflict names those that it is with", async (t) => {
  const { root, repository, first } = await makeRepository(t, { files: { "a.txt": text() } });
  const other = commitOn(root, [first], { "b.txt": "b" });
  const [one, two, both] = [{ 0: "x" }, { 4: "x" }, { 0: "y", 4: "y" }].map((lines) =>
    commitOn(root, [first], { "a.txt": text(lines) }),
  );
  const found = await mergeCommits(repository, [other, one, two, both], "m");
  assert.deepEqual([found.status, found.ours, found.theirs], ["conflict", [one, two], both]);
});

test("histories without a common ancestor are refused by name", async (t) => {
  const { root, repository, first } = await makeRepository(t);
  const other = commitOn(root, [], { "z.txt": "z" });
  await assert.rejects(probe(repository, first, other), { code: "UNRELATED" });
});

test("attributes are those of the commit that is merged into, not those in the user's checkout", async (t) => {
  const { root, first, repository } = await makeRepository(t, {
    untouched: false,
    files: { "a.txt": text() },
  });
  git(root, "config", "merge.ours.driver", "true");
  const based = commitOn(root, [first], { ".gitattributes": "a.txt merge=ours\n" });
  const driven = commitOn(root, [based], { "a.txt": text({ 1: "ours" }) });
  const plain = commitOn(root, [first], { "a.txt": text({ 1: "ours" }) });
  const theirs = commitOn(root, [first], { "a.txt": text({ 1: "theirs" }) });
  const merged = await probe(repository, driven, theirs);
  assert.equal(merged.tree, await resolveTree(repository, driven), "the driver has taken ours");
  write(root, { ".gitattributes": "a.txt merge=ours\n" });
  assert.deepEqual((await probe(repository, plain, theirs)).conflicts, ["a.txt"]);
  const union = commitOn(root, [plain], { ".gitattributes": "*.txt merge=union\n" });
  const both = await probe(repository, union, theirs);
  assert.match(git(root, "show", `${both.tree}:a.txt`), /ours\ntheirs|theirs\nours/);
});

test("a merge driver runs in a checkout outside of the user's, and nothing it prints is git's", async (t) => {
  const { root, first, repository } = await makeRepository(t, {
    untouched: false,
    files: { "a.txt": text(), "b.txt": "b\n", "package.json": "{}\n" },
  });
  // As npm does it: the next package.json above is whose lock file it writes.
  const driver = `d=$PWD; until [ -e "$d/package.json" ]; do d=\${d%/*}; done
echo "up to date in 472ms"; echo stray > "$d/stray.txt"; cat "$d/b.txt" > %A # that is all`;
  git(root, "config", "merge.npm.driver", driver);
  const based = commitOn(root, [first], { ".gitattributes": "a.txt merge=npm\n" });
  const ours = commitOn(root, [based], { "a.txt": text({ 1: "ours" }) });
  const theirs = commitOn(root, [based], { "a.txt": text({ 1: "theirs" }) });
  const { tree = "" } = await probe(repository, ours, theirs);
  const expected = { ".gitattributes": "a.txt merge=npm\n", "a.txt": "b\n", "b.txt": "b\n" };
  assert.deepEqual(filesOf(root, tree), { ...expected, "package.json": "{}\n" });
  assert.deepEqual(await probeAll(repository, [[ours, theirs]]), [
    { tree: await resolveTree(repository, ours) },
  ]);
  git(root, "config", "merge.npm.driver", "exit 1");
  assert.deepEqual((await probe(repository, ours, theirs)).conflicts, ["a.txt"]);
  git(root, "config", "merge.default", "npm");
  const plain = commitOn(root, [based], { ".gitattributes": null, "a.txt": text({ 1: "ours" }) });
  assert.deepEqual((await probe(repository, plain, theirs)).conflicts, ["a.txt"]);
  assert.ok(!fs.existsSync(path.join(root, "stray.txt")), "nothing in the user's checkout");
  assert.ok(!fs.existsSync(path.join(root, ".git", "worktrees")), "no worktree stays");
  const views = fs.readdirSync(path.join(root, ".git", "tap")).filter((one) => /^attr/.test(one));
  assert.ok(views.length > 0);
  for (const view of views)
    assert.ok(!fs.existsSync(path.join(root, ".git", "tap", view, "stray.txt")));
});

test(
  "a driver of the user that hangs is ended",
  { skip: process.platform === "win32" },
  async (t) => {
    const { root, first, repository } = await makeRepository(t, {
      untouched: false,
      files: { "a.txt": text() },
    });
    git(root, "config", "merge.slow.driver", "sleep 300");
    const based = commitOn(root, [first], { ".gitattributes": "a.txt merge=slow\n" });
    const ours = commitOn(root, [based], { "a.txt": text({ 1: "ours" }) });
    const theirs = commitOn(root, [based], { "a.txt": text({ 1: "theirs" }) });
    const signal = AbortSignal.timeout(300);
    await assert.rejects(probe(repository, ours, theirs, { signal }), { code: "CANCELLED" });
  },
);

test("what is no commit is refused before git sees it", async (t) => {
  const { repository, first } = await makeRepository(t);
  await assert.rejects(probe(repository, first, "--help"), { code: "INVALID" });
  await assert.rejects(probeAll(repository, [[first, `${first}\nx y`]]), { code: "INVALID" });
  await assert.rejects(probe(repository, first, "0".repeat(40)));
});

test("a merge driver with = in its name is refused", async (t) => {
  const { root, first, repository } = await makeRepository(t, { untouched: false });
  git(root, "config", "merge.a=b.driver", "true");
  const [ours, theirs] = ["1", "2"].map((line) => commitOn(root, [first], { "a.txt": line }));
  await assert.rejects(probe(repository, ours, theirs), { code: "INVALID" });
  await assert.rejects(probeAll(repository, [[ours, theirs]]), { code: "INVALID" });
});

test("worktrees of merges whose process has ended are removed, and no folder that has another name", async (t) => {
  const { root, first } = await makeRepository(t);
  const ours = commitOn(root, [first], { "a.txt": "ours\n" });
  const theirs = commitOn(root, [first], { "b.txt": "theirs\n" });
  const { pid } = spawnSync("true");
  const left = path.join(temporaryFolder(t), `tap-scratch-${pid}-left`);
  git(root, "worktree", "add", "--quiet", "--detach", "--lock", left);
  const others = temporaryFolder(t);
  write(others, { "mine.txt": "mine\n" });
  const admin = path.join(root, ".git", "worktrees", `tap-scratch-${pid}-forged`);
  fs.cpSync(path.join(path.dirname(admin), path.basename(left)), admin, { recursive: true });
  fs.writeFileSync(path.join(admin, "gitdir"), `${others}/.git\n`);
  const scratch = await openRepository(root, { merges: "scratch" });
  assert.ok((await probe(scratch, ours, theirs)).tree);
  assert.equal(fs.existsSync(left), false);
  assert.equal(fs.readFileSync(path.join(others, "mine.txt"), "utf8"), "mine\n");
});
