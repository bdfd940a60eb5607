// What the programs of a node may reach: the fields of its plan and its own, made one policy.

import { isInside } from "../../lib/paths.mjs";
import { visible, wrapInQuotes } from "../../lib/visible.mjs";
import { PlanError } from "./errors.mjs";

/** @typedef {import("../../process/sandbox.mjs").Policy} Policy */
/** @typedef {import("../../git/folders.mjs").InspectedFolder} InspectedFolder */
/** @typedef {import("../../git/folders.mjs").ReservedPlaces} ReservedPlaces */
/**
 * As they are written. @typedef {object} SandboxFields
 * @property {"on" | "off"} sandbox
 * @property {string[]} allowedFolders @property {string[]} readFolders @property {string[]} allowedUrls
 * @property {string[]} caches
 */

const LISTS = /** @type {const} */ (["allowedFolders", "readFolders", "allowedUrls", "caches"]);
/** Its files are no files. */
const KERNEL_FOLDERS = ["/proc", "/sys", "/dev"];

/** For a policy without folders. @type {ReservedPlaces} */
const NO_PLACES = { checkouts: [], git: [], worktrees: "/", home: "/", cliHome: "/" };

/** @param {unknown} value not checked yet @returns {string[]} */
const toTexts = (value) =>
  Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];

/**
 * A node's field stands for the plan's as a whole. Neither has to be checked yet.
 * @param {any} head of the plan @param {any} [node] @returns {SandboxFields}
 */
export function mergeFields(head, node) {
  const read = (/** @type {string} */ name) => node?.[name] ?? head?.[name];
  const lists = LISTS.map((name) => [name, toTexts(read(name))]);
  return {
    sandbox: read("sandbox") === "off" ? "off" : "on",
    .../** @type {any} */ (Object.fromEntries(lists)),
  };
}

/** What an agent gets besides, in its own job only. @param {any} work of the phase that runs @returns {{folders: string[], hosts: string[]}} */
export function readAgentFields(work) {
  const { allowedFolders, allowedUrls } = work?.type === "agent" ? work : {};
  const hosts = toTexts(allowedUrls).map((host) => host.toLowerCase());
  return { folders: toTexts(allowedFolders), hosts };
}

/**
 * What is in a folder that no program of a plan may get; "": nothing.
 * @param {string} real @param {ReservedPlaces} places @param {string} [worktree] the plan's own
 */
function findReserved(real, { checkouts, git, worktrees, home, cliHome }, worktree) {
  const isAround = (/** @type {string} */ place) => isInside(place, real);
  const containsFolder = (/** @type {string} */ place) => isInside(real, place);
  if (real.toLowerCase().split(/[\\/]/).includes(".git")) return "git's own files";
  if (git.some(containsFolder)) return "git's own files";
  if (worktree !== undefined && containsFolder(worktree)) return "";
  if (checkouts.some(isAround)) return "your own checkout";
  if (git.some(isAround)) return "git's own files";
  if (isAround(home)) return "your home";
  // There are tap's config and what was allowed: who may write them may run anything.
  if (isAround(cliHome) || containsFolder(cliHome)) return "files of the Copilot CLI";
  if (isAround(worktrees) || containsFolder(worktrees)) return "worktrees of plans";
  return KERNEL_FOLDERS.some(containsFolder) ? "files of the kernel" : "";
}

/**
 * What is wrong with a folder. Where a link leads may change after the user has said yes to it, so none is followed.
 * @param {InspectedFolder} folder @param {ReservedPlaces} places @param {string} [worktree] the plan's own
 * @returns {{code: string, message: string} | undefined}
 */
export function findFolderMistake({ name, named, real, why }, places, worktree) {
  const what = visible(wrapInQuotes(name));
  if (real === undefined)
    return {
      code: "NO_FOLDER",
      message: `${what} ${why}. Create it, or take it out of the plan.`,
    };
  const refuse = (/** @type {string} */ text) => ({
    code: "NOT_ALLOWED",
    message: `${what} ${text}`,
  });
  const reserved = findReserved(real, places, worktree);
  if (reserved !== "")
    return refuse(`has ${reserved} in it. Name a folder inside the checkout or beside it.`);
  if (real !== named)
    return refuse(`leads by a link to ${visible(wrapInQuotes(real))}: name that folder.`);
  return undefined;
}

/** @param {string[]} hosts @returns {string[] | "*"} */
function combineHosts(hosts) {
  const all = [...new Set(hosts.map((host) => host.toLowerCase()))];
  return all.includes("*") ? "*" : all;
}

/**
 * Without I/O. Of two folders, one in the other, the inner one decides; one that is in both lists is writable.
 * @param {object} given
 * @param {SandboxFields} given.fields @param {any} [given.work] of the phase that runs
 * @param {{writable: InspectedFolder[], agent: InspectedFolder[], readable: InspectedFolder[]}} given.folders agent: those
 *   of its job
 * @param {ReservedPlaces} given.places @param {string} given.cwd the worktree
 * @param {Policy["repository"]} given.repository
 * @returns {Policy}
 */
export function decidePolicy({ fields, work, folders, places, cwd, repository }) {
  const take = (/** @type {InspectedFolder[]} */ all, /** @type {string} */ field) =>
    all.map((folder, at) => {
      const mistake = findFolderMistake(folder, places, cwd);
      if (mistake === undefined) return String(folder.real);
      const { code, message } = mistake;
      throw new PlanError(code, `${field}[${at}]: ${message}`, { field: `${field}[${at}]` });
    });
  const writable = [
    ...take(folders.writable, "allowedFolders"),
    ...take(folders.agent, "work.allowedFolders"),
  ];
  const readable = take(folders.readable, "readFolders");
  return {
    cwd,
    repository,
    writable: [...new Set(writable)],
    readable: [...new Set(readable)].filter((folder) => !writable.includes(folder)),
    named: [...new Set([...writable, ...readable])],
    caches: [...new Set(fields.caches)],
    hosts: combineHosts([...fields.allowedUrls, ...readAgentFields(work).hosts]),
    sandbox: fields.sandbox,
  };
}

/**
 * @param {object} given
 * @param {any} given.git the service `worktree` @param {any} given.repository
 * @param {Record<string, any>} given.head of the plan @param {Record<string, any>} given.node its view
 * @param {string} [given.phase] an agent that works or checks in it gets its own fields, too
 * @param {boolean} [given.beside] worktrees are beside the repository
 * @param {{path: string, admin: string}} given.worktree @param {string} [given.own] see PolicyRepository
 * @returns {Promise<Policy>} @throws PlanError NO_FOLDER or NOT_ALLOWED; its detail has the field
 */
export async function resolvePolicy(given) {
  const { git, repository, head, node, phase = "", beside, worktree, own } = given;
  const fields = mergeFields(head, node);
  const work = node[phase];
  const inspect = (/** @type {string[]} */ names) => git.inspectFolders(repository.root, names);
  const [writable, agent, readable] = await Promise.all([
    inspect(fields.allowedFolders),
    inspect(readAgentFields(work).folders),
    inspect(fields.readFolders),
  ]);
  return decidePolicy({
    ...{ fields, work, folders: { writable, agent, readable } },
    places: [writable, agent, readable].some(({ length }) => length > 0)
      ? await git.findReservedPlaces(repository, { beside })
      : NO_PLACES,
    cwd: worktree.path,
    repository: {
      ...{ checkout: repository.root, common: repository.commonDir, admin: worktree.admin },
      ...(own !== undefined && { own }),
    },
  });
}

/**
 * As it is shown: what an attempt has recorded, or what its fields say.
 * @param {any} head of the plan @param {any} node @param {Partial<Policy>} [recorded]
 * @returns {{sandbox: string, writable: string[], readable: string[], hosts: string[] | "*", caches: string[]}}
 */
export function describePolicy(head, node, recorded) {
  const fields = mergeFields(head, node);
  const {
    sandbox = fields.sandbox,
    writable = fields.allowedFolders,
    readable = fields.readFolders,
    hosts = combineHosts(fields.allowedUrls),
    caches = fields.caches,
  } = recorded ?? {};
  return { sandbox, writable, readable, hosts, caches };
}

/** @param {{message: string, advice?: string, command?: string}} problem of the probe */
export const formatSandboxProblem = ({ message, advice = "", command = "" }) =>
  [message, advice, command].filter(Boolean).join(" ");
