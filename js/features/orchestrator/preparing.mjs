// The worktree of a node before its prechecks: at its commit, with what the plan brings along, and set up.

/** @typedef {import("./node-run.mjs").NodeRun} NodeRun */

/** @param {NodeRun} run @param {{base: string, at?: string}} wanted */
export async function prepared(run, wanted) {
  const worktree = await run.makeWorktree(wanted);
  const { copy, link, setup } = run.plan.head;
  /** @type {string[]} */
  const lacking = [];
  if (copy || link) {
    const { skipped } = await run.git.bring(run.repository.root, worktree, { copy, link });
    lacking.push(...skipped.map(({ path, why }) => `${path} (${why})`));
  }
  // Also in one that another node has had: that was cleaned of what the setup had left.
  if (setup) await run.setUp(setup, { ...worktree, commit: wanted.at ?? wanted.base });
  return { path: worktree.path, lacking };
}
