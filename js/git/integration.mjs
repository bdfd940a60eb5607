// The leaves of a plan on their way to its target. Three refs take part:
//
//   integration   the leaves and the target, merged with true parents, so that every merge has the right base
//   result        the next commits of the target: a squash commit for each leaf, with the tree of its merge
//   the target    follows the result, by fast-forward only
//
// Integration and result move in a single transaction. Each squash commit is a parent in integration, too, so a commit
// that the user adds on top of it merges without conflicts. If the target moves while a leaf is pending, the leaf is
// removed from both refs: on the new tip it would be a different tree, which was not tested. If the target no longer
// has commits that had landed, both refs start again at the target, so that reverted work does not return.

import { GitError } from "./errors.mjs";
import { checkBranch, checkCommit, checkMessage } from "./git.mjs";
import { commitTree, isAncestor, probe, readMergeDates, resolveTree } from "./merge.mjs";
import { branchRef, integrationRef, moveRefs, resolveRefs, resultRef } from "./refs.mjs";

/** @typedef {import("./repository.mjs").Repository} Repository */

// The leaves in a plan's refs. The last leaves can be removed again, so that they do not land.

/** Commits of the integration for each removed leaf: its merge, its squash commit, and a merge of the target. */
const STEPS = 3;

/** @typedef {{integration: string | undefined, result: string | undefined}} PlanTips */
/** @typedef {Map<string, string[]>} Parents by commit */

/**
 * A commit and those before it, along their first parents.
 * @param {Repository} repository @param {string} commit @param {number} most @returns {Promise<[string, string[]][]>}
 */
async function readFirstParents(repository, commit, most) {
  const args = ["rev-list", "--first-parent", "--parents", `--max-count=${most}`];
  const { stdout } = await repository.query([...args, checkCommit(commit)]);
  const lines = stdout.trim().split("\n");
  return lines.map((line) => {
    const [first, ...parents] = line.split(" ");
    return [first, parents];
  });
}

/**
 * Both refs before the last of some leaves.
 * @param {Parents} parents @param {PlanTips} held @param {Set<string>} leaves
 * @returns {PlanTips | undefined} undefined: the refs do not end with a leaf of these
 */
function rewindLastLeaf(parents, { integration, result }, leaves) {
  const getParents = (/** @type {string | undefined} */ commit) =>
    parents.get(String(commit)) ?? [];
  const [merge, squash] = getParents(integration);
  const [tip, ...others] = squash === result ? getParents(result) : [];
  if (others.length > 0) return undefined;
  // A leaf without changes has no squash commit.
  const [before, merged] = tip ? getParents(merge) : [merge, squash];
  return leaves.has(merged) ? { integration: before, result: tip ?? result } : undefined;
}

/**
 * Both refs without some leaves, as long as they end with a leaf of these. No ref is moved.
 * @param {Repository} repository @param {PlanTips} held @param {string[]} leaves commits
 * @returns {Promise<PlanTips>}
 */
export async function rewindLeaves(repository, held, leaves) {
  const { integration, result } = held;
  if (!integration || !result || leaves.length === 0) return held;
  const most = leaves.length + 1;
  const lines = [
    await readFirstParents(repository, integration, STEPS * most),
    await readFirstParents(repository, result, most),
  ];
  const parents = new Map(lines.flat());
  const wanted = new Set(leaves);
  /** @type {PlanTips | undefined} */
  let now = held;
  for (let next; (next = rewindLastLeaf(parents, now, wanted));) now = next;
  return now;
}

/**
 * Removes leaves that have not landed from the refs, so that no later leaf carries them along. Does nothing if they are
 * on the target, or if a later leaf follows them, or if a different program moves the refs.
 * @param {Repository} repository
 * @param {{plan: string, target: string, leaves: string[], create?: boolean}} asked leaves: commits; create: the plan
 *   creates the target, which may not exist yet. Without it a missing target means: change no ref
 * @returns {Promise<boolean>} whether anything was taken out
 */
export async function removePendingLeaves(repository, { plan, target, leaves, create = false }) {
  const refs = [branchRef(target), integrationRef(plan), resultRef(plan)];
  const [at, integration, result] = await resolveRefs(repository, refs);
  if (!integration || !result || (!at && !create)) return false;
  if (at && (await isAncestor(repository, result, at))) return false;
  const next = await rewindLeaves(repository, { integration, result }, leaves.map(checkCommit));
  const moves = [
    { ref: refs[1], from: integration, to: next.integration },
    { ref: refs[2], from: result, to: next.result },
  ].filter(({ from, to }) => from !== to);
  return moves.length > 0 && moveRefs(repository, moves);
}

/**
 * The result, and whether it may land: the target contains it, or the target is the base of the pending leaves. The
 * rest of the result has landed; a target without it has lost it since.
 * @param {Repository} repository
 * @param {{plan: string, target: string, waiting: () => string[], apart?: () => boolean}} asked as of `integrate`
 * @returns {Promise<{result: string | undefined, follows: boolean}>}
 */
export async function checkResult(repository, { plan, target, waiting, apart }) {
  const refs = [branchRef(target), integrationRef(plan), resultRef(plan)];
  const [at, integration, result] = await resolveRefs(repository, refs);
  if (!result) return { result, follows: false };
  if (!at || (await isAncestor(repository, result, at))) return { result, follows: true };
  const { result: base } = await rewindLeaves(repository, { integration, result }, waiting());
  const follows = base === at || (!apart?.() && (await isFastForward(repository, base, at)));
  return { result, follows };
}

/** @param {Repository} repository @param {string | undefined} base @param {string} at */
export const isFastForward = async (repository, base, at) =>
  base !== undefined && (await isAncestor(repository, base, at));

const TRIES = 5;

/**
 * @typedef {object} IntegrationRequest
 * @property {string} plan
 * @property {string} target a branch
 * @property {string} base where the target starts, if it does not exist
 * @property {string} [leaf] a commit; absent: only merge the target's new commits
 * @property {string} [message] of the squash commit
 * @property {{tree: string, tip: string}} [expect] the tested tree and tip; if they differ, no ref gets the leaf
 * @property {() => string[]} [waiting] leaves in the result that have not landed; all other leaves have landed
 * @property {() => boolean} [apart] pending leaves were tested: they are not merged with a target that moved
 * @property {AbortSignal} [signal]
 *
 * @typedef {object} Ready
 * @property {"ready"} status
 * @property {string} tree the next tree of the target
 * @property {string} tip on which the next squash commit stands
 * @property {string} merge a commit with that tree, for a checkout
 * @property {boolean} landed the tip contains the leaf already
 * @property {boolean} waits the target has moved, and the result, with pending leaves, does not follow it
 *
 * @typedef {object} Conflicting
 * @property {"conflict"} status
 * @property {"leaves" | "target"} side the conflicting side; target: no leaf of the plan has landed, or the plan's own
 *   result conflicts with the target
 * @property {string} other the commit of that side
 * @property {string} ours a commit
 * @property {string} theirs a commit
 * @property {string[]} conflicts files
 * @property {string[]} notes
 *
 * @typedef {{status: "moved", tree: string, tip: string}} Moved tree and tip differ from the tested ones
 * @typedef {{status: "integrated", commit: string, tree: string, tip: string, again: boolean, waits: boolean}}
 *   Integrated commit: of the result; tip: its parent; again: an earlier call had integrated it
 */

/** Carries a conflict to catchConflict. */
class Conflict {
  /** @param {Omit<Conflicting, "status">} details */
  constructor(details) {
    this.details = details;
  }
}

/** A single read of the refs, and its consequences. It makes commits and moves no ref. */
class Step {
  /** @type {(string | undefined)[]} */
  before = [];
  /** The refs to build on, without the leaf if it must be tested again. @type {PlanTips} */
  tips = { integration: undefined, result: undefined };
  tip = "";
  integration = "";
  waits = false;
  /** @type {string[]} */
  waiting = [];

  /** @param {Repository} repository @param {IntegrationRequest} asked */
  constructor(repository, asked) {
    this.repository = repository;
    this.request = asked;
  }

  /** @param {string} ours @param {string} theirs @param {{side: "leaves" | "target", other: string}} against @param {string} message */
  async #merge(ours, theirs, against, message) {
    const { repository, request: asked } = this;
    const { tree, conflicts, notes } = {
      notes: [],
      ...(await probe(repository, ours, theirs, asked)),
    };
    if (conflicts) throw new Conflict({ ...against, ours, theirs, conflicts, notes });
    // Each read of the same refs has to find the same tip.
    const env = await readMergeDates(repository, [ours, theirs]);
    const parents = [ours, theirs];
    const commit = await commitTree(
      repository,
      /** @type {string} */ (tree),
      parents,
      message,
      env,
    );
    return { commit, tree: /** @type {string} */ (tree) };
  }

  /** @param {string[]} more leaves @returns {Promise<string | undefined>} the base of the pending leaves */
  async #findBase(...more) {
    return (await rewindLeaves(this.repository, this.tips, [...this.waiting, ...more])).result;
  }

  /** Removes a pending leaf whose target has moved from the refs to build on. @param {string | undefined} target */
  async #rewindMovedLeaf(target) {
    const { repository, tips: held, request: asked } = this;
    const { integration, result } = held;
    const { leaf } = asked;
    if (!leaf || !target || !integration || !result) return;
    if (await isAncestor(repository, result, target)) return;
    if (!(await isAncestor(repository, leaf, integration))) return;
    if ((await this.#findBase(leaf)) !== target)
      this.tips = await rewindLeaves(repository, held, [leaf]);
  }

  /** Whether a person moved the result: the integration does not contain it. */
  async #isByHand() {
    const { integration, result } = this.tips;
    if (!this.request.leaf || !integration || !result) return false;
    return !(await isAncestor(this.repository, result, integration));
  }

  /** The parent of the next squash commit, and the commit to merge the leaf with. @param {string | undefined} target @returns {Promise<{tip: string, integration: string | undefined}>} */
  async #findTip(target) {
    const { repository, request: asked } = this;
    const { result } = this.tips;
    const isByHand = await this.#isByHand();
    const integration = isByHand ? undefined : this.tips.integration;
    if (result === undefined) return { tip: target ?? asked.base, integration };
    if (target === undefined) return { tip: result, integration };
    if (await isAncestor(repository, result, target)) return { tip: target, integration };
    const base = await this.#findBase(...(asked.leaf ? [asked.leaf] : []));
    if (base === target || (isByHand && (await isFastForward(repository, target, result))))
      return { tip: result, integration };
    if (this.waiting.length === 0) return { tip: target, integration: undefined };
    if (asked.apart?.() || !(await isFastForward(repository, base, target))) {
      this.waits = true;
      return { tip: result, integration };
    }
    const message = `Merge the result of plan ${asked.plan} into ${asked.target}`;
    const against = /** @type {const} */ ({ side: "target", other: target });
    return { tip: (await this.#merge(target, result, against, message)).commit, integration };
  }

  /** @param {PlanTips} next @returns {Promise<boolean>} false: a ref has changed */
  async #move(next) {
    const { repository, request: asked } = this;
    const [, integration, result] = this.before;
    const moves = [
      { ref: integrationRef(asked.plan), from: integration, to: next.integration },
      { ref: resultRef(asked.plan), from: result, to: next.result },
    ].filter(({ from, to }) => from !== to);
    return moves.length === 0 || moveRefs(repository, moves);
  }

  /** Removes a leaf from the refs that must be tested again. @returns {Promise<boolean>} false: a ref has changed */
  stepBack() {
    return this.#move(this.tips);
  }

  /** @returns {Promise<{tree: string, merge: string, landed: boolean}>} */
  async inspect() {
    const { repository, request: asked } = this;
    const { plan, target, leaf } = asked;
    const refs = [branchRef(target), integrationRef(plan), resultRef(plan)];
    this.before = await resolveRefs(repository, refs);
    this.waiting = asked.waiting?.() ?? [];
    const [at, ...ours] = this.before;
    this.tips = { integration: ours[0], result: ours[1] };
    await this.#rewindMovedLeaf(at);
    const { tip, integration } = await this.#findTip(at);
    this.tip = tip;
    // If the target contains the integration, the first merge must not become a leaf.
    const isIn = integration === undefined || (await isAncestor(repository, integration, this.tip));
    this.integration = isIn ? this.tip : integration;
    if (!(await isAncestor(repository, this.tip, this.integration))) {
      const message = `Merge ${target} into the integration of plan ${plan}`;
      const against = /** @type {const} */ ({ side: "target", other: this.tip });
      this.integration = (await this.#merge(this.integration, this.tip, against, message)).commit;
    }
    if (leaf === undefined || (await isAncestor(repository, leaf, this.integration))) {
      const tree = await resolveTree(repository, this.tip);
      return { tree, merge: this.tip, landed: true };
    }
    const message = `Merge ${leaf} into the integration of plan ${plan}`;
    const side = this.integration === this.tip ? "target" : "leaves";
    const against = /** @type {const} */ ({ side, other: this.integration });
    const { commit, tree } = await this.#merge(this.integration, leaf, against, message);
    return { tree, merge: commit, landed: false };
  }

  /** @param {{tree: string, merge: string, landed: boolean}} found @returns {Promise<string | undefined>} the result; undefined: a ref has changed */
  async apply({ tree, merge, landed }) {
    const { repository, request: asked, tip } = this;
    let [next, nextIntegration] = [tip, this.integration];
    if (!landed) {
      nextIntegration = merge;
      // A leaf without changes needs no commit.
      if ((await resolveTree(repository, tip)) !== tree) {
        next = await commitTree(repository, tree, [tip], String(asked.message));
        const message = `Take in the squash commit of ${asked.leaf}`;
        nextIntegration = await commitTree(repository, tree, [merge, next], message);
      }
    }
    const isMoved = await this.#move({ integration: nextIntegration, result: next });
    return isMoved ? next : undefined;
  }
}

/** @param {IntegrationRequest} asked */
function checkRequest({ target, base, leaf, message }) {
  checkBranch(target, "targetBranch");
  checkCommit(base);
  if (leaf === undefined) return;
  checkCommit(leaf);
  checkMessage(message);
}

/** @template T @param {() => Promise<T>} work @returns {Promise<T | Conflicting>} */
async function catchConflict(work) {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof Conflict) return { status: "conflict", ...thrown.details };
    throw thrown;
  }
}

/**
 * @param {Repository} repository @param {string} node in its trailer `Plan-Node` @param {string[]} where to search
 * @returns {Promise<[string, string] | undefined>} the latest commit with that trailer: its parent and itself
 */
async function findCommitByTrailer(repository, node, where) {
  const args = ["rev-list", "--max-count=1", "--parents", `--grep=^Plan-Node: ${node}$`];
  const { stdout } = await repository.query([...args, ...where]);
  const [commit, parent] = stdout.trim().split(" ");
  return parent ? [parent, commit] : undefined;
}

/**
 * The squash commit of a node that is in a result already.
 * @param {Repository} repository @param {string} result @param {string} node in its trailer `Plan-Node`
 * @returns {Promise<[string, string]>} its parent and itself; both are the result if the node made no changes
 */
export async function findSquashCommit(repository, result, node) {
  return (await findCommitByTrailer(repository, node, [checkCommit(result)])) ?? [result, result];
}

/**
 * The commit that would land, so that checks can run first. No ref is moved.
 * @param {Repository} repository @param {IntegrationRequest} asked without `message`
 * @returns {Promise<Ready | Conflicting>}
 */
export function previewIntegration(repository, asked) {
  checkRequest({ message: "-", ...asked });
  return catchConflict(async () => {
    const step = new Step(repository, asked);
    const found = await step.inspect();
    return { status: "ready", tip: step.tip, waits: step.waits, ...found };
  });
}

/**
 * Merges a leaf into the plan's integration and adds its squash commit to the result. A second call changes nothing.
 * @param {Repository} repository @param {IntegrationRequest} asked
 * @returns {Promise<Integrated | Moved | Conflicting>}
 */
export function integrate(repository, asked) {
  checkRequest(asked);
  return catchConflict(async () => {
    for (let left = TRIES; left > 0; --left) {
      const step = new Step(repository, asked);
      const found = await step.inspect().catch(async (error) => {
        await step.stepBack();
        throw error;
      });
      const { tree, landed } = found;
      const { tip, waits } = step;
      const { expect } = asked;
      if (expect && !landed && (expect.tree !== tree || expect.tip !== tip)) {
        if (await step.stepBack()) return { status: "moved", tree, tip };
        continue;
      }
      const commit = await step.apply(found);
      if (commit) return { status: "integrated", commit, tree, tip, again: landed, waits };
    }
    const text = `The refs of plan "${asked.plan}" were changed by other programs in each of ${TRIES} attempts. Try again.`;
    throw new GitError("REF_CHANGED", text);
  });
}

/**
 * A node's commit on the target, found by its trailer.
 * @param {Repository} repository @param {{target: string, base: string, node: string}} asked node: `<plan>/<node>`
 * @returns {Promise<[string, string] | undefined>} its parent and itself
 */
export async function findLandedCommit(repository, { target, base, node }) {
  const [at] = await resolveRefs(repository, [branchRef(target)]);
  return at ? findCommitByTrailer(repository, node, [at, `^${checkCommit(base)}`]) : undefined;
}

/** The result, if the target contains all of it. @param {Repository} repository @param {{plan: string, target: string}} asked */
export async function findLandedResult(repository, { plan, target }) {
  const [at, result] = await resolveRefs(repository, [branchRef(target), resultRef(plan)]);
  return at && result && (await isAncestor(repository, result, at)) ? result : undefined;
}
