// The leaves of a plan on their way to its target. Three refs take part:
//
//   integration   the leaves and the target, merged with true parents, so that every merge has the right base
//   result        what the target is to become: a squash commit for each leaf, with the tree of its merge
//   the target    follows the result, by fast-forward only
//
// Integration and result move in one transaction. Each squash commit is a parent in integration, too: a later commit
// of the user on top of it merges like any other. A leaf that is in them while the target moves elsewhere is taken out
// again: with the new tip it is another tree, which nobody has tested. If the target no longer has what had landed,
// integration and result start again from the target as it is: nothing that the user has taken back returns.

import { GitError } from "./errors.mjs";
import { checkBranch, checkCommit, checkMessage } from "./git.mjs";
import { commitTree, isAncestor, probe, readMergeDates, resolveTree } from "./merge.mjs";
import { branchRef, integrationRef, moveRefs, resolveRefs, resultRef } from "./refs.mjs";

/** @typedef {import("./repository.mjs").Repository} Repository */

// What the refs of a plan hold: leaves, of which the last ones can be taken out again, so that nothing lands with them.

/** Of the integration, for each leaf that is taken out: its merge, its squash commit, and a merge of the target. */
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
    const [one, ...parents] = line.split(" ");
    return [one, parents];
  });
}

/**
 * Both refs as they were before the last of some leaves.
 * @param {Parents} parents @param {PlanTips} held @param {Set<string>} leaves
 * @returns {PlanTips | undefined} undefined: none of them is the last in the refs
 */
function rewindLastLeaf(parents, { integration, result }, leaves) {
  const getParents = (/** @type {string | undefined} */ commit) =>
    parents.get(String(commit)) ?? [];
  const [merge, squash] = getParents(integration);
  const [tip, ...others] = squash === result ? getParents(result) : [];
  if (others.length > 0) return undefined;
  // A leaf that changes nothing has no squash commit.
  const [before, merged] = tip ? getParents(merge) : [merge, squash];
  return leaves.has(merged) ? { integration: before, result: tip ?? result } : undefined;
}

/**
 * Both refs as they would be without some leaves, as far as these are the last ones in them. No ref is moved.
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
 * Takes leaves that have not landed out of the refs, so that no later leaf carries them along. Does nothing if they are
 * on the target, or if another leaf came after them. Where somebody else moves the refs, that stands.
 * @param {Repository} repository
 * @param {{plan: string, target: string, leaves: string[], create?: boolean}} asked leaves: commits; create: the plan
 *   makes the target, which may not be there yet. Else nothing is done without it: the result is all that there is
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
 * What would land, and whether it may land as it is: the target has it, or is where the leaves that wait were put on
 * it. All else in the result has landed, and a target without it has lost it since.
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
 * @property {string} [leaf] a commit; absent: only the target's new commits are taken in
 * @property {string} [message] of the squash commit
 * @property {{tree: string, tip: string}} [expect] what was tested: else the leaf is in no ref
 * @property {() => string[]} [waiting] leaves in the result that have not landed; all else in it has
 * @property {() => boolean} [apart] whether leaves that wait were tested: then they are not merged with a target that has moved
 * @property {AbortSignal} [signal]
 *
 * @typedef {object} Ready
 * @property {"ready"} status
 * @property {string} tree what the target will have
 * @property {string} tip on which the next squash commit stands
 * @property {string} merge a commit with that tree, for a checkout
 * @property {boolean} landed the leaf is in it already
 * @property {boolean} waits the target has moved, and the result, in which others wait, does not follow it
 *
 * @typedef {object} Conflicting
 * @property {"conflict"} status
 * @property {"leaves" | "target"} side with what it conflicts; target: nothing of the plan has landed, or the plan's
 *   own result conflicts with it
 * @property {string} other the commit of that side
 * @property {string} ours a commit
 * @property {string} theirs a commit
 * @property {string[]} conflicts files
 * @property {string[]} notes
 *
 * @typedef {{status: "moved", tree: string, tip: string}} Moved it is not what was tested
 * @typedef {{status: "integrated", commit: string, tree: string, tip: string, again: boolean, waits: boolean}}
 *   Integrated commit: of the result; tip: on which it stands; where it was there before, itself
 */

/** A conflict, on its way out. */
class Conflict {
  /** @param {Omit<Conflicting, "status">} what */
  constructor(what) {
    this.what = what;
  }
}

/** One look at the refs, and what follows from it. Commits are made, no ref is moved. */
class Step {
  /** @type {(string | undefined)[]} */
  before = [];
  /** What is built on: the refs, without the leaf where it has to be tested again. @type {PlanTips} */
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

  /** @param {string} ours @param {string} theirs @param {{side: "leaves" | "target", other: string}} what @param {string} message */
  async #merge(ours, theirs, what, message) {
    const { repository, request: asked } = this;
    const { tree, conflicts, notes } = {
      notes: [],
      ...(await probe(repository, ours, theirs, asked)),
    };
    if (conflicts) throw new Conflict({ ...what, ours, theirs, conflicts, notes });
    // Each look at the same refs has to find the same tip.
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

  /** @param {string[]} more leaves @returns {Promise<string | undefined>} where what waits in the result was put on the target */
  async #findBase(...more) {
    return (await rewindLeaves(this.repository, this.tips, [...this.waiting, ...more])).result;
  }

  /** A leaf that is in the refs, and whose target has moved since, is taken out of what is built on. @param {string | undefined} target */
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

  /** A result that somebody has moved by hand: what is merged is not in it. */
  async #isByHand() {
    const { integration, result } = this.tips;
    if (!this.request.leaf || !integration || !result) return false;
    return !(await isAncestor(this.repository, result, integration));
  }

  /** Where the next squash commit stands, and what the leaf is merged with. @param {string | undefined} target @returns {Promise<{tip: string, integration: string | undefined}>} */
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
    const what = /** @type {const} */ ({ side: "target", other: target });
    return { tip: (await this.#merge(target, result, what, message)).commit, integration };
  }

  /** @param {PlanTips} next @returns {Promise<boolean>} false: a ref has moved meanwhile */
  async #move(next) {
    const { repository, request: asked } = this;
    const [, integration, result] = this.before;
    const moves = [
      { ref: integrationRef(asked.plan), from: integration, to: next.integration },
      { ref: resultRef(asked.plan), from: result, to: next.result },
    ].filter(({ from, to }) => from !== to);
    return moves.length === 0 || moveRefs(repository, moves);
  }

  /** The refs have no leaf that has to be tested again. @returns {Promise<boolean>} false: a ref has moved meanwhile */
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
    // One that the target has in it would make a leaf of the first merge.
    const isIn = integration === undefined || (await isAncestor(repository, integration, this.tip));
    this.integration = isIn ? this.tip : integration;
    if (!(await isAncestor(repository, this.tip, this.integration))) {
      const message = `Merge ${target} into the integration of plan ${plan}`;
      const what = /** @type {const} */ ({ side: "target", other: this.tip });
      this.integration = (await this.#merge(this.integration, this.tip, what, message)).commit;
    }
    if (leaf === undefined || (await isAncestor(repository, leaf, this.integration))) {
      const tree = await resolveTree(repository, this.tip);
      return { tree, merge: this.tip, landed: true };
    }
    const message = `Merge ${leaf} into the integration of plan ${plan}`;
    const side = this.integration === this.tip ? "target" : "leaves";
    const what = /** @type {const} */ ({ side, other: this.integration });
    const { commit, tree } = await this.#merge(this.integration, leaf, what, message);
    return { tree, merge: commit, landed: false };
  }

  /** @param {{tree: string, merge: string, landed: boolean}} found @returns {Promise<string | undefined>} the result; undefined: a ref has moved meanwhile */
  async apply({ tree, merge, landed }) {
    const { repository, request: asked, tip } = this;
    let [next, nextIntegration] = [tip, this.integration];
    if (!landed) {
      nextIntegration = merge;
      // A leaf that changes nothing needs no commit.
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
    if (thrown instanceof Conflict) return { status: "conflict", ...thrown.what };
    throw thrown;
  }
}

/**
 * @param {Repository} repository @param {string} node as its trailer `Plan-Node` says @param {string[]} where to look
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
 * @param {Repository} repository @param {string} result @param {string} node as its trailer `Plan-Node` says
 * @returns {Promise<[string, string]>} its parent and itself; both the result, where the node changed nothing
 */
export async function findSquashCommit(repository, result, node) {
  return (await findCommitByTrailer(repository, node, [checkCommit(result)])) ?? [result, result];
}

/**
 * What would land, so that it can be tested first. No ref is moved.
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
 * Merges a leaf on the plan's integration and adds its squash commit to the result. A second time it is there already.
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
    const text = `The refs of plan "${asked.plan}" are moved by somebody else again and again.`;
    throw new GitError("REF_CHANGED", text);
  });
}

/**
 * A node's commit on the target, as its trailer says.
 * @param {Repository} repository @param {{target: string, base: string, node: string}} asked node: `<plan>/<node>`
 * @returns {Promise<[string, string] | undefined>} its parent and itself
 */
export async function findLandedCommit(repository, { target, base, node }) {
  const [at] = await resolveRefs(repository, [branchRef(target)]);
  return at ? findCommitByTrailer(repository, node, [at, `^${checkCommit(base)}`]) : undefined;
}

/** The result, if the target has all of it. @param {Repository} repository @param {{plan: string, target: string}} asked */
export async function findLandedResult(repository, { plan, target }) {
  const [at, result] = await resolveRefs(repository, [branchRef(target), resultRef(plan)]);
  return at && result && (await isAncestor(repository, result, at)) ? result : undefined;
}
