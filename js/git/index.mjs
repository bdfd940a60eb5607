// The exports of this folder (the service `worktree` of features).

export { setAttemptRef } from "./refs.mjs";
export { restoreArchive } from "./archive.mjs";
export {
  copyUntrackedFiles,
  checkUntrackedPaths,
  expandPatterns,
  findMissingPaths,
  findTracked,
} from "./copy-untracked.mjs";
export {
  previewIntegration,
  integrate,
  findLandedCommit,
  findLandedResult,
  findSquashCommit,
} from "./integration.mjs";
export { compareFingerprints, findOperation, fingerprintCheckout } from "./checkouts.mjs";
export {
  checkSpace,
  checkRepositoryReady,
  findMissingHooks,
  requireUnprotected,
} from "./preflight.mjs";
export { checkMerged, checkWorktreeLink, commitWork, formatLandedMessage } from "./commit-work.mjs";
export { expireDeletions, markDeleted } from "./archive.mjs";
export { diffBetween, isAncestor, linesBetween } from "./merge.mjs";
export { cleanOrphan, searchOrphans, worktreeUse } from "./cleanup.mjs";
export { checkResult, removePendingLeaves } from "./integration.mjs";
export { processesUsing } from "./processes.mjs";
export { diffWorktree } from "./commit-work.mjs";
export { archiveUnreachableCommits, inspectWorktree, snapshotContents } from "./archive.mjs";
export { expireArchives, listArchives } from "./archive.mjs";
export { importRefs, missingOnTarget, missingCommits } from "./import-refs.mjs";
export { requireFreeName } from "./landing.mjs";
export { recoverLanding } from "./landing.mjs";
export { land } from "./landing.mjs";
export { mergeCommits, probeAll } from "./merge.mjs";
export { findReservedPlaces, inspectFolders } from "./folders.mjs";
export { exists, openRepository } from "./repository.mjs";
export { branchTip, readInside, resolveInside, resolveTarget } from "./repository.mjs";
export { emptyTemporaryFolder, hasStore, storeFolder, takeOverWork } from "./private-store.mjs";
export { WorktreePool } from "./worktree-pool.mjs";
export { noteSetup } from "./commit-work.mjs";
export { findCheckouts, findLeftovers, removeWorktree } from "./cleanup.mjs";
export { Worktrees } from "./worktrees.mjs";
