// What a plan works with while it runs: its repository, its worktrees, and how its agents are started.

import { PlanError } from "./errors.mjs";
import { settleResult, listPendingCommits, hasLeafChecks } from "./landing.mjs";

/** Each node that runs may have one, and a checkout for its checks. */
const MAX_IDLE_WORKTREES = 16;

/** @typedef {typeof import("../../git/index.mjs")} Git */

export class PlanContext {
  /** @type {Promise<{cli: string, sdk: string}> | undefined} */
  #cli;

  /**
   * @param {object} parts
   * @param {string} parts.id @param {string} parts.name @param {Record<string, any>} parts.head of the plan as it was written
   * @param {Record<string, any>} parts.facts what was known when it was made
   * @param {Git} parts.git @param {any} parts.repository @param {string} parts.shell
   * @param {() => Promise<{cli: string, sdk: string}>} parts.findCli
   * @param {() => Promise<import("../../agents/pool.mjs").AgentPool>} parts.workers
   * @param {() => boolean} parts.checks whether any of its leaves is checked before it lands
   * @param {() => string[]} parts.waiting commits of leaves that wait to land
   * @param {(signal?: AbortSignal) => Promise<void>} parts.settleResult its result holds what its state says
   * @param {(text: string) => void} parts.note a diagnostic
   */
  constructor(parts) {
    const { id, name, head, facts, git, repository, shell, findCli, workers } = parts;
    this.settleResult = parts.settleResult;
    /** The host's start did not wait for what a former one had begun: that is settled before anything lands. */
    this.unsettled = false;
    this.checks = parts.checks;
    this.waiting = parts.waiting;
    this.workers = workers;
    this.id = id;
    this.name = name;
    this.head = { ...facts.defaults, ...head };
    this.facts = facts;
    this.git = git;
    this.repository = repository;
    this.shell = shell;
    this.findCli = findCli;
    const gitignore = this.head.gitignore === true;
    this.worktrees = new git.Worktrees(repository, { gitignore, beside: facts.beside === true });
    this.pool = new git.WorktreePool(this.worktrees, {
      most: Math.min(2 * (head.maxParallel ?? 4), MAX_IDLE_WORKTREES),
      onStay: ({ message }) => parts.note(`plan ${id}: ${message}`),
    });
  }

  /** For programs, besides PATH and the like. @returns {Record<string, string>} */
  environment() {
    const { path } = this.facts;
    return { ...(path && { PATH: path }), ...this.head.env };
  }

  /** What `integrate` has to know of it. */
  landingOptions() {
    const { targetBranch: target } = this.head;
    const { waiting, checks: apart } = this;
    const base = this.facts.targetBase ?? this.facts.baseCommit;
    return { plan: this.id, target, base, waiting, apart };
  }

  cli() {
    this.#cli ??= this.findCli().catch((error) => {
      this.#cli = undefined;
      throw error;
    });
    return this.#cli;
  }

  /** Of agents whose nodes need them no more. @param {string[]} ids */
  async forgetSessions(ids) {
    if (ids.length === 0 || !this.facts.cli) return;
    const workers = await this.workers();
    await workers.deleteSessions(this.facts.cli, ids).catch(() => {});
  }

  /** How the user goes on with an agent's session. @param {{sessionId: string, cwd: string, model?: string}} job @returns {Promise<string>} lines for a shell */
  async formatCommandLine(job) {
    return (await this.workers()).formatCommandLine(job, this.facts.cli?.cli);
  }

  /** The user's own checkout, to be compared. */
  readCheckout() {
    return this.git.fingerprintCheckout(this.repository).catch(() => new Map());
  }

  /** @param {Map<string, string>} before @returns {Promise<string[]>} */
  async listChangedFiles(before) {
    return this.git.compareFingerprints(before, await this.readCheckout());
  }

  /** What a node's worktree held is kept; then it waits for the next node, or goes. @param {any} worktree */
  async releaseWorktree(worktree) {
    const { known } = worktree;
    return this.pool.release(worktree, { known, why: "the node succeeded" });
  }
}

/**
 * @param {import("./plan-manager.mjs").PlanManager} plans @param {import("../../feature-host/service-access.mjs").Services} services
 * @param {string} planId
 */
export async function openPlan(plans, services, planId) {
  const { facts, name } = plans.view({ view: "plan", planId });
  const { head } = plans.view({ view: "graph", planId });
  const git = await services.worktree.use();
  const repository = await git.openRepository(facts.repo, { path: facts.path });
  const findCli = async () => {
    const { session: id, cwd } = facts;
    const cli = facts.cli ?? (await plans.preflight.findPrograms({ id, cwd })).cli;
    if (cli) return cli;
    throw new PlanError(
      "NO_CLI",
      "Agents need the Copilot CLI, and no session has told where it is. Open a session, and retry the node; or put copilot on PATH where copilot-tap plan run is typed.",
    );
  };
  const { shell } = plans.engine;
  const workers = () => services.workers.use();
  return new PlanContext({
    ...{ id: planId, name, head, facts, git, repository, shell, findCli, workers },
    checks: () => hasLeafChecks(plans, planId),
    waiting: () => listPendingCommits(plans, planId),
    settleResult: (signal) => settleResult(plans, planId, signal),
    note: plans.note,
  });
}
