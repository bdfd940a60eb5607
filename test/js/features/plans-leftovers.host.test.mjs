// What plans leave behind is told when the feature host starts and when a plan does, and never removed by itself.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { waitFor } from "../../support/wait.mjs";
import { plansRig } from "./plans-rig.mjs";

const DAY_S = 24 * 3600;
const NODES = [{ id: "a", work: "echo x > x.txt" }];

test("orphans are told at the start of a plan and of the host, once, and stay", async (t) => {
  const { repo, create, ended, hostPid, session, ask } = await plansRig(t);
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
