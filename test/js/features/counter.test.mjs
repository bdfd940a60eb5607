// The example of docs/features.md does what the page says.

import assert from "node:assert/strict";
import { test } from "node:test";
import { openFeatureFolder } from "../../../js/feature-host/feature-folder.mjs";
import { installed } from "../../support/feature-rig.mjs";
import { descriptor, install } from "../../support/fixtures/features/counter.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

test("the example feature counts, keeps the count, and tells of each tenth", async (t) => {
  const files = openFeatureFolder(temporaryFolder(t), descriptor.id);
  const { session, said, report } = await installed(t, descriptor, install, {
    implementations: { files },
  });
  assert.deepEqual([report().tools, report().skipped], [["count_up"], []]);
  assert.equal(await session.call("count_up"), "1");
  assert.equal(await session.call("count_up", { by: 9 }), "10");
  assert.equal(said.events[0][1].summary, "the count is 10");
  assert.deepEqual(files.read("count.json"), { version: 1, value: 10 });
  assert.match(JSON.stringify(await session.call("count_up", { by: 0 })), /INVALID_ARGUMENTS/);
});
