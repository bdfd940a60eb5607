// Some random histories of plans; plans-histories.long.test.mjs has a thousand.

import { testHistories } from "./plan-histories.mjs";

testHistories(8, Number(process.env.TAP_TEST_SEED ?? 20_261_127));
