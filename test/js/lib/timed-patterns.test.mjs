// Patterns of others: each has an answer, and none takes this process's time.

import assert from "node:assert/strict";
import { test } from "node:test";
import { matchAll, patternProblem } from "../../../js/lib/timed-patterns.mjs";

const slow = { pattern: "^(a+)+$", text: `${"a".repeat(50)}b` };
const yes = { pattern: "b$", text: "ab" };
const no = { pattern: "^b", text: "ab" };

test("each job has its answer, also after one that takes too long", async () => {
  assert.deepEqual(await matchAll([]), []);
  assert.deepEqual(await matchAll([yes, slow, no, slow, yes]), [
    "yes",
    "late",
    "no",
    "late",
    "yes",
  ]);
});

test("it ends with the first match, or with the first job that takes too long", async () => {
  assert.deepEqual(await matchAll([no, yes, slow], { untilFirst: true }), ["no", "yes"]);
  assert.deepEqual(await matchAll([no, slow, yes], { untilFirst: true }), ["no", "late"]);
  assert.deepEqual(await matchAll([no, no], { untilFirst: true }), ["no", "no"]);
});

test("a pattern is JavaScript's, with the flag u where that is possible", async () => {
  assert.equal(patternProblem("\\p{Lu}"), "");
  assert.equal(patternProblem("a\\-b"), "");
  assert.match(patternProblem("("), /[Uu]nterminated/);
  assert.match(patternProblem("a".repeat(1025)), /at most 1024/);
  const jobs = [
    { pattern: "^\\p{Lu}$", text: "É" },
    { pattern: "a\\-b", text: "a-b" },
  ];
  assert.deepEqual(await matchAll(jobs), ["yes", "yes"]);
});

test("more than 1 MB of a text is not looked at", async () => {
  const text = `${"a".repeat(1024 * 1024)}b`;
  assert.deepEqual(await matchAll([{ pattern: "b", text }]), ["no"]);
});
