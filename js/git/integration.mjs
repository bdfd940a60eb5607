// The leaves of a plan on their way to its target. Three refs take part:
//
//   integration   the leaves and the target, merged with true parents, so that every merge has the right base
//   result        what the target is to become: a squash commit for each leaf, with the tree of its merge
//   the target    follows the result, by fast-forward only
//
// Integration and result move in one transaction. Each squash commit is a parent in integration, too: a later commit
// of the user on top of it merges like any other.

import { GitError } from "./git-error.mjs";
import { commitTree, isAncestor, probe, treeOf } from "./merges.mjs";
import { checkBranch, checkCommit, checkMessage } from "./names.mjs";
import { branchRef, commitsOf, integrationRef, moveRefs, resultRef } from "./refs.mjs";

const TRIES = 5;

/** @typedef {import("./repository.mjs").Repository} Repository */

/**
 * @typedef {object} Asked
 * @property {string} plan
 * @property {string} target a branch
 * @property {string} base where the target starts, if it does not exist
 * @property {string} [leaf] a commit; absent: only the target's new commits are taken in
 * @property {string} [message] of the squash commit
 * @property {{tree: string, tip: string}} [expect] what was tested: else nothing is moved
 * @property {AbortSignal} [signal]
 *
 * @typedef {object} Ready
 * @property {"ready"} status
 * @property {string} tree what the target will have
 * @property {string} tip on which the next squash commit stands
 * @property {string} merge a commit with that tree, for a checkout
 * @property {boolean} landed the leaf is in it already
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
 * @typedef {{status: "integrated", commit: string, tree: string, tip: string, again: boolean}} Integrated commit: of
 *   the result; tip: on which it stands; where it was there before, itself
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
  tip = "";
  integration = "";

  /** @param {Repository} repository @param {Asked} asked */
  constructor(repository, asked) {
    this.repository = repository;
    this.asked = asked;
  }

  /** @param {string} ours @param {string} theirs @param {{side: "leaves" | "target", other: string}} what @param {string} message */
  async #merge(ours, theirs, what, message) {
    const { repository, asked } = this;
    const { tree, conflicts, notes } = {
      notes: [],
      ...(await probe(repository, ours, theirs, asked)),
    };
    if (conflicts) throw new Conflict({ ...what, ours, theirs, conflicts, notes });
    const commit = await commitTree(
      repository,
      /** @type {string} */ (tree),
      [ours, theirs],
      message,
    );
    return { commit, tree: /** @type {string} */ (tree) };
  }

  /** The target's tip, with what is to land on it already. @param {string | undefined} target @param {string | undefined} result */
  async #findTip(target, result) {
    const { repository, asked } = this;
    if (result === undefined) return target ?? asked.base;
    if (target === undefined || (await isAncestor(repository, target, result))) return result;
    if (await isAncestor(repository, result, target)) return target;
    const message = `Merge the result of plan ${asked.plan} into ${asked.target}`;
    const what = /** @type {const} */ ({ side: "target", other: target });
    return (await this.#merge(target, result, what, message)).commit;
  }

  /** @returns {Promise<{tree: string, merge: string, landed: boolean}>} */
  async look() {
    const { repository, asked } = this;
    const { plan, target, leaf } = asked;
    const refs = [branchRef(target), integrationRef(plan), resultRef(plan)];
    this.before = await commitsOf(repository, refs);
    const [at, integration, result] = this.before;
    this.tip = await this.#findTip(at, result);
    this.integration = integration ?? this.tip;
    if (!(await isAncestor(repository, this.tip, this.integration))) {
      const message = `Merge ${target} into the integration of plan ${plan}`;
      const what = /** @type {const} */ ({ side: "target", other: this.tip });
      this.integration = (await this.#merge(this.integration, this.tip, what, message)).commit;
    }
    if (leaf === undefined || (await isAncestor(repository, leaf, this.integration))) {
      const tree = await treeOf(repository, this.tip);
      return { tree, merge: this.tip, landed: true };
    }
    const message = `Merge ${leaf} into the integration of plan ${plan}`;
    const side = this.integration === this.tip ? "target" : "leaves";
    const what = /** @type {const} */ ({ side, other: this.integration });
    const { commit, tree } = await this.#merge(this.integration, leaf, what, message);
    return { tree, merge: commit, landed: false };
  }

  /** @param {{tree: string, merge: string, landed: boolean}} found @returns {Promise<string | undefined>} the result; undefined: a ref has moved meanwhile */
  async take({ tree, merge, landed }) {
    const { repository, asked, tip } = this;
    const [, integration, result] = this.before;
    let [next, nextIntegration] = [tip, this.integration];
    if (!landed) {
      nextIntegration = merge;
      // A leaf that changes nothing needs no commit.
      if ((await treeOf(repository, tip)) !== tree) {
        next = await commitTree(repository, tree, [tip], String(asked.message));
        const message = `Take in the squash commit of ${asked.leaf}`;
        nextIntegration = await commitTree(repository, tree, [merge, next], message);
      }
    }
    const moves = [
      { ref: integrationRef(asked.plan), from: integration, to: nextIntegration },
      { ref: resultRef(asked.plan), from: result, to: next },
    ].filter(({ from, to }) => from !== to);
    if (moves.length === 0 || (await moveRefs(repository, moves))) return next;
    return undefined;
  }
}

/** @param {Asked} asked */
function check({ target, base, leaf, message }) {
  checkBranch(target, "targetBranch");
  checkCommit(base);
  if (leaf === undefined) return;
  checkCommit(leaf);
  checkMessage(message);
}

/** @template T @param {() => Promise<T>} work @returns {Promise<T | Conflicting>} */
async function orConflict(work) {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof Conflict) return { status: "conflict", ...thrown.what };
    throw thrown;
  }
}

/**
 * The squash commit of a node that is in a result already.
 * @param {Repository} repository @param {string} result @param {string} node as its trailer `Plan-Node` says
 * @returns {Promise<[string, string]>} its parent and itself; both the result, where the node changed nothing
 */
export async function squashOf(repository, result, node) {
  const args = ["rev-list", "--max-count=1", "--parents", `--grep=^Plan-Node: ${node}$`];
  const { stdout } = await repository.ask([...args, checkCommit(result)]);
  const [commit, parent] = stdout.trim().split(" ");
  return parent ? [parent, commit] : [result, result];
}

/**
 * What would land, so that it can be tested first. No ref is moved.
 * @param {Repository} repository @param {Asked} asked without `message`
 * @returns {Promise<Ready | Conflicting>}
 */
export function candidate(repository, asked) {
  check({ message: "-", ...asked });
  return orConflict(async () => {
    const step = new Step(repository, asked);
    const found = await step.look();
    return { status: "ready", tip: step.tip, ...found };
  });
}

/**
 * Merges a leaf on the plan's integration and adds its squash commit to the result. A second time it is there already.
 * @param {Repository} repository @param {Asked} asked
 * @returns {Promise<Integrated | Moved | Conflicting>}
 */
export function integrate(repository, asked) {
  check(asked);
  return orConflict(async () => {
    for (let left = TRIES; left > 0; --left) {
      const step = new Step(repository, asked);
      const found = await step.look();
      const { tree, landed } = found;
      const { expect } = asked;
      if (expect && !landed && (expect.tree !== tree || expect.tip !== step.tip)) {
        return { status: "moved", tree, tip: step.tip };
      }
      const commit = await step.take(found);
      if (commit) return { status: "integrated", commit, tree, tip: step.tip, again: landed };
    }
    const text = `The refs of plan "${asked.plan}" are moved by somebody else again and again.`;
    throw new GitError("LOST_RACE", text);
  });
}
