// The label of a session.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { labelOf } from "../../../js/session/label.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

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
  assert.equal(labelOf({ cwd }), "work (master)");
  assert.equal(labelOf({ cwd, title: "fix it" }), 'work (master) · "fix it"');
  const title = 'call greet {"name":"Ada"} and then\nsay nothing';
  assert.equal(labelOf({ cwd, title }), 'work (master) · "call greet {"name":"…"');
  assert.equal(labelOf({ cwd, title: "🎲".repeat(30) }), `work (master) · "${"🎲".repeat(20)}…"`);
});

test("the branch is found from a folder below, and in a linked work tree", (t) => {
  const cwd = repository(t, "ref: refs/heads/feature/dice\n");
  const below = path.join(cwd, "src", "deep");
  fs.mkdirSync(below, { recursive: true });
  assert.equal(labelOf({ cwd: below }), "deep (feature/dice)");
  const linked = path.join(path.dirname(cwd), "linked");
  fs.mkdirSync(linked);
  fs.writeFileSync(path.join(linked, ".git"), "gitdir: ../work/.git\n");
  assert.equal(labelOf({ cwd: linked }), "linked (feature/dice)");
});

test("without a branch, or with a name of its own, there is none", (t) => {
  const detached = repository(t, "3b18e512dba79e4c8300dd08aeb37f8e728b8dad\n");
  assert.equal(labelOf({ cwd: detached }), "work");
  assert.equal(labelOf({ cwd: repository(t, MASTER), name: "my app" }), "my app");
  assert.equal(labelOf({ cwd: "/" }), "/");
  assert.equal(labelOf({ cwd: path.join(detached, "gone") }), "gone");
});
