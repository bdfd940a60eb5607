// Many worktrees at once, for so long that turns that meet seldom meet, too.

import { test } from "node:test";
import { crowdWorktrees } from "./worktree-crowd.mjs";

test("eight worktrees at once are added and removed forty times, while another git does the same", (t) =>
  crowdWorktrees(t, 40));
