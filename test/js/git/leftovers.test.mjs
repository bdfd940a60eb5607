// What plans leave behind in a repository: looked for beside plans that work, removed, brought back; and commits of a
// plan that comes from elsewhere.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { importRefs, missingOnTarget, missingCommits } from "../../../js/git/import-refs.mjs";
import { markDeleted, restoreArchive } from "../../../js/git/archive.mjs";
import { cleanOrphan, searchOrphans, removeWorktree } from "../../../js/git/cleanup.mjs";
import { openRepository } from "../../../js/git/repository.mjs";
import { Worktrees } from "../../../js/git/worktrees.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { commitOn, git, makeRepository, NONCE, write } from "./rig.mjs";

const PLAN = "p23456789";
const none = async () => undefined;

test("what a plan has recorded, or may be making, is no orphan", async (t) => {
  const { repository, worktrees, wanted, root } = await makeRepository(t);
  const made = await worktrees.add({ ...wanted("a"), plan: PLAN });
  const recorded = [{ path: made.path, nonce: NONCE }];
  const search = (/** @type {any} */ known) => searchOrphans(repository, async () => known);
  assert.deepEqual(await search(recorded), []);
  assert.deepEqual(await search("live"), []);
  const [orphan, ...rest] = await search(undefined);
  assert.deepEqual([orphan.path, orphan.kind, rest], [made.path, "forgotten", []]);
  assert.ok(orphan.bytes > 0 && orphan.complete);
  // Recorded after the folders were looked at, and before they are looked at again.
  let looks = 0;
  const late = await searchOrphans(repository, async () => (looks++ > 0 ? recorded : undefined));
  assert.deepEqual([late, looks], [[], 2]);
  for (const known of [recorded, "live"]) {
    const stays = await cleanOrphan(repository, made.path, async () => /** @type {any} */ (known));
    assert.deepEqual([stays.removed, stays.code], [false, "NOT_OURS"]);
  }
  const outside = path.join(root, "a.txt");
  assert.equal((await cleanOrphan(repository, outside, none)).code, "NOT_OURS");
  write(made.path, { "mine.txt": "mine\n" });
  const { removed, kept } = await cleanOrphan(repository, made.path, none);
  assert.deepEqual([removed, kept?.ref], [true, `refs/tap/kept/orphans/${PLAN}-a-1`]);
  assert.deepEqual(await search(undefined), []);
});

test("a worktree of another host's plan is that host's, as long as it has a record", async (t) => {
  const { worktrees, wanted, root } = await makeRepository(t);
  const records = temporaryFolder(t);
  const [ours, theirs] = ["ours", "theirs"].map((name) => path.join(records, name));
  fs.writeFileSync(theirs, "");
  const opened = (/** @type {string} */ owner) => openRepository(root, { owner });
  const there = new Worktrees(await opened(theirs));
  const made = await there.add({ ...wanted("a"), plan: PLAN });
  const [here, repository] = [await opened(ours), worktrees.repository];
  for (const one of [here, repository]) {
    assert.deepEqual(await searchOrphans(one, none), []);
    const { removed, code } = await cleanOrphan(one, made.path, none);
    assert.deepEqual([removed, code], [false, "NOT_OURS"]);
  }
  const kinds = async () => (await searchOrphans(here, none)).map(({ kind }) => kind);
  const [own] = await searchOrphans(there.repository, none);
  assert.equal(own.path, made.path);
  const next = { ...wanted("a", 2), plan: PLAN };
  await there.reuse(made, next, async () => false);
  assert.deepEqual(await kinds(), []);
  fs.rmSync(theirs);
  assert.deepEqual(await kinds(), ["forgotten"]);
});

test("a repository without worktrees is only looked at", async (t) => {
  const { repository, worktrees } = await makeRepository(t);
  const folder = await worktrees.folder();
  fs.rmdirSync(folder);
  assert.deepEqual(await searchOrphans(repository, none), []);
  assert.equal(fs.existsSync(folder), false);
});

test("a snapshot becomes a branch of its own, the same one the second time", async (t) => {
  const { repository, worktrees, wanted, root, first } = await makeRepository(t);
  const made = await worktrees.add(wanted());
  write(made.path, { "new.txt": "new\n" });
  const { kept } = await removeWorktree(worktrees, { ...made, known: [first] });
  git(root, "branch", "restored-p-n", first);
  const of = { plan: "p", node: "n" };
  const back = await restoreArchive(repository, of);
  assert.deepEqual(back, { branch: "restored-p-n-2", commit: kept?.commit });
  assert.deepEqual(await restoreArchive(repository, of), back);
  assert.equal(git(root, "show", "restored-p-n-2:new.txt"), "new");
  const folder = fs.realpathSync(temporaryFolder(t));
  const link = path.join(folder, "link");
  fs.symlinkSync(root, link);
  for (const to of [root, path.join(root, "x"), path.join(link, "x"), made.path]) {
    await assert.rejects(restoreArchive(repository, of, { to }), { code: "INVALID" });
  }
  const to = path.join(folder, "files");
  assert.equal((await restoreArchive(repository, of, { to })).folder, to);
  assert.equal(fs.readFileSync(path.join(to, "new.txt"), "utf8"), "new\n");
  await assert.rejects(restoreArchive(repository, { plan: "p", node: "x" }), {
    code: "NOTHING_KEPT",
  });
});

test("commits from elsewhere get their refs, or are missing", async (t) => {
  const { repository, root, first } = await makeRepository(t);
  const other = commitOn(root, [first], { "b.txt": "2\n" });
  const tree = git(root, "rev-parse", `${first}^{tree}`);
  const unknown = "1".repeat(40);
  assert.deepEqual(await missingCommits(repository, [first, unknown, tree, first]), [
    unknown,
    tree,
  ]);
  await assert.rejects(missingCommits(repository, ["--all"]), { code: "INVALID" });
  const made = [{ node: "a", attempt: 1, commit: other }];
  await importRefs(repository, PLAN, made);
  await importRefs(repository, PLAN, made);
  assert.equal(git(root, "rev-parse", `refs/tap/${PLAN}/a/1`), other);
  const moved = [{ node: "a", attempt: 1, commit: first }];
  await assert.rejects(importRefs(repository, PLAN, moved), (/** @type {any} */ error) => {
    assert.equal(error.code, "PLAN_ELSEWHERE");
    return /has refs\/tap\/p\w+\/a\/1 here, .* Delete it there first/.test(error.message);
  });
  await markDeleted(repository, PLAN);
  await importRefs(repository, PLAN, moved);
  assert.equal(git(root, "rev-parse", `refs/tap/${PLAN}/a/1`), first);
  assert.equal(git(root, "rev-parse", `refs/tap/${PLAN}-1/a/1`), other);
});

test("a plan that comes back takes nothing of its earlier run for its own, and all of that is kept", async (t) => {
  const { repository, root, first } = await makeRepository(t);
  const other = commitOn(root, [first], { "b.txt": "2\n" });
  const refs = () => git(root, "for-each-ref", "--format=%(refname) %(objectname)", "refs/tap");
  const ran = ["a/1", "b/1", "b/2", "integration", "result"];
  for (const name of ran) git(root, "update-ref", `refs/tap/${PLAN}/${name}`, other);
  const made = [{ node: "b", attempt: 1, commit: first }];
  await markDeleted(repository, PLAN);
  const undo = await importRefs(repository, PLAN, made);
  const own = refs()
    .split("\n")
    .filter((line) => line.startsWith(`refs/tap/${PLAN}/`));
  assert.deepEqual(own, [`refs/tap/${PLAN}/b/1 ${first}`]);
  for (const name of ran) assert.match(refs(), new RegExp(`refs/tap/${PLAN}-1/${name} ${other}`));
  assert.match(refs(), new RegExp(`refs/tap/deleted/${PLAN}-1 `));
  await undo();
  for (const name of ran) assert.match(refs(), new RegExp(`refs/tap/${PLAN}/${name} ${other}`));
});

test("a plan that comes back makes what is to land again, and a plan of another home keeps its refs", async (t) => {
  const { repository, root, first, wanted } = await makeRepository(t);
  const other = commitOn(root, [first], { "b.txt": "2\n" });
  const names = ["integration", "result"];
  for (const name of names) git(root, "update-ref", `refs/tap/${PLAN}/${name}`, other);
  await importRefs(repository, PLAN, []);
  assert.equal(git(root, "for-each-ref", `refs/tap/${PLAN}`), "");
  for (const name of names)
    assert.equal(git(root, "rev-parse", `refs/tap/${PLAN}-1/${name}`), other);
  const records = path.join(temporaryFolder(t), "plans.sqlite");
  fs.writeFileSync(records, "");
  const theirs = await openRepository(root, { owner: records });
  await new Worktrees(theirs).add({ ...wanted("one"), plan: PLAN, commit: first });
  const elsewhere = { code: "PLAN_ELSEWHERE", message: /has the worktree p\w+-one-1 here/ };
  await assert.rejects(importRefs(repository, PLAN, []), elsewhere);
  fs.rmSync(records);
  await importRefs(repository, PLAN, []);
});

test("which commits a branch does not have", async (t) => {
  const { repository, root, first } = await makeRepository(t);
  const [one, two] = ["1", "2"].map((text) => commitOn(root, [first], { "b.txt": text }));
  const unknown = "1".repeat(40);
  const all = [first, one, two, unknown];
  assert.deepEqual(await missingOnTarget(repository, one, all), new Set([unknown, two]));
  assert.deepEqual(await missingOnTarget(repository, undefined, all), new Set(all));
});
