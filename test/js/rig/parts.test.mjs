// The parts of `npm test`: which there are, what is repeated, and what clang looks at.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { attempt, root } from "../../../tools/commands.mjs";
import { E2E_CORE } from "../../../tools/e2e-core.mjs";
import { withIncluders } from "../../../tools/lint-cpp.mjs";
import { findFailedFiles, mergeResults } from "../../../tools/node-tests.mjs";
import { GATE, PARTS, RELEASE, TESTS } from "../../../tools/parts.mjs";

/** @param {string} file @param {string} title @param {"passed" | "failed" | "skipped"} outcome */
const result = (file, title, outcome) => ({ file, title, outcome });

describe("parts", () => {
  test("exist wherever they are named, and say when to run what the gate leaves out", () => {
    for (const name of [...TESTS, ...GATE, ...RELEASE]) assert.ok(PARTS[name], name);
    for (const [name, part] of Object.entries(PARTS)) {
      assert.ok(part.about && part.seconds > 0, name);
      assert.equal(part.when !== undefined, !GATE.includes(name), name);
      if (part.beside) assert.ok(PARTS[part.beside], `${name} beside ${part.beside}`);
    }
  });

  test("of a release include each part of the gate, or its longer form", () => {
    const longer = (/** @type {string} */ name) => [name, `${name}-all`, `${name}-long`];
    const missing = GATE.filter((name) => !longer(name).some((one) => RELEASE.includes(one)));
    assert.deepEqual(missing, []);
  });

  test("are listed by --help; a word that is no part is refused", async () => {
    const run = (/** @type {string[]} */ ...words) =>
      attempt(process.execPath, ["tools/run.mjs", ...words], { quiet: true });
    const [help, wrong] = await Promise.all([run("--help"), run("jss")]);
    for (const name of Object.keys(PARTS))
      assert.match(help.output, new RegExp(`^ +${name} `, "m"));
    assert.deepEqual([help.code, wrong.code], [0, 2]);
  });

  test("on the real CLI name tests that exist", () => {
    for (const [name, titles] of Object.entries(E2E_CORE)) {
      const text = readFileSync(path.join(root, "test", "e2e", `${name}.test.mjs`), "utf8");
      for (const title of titles) assert.ok(text.includes(title), `${name}: ${title}`);
    }
  });
});

describe("a test file that failed", () => {
  const files = ["test/js/rig/parts.test.mjs", "test/js/rig/wrap.test.mjs"];

  test("is found by its tests, by its name, and by the helper that declares a test", () => {
    const passed = result(files[1], "passes", "passed");
    const find = (/** @type {string} */ file, /** @type {string} */ title) =>
      findFailedFiles([passed, result(file, title, "failed")], files);
    assert.deepEqual(find(files[0], "fails"), [files[0]]);
    assert.deepEqual(find("", path.join(root, files[0])), [files[0]]);
    assert.deepEqual(find("tools/wrap.mjs", "declared there"), [files[0], files[1]]);
  });

  test("has the outcomes of its repetition, and other files keep theirs", () => {
    const earlier = [
      result(files[0], "races", "failed"),
      result(files[0], "works", "passed"),
      result("", files[0], "failed"),
      result(files[1], "fails", "failed"),
    ];
    const later = [result(files[0], "races", "passed"), result(files[0], "works", "passed")];
    assert.deepEqual(mergeResults(earlier, later, [files[0]]), [
      result(files[1], "fails", "failed"),
      ...later,
    ]);
  });
});

test("clang looks at what changed and at what includes it, at any depth", () => {
  const includes = new Map([
    ["native/a.h", []],
    ["native/b.h", ["native/a.h"]],
    ["native/b.cc", ["native/b.h"]],
    ["native/c.cc", ["native/c.h"]],
  ]);
  const chosen = (/** @type {string[]} */ ...changed) =>
    [...withIncluders(changed, includes)].sort();
  assert.deepEqual(chosen("native/a.h"), ["native/a.h", "native/b.cc", "native/b.h"]);
  assert.deepEqual(chosen("native/c.cc"), ["native/c.cc"]);
  assert.deepEqual(chosen(), []);
});
