// A few rounds of many worktrees at once. worktrees.crowd.long.test.mjs has forty.

import { test } from "node:test";
import { crowdWorktrees } from "./worktree-crowd.mjs";

test("eight worktrees at once are added and removed four times, while another git does the same", (t) =>
  crowdWorktrees(t, 4));
