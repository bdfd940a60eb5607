// Gits that are killed while they make a worktree.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { removeWorktree } from "../../../js/git/cleanup.mjs";
import { git, makeRepository, NONCE } from "./rig.mjs";

/**
 * After each time, in ms, the gits that make a worktree are killed; what they have left is put right by the next call.
 * @param {import("node:test").TestContext} t @param {readonly number[]} times
 */
export async function killGits(t, times) {
  const { root, worktrees, wanted, first } = await makeRepository(t, {
    files: Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`d${i % 7}/f${i}`, `${i}\n`])),
  });
  const place = path.join(root, ".worktrees", "p-n-1");
  const reason = ["--lock", "--reason", `tap ${NONCE}`];
  const add = ["worktree", "add", "--no-checkout", "--detach", ...reason, place, first];
  const reset = ["-C", place, "reset", "--hard", first];
  const env = { ...process.env, GIT_CEILING_DIRECTORIES: path.dirname(place) };
  let left = 0;
  for (const ms of times) {
    for (const args of [add, reset]) {
      const child = spawn("git", args, { cwd: root, env, stdio: "ignore" });
      const kill = setTimeout(() => child.kill("SIGKILL"), ms);
      const [code] = await new Promise((resolve) => child.on("exit", (...how) => resolve(how)));
      clearTimeout(kill);
      if (code === null) left += 1;
    }
    const made = await worktrees.add(wanted());
    assert.equal(git(made.path, "status", "--porcelain"), "");
    assert.equal(git(made.path, "rev-parse", "HEAD"), first);
    const record = { plan: "p", node: "n", path: place, nonce: NONCE, known: [first] };
    assert.equal((await removeWorktree(worktrees, record)).removed, true);
    assert.equal(fs.existsSync(place), false);
  }
  assert.ok(left > 0, `${left} were killed in the middle`);
  assert.equal(git(root, "worktree", "list").split("\n").length, 1);
}
