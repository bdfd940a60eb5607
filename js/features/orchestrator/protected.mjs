// Branches that configs protect: no plan is made for them, and none lands on them.

import { PlanError } from "./plan-error.mjs";

/**
 * @param {import("../../registry/services.mjs").Services} services @param {typeof import("../../git/index.mjs")} git
 * @param {string} repo the checkout's folder @param {string | undefined} target
 */
export async function requireUnprotected(services, git, repo, target) {
  if (target === undefined) return;
  const { patterns, trouble } = await services.worktree.protectedIn(repo);
  if (trouble) {
    const text = `which branches are protected is not known, because a config has a mistake: ${trouble}. Correct it first`;
    throw new PlanError("CONFIG_INVALID", text);
  }
  git.requireUnprotected(target, patterns);
}
