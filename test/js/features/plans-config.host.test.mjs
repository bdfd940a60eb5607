// `plans` of the user's config: places, worktrees beside the repository, and what each of them gets.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { parseConfig } from "../../../js/config/load.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { makeRepository, plansRig } from "./plans-rig.mjs";

const shell = { skip: process.platform === "win32" };

test(
  "worktrees are beside the repository, have what the config brings along, and go",
  shell,
  async (t) => {
    const folder = path.join(temporaryFolder(t), "r");
    fs.mkdirSync(folder);
    const { repo } = makeRepository(t, folder);
    fs.writeFileSync(path.join(repo, ".env"), "KEY=1\n");
    fs.writeFileSync(path.join(repo, ".git", "info", "exclude"), ".env\n");
    const plans = { worktrees: "beside", copy: [".env"], setup: "echo set up > set.txt" };
    const rig = await plansRig(t, { repo, config: { plans: { ...plans, maxWorkers: 1 } } });
    const { git, create, ended, ask } = rig;
    const work = (/** @type {string} */ name) =>
      `cat .env set.txt > ${name}; pwd >> ${name}; sleep 0.3`;
    const nodes = ["one", "two", "three"].map((id) => ({ id, work: work(`${id}.txt`) }));
    const planId = await create({
      targetBranch: "out",
      nodes: [...nodes, { id: "bad", work: "exit 1" }],
    });
    await ended(planId);
    const beside = path.join(path.dirname(repo), ".worktrees", "r");
    assert.equal(git("show", "out:one.txt"), `KEY=1\nset up\n${beside}/${planId}-one-1`);
    assert.equal(fs.existsSync(path.join(repo, ".worktrees")), false);
    const spans = [];
    for (const { id } of nodes) {
      const { attempts } = await ask("get_copilot_node_attempts", { planId, nodeId: id });
      const phase = attempts[0].phases.find((/** @type {any} */ one) => one.phase === "work");
      spans.push([phase.startedAt, phase.endedAt]);
    }
    spans.sort(([a], [b]) => a - b);
    for (const i of [1, 2]) assert.ok(spans[i][0] >= spans[i - 1][1], "one at a time");
    // A plan has its own say.
    const own = await create({
      setup: "true",
      copy: [],
      nodes: [{ id: "a", work: "! test -e .env; ls > ls" }],
    });
    assert.equal((await ended(own)).status, "succeeded");
    for (const id of [planId, own]) await ask("delete_copilot_plan", { planId: id });
    assert.deepEqual(fs.readdirSync(beside), []);
  },
);

test("mistakes in `plans` are named with their place", () => {
  const problems = (/** @type {object} */ plans) => {
    const result = parseConfig(JSON.stringify({ plans }), "config.json", "user");
    return result.ok === false ? result.problems.map(({ text }) => text).join("\n") : "";
  };
  assert.equal(
    problems({ maxWorkers: 1, maxAgents: 256, workerMemory: 5, worktrees: "inside" }),
    "",
  );
  assert.equal(problems({ copy: ["a"], link: [], setup: "x", gitignore: false }), "");
  assert.match(problems({ maxWorker: 1 }), /unknown field "maxWorker".*maxWorkers/);
  assert.match(problems({ maxAgents: 0 }), /plans\.maxAgents: .* from 1 to 256/);
  assert.match(problems({ maxWorkers: "2" }), /plans\.maxWorkers: /);
  assert.match(problems({ worktrees: "above" }), /plans\.worktrees: .*"inside", "beside"/);
  assert.match(problems({ copy: "x" }), /plans\.copy: expected a list/);
  assert.match(problems({ gitignore: 1 }), /plans\.gitignore: /);
});
