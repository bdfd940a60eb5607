// How plans are drawn in a terminal of 80 × 24 and of 160 × 50.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import stringWidth from "string-width";
import { graphLines } from "../../../js/cli/plan/graph.mjs";
import { showNode } from "../../../js/cli/plan/show.mjs";
import { maxScrollOffset, watchFrame } from "../../../js/cli/plan/watch.mjs";
import { cutInside } from "../../../js/views/table.mjs";
import { InTerminal, tapJson } from "../../support/cli-process.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { LocalHost } from "../../support/local-host.mjs";
import { makeRepository } from "../features/plans-rig.mjs";

const SMALL = { columns: 79, rows: 24 };
const LARGE = { columns: 159, rows: 50 };
const LONG_ID = "a-very-long-name-of-a-node-that-no-column-has-room-for-really";
const COMMAND = `npm test -- ${"--grep=something ".repeat(9)}`;
const ERROR = `\`${COMMAND}\` ended with exit code 1`;

/** @param {number} others that are ready */
function planOf(others) {
  const node = (/** @type {string} */ id, /** @type {object} */ more) => ({
    id,
    name: id,
    ...more,
  });
  const nodes = [
    node("bad", {
      ...{ status: "failed", phase: "postchecks", attempt: 2, error: ERROR },
      line: "Error: expected 3 arguments,\u001b[2J but got 2 漢字",
    }),
    node(LONG_ID, { status: "running", phase: "work", attempt: 1, line: "x".repeat(300) }),
    ...Array.from({ length: others }, (_, at) => node(`unit-${at + 1}`, { status: "ready" })),
    node("after", { status: "blocked", error: "waits for bad, which is failed" }),
  ];
  return /** @type {any} */ ({
    ...{ planId: "p12345678", name: `split the parser ${"and test it ".repeat(20)}` },
    ...{ status: "running", total: nodes.length, usage: {}, nodes, startedAt: 1000 },
    counts: { ready: others, running: 1, failed: 1, blocked: 1 },
  });
}

/** @param {import("node:test").TestContext} t */
async function setUp(t) {
  const { repo } = makeRepository(t);
  const host = await LocalHost.elected(t, { COPILOT_HOME: temporaryFolder(t) });
  const { COPILOT_AGENT_SESSION_ID: _session, ...own } = host.env;
  const at = { env: { ...own, NO_COLOR: "1" }, workspace: repo };
  return { at, file: path.join(temporaryFolder(t), "plan.json") };
}

/** @param {import("../../../js/views/output.mjs").Part[][]} lines */
const textOf = (lines) =>
  lines.map((line) => line.map((part) => (typeof part === "string" ? part : part.text)).join(""));

/** @param {any} plan @param {{columns: number, rows: number}} size @param {number} [first] */
function framed(plan, size, first) {
  const lines = textOf(watchFrame(plan, size, 61_000, first));
  assert.equal(lines.length, size.rows);
  for (const line of lines) assert.ok(stringWidth(line) <= size.columns, line);
  return lines;
}

describe("plan watch", () => {
  test("fills each size of terminal, with many nodes, long names and long lines", () => {
    for (const size of [SMALL, LARGE, { columns: 29, rows: 8 }]) {
      for (const others of [0, 3, 17, 44, 500]) framed(planOf(others), size);
      framed(undefined, size);
    }
  });

  test("shows of a failure how it ended and what was printed last", () => {
    const lines = framed(planOf(40), SMALL);
    assert.match(lines[0], /^p12345678 split the parser .*… {2}running {2}1 min$/);
    assert.match(lines[4], /^✖ bad +failed \(postchecks, atte… {2}`npm test.*… exit code 1$/);
    assert.equal(lines[5], "    Error: expected 3 arguments,\\x1b[2J but got 2 漢字");
    assert.match(lines[6], /^● a-very-long-name-of-a-n… {2}running \(work\) +x+…$/);
    const wide = framed(planOf(40), LARGE);
    assert.match(
      wide[4],
      /^✖ bad +failed \(postchecks, attempt 2\) {2}`npm test.*` ended with exit code 1$/,
    );
  });

  test("says of a node without a sandbox that it has none, also where its state is cut", () => {
    const plan = planOf(3);
    plan.nodes[0].sandboxed = false;
    assert.match(framed(plan, SMALL)[4], /^✖ bad +failed \(not sandboxed, .*…/);
    assert.match(framed(plan, LARGE)[4], /^✖ bad +failed \(not sandboxed, postche/);
  });

  test("goes down to the last node, and says where it is", () => {
    const plan = planOf(40);
    assert.equal(framed(plan, SMALL)[23], "1–18 of 43 nodes, ↑↓ more; q quit; the plan goes on");
    const last = maxScrollOffset(plan, SMALL);
    const lines = framed(plan, SMALL, last);
    assert.match(lines[22], /^⊘ after +blocked +waits for bad, which is failed$/);
    assert.match(lines[23], /^25–43 of 43 nodes/);
    assert.equal(maxScrollOffset(plan, LARGE), 0);
    assert.equal(framed(plan, LARGE)[49], "q quit; the plan goes on");
  });

  test("says of a plan that has ended only how it is left", () => {
    const plan = { ...planOf(2), status: "failed", endedAt: 31_000 };
    const lines = framed(plan, SMALL);
    assert.match(lines[0], / {2}failed {2}30 s$/);
    assert.equal(lines[23], "q quit");
  });

  test("scrolls by keys, and q ends the command while the plan goes on", async (t) => {
    const { at, file } = await setUp(t);
    const gate = path.join(at.workspace, ".git", "open");
    const work = `until test -f ${gate}; do sleep 0.05; done`;
    const nodes = Array.from({ length: 40 }, (_, n) => ({
      ...{ id: `n${n + 1}`, work, expectsNoChanges: true },
    }));
    fs.writeFileSync(file, JSON.stringify({ name: "many", maxParallel: 1, nodes }));
    const { value } = await tapJson(["plan", "run", file, "--detach"], at);
    const terminal = new InTerminal(t, ["plan", "watch", value.planId], at, { cols: 80, rows: 24 });
    await terminal.shows(/^● n1 +running/m);
    await terminal.shows("1–19 of 40 nodes");
    terminal.type("\u001b[B");
    await terminal.shows("2–20 of 40 nodes");
    terminal.type("\u001b[F");
    await terminal.shows("22–40 of 40 nodes");
    assert.match(terminal.text, /^○ n40 {2}ready$/m);
    terminal.type("\u001b[H");
    await terminal.shows("1–19 of 40 nodes");
    terminal.type("q");
    assert.equal(await terminal.end(), 0);
    fs.writeFileSync(gate, "");
    await tapJson(["plan", "cancel", value.planId, "--yes"], at);
  });
});

test("plan watch goes on with a plan that has failed and is retried", async (t) => {
  const { at, file } = await setUp(t);
  const gate = path.join(at.workspace, ".git", "open");
  const nodes = [{ id: "a", work: `echo tried; test -f ${gate}`, expectsNoChanges: true }];
  fs.writeFileSync(file, JSON.stringify({ name: "one", nodes }));
  const { value } = await tapJson(["plan", "run", file, "--detach"], at);
  const terminal = new InTerminal(t, ["plan", "watch"], at, { cols: 80, rows: 12 });
  await terminal.shows(/^✖ a {2}failed \(work\) {2}`echo tried;.* exit code 1\n {4}tried$/m);
  await terminal.shows(/^q quit$/m);
  fs.writeFileSync(gate, "");
  await tapJson(["plan", "retry", `${value.planId}/a`], at);
  await terminal.shows(/^✔ a {2}succeeded \(attempt 2\)$/m);
  terminal.type("q");
  assert.equal(await terminal.end(), 0);
});

describe("the graph of a plan", () => {
  test("has a line for each node, and below it why it failed and what it printed last", () => {
    const plan = planOf(1);
    plan.nodes[3].dependencies = ["bad", LONG_ID];
    for (const width of [80, 160]) {
      const lines = textOf(graphLines(plan.nodes, width));
      for (const line of lines) assert.ok(stringWidth(line) <= width, line);
      assert.match(lines[0], /^1 ┬ ✖ bad +failed \(postchecks, attempt 2\)/);
      assert.match(lines[1], /^ {2}│ {3}`npm test.*exit code 1$/);
      assert.match(lines[2], /^ {2}│ {3}Error: expected 3 arguments,\\x1b\[2J but got 2 漢字$/);
      assert.match(lines[3], /^ {2}├ ● a-very-long/);
      assert.match(lines[5], /^ {2}└ ○ unit-1 +ready$/);
      assert.match(lines[6], /^2 ─ ⊘ after +blocked +← bad, a-v/);
      assert.match(lines[7], /^ {6}waits for bad, which is failed$/);
    }
  });
});

test("groups, and until when a node waits, are shown", () => {
  const nodes = [
    { id: "a", name: "a", status: "ready", group: "parser/front" },
    { id: "b", name: "b", status: "pending", group: "parser", dependencies: ["a"] },
    { id: "c", name: "c", status: "pending", dependencies: ["a"] },
  ];
  const lines = textOf(graphLines(nodes, 160));
  assert.deepEqual(lines, [
    "1 ─ ○ a  ready    [parser/front]",
    "2 ┬ · b  pending  [parser]  ← a",
    "  └ · c  pending  ← a",
  ]);
  /** @type {string[]} */
  const said = [];
  const output = /** @type {any} */ ({
    print: (/** @type {any[]} */ ...parts) => said.push(...textOf([parts])),
  });
  const about = {
    ...{ dependencies: [], config: {}, attempts: [], workSummary: { files: 0 }, metrics: {} },
    overlaps: [{ node: "b", other: "a", files: ["x.txt"] }],
  };
  const notBefore = Date.UTC(2026, 0, 2, 3, 4, 5);
  showNode(output, { ...nodes[0], ...about, notBefore });
  assert.equal(said[1], "group       parser/front");
  assert.match(said[2], /^waits {7}until [\d -]*\d\d:\d\d:\d\d$/);
  assert.equal(said[3], "overlaps    x.txt with b");
});

test("a text that is cut inside keeps its end, and never gets wider", () => {
  assert.equal(cutInside("abcdefghij", 10), "abcdefghij");
  assert.equal(cutInside("abcdefghijk", 6), "ab…ijk");
  for (const text of ["漢字漢字漢字漢字", "abcdefgh漢字", "👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦abc"]) {
    for (let width = 1; width < 16; width += 1) {
      assert.ok(stringWidth(cutInside(text, width)) <= width, `${text} ${width}`);
    }
  }
});
