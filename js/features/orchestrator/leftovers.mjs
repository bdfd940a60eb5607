// What plans have left behind: folders that belong to nobody, and snapshots of worktrees. Both are looked for and
// told; only a person has them removed, or brought back.

import { messageOf } from "../../base/errors.mjs";
import { visible } from "../../base/visible.mjs";
import { PlanError } from "./plan-error.mjs";

/** At the start, so many repositories are looked into. */
const MOST_REPOSITORIES = 20;
const MOST_SHOWN = 3;
/** What is nobody's is still so after this. */
const STILL_MS = 2000;

/** @typedef {import("./plans.mjs").Plans} Plans */
/** @typedef {import("./plans.mjs").Asker} Asker */
/** @typedef {import("../../git/orphan-search.mjs").SizedOrphan} SizedOrphan */

export class Leftovers {
  #plans;
  #context;
  /** Of orphans that were told. @type {Set<string>} */
  #told = new Set();
  /** One look after the other. @type {Promise<void>} */
  #looks = Promise.resolve();

  /** @param {Plans} plans @param {import("../../registry/installation.mjs").Context} context */
  constructor(plans, context) {
    this.#plans = plans;
    this.#context = context;
  }

  /** What is recorded of the worktrees of a plan. @type {import("../../git/orphan-search.mjs").RecordedOf} */
  recordedOf = async (planId) => {
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
  lookAround() {
    const repos = this.#plans.list("").map(({ repo }) => repo);
    const all = [...new Set(repos.filter((repo) => typeof repo === "string"))];
    for (const repo of all.slice(0, MOST_REPOSITORIES)) this.look(repo);
  }

  /** Tells of orphans, and lets go of snapshots that are too old. @param {string} repo */
  look(repo) {
    this.#looks = this.#looks.then(() => this.#look(repo)).catch(() => {});
  }

  /** @param {string} repo */
  async #look(repo) {
    const git = await this.#context.services.worktree.use();
    // One that has gone is none of our business.
    const repository = await git.openRepository(repo).catch(() => undefined);
    if (!repository) return;
    try {
      const isThere = (/** @type {string} */ id) => this.#plans.has(id);
      await git.expireKept(repository, { now: Date.now() });
      await git.expireDeleted(repository, { now: Date.now(), isThere });
      const fresh = await this.#untold(git, repository);
      if (fresh.length === 0) return;
      // A host of another home makes worktrees, and removes them: for a moment they look like nobody's.
      await new Promise((resolve) => setTimeout(resolve, STILL_MS).unref());
      const still = new Set((await this.#untold(git, repository)).map(({ path }) => path));
      this.#tell(
        repo,
        fresh.filter(({ path }) => still.has(path)),
      );
    } catch (error) {
      this.#context.diagnostics.add(`what plans left in ${visible(repo)}: ${messageOf(error)}`);
    }
  }

  /** @param {any} git @param {import("../../git/repository.mjs").Repository} repository @returns {Promise<SizedOrphan[]>} */
  async #untold(git, repository) {
    const all = /** @type {SizedOrphan[]} */ (
      await git.searchOrphans(repository, this.recordedOf, { sizes: false })
    );
    return all.filter(({ path }) => !this.#told.has(path));
  }

  /** @param {string} repo @param {SizedOrphan[]} orphans */
  #tell(repo, orphans) {
    if (orphans.length === 0) return;
    for (const { path } of orphans) this.#told.add(path);
    const some = orphans.slice(0, MOST_SHOWN).map(({ path }) => visible(nameOf(path)));
    const more = orphans.length > MOST_SHOWN ? ", …" : "";
    const count = orphans.length === 1 ? "1 folder belongs" : `${orphans.length} folders belong`;
    const summary = `${count} to no plan in ${visible(repo)}/.worktrees (${some.join(", ")}${more}). In that repository, copilot-tap plan clean looks at them and removes them`;
    this.#context.events.emit("plans", { summary }).catch(() => {});
  }

  /** What worktrees take, roughly, and how many folders belong to nobody. @param {string} repo */
  async use(repo) {
    const { git, repository } = await this.repositoryOf({ id: "", cwd: repo });
    const use = await git.worktreeUse(repository);
    const orphans = await git.searchOrphans(repository, this.recordedOf, { sizes: false });
    return { ...use, orphans: orphans.length };
  }

  // ---- for a person --------------------------------------------------------------------------------

  /** Where a person is. @param {Asker} asker */
  async repositoryOf({ cwd }) {
    const git = await this.#context.services.worktree.use();
    return { git, repository: await git.openRepository(cwd) };
  }

  /** @param {Asker} asker */
  async list(asker) {
    const { git, repository } = await this.repositoryOf(asker);
    const orphans = /** @type {SizedOrphan[]} */ (
      await git.searchOrphans(repository, this.recordedOf)
    );
    const named = orphans.map((one) => ({ name: nameOf(one.path), ...one }));
    return { repo: repository.root, orphans: named };
  }

  /** One of them, after everything in it is kept. @param {string} path @param {Asker} asker */
  async clean(path, asker) {
    const { git, repository } = await this.repositoryOf(asker);
    return { path, ...(await git.cleanOrphan(repository, path, this.recordedOf)) };
  }

  /** @param {{plan: string, node?: string, to?: string}} wanted @param {Asker} asker */
  async restore({ plan, node, to }, asker) {
    const planId = await this.#plans.require(plan).catch((error) => {
      if (error.code === "UNKNOWN_PLAN") return undefined; // it was deleted
      throw error;
    });
    const cwd = planId ? this.#plans.view({ view: "plan", planId }).facts.repo : asker.cwd;
    const { git, repository } = await this.repositoryOf({ id: "", cwd });
    const kept = await git.listKept(repository);
    const found = keptOf(kept, planId ?? plan, node);
    if (to !== undefined && found.length > 1) {
      const nodes = found.map((one) => one.node).join(", ");
      throw new PlanError("AMBIGUOUS", `--to takes one node; kept are those of ${nodes}`);
    }
    const restored = [];
    for (const { plan: id, node: name, at } of found) {
      const back = await git.bringBack(repository, { plan: id, node: name }, { to });
      restored.push({ planId: id, nodeId: name, keptAt: at, ...back });
    }
    return { repo: repository.root, restored };
  }
}

/** @param {string} path */
const nameOf = (path) => path.split(/[\\/]/).at(-1) ?? path;

/** @param {{plan: string, node: string, at: number}[]} all @param {string} plan its id, or how that begins @param {string} [node] */
function keptOf(all, plan, node) {
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
