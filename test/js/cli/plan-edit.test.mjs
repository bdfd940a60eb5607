// copilot-tap plan edit, add and retry --take: what a person makes of a plan that has begun.

import assert from "node:assert/strict";
import { test } from "node:test";
import { openControl } from "../../../js/link/control.mjs";
import { tapJson } from "../../support/cli-process.mjs";
import { waitFor } from "../../support/wait.mjs";
import { setUp } from "./plan-rig.mjs";

/** @param {import("node:test").TestContext} t */
async function setUpEdits(t) {
  const rig = await setUp(t);
  const control = await openControl(rig.host.files);
  t.after(() => control.close());
  /** @param {object} asked @returns {Promise<any>} {answer} or {error} */
  const request = async (asked) => {
    const command = { name: "tap-plan", arguments: JSON.stringify(asked), cwd: rig.repo };
    return JSON.parse((await control.request("features.command", command)).text);
  };
  /** @param {string} planId @returns {Promise<any>} as `plan show` has it, once it has ended */
  const ended = (planId) =>
    waitFor(async () => {
      const { answer } = await request({ do: "show", planId });
      return answer.endedAt !== undefined && answer;
    });
  const json = async (/** @type {string[]} */ ...args) => {
    const { value, code } = await tapJson(["plan", ...args], rig.at);
    return { code, error: value.error, value };
  };
  /** A plan that has failed. @param {object} written */
  const failed = async (written) => {
    const planId = await rig.detached({ name: "x", targetBranch: "out", ...written });
    await ended(planId);
    return planId;
  };
  return { ...rig, request, ended, json, failed };
}

/** @param {any} plan */
const listStatuses = ({ nodes }) =>
  Object.fromEntries(nodes.map((/** @type {any} */ { id, status }) => [id, status]));

test("a node that failed is edited and retried: it lands, and what depends on it follows", async (t) => {
  const { file, git, json, plan, ended, failed } = await setUpEdits(t);
  const planId = await failed({
    nodes: [
      { id: "a", work: "false" },
      { id: "b", dependencies: ["a"], work: "cat a.txt > b.txt" },
    ],
  });
  const edited = await plan("edit", `${planId}/a`, "--work", "echo ok > a.txt", "--timeout", "90");
  assert.deepEqual([edited.code, edited.err], [0, ""]);
  assert.equal((await ended(planId)).status, "failed");
  const shown = await plan("show", `${planId}/a`);
  assert.match(shown.out, /^edited .*\n {2}work: echo ok > a\.txt {2}was false\n {2}timeout: 90 /m);
  assert.equal((await plan("retry", `${planId}/a`)).code, 0);
  const { status, nodes } = await ended(planId);
  assert.deepEqual([status, nodes.length], ["succeeded", 2]);
  assert.equal(git("show", "out:b.txt"), "ok");

  // Elsewhere it is what it was edited to, and what it is held to is looked at there, too.
  const { value } = await json("export", planId);
  assert.equal((await plan("delete", planId, "--yes")).code, 0);
  const entry = value.journal.find((/** @type {any} */ { kind }) => kind === "node-edited");
  const { changes } = entry.detail;
  entry.detail.changes = { work: { type: "process", executable: "x", env: { LD_PRELOAD: "x" } } };
  const refused = await json("import", file(value, "refused.json"));
  assert.equal(refused.error.code, "REFUSED_VARIABLE");
  const [{ path }] = refused.error.problems;
  assert.match(path, /^journal\[\d+\]\.detail\.changes\.work\.env\.LD_PRELOAD$/);
  entry.detail.changes = changes;
  assert.equal((await json("import", file(value, "export.json"))).code, 0);
  const imported = await json("show", `${planId}/a`);
  assert.equal(imported.value.config.work.command, "echo ok > a.txt");
  assert.equal(imported.value.edited.length, 1);
});

test("a plan that has ended takes a node in the place of another one, and succeeds", async (t) => {
  const { git, file, json, plan, request, ended, failed } = await setUpEdits(t);
  const planId = await failed({
    nodes: [
      { id: "first", work: "echo first > first.txt" },
      { id: "bad", dependencies: ["first"], work: "exit 3" },
      { id: "last", dependencies: ["bad"], work: "cat good.txt > last.txt", postchecks: "true" },
    ],
  });
  const nodes = file("nodes:\n  - id: good\n    work: cat first.txt > good.txt\n", "nodes.yaml");
  const added = await plan("add", planId, nodes, "--replaces", "bad");
  assert.deepEqual([added.code, added.err], [0, ""]);
  const over = await ended(planId);
  assert.equal(over.status, "succeeded");
  assert.deepEqual(over.counts, { succeeded: 3 });
  assert.equal(over.replaced, 1);
  assert.deepEqual(listStatuses(over), {
    ...{ first: "succeeded", bad: "failed" },
    ...{ last: "succeeded", good: "succeeded" },
  });
  assert.equal(git("show", "out:last.txt"), "first");
  assert.match((await plan("show", planId)).out, /bad .*failed \(replaced by good, work\)/);
  const { answer } = await request({ do: "diff", planId });
  assert.deepEqual(
    answer.diffs.map((/** @type {any} */ { nodeId }) => nodeId),
    ["last"],
  );
  for (const args of [
    ["retry", `${planId}/bad`],
    ["edit", `${planId}/bad`, "--work", "true"],
  ]) {
    const { error } = await json(...args);
    assert.equal(error.code, "WRONG_STATE", args[0]);
    assert.match(error.message, /replaced by good/);
  }

  // What was exported is the same plan where it is imported.
  const { value } = await json("export", planId);
  assert.equal((await plan("delete", planId, "--yes")).code, 0);
  const imported = await json("import", file(value, "export.json"));
  assert.equal(imported.value.status, "succeeded");
});

test("a node in the place of one whose dependencies conflict begins with the first, and merges", async (t) => {
  const { git, file, json, plan, ended, failed } = await setUpEdits(t);
  const planId = await failed({
    nodes: [
      { id: "left", work: "echo left > same.txt" },
      { id: "right", work: "echo right > same.txt" },
      { id: "both", dependencies: ["left", "right"], work: "true" },
    ],
  });
  const { value } = await json("show", planId);
  const { error } = value.nodes.find((/** @type {any} */ { id }) => id === "both");
  const merges = error.match(/git merge [0-9a-f]{10}/g).join("; ");
  const replace = (/** @type {string} */ old, /** @type {object} */ node) =>
    plan("add", planId, file(node, "node.json"), "--replaces", old);
  assert.equal((await replace("both", { id: "lazy", work: "echo lazy > same.txt" })).code, 0);
  await ended(planId);
  const lazy = await json("show", `${planId}/lazy`);
  assert.equal(lazy.value.attempts[0].error.code, "UNMERGED");
  const work = `${merges}; echo both > same.txt; git add same.txt; git commit -qm both`;
  assert.equal((await replace("lazy", { id: "again", work })).code, 0);
  const { status } = await ended(planId);
  assert.equal(status, "succeeded");
  assert.equal(git("show", "out:same.txt"), "both");
});

test("an edit of dependencies, and one of checks, keep what was done", async (t) => {
  const { git, json, plan, ended, failed } = await setUpEdits(t);
  const planId = await failed({
    nodes: [
      { id: "bad", work: "exit 3" },
      { id: "a", dependencies: ["bad"], work: "echo a > new.txt" },
      { id: "b", work: "echo b > b.txt; date +%N > time.txt", postchecks: "exit 4" },
    ],
  });
  const { value: before } = await json("show", `${planId}/b`);
  const asked = /** @type {[string, ...string[]][]} */ ([
    ["a", "--dependencies", "null"],
    ["b", "--postchecks", '{"type":"process","executable":"true"}'],
  ]);
  for (const [node, ...changes] of asked) {
    assert.equal((await plan("edit", `${planId}/${node}`, ...changes)).code, 0, node);
  }
  assert.equal((await ended(planId)).status, "failed");
  assert.equal((await plan("retry", `${planId}/b`)).code, 0);
  const over = await ended(planId);
  assert.deepEqual(listStatuses(over), { bad: "failed", a: "succeeded", b: "succeeded" });
  const { value: after } = await json("show", `${planId}/b`);
  assert.equal(after.completedCommit, before.completedCommit, "the work has not run again");
  assert.ok(after.tested.tree);
  assert.equal(git("show", "out:new.txt"), "a");
});

test("what cannot be edited, added or taken is said with a code", async (t) => {
  const { file, git, json, request, failed } = await setUpEdits(t);
  const planId = await failed({
    nodes: [
      { id: "ok", work: "echo ok > ok.txt" },
      { id: "bad", work: "exit 3" },
      { id: "behind", dependencies: ["bad"], work: "true" },
    ],
  });
  const one = file({ id: "n", work: "true" }, "one.json");
  const two = file([{ id: "n" }, { id: "m" }], "two.json");
  const refused = { type: "process", executable: "true", env: { LD_PRELOAD: "x" } };
  const before = git("for-each-ref");
  const cases = /** @type {[string, ...string[]][]} */ ([
    ["WRONG_STATE", "edit", `${planId}/ok`, "--work", "true"],
    ["UNKNOWN_NODE", "edit", `${planId}/nope`, "--work", "true"],
    ["USAGE", "edit", `${planId}/bad`],
    ["USAGE", "edit", planId, "--work", "true"],
    ["INVALID_PLAN", "edit", `${planId}/bad`, "--work", '{"type":"x"}'],
    ["INVALID_PLAN", "edit", `${planId}/bad`, "--dependencies", "behind"],
    ["REFUSED_VARIABLE", "edit", `${planId}/bad`, "--work", JSON.stringify(refused)],
    ["USAGE", "add", planId],
    ["USAGE", "show", planId, one],
    ["INVALID_PLAN", "add", planId, file({ id: "ok", work: "true" }, "same.json")],
    ["INVALID_PLAN", "add", planId, file({ name: "x", nodes: [] }, "plan.json")],
    ["WRONG_STATE", "add", planId, one, "--replaces", "ok"],
    ["BAD_INPUT", "add", planId, two, "--replaces", "bad"],
    ["USAGE", "retry", `${planId}/bad`, "--take", "--from-start"],
    ["USAGE", "retry", planId, "--take"],
  ]);
  for (const [code, ...args] of cases) {
    assert.equal((await json(...args)).error?.code, code, args.join(" "));
  }
  for (const asked of [
    { do: "edit", nodeId: "bad" },
    { do: "edit", nodeId: "bad", changes: {} },
  ]) {
    assert.equal((await request({ ...asked, planId })).error.code, "BAD_INPUT");
  }
  assert.equal((await request({ do: "add", planId, nodes: {} })).error.code, "INVALID_PLAN");
  const added = await request({ do: "add_copilot_nodes", args: { planId, nodes: [{ id: "n" }] } });
  assert.equal(added.error.code, "WRONG_STATE", "the model's way reopens no plan");
  assert.equal(git("for-each-ref"), before);
  const { answer } = await request({ do: "show", planId });
  assert.equal(answer.nodes.length, 3);
});
