// The worktrees of plans after their work: given back, removed, and what was in them landed.

import { withLock } from "../../lib/keyed-mutex.mjs";
import { errorMessage } from "../../lib/values.mjs";
import { visible } from "../../lib/visible.mjs";
import { ignoreMissingRepository, PlanError } from "./errors.mjs";
import { emitNearby } from "./notifications.mjs";

/** @typedef {import("./plan-manager.mjs").PlanManager} PlanManager */
/** @typedef {import("./plan-manager.mjs").Asker} Asker */
/** @typedef {import("./plan-context.mjs").PlanContext} PlanContext */
/** @typedef {import("../../git/cleanup.mjs").SizedOrphan} SizedOrphan */

/** The plan cannot be deleted again. @param {number} count of worktrees that stay @param {string} root of the checkout */
const cleanText = (count, root) => {
  const them = count === 1 ? "it" : "them";
  return `Then copilot-tap plan clean, in ${visible(root)}, keeps what is in ${them}, and removes ${them}.`;
};

/** States of an attempt that does not run again. */
const OVER = new Set(["succeeded", "failed", "canceled"]);

export class WorktreeLifecycle {
  #plans;
  #note;
  /** Of the last removal of a plan. @type {{done?: number, total?: number}} */
  progress = {};

  /** @param {PlanManager} plans @param {(text: string) => void} note a diagnostic */
  constructor(plans, note) {
    this.#plans = plans;
    this.#note = note;
  }

  /** One after the other, so that the end of a plan comes after all. @param {string} planId @param {() => Promise<void>} work */
  #withLock(planId, work) {
    return withLock(`worktrees ${planId}`, work);
  }

  /** A node is done with its worktree. @param {{planId: string, node: string}} effect */
  async cleanUp({ planId, node }) {
    // Its next attempt may work in another one before this one's turn comes.
    const { attempt } = this.#plans.view({ view: "node", planId, nodeId: node });
    const worktree = this.#listWorktrees(planId, node).find((one) => one.attempt === attempt);
    if (worktree) await this.#returnToPool(planId, worktree);
  }

  /** @param {string} planId @param {any} worktree what was recorded of it */
  #returnToPool(planId, worktree) {
    return this.#withLock(planId, async () => {
      const plan = await this.#plans.openPlan(planId);
      if (plan.head.cleanUpSuccessfulWork === false) return;
      await plan.forgetSessions(worktree.sessions);
      const { removed, pooled, message } = await plan.releaseWorktree(worktree);
      if (!removed && !pooled) this.#note(`plan ${planId}/${worktree.node}: ${message}`);
    });
  }

  /** Before anything of the plan runs: what a former host had on its way out, or in its pool. @param {string} planId */
  async resume(planId) {
    const plan = await this.#plans.openPlan(planId);
    await plan.settleResult(AbortSignal.abort()).catch((error) => {
      plan.unsettled = true;
      this.#noteError(planId, error);
    });
    if (plan.head.cleanUpSuccessfulWork === false) return;
    const { nodes } = this.#plans.view({ view: "graph", planId });
    // A node that lands again has begun its next attempt, and nobody else removes the worktree of the one before.
    const done = nodes
      .filter((/** @type {any} */ { attempt }) => attempt)
      .flatMap((/** @type {any} */ { id }) => this.#listWorktrees(planId, id))
      .filter((/** @type {any} */ { succeeded }) => succeeded);
    if (done.length === 0) return;
    const of = { plan: planId, nonce: plan.facts.nonce };
    for (const worktree of await plan.git.findLeftovers(plan.worktrees, of, done)) {
      void this.#returnToPool(planId, worktree).catch((error) => this.#noteError(planId, error));
    }
  }

  /** @param {string} planId @param {unknown} error */
  #noteError(planId, error) {
    this.#note(`plan ${planId}: ${errorMessage(error)}`);
  }

  /** Each attempt from the start has one of its own; the last attempt that had it counts; succeeded: of one of them, so that none works in it any more. @param {string} planId @param {string} node @returns {any[]} */
  #listWorktrees(planId, node) {
    const seen = this.#plans.view({ view: "node", planId, nodeId: node });
    /** @type {Map<string, any>} */
    const byPath = new Map();
    for (const { attempt, status, steps } of seen.attempts) {
      const { worktree, sessionId, checkSessionId } = Object.assign({}, ...steps);
      const path = worktree?.path ?? worktree?.place;
      if (!path) continue;
      const known = seen.commit ? [seen.commit] : [];
      const before = byPath.get(path);
      const succeeded = status === "succeeded" || before?.succeeded === true;
      const ids = [...(before?.sessions ?? []), sessionId, checkSessionId].filter(Boolean);
      const of = { plan: planId, node, attempt, succeeded, sessions: [...new Set(ids)] };
      byPath.set(path, { ...worktree, path, ...of, known });
    }
    return [...byPath.values()];
  }

  /**
   * A node that had its worktree elsewhere, before its plan was imported, can only begin again.
   * @template {Record<string, any>} T @param {T} input the retry that is asked for @returns {T}
   */
  adjustRetry(input) {
    const { planId, nodeId } = input;
    const { attempts, landsAgain } = this.#plans.view({ view: "node", planId, nodeId });
    if (landsAgain) return input; // its phase makes a worktree if it needs one
    const { worktree } = Object.assign({}, ...(attempts.at(-1)?.steps ?? []));
    return worktree && !worktree.path ? { ...input, from: "start" } : input;
  }

  /**
   * A person's changes in the worktree of a node that has failed become its work: what follows is the commit.
   * @param {string} planId @param {string} nodeId
   * @returns {Promise<{id: string, status: string, kept?: import("../../git/archive.mjs").Archive}>} kept: what was in the
   *   worktree before
   */
  async take(planId, nodeId) {
    const { status, commit, attempts } = this.#plans.view({ view: "node", planId, nodeId });
    const name = `${planId}/${nodeId}`;
    if (status !== "failed") {
      const text = `only the worktree of a node that has failed can be taken; this one is ${status}`;
      throw new PlanError("WRONG_STATE", text);
    }
    const { git, repository } = await this.#plans.openPlan(planId);
    const { worktree } = Object.assign({}, ...attempts.at(-1).steps);
    if (!worktree?.path || !(await git.exists(worktree.path))) {
      const text = `the node has no worktree any more; to do its work again: copilot-tap plan retry ${name} --from-start`;
      throw new PlanError("WORKTREE_GONE", text);
    }
    const place = { ...worktree, plan: planId, node: nodeId };
    await git.checkWorktreeLink(repository, place);
    const holders = (await git.processesUsing(worktree.path)) ?? [];
    if (holders.length > 0) {
      const who = holders.map((one) => `${one.pid} (${visible(one.name)})`).join(", ");
      const text = `process ${who} works in "${visible(worktree.path)}". End it first`;
      throw new PlanError("WORKTREE_IN_USE", text, { holders });
    }
    await git.checkMerged(repository, place);
    const operation = await git.findOperation(worktree.admin);
    if (operation) {
      const text = `"${visible(worktree.path)}" is in the middle of ${operation.what}: end it first, or ${operation.end}`;
      throw new PlanError("UNMERGED", text);
    }
    const known = [worktree.commit, ...(commit ? [commit] : [])];
    const { head, changed } = await git.inspectWorktree(repository, place, known);
    if (!changed && known.includes(head)) {
      const text = `"${visible(worktree.path)}" has nothing that the node's commit does not have. Change it there first`;
      throw new PlanError("NOTHING_TO_TAKE", text);
    }
    const why = "it becomes the node's work";
    const { kept } = await git.snapshotContents(repository, { ...place, known }, { why });
    const input = { input: "retry", planId, nodeId, from: "commit", detail: { take: true } };
    await this.#plans.submitOrThrow(input);
    const now = this.#plans.view({ view: "node", planId, nodeId });
    return { id: nodeId, status: now.status, ...(kept && { kept }) };
  }

  /** Nothing of the plan runs any more. @param {string} planId @param {number} endedAt since then */
  close(planId, endedAt) {
    return this.#withLock(planId, async () => {
      await this.#drain(planId).catch((error) => this.#noteError(planId, error));
      await this.#plans.completeClose(planId, endedAt);
    });
  }

  /** @param {string} planId */
  async #drain(planId) {
    const plan = await this.#plans.openPlan(planId);
    const gone = await plan.pool.drain();
    // A host that was killed has left them.
    gone.push(...(await this.#removeCheckouts(plan)));
    for (const { removed, message } of gone) {
      if (!removed) this.#note(`plan ${planId}: ${message}`);
    }
    await plan.git.expireArchives(plan.repository, { now: Date.now() });
  }

  /** @param {PlanContext} plan */
  async #removeCheckouts(plan) {
    const gone = [];
    for (const record of await this.#listCheckouts(plan)) {
      gone.push({ path: record.path, ...(await plan.git.removeWorktree(plan.worktrees, record)) });
    }
    return gone;
  }

  /** Of the checks of attempts that are over. @param {PlanContext} plan */
  async #listCheckouts({ id, git, worktrees, facts: { nonce } }) {
    const found = await git.findCheckouts(worktrees, id);
    const { nodes } = this.#plans.view({ view: "graph", planId: id });
    const ids = new Set(nodes.map((/** @type {{id: string}} */ node) => node.id));
    return found.flatMap(({ node, attempt, path }) => {
      if (!ids.has(node)) return []; // a folder of somebody else's, with such a name
      const { attempts } = this.#plans.view({ view: "node", planId: id, nodeId: node });
      const { status, steps = [] } = attempts[attempt - 1] ?? {};
      const { worktree } = Object.assign({}, ...steps);
      const record = { plan: id, node, path, nonce: worktree?.nonce ?? nonce };
      return OVER.has(status) ? [record] : [];
    });
  }

  /** @param {string} planId */
  async remove(planId) {
    const seen = this.#plans.view({ view: "plan", planId });
    if (seen.endedAt === undefined)
      throw new PlanError("WRONG_STATE", `plan ${planId} has not ended: cancel it first`);
    await this.#plans.lifecycle.waitUntilClosed(planId); // git of ours is at work in its worktrees until then
    const plan = await this.#plans.openPlan(planId).catch(ignoreMissingRepository);
    if (plan === undefined) return this.#forgetWithoutRepository(planId, seen.facts.repo);
    const { nodes } = this.#plans.view({ view: "graph", planId });
    const stay = [];
    const sessions = [];
    try {
      for (const [done, { id }] of nodes.entries()) {
        this.progress = { done, total: nodes.length };
        for (const { sessions: ids, ...record } of this.#listWorktrees(planId, id)) {
          const why = "the plan was deleted";
          const { removed, message } = await plan.git.removeWorktree(plan.worktrees, record, {
            why,
          });
          if (!removed) stay.push(message);
          sessions.push(...ids);
        }
      }
      for (const { removed, message } of await this.#removeCheckouts(plan))
        if (!removed) stay.push(message);
    } finally {
      this.progress = {};
    }
    await plan.forgetSessions([...new Set(sessions)]);
    const unmarked = (/** @type {unknown} */ error) => this.#noteError(planId, error);
    await plan.git.markDeleted(plan.repository, planId).catch(unmarked);
    await this.#plans.forget(planId);
    return { stay, ...(stay.length > 0 && { next: cleanText(stay.length, plan.repository.root) }) };
  }

  /** @param {string} planId @param {string} repo that is gone, or elsewhere for a while */
  async #forgetWithoutRepository(planId, repo) {
    await this.#plans.forget(planId);
    const next = `${visible(repo)} is gone. Where it is back, copilot-tap plan clean there keeps and removes what is left.`;
    return { stay: [], next };
  }
}

// What plans have left behind: folders that belong to nobody, and snapshots of worktrees. Both are looked for and
// told; only a person has them removed, or brought back.

/** At the start, so many repositories are looked into. */
const MAX_REPOSITORIES = 20;
const MAX_SHOWN = 3;
/** What is nobody's is still so after this. */
const CONFIRM_MS = 2000;

export class Leftovers {
  #plans;
  #context;
  /** Of orphans that were told. @type {Set<string>} */
  #notified = new Set();
  /** One look after the other. @type {Promise<void>} */
  #scans = Promise.resolve();

  /** @param {PlanManager} plans @param {import("../../feature-host/installation.mjs").Context} context */
  constructor(plans, context) {
    this.#plans = plans;
    this.#context = context;
  }

  /** What is recorded of the worktrees of a plan. @type {import("../../git/cleanup.mjs").FindMarks} */
  listRecorded = async (planId) => {
    if (!this.#plans.has(planId)) return undefined;
    const there = await this.#plans.require(planId).catch(() => undefined);
    if (there === undefined) return "live"; // its journal cannot be read: nothing of it is touched
    if (this.#plans.view({ view: "plan", planId }).endedAt === undefined) return "live";
    const { nodes } = this.#plans.view({ view: "graph", planId });
    return nodes.flatMap((/** @type {{id: string}} */ { id }) => {
      const { attempts } = this.#plans.view({ view: "node", planId, nodeId: id });
      return attempts.flatMap((/** @type {any} */ { steps }) =>
        steps.flatMap((/** @type {any} */ { worktree }) => (worktree?.path ? [worktree] : [])),
      );
    });
  };

  // ---- in the background ---------------------------------------------------------------------------

  /** Of the repositories of all plans, those used last first. */
  scanForOrphans() {
    const repos = this.#plans.list("").map(({ repo }) => repo);
    const all = [...new Set(repos.filter((repo) => typeof repo === "string"))];
    for (const repo of all.slice(0, MAX_REPOSITORIES)) this.queueScan(repo);
  }

  /** Tells of orphans, and lets go of snapshots that are too old. @param {string} repo */
  queueScan(repo) {
    this.#scans = this.#scans.then(() => this.#scan(repo)).catch(() => {});
  }

  /** @param {string} repo */
  async #scan(repo) {
    const git = await this.#context.services.worktree.use();
    // One that has gone is none of our business.
    const repository = await git.openRepository(repo).catch(() => undefined);
    if (!repository) return;
    try {
      const isThere = (/** @type {string} */ id) => this.#plans.has(id);
      await git.expireArchives(repository, { now: Date.now() });
      await git.expireDeletions(repository, { now: Date.now(), isThere });
      const fresh = await this.#findNewOrphans(git, repository);
      if (fresh.length === 0) return;
      // A host of another home makes worktrees, and removes them: for a moment they look like nobody's.
      await new Promise((resolve) => setTimeout(resolve, CONFIRM_MS).unref());
      const still = new Set((await this.#findNewOrphans(git, repository)).map(({ path }) => path));
      this.#notify(
        repo,
        fresh.filter(({ path }) => still.has(path)),
      );
    } catch (error) {
      this.#context.diagnostics.add(`what plans left in ${visible(repo)}: ${errorMessage(error)}`);
    }
  }

  /** @param {any} git @param {import("../../git/repository.mjs").Repository} repository @returns {Promise<SizedOrphan[]>} */
  async #findNewOrphans(git, repository) {
    const all = /** @type {SizedOrphan[]} */ (
      await git.searchOrphans(repository, this.listRecorded, { sizes: false })
    );
    return all.filter(({ path }) => !this.#notified.has(path));
  }

  /** @param {string} repo @param {SizedOrphan[]} orphans */
  #notify(repo, orphans) {
    if (orphans.length === 0) return;
    for (const { path } of orphans) this.#notified.add(path);
    const some = orphans.slice(0, MAX_SHOWN).map(({ path }) => visible(folderName(path)));
    const more = orphans.length > MAX_SHOWN ? ", …" : "";
    const count = orphans.length === 1 ? "1 folder belongs" : `${orphans.length} folders belong`;
    const summary = `${count} to no plan in ${visible(repo)}/.worktrees (${some.join(", ")}${more}). In that repository, copilot-tap plan clean looks at them and removes them`;
    void emitNearby(this.#context, summary, { repo });
  }

  /** What worktrees take, roughly, and how many folders belong to nobody. @param {string} repo */
  async use(repo) {
    const { git, repository } = await this.openRepository({ id: "", cwd: repo });
    const use = await git.worktreeUse(repository);
    const orphans = await git.searchOrphans(repository, this.listRecorded, { sizes: false });
    return { ...use, orphans: orphans.length };
  }

  // ---- for a person --------------------------------------------------------------------------------

  /** Where a person is. @param {Asker} asker */
  async openRepository({ cwd }) {
    const git = await this.#context.services.worktree.use();
    return { git, repository: await git.openRepository(cwd) };
  }

  /** @param {Asker} asker */
  async list(asker) {
    const { git, repository } = await this.openRepository(asker);
    const orphans = /** @type {SizedOrphan[]} */ (
      await git.searchOrphans(repository, this.listRecorded)
    );
    const named = orphans.map((one) => ({ name: folderName(one.path), ...one }));
    return { repo: repository.root, orphans: named };
  }

  /** One of them, after everything in it is kept. @param {string} path @param {Asker} asker */
  async clean(path, asker) {
    const { git, repository } = await this.openRepository(asker);
    return { path, ...(await git.cleanOrphan(repository, path, this.listRecorded)) };
  }

  /** @param {{plan: string, node?: string, to?: string}} wanted @param {Asker} asker */
  async restore({ plan, node, to }, asker) {
    const planId = await this.#plans.require(plan).catch((error) => {
      if (error.code === "UNKNOWN_PLAN") return undefined; // it was deleted
      throw error;
    });
    const cwd = planId ? this.#plans.view({ view: "plan", planId }).facts.repo : asker.cwd;
    const { git, repository } = await this.openRepository({ id: "", cwd });
    const kept = await git.listArchives(repository);
    const found = findSnapshots(kept, planId ?? plan, node);
    if (to !== undefined && found.length > 1) {
      const nodes = found.map((one) => one.node).join(", ");
      throw new PlanError("AMBIGUOUS", `--to takes one node; kept are those of ${nodes}`);
    }
    const restored = [];
    for (const { plan: id, node: name, at } of found) {
      const back = await git.restoreArchive(repository, { plan: id, node: name }, { to });
      restored.push({ planId: id, nodeId: name, keptAt: at, ...back });
    }
    return { repo: repository.root, restored };
  }
}

/** @param {string} path */
const folderName = (path) => path.split(/[\\/]/).at(-1) ?? path;

/** @param {{plan: string, node: string, at: number}[]} all @param {string} plan its id, or how that begins @param {string} [node] */
function findSnapshots(all, plan, node) {
  const exact = all.filter((one) => one.plan === plan);
  const near = exact.length > 0 ? exact : all.filter((one) => one.plan.startsWith(plan));
  const ids = [...new Set(near.map((one) => one.plan))];
  if (ids.length > 1) {
    throw new PlanError("AMBIGUOUS", `snapshots of several plans begin so: ${ids.join(", ")}`);
  }
  const found = near.filter((one) => node === undefined || one.node === node);
  if (found.length > 0) return found;
  const wanted = visible(node === undefined ? plan : `${plan}/${node}`).slice(0, 130);
  const there = (near.length > 0 ? near : all).slice(0, 20);
  const names = there.map((one) => `${one.plan}/${one.node}`).join(", ") || "none";
  throw new PlanError("NOTHING_KEPT", `nothing is kept of ${wanted}; there are: ${names}`);
}
