// Which lines of a long output are shown where it failed.

import assert from "node:assert/strict";
import { test } from "node:test";
import { selectFailureLines } from "../../../js/lib/failure-lines.mjs";

const noise = Array.from({ length: 40 }, (_, at) => `line ${at}`);

test("a failure amid a long output is chosen with its neighbours, and so are the last lines", () => {
  for (const failure of ["Tests: 3 failed, 0 errors", "src/a.ts(2,1): error TS2304", "panic: x"]) {
    const lines = [...noise, failure, "its place", ...noise];
    const chosen = selectFailureLines(lines, 20);
    assert.ok(chosen.includes(failure), failure);
    assert.ok(chosen.includes("its place"));
    assert.deepEqual(chosen.slice(-5), noise.slice(-5));
    assert.ok(chosen.filter((line) => line !== "…").length <= 20);
  }
});

test("counts without failures, and lines of successes, are none", () => {
  for (const line of ["0 errors, 0 failed", "ok 3 - fails with an error", "# fail 0 errors"]) {
    const chosen = selectFailureLines([...noise, line, ...noise], 20);
    assert.ok(!chosen.includes(line), line);
  }
});
