// Many worktrees at once. In memory where there is such a folder: a disk makes this slow and shows nothing more.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { removeWorktree } from "../../../js/git/cleanup.mjs";
import { Worktrees } from "../../../js/git/worktrees.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { makeRepository } from "./rig.mjs";

const MEMORY = "/dev/shm";

/** Somebody who uses worktrees, too. */
const ANOTHER_GIT = `
  while [ ! -e .git/stop ]; do
    git worktree add --quiet --detach .worktrees/other
    git worktree remove --force .worktrees/other
    sleep 0.02
  done
`;

function folderInMemory(t) {
  if (!fs.existsSync(MEMORY)) return temporaryFolder(t);
  const folder = fs.mkdtempSync(path.join(MEMORY, "tap-git-"));
  process.on("exit", () => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * Adds and removes eight worktrees at once, again and again, while another git does the same.
 * @param {import("node:test").TestContext} t @param {number} rounds
 */
export async function crowdWorktrees(t, rounds) {
  const made = await makeRepository(t, { folder: folderInMemory(t) });
  const { root, repository, wanted, first } = made;
  // They know nothing of each other's turns, as in two processes would be.
  const [one, two] = [new Worktrees(repository), new Worktrees(repository)];
  const other = spawn("sh", ["-c", ANOTHER_GIT], { cwd: root, stdio: "ignore" });
  const exited = once(other, "exit");
  t.after(() => other.kill());
  const life = async (worktrees, node, attempt) => {
    const worktree = await worktrees.add(wanted(node, attempt));
    assert.ok(fs.existsSync(path.join(worktree.path, "a.txt")));
    const removal = await removeWorktree(worktrees, { ...worktree, known: [first] });
    assert.deepEqual(removal, { removed: true });
  };
  for (let round = 1; round <= rounds; ++round) {
    await Promise.all(Array.from({ length: 8 }, (_, i) => life(i % 2 ? one : two, `n${i}`, round)));
  }
  fs.writeFileSync(path.join(root, ".git", "stop"), "");
  assert.deepEqual(await exited, [0, null], "it went on until the end");
  const left = fs.readdirSync(path.join(root, ".worktrees")).filter((name) => name !== "other");
  assert.deepEqual(left, []);
}
