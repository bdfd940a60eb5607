// What a git has left that was killed at many times, from the first moment to the last.

import { test } from "node:test";
import { killGits } from "./worktree-kills.mjs";

const linux = { skip: process.platform !== "linux" && "looks into /proc" };
const TIMES = Array.from({ length: 12 }, (_, at) => at / 2);

test("what a git that was killed at any time has left is put right by the next call", linux, (t) =>
  killGits(t, TIMES),
);
