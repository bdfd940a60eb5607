// What a plan needs before it is made: its repository, its base, and the rules' yes to its commands.

import { bySessionUse } from "../../base/inspection.mjs";
import { WorkConsent } from "../../base/work-consent.mjs";
import { Collected, folderMistakes, refusedVariables, toolMistakes, worksOf } from "./mistakes.mjs";
import { missingNotes, uncommittedNotes } from "./notes.mjs";
import { PlanError } from "./plan-error.mjs";
import { requireUnprotected } from "./protected.mjs";
import { budgetQuestion, questionOf } from "./question.mjs";
import { samePathNotes } from "./same-paths.mjs";

/** @typedef {import("../../registry/services.mjs").Services} Services */
/** @typedef {import("../../base/control.mjs").InspectedSession} InspectedSession */
/** @typedef {import("./plans.mjs").Asker} Asker */
/** @typedef {import("./mistakes.mjs").Mistake} Mistake */
/** @typedef {typeof import("../../git/index.mjs")} Git */

/** The command line of a work specification that nobody has checked yet; "": it has none. @param {any} work */
function commandOf(work) {
  if (typeof work === "string") return /^@agent(\s|$)/.test(work) ? "" : work;
  if (typeof work?.command === "string") return work.command;
  if (typeof work?.executable !== "string") return "";
  return [work.executable, ...(Array.isArray(work.args) ? work.args : [])].join(" ");
}

export class Making {
  #services;
  #consent;

  /** @param {Services} services */
  constructor(services) {
    this.#services = services;
    this.#consent = new WorkConsent(/** @type {any} */ (services.sessions));
  }

  /** The rules and gates for what an agent does hold for what its plan does. @param {string} session @param {{tool: string, args: object}} use */
  async requirePermission(session, { tool, args }) {
    if (session === "") return; // the user's own act
    const listener = await this.sessionFor(session);
    if (listener === undefined) return; // it was allowed when it was made, and nobody is there
    const { allowed, reason, by } = await this.#services.permissions.check({
      session: listener,
      tool,
      args,
    });
    if (allowed) return;
    throw new PlanError(
      "DENIED",
      `denied${by ? ` by ${by}` : ""}: ${reason ?? `a rule for ${tool}`}`,
    );
  }

  /** The session whose rules and tools a plan has: where its own has gone, the one that was used last. @param {string} session */
  async sessionFor(session) {
    const all = /** @type {InspectedSession[]} */ (await this.#services.sessions.list());
    const open = all.filter(({ ending }) => !ending);
    if (open.some(({ id }) => id === session)) return session;
    return open.sort(bySessionUse)[0]?.id;
  }

  /**
   * What a plan runs is held to the rules of the session that made it, what a person's runs to none: the model of
   * another session adds nothing to it.
   * @param {{session: string}} facts of the plan @param {Asker} asker
   */
  async requireOwn({ session }, { id }) {
    if (id === "" || (session !== "" && (await this.sessionFor(session)) === id)) return;
    const who = session === "" ? "the user" : "another session";
    const text = `${who} made this plan, so nothing is added to it from here: make a plan of your own`;
    throw new PlanError("NOT_YOURS", text);
  }

  /**
   * What is to be known before anything is made, and all that is wrong.
   * @param {Record<string, any>} given @param {Asker} asker
   * @param {{valid: boolean}} how valid: the engine has found nothing wrong; else only mistakes are looked for
   * @returns {Promise<{found: Mistake[], facts?: any, notes?: string[]}>} facts and notes: where nothing is wrong
   */
  async prepare(given, asker, { valid }) {
    const git = await this.#services.worktree.use();
    const collected = new Collected();
    const repository = await this.#repositoryOf(git, given, asker, collected);
    const seen = repository && (await this.#inRepository(git, repository, given, collected, valid));
    const root = repository?.root;
    const found = [...collected.found, ...(await this.mistakesIn(given, asker, root))];
    if (!valid || found.length > 0 || !repository || !seen?.base || !seen.usable) return { found };
    const { base, target, tip } = seen;
    const { changed } = seen.usable;
    const notes = [
      ...uncommittedNotes(changed),
      ...missingNotes(await git.missingBrought(repository.root, given)),
      ...samePathNotes(given.nodes),
    ];
    const { worktrees, copy, link, setup, gitignore } = await this.#services.settings.plans();
    const facts = {
      ...{ repo: repository.root, cwd: asker.cwd, session: asker.id, baseBranch: base.name },
      baseCommit: base.commit,
      createsTarget: target !== undefined && tip === undefined,
      ...(worktrees === "beside" && { beside: true }),
      defaults: { copy, link, setup, gitignore },
      ...(await this.programsOf(asker)),
    };
    return { found, facts, notes };
  }

  /** @param {Git} git @param {Record<string, any>} given @param {Asker} asker @param {Collected} collected */
  async #repositoryOf(git, { repo, ...given }, { id, cwd }, collected) {
    await collected.take("", () => git.checkBrought(given));
    return collected.take("repo", async () => {
      const wanted = typeof repo === "string" ? repo : ".";
      return git.openRepository(await git.resolveInside(cwd, wanted, { anywhere: id === "" }));
    });
  }

  /**
   * @param {Git} git @param {any} repository @param {Record<string, any>} given @param {Collected} collected
   * @param {boolean} valid
   */
  async #inRepository(git, repository, given, collected, valid) {
    const { baseBranch, targetBranch, maxParallel = 4, fetch } = given;
    const target = typeof targetBranch === "string" ? targetBranch : undefined;
    const named = typeof baseBranch === "string" ? baseBranch : undefined;
    const tip = await collected.take("targetBranch", async () => {
      await this.requireUnprotected(git, repository, target);
      if (target === undefined) return undefined;
      await git.requireFreeName(repository, target);
      return git.branchTip(repository, target);
    });
    const usable = await collected.take("", () => git.checkUsable(repository));
    if (!valid && fetch === true) return { usable, target, tip }; // nothing is fetched in vain
    const base = await collected.take("baseBranch", () =>
      repository.resolveBase(named, { fetch: fetch === true }),
    );
    const count = Number.isInteger(maxParallel) ? Math.min(Math.max(maxParallel, 1), 64) : 4;
    if (valid && base) {
      const wanted = { commit: base.commit, folder: repository.root, count };
      await collected.take("", () => git.checkSpace(repository, wanted));
    }
    return { usable, base, target, tip };
  }

  /**
   * What the engine does not know of.
   * @param {Record<string, any>} given @param {Asker} asker @param {string} [root] of the checkout
   * @returns {Promise<Mistake[]>}
   */
  async mistakesIn(given, { id }, root) {
    const git = await this.#services.worktree.use();
    const list = () => (id === "" ? undefined : this.#services.tools.list({ session: id }));
    return [
      ...refusedVariables(given),
      ...(await toolMistakes(given.nodes, list)),
      ...(root === undefined
        ? []
        : await folderMistakes(given.nodes, (folders) => git.resolveFolders(root, folders))),
    ];
  }

  /** @param {typeof import("../../git/index.mjs")} git @param {{root: string}} repository @param {string} [target] */
  requireUnprotected(git, { root }, target) {
    return requireUnprotected(this.#services, git, root, target);
  }

  /** Where programs and the CLI are found. @param {Asker} asker */
  async programsOf({ id, path: own, cli: found }) {
    const { path = own, runtime } = await this.#environmentOf(id);
    const { execPath, sdkPath } = runtime ?? {};
    const cli = execPath && sdkPath ? { cli: execPath, sdk: sdkPath } : found;
    return { ...(path && { path }), ...(cli && { cli }) };
  }

  /** What programs and agents get of the session; of any other one, where a person asks. @param {string} session @returns {Promise<any>} */
  async #environmentOf(session) {
    const all = /** @type {InspectedSession[]} */ (await this.#services.sessions.list());
    const one = all.find(({ id }) => id === session) ?? all.sort(bySessionUse)[0];
    if (!one) return {};
    const seen = await this.#services.sessions.environment({ session: one.id }).catch(() => ({}));
    return session === "" ? { runtime: seen.runtime } : seen;
  }

  /**
   * Every distinct command and tool is held to the rules when it is given, too; then the user is asked.
   * REQUIRES: no mistakes.
   * @param {{name?: unknown, targetBranch?: unknown, nodes?: unknown, setup?: unknown, env?: unknown}} given
   * @param {Asker} asker
   */
  async requireAll({ nodes, setup, env, ...about }, { id }) {
    if (!Array.isArray(nodes) || id === "") return;
    const works = worksOf(nodes).map(({ work }) => work);
    for (const { type, tool, args = {} } of works.filter(Boolean)) {
      if (type === "tool") await this.requirePermission(id, { tool, args });
    }
    const commands = [...new Set([setup, ...works].map(commandOf).filter(Boolean))];
    for (const command of commands) {
      await this.requirePermission(id, { tool: "bash", args: { command } });
    }
    const text = questionOf({ ...about, env, nodes }, commands);
    const why = await this.#consent.obstacle(id, text, { ...about, nodes, setup, env });
    if (why) throw new PlanError("DENIED", why);
  }

  /**
   * A budget that was spent stops a plan until the user gives more.
   * @param {{planId: string, name: string}} plan @param {unknown} budget @param {Asker} asker
   */
  async requireBudget({ planId, name }, budget, { id }) {
    if (id === "") return;
    const why = await this.#consent.obstacle(id, budgetQuestion({ planId, name }, budget), budget);
    if (why) throw new PlanError("DENIED", why);
  }
}
