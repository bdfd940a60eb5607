// What the CLI says when it refuses tools.

import assert from "node:assert/strict";
import { test } from "node:test";
import { findToolNames } from "../../../js/extension/copilot-session.mjs";

test("toolsNamedIn finds what a refusal is about", () => {
  assert.deepEqual(findToolNames('External tool "a-b" conflicts with "c_d".'), ["a-b", "c_d"]);
  assert.deepEqual(findToolNames("External tool name clash: grep, and more"), ["grep"]);
  assert.deepEqual(findToolNames("something else"), []);
});
