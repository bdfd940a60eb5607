// The file of a plan that copilot-tap plan reads.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { readExport, readNodes, readPlan } from "../../../js/cli/plan/plan-file.mjs";
import { cpuMs } from "../../support/cost.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { PATIENCE_MS } from "../../support/wait.mjs";

/** @param {import("node:test").TestContext} t @param {string} [text] of the file */
function place(t, text, name = "plan.yaml") {
  const file = path.join(temporaryFolder(t), name);
  if (text !== undefined) fs.writeFileSync(file, text);
  return file;
}

test("what is not a regular file is refused at once", { timeout: PATIENCE_MS }, async (t) => {
  const pipe = place(t);
  execFileSync("mkfifo", [pipe]);
  for (const file of [pipe, path.dirname(pipe), "/dev/zero"]) {
    await assert.rejects(readPlan(file), { code: "INVALID_PLAN", message: /not a regular file/ });
  }
  await assert.rejects(readPlan(`${pipe}.json`), { message: /there is no such file/ });
});

test("what is larger than a plan may be is not parsed", { timeout: PATIENCE_MS }, async (t) => {
  const file = place(t, "");
  fs.truncateSync(file, 16 * 1024 * 1024 + 1);
  await assert.rejects(readPlan(file), { code: "INVALID_PLAN", message: /larger than 16 MB/ });
  const yaml = place(t, "- one\n".repeat(500_000));
  const message = /it is not JSON \(.*\), and as YAML it may have 2 MB/;
  await assert.rejects(readPlan(yaml), { code: "INVALID_PLAN", message });
});

test("JSON is not left to the parser of YAML, which takes seconds for it", async (t) => {
  const nodes = Array.from({ length: 40_000 }, (_, at) => ({ id: `n${at}`, work: "true # work" }));
  const file = place(t, JSON.stringify({ name: "large", nodes }), "plan.json");
  const before = cpuMs();
  assert.equal(/** @type {any} */ (await readPlan(file)).nodes.length, 40_000);
  assert.ok(cpuMs() - before < 1500, "a second");
});

test("YAML is read, and a mistake in it has its place", async (t) => {
  assert.deepEqual(await readPlan(place(t, "name: one\nnodes: []\n")), { name: "one", nodes: [] });
  await assert.rejects(readPlan(place(t, "name: [one")), { message: /plan\.yaml: .*line 1/ });
  await assert.rejects(readPlan(place(t, '{"name": "one",,}')), { code: "INVALID_PLAN" });
  await assert.rejects(readPlan(place(t, '{"name": "one", "name": "two"}')), { message: /unique/ });
  await assert.rejects(readPlan(place(t, "[]")), { message: /expected a plan/ });
});

test("a value that YAML takes for its own is refused, with its line and what to write", async (t) => {
  const signs = [
    ...['git commit -m "feat: x"', "@agent write docs", "%x", "`ls`", "[ -f x ] && y", "echo a: b"],
    ...['"a" && b', "- a", "!test -f x", "! test -f x", "!!binary aGk=", "*.txt"],
  ];
  for (const value of signs) {
    for (const text of [`name: x\nwork: ${value}\n`, `x:\n  - ${value}\n`]) {
      const message = /plan\.yaml: line 2, column \d+: .*put the value in quotes, or write \|/;
      // In a list, "- a" is another list, and `a: b` an object.
      if (/ {2}- (?:- a|echo a: b|git)/.test(text)) continue;
      await assert.rejects(readPlan(place(t, text)), { code: "INVALID_PLAN", message }, text);
    }
  }
  const two = place(t, "name: x\n---\nname: y\n");
  await assert.rejects(readPlan(two), { code: "INVALID_PLAN", message: /line 2, column 1: .*---/ });
  const node = "nodes:\n  - id: a\n    work: !!str true\n    name: &x b\n    group: *x\n";
  assert.equal(/** @type {any} */ (await readPlan(place(t, node))).nodes[0].work, "true");
});

test("a node whose work is empty is refused", async (t) => {
  for (const name of ["work", "prechecks", "postchecks"]) {
    const message = new RegExp(`node a: \`${name}\``);
    const node = `id: a\n${name}:\n`;
    await assert.rejects(readNodes(place(t, node)), { code: "INVALID_PLAN", message });
    const plan = place(t, `nodes:\n  - ${node.replaceAll("\n", "\n    ")}`);
    await assert.rejects(readPlan(plan), { code: "INVALID_PLAN", message });
  }
});

test("nodes to add are a list, one node or `nodes`, and nothing else", async (t) => {
  const node = { id: "a", work: "true" };
  for (const written of [[node], node, { nodes: [node] }]) {
    assert.deepEqual(await readNodes(place(t, JSON.stringify(written))), [node]);
  }
  for (const written of [7, { nodes: { a: node } }, { nodes: [node], name: "x" }, { work: "x" }]) {
    const file = place(t, JSON.stringify(written));
    await assert.rejects(readNodes(file), { code: "INVALID_PLAN" });
  }
});

test("a .json file that is not JSON is told so, and a mistake of YAML ends without a colon", async (t) => {
  const json = (/** @type {string} */ text) => readPlan(place(t, text, "plan.json"));
  await assert.rejects(json('{"name":"x",\n'), {
    message: /plan\.json: it is not JSON: .* line 2,? column 1\b/,
  });
  await assert.rejects(json('{\n"name": [x}'), { message: /plan\.json: it is not JSON: .*x/ });
  await assert.rejects(json('{"name": "one", "name": "two"}'), { message: /unique.*\d$/ });
  assert.deepEqual(await json('\ufeff{"name":"x"}'), { name: "x" });
  await assert.rejects(readPlan(place(t, "name: [one")), { message: /line 1, column \d+\b/ });
});

test("an export that is not there, is no file or no JSON is refused in words", (t) => {
  const file = place(t, '{"planId":', "export.json");
  const code = "INVALID_EXPORT";
  assert.throws(() => readExport(`${file}.gone`), {
    code,
    message: /gone: there is no such file$/,
  });
  assert.throws(() => readExport(path.dirname(file)), { code, message: /not a regular file$/ });
  assert.throws(() => readExport(file), { code, message: /export\.json: it is not JSON: / });
  assert.throws(() => readExport(place(t, "[]", "list.json")), { code, message: /an object$/ });
});
