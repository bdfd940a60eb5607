// Answers of the plans' tools that would be too long for a result.

import assert from "node:assert/strict";
import { test } from "node:test";
import { truncateResult } from "../../../js/features/plans/views.mjs";

const bytesOf = (/** @type {unknown} */ answer) => Buffer.byteLength(JSON.stringify(answer));

test("an answer that has room is the same", () => {
  const answer = { id: "a", config: { work: "x".repeat(20_000) } };
  assert.equal(truncateResult(answer), answer);
  assert.equal(truncateResult(undefined), undefined);
});

test("long texts and lists are cut, and what was left out is said by path", () => {
  const answer = { id: "a", config: { work: { command: "x".repeat(100_000) } }, list: [1, 2] };
  const some = truncateResult(answer);
  assert.ok(bytesOf(some) <= 32 * 1024);
  assert.deepEqual(some.cut, { "config.work.command": 100_000 - 8192 });
  assert.equal(some.config.work.command, "x".repeat(8192));
  assert.deepEqual([some.id, some.list], ["a", [1, 2]]);
  const many = truncateResult({
    dependents: Array.from({ length: 10_000 }, (_, i) => `${i}-${"n".repeat(60)}`),
  });
  assert.ok(bytesOf(many) <= 32 * 1024);
  assert.equal(many.dependents.length + many.cut.dependents, 10_000);
});

test("bytes count, not characters, and a list in a list is cut, too", () => {
  const deep = { rows: Array.from({ length: 300 }, () => ({ text: "ü".repeat(3000) })) };
  const some = truncateResult(deep);
  assert.ok(bytesOf(some) <= 32 * 1024, String(bytesOf(some)));
  assert.equal(some.rows.length + some.cut.rows, 300);
  assert.ok(some.cut["rows.0.text"] > 0);
});

test("what cannot be cut is refused", () => {
  const wide = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`field ${i}`, i]));
  assert.throws(() => truncateResult(wide), /ask for less/);
});
