// What is wrong with a plan, or with nodes for one, all at once: what the engine finds, and what it does not know of.

import { bySessionUse } from "../../lib/inspection.mjs";
import { isReservedForGit, refusalReason } from "../../lib/refused-variables.mjs";
import { formatSuggestion } from "../../lib/suggestion.mjs";
import { isAgentWork } from "../../lib/values.mjs";
import { formatNames, inLine, truncateText, visible } from "../../lib/visible.mjs";
import { WorkConsent } from "../../lib/work-consent.mjs";
import { addNodeIds, PlanError } from "./errors.mjs";
import { requireUnprotected } from "./landing.mjs";
import { createDenied, requireGuards } from "./session-guards.mjs";
import { formatMissingTools, formatOwnTools, toShellUse } from "./node-tools.mjs";
import { budgetQuestion, controlQuestion, formatPlanQuestion } from "./notifications.mjs";
import {
  createNotAllowed,
  findAdded,
  findFolderMistakes,
  findUnallowed,
  formatOpenings,
  getSandboxAllow,
  hasAgents,
  inspectOpenings,
  isShownWhole,
  listOpenings,
} from "./sandbox-consent.mjs";
import { findFolderMistake, formatSandboxProblem, mergeFields } from "./sandbox-policy.mjs";

/** @typedef {import("../../feature-host/provider-tools.mjs").ProviderTool} ProviderTool */
/** @typedef {import("./plan-manager.mjs").PlanManager} PlanManager */
/** @typedef {import("./plan-manager.mjs").Asker} Asker */
/** @typedef {import("../../feature-host/service-access.mjs").Services} Services */
/** @typedef {import("../../link/control.mjs").InspectedSession} InspectedSession */

const MAX_PROBLEMS = 50;
const MAX_NAME = 64;
const PHASES = /** @type {const} */ (["prechecks", "work", "postchecks"]);

/**
 * error: it says all of it already; node: the id of the one that it is in
 * @typedef {{path: string, code: string, message: string, error?: Error, node?: string}} Mistake
 */

/** @param {string} text */
const truncateName = (text) => truncateText(visible(text), MAX_NAME);

/** @param {unknown} nodes not checked yet @returns {{path: string, work: any}[]} */
export function listWorks(nodes) {
  if (!Array.isArray(nodes)) return [];
  return nodes.flatMap((node, at) =>
    PHASES.map((phase) => ({ path: `nodes[${at}].${phase}`, work: node?.[phase] })),
  );
}

/**
 * With such variables a command would run more than the rules see.
 * @param {unknown} env @param {string} path @param {(name: string) => string} [more] why else one is refused
 * @returns {Mistake[]}
 */
function findVariableMistakes(env, path, more = () => "") {
  if (typeof env !== "object" || env === null) return [];
  return Object.keys(env).flatMap((name) => {
    const why = refusalReason(name) || more(name);
    const message = `says ${why}; put what it is for into the command, or into the project's own files`;
    return why
      ? [{ path: `${path}.${truncateName(name)}`, code: "REFUSED_VARIABLE", message }]
      : [];
  });
}

/** @param {{env?: unknown, nodes?: unknown}} given @returns {Mistake[]} */
export const findRefusedVariables = ({ env, nodes }) => [
  // Tap's own git gets these, too.
  ...findVariableMistakes(env, "env", (name) =>
    isReservedForGit(name) ? "where and how Git works" : "",
  ),
  ...listWorks(nodes).flatMap(({ path, work }) => findVariableMistakes(work?.env, `${path}.env`)),
];

/** @param {any} work @param {string} path @returns {{path: string, name: string}[]} tools that it names */
function listTools(work, path) {
  const lent = Array.isArray(work?.tools) ? work.tools : [];
  const all = [
    ...(work?.type === "tool" ? [{ path: `${path}.tool`, name: work.tool }] : []),
    ...lent.map((/** @type {unknown} */ name, /** @type {number} */ at) => ({
      ...{ path: `${path}.tools[${at}]`, name },
    })),
  ];
  return all.filter(({ name }) => typeof name === "string");
}

/**
 * @param {unknown} nodes @param {() => Promise<ProviderTool[]> | undefined} list those of the session; undefined: it is
 *   not known yet which there will be
 * @returns {Promise<Mistake[]>}
 */
export async function findToolMistakes(nodes, list) {
  const all = listWorks(nodes).flatMap(({ path, work }) => listTools(work, path));
  const there = all.length > 0 ? await list() : undefined;
  return all.flatMap(({ path, name }) => {
    const message = there ? formatMissingTools(there, [name]) : formatOwnTools([name]);
    return message ? [{ path, code: "UNKNOWN_TOOL", message }] : [];
  });
}

/** @param {object} args @param {readonly string[]} known @returns {Mistake[]} */
export const findUnknownFields = (args, known) =>
  Object.keys(args)
    .filter((name) => !known.includes(name))
    .map((name) => ({
      ...{ path: truncateName(name), code: "INVALID_PLAN" },
      message: `is not a field here: ${formatSuggestion(name, known)}`,
    }));

/** Runs a step whose failure is one mistake among others. */
export class MistakeCollector {
  /** @type {Mistake[]} */
  mistakes = [];

  /** @template T @param {string} path @param {() => Promise<T> | T} step @returns {Promise<T | undefined>} undefined: it failed */
  async run(path, step) {
    try {
      return await step();
    } catch (error) {
      const { code, name, message } = /** @type {any} */ (error);
      if (name !== "GitError" && !(error instanceof PlanError)) throw error;
      const text = message.startsWith(`${path}: `) ? message.slice(path.length + 2) : message;
      this.mistakes.push({ path, code, message: text, error: /** @type {Error} */ (error) });
      return undefined;
    }
  }
}

/** @param {PlanError | undefined} refused @param {Mistake[]} found @param {unknown} nodes @returns {PlanError} with all problems */
function combineProblems(refused, found, nodes) {
  const { problems = [], more = 0 } = /** @type {any} */ (refused?.detail ?? {});
  const told = new Set(problems.map((/** @type {{path: string}} */ { path }) => path));
  const rest = found.filter(({ path }) => path === "" || !told.has(path));
  const all = [
    ...problems,
    ...rest.map(({ path, message, node }) => ({ path, message, ...(node && { node }) })),
  ];
  const left = more + Math.max(0, all.length - MAX_PROBLEMS);
  const detail = { problems: all.slice(0, MAX_PROBLEMS), ...(left > 0 && { more: left }) };
  const codes = new Set(found.map(({ code }) => code));
  const [code] = !refused && codes.size === 1 ? codes : ["INVALID_PLAN"];
  return new PlanError(
    code,
    refused?.message ?? "the plan is not valid",
    addNodeIds(detail, nodes),
  );
}

/**
 * Throws where anything is wrong.
 * @param {PlanError | undefined} refused by the engine @param {Mistake[]} found besides @param {unknown} nodes that were given
 */
export function throwIfInvalid(refused, found, nodes) {
  const isList = refused === undefined || refused.code === "INVALID_PLAN";
  if (!isList || (refused && found.length === 0)) throw refused;
  if (found.length === 0) return;
  const [{ error }] = found;
  if (!refused && found.length === 1 && error) throw error;
  throw combineProblems(refused, found, nodes);
}

/** @param {PlanManager} plans @param {any} input that checks @returns {Promise<PlanError | undefined>} what the engine refuses */
export const findRefusal = (plans, input) =>
  plans.submitOrThrow(input).then(
    () => undefined,
    (error) => error,
  );

/**
 * @param {PlanManager} plans @param {Record<string, any>} given @param {Asker} asker @param {Mistake[]} [known]
 * @returns {Promise<{facts: any, notes: string[], target?: string}>}
 */
export async function preparePlan(plans, given, asker, known = []) {
  const refused = await findRefusal(plans, { input: "check", plan: given });
  const { found, ...prepared } = await plans.preflight.prepare(given, asker, { valid: !refused });
  throwIfInvalid(refused, [...known, ...found], given.nodes);
  return /** @type {{facts: any, notes: string[], target?: string}} */ (prepared);
}

/**
 * @param {PlanManager} plans @param {{planId: string, nodes: unknown[], reopens?: boolean, replaces?: string}} given
 * @param {Asker} asker @param {Mistake[]} [known]
 */
export async function checkNodes(plans, { planId, nodes, ...how }, asker, known = []) {
  const refused = await findRefusal(plans, { input: "check-nodes", planId, nodes, ...how });
  const { facts } = plans.view({ view: "plan", planId });
  const repository = await plans.preflight.openForFolders({ nodes }, facts);
  const found = await plans.preflight.findMistakes({ nodes }, asker, repository, facts);
  throwIfInvalid(refused, [...known, ...found], nodes);
}

/** What the engine does not know of. @param {PlanManager} plans @param {{planId: string, changes: unknown}} given of a node @param {Asker} asker */
export async function checkChanges(plans, { planId, changes }, asker) {
  const { facts } = plans.view({ view: "plan", planId });
  const nodes = [changes];
  const repository = await plans.preflight.openForFolders({ nodes }, facts);
  const found = await plans.preflight.findMistakes({ nodes }, asker, repository, facts);
  for (const one of found) one.path = one.path.replace(/^nodes\[0\]\./, "");
  throwIfInvalid(undefined, found, []);
}

// What is worth knowing of a plan that has no mistakes, before it runs.

const MAX_NAMED_FILES = 5;

/** @param {string | undefined} given @param {string | undefined} target @returns {string[]} */
const formatTargetNotes = (given, target) =>
  given === target || target === undefined
    ? []
    : [
        `targetBranch: "${inLine(String(given))}" is a symbolic ref; the plan lands on "${inLine(target)}"`,
      ];

/**
 * @param {string} field @param {string} name of a branch @param {{name: string, behind: number} | undefined} remote
 * @param {string} advice @returns {string[]}
 */
function formatBehindNotes(field, name, remote, advice) {
  if (!remote || remote.behind === 0) return [];
  const count = `${remote.behind} ${remote.behind === 1 ? "commit" : "commits"}`;
  return [`${field}: "${inLine(name)}" is ${count} behind "${inLine(remote.name)}"; ${advice}`];
}

/** @param {any} base @param {string | undefined} target @param {any} remote of the target @param {boolean} isCreated @returns {string[]} */
function formatRemoteNotes(base, target = "", remote, isCreated) {
  const advice = `to begin there, set baseBranch to "${inLine(base.remote?.name ?? "")}"`;
  const created = `targetBranch: "${inLine(target)}" begins at "${inLine(remote?.name ?? "")}"`;
  return [
    ...formatBehindNotes("baseBranch", base.name, base.remote, advice),
    ...(remote && isCreated ? [created] : []),
    ...formatBehindNotes("targetBranch", target, remote, "pull it, or a push will be refused"),
  ];
}

/** @param {string[]} changed files of the user's checkout @returns {string[]} */
export function formatUncommittedNotes(changed) {
  if (changed.length === 0) return [];
  const count = `${changed.length} uncommitted ${changed.length === 1 ? "change" : "changes"}`;
  return [
    `your checkout has ${count} (${visible(formatNames(changed, MAX_NAMED_FILES))}); no worktree of the plan has them`,
  ];
}

/** @param {Record<string, string[]>} missing of a checkout, by the field that names them @returns {string[]} */
export const formatMissingNotes = (missing) =>
  Object.entries(missing)
    .filter(([, names]) => names.length > 0)
    .map(
      ([field, names]) =>
        `${field}: your checkout does not have ${visible(formatNames(names, MAX_NAMED_FILES))}; unless that changes, no worktree gets it`,
    );

/** @param {string | undefined} folder @returns {string[]} */
const formatHookNotes = (folder) =>
  folder === undefined
    ? []
    : [
        `core.hooksPath: no commit has "${visible(folder)}", so your hooks would not run; to bring it into each worktree: copy: ["${visible(folder)}"]`,
      ];

/** @typedef {{copy?: string[], link?: string[]}} Brought */

/** @param {Git} git @param {any} repository @param {string} commit with which nodes begin @param {Brought} given @param {Brought} defaults */
async function listUntrackedNotes(git, repository, commit, given, defaults) {
  const missing = await git.findMissingPaths(repository.root, given);
  const { copy = [], link = [] } = { ...defaults, ...given };
  const hooks = await git.findMissingHooks(repository, commit, [...copy, ...link]);
  return [...formatMissingNotes(missing), ...formatHookNotes(hooks)];
}

// Which nodes of a plan name the same files in what their agents are to do, or write them by a redirection, and may run
// at the same time: what they change may conflict. A guess from words, so it is a note and no mistake.

/** Nodes that are looked at, and paths of each. */
const MAX_NODES = 500;
const MAX_PATHS = 50;
const MAX_NOTES = 5;
const MAX_NAMED_NODES = 4;
/** `src/a.ts`, `README.md`; not `https://…`, `and/or` nor the end of a sentence. */
const PATH =
  /(?<![\w/:@.-])(?:\.\/)?((?:[\w@.-]+\/)*[\w-][\w.-]*\.(?:[a-z][a-z\d]{1,4}|[chrd]))(?![\w/])/g;

/** `> file`, `>> "file"` */
const REDIRECTION_PATTERN = />\s{0,9}["']?([^\s"'`;|&<>()$]{1,200})/g;

/** @param {unknown} command @returns {string} the files that it writes, as far as can be seen */
const findRedirections = (command) =>
  typeof command === "string"
    ? [...command.matchAll(REDIRECTION_PATTERN)].map(([, file]) => file).join(" ")
    : "";

/** Where the files stand that a node changes. @param {any} work not checked yet @returns {string} */
function collectText(work) {
  if (typeof work === "string") return isAgentWork(work) ? work : findRedirections(work);
  if (work?.type !== "agent") return findRedirections(work?.command);
  return typeof work.instructions === "string" ? work.instructions : "";
}

/** @param {string} text @returns {Set<string>} */
export function findPaths(text) {
  const found = [...text.matchAll(PATH)].map(([, path]) => path);
  return new Set(found.slice(0, MAX_PATHS));
}

/** @param {any[]} nodes of a plan without mistakes @returns {any[]} each behind those that it depends on */
function sortByDependencies(nodes) {
  const left = new Map(nodes.map(({ id, dependencies = [] }) => [id, dependencies.length]));
  /** @type {Map<string, any[]>} */
  const dependents = new Map();
  for (const node of nodes) {
    for (const id of node.dependencies ?? []) {
      const others = dependents.get(id);
      if (others) others.push(node);
      else dependents.set(id, [node]);
    }
  }
  const order = nodes.filter(({ id }) => left.get(id) === 0);
  for (let at = 0; at < order.length; ++at) {
    for (const node of dependents.get(order[at].id) ?? []) {
      const count = (left.get(node.id) ?? 0) - 1;
      left.set(node.id, count);
      if (count === 0) order.push(node);
    }
  }
  return order;
}

/**
 * Which of the wanted nodes come before each node: one bit for each of them.
 * @param {any[]} nodes @param {string[]} wanted @returns {(id: string, other: string) => boolean} whether the other one is before it
 */
function createAncestorCheck(nodes, wanted) {
  const numbers = new Map(wanted.map((id, number) => [id, number]));
  const words = Math.ceil(wanted.length / 32);
  /** @type {Map<string, Uint32Array>} */
  const before = new Map();
  for (const { id, dependencies = [] } of sortByDependencies(nodes)) {
    const bits = new Uint32Array(words);
    for (const one of dependencies) {
      const theirs = before.get(one);
      for (let word = 0; theirs && word < words; ++word) bits[word] |= theirs[word];
      const number = numbers.get(one);
      if (number !== undefined) bits[number >> 5] |= 1 << (number & 31);
    }
    before.set(id, bits);
  }
  return (id, other) => {
    const number = numbers.get(other) ?? 0;
    return ((before.get(id)?.[number >> 5] ?? 0) & (1 << (number & 31))) !== 0;
  };
}

/** @param {string[]} ids @param {(id: string, other: string) => boolean} isBefore @returns {string[]} those with one that they do not wait for */
const findConcurrent = (ids, isBefore) =>
  ids.filter((id) =>
    ids.some((other) => other !== id && !isBefore(id, other) && !isBefore(other, id)),
  );

/** @param {any[]} nodes of a plan without mistakes @returns {string[]} for the user and the model */
export function findSamePathNotes(nodes) {
  /** @type {Map<string, string[]>} */
  const named = new Map();
  const some = nodes.filter(({ work }) => collectText(work) !== "").slice(0, MAX_NODES);
  for (const { id, work } of some) {
    for (const path of findPaths(collectText(work))) {
      named.set(path, [...(named.get(path) ?? []), id]);
    }
  }
  const shared = [...named].filter(([, ids]) => ids.length > 1);
  if (shared.length === 0) return [];
  const isBefore = createAncestorCheck(nodes, [...new Set(shared.flatMap(([, ids]) => ids))]);
  return shared
    .map(([path, ids]) => ({ path, ids: findConcurrent(ids, isBefore) }))
    .filter(({ ids }) => ids.length > 1)
    .slice(0, MAX_NOTES)
    .map(({ path, ids }) => {
      const which = formatNames(ids, MAX_NAMED_NODES);
      return `${which} name ${inLine(path)} and may run at the same time: their changes may conflict; let one depend on the other`;
    });
}

// What a plan needs before it is made: its repository, its base, and the rules' yes to its commands.

/** @typedef {typeof import("../../git/index.mjs")} Git */
/**
 * @typedef {object} OpeningContext
 * @property {string} root of the checkout @property {{env?: Record<string, string>}} [ofPlan] what the plan that is there says
 * @property {{nodes: unknown[]}} [before] of an edit: what the node was
 * @property {(path: string) => string} [toPath] where a field is in what was given
 */

/** The command line of a work specification; "": it has none. @param {any} work not checked yet */
function toCommandLine(work) {
  if (typeof work === "string") return isAgentWork(work) ? "" : work;
  if (typeof work?.command === "string") return work.command;
  if (typeof work?.executable !== "string") return "";
  return [work.executable, ...(Array.isArray(work.args) ? work.args : [])].join(" ");
}

/** @param {{session: string}} facts of a plan */
const formatOwner = ({ session }) => (session === "" ? "the user" : "another session");

/** @param {any} problem of findSandboxProblem @returns {Mistake[]} */
function listSandboxMistakes(problem) {
  if (problem?.fallback !== "refuse") return [];
  return [{ path: "sandbox", code: problem.code, message: formatSandboxProblem(problem) }];
}

export class PlanPreflight {
  #services;
  #consent;

  /** @param {Services} services */
  constructor(services) {
    this.#services = services;
    this.#consent = new WorkConsent(/** @type {any} */ (services.sessions));
  }

  /**
   * The rules and gates for what an agent does hold for what its plan does, also once its session has ended.
   * @param {{session: string, repo: string, guards?: object[]}} facts of the plan @param {{tool: string, args: object}} use
   * @param {AbortSignal} [signal]
   */
  async requirePermission(facts, use, signal) {
    const { session } = facts;
    if (session === "") return; // the user's own act
    const listener = await this.findSession(session);
    if (listener !== session) {
      await requireGuards(facts, use, /** @type {any} */ (this.#services), { signal });
    }
    if (listener === undefined) return;
    const { allowed, reason, by } = await this.#services.permissions.check({
      session: listener,
      ...use,
    });
    if (!allowed) throw createDenied(by, reason ?? `a rule for ${use.tool}`);
  }

  /** The deny rules and gates of a session, for the journal of its plan. @param {string} session */
  async #findGuards(session) {
    const guards = session === "" ? [] : await this.#services.permissions.guards({ session });
    return guards.length > 0 ? { guards } : {};
  }

  /** The session whose rules and tools a plan has: where its own has gone, the one that was used last. @param {string} session */
  async findSession(session) {
    const all = /** @type {InspectedSession[]} */ (await this.#services.sessions.list());
    const open = all.filter(({ ending }) => !ending);
    if (open.some(({ id }) => id === session)) return session;
    return open.sort(bySessionUse)[0]?.id;
  }

  /**
   * Whether the plan is the asker's: a person's own act, the session that made it, or, once that has ended, any of the
   * same folder.
   * @param {{session: string, repo: string, cwd: string}} facts of the plan @param {Asker} asker
   */
  async #isOwner({ session, repo, cwd }, { id }) {
    if (id === "" || id === session) return true;
    if (session === "") return false;
    const all = /** @type {InspectedSession[]} */ (await this.#services.sessions.list());
    if (all.some((one) => one.id === session && !one.ending)) return false;
    const own = all.find((one) => one.id === id)?.cwd ?? "";
    return (
      [repo, cwd].includes(own) || (own.startsWith(repo) && /^[\\/]/.test(own.slice(repo.length)))
    );
  }

  /**
   * What a plan runs is held to the rules of the session that made it, what a person's runs to none: the model of
   * another session adds nothing to it.
   * @param {{session: string, repo: string, cwd: string}} facts of the plan @param {Asker} asker
   */
  async requireOwner(facts, asker) {
    if (await this.#isOwner(facts, asker)) return;
    const text = `${formatOwner(facts)} made this plan, so nothing is added to it from here: make a plan of your own`;
    throw new PlanError("NOT_YOURS", text);
  }

  /**
   * A model changes the plan of somebody else only where the user says so.
   * @param {{planId: string, name: string, facts: any}} plan @param {Asker} asker @param {string} what "pause"
   * @param {() => Record<string, any>} [starts] what it starts: a plan with the nodes that have not succeeded
   */
  async requireControl({ planId, name, facts }, asker, what, starts) {
    if (await this.#isOwner(facts, asker)) return;
    const owner = formatOwner(facts);
    const start = controlQuestion({ planId, name, owner }, what);
    const given = starts?.();
    const { text } = given
      ? await this.#createQuestion(given, { root: facts.repo }, start)
      : { text: `${start}.` };
    const whole = { planId, what, given };
    const why = await this.#consent.requestConsent(asker.id, text, whole, { needsDialog: true });
    if (why) throw new PlanError("NOT_YOURS", `${owner} made this plan, and ${why}`);
  }

  /**
   * What the user is asked about all that would run.
   * @param {Record<string, any>} given a plan, or nodes for one @param {OpeningContext} context @param {string} [start]
   */
  async #createQuestion(given, context, start) {
    const { nodes, setup } = given;
    const works = listWorks(nodes).map(({ work }) => work);
    const programs = [setup, ...works].filter(toCommandLine);
    const unallowed = await this.#findUnallowed(given, context);
    const opened = formatOpenings(unallowed);
    const { text, top } = formatPlanQuestion(/** @type {any} */ (given), programs, opened, start);
    if (!isShownWhole(top))
      throw createNotAllowed(unallowed, "that is more than a question can show");
    return { text, unallowed };
  }

  /**
   * Why the programs of a plan have no sandbox on this machine.
   * @param {Record<string, any>} given @returns {Promise<any>} undefined: they have one, or want none
   */
  async findSandboxProblem({ nodes, ...head }) {
    const all = Array.isArray(nodes) ? nodes : [];
    if (all.every((node) => mergeFields(head, node).sandbox === "off")) return undefined;
    const found = await this.#services.plans.probeSandbox();
    if (found.state === "ok") return undefined;
    const { sandbox } = await this.#services.settings.plans();
    return { ...found, fallback: sandbox?.fallback ?? "ask" };
  }

  /**
   * What is to be known before anything is made, and all that is wrong.
   * @param {Record<string, any>} given @param {Asker} asker
   * @param {{valid: boolean}} how valid: the engine has found nothing wrong; else only mistakes are looked for
   * @returns {Promise<{found: Mistake[], facts?: any, notes?: string[], target?: string}>} facts, notes and the branch
   *   on which it lands: where nothing is wrong
   */
  async prepare(given, asker, { valid }) {
    const git = await this.#services.worktree.use();
    const collected = new MistakeCollector();
    const programs = await this.findPrograms(asker);
    const own = { ...asker, path: programs.path };
    const repository = await this.#openRepository(git, given, own, collected);
    const seen =
      repository && (await this.#checkRepository(git, repository, given, collected, valid));
    const { worktrees, copy, link, setup, gitignore } = await this.#services.settings.plans();
    const place = { beside: worktrees === "beside" };
    const mistakes = await this.findMistakes(given, asker, repository, place);
    const problem = valid ? await this.findSandboxProblem(given) : undefined;
    const untracked = await collected.run("copy", () =>
      valid && seen?.base
        ? listUntrackedNotes(git, repository, seen.base.commit, given, { copy, link })
        : [],
    );
    const found = [...collected.mistakes, ...mistakes, ...listSandboxMistakes(problem)];
    if (!valid || found.length > 0 || !repository || !seen?.base || !seen.usable) return { found };
    const { base, target, tip, remote } = seen;
    const createsTarget = target !== undefined && tip === undefined;
    const { changed } = seen.usable;
    const notes = [
      ...formatTargetNotes(given.targetBranch, target),
      ...formatRemoteNotes(base, target, remote, createsTarget),
      ...formatUncommittedNotes(changed),
      ...(untracked ?? []),
      ...findSamePathNotes(given.nodes),
    ];
    const facts = {
      ...{ repo: repository.root, cwd: asker.cwd, session: asker.id, baseBranch: base.name },
      baseCommit: base.commit,
      createsTarget,
      ...(createsTarget && remote && { targetBase: remote.commit }),
      ...(place.beside && { beside: true }),
      ...(problem && { unsandboxed: true }),
      defaults: { copy, link, setup, gitignore },
      ...programs,
      ...(await this.#findGuards(asker.id)),
    };
    return { found, facts, notes, target };
  }

  /** @param {any} git @param {Record<string, any>} given @param {Asker} asker @param {MistakeCollector} collected */
  async #openRepository(git, { repo, ...given }, { id, cwd, path }, collected) {
    await collected.run("", () => git.checkUntrackedPaths(given));
    return collected.run("repo", async () => {
      const wanted = typeof repo === "string" ? repo : ".";
      const folder = await git.resolveInside(cwd, wanted, { anywhere: id === "" });
      return git.openRepository(folder, { path });
    });
  }

  /**
   * @param {Git} git @param {any} repository @param {Record<string, any>} given @param {MistakeCollector} collected
   * @param {boolean} valid
   */
  async #checkRepository(git, repository, given, collected, valid) {
    const { baseBranch, targetBranch, maxParallel = 4, fetch } = given;
    const target = typeof targetBranch === "string" ? targetBranch : undefined;
    const named = typeof baseBranch === "string" ? baseBranch : undefined;
    const onto = await collected.run("targetBranch", async () => {
      const branch = await this.resolveTarget(git, repository, target);
      if (branch === undefined) return undefined;
      await git.requireFreeName(repository, branch);
      return { branch, tip: await git.branchTip(repository, branch) };
    });
    const usable = await collected.run("", () => git.checkRepositoryReady(repository));
    if (!valid && fetch === true) return { usable }; // nothing is fetched in vain
    const base = await collected.run("baseBranch", () =>
      repository.resolveBase(named, { fetch: fetch === true }),
    );
    const count = Number.isInteger(maxParallel) ? Math.min(Math.max(maxParallel, 1), 64) : 4;
    if (valid && base) {
      const wanted = { commit: base.commit, folder: repository.root, count };
      await collected.run("", () => git.checkSpace(repository, wanted));
    }
    const remote = onto && (await repository.findRemoteTip(onto.branch)); // after the fetch
    return { usable, base, target: onto?.branch, tip: onto?.tip, remote };
  }

  /**
   * What the engine does not know of.
   * @param {Record<string, any>} given @param {Asker} asker
   * @param {any} repository undefined: no folders are looked at @param {{beside?: boolean}} place of its worktrees
   * @returns {Promise<Mistake[]>}
   */
  async findMistakes(given, { id }, repository, place) {
    const list = () => (id === "" ? undefined : this.#services.tools.list({ session: id }));
    return [
      ...findRefusedVariables(given),
      ...(await findToolMistakes(given.nodes, list)),
      ...(repository === undefined ? [] : await this.#findFolderMistakes(given, repository, place)),
    ];
  }

  /** @param {Record<string, any>} given @param {any} repository @param {{beside?: boolean}} place */
  async #findFolderMistakes(given, repository, { beside = false }) {
    const openings = listOpenings(given);
    const folders = await this.#inspectFolders(openings, repository.root);
    if (folders.size === 0) return [];
    const git = await this.#services.worktree.use();
    const places = await git.findReservedPlaces(repository, { beside });
    return findFolderMistakes(openings, folders, (folder) => findFolderMistake(folder, places));
  }

  /** @param {import("./sandbox-consent.mjs").Opening[]} openings @param {string} root of the checkout */
  async #inspectFolders(openings, root) {
    const git = await this.#services.worktree.use();
    return inspectOpenings(openings, (names) => git.inspectFolders(root, names));
  }

  /** Of a plan that is there; undefined: what is given names no folder. @param {Record<string, any>} given @param {{repo: string}} facts @returns {Promise<any>} */
  async openForFolders(given, { repo }) {
    const isFolder = (/** @type {{kind: string}} */ { kind }) => /write|read/.test(kind);
    if (!listOpenings(given).some(isFolder)) return undefined;
    return (await this.#services.worktree.use()).openRepository(repo);
  }

  /** @param {typeof import("../../git/index.mjs")} git @param {{root: string}} repository @param {string} [target] */
  requireUnprotected(git, { root }, target) {
    return requireUnprotected(this.#services, git, root, target);
  }

  /** @param {typeof import("../../git/index.mjs")} git @param {any} repository @param {string} [target] @returns {Promise<string | undefined>} the branch, which is not protected */
  async resolveTarget(git, repository, target) {
    if (target === undefined) return undefined;
    const branch = await git.resolveTarget(repository, target);
    await this.requireUnprotected(git, repository, branch);
    return branch;
  }

  /** Where programs and the CLI are found. @param {Asker} asker */
  async findPrograms({ id, path: own, cli: found }) {
    const { path = own, runtime } = await this.#readEnvironment(id);
    const { execPath, sdkPath } = runtime ?? {};
    const cli = execPath && sdkPath ? { cli: execPath, sdk: sdkPath } : found;
    return { ...(path && { path }), ...(cli && { cli }) };
  }

  /** What programs and agents get of the session; of any other one, where a person asks. @param {string} session @returns {Promise<any>} */
  async #readEnvironment(session) {
    const all = /** @type {InspectedSession[]} */ (await this.#services.sessions.list());
    const one = all.find(({ id }) => id === session) ?? all.sort(bySessionUse)[0];
    if (!one) return {};
    const seen = await this.#services.sessions.environment({ session: one.id }).catch(() => ({}));
    return session === "" ? { runtime: seen.runtime } : seen;
  }

  /**
   * What is given opens, beyond what the user's config allows.
   * @param {Record<string, any>} given @param {OpeningContext} context
   */
  async #findUnallowed(given, { root, ofPlan, before, toPath = String }) {
    const problem = ofPlan ? undefined : await this.findSandboxProblem(given);
    const listed = listOpenings(given, ofPlan);
    if (problem?.fallback === "ask")
      listed.unshift({ path: "sandbox", kind: "off", value: "", why: problem });
    const all = listed.map((one) => ({ ...one, path: toPath(one.path) }));
    const openings = before ? findAdded(all, listOpenings(before, ofPlan)) : all;
    if (openings.length === 0) return [];
    const folders = await this.#inspectFolders(openings, root);
    return findUnallowed(
      openings,
      folders,
      await getSandboxAllow(/** @type {any} */ (this.#services)),
    );
  }

  /**
   * What a person runs is his own act; what its agents do beyond their sandbox, he says yes to. REQUIRES: no mistakes.
   * @param {Record<string, any>} given @param {Asker} asker @param {OpeningContext} context
   */
  async requireOwnConsent({ nodes, ...head }, { consents }, context) {
    if (consents || !hasAgents(nodes)) return;
    const unallowed = await this.#findUnallowed({ ...head, nodes }, context);
    if (unallowed.length === 0) return;
    const question = ["It has agents, and opens their sandbox:", ...formatOpenings(unallowed)];
    const why = "it has agents: --yes says yes to that";
    throw createNotAllowed(unallowed, why, { question: question.join("\n") });
  }

  /**
   * Every distinct command and tool is held to the rules when it is given, too; then the user is asked.
   * REQUIRES: no mistakes.
   * @param {Record<string, any>} given a plan, or nodes for one @param {Asker} asker @param {OpeningContext} context
   */
  async requireApproval(given, asker, context) {
    const { nodes, setup, env, ...about } = given;
    const { id } = asker;
    if (!Array.isArray(nodes)) return;
    if (id === "") return this.requireOwnConsent(given, asker, context);
    const owner = { session: id, repo: context.root };
    const works = listWorks(nodes).map(({ work }) => work);
    for (const { type, tool, args = {} } of works.filter(Boolean)) {
      if (type === "tool") await this.requirePermission(owner, { tool, args });
    }
    const programs = [setup, ...works].filter(toCommandLine);
    const shared = { ...context.ofPlan?.env, ...env };
    const uses = programs.map((work) =>
      toShellUse(toCommandLine(work), { ...shared, ...work.env }),
    );
    for (const use of new Map(uses.map((one) => [JSON.stringify(one), one])).values()) {
      await this.requirePermission(owner, use);
    }
    const { text, unallowed } = await this.#createQuestion(given, context);
    const whole = { ...about, nodes, setup, env, ofPlan: context.ofPlan };
    const needsDialog = unallowed.length > 0;
    const { why, isAsked } = await this.#consent.ask(id, text, whole, { needsDialog });
    if (why && needsDialog && !isAsked) throw createNotAllowed(unallowed, why);
    if (why) throw new PlanError("DENIED", why);
  }

  /**
   * A budget that was spent stops a plan until the user gives more.
   * @param {{planId: string, name: string}} plan @param {unknown} budget @param {Asker} asker
   */
  async requireBudget({ planId, name }, budget, { id }) {
    if (id === "") return;
    const why = await this.#consent.requestConsent(
      id,
      budgetQuestion({ planId, name }, budget),
      budget,
    );
    if (why) throw new PlanError("DENIED", why);
  }
}

// Conflicts are known early: the commit of a node is merged with those of the others, without a checkout.

const MAX_OVERLAP_FILES = 20;

/** @param {import("./plan-manager.mjs").PlanManager} plans @param {Record<string, any>} effect */
export async function probeOverlaps(plans, { planId, of, others: committed }) {
  // Nodes that changed nothing have the commit that they began with.
  const others = committed.filter((/** @type {any} */ { commit }) => commit !== of.commit);
  if (others.length === 0) return;
  const { git, repository } = await plans.openPlan(planId);
  // The first of them, whose attributes count, was often the first before.
  const pairs = others.map((/** @type {any} */ other) => [other.commit, of.commit]);
  const probes = await git.probeAll(repository, pairs);
  for (const [index, { conflicts }] of probes.entries()) {
    if (!conflicts) continue;
    const files = conflicts.slice(0, MAX_OVERLAP_FILES);
    const detail = { node: of.node, other: others[index].node, files };
    await plans.submit({ input: "overlap", planId, nodeId: of.node, detail });
    const text = `${inLine(of.node)} and ${inLine(detail.other)} change the same: ${files.join(", ")}`;
    plans.notifier.show(plans.view({ view: "plan", planId }), text);
  }
}
