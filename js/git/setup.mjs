// What a plan's `setup` has left in a worktree: it is no work of the node's. A file that is still as it was left is in
// no commit; one that the node has changed further is the node's as a whole.

import crypto from "node:crypto";
import fs from "node:fs/promises";
import path from "node:path";
import { allBut } from "./checkouts.mjs";
import { GitError, isGitError } from "./git-error.mjs";
import { placeOf } from "./index-file.mjs";
import { EVIDENCE } from "./names.mjs";
import { broughtTo, inside } from "./ownership.mjs";
import { readRegular } from "./regular-file.mjs";

/** In git's folder of the worktree, as `git diff-index --raw -z` wrote it. */
const NOTE = "tap-setup";
const MOST_NOTE = 64 * 1024 * 1024;
const STAGE_MS = 600_000;
/** Files beyond a sparse checkout are added, too; those that it leaves out are not deleted. */
export const NOT_SPARSE = "core.sparseCheckout=false";

/** @typedef {import("./repository.mjs").Repository} Repository */
/** @typedef {{path: string, admin: string, commit: string}} Place commit: where the worktree started */
/** @typedef {{mode: string, object: string}} Version mode 000000: the file is not there */
/** @typedef {Map<string, {before: Version, after: Version}>} Raw by path, its bytes as Latin-1: it may be no UTF-8 */
/** @typedef {Partial<import("./run-git.mjs").RunOptions>} Where cwd, and env with the folders and the index */

/** @param {string} text of `--raw -z --no-renames` @returns {Raw} */
function versionsIn(text) {
  const all = text.matchAll(/:(\d+) (\d+) ([0-9a-f]+) ([0-9a-f]+) [A-Z]\0([^\0]+)\0/g);
  return new Map(
    [...all].map(([, modeBefore, modeAfter, before, after, name]) => [
      name,
      {
        before: { mode: modeBefore, object: before },
        after: { mode: modeAfter, object: after },
      },
    ]),
  );
}

/** From the start of the worktree to an index. @param {Repository} repository @param {Place} place @param {Where} where */
async function staged(repository, { commit }, where) {
  const look = ["diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", commit];
  return (await repository.ask(look, { ...where, encoding: "latin1" })).stdout;
}

/** @param {string} admin @returns {Promise<Raw>} */
async function leftIn(admin) {
  return versionsIn(await readRegular(path.join(admin, NOTE), MOST_NOTE, "latin1").catch(() => ""));
}

/** A worktree begins again: nothing is set up in it. @param {string} admin */
export const forgetSetup = (admin) => fs.rm(path.join(admin, NOTE), { force: true });

/**
 * Runs with an index of its own, which begins as that of the worktree.
 * @template T
 * @param {Place} place @param {AbortSignal | undefined} signal @param {Record<string, string>} more variables
 * @param {(where: Where) => Promise<T>} use
 */
async function indexApart(place, signal, more, use) {
  const index = path.join(place.admin, `tap-setup-${crypto.randomUUID()}`);
  const { cwd, env } = inside(place);
  try {
    await fs.copyFile(path.join(place.admin, "index"), index);
    return await use({ cwd, env: { ...env, ...more, GIT_INDEX_FILE: index }, signal });
  } finally {
    await Promise.all([index, `${index}.lock`].map((file) => fs.rm(file, { force: true })));
  }
}

/**
 * Stages the worktree in an index of its own.
 * @template T
 * @param {Repository} repository @param {Place} place
 * @param {{signal?: AbortSignal, without: string[], more?: Record<string, string>}} how without: paths besides those that
 *   were brought; more: variables
 * @param {(where: Where) => Promise<T>} use
 */
function stagedApart(repository, place, { signal, without, more = {} }, use) {
  return indexApart(place, signal, more, async (where) => {
    const limits = { ...where, lasting: true, network: true, timeoutMs: STAGE_MS };
    const rest = allBut([...without, ...(await broughtTo(place.admin))]);
    const settings = [NOT_SPARSE];
    await repository.change(["add", "--all", ...rest], { ...limits, settings });
    return use(where);
  });
}

/** @param {unknown} error */
function asTooMany(error) {
  if (!isGitError(error, "TOO_LARGE")) return error;
  const text =
    "The setup leaves so many files that tap cannot tell them from work. Name their folder in .gitignore.";
  return new GitError("TOO_LARGE", text);
}

/**
 * Remembers what is in the worktree now as left by its setup. It is on the disk afterwards.
 * @param {Repository} repository @param {Place} place @param {{signal?: AbortSignal}} [options]
 */
export async function noteSetup(repository, place, { signal } = {}) {
  const text = await stagedApart(repository, place, { signal, without: [EVIDENCE] }, (where) =>
    staged(repository, place, where),
  ).catch((error) => {
    throw asTooMany(error);
  });
  if (text === "") return forgetSetup(place.admin);
  const next = path.join(place.admin, `${NOTE}.new`);
  const file = await fs.open(next, "w");
  try {
    await file.writeFile(text, "latin1");
    await file.sync();
  } finally {
    await file.close();
  }
  await fs.rename(next, path.join(place.admin, NOTE));
}

/**
 * What the setup has changed of the commit's files, once more: a checkout has undone it. Files that the node has
 * committed stay as they are.
 * @param {Repository} repository @param {Place} place @param {{signal?: AbortSignal}} [options]
 */
export async function restoreSetup(repository, place, { signal } = {}) {
  const left = [...(await leftIn(place.admin))].filter(
    ([, { before }]) => Number(before.mode) !== 0,
  );
  if (left.length === 0) return;
  await indexApart(place, signal, {}, async (where) => {
    const own = versionsIn(await staged(repository, place, where));
    const mine = left.filter(([name]) => !own.has(name));
    const there = mine.filter(([, { after }]) => Number(after.mode) !== 0);
    const lines = there.map(([name, { after }]) => `${after.mode} ${after.object}\t${name}\0`);
    const files = there.map(([name]) => `${name}\0`);
    await repository.change(["update-index", "-z", "--index-info"], {
      ...where,
      input: Buffer.from(lines.join(""), "latin1"),
    });
    const write = ["checkout-index", "--force", "--quiet", "-z", "--stdin"];
    const limits = { ...where, lasting: true, network: true, timeoutMs: STAGE_MS };
    await repository.change(write, { ...limits, input: Buffer.from(files.join(""), "latin1") });
    for (const [name, { after }] of mine) {
      if (Number(after.mode) === 0) await fs.rm(placeOf(place.path, name), { force: true });
    }
  });
}

/** Whether the setup has changed files of the commit. @param {{admin: string}} place */
export async function changedTracked({ admin }) {
  return [...(await leftIn(admin)).values()].some(({ before }) => Number(before.mode) !== 0);
}

/** @param {Version} one @param {Version} other */
const isSame = (one, other) => one.mode === other.mode && one.object === other.object;

/** The folders that a path is in. @param {string} name */
const foldersOf = (name) =>
  [...name.matchAll(/\//g)].map((/** @type {{index: number}} */ { index }) => name.slice(0, index));

/** What cannot be in an index beside others: a file, and what is in a folder of that name. @param {string[]} others */
function besides(others) {
  const [files, folders] = [new Set(others), new Set(others.flatMap(foldersOf))];
  return (/** @type {string} */ name) =>
    !folders.has(name) && !foldersOf(name).some((one) => files.has(one));
}

/**
 * Takes out of an index what is still as the setup has left it.
 * @param {Repository} repository @param {Place} place @param {Where} where
 */
export async function leaveOutSetup(repository, place, where) {
  const left = await leftIn(place.admin);
  if (left.size === 0) return;
  const now = versionsIn(await staged(repository, place, where));
  const isLeft = (/** @type {string} */ name) => {
    const [then, is] = [left.get(name), now.get(name)];
    return then && is && isSame(then.after, is.after);
  };
  const names = [...now.keys()];
  const own = names.filter((name) => !isLeft(name) && Number(now.get(name)?.after.mode) !== 0);
  const hasRoom = besides(own);
  const back = names
    .filter((name) => isLeft(name))
    .map((name) => ({ name, .../** @type {{before: Version}} */ (left.get(name)).before }));
  const gone = back.filter(({ mode }) => Number(mode) === 0);
  const there = back.filter(({ mode, name }) => Number(mode) !== 0 && hasRoom(name));
  if (gone.length + there.length === 0) return;
  // A folder goes before the file that was in its place.
  const input = [...gone, ...there].map((one) => `${one.mode} ${one.object}\t${one.name}\0`);
  await repository.change(["update-index", "-z", "--index-info"], {
    ...where,
    input: Buffer.from(input.join(""), "latin1"),
  });
}

/**
 * What is in a worktree beyond its setup, in an index that only `use` sees; no object is added to the repository.
 * @template T
 * @param {Repository} repository @param {Place} place
 * @param {{signal?: AbortSignal, without: string[]}} how
 * @param {(where: Where) => Promise<T>} use
 * @returns {Promise<T | undefined>} undefined: its setup has left nothing
 */
export async function beyondSetup(repository, place, how, use) {
  if ((await leftIn(place.admin)).size === 0) return undefined;
  const objects = path.join(place.admin, `tap-objects-${crypto.randomUUID()}`);
  await fs.mkdir(objects);
  const shared = path.join(repository.commonDir, "objects").replace(/["\\]/g, "\\$&");
  const more = { GIT_OBJECT_DIRECTORY: objects, GIT_ALTERNATE_OBJECT_DIRECTORIES: `"${shared}"` };
  try {
    return await stagedApart(repository, place, { ...how, more }, async (where) => {
      await leaveOutSetup(repository, place, where);
      return use(where);
    });
  } finally {
    await fs.rm(objects, { recursive: true, force: true });
  }
}
