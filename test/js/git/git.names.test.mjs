// What is let through to git's command line.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import * as names from "../../../js/git/git.mjs";
import {
  attemptRef,
  integrationRef,
  archiveRef,
  planRefs,
  resultRef,
} from "../../../js/git/refs.mjs";

const good = ["main", "feature/x", "a.b", "ä", "日本", "a-b", "v1@2", "+x", "x{y}", "a/b/c.d"];
const bad = [
  ...["", "-x", "--force", "a..b", "a b", "a\nb", "a\tb", "a\0b", "/a", "a/", "a//b", ".a", "a/.b"],
  ...[
    "a.lock",
    "a.lock/b",
    "a.",
    "@",
    "HEAD",
    "a@{1}",
    "a~1",
    "a^",
    "a:b",
    "a?",
    "a*",
    "a[",
    "a\\b",
  ],
  ...["refs/heads/x", "a\u007f", "x".repeat(201)],
];

test("a branch's name is what git accepts, and nothing that could be an option", () => {
  for (const name of good) assert.equal(names.checkBranch(name), name);
  for (const name of bad) assert.throws(() => names.checkBranch(name), { code: "INVALID" }, name);
  for (const name of [undefined, 1, {}, ["main"]]) {
    assert.throws(() => names.checkBranch(name), { code: "INVALID" });
  }
});

test("no name that git refuses is accepted", () => {
  const characters = ["a", "b", "/", ".", "-", "@", "{", "~", " ", "*", "lock", "\\", "é"];
  let state = 7;
  const next = (/** @type {number} */ most) => {
    state = (state * 48271) % 2147483647;
    return state % most;
  };
  const accepted = [];
  for (let i = 0; i < 3000; ++i) {
    const name = Array.from(
      { length: 1 + next(5) },
      () => characters[next(characters.length)],
    ).join("");
    try {
      accepted.push(names.checkBranch(name));
    } catch (error) {
      assert.equal(error.code, "INVALID");
    }
  }
  const unique = [...new Set(accepted)];
  assert.ok(unique.length > 50);
  for (const name of unique.slice(0, 150)) {
    assert.equal(spawnSync("git", ["check-ref-format", "--branch", name]).status, 0, name);
  }
});

test("a name that looks like another is refused: composed differently, or with what cannot be seen", () => {
  assert.equal(names.checkBranch("caf\u00e9"), "caf\u00e9");
  assert.throws(() => names.checkBranch("cafe\u0301"), /NFC/);
  assert.throws(() => names.checkBranch("ma\u200bin"), /cannot be seen/);
  assert.throws(() => names.checkBranch("a\u202eb"), /cannot be seen/);
});

test("ids, attempts, commits and nonces are of their kind", () => {
  for (const id of ["a", "A-1_b", "x".repeat(64), "-"]) assert.equal(names.checkId(id, "node"), id);
  for (const id of ["", "a/b", "..", "a b", "ä", "x".repeat(65), "a.b", 1]) {
    assert.throws(() => names.checkId(id, "node"), /^GitError: node: /);
  }
  for (const one of [0, -1, 1.5, "1", NaN]) assert.throws(() => names.checkAttempt(one));
  for (const one of ["HEAD", "-x", "abc", "A".repeat(40), "a".repeat(41)]) {
    assert.throws(() => names.checkCommit(one), { code: "INVALID" });
  }
  assert.equal(names.checkCommit("a".repeat(64)), "a".repeat(64));
  assert.equal(names.checkNonce(names.newNonce()).length, 32);
  assert.notEqual(names.newNonce(), names.newNonce());
  for (const one of ["short", "x y".repeat(8), "../".repeat(8)])
    assert.throws(() => names.checkNonce(one));
});

test("a path stays below the repository and out of git's folder", () => {
  assert.equal(names.checkInnerPath("a/b c/", "copy"), "a/b c");
  for (const one of [
    "/etc",
    "..",
    "a/../../b",
    "a//b",
    "./a",
    ".git",
    "a/.GIT/x",
    "C:\\x",
    "a\nb",
    "a\0",
    "",
  ]) {
    assert.throws(() => names.checkInnerPath(one, "copy"), { code: "INVALID" }, one);
  }
});

test("a message has something in it, and no NUL", () => {
  assert.equal(names.checkMessage(" a\r\nb \n\n"), "a\nb\n");
  for (const one of ["", " \n", "a\0b", 1, "x".repeat(64 * 1024 + 1)]) {
    assert.throws(() => names.checkMessage(one), { code: "INVALID" });
  }
});

test("every ref of a plan is a ref's name, and none is the folder of another", () => {
  const ids = ["a", "-a", "kept", "integration", "Result", "Kept", "x".repeat(64)];
  const all = ids.flatMap((plan) => [
    ...[integrationRef(plan), resultRef(plan)],
    ...ids.flatMap((node) => [attemptRef(plan, node, 1), archiveRef(plan, node)]),
  ]);
  assert.equal(new Set(all).size, all.length);
  for (const ref of all) {
    assert.equal(spawnSync("git", ["check-ref-format", ref]).status, 0, ref);
    assert.ok(!all.some((other) => other.toLowerCase().startsWith(`${ref.toLowerCase()}/`)), ref);
  }
  assert.equal(attemptRef("p", "n", 2), "refs/tap/p/n/2");
  assert.equal(archiveRef("p", "n"), "refs/tap/kept/p/n");
  assert.equal(planRefs("p"), "refs/tap/p");
});
