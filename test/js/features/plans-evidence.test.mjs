// What a node gives as evidence in place of changes, and what is said of evidence that cannot be used.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import {
  readEvidenceFile,
  formatUnreachableCommits,
  noEvidenceText,
  parseEvidence,
} from "../../../js/features/plans/phases.mjs";
import * as gitParts from "../../../js/git/index.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { plansRig } from "./plans-rig.mjs";

test("evidence is an object with a summary; else its problem is told", () => {
  const summary = "looked";
  assert.deepEqual(parseEvidence('{"summary":"looked"}'), { evidence: { summary, findings: [] } });
  const findings = ["a", { b: 1 }];
  assert.deepEqual(parseEvidence(JSON.stringify({ summary, findings })), {
    evidence: { summary, findings },
  });
  assert.match(String(parseEvidence("{nope").problem), /^it is not JSON \(.+\)$/);
  assert.doesNotMatch(String(parseEvidence("\u001b[2J").problem), /\p{Cc}/u);
  for (const text of ["null", "[]", "5", '"summary"']) {
    assert.equal(parseEvidence(text).problem, "it is not an object");
  }
  for (const text of ["{}", '{"summary":" "}', '{"summary":5}']) {
    assert.equal(parseEvidence(text).problem, "it has no text as `summary`");
  }
});

test("a node without changes is told what to write, or what is wrong with what it wrote", () => {
  assert.match(
    noEvidenceText("a", ""),
    /nothing was changed\. .*expectsNoChanges, or write \.orchestrator\/evidence\/a\.json with a summary/,
  );
  assert.match(
    noEvidenceText("a", "it is not JSON (x)"),
    /nothing was changed, and \.orchestrator\/evidence\/a\.json is there, but it is not JSON \(x\)\. /,
  );
});

test("evidence that is a link out of the worktree is told in whole sentences", async (t) => {
  const root = temporaryFolder(t);
  fs.mkdirSync(path.join(root, ".orchestrator", "evidence"), { recursive: true });
  fs.symlinkSync("/etc/hostname", path.join(root, ".orchestrator", "evidence", "a.json"));
  const run = { git: gitParts, worktree: { path: root }, node: { id: "a" } };
  const { problem } = await readEvidenceFile(/** @type {any} */ (run));
  assert.match(noEvidenceText("a", problem), /leads out of the worktree\. Where/);
});

test("commits that were left are named, and what to do", () => {
  const left = { commits: ["a".repeat(40), "b".repeat(40)], ref: "refs/tap/x" };
  assert.match(
    noEvidenceText("a", "", left),
    /2 commits \(a{10}, b{10}\) on no branch and then .*; refs\/tap\/x keeps that\. Let the work end on its last commit, or merge that there\.$/,
  );
  const many = { ...left, commits: Array.from({ length: 9 }, () => "c".repeat(40)) };
  assert.match(formatUnreachableCommits(many), /9 commits \(…, (c{10}, ){4}c{10}\) on no branch/);
});

test("a node that leaves its commits fails with their names, and they are kept", async (t) => {
  const { create, ended, git } = await plansRig(t);
  const commits = (/** @type {string} */ name) =>
    `echo o > ${name}.txt; git add .; git commit -qm own`;
  const planId = await create({
    nodes: [
      { id: "gone", work: `${commits("mine")}; git checkout -q --detach main` },
      { id: "stays", work: commits("third") },
    ],
  });
  const { nodes } = await ended(planId);
  const [gone, ...rest] = nodes.toSorted((/** @type {any} */ a, /** @type {any} */ b) =>
    a.id < b.id ? -1 : 1,
  );
  const made = git("rev-parse", `refs/tap/kept/${planId}/gone^@`);
  assert.equal(git("show", `${made}:mine.txt`), "o");
  assert.match(gone.error, new RegExp(`the commit \\(${made.slice(0, 10)}\\) on no branch`));
  assert.deepEqual(
    rest.map((/** @type {any} */ one) => one.status),
    ["succeeded"],
  );
  assert.equal(git("show", `refs/tap/${planId}/stays/1:third.txt`), "o");
});

test("a file of evidence that cannot be used is named where the node fails, and where it does not", async (t) => {
  const { create, ended, ask } = await plansRig(t);
  const write = (/** @type {string} */ node, /** @type {string} */ text) =>
    `mkdir -p .orchestrator/evidence; ${text} > .orchestrator/evidence/${node}.json`;
  const planId = await create({
    nodes: [
      { id: "broken", work: write("broken", "echo '{nope'") },
      { id: "long", work: write("long", "head -c 40000 /dev/zero") },
      { id: "both", work: `echo x > x.txt; ${write("both", "echo '{}'")}` },
    ],
  });
  const { nodes } = await ended(planId);
  const errorOf = (/** @type {string} */ id) =>
    nodes.find((/** @type {any} */ one) => one.id === id).error;
  assert.match(errorOf("broken"), /evidence\/broken\.json is there, but it is not JSON/);
  assert.match(errorOf("long"), /evidence\/long\.json is there, but .* more than 32 KB/);
  const { text } = await ask("get_copilot_node_logs", { planId, nodeId: "both" });
  assert.match(text, /both\.json cannot be used as evidence: it has no text as `summary`\n/);
});
