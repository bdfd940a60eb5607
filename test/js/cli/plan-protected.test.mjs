// Branches that configs protect: no plan is made for them, and none lands on them.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { tapJson } from "../../support/cli-process.mjs";
import { gate, setUp } from "./plan-rig.mjs";

const idIn = (/** @type {string} */ out) => String(/^plan (p\w{8}) /m.exec(out)?.[1]);
const planFor = (/** @type {string} */ targetBranch, work = "echo x > x.txt") => ({
  ...{ name: "x", targetBranch, nodes: [{ id: "a", work }] },
});

test("a plan for a protected branch is refused when it is made, checked and imported", async (t) => {
  const { plan, file, git, repo, at } = await setUp(t, {
    config: { protectedBranches: ["main", "release/*"] },
  });
  const project = path.join(repo, "tap.config.json");
  fs.writeFileSync(project, JSON.stringify({ protectedBranches: ["prod/**"] }));
  for (const target of ["main", "Main", "release/1", "prod/a/b"]) {
    for (const action of ["run", "validate"]) {
      const { code, err } = await plan(action, file(planFor(target)));
      assert.match(err, new RegExp(`The config protects "${target}" \\(protectedBranches\\)`));
      assert.equal(code, 1);
    }
  }
  assert.match((await plan("list")).out, /There is no plan/);
  assert.match((await plan("run", file(planFor("release/1/x")))).out, /: succeeded/);
  const paused = { ...planFor("later"), startPaused: true };
  const id = idIn((await plan("run", file(paused), "--detach")).out);
  const { value } = await tapJson(["plan", "export", id], at);
  await plan("cancel", id, "--yes");
  await plan("delete", id, "--yes");
  fs.writeFileSync(project, JSON.stringify({ protectedBranches: ["later"] }));
  assert.match((await plan("import", file(value, "e.json"))).err, /protects "later"/);
  fs.writeFileSync(project, JSON.stringify({ protectedBranches: ["refs/heads/main", 7] }));
  const broken = await plan("run", file(planFor("other")));
  assert.match(broken.err, /which branches are protected is not known, .*tap\.config\.json:1:/);
  const { targetBranch: _, ...free } = planFor("other");
  assert.match((await plan("run", file(free))).out, /: succeeded/, "it lands nowhere");
  assert.equal(git("rev-list", "--count", "main"), "1");
});

test("one that is protected meanwhile is not landed on", async (t) => {
  const { plan, file, git, repo, detached } = await setUp(t);
  const { wait, open } = gate();
  const id = await detached(planFor("feature/x", `${wait}; echo x > x.txt`));
  const project = path.join(repo, "tap.config.json");
  fs.writeFileSync(project, JSON.stringify({ protectedBranches: ["feature/*"] }));
  open();
  for (let out = ""; !/: failed\n/.test(out);) out = (await plan("show", id)).out;
  assert.match((await plan("show", id)).out, /failed \(merge-ri\)\n.*protects "feature\/x"/);
  assert.equal(git("for-each-ref", "refs/heads/feature"), "");
  fs.rmSync(project);
  await plan("retry", `${id}/a`);
  for (let out = ""; !/: succeeded\n/.test(out);) out = (await plan("show", id)).out;

  // What could not be landed on a checkout with changes.
  git("checkout", "--quiet", "feature/x");
  fs.writeFileSync(path.join(repo, "a.txt"), "mine\n");
  const dirty = await plan("run", file(planFor("feature/x", "echo y > y.txt")));
  assert.match(dirty.out, /copilot-tap plan land/);
  git("checkout", "--quiet", "a.txt");
  fs.writeFileSync(project, JSON.stringify({ protectedBranches: ["feature/*"] }));
  const unlanded = idIn(dirty.out);
  assert.match((await plan("land", unlanded)).err, /protects "feature\/x"/);
  fs.rmSync(project);
  assert.match((await plan("land", unlanded)).out, /has landed/);
});
