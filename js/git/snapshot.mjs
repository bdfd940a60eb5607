// A commit of everything that is in a worktree: changed, new and, up to a size, ignored files. The worktree itself
// and its HEAD stay as they are.

import fs from "node:fs/promises";
import path from "node:path";
import { allBut, statusOf } from "./checkouts.mjs";
import { GitError } from "./git-error.mjs";
import { headLog } from "./head-log.mjs";
import { showOverlooked } from "./index-file.mjs";
import { isCommit } from "./names.mjs";
import { broughtTo, headFile, inside } from "./ownership.mjs";
import { keepTree } from "./kept.mjs";
import { beyondSetup, NOT_SPARSE } from "./setup.mjs";

/** Of ignored files: what is built or installed again is larger. */
const MOST_IGNORED_BYTES = 16 * 1024 * 1024;
const MOST_IGNORED_FILES = 2000;

/** @typedef {import("./repository.mjs").Repository} Repository */
/** @typedef {{path: string, admin: string, plan: string, node: string, commit?: string}} Place commit: where it started */

/**
 * @typedef {object} Contents
 * @property {string} head the commit that is checked out; "": none
 * @property {boolean} dirty there are files that `head` does not have like that
 * @property {boolean} changed they are not as the setup has left them
 * @property {string[]} ignored files and folders, these with a / at their end
 * @property {string[]} lost commits that no ref has, `head` among them
 * @property {string[]} brought paths that are the user's and are no part of it
 */

/** @param {Repository} repository @param {Place} place @returns {Promise<string>} a commit, or "" */
async function headOf(repository, place) {
  const head = await headFile(place.admin);
  if (isCommit(head)) return head;
  const args = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"];
  const { stdout } = await repository.ask(args, { ...inside(place), codes: [0, 1, 128] });
  return stdout.trim();
}

/** What keeps a commit from being collected as garbage; the HEAD of a worktree goes with it. */
const ALL_REFS = ["--branches", "--tags", "--remotes", "--glob=refs/stash", "--glob=refs/tap"];

/**
 * Commits that no ref has: HEAD, and those that only the worktree's own log knows, made here and then left with a
 * reset or another checkout.
 * @param {Repository} repository @param {string} admin @param {string} head @param {Set<string>} known
 * @returns {Promise<string[]>}
 */
async function lostCommits(repository, admin, head, known) {
  const logged = (await headLog(admin)).map(({ commit }) => commit);
  const all = new Set([...logged, head]);
  const unknown = [...all].filter((one) => isCommit(one) && !/^0+$/.test(one) && !known.has(one));
  if (unknown.length === 0) return [];
  const args = ["rev-list", "--ignore-missing", "--stdin", "--not", ...ALL_REFS];
  const input = [...unknown, ...[...known].map((one) => `^${one}`)].join("\n");
  const { stdout } = await repository.ask(args, { input: `${input}\n` });
  const found = new Set(stdout.split("\n"));
  return unknown.filter((one) => found.has(one));
}

/**
 * @param {Repository} repository @param {Place} place
 * @param {string[]} known commits that have refs @param {AbortSignal} [signal]
 * @returns {Promise<Contents>}
 * @throws {GitError} SUBMODULE: something in a submodule cannot be kept
 */
export async function lookInto(repository, place, known, signal) {
  await showOverlooked(repository, place);
  const brought = await broughtTo(place.admin);
  const look = { signal, ignored: true, without: brought, reading: false, ...inside(place) };
  const { entries } = await statusOf(repository, place.path, look);
  const ignored = entries.filter(({ state }) => state === "!!").map((entry) => entry.path);
  const rest = entries.filter(({ state }) => state !== "!!");
  const inner = rest.find(({ submodule }) => /[cmu]/.test(submodule));
  if (inner) throw inSubmodule(`The submodule "${inner.path}" has changes`);
  await checkSubmodules(repository, place);
  const head = await headOf(repository, place);
  const lost = await lostCommits(repository, place.admin, head, new Set(known));
  const dirty = rest.length > 0;
  const changed = dirty && (await isBeyondSetup(repository, place, head, signal));
  return { head, dirty, changed, ignored, lost, brought };
}

/** @param {Repository} repository @param {Place} place @param {string} head @param {AbortSignal} [signal] */
async function isBeyondSetup(repository, { commit, ...place }, head, signal) {
  if (commit === undefined || head === "") return true;
  const args = ["diff-index", "--cached", "--quiet", head];
  const differs = await beyondSetup(
    repository,
    { ...place, commit },
    { signal, without: [] },
    async (where) => (await repository.ask(args, { ...where, codes: [0, 1] })).code === 1,
  );
  return differs ?? true;
}

/** @param {string} what */
const inSubmodule = (what) =>
  new GitError("SUBMODULE", `${what} that no snapshot can keep. Push or copy them first.`);

/** Commits in submodules are in git's folder of the worktree, and go with it. @param {Repository} repository @param {Place} place */
async function checkSubmodules(repository, place) {
  const names = await fs.readdir(path.join(place.admin, "modules")).catch(() => []);
  if (names.length === 0) return;
  const count = "git rev-list --max-count=1 --all HEAD --not --remotes --tags";
  const args = ["submodule", "--quiet", "foreach", "--recursive", count];
  const { stdout } = await repository.change(args, { ...inside(place), lasting: true });
  if (stdout.trim() !== "") throw inSubmodule("A submodule has commits");
}

/** @param {string} root @param {string} entry @param {{bytes: number, files: string[]}} room what is left, and what is taken */
async function takeIgnored(root, entry, room) {
  const place = path.join(root, entry);
  const stat = await fs.lstat(place).catch(() => undefined);
  if (stat?.isDirectory()) {
    for (const name of await fs.readdir(place)) {
      if (name === ".git") throw nested(entry);
      await takeIgnored(root, path.posix.join(entry, name), room);
      if (room.bytes < 0) return;
    }
  } else if (stat?.isFile() || stat?.isSymbolicLink()) {
    room.bytes -= stat.size;
    room.files.push(entry);
    if (room.files.length > MOST_IGNORED_FILES) room.bytes = -1;
  }
}

/**
 * Those for which there is room, in the order in which git lists them.
 * @param {string} root @param {string[]} entries
 * @returns {Promise<{files: string[], omitted: string[]}>}
 */
export async function chooseIgnored(root, entries) {
  const chosen = { files: /** @type {string[]} */ ([]), omitted: /** @type {string[]} */ ([]) };
  let bytes = MOST_IGNORED_BYTES;
  for (const entry of entries) {
    const room = { bytes, files: [...chosen.files] };
    const fits = await takeIgnored(root, entry.replace(/\/$/, ""), room).then(
      () => room.bytes >= 0,
      () => false,
    );
    if (fits) [bytes, chosen.files] = [room.bytes, room.files];
    else chosen.omitted.push(entry);
  }
  return chosen;
}

/** @param {string} where */
const nested = (where) =>
  new GitError(
    "NESTED_REPOSITORY",
    `"${where}" is a repository of its own, which no snapshot can keep. Move it elsewhere.`,
    { path: where },
  );

/**
 * Stages everything in an index, which is not the worktree's own.
 * @param {Repository} repository @param {Partial<import("./run-git.mjs").RunOptions>} where cwd, and env with the index
 * @param {{without: string[], files: string[]}} what files: ignored ones
 * @returns {Promise<string>} the tree
 */
export async function writeTree(repository, where, { without, files }) {
  const settings = ["core.safecrlf=false", "advice.addIgnoredFile=false", NOT_SPARSE];
  const limits = { ...where, settings, lasting: true, network: true, timeoutMs: 600_000 };
  await repository.change(["add", "--all", ...allBut(without)], limits);
  if (files.length > 0) {
    const input = `${files.join("\0")}\0`;
    await repository.change(["update-index", "--add", "-z", "--stdin"], { ...limits, input });
  }
  return (await repository.change(["write-tree"], where)).stdout.trim();
}

/** Repositories inside of it are only links in the tree. @param {Repository} repository @param {string} tree @param {string} head */
export async function checkLinks(repository, tree, head) {
  const args = ["diff-tree", "-r", "-z", "--no-renames", "--diff-filter=AMT", head, tree];
  const { stdout } = await repository.ask(args);
  const [, where] = /:\d+ 160000 [^\0]*\0([^\0]+)/.exec(stdout) ?? [];
  if (where !== undefined) throw nested(where);
}

/**
 * @typedef {{ref: string, commit: string}} Kept
 * @typedef {{kept?: Kept, omitted: string[]}} Snapshot omitted: ignored things that are too large
 */

/**
 * @param {Repository} repository @param {Place} place @param {Contents} contents
 * @param {{why: string, signal?: AbortSignal}} options
 * @returns {Promise<Snapshot>} without `kept`: there was nothing that refs do not have
 */
export async function takeSnapshot(repository, place, contents, { why, signal }) {
  const { head, changed, ignored, lost, brought } = contents;
  const { files, omitted } = await chooseIgnored(place.path, ignored);
  if (!changed && files.length === 0 && lost.length === 0) return { omitted };
  const index = path.join(place.admin, "tap-index");
  await fs.rm(`${index}.lock`, { force: true });
  await fs
    .copyFile(path.join(place.admin, "index"), index)
    .catch(() => fs.rm(index, { force: true }));
  const { cwd, env } = inside(place);
  const where = { cwd, env: { ...env, GIT_INDEX_FILE: index }, signal };
  try {
    const tree = await writeTree(repository, where, { without: brought, files });
    if (head !== "") await checkLinks(repository, tree, head);
    const parents = [...new Set([head, ...lost])].filter((one) => one !== "");
    return { kept: await keepTree(repository, place, tree, parents, why), omitted };
  } finally {
    await fs.rm(index, { force: true });
  }
}
