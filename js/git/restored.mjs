// Snapshots of worktrees that were removed, brought back: each as a branch of its own, never in a checkout.

import fs from "node:fs/promises";
import path from "node:path";
import { checkoutsOf } from "./checkouts.mjs";
import { GitError } from "./git-error.mjs";
import { restoreKept } from "./kept.mjs";
import { checkId } from "./names.mjs";
import { branchRef, commitsOf, keptRef, moveRefs } from "./refs.mjs";

const MOST_NAMES = 100;

/** @typedef {import("./repository.mjs").Repository} Repository */

/**
 * A branch at a commit: a new one, or one that tap has made for it before.
 * @param {Repository} repository @param {string} wanted @param {string} commit @returns {Promise<string>} its name
 */
async function branchFor(repository, wanted, commit) {
  for (let i = 1; i <= MOST_NAMES; ++i) {
    const name = i === 1 ? wanted : `${wanted}-${i}`;
    const ref = branchRef(name);
    const [there] = await commitsOf(repository, [ref]);
    if (there === commit) return name;
    if (there !== undefined) continue;
    if (await moveRefs(repository, [{ ref, from: undefined, to: commit }])) return name;
  }
  throw new GitError("EXISTS", `There are ${MOST_NAMES} branches "${wanted}-…". Delete some.`);
}

/** Links resolved, also where the end is not there yet. @param {string} folder @returns {Promise<string>} */
async function realEnd(folder) {
  const real = await fs.realpath(folder).catch(() => undefined);
  if (real !== undefined) return real;
  const parent = path.dirname(folder);
  return parent === folder ? folder : path.join(await realEnd(parent), path.basename(folder));
}

/** @param {Repository} repository @param {string} given absolute */
async function requireBeside(repository, given) {
  const folder = await realEnd(given);
  for (const { path: root } of await checkoutsOf(repository)) {
    const way = path.relative(root, folder);
    if (way.split(path.sep)[0] === ".." || path.isAbsolute(way)) continue;
    const text = `"${folder}" is in the checkout "${root}". Name a folder beside it.`;
    throw new GitError("INVALID", text);
  }
}

/**
 * @param {Repository} repository @param {{plan: string, node: string}} of
 * @param {{to?: string}} [options] to: a folder that gets the files, too; absolute, empty or not there yet
 * @returns {Promise<{branch: string, commit: string, folder?: string}>}
 */
export async function bringBack(repository, { plan, node }, { to } = {}) {
  const [commit] = await commitsOf(repository, [keptRef(plan, node)]);
  if (commit === undefined) {
    throw new GitError("NOTHING_KEPT", `Nothing is kept of node "${node}" of plan "${plan}".`);
  }
  if (to !== undefined) await requireBeside(repository, to);
  const wanted = `restored-${checkId(plan, "plan")}-${checkId(node, "node")}`;
  const branch = await branchFor(repository, wanted, commit);
  if (to === undefined) return { branch, commit };
  await restoreKept(repository, { plan, node }, to);
  return { branch, commit, folder: to };
}
