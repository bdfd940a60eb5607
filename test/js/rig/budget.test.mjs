// What the budget of instructions makes of counts.

import assert from "node:assert/strict";
import { test } from "node:test";
import { overBudget } from "../../../tools/bench/budget.mjs";

test("what stays within 5 % is within the budget", () => {
  assert.deepEqual(overBudget({ routing: 1000 }, { routing: 1050 }), []);
  assert.deepEqual(overBudget({ routing: 1000 }, { routing: 10 }), []);
});

test("what grows by more is named, with by how much", () => {
  assert.deepEqual(
    overBudget({ routing: 1000, "json-scan": 10 }, { routing: 1051, "json-scan": 10 }),
    ["routing executes 1051 instructions, 5.1 % over 1000"],
  );
});

test("a part that is counted and has no budget, or the other way round, is named", () => {
  assert.deepEqual(overBudget({ gone: 1 }, { fresh: 1 }), [
    "gone is in the budget and was not counted",
    "fresh is in no budget",
  ]);
});
