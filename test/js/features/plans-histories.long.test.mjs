// A thousand random histories of plans, others each time. TAP_TEST_SEED repeats some, TAP_HISTORIES says how many.

import { testHistories } from "./plan-histories.mjs";

testHistories(
  Number(process.env.TAP_HISTORIES ?? 1000),
  Number(process.env.TAP_TEST_SEED ?? Date.now() % 90_000_000),
);
