// What the CLI says when it refuses tools.

import assert from "node:assert/strict";
import { test } from "node:test";
import { toolsNamedIn } from "../../../js/session/copilot-session.mjs";

test("toolsNamedIn finds what a refusal is about", () => {
  assert.deepEqual(toolsNamedIn('External tool "a-b" conflicts with "c_d".'), ["a-b", "c_d"]);
  assert.deepEqual(toolsNamedIn("External tool name clash: grep, and more"), ["grep"]);
  assert.deepEqual(toolsNamedIn("something else"), []);
});
