// A Node.js that is too old is told of in one sentence, by every program that a person starts.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { isNodeNewEnough, MIN_NODE } from "../../../js/lib/node-version.mjs";
import { REPO_ROOT } from "../../support/cli.mjs";

/** Runs as if on Node 18. */
const OLD = `data:text/javascript,${encodeURIComponent(
  'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "18.20.8" } });',
)}`;

test("package.json asks for the same version", () => {
  const { engines } = JSON.parse(fs.readFileSync(path.join(REPO_ROOT, "package.json"), "utf8"));
  assert.equal(`${engines.node.replace(">=", "")}.0`, MIN_NODE);
});

test("versions are compared number by number", () => {
  for (const version of ["20.19.0", "v20.19.0", "20.20.2", "22.0.0", "100.1.0"])
    assert.ok(isNodeNewEnough(version), version);
  for (const version of ["20.18.9", "v18.20.8", "9.99.99", "0.12.0", "", "no version"])
    assert.ok(!isNodeNewEnough(version), version);
});

for (const program of [
  "js/cli/cli.mjs",
  "js/install/installer.mjs",
  "tools/run.mjs",
  "tools/demo.mjs",
]) {
  test(`${program} says in one sentence that Node.js is too old`, () => {
    const args = ["--import", OLD, path.join(REPO_ROOT, program), "--help"];
    const run = spawnSync(process.execPath, args, { encoding: "utf8" });
    assert.equal(run.status, 1);
    assert.equal(run.stdout, "");
    assert.match(
      run.stderr,
      /^tap: tap needs Node\.js 20\.19\.0 or later, and this is 18\.20\.8 .*\n$/,
    );
  });
}

test("the command's first file links nothing that an old Node.js could lack", () => {
  const texts = ["js/cli/cli.mjs", "js/lib/require-node.mjs", "js/lib/node-version.mjs"].map(
    (file) => fs.readFileSync(path.join(REPO_ROOT, file), "utf8"),
  );
  const imported = texts.flatMap((text) =>
    [...text.matchAll(/^import (?:.* from )?"([^"]+)";$/gm)].map(([, name]) => name),
  );
  assert.deepEqual(imported.sort(), [
    "../lib/require-node.mjs",
    "./node-version.mjs",
    "node:process",
  ]);
});
