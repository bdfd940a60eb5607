// What is taken of a file that somebody says was exported.

import assert from "node:assert/strict";
import { test } from "node:test";
import { readExport } from "../../../js/features/plans/export-import.mjs";

test("a file that is nested too deep is refused, wherever that is", () => {
  const deep = JSON.parse("[".repeat(16_000) + "]".repeat(16_000));
  const evidence = { summary: "x", findings: deep };
  const ended = { kind: "phase-ended", at: 1, detail: { evidence } };
  const good = { version: 1, source: {}, journal: [], plan: {} };
  for (const bad of [{ journal: [ended] }, { source: { nodes: deep } }, { other: deep }]) {
    assert.throws(() => readExport({ ...good, ...bad }), { code: "INVALID_EXPORT" });
  }
});
