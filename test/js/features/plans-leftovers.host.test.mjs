// What plans leave behind is told when the feature host starts and when a plan does, and never removed by itself.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { waitFor } from "../../support/wait.mjs";
import { checkoutOf, plansRig, typeCommand } from "./plans-rig.mjs";

const DAY_S = 24 * 3600;
const NODES = [{ id: "a", work: "echo x > x.txt" }];

test("orphans are told at the start of a plan and of the host, once, and stay", async (t) => {
  const { repo, create, ended, hostPid, session, ask } = await plansRig(t, { processes: true });
  const told = () =>
    session.events.filter(({ type, text }) => type === "timeline" && /belong/.test(text));
  await ended(await create({ nodes: NODES }));
  const all = path.join(repo, ".worktrees");
  const lost = path.join(all, "lost");
  fs.mkdirSync(lost);
  fs.writeFileSync(path.join(lost, "mine.txt"), "mine\n");
  assert.equal(told().length, 0);
  for (let i = 0; i < 2; ++i) await ended(await create({ nodes: NODES }));
  await waitFor(() => told().length === 1, { what: () => JSON.stringify(session.events) });
  assert.match(
    told()[0].text,
    /1 folder belongs to no plan in .*\.worktrees \(lost\)\. .*plan clean/,
  );
  process.kill(await hostPid(), "SIGKILL");
  await ask("list_copilot_plans");
  await waitFor(() => told().length === 2, { what: () => JSON.stringify(session.events) });
  assert.equal(fs.readFileSync(path.join(lost, "mine.txt"), "utf8"), "mine\n");
});

test("plans of two homes work in one repository, and land on one branch", async (t) => {
  const one = await plansRig(t);
  const other = await plansRig(t, { repo: one.repo });
  const before = checkoutOf(one.repo);
  const names = ["a", "b", "c", "d"];
  const planOf = (/** @type {string} */ by) => ({
    targetBranch: "both",
    nodes: names.map((id) => ({ id, work: `sleep 0.2; echo ${by} > ${by}-${id}.txt` })),
  });
  const rigs = [one, other];
  const ids = await Promise.all(rigs.map((rig, i) => rig.create(planOf(`home${i}`))));
  // While plans of the one work, the other looks around.
  for (const rig of rigs) await rig.create({ startPaused: true, nodes: NODES });
  const all = await Promise.all(rigs.map((rig, i) => rig.ended(ids[i])));
  for (const { status } of all) assert.equal(status, "succeeded", JSON.stringify(all));
  const files = one.git("ls-tree", "--name-only", "both").split("\n");
  for (const i of [0, 1]) for (const id of names) assert.ok(files.includes(`home${i}-${id}.txt`));
  const told = rigs.flatMap(({ session }) =>
    session.events.filter(({ text }) => /belong/.test(text)),
  );
  assert.deepEqual([told, checkoutOf(one.repo)], [[], before]);
});

test("snapshots that are older than 30 days are let go of when a plan starts", async (t) => {
  const { git, repo, create } = await plansRig(t);
  const keep = (/** @type {string} */ node, /** @type {number} */ days) => {
    const date = `${Math.floor(Date.now() / 1000) - days * DAY_S} +0000`;
    const env = { ...process.env, GIT_COMMITTER_DATE: date, GIT_AUTHOR_DATE: date };
    const args = ["commit-tree", "HEAD^{tree}", "-m", "kept"];
    const commit = execFileSync("git", args, { cwd: repo, env, encoding: "utf8" }).trim();
    git("update-ref", `refs/tap/kept/pabcdefgh/${node}`, commit);
  };
  keep("old", 31);
  keep("young", 29);
  await create({ startPaused: true, nodes: NODES });
  const kept = () => git("for-each-ref", "--format=%(refname)", "refs/tap/kept");
  await waitFor(() => !kept().includes("old"), { what: kept });
  assert.equal(kept(), "refs/tap/kept/pabcdefgh/young");
});

test("a plan is deleted beside a folder that has the name of a checkout of no node", async (t) => {
  const rig = await plansRig(t);
  const planId = await rig.create({ nodes: NODES });
  await rig.ended(planId);
  const foreign = path.join(rig.repo, ".worktrees", `${planId}-nobody-1-checks`);
  fs.mkdirSync(foreign);
  const deleted = await typeCommand(rig, { do: "delete_copilot_plan", args: { planId } });
  assert.deepEqual(deleted.stay ?? [], []);
  assert.equal(fs.existsSync(foreign), true);
});
