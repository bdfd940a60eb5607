// copilot-tap plan import holds a file to what a new plan is held to, and says all that is wrong with it.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { tapJson } from "../../support/cli-process.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { waitFor } from "../../support/wait.mjs";
import { setUp } from "./plan-rig.mjs";

const AGENT = { type: "agent", instructions: "x" };
const FREE = "0".repeat(40);

/** A plan as it was exported, paused or ended, which is here no more. @param {any} rig @param {object} given @returns {Promise<any>} */
async function exportedOf({ plan, at, detached }, given) {
  const id = await detached({ name: "x", ...given });
  await waitFor(async () => /: (paused|failed)/.test((await plan("show", id)).out));
  const { value } = await tapJson(["plan", "export", id], at);
  await plan("cancel", id, "--yes");
  await plan("delete", id, "--yes");
  return value;
}

test("an import is refused with all its mistakes at once, each with its place", async (t) => {
  const rig = await setUp(t, { config: { protectedBranches: ["main"] } });
  const { plan, file } = rig;
  const gone = path.join(temporaryFolder(t), "gone");
  const nodes = [{ id: "a", work: AGENT }];
  const value = await exportedOf(rig, { startPaused: true, nodes });
  const good = structuredClone(value);
  value.source.targetBranch = "main";
  value.source.copy = ["../secret"];
  value.source.nodes[0].work = {
    ...AGENT,
    allowedFolders: [".", gone],
    tools: ["tap_status"],
  };
  value.source.nodes[0].wrok = 1;
  value.plan.facts.baseCommit = FREE;
  const added = [
    { id: "b", work: { ...AGENT, allowedFolders: [gone] } },
    { id: "c", work: { type: "tool", tool: "create_copilot_plan" } },
  ];
  value.journal.unshift({ kind: "nodes-added", at: 1, detail: added });
  const { code, err } = await plan("import", file(value, "wrong.json"));
  assert.equal(code, 1);
  const places = [
    ...["source.nodes[0].wrok", "source.targetBranch", "source.nodes[0].work.allowedFolders[0]"],
    ...["source.nodes[0].work.allowedFolders[1]", "source.nodes[0].work.tools[0]"],
    ...["journal[0].detail[0].work.allowedFolders[0]", "journal[0].detail[1].work.tool"],
  ];
  const lines = err.split("\n");
  for (const one of places)
    assert.ok(
      lines.some((line) => line.startsWith(`${one}: `)),
      err,
    );
  assert.match(err, /allowedFolders\[0\]: "\." has your own checkout in it.* \(node a\)/);
  assert.match(err, /detail\[0\]\.work\.allowedFolders\[0\]: ".*gone" is not there.* \(node b\)/);
  assert.match(err, /tool: create_copilot_plan: tap's own tools .* \(node c\)/);
  assert.match(err, /the plan: copy: .*"\.\.\/secret"/);
  assert.match(err, /the plan: this repository has not 1 of the plan's commits/);
  assert.match((await plan("list")).out, /There is no plan/);

  good.source.nodes[0].work.allowedFolders = [gone];
  const single = await plan("import", file(good, "single.json"));
  assert.match(single.err, /source\.nodes\[0\]\.work\.allowedFolders\[0\]: .* is not there/);
  fs.mkdirSync(gone);
  const asked = await tapJson(["plan", "import", file(good, "single.json")], rig.at);
  const { code: refused, problems } = asked.value.error;
  const place = "source.nodes[0].work.allowedFolders[0]";
  assert.deepEqual([refused, problems[0].path], ["NOT_ALLOWED", place]);
  const imported = await plan("import", file(good, "single.json"), "--yes");
  assert.match(imported.out, /is here: paused/);
});

test("one that has ended is here to be looked at: what could not run again is a note", async (t) => {
  const rig = await setUp(t, { processes: true });
  const { plan, file } = rig;
  const gone = path.join(temporaryFolder(t), "gone");
  const nodes = [{ id: "a", work: "false" }];
  const value = await exportedOf(rig, { nodes });
  value.source.nodes[0].work = { ...AGENT, allowedFolders: [gone] };
  const { code, out, err } = await plan("import", file(value, "ended.json"), "--yes");
  assert.equal(code, 0, err);
  assert.match(out, /note: source\.nodes\[0\]\.work\.allowedFolders\[0\]: ".*gone" is not there/);
  assert.match(out, /is here: failed/);
});

test("what has landed elsewhere, and not on the target here, is checked before it lands", async (t) => {
  const { plan, file, git, repo, at, detached } = await setUp(t);
  const bad = path.join(repo, ".git", "bad");
  git("branch", "feature/x");
  const nodes = [{ id: "one", work: "echo one > one.txt", postchecks: `test ! -f ${bad}` }];
  const id = await detached({ name: "x", targetBranch: "feature/x", nodes });
  await waitFor(async () => /: succeeded/.test((await plan("show", id)).out));
  const value = file((await tapJson(["plan", "export", id], at)).value, "landed.json");
  await plan("delete", id, "--yes");
  assert.match((await plan("import", value)).out, /is here: succeeded/, "the target has it");
  await plan("delete", id, "--yes");
  const project = path.join(repo, "tap.config.json");
  fs.writeFileSync(project, JSON.stringify({ protectedBranches: ["feature/*"] }));
  assert.match((await plan("import", value)).out, /is here: succeeded/, "protected since");
  await plan("delete", id, "--yes");
  fs.rmSync(project);
  git("update-ref", "refs/heads/feature/x", "main");
  assert.match((await plan("import", value)).out, /is here: partial/);
  const { error, leftToLand } = (await tapJson(["plan", "show", id], at)).value;
  assert.match(error, /landed elsewhere is not on "feature\/x" here\. .*: copilot-tap plan land p/);
  assert.deepEqual(leftToLand, ["one"]);
  fs.writeFileSync(bad, "");
  assert.equal((await plan("land", id)).code, 1);
  assert.equal(git("rev-parse", "feature/x"), git("rev-parse", "main"));
  fs.rmSync(bad);
  assert.equal((await plan("land", id)).code, 0);
  assert.equal(git("log", "--format=%s", "feature/x"), "one\nfirst");
});

test("a result that comes with a file that says that it has landed lands with nothing", async (t) => {
  const { plan, file, git, at, detached } = await setUp(t);
  git("branch", "feature/x");
  const nodes = ["one", "two"].map((id) => ({ id, work: `echo ${id} > ${id}.txt` }));
  const given = { name: "x", targetBranch: "feature/x", nodes, startPaused: true };
  const id = await detached({ ...given, nodes: [{ ...nodes[0], postchecks: "exit 1" }, nodes[1]] });
  const { value } = await tapJson(["plan", "export", id], at);
  await plan("cancel", id, "--yes");
  await plan("delete", id, "--yes");
  const evil = git("commit-tree", "-p", "main", "-m", "evil", "HEAD^{tree}");
  for (const name of ["one/1", "result", "integration"])
    git("update-ref", `refs/tap/${id}/${name}`, evil);
  const entry = (kind, more = {}) => ({ kind, at: 1, node: "one", ...more });
  const ended = (phase, next, detail = {}) =>
    entry("phase-ended", { phase, status: "succeeded", ...(next && { next }), detail });
  value.journal.push(
    entry("scheduled", { attempt: 1, phase: "merge-fi" }),
    entry("began"),
    ended("merge-fi", "work", { baseCommit: git("rev-parse", "main") }),
    ended("work", "commit"),
    ended("commit", "postchecks", { commit: evil }),
    ended("postchecks", "merge-ri", { exitCode: 0 }),
    ended("merge-ri", undefined, { landed: evil }),
    entry("node-succeeded"),
  );
  const imported = await plan("import", file(value, "forged.json"));
  assert.match(imported.out, /is here: paused/, imported.err);
  await plan("resume", id);
  const show = async () => (await tapJson(["plan", "show", id], at)).value;
  await waitFor(async () => (await show()).endedAt !== undefined);
  assert.equal((await show()).status, "partial");
  assert.equal(git("log", "--format=%s", "feature/x"), "two\nfirst");
});

test("the target of one that has ended is looked at as that of a new plan", async (t) => {
  const rig = await setUp(t);
  const { plan, file, at } = rig;
  const value = await exportedOf(rig, { nodes: [{ id: "a", work: "test -f b.txt && exit 1" }] });
  value.source.nodes[0].work = "touch new";
  const cases = [
    { target: "HEAD", why: /cannot be the name of a branch/ },
    { target: "main/sub", why: /cannot be created while the branch "main" exists/ },
  ];
  for (const { target, why } of cases) {
    value.source.targetBranch = target;
    const { out, err } = await plan("import", file(value, "ended.json"));
    const note = out.split("\n").find((line) => line.startsWith("note: source.targetBranch: "));
    assert.match(note ?? err, why);
    const id = value.plan.planId;
    await plan("retry", id);
    const show = async () => (await tapJson(["plan", "show", id], at)).value;
    await waitFor(async () => (await show()).endedAt !== undefined);
    assert.match((await show()).nodes[0].error, why);
    await plan("delete", id, "--yes");
  }
});

test("variables that make a command run more than it says are refused: in a file of a person, and in an import", async (t) => {
  const rig = await setUp(t);
  const { plan, file } = rig;
  const env = { BASH_ENV: "/x" };
  const work = { type: "process", executable: "true", env: { LD_PRELOAD: "/x" } };
  const own = await plan("run", file({ name: "x", env, nodes: [{ id: "a", work }] }));
  assert.equal(own.code, 1);
  assert.match(own.err, /^env\.BASH_ENV: says what a shell reads first; put .* into the command/m);
  assert.match(own.err, /^nodes\[0\]\.work\.env\.LD_PRELOAD: says what each program loads/m);
  for (const given of [
    { startPaused: true, nodes: [{ id: "a", work: "exit 1" }] },
    { nodes: [{ id: "a", work: "exit 1" }] },
  ]) {
    const value = await exportedOf(rig, given);
    const good = structuredClone(value);
    value.source.env = env;
    value.source.nodes[0].postchecks = work;
    value.journal.unshift({ kind: "nodes-added", at: 1, detail: [{ id: "b", work }] });
    const { code, err } = await plan("import", file(value, "more.json"));
    assert.equal(code, 1);
    assert.match(err, /^source\.env\.BASH_ENV: says what a shell reads first/m);
    assert.match(err, /^source\.nodes\[0\]\.postchecks\.env\.LD_PRELOAD: says/m);
    assert.match(err, /^journal\[0\]\.detail\[0\]\.work\.env\.LD_PRELOAD: says/m);
    assert.match((await plan("import", file(good, "good.json"))).out, /is here: (paused|failed)/);
    await plan("cancel", good.plan.planId, "--yes");
    await plan("delete", good.plan.planId, "--yes");
  }
});

test("the note of a node is shown with its plan and by itself, also after a retry that has none", async (t) => {
  const rig = await setUp(t);
  const { plan, file, at } = rig;
  const value = await exportedOf(rig, { nodes: [{ id: "a", work: "exit 1" }] });
  const ended = value.journal.find(({ kind, phase }) => kind === "phase-ended" && phase === "work");
  ended.detail.note = "files of your checkout changed meanwhile: a.txt\u001b[2J";
  const { planId } = value.plan;
  await plan("import", file(value));
  const note = /changed meanwhile: a\.txt\\x1b\[2J/;
  for (const of of [planId, `${planId}/a`]) assert.match((await plan("show", of)).out, note);
  await plan("retry", planId);
  assert.match((await plan("watch", planId, "--json")).out, /"note":"files of/);
  assert.match((await plan("show", planId)).out, note);
  const { value: shown } = await tapJson(["plan", "show", planId], at);
  assert.equal(shown.nodes[0].note, ended.detail.note);
  const { value: records } = await tapJson(["records", "plan"], at);
  const ends = JSON.stringify(records).match(/"notes":\[\{"node":"a","note":"files of/g);
  assert.equal(ends?.length, 1);
});
