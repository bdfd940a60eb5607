// What a plan needs before it is made: its repository, its base, and the rules' yes to its commands.

import { bySessionUse } from "../../base/inspection.mjs";
import { refusedVariable } from "../../base/refused-variables.mjs";
import { visible } from "../../base/visible.mjs";
import { WorkConsent } from "../../base/work-consent.mjs";
import { missingTools } from "./node-tools.mjs";
import { PlanError } from "./plan-error.mjs";
import { requireUnprotected } from "./protected.mjs";
import { budgetQuestion, questionOf } from "./question.mjs";
import { samePathNotes } from "./same-paths.mjs";

/** @typedef {import("../../registry/services.mjs").Services} Services */
/** @typedef {import("../../base/control.mjs").InspectedSession} InspectedSession */
/** @typedef {import("./plans.mjs").Asker} Asker */

/** The command line of a work specification that nobody has checked yet; "": it has none. @param {any} work */
function commandOf(work) {
  if (typeof work === "string") return /^@agent(\s|$)/.test(work) ? "" : work;
  if (typeof work?.command === "string") return work.command;
  if (typeof work?.executable !== "string") return "";
  return [work.executable, ...(Array.isArray(work.args) ? work.args : [])].join(" ");
}

/** With such variables a command would run more than the rules see. @param {any[]} environments */
function refuseVariables(environments) {
  const names = environments.flatMap((env) =>
    env && typeof env === "object" ? Object.keys(env) : [],
  );
  for (const name of names) {
    const why = refusedVariable(name);
    if (why === "") continue;
    throw new PlanError(
      "REFUSED_VARIABLE",
      `env: ${visible(name).slice(0, 64)} says ${why}; put what it is for into the command, or into the project's own files`,
    );
  }
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

  /** What is to be known before anything is made. @param {Record<string, any>} given @param {Asker} asker */
  async prepare(given, asker) {
    const { repo, baseBranch, targetBranch, maxParallel = 4, fetch, nodes } = given;
    const { id, cwd } = asker;
    const git = await this.#services.worktree.use();
    git.checkBrought(given);
    const folder = await git.resolveInside(cwd, typeof repo === "string" ? repo : ".", {
      anywhere: id === "",
    });
    const repository = await git.openRepository(folder);
    const target = typeof targetBranch === "string" ? targetBranch : undefined;
    await this.requireUnprotected(git, repository, target);
    const { changed } = await git.checkUsable(repository, { targetBranch: target });
    const base = await repository.resolveBase(
      typeof baseBranch === "string" ? baseBranch : undefined,
      { fetch: fetch === true },
    );
    const tip = target === undefined ? undefined : await git.branchTip(repository, target);
    const count = Number.isInteger(maxParallel) ? Math.min(Math.max(maxParallel, 1), 64) : 4;
    await git.checkSpace(repository, { commit: base.commit, folder: repository.root, count });
    const uncommitted =
      changed.length === 0
        ? []
        : [
            `your checkout has ${changed.length} uncommitted ${changed.length === 1 ? "change" : "changes"} (${changed.slice(0, 5).join(", ")}${changed.length > 5 ? ", …" : ""}); no worktree of the plan has them`,
          ];
    const notes = [...uncommitted, ...samePathNotes(nodes)];
    const { worktrees, copy, link, setup, gitignore } = await this.#services.settings.plans();
    const facts = {
      ...{ repo: repository.root, cwd, session: id, baseBranch: base.name },
      baseCommit: base.commit,
      createsTarget: target !== undefined && tip === undefined,
      ...(worktrees === "beside" && { beside: true }),
      defaults: { copy, link, setup, gitignore },
      ...(await this.programsOf(asker)),
    };
    return { facts, notes };
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
   * @param {{name?: unknown, targetBranch?: unknown, nodes?: unknown, setup?: unknown, env?: unknown}} given
   * @param {Asker} asker
   */
  async requireAll({ nodes, setup, env, ...about }, { id }) {
    if (!Array.isArray(nodes) || id === "") return;
    const works = nodes.flatMap((node) => [node?.prechecks, node?.work, node?.postchecks]);
    refuseVariables([env, ...works.map((work) => work?.env)]);
    await this.#requireTools(works, id);
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

  /** @param {any[]} works @param {string} session */
  async #requireTools(works, session) {
    const working = works.filter((work) => work?.type === "tool");
    const lent = works.flatMap((work) => (Array.isArray(work?.tools) ? work.tools : []));
    const names = [...working.map(({ tool }) => tool), ...lent];
    if (names.length === 0) return;
    const missing = missingTools(await this.#services.tools.list({ session }), names);
    if (missing) throw new PlanError("UNKNOWN_TOOL", missing);
    for (const { tool, args = {} } of working) {
      await this.requirePermission(session, { tool, args });
    }
  }
}
