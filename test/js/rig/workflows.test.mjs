// .github/workflows run what .ci/run runs, on the Nodes and systems that the documentation names.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { root } from "../../../tools/commands.mjs";

const read = (...parts) => readFileSync(path.join(root, ...parts), "utf8");

/** What a script gives to tools/run.mjs, of all such lines together. @param {string} text */
const partsIn = (text) =>
  [...text.matchAll(/^(?:\s*- run: )?\s*node tools\/run\.mjs (.+)$/gm)].flatMap(([, parts]) =>
    parts.trim().split(/\s+/),
  );

describe("workflows", () => {
  test("run the parts that .ci/run runs", () => {
    const parts = [...new Set(partsIn(read(".github", "workflows", "ci.yml")))].sort();
    const local = partsIn(read(".ci", "run")).sort();
    assert.ok(local.length > 8, `only ${local} was read`);
    assert.deepEqual(parts, local);
  });

  test("judge the tests of each part that conformance judges", () => {
    const judged = ["native", "js", "e2e"];
    const lines = read(".github", "workflows", "ci.yml").match(/node tools\/run\.mjs .+/g) ?? [];
    for (const part of judged) {
      const line = lines.find((text) => text.split(" ").includes(part)) ?? "";
      assert.match(line, / conformance\b/, part);
    }
  });

  test("begin with the oldest Node.js that is supported", () => {
    const [, oldest] = /(\d+\.\d+)/.exec(JSON.parse(read("package.json")).engines.node) ?? [];
    for (const name of readdirSync(path.join(root, ".github", "workflows"))) {
      const versions = read(".github", "workflows", name).matchAll(
        /node:(\d+\.\d+)\.\d+-bookworm/g,
      );
      for (const [, version] of versions) assert.equal(version, oldest, name);
    }
    assert.match(
      read(".github", "workflows", "ci.yml"),
      new RegExp(`node: \\[${oldest}\\.\\d+, 22, 24\\]`),
    );
  });
});
