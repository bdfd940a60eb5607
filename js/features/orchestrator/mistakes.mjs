// What is wrong with a plan, or with nodes for one, all at once: what the engine finds, and what it does not know of.

import { refusedVariable } from "../../base/refused-variables.mjs";
import { suggestion } from "../../base/suggestion.mjs";
import { visible } from "../../base/visible.mjs";
import { missingTools, ownTools } from "./node-tools.mjs";
import { named, PlanError } from "./plan-error.mjs";

const MOST = 50;
const MOST_SHOWN = 64;
const PHASES = /** @type {const} */ (["prechecks", "work", "postchecks"]);

/** @typedef {import("../../feature-host/provider-tools.mjs").ProviderTool} ProviderTool */
/** @typedef {import("./plans.mjs").Plans} Plans */
/** @typedef {import("./plans.mjs").Asker} Asker */
/**
 * error: it says all of it already; node: the id of the one that it is in
 * @typedef {{path: string, code: string, message: string, error?: Error, node?: string}} Mistake
 */

/** @param {string} text */
const shown = (text) => visible(text).slice(0, MOST_SHOWN);

/** @param {unknown} nodes that nobody has checked yet @returns {{path: string, work: any}[]} */
export function worksOf(nodes) {
  if (!Array.isArray(nodes)) return [];
  return nodes.flatMap((node, at) =>
    PHASES.map((phase) => ({ path: `nodes[${at}].${phase}`, work: node?.[phase] })),
  );
}

/** With such variables a command would run more than the rules see. @param {unknown} env @param {string} path @returns {Mistake[]} */
function variableMistakes(env, path) {
  if (typeof env !== "object" || env === null) return [];
  return Object.keys(env).flatMap((name) => {
    const why = refusedVariable(name);
    const message = `says ${why}; put what it is for into the command, or into the project's own files`;
    return why ? [{ path: `${path}.${shown(name)}`, code: "REFUSED_VARIABLE", message }] : [];
  });
}

/** @param {{env?: unknown, nodes?: unknown}} given @returns {Mistake[]} */
export const refusedVariables = ({ env, nodes }) => [
  ...variableMistakes(env, "env"),
  ...worksOf(nodes).flatMap(({ path, work }) => variableMistakes(work?.env, `${path}.env`)),
];

/** @param {any} work @param {string} path @returns {{path: string, name: string}[]} tools that it names */
function toolsIn(work, path) {
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
export async function toolMistakes(nodes, list) {
  const all = worksOf(nodes).flatMap(({ path, work }) => toolsIn(work, path));
  const there = all.length > 0 ? await list() : undefined;
  return all.flatMap(({ path, name }) => {
    const message = there ? missingTools(there, [name]) : ownTools([name]);
    return message ? [{ path, code: "UNKNOWN_TOOL", message }] : [];
  });
}

/**
 * Folders that no agent may write in, and those that are not there.
 * @param {unknown} nodes @param {(folders: string[]) => Promise<unknown>} resolve @returns {Promise<Mistake[]>}
 */
export async function folderMistakes(nodes, resolve) {
  /** @type {Mistake[]} */
  const found = [];
  for (const { path, work } of worksOf(nodes)) {
    const folders = Array.isArray(work?.allowedFolders) ? work.allowedFolders : [];
    for (const [at, folder] of folders.slice(0, MOST).entries()) {
      if (typeof folder !== "string") continue;
      await resolve([folder]).catch((error) => {
        if (error.name !== "GitError") throw error;
        const message = error.message.replace(/^allowedFolders: /, "");
        found.push({ path: `${path}.allowedFolders[${at}]`, code: error.code, message });
      });
    }
  }
  return found;
}

/** @param {object} args @param {readonly string[]} known @returns {Mistake[]} */
export const unknownFields = (args, known) =>
  Object.keys(args)
    .filter((name) => !known.includes(name))
    .map((name) => ({
      ...{ path: shown(name), code: "INVALID_PLAN" },
      message: `is not a field here: ${suggestion(name, known)}`,
    }));

/** Runs a step whose failure is one mistake among others. */
export class Collected {
  /** @type {Mistake[]} */
  found = [];

  /** @template T @param {string} path @param {() => Promise<T> | T} step @returns {Promise<T | undefined>} undefined: it failed */
  async take(path, step) {
    try {
      return await step();
    } catch (error) {
      const { code, name, message } = /** @type {any} */ (error);
      if (name !== "GitError" && !(error instanceof PlanError)) throw error;
      const text = message.startsWith(`${path}: `) ? message.slice(path.length + 2) : message;
      this.found.push({ path, code, message: text, error: /** @type {Error} */ (error) });
      return undefined;
    }
  }
}

/** @param {PlanError | undefined} refused @param {Mistake[]} found @param {unknown} nodes @returns {PlanError} with all problems */
function together(refused, found, nodes) {
  const { problems = [], more = 0 } = /** @type {any} */ (refused?.detail ?? {});
  const told = new Set(problems.map((/** @type {{path: string}} */ { path }) => path));
  const rest = found.filter(({ path }) => path === "" || !told.has(path));
  const all = [
    ...problems,
    ...rest.map(({ path, message, node }) => ({ path, message, ...(node && { node }) })),
  ];
  const left = more + Math.max(0, all.length - MOST);
  const detail = { problems: all.slice(0, MOST), ...(left > 0 && { more: left }) };
  const codes = new Set(found.map(({ code }) => code));
  const [code] = !refused && codes.size === 1 ? codes : ["INVALID_PLAN"];
  return new PlanError(code, refused?.message ?? "the plan is not valid", named(detail, nodes));
}

/**
 * Throws where anything is wrong.
 * @param {PlanError | undefined} refused by the engine @param {Mistake[]} found besides @param {unknown} nodes that were given
 */
export function refuse(refused, found, nodes) {
  const isList = refused === undefined || refused.code === "INVALID_PLAN";
  if (!isList || (refused && found.length === 0)) throw refused;
  if (found.length === 0) return;
  const [{ error }] = found;
  if (!refused && found.length === 1 && error) throw error;
  throw together(refused, found, nodes);
}

/** @param {Plans} plans @param {any} input that checks @returns {Promise<PlanError | undefined>} what the engine refuses */
export const refusalOf = (plans, input) =>
  plans.ask(input).then(
    () => undefined,
    (error) => error,
  );

/**
 * @param {Plans} plans @param {Record<string, any>} given @param {Asker} asker @param {Mistake[]} [known]
 * @returns {Promise<{facts: any, notes: string[]}>}
 */
export async function preparedPlan(plans, given, asker, known = []) {
  const refused = await refusalOf(plans, { input: "check", plan: given });
  const { found, ...prepared } = await plans.making.prepare(given, asker, { valid: !refused });
  refuse(refused, [...known, ...found], given.nodes);
  return /** @type {{facts: any, notes: string[]}} */ (prepared);
}

/** @param {Plans} plans @param {{planId: string, nodes: unknown[]}} given @param {Asker} asker @param {Mistake[]} [known] */
export async function checkNodes(plans, { planId, nodes }, asker, known = []) {
  const refused = await refusalOf(plans, { input: "check-nodes", planId, nodes });
  const { repo } = plans.view({ view: "plan", planId }).facts;
  const found = await plans.making.mistakesIn({ nodes }, asker, repo);
  refuse(refused, [...known, ...found], nodes);
}
