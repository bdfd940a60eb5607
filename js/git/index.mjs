// What the room offers (the service `worktree` of features).

export { keepAttempt } from "./refs.mjs";
export { bringBack } from "./restored.mjs";
export { bring, checkBrought, missingBrought } from "./bring.mjs";
export { candidate, integrate, landedOf, landedResult, squashOf } from "./integration.mjs";
export { changedBetween, lookAtCheckout } from "./checkouts.mjs";
export { checkSpace, checkUsable, requireUnprotected } from "./usable.mjs";
export { checkLink, commitWork } from "./commits.mjs";
export { expireDeleted, markDeleted } from "./deleted.mjs";
export { diffBetween, linesBetween } from "./changes.mjs";
export { cleanOrphan, searchOrphans, worktreeUse } from "./orphan-search.mjs";
export { resultOf, takeOut } from "./held.mjs";
export { holdersOf } from "./holders.mjs";
export { diffOfWork } from "./work-diff.mjs";
export { keepLeft } from "./left-commits.mjs";
export { expireKept, listKept } from "./kept.mjs";
export { keepMade, lackingOn, missingCommits } from "./adopted.mjs";
export { requireFreeName } from "./free-name.mjs";
export { settleBegun } from "./begun-landing.mjs";
export { land } from "./landing.mjs";
export { mergeCommits, probeAll } from "./merges.mjs";
export { openRepository } from "./repository.mjs";
export { branchTip, readInside, resolveFolders, resolveInside } from "./places.mjs";
export { Pool } from "./pool.mjs";
export { changedTracked, noteSetup, restoreSetup } from "./setup.mjs";
export { remainsOf, removeWorktree } from "./removal.mjs";
export { Worktrees } from "./worktrees.mjs";
