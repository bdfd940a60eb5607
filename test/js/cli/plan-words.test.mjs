// What copilot-tap plan says at the end of a plan and of a cancel, without a gateway.

import assert from "node:assert/strict";
import { Writable } from "node:stream";
import { test } from "node:test";
import stringWidth from "string-width";
import { printFailures, showLog } from "../../../js/cli/plan/follow.mjs";
import { listNotes } from "../../../js/cli/plan/format.mjs";
import { formatLastLines } from "../../../js/features/plans/errors.mjs";
import { showNode, showPlan } from "../../../js/cli/plan/show.mjs";
import { Output } from "../../../js/views/output.mjs";

/** An output whose lines are kept. @param {number} [columns] */
function kept(columns) {
  /** @type {string[]} */
  const said = [];
  const out = new Writable({
    write(chunk, _encoding, done) {
      said.push(String(chunk));
      done();
    },
  });
  return {
    output: new Output({}, { out, columns, env: {} }),
    lines: () => said.join("").split("\n"),
  };
}

test("what failed nodes printed last has lines that a terminal has room for", async () => {
  const text = `short\n${"\t漢字 and more ".repeat(100)}\n${"\u001b[2J\u0001".repeat(90)}\n`;
  const plan = /** @type {any} */ ({
    planId: "p12345678",
    nodes: [{ id: "a", status: "failed", phase: "work", error: "it ended" }],
  });
  for (const [columns, most] of [
    [80, 80],
    [undefined, 160],
  ]) {
    const { output, lines } = kept(columns);
    await printFailures(async () => ({ text }), output, plan);
    const [head, ...rest] = lines();
    assert.equal(head, "a printed last:");
    assert.equal(rest[0], "  short");
    assert.match(rest[1], /^ {2} {4}漢字 and more .*…$/);
    assert.match(rest[2], /^ {2}\\x01.*…$/);
    for (const line of rest) assert.ok(stringWidth(line) <= Number(most), line);
    assert.equal(rest[3], "  all of it: copilot-tap plan logs p12345678/a");
  }
});

test("of a long output the lines around the failures are shown, and its end", async () => {
  const passed = (/** @type {number} */ from) =>
    Array.from({ length: 100 }, (_, at) => `ok ${from + at} - handles an error`);
  const failed = ["not ok 101 - adds", "  expected: 3", "  actual: 4", "  at add.mjs:7"];
  const end = ["1..201", "# tests 201", "# pass 200", "# fail 1", "# duration_ms 7"];
  const text = [...passed(1), ...failed, ...passed(102), ...end].join("\n");
  const plan = { planId: "p", nodes: [{ id: "a", status: "failed", phase: "work", error: "x" }] };
  const { output, lines } = kept(80);
  await printFailures(async () => ({ text }), output, /** @type {any} */ (plan));
  const shown = lines().map((line) => line.slice(2));
  assert.deepEqual(shown.slice(1, 7), ["ok 100 - handles an error", ...failed, "…"]);
  assert.deepEqual(shown.slice(-7, -2), end);
  assert.equal(shown.length, 20 + 4);
  assert.deepEqual(formatLastLines(text).split("\n"), shown.slice(1, -2));
});

test("pairs of nodes that change the same are named, and how many more there are", () => {
  const plan = /** @type {any} */ ({ planId: "p1", nodes: [] });
  const overlaps = [{ node: "a", other: "b", files: ["x.txt"] }];
  const named = "a and b change the same: x.txt";
  assert.deepEqual(listNotes(plan), []);
  assert.deepEqual(listNotes({ ...plan, overlaps }), [named]);
  assert.deepEqual(listNotes({ ...plan, overlaps, moreOverlaps: 1 }), [
    named,
    "files in common: 1 more pair of nodes",
  ]);
  assert.deepEqual(listNotes({ ...plan, moreOverlaps: 7 }), [
    "files in common: 7 more pairs of nodes",
  ]);
});

test("a node's work, edits and errors have their lines, and logs no colours", async () => {
  const { output, lines } = kept(80);
  const work = { type: "shell", command: "npm ci\nnpm test\n" };
  showNode(
    output,
    /** @type {any} */ ({
      ...{ id: "a", name: "a", status: "failed", dependencies: [], config: { work }, metrics: {} },
      ...{ workSummary: { files: 0 }, edited: [{ at: 1, changes: { work }, before: {} }] },
      attempts: [
        { attempt: 1, status: "failed", phases: [], error: { message: "one\n\x1b[31mtwo" } },
      ],
    }),
  );
  const all = lines().map((line) => line.trim());
  for (const line of ["npm ci", "npm test", "work:", "one"]) assert.ok(all.includes(line));
  assert.ok(!lines().join("").includes("\\x0a"));
  const log = kept(80);
  await showLog(
    async () => ({ logs: [], text: "\x1b[1;31merror\x1b[0m\r\n 1%\r99%\n" }),
    /** @type {any} */ ({ planId: "p" }),
    log.output,
  );
  assert.deepEqual(log.lines(), ["error", "99%", ""]);
});

test("an error that has no room in the graph is below it, whole", () => {
  const { output, lines } = kept(80);
  const error = `first ${"x".repeat(200)} last`;
  const node = { id: "a", name: "a", status: "failed", error };
  const plan = { planId: "p", name: "x", status: "failed", counts: { failed: 1 }, repo: "/r" };
  showPlan(output, /** @type {any} */ ({ ...plan, nodes: [node], baseBranch: "main", usage: {} }));
  assert.ok(lines().some((line) => line.trim() === error));
});
