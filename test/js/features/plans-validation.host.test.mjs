// What the tools of plans say of mistakes: all of them at once, each with its place and a correction.

import assert from "node:assert/strict";
import { test } from "node:test";
import { waitFor } from "../../support/wait.mjs";
import { plansRig } from "./plans-rig.mjs";

const one = [{ id: "a", work: "true", expectsNoChanges: true }];

/** @param {any} answer @param {string[]} paths @returns {string[]} those of which it says nothing */
const missing = ({ text }, paths) => {
  const lines = String(text).split("\n");
  return paths.filter((path) => !lines.some((line) => line.startsWith(`${path}: `)));
};

test("all mistakes of a plan are told at once: the engine's, and those of the repository and the session", async (t) => {
  const { ask } = await plansRig(t);
  const agent = { type: "agent", instructions: "x" };
  const wrong = await ask("create_copilot_plan", {
    ...{ name: 5, maxParalell: 3, maxParallel: "3", baseBranch: "nope", targetBranch: "a..b" },
    env: { LD_PRELOAD: "/x.so", GIT_INDEX_FILE: "/x" },
    nodes: [
      { id: "a", work: { type: "tool", tool: "nothing" }, timeout: "soon" },
      { id: "b", wrok: "true", dependencies: ["c"] },
      {
        id: "c",
        work: { ...agent, allowedFolders: ["..", ".", "a/gone"], tools: ["tap_status"] },
      },
      { id: "d", work: { type: "process", executable: "x", env: { PATH: "/x" } } },
      { id: "e", work: "true", dependencies: ["f"] },
      { id: "f", work: "true", dependencies: ["e"] },
    ],
  });
  const paths = [
    ...[
      "name",
      "maxParalell",
      "maxParallel",
      "baseBranch",
      "targetBranch",
      "env.LD_PRELOAD",
      "env.GIT_INDEX_FILE",
    ],
    ...["nodes[0].work.tool", "nodes[0].timeout", "nodes[1].wrok", "nodes[2].work.tools[0]"],
    ...["nodes[2].work.allowedFolders[0]", "nodes[2].work.allowedFolders[1]"],
    "nodes[2].work.allowedFolders[2]",
    ...["nodes[3].work.env.PATH", "nodes[4].dependencies"],
  ];
  assert.deepEqual(missing(wrong, paths), [], wrong.text);
  assert.match(wrong.text, /INVALID_PLAN: the plan is not valid\n/);
  assert.match(wrong.text, /maxParalell: is not a field here\. Did you mean "maxParallel"\?/);
  assert.match(
    wrong.text,
    /\n.*allowedFolders\[1\]: "\." has your own checkout in it\. .* \(node c\)/,
  );
  assert.match(
    wrong.text,
    /\n.*allowedFolders\[2\]: "a\/gone" is not there\. Create it.* \(node c\)/,
  );
  assert.match((await ask("create_copilot_plan", {})).text, /\nname: .*\nnodes: /);
  const blank = await ask("create_copilot_plan", { name: "  ", nodes: one });
  assert.match(blank.text, /\nname: must not be blank/);
});

test("a single mistake has its own code, and a number of seconds is a timeout", async (t) => {
  const { ask } = await plansRig(t);
  const make = (/** @type {object} */ plan) =>
    ask("create_copilot_plan", { name: "x", nodes: one, startPaused: true, ...plan });
  assert.match((await make({ baseBranch: "nope" })).text, /UNKNOWN_BRANCH: There is no branch/);
  assert.match((await make({ repo: "nope" })).text, /INVALID: repo: .*nope" does not exist/);
  assert.match((await make({ repo: "a.txt" })).text, /NOT_A_REPOSITORY: .*a\.txt" is not a folder/);
  assert.match((await make({ repo: "a.txt", maxParallel: 0 })).text, /\nrepo: /);
  const folders = { type: "agent", instructions: "x", allowedFolders: ["."] };
  const outside = await make({ nodes: [{ id: "a", work: folders }] });
  assert.match(outside.text, /NOT_ALLOWED: .*\nnodes\[0\]\.work\.allowedFolders\[0\]: /);
  const made = await make({ nodes: [{ ...one[0], timeout: 90 }] });
  assert.match(made.next, /^It is paused .*resume_copilot_plan/, JSON.stringify(made));
  const { config } = await ask("get_copilot_node", { planId: made.planId, nodeId: "a" });
  assert.equal(config.timeout, 90);
});

test("a job and a node have their mistakes at the paths of their arguments", async (t) => {
  const { ask, create } = await plansRig(t);
  const job = await ask("create_copilot_job", {
    ...{ work: { type: "shel" }, task: "x", dependencies: ["a"], maxParallel: 2 },
  });
  assert.deepEqual(
    missing(job, ["name", "work.type", "task", "dependencies", "maxParallel"]),
    [],
    job.text,
  );
  const idle = await ask("create_copilot_job", { name: "x" });
  assert.match(idle.text, /\nwork: is missing: what the job does/);
  const below = await ask("create_copilot_plan", { name: "", targetBranch: "main/x", nodes: one });
  assert.match(
    below.text,
    /\nname: .*\ntargetBranch: "main\/x" cannot be created .* branch "main"/,
  );
  const option = await ask("create_copilot_plan", { name: "", targetBranch: "-x", nodes: one });
  assert.equal(option.text.match(/targetBranch: /g).length, 1, option.text);
  const planId = await create({
    startPaused: true,
    nodes: [{ ...one[0], group: "front/end" }],
  });
  const node = (/** @type {object} */ more) => ask("create_copilot_node", { planId, ...more });
  const two = await node({ id: "b b", dependencies: ["x"], work: { type: "tool", tool: "no" } });
  assert.deepEqual(missing(two, ["id", "dependencies[0]", "work.tool"]), [], two.text);
  assert.match((await node({ id: "front", work: "true" })).text, /\nid: "front" is a group/);
  assert.match((await ask("create_copilot_node", { id: "b" })).text, /`planId` is missing/);
  const add = (/** @type {unknown} */ nodes, more = {}) =>
    ask("add_copilot_nodes", { planId, nodes, ...more });
  const nodes = [
    { id: "b", wrok: "true" },
    { id: "c", work: "true", dependencies: ["d"] },
    { id: "d", work: "true", dependencies: ["c"] },
  ];
  const wrong = await add(nodes, { noeds: [] });
  assert.deepEqual(
    missing(wrong, ["nodes[0].wrok", "nodes[1].dependencies", "noeds"]),
    [],
    wrong.text,
  );
  assert.match((await add({})).text, /`nodes` is not a list/);
  const { total } = await ask("get_copilot_plan_status", { planId });
  assert.equal(total, 1);
  assert.equal((await node({ id: "b", work: "true" })).id, "b");
});

test("a phase, an attempt and a cursor that there are not are refused with those that there are", async (t) => {
  const { ask, create, ended } = await plansRig(t);
  const planId = await create({ nodes: [{ id: "a", work: "exit 3" }] });
  await ended(planId);
  const logs = (/** @type {object} */ more) =>
    ask("get_copilot_node_logs", { planId, nodeId: "a", ...more });
  assert.match((await logs({ phase: "wrk" })).text, /"phase" to be one of .*"work"/);
  assert.match((await logs({ attempt: 9 })).text, /has no attempt 9: there is attempt 1/);
  for (const tool of ["get_copilot_plan_status", "list_copilot_nodes"]) {
    assert.match((await ask(tool, { planId, cursor: "zz" })).text, /UNKNOWN_CURSOR: cursor: "zz"/);
  }
});

test("why a node failed has the same fields for each failure, and what changes the same besides", async (t) => {
  const { ask, create, ended, git } = await plansRig(t);
  const nodes = [
    { id: "none", work: "true" },
    { id: "exits", work: "echo said; exit 3" },
    { id: "left", work: "echo left > same.txt" },
    { id: "right", work: "echo right > same.txt" },
    { id: "both", dependencies: ["left", "right"] },
  ];
  const planId = await create({ nodes });
  await ended(planId);
  const why = (/** @type {string} */ nodeId, plan = planId) =>
    ask("get_copilot_node_failure_context", { planId: plan, nodeId });
  const none = await why("none");
  assert.deepEqual([none.error.code, none.exitCode, none.lastLines], ["NO_EVIDENCE", null, ""]);
  const exits = await why("exits");
  assert.deepEqual([exits.exitCode, exits.lastLines], [3, "said"]);
  const both = await why("both");
  assert.deepEqual([both.error.code, both.exitCode, both.lastLines], ["MERGE_CONFLICT", null, ""]);
  assert.deepEqual([both.files, both.nodes.toSorted()], [["same.txt"], ["left", "right"]]);

  git("branch", "out");
  const landing = await create({ targetBranch: "out", maxParallel: 1, nodes: nodes.slice(2, 4) });
  const { nodes: seen } = await ended(landing);
  const failed = seen.find((/** @type {any} */ { status }) => status === "failed").id;
  const other = failed === "left" ? "right" : "left";
  // What changes the same is found beside the work, and may come after the plan's end.
  const conflict = await waitFor(async () => {
    const found = await why(failed, landing);
    return found.overlaps && found;
  });
  assert.deepEqual(conflict.overlaps, [{ node: other, files: ["same.txt"] }]);
  assert.deepEqual(conflict.nodes, [failed, other]);
});

test("a conflict of what a node depends on names both nodes, and its advice works once the plan has ended", async (t) => {
  const { ask, create, ended, git } = await plansRig(t);
  const nodes = [
    { id: "other", work: "echo other > other.txt" },
    { id: "left", work: "echo left > same.txt" },
    { id: "right", work: "echo right > same.txt" },
    { id: "all", dependencies: ["other", "left", "right"], work: "echo all > all.txt" },
  ];
  const planId = await create({ targetBranch: "out", nodes });
  await ended(planId);
  const why = await ask("get_copilot_node_failure_context", { planId, nodeId: "all" });
  assert.deepEqual([why.files, why.nodes.toSorted()], [["same.txt"], ["left", "right"]]);
  assert.match(why.error.message, /commits of left and right conflict in same\.txt\..* new one/);
  assert.match(why.next, /Do what the error says/);
  const merges = why.error.message.match(/git merge [0-9a-f]{10}/g);
  assert.equal(merges.length, 3);
  const mend = "echo both > same.txt; git add same.txt; git commit -qm both";
  const work = `${merges.join("; ")}; ${mend}; echo all > all.txt`;
  const again = await create({ targetBranch: "out", nodes: [{ id: "all", work }] });
  assert.equal((await ended(again)).status, "succeeded");
  const files = git("ls-tree", "--name-only", "out").split("\n");
  assert.deepEqual(files, ["a.txt", "all.txt", "b.txt", "c.txt", "other.txt", "same.txt"]);
  assert.equal(git("show", "out:same.txt"), "both");
});

test("checks that did not run are skipped, and work on another history is told to go on from its own", async (t) => {
  const { ask, create, ended, git } = await plansRig(t);
  git("checkout", "-qb", "out");
  git("commit", "-q", "--allow-empty", "-m", "out");
  git("rm", "-q", "a.txt");
  git("commit", "-qm", "theirs");
  git("checkout", "-q", "main");
  const orphan = "git checkout -q $(echo orphan | git commit-tree 'HEAD^{tree}')";
  const planId = await create({
    targetBranch: "out",
    nodes: [
      { id: "clash", work: "echo mine > a.txt", postchecks: "exit 1" },
      { id: "orphan", work: orphan },
    ],
  });
  await ended(planId);
  const { attempts } = await ask("get_copilot_node_attempts", { planId, nodeId: "clash" });
  const phases = attempts[0].phases.map(
    (/** @type {any} */ { phase, status }) => `${phase} ${status}`,
  );
  assert.deepEqual(phases.slice(-2), ["postchecks skipped", "merge-ri failed"]);
  const why = await ask("get_copilot_node_failure_context", { planId, nodeId: "orphan" });
  assert.equal(why.error.code, "NOT_DESCENDED");
  assert.match(why.next, /Do what the error says/);
});

test("a target that is a symbolic ref is the branch to which it leads, and stays one", async (t) => {
  const { ask, create, ended, git } = await plansRig(t, {
    config: { protectedBranches: ["release"] },
  });
  git("branch", "out");
  git("branch", "release");
  git("tag", "v1");
  for (const [name, ref] of [
    ["alias", "refs/heads/out"],
    ["stable", "refs/heads/release"],
    ["odd", "refs/tags/v1"],
  ]) {
    git("symbolic-ref", `refs/heads/${name}`, ref);
  }
  const nodes = [{ id: "a", work: "echo a > new.txt" }];
  const refuse = async (/** @type {string} */ targetBranch) =>
    (await ask("create_copilot_plan", { name: "x", targetBranch, nodes })).text;
  assert.match(await refuse("stable"), /PROTECTED: .*"release"/);
  assert.match(await refuse("odd"), /INVALID: .*"refs\/tags\/v1", which is not a branch/);
  const planId = await create({ targetBranch: "alias", nodes });
  const { status } = await ended(planId);
  assert.equal(status, "succeeded");
  assert.equal(git("symbolic-ref", "refs/heads/alias"), "refs/heads/out");
  assert.equal(git("show", "out:new.txt"), "a");
});
