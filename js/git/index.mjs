// What the room offers (the service `worktree` of features).

export { attemptRef, commitsOf, resultRef } from "./refs.mjs";
export { bring } from "./bring.mjs";
export { candidate, integrate } from "./integration.mjs";
export { changedBetween, lookAtCheckout } from "./checkouts.mjs";
export { checkSpace, checkUsable } from "./usable.mjs";
export { commitWork } from "./commits.mjs";
export { diffBetween, linesBetween } from "./changes.mjs";
export { diskUses, findOrphans, removeOrphan } from "./orphans.mjs";
export { expireKept, listKept, restoreKept } from "./kept.mjs";
export { land } from "./landing.mjs";
export { mergeCommits, probeAll } from "./merges.mjs";
export { openRepository } from "./repository.mjs";
export { branchTip, readInside, resolveFolders, resolveInside } from "./places.mjs";
export { Pool } from "./pool.mjs";
export { removeWorktree } from "./removal.mjs";
export { Worktrees } from "./worktrees.mjs";
