// What a preflight refuses, without harm to the other descriptors, and the bound of results.

import assert from "node:assert/strict";
import { test } from "node:test";
import { preflight } from "../../../js/feature-host/preflight.mjs";
import { boundResult, MAX_RESULT_BYTES } from "../../../js/feature-host/results.mjs";
import { installed } from "../../support/feature-rig.mjs";

const feature = (fields) => ({
  ...{ id: "builtin:one", displayName: "One", version: "1", runtime: "builtin" },
  ...fields,
});
const capability = { capability: "event", required: true, reason: "a test" };
const tool = (parameters) => ({ name: "one_x", description: "does it", parameters });

/** @type {Record<string, [() => object, RegExp]>} */
const BAD = {
  "with a BigInt": [() => feature({ version: 1n }), /^version: .*bigint/],
  "with a getter that throws": [
    () =>
      Object.defineProperty(feature(), "tools", {
        enumerable: true,
        get: () => assert.fail("boo"),
      }),
    /cannot be read: boo/,
  ],
  "of which nothing can be read": [
    () => new Proxy(feature(), { get: () => assert.fail("boo") }),
    /cannot be read: boo/,
  ],
  "with a function in parameters": [
    () => feature({ tools: [tool({ type: "object", check: () => true })] }),
    /tools\.0\.parameters\.check: a descriptor is data only, found a function/,
  ],
  "with a schedule that is not one": [
    () => feature({ tasks: [{ name: "t", schedule: "banana" }] }),
    /task t: its schedule "banana" is not like 30s/,
  ],
  "that lists a capability twice": [
    () => feature({ capabilities: [capability, { ...capability, required: false }] }),
    /capabilities: "event" is there twice/,
  ],
};

for (const [what, [make, wanted]] of Object.entries(BAD)) {
  test(`a descriptor ${what} is refused alone`, () => {
    const other = feature({ id: "builtin:other", tasks: [{ name: "t", schedule: "5m" }] });
    const candidates = /** @type {any[]} */ ([
      { descriptor: make(), origin: "a" },
      { descriptor: other, origin: "b" },
    ]);
    const [bad, good] = preflight(candidates, {});
    assert.match(bad.problems[0], wanted);
    assert.notEqual(bad.decision.obstacle, "");
    assert.deepEqual([good.problems, good.decision.obstacle], [[], ""]);
  });
}

test("two of one id are both named and both refused, though one of them is wrong", () => {
  const candidates = /** @type {any[]} */ ([
    { descriptor: feature({ strange: 1 }), origin: "a" },
    { descriptor: feature(), origin: "b" },
  ]);
  for (const { decision, problems } of preflight(candidates, {})) {
    assert.equal(problems[0], "builtin:one is declared by a and by b: neither is installed");
    assert.equal(decision.obstacle, problems[0]);
  }
});

test("a tool that is registered twice is an error of its feature", async (t) => {
  const { report } = await installed(t, { tools: [tool()] }, ({ tools }) => {
    tools.register("one_x", () => "first");
    tools.register("one_x", () => "second");
  });
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
