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
