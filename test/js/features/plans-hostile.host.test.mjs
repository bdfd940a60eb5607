// Nodes that do what they should not, and hooks of the user: each has a stated outcome, the others go on, nothing runs
// on, and the checkout is as before.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../support/temporary.mjs";
import { waitFor } from "../../support/wait.mjs";
import { checkoutOf, findCommands, flagFile, makeRepository, plansRig } from "./plans-rig.mjs";

const posix = { skip: process.platform === "win32" };
const isRoot = process.platform === "linux" && process.getuid?.() === 0;

test(
  "commands that delete, fork, flood, hang or commit: each node ends as it is stated",
  posix,
  async (t) => {
    const { repo, git, create, ended, ask, host } = await plansRig(t);
    fs.writeFileSync(path.join(repo, ".git", "config.lock"), "");
    const before = checkoutOf(repo);
    const left = `sleep 300.${process.pid}`;
    const planId = await create({
      maxParallel: 8,
      nodes: [
        { id: "gone", work: 'rm -rf "$PWD"' },
        { id: "gitless", work: "rm .git; echo x > x.txt" },
        { id: "own", work: "echo x > own.txt; git add own.txt; git commit --quiet --message=mine" },
        { id: "forks", work: `${left} & echo x > forks.txt` },
        { id: "loud", work: "head -c 70000000 /dev/zero; sleep 300" },
        { id: "fast", work: "head -c 70000000 /dev/zero; echo x > fast.txt" },
        { id: "endless", work: "sleep 300", timeout: "1s" },
        { id: "renames", work: "git mv a.txt A.txt" },
      ],
    });
    const { nodes } = await ended(planId);
    const of = Object.fromEntries(nodes.map((/** @type {any} */ one) => [one.id, one]));
    const outcome = (/** @type {string} */ id) => [of[id].status, of[id].phase];
    // Its folder and the .git in it cannot be deleted inside.
    assert.deepEqual(outcome("gone"), ["failed", "work"]);
    assert.equal(of.gitless.status, "succeeded");
    assert.equal(of.own.status, "succeeded");
    assert.equal(of.forks.status, "succeeded");
    assert.deepEqual(findCommands(left), []);
    for (const id of ["loud", "fast"]) {
      assert.deepEqual(outcome(id), ["failed", "work"]);
      assert.match(of[id].error, /wrote more than the 64 MB that its log takes/);
      const log = path.join(host.files.home, "tap", "plans", planId, `${id}-1-work.log`);
      assert.ok(fs.statSync(log).size <= 64 * 1024 * 1024 + 4096, `${fs.statSync(log).size}`);
    }
    assert.match(of.endless.error, /was ended after 1 s\. A longer `timeout` gives it more/);
    assert.equal(of.renames.status, "succeeded");
    assert.equal(
      git("ls-tree", "--name-only", `refs/tap/${planId}/renames/1`).split("\n")[0],
      "A.txt",
    );
    assert.deepEqual(checkoutOf(repo), before);
    // From the start, in a worktree of its own, the one whose folder has gone has the next try.
    await ask("retry_copilot_node", { planId, nodeId: "gone", from: "start" });
    assert.equal((await ask("get_copilot_node", { planId, nodeId: "gone" })).attempt ?? 2, 2);
    await ended(planId);
  },
);

test(
  "a worktree that is deleted before, between and after phases stops its own node at most",
  posix,
  async (t) => {
    const { repo, git, create, ended, ask } = await plansRig(t);
    const before = checkoutOf(repo);
    const mark = flagFile(repo, "early");
    const once = `[ -e '${mark}' ] || { touch '${mark}'; rm -rf "$PWD"; }`; // fails at the folder itself
    const planId = await create({
      ...{ maxParallel: 8, targetBranch: "out" },
      nodes: [
        { id: "early", prechecks: once, work: "echo x > early.txt" },
        { id: "gitless", prechecks: "rm .git", work: "git commit --allow-empty --message=mine" },
        { id: "late", work: "echo x > late.txt", postchecks: 'rm -rf "$PWD" || true' },
        { id: "other", work: "sleep 2; echo x > other.txt" },
        { id: "daemon", work: "setsid sh -c 'cd /; sleep 5' & echo x > daemon.txt" },
      ],
    });
    const outcomes = async () => {
      const { nodes } = await ended(planId);
      return Object.fromEntries(nodes.map((/** @type {any} */ one) => [one.id, one]));
    };
    const of = await outcomes();
    for (const id of ["early", "gitless"]) {
      assert.deepEqual([of[id].status, of[id].phase], ["failed", "prechecks"]);
    }
    for (const id of ["late", "other", "daemon"]) assert.equal(of[id].status, "succeeded");
    assert.match(git("ls-tree", "--name-only", "out"), /daemon\.txt\nlate\.txt\nother\.txt/);
    await ask("retry_copilot_node", { planId, nodeId: "early", from: "start" });
    const { early } = await outcomes();
    assert.equal(early.status, "succeeded", JSON.stringify(early));
    assert.deepEqual(checkoutOf(repo), before);
  },
);

test("pipes in the place of files hold up nobody else", posix, async (t) => {
  const { create, ended } = await plansRig(t);
  // As many as there are threads for files, of each kind.
  const evidence = [1, 2, 3, 4].map((n) => ({
    id: `evidence-${n}`,
    work: `mkdir -p .orchestrator/evidence; mkfifo .orchestrator/evidence/evidence-${n}.json`,
  }));
  const links = [1, 2, 3, 4].map((n) => ({ id: `link-${n}`, work: "rm .git; mkfifo .git" }));
  const planId = await create({ maxParallel: 16, nodes: [...evidence, ...links] });
  const other = await create({ nodes: [{ id: "a", work: "echo x > x.txt" }] });
  assert.equal((await ended(other)).status, "succeeded");
  const { nodes } = await ended(planId);
  for (const { id, status, error } of nodes) {
    assert.equal(status, "failed", id);
    if (id.startsWith("evidence")) assert.match(error, /no evidence of work/);
  }
});

test(
  "the user's hooks: one that refuses is quoted, what one edits is in the commit",
  posix,
  async (t) => {
    const { repo, git } = makeRepository(t);
    const hook = path.join(repo, ".git", "hooks", "pre-commit");
    const lines = [
      "#!/bin/sh",
      'if [ -f refused.txt ]; then echo "nobody commits that" >&2; exit 1; fi',
      "if [ -f edited.txt ]; then echo more >> edited.txt; git add edited.txt; fi",
    ];
    fs.mkdirSync(path.dirname(hook), { recursive: true });
    fs.writeFileSync(hook, lines.join("\n"), { mode: 0o755 });
    const { create, ended } = await plansRig(t, { repo });
    const before = checkoutOf(repo);
    const planId = await create({
      nodes: [
        { id: "refused", work: "echo x > refused.txt" },
        { id: "edited", work: "echo x > edited.txt" },
      ],
    });
    const { nodes } = await ended(planId);
    const of = Object.fromEntries(nodes.map((/** @type {any} */ one) => [one.id, one]));
    assert.match(of.refused.error, /nobody commits that/);
    assert.equal(of.edited.status, "succeeded");
    assert.equal(git("show", `refs/tap/${planId}/edited/1:edited.txt`), "x\nmore");
    assert.deepEqual(checkoutOf(repo), before);
  },
);

test(
  "a disk that is full when a node commits: it fails with that, and is retried with room",
  { skip: !isRoot },
  async (t) => {
    const folder = temporaryFolder(t);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=96m", "tap-test", folder]);
    t.after(() => execFileSync("umount", ["--lazy", folder]));
    const { repo } = makeRepository(t, folder);
    const { create, ended, ask } = await plansRig(t, { repo });
    const before = checkoutOf(repo);
    // The file fits, and its object beside it does not.
    const work = `head -c 20000000 /dev/urandom > big.bin; mkdir .orchestrator; head -c 200000000 /dev/zero > .orchestrator/filler || true`;
    const planId = await create({ targetBranch: "feature/x", nodes: [{ id: "big", work }] });
    const filler = path.join(repo, ".worktrees", `${planId}-big-1`, ".orchestrator", "filler");
    const { nodes } = await ended(planId);
    assert.deepEqual([nodes[0].status, nodes[0].phase], ["failed", "commit"]);
    assert.match(nodes[0].error, /disk|space/i);
    fs.rmSync(filler);
    await ask("retry_copilot_node", { planId, nodeId: "big" });
    const status = await ended(planId);
    assert.equal(status.status, "succeeded", JSON.stringify(status));
    assert.deepEqual(checkoutOf(repo), before);
  },
);

test("a disk that is full stops plans, is told, and they go on once it is not", async (t) => {
  const { repo, git, create, ended, hostPid, session } = await plansRig(t, { processes: true });
  const before = checkoutOf(repo);
  const pid = await hostPid();
  const limit = (/** @type {string} */ size) =>
    spawnSync("prlimit", ["--pid", String(pid), `--fsize=${size}`]).status === 0;
  const told = (/** @type {RegExp} */ what) =>
    waitFor(() => session.events.find(({ text }) => what.test(text)), {
      what: () => JSON.stringify(session.events),
    });
  const go = flagFile(repo, "go");
  const nodes = [
    { id: "a", work: `until test -f ${go}; do sleep 0.05; done; echo a > a1.txt` },
    { id: "b", dependencies: ["a"], work: "echo b > b1.txt" },
  ];
  const id = await create({ targetBranch: "out", nodes });
  if (!limit("1024:unlimited")) return t.skip("this system has no prlimit");
  fs.writeFileSync(go, "");
  const { text } = await told(/plans stand still/);
  assert.match(text, /their journal cannot be written: .*\. Free some space on its disk/);
  limit("unlimited:unlimited");
  await told(/plans go on/);
  const { status } = await ended(id);
  assert.deepEqual([status, checkoutOf(repo)], ["succeeded", before]);
  assert.match(git("ls-tree", "--name-only", "out"), /a1\.txt[^]*b1\.txt/);
});

test("a damaged journal is set aside, and one line of the timeline names it", async (t) => {
  const home = temporaryFolder(t);
  const file = path.join(home, "tap", "plans.sqlite");
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  fs.writeFileSync(file, "x".repeat(9000), { mode: 0o600 });
  const { session, create, ended } = await plansRig(t, { home });
  const lines = () =>
    session.events.filter(({ type, text }) => type === "timeline" && /plans\.sqlite/.test(text));
  await waitFor(() => lines().length > 0);
  const [name] = fs.readdirSync(path.dirname(file)).filter((one) => /corrupt-/.test(one));
  assert.ok(lines()[0].text.includes(name), lines()[0].text);
  const planId = await create({ nodes: [{ id: "a", work: "true", expectsNoChanges: true }] });
  assert.equal((await ended(planId)).status, "succeeded");
  assert.equal(lines().length, 1);
});

test("while the journal's disk is full, a call is refused with a code, and later it works", async (t) => {
  const home = fs.realpathSync(temporaryFolder(t));
  const disk = ["-t", "tmpfs", "-o", "size=24m,mode=700", "tap-test", home];
  if (spawnSync("mount", disk).status !== 0) return t.skip("this process may not mount");
  t.after(() => spawnSync("umount", ["--lazy", home]));
  const { ask, create, ended } = await plansRig(t, { home });
  const nodes = [{ id: "a", work: "true", expectsNoChanges: true }];
  assert.equal((await ended(await create({ nodes }))).status, "succeeded");
  const ballast = path.join(home, "ballast");
  const fill = () => fs.writeFileSync(ballast, Buffer.alloc(30_000_000), { flag: "a" });
  assert.throws(fill, { code: "ENOSPC" });
  // The log of the journal has room for a few more entries.
  const paused = { name: "x", startPaused: true, nodes };
  const refused = await waitFor(async () => {
    const made = await ask("create_copilot_plan", paused);
    return made.planId === undefined && made.text;
  });
  assert.match(refused, /JOURNAL_UNWRITABLE/);
  assert.match((await ask("create_copilot_plan", paused)).text, /JOURNAL_UNWRITABLE/);
  fs.rmSync(ballast);
  await waitFor(async () => (await ask("create_copilot_plan", paused)).planId);
});
