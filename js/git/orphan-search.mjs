// The orphans of a repository, looked for while plans work: what a plan may have made meanwhile is none.

import fs from "node:fs/promises";
import path from "node:path";
import { diskUse, findOrphans, removeOrphan } from "./orphans.mjs";
import { mainRoot } from "./ownership.mjs";
import { stays } from "./removal.mjs";
import { placeIn, Worktrees } from "./worktrees.mjs";

/** For a size that is only to be told. */
const MOST_GLANCED = 20_000;
/** The id of the plan for which a folder is named; also of one that was put aside to be deleted. */
const OF_PLAN = /^(?:\.removed-\w+-)?(p[a-z0-9]{8})-/;

/** @typedef {import("./repository.mjs").Repository} Repository */
/** @typedef {{path: string, nonce: string}} Recorded */
/**
 * What is recorded of a plan's worktrees; "live": it has not ended, and makes more; undefined: no such plan is known.
 * @typedef {(planId: string) => Promise<Recorded[] | "live" | undefined>} RecordedOf
 */
/** @typedef {import("./orphans.mjs").Orphan & {bytes: number, complete: boolean}} SizedOrphan */

/** @param {Repository} repository @returns {Promise<{folder: string, beside: boolean}[]>} where it has worktrees */
async function placesOf(repository) {
  const root = await mainRoot(repository);
  const places = [];
  for (const beside of [false, true]) {
    const place = placeIn(root, beside);
    const folder = await fs.realpath(place).catch(() => "");
    // Where a link of the repository leads to, nothing is tap's.
    if (folder !== "" && (beside || folder === place)) places.push({ folder, beside });
  }
  return places;
}

/** @param {string} folder @param {string[]} names @param {RecordedOf} recordedOf */
async function knownAmong(folder, names, recordedOf) {
  /** @type {{paths: string[], nonces: string[]}} */
  const known = { paths: [], nonces: [] };
  for (const name of names) {
    const plan = OF_PLAN.exec(name)?.[1];
    const recorded = plan && (await recordedOf(plan));
    if (!recorded) continue;
    if (recorded === "live") known.paths.push(path.join(folder, name));
    else {
      known.paths.push(...recorded.map((one) => one.path));
      known.nonces.push(...recorded.map(({ nonce }) => nonce));
    }
  }
  return known;
}

/**
 * @param {Repository} repository @param {RecordedOf} recordedOf
 * @param {{sizes?: boolean}} [options] sizes: with what each takes on the disk
 * @returns {Promise<SizedOrphan[]>}
 */
export async function searchOrphans(repository, recordedOf, { sizes = true } = {}) {
  const found = [];
  for (const place of await placesOf(repository)) {
    found.push(...(await searchIn(repository, place, recordedOf, sizes)));
  }
  return found;
}

/**
 * @param {Repository} repository @param {{folder: string, beside: boolean}} at @param {RecordedOf} recordedOf
 * @param {boolean} sizes @returns {Promise<SizedOrphan[]>}
 */
async function searchIn(repository, { folder, beside }, recordedOf, sizes) {
  const worktrees = new Worktrees(repository, { beside });
  const look = async () => {
    const known = await knownAmong(folder, await fs.readdir(folder), recordedOf);
    return findOrphans(worktrees, known);
  };
  const first = await look();
  if (first.length === 0) return [];
  // A plan records a worktree before it makes it: what was new at the first look is known by the second.
  const second = new Map((await look()).map((one) => [one.path, one]));
  const found = [];
  for (const { path: place } of first) {
    const orphan = second.get(place);
    if (!orphan) continue;
    const use = sizes ? await diskUse(place) : { bytes: 0, complete: false };
    found.push({ ...orphan, ...use });
  }
  return found;
}

/**
 * Removes one that searchOrphans has found; whether it still is one is asked again.
 * @param {Repository} repository @param {string} place @param {RecordedOf} recordedOf
 * @returns {Promise<import("./removal.mjs").Removal>}
 */
export async function cleanOrphan(repository, place, recordedOf) {
  const at = (await placesOf(repository)).find(({ folder }) => path.dirname(place) === folder);
  if (at === undefined) {
    return stays("NOT_OURS", `"${place}" is not among the worktrees of this repository.`);
  }
  const known = await knownAmong(at.folder, [path.basename(place)], recordedOf);
  if (known.paths.includes(place)) {
    return stays("NOT_OURS", `"${place}" stays: a plan has it.`);
  }
  return removeOrphan(new Worktrees(repository, at), { path: place }, known);
}

/** Of all folders among the worktrees; `complete` is false where there are too many files. @param {Repository} repository */
export async function worktreeUse(repository) {
  const use = { worktrees: 0, bytes: 0, complete: true };
  for (const { folder } of await placesOf(repository)) {
    const { bytes, complete } = await diskUse(folder, MOST_GLANCED);
    use.worktrees += (await fs.readdir(folder)).length;
    use.bytes += bytes;
    use.complete &&= complete;
  }
  return use;
}
