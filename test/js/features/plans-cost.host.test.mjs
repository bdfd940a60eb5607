// How many processes of git a plan starts for a node. Each costs milliseconds, more so in a sandbox.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../support/temporary.mjs";
import { waitFor } from "../../support/wait.mjs";
import { plansRig } from "./plans-rig.mjs";

/** Programs in front of git and bwrap that note each start. @param {import("node:test").TestContext} t */
function makeCounter(t) {
  const folder = temporaryFolder(t);
  const log = path.join(folder, "starts");
  fs.writeFileSync(log, "");
  for (const name of ["git", "bwrap"]) {
    const real = process.env.PATH?.split(":").find((one) => fs.existsSync(path.join(one, name)));
    if (!real) continue;
    // Inside a sandbox the folder is not there, and git itself is found.
    const lines = ["#!/bin/sh", `echo "${name} $*" | tr '\\n' ' ' >> '${log}'`, `echo >> '${log}'`];
    const text = [...lines, `exec '${real}/${name}' "$@"`, ""].join("\n");
    fs.writeFileSync(path.join(folder, name), text, { mode: 0o755 });
  }
  const takeStarts = () => {
    const starts = fs.readFileSync(log, "utf8").split("\n");
    fs.writeFileSync(log, "");
    return starts.flatMap((line) => {
      const [, words] = /(?:^| -- )git (.*)/.exec(line) ?? [];
      return words
        ? [
            words
              .replace(/^(?:-c \S+ )*/, "")
              .split(" ", 2)
              .join(" "),
          ]
        : [];
    });
  };
  return { PATH: `${folder}:${process.env.PATH}`, takeStarts };
}

/** What a plan asks once, also while its first node begins. */
const OF_PLAN = /^(?:config|for-each-ref|rev-parse|version)/;
const commits = { work: "echo $TAP_NODE_ID > $TAP_NODE_ID.txt", postchecks: "true" };
/** At most, in a new worktree. In one that was used before they are fewer. */
const KINDS = [
  { what: "without a commit", node: { work: "true", expectsNoChanges: true }, most: 4 },
  { what: "with a commit and checks", node: commits, most: 14 },
];

for (const { what, node, most } of KINDS) {
  test(`a node ${what} starts few processes of git`, async (t) => {
    const { PATH, takeStarts } = makeCounter(t);
    const { create, ended, repo } = await plansRig(t, { processes: true, env: { PATH } });
    const folder = path.join(repo, ".worktrees");
    /** @param {number} count of nodes, one after the other */
    const countStarts = async (count) => {
      takeStarts();
      const nodes = Array.from({ length: count }, (_, at) => {
        const dependencies = at > 0 ? [`n${at - 1}`] : [];
        return { id: `n${at}`, dependencies, ...node };
      });
      const { status } = await ended(await create({ nodes }));
      assert.equal(status, "succeeded");
      await waitFor(() => fs.readdirSync(folder).length === 0);
      return takeStarts();
    };
    await countStarts(1); // what is asked once
    const one = await countStarts(1);
    const own = one.slice(one.indexOf("worktree add")).filter((words) => !OF_PLAN.test(words));
    assert.ok(own.length <= most, own.join("\n"));
    const four = await countStarts(4);
    const rest = [one, four].map((all) => all.filter((words) => OF_PLAN.test(words)).length);
    assert.ok(rest[1] - rest[0] < 3, four.join("\n")); // fewer than nodes
    assert.ok(four.length - one.length <= 3 * most, four.join("\n"));
  });
}
