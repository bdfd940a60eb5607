// The label of a session.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { formatLabel } from "../../../js/extension/session-info.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { PATIENCE_MS } from "../../support/wait.mjs";

/** A folder called `work` in a repository. @param {import("node:test").TestContext} t @param {string} head */
function repository(t, head) {
  const cwd = path.join(fs.realpathSync(temporaryFolder(t)), "work");
  fs.mkdirSync(path.join(cwd, ".git"), { recursive: true });
  fs.writeFileSync(path.join(cwd, ".git", "HEAD"), head);
  return cwd;
}
const MASTER = "ref: refs/heads/master\n";

// shows: P-SESSION-6
test("a label keeps folder and branch, and has the beginning of the prompt", (t) => {
  const cwd = repository(t, MASTER);
  assert.equal(formatLabel({ cwd }), "work (master)");
  assert.equal(formatLabel({ cwd, title: "fix it" }), 'work (master) · "fix it"');
  const title = 'call greet {"name":"Ada"} and then\nsay nothing';
  assert.equal(formatLabel({ cwd, title }), 'work (master) · "call greet {"name":"…"');
  assert.equal(
    formatLabel({ cwd, title: "🎲".repeat(30) }),
    `work (master) · "${"🎲".repeat(20)}…"`,
  );
});

test("the branch is found from a folder below, and in a linked work tree", (t) => {
  const cwd = repository(t, "ref: refs/heads/feature/dice\n");
  const below = path.join(cwd, "src", "deep");
  fs.mkdirSync(below, { recursive: true });
  assert.equal(formatLabel({ cwd: below }), "deep (feature/dice)");
  const linked = path.join(path.dirname(cwd), "linked");
  fs.mkdirSync(linked);
  fs.writeFileSync(path.join(linked, ".git"), "gitdir: ../work/.git\n");
  assert.equal(formatLabel({ cwd: linked }), "linked (feature/dice)");
});

test("without a branch, or with a name of its own, there is none", (t) => {
  const detached = repository(t, "3b18e512dba79e4c8300dd08aeb37f8e728b8dad\n");
  assert.equal(formatLabel({ cwd: detached }), "work");
  assert.equal(formatLabel({ cwd: repository(t, MASTER), name: "my app" }), "my app");
  assert.equal(formatLabel({ cwd: "/" }), "/");
  assert.equal(formatLabel({ cwd: path.join(detached, "gone") }), "gone");
});

test(
  "a pipe or a device in the place of HEAD is not read",
  {
    skip: process.platform === "win32",
  },
  (t) => {
    const label = fileURLToPath(new URL("../../../js/extension/session-info.mjs", import.meta.url));
    const program = `import { formatLabel } from ${JSON.stringify(label)}; console.log(formatLabel({ cwd: process.argv[1] }))`;
    for (const make of [
      (/** @type {string} */ head) => execFileSync("mkfifo", [head]),
      (/** @type {string} */ head) => fs.symlinkSync("/dev/zero", head),
    ]) {
      const cwd = repository(t, MASTER);
      const head = path.join(cwd, ".git", "HEAD");
      fs.rmSync(head);
      make(head);
      const args = ["--max-old-space-size=100", "--input-type=module", "--eval", program, cwd];
      const said = execFileSync(process.execPath, args, { encoding: "utf8", timeout: PATIENCE_MS });
      assert.equal(said, "work\n");
    }
  },
);
