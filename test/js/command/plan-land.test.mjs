// copilot-tap plan land: a result that waited for a clean checkout.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { tapJson } from "../../support/cli-process.mjs";
import { waitFor } from "../../support/wait.mjs";
import { gate, setUp } from "./plan-rig.mjs";

/** A plan whose result waits: its target is checked out with changes. */
async function makeWaiting(t, more = {}) {
  const made = await setUp(t);
  const { git, repo, plan, file } = made;
  git("checkout", "--quiet", "-b", "feature/x");
  fs.writeFileSync(path.join(repo, "a.txt"), "mine\n");
  const nodes = [{ id: "one", work: "echo one > one.txt", ...more }];
  const written = file({ name: "x", targetBranch: "feature/x", nodes });
  const ran = await plan("run", written);
  const [, id] = /plan land (p[a-z0-9]{8})/.exec(ran.out) ?? assert.fail(ran.out);
  /** The user commits what was changed, and another file. */
  const commitAlso = (/** @type {string} */ name) => {
    fs.writeFileSync(path.join(repo, name), "y\n");
    git("add", "--all");
    git("commit", "--quiet", "--message=mine");
  };
  return { ...made, id, commitAlso };
}

describe("a result that waits", { concurrency: true }, () => {
  test("does not land with commits that its checks have not seen; merged by hand it has landed", async (t) => {
    const { id, plan, git, commitAlso } = await makeWaiting(t, { postchecks: "test ! -f bad" });
    commitAlso("bad");
    const tip = git("rev-parse", "feature/x");
    const refused = await plan("land", id);
    assert.equal(refused.code, 1);
    assert.match(
      refused.err,
      new RegExp(
        `"feature/x" has commits .* not checked with\\. Merge refs/tap/${id}/result .*land`,
      ),
    );
    assert.equal(git("rev-parse", "feature/x"), tip);
    git("merge", "--quiet", "--no-edit", `refs/tap/${id}/result`);
    assert.match((await plan("land", id)).out, /has landed/);
    assert.match((await plan("show", id)).out, /: succeeded\n/);
  });

  test("lands as it was checked, once its checkout is clean", async (t) => {
    const { id, plan, git, at } = await makeWaiting(t, { postchecks: "true" });
    const seen = async () => ({
      plan: (await tapJson(["plan", "show", id], at)).value,
      node: (await tapJson(["plan", "show", `${id}/one`], at)).value,
    });
    const [none, one] = [0, 1].map((n) => ({ files: n, insertions: n, deletions: 0 }));
    const waits = await seen();
    assert.match(waits.plan.error, new RegExp(`checked out .* Then: copilot-tap plan land ${id}$`));
    assert.match(waits.plan.summary, /^partial \(1 succeeded\), 1 file not landed yet\. /);
    assert.deepEqual([waits.plan.landed, waits.plan.notLanded], [none, one]);
    assert.deepEqual([waits.node.workSummary, waits.node.aggregatedWorkSummary], [one, none]);
    git("checkout", "--quiet", "a.txt");
    assert.match((await plan("land", id)).out, /has landed/);
    assert.equal(git("rev-list", "--count", "main..feature/x"), "1");
    const landed = await seen();
    assert.deepEqual([landed.plan.landed, landed.node.aggregatedWorkSummary], [one, one]);
    assert.deepEqual([landed.plan.error, landed.plan.notLanded], [undefined, undefined]);
  });

  test("lands with a later node, which has it in its result", async (t) => {
    const { git, repo, at, plan, detached } = await setUp(t);
    const { wait, open } = gate(t);
    git("checkout", "--quiet", "-b", "feature/x");
    fs.writeFileSync(path.join(repo, "a.txt"), "mine\n");
    const nodes = [
      { id: "one", work: "echo one > one.txt" },
      { id: "two", work: `${wait}; echo two > two.txt` },
    ];
    const id = await detached({ name: "x", targetBranch: "feature/x", nodes });
    const show = async () => (await tapJson(["plan", "show", id], at)).value;
    await waitFor(async () => /Then: copilot-tap plan land/.test((await show()).error ?? ""));
    git("checkout", "--quiet", "a.txt");
    open();
    await waitFor(async () => (await show()).endedAt !== undefined, { timeoutMs: 20_000 });
    const { status, error, landed } = await show();
    const two = { files: 2, insertions: 2, deletions: 0 };
    assert.deepEqual([status, error, landed], ["succeeded", undefined, two]);
    assert.match((await plan("land", id)).err, /nothing of the plan waits/);
  });

  test("lands with what came meanwhile, where nothing of it was checked", async (t) => {
    const { id, plan, git, commitAlso } = await makeWaiting(t);
    commitAlso("other");
    assert.match((await plan("land", id)).out, /has landed/);
    assert.deepEqual(git("ls-files", "one.txt", "other"), "one.txt\nother");
  });
});
