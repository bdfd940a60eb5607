// What the tools of plans answer: logs, attempts, waits, and a plan that is deleted right away.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { listAttempts } from "../../../js/features/plans/views.mjs";
import { waitFor } from "../../support/wait.mjs";
import { plansRig, flagFile } from "./plans-rig.mjs";

const shell = { skip: process.platform === "win32" };

test(
  "each phase has a log and an exit code; without a phase all of them are told",
  shell,
  async (t) => {
    const { home, repo, create, ended, ask } = await plansRig(t);
    const flag = flagFile(repo, "may");
    const planId = await create({
      targetBranch: "out",
      ...{ copy: [".env"], setup: "echo set up" },
      nodes: [
        {
          ...{ id: "a", work: "echo hello; echo a > new.txt" },
          ...{ timeout: "90s", retry: { max: 0, from: "start" } },
          postchecks: `echo checked; test -f '${flag}'`,
        },
        { id: "none", work: { type: "process", executable: "no-such-program" } },
      ],
    });
    const { nodes } = await ended(planId);
    assert.equal(nodes[1].error, `The program "no-such-program" is not on the plan's PATH.`);
    const logs = (/** @type {object} */ more) =>
      ask("get_copilot_node_logs", { planId, nodeId: "a", ...more });
    const all = await logs({});
    assert.match(
      all.text,
      /^== merge-fi\nset up\nbegins with \w+ in .*\nnot brought along: \.env \(your checkout .*\)\n== work\nhello\n== commit\ncommit \w+: 1 file, \+1 -0\n== postchecks\nset up\nchecked\n$/,
    );
    assert.deepEqual(all.phases, ["merge-fi", "work", "commit", "postchecks"]);
    assert.equal((await logs({ phase: "work" })).text, "hello\n");
    fs.writeFileSync(flag, "");
    await ask("retry_copilot_node", { planId, nodeId: "a" });
    await ended(planId);
    // What the second attempt skipped, the first one has printed.
    assert.match(
      (await logs({})).text,
      /\n== work\nhello\n[^]*\n== merge-ri\nlanded as \w+: 1 file/,
    );
    assert.equal((await logs({ phase: "work" })).text, "hello\n");
    assert.equal((await logs({ phase: "work", attempt: 2 })).text, "");
    const { attempts } = await ask("get_copilot_node_attempts", { planId, nodeId: "a" });
    const checks = attempts[0].phases.at(-1);
    assert.deepEqual([checks.phase, checks.status, checks.exitCode], ["postchecks", "failed", 1]);
    const file = attempts[0].logs.replace("*", "work");
    assert.equal(file, path.join(home, "tap", "plans", planId, "a-1-work.log"));
    assert.equal(fs.readFileSync(file, "utf8"), "hello\n");
    const { phaseMetrics, config } = await ask("get_copilot_node", { planId, nodeId: "a" });
    assert.equal(config.timeout, 90);
    assert.equal(
      phaseMetrics.find((/** @type {any} */ one) => one.phase === "postchecks").exitCode,
      0,
    );
  },
);

test("an attempt says what its agents have used", () => {
  const used = (/** @type {number} */ tokens) => ({
    usage: { aiCredits: 1.5, apiMs: 10, models: [{ model: "m", input: tokens, output: 1 }] },
  });
  const phases = [
    { phase: "prechecks", status: "succeeded", detail: { exitCode: 0 } },
    { phase: "work", status: "succeeded", detail: used(100) },
    { phase: "postchecks", status: "failed", detail: used(20) },
  ];
  const attempts = [
    { attempt: 1, status: "failed", steps: [], phases },
    { attempt: 2, status: "running", steps: [], phases: phases.slice(0, 2) },
    { attempt: 3, status: "running", steps: [], phases: [] },
  ];
  const plans = /** @type {any} */ ({ logs: "/logs" });
  const metrics = listAttempts(plans, "p1", { id: "a", attempts }).map(
    (/** @type {any} */ one) => one.metrics,
  );
  assert.equal(metrics[0].aiCredits, 3);
  assert.deepEqual(
    metrics[0].models.map((/** @type {any} */ one) => one.input),
    [100, 20],
  );
  assert.deepEqual([metrics[1], metrics[2]], [phases[1].detail.usage, undefined]);
});

test("a plan is deleted with its worktrees right after it has ended", shell, async (t) => {
  const { control, create, ended, ask, repo } = await plansRig(t);
  for (let i = 0; i < 3; i += 1) {
    const nodes = Array.from({ length: 6 }, (_, at) => ({ id: `n${at}`, work: "echo x > $$.txt" }));
    const planId = await create({ maxParallel: 6, nodes });
    await ended(planId);
    assert.deepEqual(await ask("delete_copilot_plan", { planId }), {
      ...{ planId, deleted: true, stay: [] },
    });
  }
  assert.deepEqual(fs.readdirSync(path.join(repo, ".worktrees")), []);
  const { holds } = await control.request("features.report", {});
  assert.deepEqual(holds, []);
});

test(
  "who waits for a change hears that the plan was paused, and pages nodes by name",
  shell,
  async (t) => {
    const { create, ask, repo } = await plansRig(t);
    const flag = flagFile(repo, "go-on");
    const work = `until [ -f '${flag}' ]; do sleep 0.05; done`;
    const planId = await create({
      nodes: [
        { id: "a", work },
        { id: "b", work },
      ],
    });
    const running = async () => {
      const { counts } = await ask("wait_copilot_plan", { planId, until: "change", timeout: 5 });
      return counts.running === 2;
    };
    while (!(await running()));
    const begin = performance.now();
    const waits = ask("wait_copilot_plan", { planId, until: "change", timeout: 120 });
    await ask("pause_copilot_plan", { planId });
    assert.equal((await waits).status, "paused");
    assert.ok(performance.now() - begin < 100_000);
    const some = await ask("get_copilot_plan_status", { planId, nodes: ["b", "a"], cursor: "1" });
    assert.deepEqual(
      some.nodes.map((/** @type {any} */ one) => one.id),
      ["a"],
    );
    const { summary } = await ask("cancel_copilot_plan", { planId });
    assert.match(summary, /^(being )?canceled \(2 canceled\)/);
  },
);

test("a cursor leads to each node, plan and group once, however long they are", async (t) => {
  const { create, ask } = await plansRig(t);
  const nodes = Array.from({ length: 150 }, (_, i) => ({
    ...{ id: `n${i}`.padEnd(60, "x"), name: "y".repeat(190), work: "true" },
    group: `${"g/".repeat(32)}${"z".repeat(7)}${i}`,
  }));
  const planId = await create({ startPaused: true, nodes });
  /** @param {string} tool @param {string} list @param {(one: any) => string} nameOf */
  const pages = async (tool, list, nameOf) => {
    const seen = [];
    for (let cursor; ;) {
      const page = await ask(tool, { planId, ...(cursor && { cursor }) });
      assert.equal(page.cut, undefined);
      seen.push(...page[list].map(nameOf));
      cursor = page.cursor;
      if (cursor === undefined) return seen;
    }
  };
  const ids = nodes.map(({ id }) => id).sort();
  for (const tool of ["get_copilot_plan_status", "list_copilot_nodes"]) {
    assert.deepEqual((await pages(tool, "nodes", ({ id }) => id)).sort(), ids);
  }
  const groups = await pages("list_copilot_groups", "groups", ({ group }) => group);
  assert.equal(new Set(groups).size, groups.length);
  for (const { group } of nodes) assert.ok(groups.includes(group), group);
});

test("what a node has found is told with its escapes made visible", shell, async (t) => {
  const { repo, create, ended, ask } = await plansRig(t);
  const found = { summary: "red \u001b[31m \u202e x", findings: [{ "k\u001b": ["f\u001b[2m"] }] };
  const file = flagFile(repo, "found");
  fs.writeFileSync(file, JSON.stringify(found));
  const folder = ".orchestrator/evidence";
  const work = `mkdir -p ${folder}; cp '${file}' ${folder}/a.json`;
  const planId = await create({ nodes: [{ id: "a", work }] });
  assert.equal((await ended(planId)).status, "succeeded");
  const { evidence } = await ask("get_copilot_node_details", { planId, nodeId: "a" });
  assert.match(evidence.summary, /^red .*\[31m .* x$/);
  // eslint-disable-next-line no-control-regex -- these are what must not be there
  assert.doesNotMatch(JSON.stringify(evidence), /\\u001b|[\u001b\u202e]/);
});

test("a plan whose repository is gone says why it failed, and can be deleted", shell, async (t) => {
  const { repo, create, ended, ask, control } = await plansRig(t);
  const planId = await create({ nodes: [{ id: "f", work: "echo why; exit 1" }] });
  await ended(planId);
  // Until then git is at work in the repository.
  await waitFor(async () => (await control.request("holds.list", {})).length === 0);
  fs.rmSync(repo, { recursive: true });
  const failed = await ask("get_copilot_node_failure_context", { planId, nodeId: "f" });
  assert.deepEqual([failed.lastLines, failed.diff], ["why", ""]);
  const { deleted, next } = await ask("delete_copilot_plan", { planId });
  assert.ok(deleted);
  assert.match(next, /is gone\. Where it is back, copilot-tap plan clean there/);
  assert.deepEqual((await ask("list_copilot_plans")).plans, []);
});
