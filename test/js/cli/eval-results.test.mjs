// What is recorded of a run of evals.

import assert from "node:assert/strict";
import { test } from "node:test";
import { toRecords } from "../../../js/evals/results.mjs";

/** @param {string} text @param {string} [name] */
const bodyOf = (text, name = "one") => {
  const problems = [text, text, text, text];
  const one = { name, status: "failed", ms: 1, problems, checks: [], calls: [] };
  const results = { startedAt: new Date(0).toISOString(), file: text, tap: "1.2.3", cases: [one] };
  return toRecords(/** @type {any} */ (results))[0];
};

test("a record's body stays within 4 KB, whatever the texts are", () => {
  for (const character of ["a", "\u0001", "\u00e9", "\u8a08", "\ud83d", "\\", '"', "\u{1f600}"]) {
    const text = character.repeat(5000);
    const body = bodyOf(text, text);
    const bytes = Buffer.byteLength(JSON.stringify(body));
    assert.ok(bytes <= 4096, `${JSON.stringify(character)}: ${bytes}`);
    assert.ok(/** @type {any} */ (body.reasons).length > 0, JSON.stringify(character));
  }
});

test("a secret at the place where a text is cut is not recorded in part", () => {
  const secret = `ghp_${"aB3dE6gH9j".repeat(4)}`;
  const body = JSON.stringify(bodyOf(`${"x".repeat(180)} ${secret}`));
  assert.ok(!body.includes("ghp_aB3"), body);
});
