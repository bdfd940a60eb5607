// The setup of a plan: it runs for each node, and what it leaves is no work of the node's.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { waitFor } from "../../support/wait.mjs";
import { checkoutOf, flagFile, plansRig, typeCommand } from "./plans-rig.mjs";

const posix = { skip: process.platform === "win32" };
const SETUP = "echo set > set.txt; echo setup >> a.txt; rm b.txt; ln -s /nowhere node_modules";

/** @param {any} rig @param {string} planId */
async function endsOf({ ended }, planId) {
  const { nodes } = await ended(planId);
  return Object.fromEntries(nodes.map((/** @type {any} */ one) => [one.id, one]));
}

/** What the node's own commits have changed. @param {any} rig @param {string} planId @param {string} id */
const changedBy = ({ git }, planId, id) =>
  git("diff", "--name-status", "main", `refs/tap/${planId}/${id}/1`)
    .replaceAll("\t", " ")
    .split("\n");

test("what the setup leaves is neither committed nor evidence of work", posix, async (t) => {
  const rig = await plansRig(t);
  const { repo, git, create } = rig;
  const before = checkoutOf(repo);
  const isSet = "test -f set.txt && grep -q setup a.txt && ! test -e b.txt";
  const planId = await create({
    ...{ setup: SETUP, maxParallel: 1, targetBranch: "out" },
    nodes: [
      { id: "idle", work: isSet },
      { id: "allowed", work: isSet, expectsNoChanges: true },
      { id: "works", work: `${isSet} && echo mine > mine.txt`, postchecks: "test -f mine.txt" },
      { id: "edits", work: `${isSet} && echo mine >> a.txt` },
      {
        id: "commits",
        work: `${isSet} && echo x > x.txt && git add --all && git commit --quiet -m x`,
      },
      {
        id: "next",
        dependencies: ["works"],
        work: `${isSet} && test -f mine.txt && echo n > n.txt`,
      },
    ],
  });
  const of = await endsOf(rig, planId);
  assert.deepEqual([of.idle.status, of.idle.phase], ["failed", "commit"], of.idle.error);
  assert.match(of.idle.error, /no evidence of work/);
  for (const id of ["allowed", "works", "edits", "commits", "next"]) {
    assert.equal(of[id].status, "succeeded", `${id}: ${of[id].error}`);
  }
  assert.deepEqual(changedBy(rig, planId, "works"), ["A mine.txt"]);
  assert.deepEqual(changedBy(rig, planId, "edits"), ["M a.txt"]);
  assert.equal(git("show", `refs/tap/${planId}/edits/1:a.txt`), "a\nsetup\nmine");
  assert.deepEqual(changedBy(rig, planId, "commits"), ["A x.txt"]);
  assert.deepEqual(changedBy(rig, planId, "next"), ["A mine.txt", "A n.txt"]);
  assert.equal(git("ls-tree", "--name-only", "out"), "a.txt\nb.txt\nc.txt\nmine.txt\nn.txt\nx.txt");
  assert.deepEqual(checkoutOf(repo), before);
});

test("a leaf is checked as it lands, without what the setup has changed", posix, async (t) => {
  const rig = await plansRig(t);
  const planId = await rig.create({
    ...{ setup: SETUP, targetBranch: "out" },
    nodes: [
      {
        id: "a",
        work: "echo mine > mine.txt",
        postchecks: "test -f b.txt && ! grep setup a.txt && test -f mine.txt && test -f set.txt",
      },
    ],
  });
  const { a } = await endsOf(rig, planId);
  assert.equal(a.status, "succeeded", a.error);
});

test(
  "hosts that are killed in the setup and behind it: it is still no work of the node",
  posix,
  async (t) => {
    const rig = await plansRig(t, { processes: true });
    const { repo, create, hostPid } = rig;
    const at = (/** @type {string} */ name) => flagFile(repo, name);
    const waits = (/** @type {string} */ name) =>
      `echo x >> ${at(name)}; until test -e ${at(`${name}-open`)}; do sleep 0.05; done`;
    const times = (/** @type {string} */ name) =>
      fs.existsSync(at(name)) ? fs.readFileSync(at(name), "utf8").trim().split("\n").length : 0;
    const before = checkoutOf(repo);
    const planId = await create({
      setup: `${SETUP}; ${waits("setup")}`,
      nodes: [
        { id: "idle", prechecks: waits("checks"), work: "test -f set.txt" },
        {
          id: "works",
          prechecks: waits("checks"),
          work: "test -f set.txt && echo mine > mine.txt",
        },
      ],
    });
    const kill = async (/** @type {string} */ name, /** @type {number} */ count) => {
      await waitFor(() => times(name) === count);
      process.kill(await hostPid(), "SIGKILL");
    };
    await kill("setup", 2);
    await waitFor(() => times("setup") === 4);
    fs.writeFileSync(at("setup-open"), "");
    await kill("checks", 2);
    await waitFor(() => times("checks") === 4);
    fs.writeFileSync(at("checks-open"), "");
    const of = await endsOf(rig, planId);
    assert.equal(times("setup"), 4, "a worktree that goes on is not set up again");
    assert.match(of.idle.error, /no evidence of work/);
    assert.equal(of.works.status, "succeeded", of.works.error);
    assert.deepEqual(changedBy(rig, planId, "works"), ["A mine.txt"]);
    assert.deepEqual(checkoutOf(repo), before);
  },
);

test("git of a plan finds filters on the PATH of the one who made it", async (t) => {
  const rig = await plansRig(t);
  const { repo, git, ended } = rig;
  const folder = path.join(repo, ".git", "programs");
  fs.mkdirSync(folder);
  fs.writeFileSync(path.join(folder, "to-upper"), "#!/bin/sh\nexec tr a-z A-Z\n", { mode: 0o755 });
  git("config", "filter.upper.clean", "to-upper");
  git("config", "filter.upper.required", "true");
  fs.writeFileSync(path.join(repo, ".git", "info", "attributes"), "*.up filter=upper\n");
  const plan = { name: "x", nodes: [{ id: "a", work: "echo made > a.up" }] };
  const type = (/** @type {string} */ as, /** @type {string} */ search) =>
    typeCommand(rig, { do: "create", as, plan, path: search });
  const { planId } = await type("paaaaaaaa", `${folder}:${process.env.PATH}`);
  assert.equal((await ended(planId)).status, "succeeded");
  assert.equal(git("show", `refs/tap/${planId}/a/1:a.up`), "MADE");
  const other = await type("pbbbbbbbb", String(process.env.PATH));
  assert.equal((await ended(other.planId)).status, "failed");
  const { error } = await rig.ask("get_copilot_node_failure_context", {
    ...{ planId: other.planId, nodeId: "a" },
  });
  assert.equal(error.code, "FILTER_FAILED");
});

test("programs of a node start in its cwd, which is a folder of the worktree", posix, async (t) => {
  const rig = await plansRig(t);
  const { repo, git, create, ask } = rig;
  fs.mkdirSync(path.join(repo, "packages/web"), { recursive: true });
  fs.writeFileSync(path.join(repo, "packages/web/own.txt"), "own\n");
  fs.symlinkSync("packages", path.join(repo, "link"));
  git("add", "--all");
  git("commit", "--quiet", "--message=packages");
  const cwd = "packages/web";
  const planId = await create({
    setup: "test -f a.txt",
    nodes: [
      { id: "web", cwd, prechecks: "test -f own.txt", work: "cp own.txt made.txt" },
      { id: "checked", cwd: "new", work: "true", dependencies: ["maker"], postchecks: "test -f y" },
      { id: "maker", work: "mkdir new && touch new/y" },
      { id: "gone", cwd: "nowhere", work: "true" },
      { id: "linked", cwd: "link/web", work: "touch made.txt" },
    ].map((node) => ({ expectsNoChanges: true, ...node })),
  });
  const of = await endsOf(rig, planId);
  for (const id of ["web", "checked"]) assert.equal(of[id].status, "succeeded", of[id].error);
  assert.deepEqual(changedBy(rig, planId, "web"), ["A packages/web/made.txt"]);
  const codes = ["gone", "linked"].map(async (nodeId) => {
    const { error } = await ask("get_copilot_node_failure_context", { planId, nodeId });
    return error.code;
  });
  assert.deepEqual(await Promise.all(codes), ["NO_FOLDER", "NOT_ALLOWED"]);
  assert.equal((await ask("get_copilot_node", { planId, nodeId: "web" })).config.cwd, cwd);
});
