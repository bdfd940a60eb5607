// What a plan without mistakes is told before it runs.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import {
  formatMissingNotes,
  formatUncommittedNotes,
} from "../../../js/features/plans/validation.mjs";
import { findMissingPaths } from "../../../js/git/copy-untracked.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { plansRig } from "./plans-rig.mjs";

test("what a checkout does not have is named by its field, and not more than a few", () => {
  assert.deepEqual(formatMissingNotes({ copy: [], link: [] }), []);
  const [copy, link] = formatMissingNotes({ copy: ["nope", "a\u001b b"], link: [..."abcdefg"] });
  assert.match(copy, /^copy: your checkout does not have nope, "a\\x1b b"; .*no worktree gets it$/);
  assert.match(link, /^link: .* a, b, c, d, e and 2 more; /);
  assert.deepEqual(formatUncommittedNotes([]), []);
  assert.match(formatUncommittedNotes(["a"])[0], /has 1 uncommitted change \(a\); no worktree/);
});

test("what is to be brought and is not there is found; what nobody has checked is left alone", async (t) => {
  const root = temporaryFolder(t);
  fs.writeFileSync(path.join(root, ".env"), "");
  fs.symlinkSync("nowhere", path.join(root, "dangling"));
  assert.deepEqual(
    await findMissingPaths(root, { copy: [".env", "nope", "dangling"], link: ["gone/x"] }),
    { copy: ["nope", "dangling"], link: ["gone/x"] },
  );
  assert.deepEqual(await findMissingPaths(root, {}), { copy: [], link: [] });
});

test("a plan that copies what is not there is made, and a note says so", async (t) => {
  const { ask } = await plansRig(t);
  const { planId, notes } = await ask("create_copilot_plan", {
    ...{ name: "x", copy: ["a.txt", "nope"], startPaused: true },
    nodes: [{ id: "a", work: "true", expectsNoChanges: true }],
  });
  assert.match(planId, /^p/);
  assert.deepEqual(notes.filter((/** @type {string} */ one) => one.startsWith("copy: ")).length, 1);
  assert.match(notes.join("\n"), /copy: your checkout does not have nope; /);
});

test("a folder of hooks that no commit has is noted, until copy names it", async (t) => {
  const { ask, git, repo } = await plansRig(t);
  const notes = async (/** @type {object} */ more) => {
    const nodes = [{ id: "a", work: "true", expectsNoChanges: true }];
    const plan = { name: "x", startPaused: true, nodes, ...more };
    const made = await ask("create_copilot_plan", plan);
    return (made.notes ?? []).filter((/** @type {string} */ one) => one.startsWith("core."));
  };
  fs.mkdirSync(path.join(repo, ".husky/_"), { recursive: true });
  fs.writeFileSync(path.join(repo, ".husky/_/.gitignore"), "*\n");
  fs.writeFileSync(path.join(repo, ".husky/_/pre-commit"), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
  assert.deepEqual(await notes({}), [], "nothing is configured");
  git("config", "core.hooksPath", "./.husky/_/");
  const [note, ...more] = await notes({});
  assert.deepEqual(more, []);
  assert.ok(note.endsWith('copy: [".husky/_"]'), note);
  for (const copy of [[".husky/_"], [".husky"], [".husky/_/*"]])
    assert.deepEqual(await notes({ copy }), [], String(copy));
  for (const other of ["/elsewhere", "~/hooks", "../hooks", ".", "missing"]) {
    git("config", "core.hooksPath", other);
    assert.deepEqual(await notes({}), [], other);
  }
  git("config", "core.hooksPath", ".husky/_");
  git("add", "--force", ".husky");
  git("commit", "--quiet", "--message=hooks", "--no-verify");
  assert.deepEqual(await notes({}), [], "the base has it");
});

test("patterns of copy: one without a match is noted, a bad or too wide one is a mistake", async (t) => {
  const { ask, repo } = await plansRig(t);
  const create = (/** @type {string[]} */ ...copy) => {
    const nodes = [{ id: "a", work: "true", expectsNoChanges: true }];
    return ask("create_copilot_plan", { name: "x", startPaused: true, nodes, copy });
  };
  const { notes } = await create("packages/*/.env", "*.txt");
  assert.equal(notes.filter((/** @type {string} */ one) => one.startsWith("copy: ")).length, 1);
  assert.match((await create("{1..3}.env")).text, /INVALID/);
  fs.mkdirSync(path.join(repo, "many"));
  for (let at = 0; at < 201; ++at) fs.writeFileSync(path.join(repo, "many", `${at}.env`), "");
  assert.match((await create("**/*.env")).text, /TOO_LARGE/);
  assert.match((await create("many/1*.env")).planId, /^p/);
});
