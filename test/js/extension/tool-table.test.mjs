// The tools that a session has.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ToolTable } from "../../../js/extension/tools.mjs";

test("ToolTable: changes by provider, sorted, never changed in place", () => {
  const tool = (name) => ({ name, description: "", parameters: {} });
  const event = (set, drop = []) => ({ revision: 1, reload: false, set, drop });
  const first = new ToolTable().with(
    event([
      { provider: "b", digest: "2", definitions: [tool("z"), tool("y")] },
      { provider: "a", digest: "1", definitions: [tool("x")] },
    ]),
  );
  const names = (table) => table.definitions().map(({ name }) => name);
  assert.deepEqual(names(first), ["x", "z", "y"]);
  assert.deepEqual(first.digests(), { b: "2", a: "1" });
  const second = first.with(
    event([{ provider: "b", digest: "3", definitions: [tool("w")] }], ["a"]),
  );
  assert.deepEqual(names(second), ["w"]);
  assert.deepEqual(names(first), ["x", "z", "y"]);
  assert.deepEqual(first.filterOwn(["y", "bash"]), ["y"]);
  assert.deepEqual(names(first.without(["z"])), ["x", "y"]);
});
