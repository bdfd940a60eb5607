// What a feature registers twice, and the bound of results.

import assert from "node:assert/strict";
import { test } from "node:test";
import { boundResult, MAX_RESULT_BYTES } from "../../../js/feature-host/results.mjs";
import { installed } from "../../support/feature-rig.mjs";

test("a tool that is registered twice is an error of its feature", async (t) => {
  const { report } = await installed(
    t,
    { tools: [{ name: "one_x", description: "does it" }] },
    ({ tools }) => {
      tools.register("one_x", () => "first");
      tools.register("one_x", () => "second");
    },
  );
  assert.match(report().skipped[0].reason, /install failed: the tool one_x is registered already/);
});

test("a result is bounded in bytes, and no character is cut in two", async () => {
  const about = { session: "s", tool: "t" };
  for (const text of [
    "ü".repeat(MAX_RESULT_BYTES - 1),
    "計".repeat(20_000),
    "a" + "😀".repeat(10_000),
  ]) {
    const said = String(await boundResult(text, about, async () => "/kept"));
    assert.ok(Buffer.byteLength(said) <= MAX_RESULT_BYTES);
    assert.match(said, /more characters; the whole text is in \/kept\)$/);
    assert.ok(!said.includes("\ufffd") && said.isWellFormed());
  }
  await assert.rejects(boundResult({ text: "計".repeat(20_000) }, about), /has 60011 bytes/);
  const fits = "ü".repeat(MAX_RESULT_BYTES / 2);
  assert.equal(await boundResult(fits, about), fits);
});
