// What a plan opens of the sandbox of its programs: the user has to say yes to that, in his config or to this plan.

import { isInside } from "../../lib/paths.mjs";
import { isAgentWork, matchesHost } from "../../lib/values.mjs";
import { inLine, visible, wrapInQuotes } from "../../lib/visible.mjs";
import { PlanError } from "./errors.mjs";
import { formatSandboxProblem, mergeFields, readAgentFields } from "./sandbox-policy.mjs";

/** @typedef {import("../../git/folders.mjs").InspectedFolder} InspectedFolder */
/** @typedef {"off" | "write" | "read" | "reach" | "cache"} Kind */
/**
 * path: of the field that says it; value: a folder, a host, a cache, or which node has no sandbox ("": all)
 * @typedef {{path: string, kind: Kind, value: string, why?: {code: string, message: string, advice?: string}}} Opening why:
 *   the machine has no sandbox
 */
/** `sandbox.allow` of the user's own config. @typedef {{folders: string[], readFolders: string[], hosts: string[], caches: string[]}} SandboxAllow */

const PHASES = /** @type {const} */ (["prechecks", "work", "postchecks"]);
const MAX_PROBLEMS = 50;
/** Different folders of a plan. */
const MAX_FOLDERS = 1000;
/** The dialog shows 2000 characters, and what is opened is never what it leaves out. */
export const MAX_SHOWN = 1900;

/** @param {unknown} nodes not checked yet */
export const hasAgents = (nodes) =>
  Array.isArray(nodes) && nodes.some((node) => PHASES.some((phase) => isAgentWork(node?.[phase])));

/** @param {any} fields of a plan or a node @param {string} before its path, with a dot @param {string} [node] @returns {Opening[]} */
function listOwn(fields, before, node = "") {
  const { sandbox, allowedFolders, readFolders, allowedUrls, caches } = mergeFields(fields);
  const list = (
    /** @type {Kind} */ kind,
    /** @type {string} */ name,
    /** @type {string[]} */ all,
  ) => all.map((value, at) => ({ path: `${before}${name}[${at}]`, kind, value }));
  return [
    ...(sandbox === "off" ? [{ path: `${before}sandbox`, kind: "off", value: node }] : []),
    ...list("write", "allowedFolders", allowedFolders),
    ...list("read", "readFolders", readFolders),
    ...list("reach", "allowedUrls", allowedUrls),
    ...list("cache", "caches", caches),
  ].map((one) => /** @type {Opening} */ (one));
}

/** @param {any} work @param {string} path @returns {Opening[]} */
function listOfAgent(work, path) {
  const { folders, hosts } = readAgentFields(work);
  return listOwn({ allowedFolders: folders, allowedUrls: hosts }, `${path}.`);
}

/**
 * What a plan opens, as it is written. It does not have to be checked yet.
 * @param {{nodes?: unknown, [field: string]: any}} given a plan, or nodes for one
 * @param {object} [ofPlan] the plan that they are for @returns {Opening[]}
 */
export function listOpenings({ nodes, ...head }, ofPlan = {}) {
  const all = Array.isArray(nodes) ? nodes : [];
  return [
    ...listOwn(ofPlan, "the plan's "),
    ...listOwn(head, ""),
    ...all.flatMap((node, at) => [
      ...listOwn(node, `nodes[${at}].`, typeof node?.id === "string" ? node.id : ""),
      ...PHASES.flatMap((phase) => listOfAgent(node?.[phase], `nodes[${at}].${phase}`)),
    ]),
  ];
}

/** @param {Opening} opening */
const isFolder = ({ kind }) => kind === "write" || kind === "read";

/**
 * The folders that a plan names, each looked at once.
 * @param {Opening[]} openings @param {(names: string[]) => Promise<InspectedFolder[]>} inspect
 * @returns {Promise<Map<string, InspectedFolder>>} by name; not those beyond the limit
 */
export async function inspectOpenings(openings, inspect) {
  const names = [...new Set(openings.filter(isFolder).map(({ value }) => value))];
  const found = names.length === 0 ? [] : await inspect(names.slice(0, MAX_FOLDERS));
  return new Map(found.map((folder) => [folder.name, folder]));
}

/**
 * @param {Opening[]} openings @param {Map<string, InspectedFolder>} folders
 * @param {(folder: InspectedFolder) => {code: string, message: string} | undefined} findMistake
 * @returns {{path: string, code: string, message: string}[]}
 */
export function findFolderMistakes(openings, folders, findMistake) {
  const tooMany = {
    code: "INVALID_PLAN",
    message: `is one folder too many: a plan may name ${MAX_FOLDERS}`,
  };
  return openings.filter(isFolder).flatMap(({ path, value }) => {
    const folder = folders.get(value);
    const mistake = folder ? findMistake(folder) : tooMany;
    return mistake ? [{ path, ...mistake }] : [];
  });
}

/** @param {Opening} opening its folder without links @param {SandboxAllow} allow */
function isCovered({ kind, value }, { folders, readFolders, hosts, caches }) {
  const coversFolder = (/** @type {string} */ folder) => isInside(value, folder);
  if (kind === "write") return folders.some(coversFolder);
  if (kind === "read") return folders.some(coversFolder) || readFolders.some(coversFolder);
  if (kind === "reach") return hosts.some((one) => matchesHost(one, value));
  return kind === "cache" && caches.includes(value);
}

/**
 * What the user has not allowed in his config, each once.
 * @param {Opening[]} openings @param {Map<string, InspectedFolder>} folders @param {SandboxAllow} allow
 * @returns {Opening[]} with folders as they are on the disk
 */
export function findUnallowed(openings, folders, allow) {
  /** @type {Map<string, Opening>} */
  const found = new Map();
  for (const opening of openings) {
    const { real, named } = folders.get(opening.value) ?? {};
    const value = isFolder(opening) ? (real ?? named ?? opening.value) : opening.value;
    const one = { ...opening, value };
    const key = `${one.kind} ${value}`;
    if (!isCovered(one, allow) && !found.has(key)) found.set(key, one);
  }
  return [...found.values()];
}

/** What is opened that was not before. @param {Opening[]} now @param {Opening[]} before */
export function findAdded(now, before) {
  const was = new Set(before.map(({ kind, value }) => `${kind} ${value}`));
  return now.filter(({ kind, value }) => !was.has(`${kind} ${value}`));
}

/**
 * What the user allows all plans. A project's config has no part in it.
 * @param {{settings: any, worktree: any}} services @returns {Promise<SandboxAllow>} folders without links
 */
export async function getSandboxAllow({ settings, worktree }) {
  const { sandbox } = await settings.plans();
  const { folders = [], readFolders = [], hosts = [], caches = [] } = sandbox?.allow ?? {};
  const git = await worktree.use();
  const resolve = async (/** @type {string[]} */ names) => {
    const found = await git.inspectFolders("/", names);
    return found.flatMap((/** @type {InspectedFolder} */ { real }) => real ?? []);
  };
  const [writable, readable] = await Promise.all([resolve(folders), resolve(readFolders)]);
  return { folders: writable, readFolders: readable, hosts, caches };
}

// The question for the user, and the error where he cannot be asked.

/** @param {Opening[]} openings @returns {string[]} lines that leave nothing out */
export function formatOpenings(openings) {
  const read = (/** @type {Kind} */ kind) =>
    openings.filter((one) => one.kind === kind).map(({ value }) => value);
  const off = read("off");
  const why = openings.find((one) => one.why)?.why;
  const hosts = read("reach").map(visible);
  const caches = read("cache").map(visible);
  const quoted = (/** @type {string} */ folder) => visible(wrapInQuotes(folder));
  return [
    ...(off.includes("") ? ["no sandbox", ...(why ? [`  ${visible(why.message)}`] : [])] : []),
    ...(off.length > 0 && !off.includes("")
      ? [`no sandbox: ${off.map((id) => visible(inLine(id))).join(", ")}`]
      : []),
    ...read("write").map((folder) => `write in ${quoted(folder)}`),
    ...read("read").map((folder) => `read ${quoted(folder)}`),
    ...(hosts.includes("*") ? ["reach any host, as this machine does"] : []),
    ...(hosts.length > 0 && !hosts.includes("*") ? [`reach ${hosts.join(", ")}`] : []),
    ...(caches.length > 0
      ? [`change your cache of ${caches.join(", ")}, which your other programs use`]
      : []),
  ].map((line) => `  ${line}`);
}

/** Whether all of it is in a dialog. @param {string[]} lines up to the last opening */
export const isShownWhole = (lines) => lines.join("\n").length <= MAX_SHOWN;

const CONFIG_FIELDS = { write: "folders", read: "readFolders", reach: "hosts", cache: "caches" };

/** @param {Opening} opening */
function formatAdvice({ kind, value }) {
  if (kind === "off") return "only the user can say yes to that: copilot-tap plan run <file>";
  const line = JSON.stringify({ sandbox: { allow: { [CONFIG_FIELDS[kind]]: [value] } } });
  return `the user can allow it to all plans by ${visible(line.slice(1, -1))} in tap/config.json`;
}

/**
 * @param {Opening[]} openings that the user has not allowed @param {string} why he could not be asked
 * @param {object} [detail]
 */
export function createNotAllowed(openings, why, detail = {}) {
  const all = openings.map((one) => ({
    path: one.path,
    message: `opens the sandbox${one.kind === "off" ? " altogether" : ""}; ${formatAdvice(one)}`,
  }));
  const more = all.length - MAX_PROBLEMS;
  const problems = all.slice(0, MAX_PROBLEMS);
  const problem = openings.find((one) => one.why)?.why;
  if (problem)
    return new PlanError(problem.code, `${formatSandboxProblem(problem)} (${why})`, detail);
  const text = `it opens its sandbox further than the user's config allows, and ${why}`;
  return new PlanError("NOT_ALLOWED", text, { ...detail, problems, ...(more > 0 && { more }) });
}
