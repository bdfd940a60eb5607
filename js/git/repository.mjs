// A repository as plans see it: where its parts are, its branches, and what speaks against working in it.

import fs from "node:fs/promises";
import path from "node:path";
import { GitError, isGitError } from "./git-error.mjs";
import { lockIsFree } from "./locks.mjs";
import { checkBranch, isCommit } from "./names.mjs";
import { branchRef, readRefs } from "./refs.mjs";
import { Git } from "./run-git.mjs";
import { deleteOldFiles } from "./temporary-files.mjs";

/** Network. */
const FETCH_MS = 600_000;
const USUAL_BRANCHES = ["main", "master", "trunk"];

/** @typedef {import("./run-git.mjs").RunOptions} RunOptions */

/**
 * @typedef {object} Place
 * @property {string} root the user's checkout, without links
 * @property {string} gitDir of that checkout
 * @property {string} commonDir of all worktrees
 * @property {boolean} shallow
 * @property {number} hexDigits of an object's name
 */

export class Repository {
  /** @type {Promise<string> | undefined} */
  #default;
  /** @type {Promise<void> | undefined} */
  #tidied;

  /**
   * @param {Git} git @param {Place} place
   * @param {{merges?: "tree" | "scratch", owner?: string}} options merges: how; "scratch" is that of an old git; owner:
   *   the file in which its plans are recorded
   */
  constructor(git, place, { merges, owner = "" } = {}) {
    this.git = git;
    this.root = place.root;
    this.gitDir = place.gitDir;
    this.commonDir = place.commonDir;
    this.shallow = place.shallow;
    this.hexDigits = place.hexDigits;
    this.merges = merges;
    this.owner = owner;
  }

  /** Without locks. @param {string[]} args @param {Partial<RunOptions>} [options] */
  ask(args, options) {
    return this.git.run(args, { cwd: this.root, reading: true, ...options });
  }

  /** Again while another git holds a lock. @param {string[]} args @param {Partial<RunOptions>} [options] */
  change(args, options) {
    return this.git.change(args, { cwd: this.root, ...options }, lockIsFree);
  }

  /** For files of ours that belong to the repository. @returns {Promise<string>} */
  async ownFolder() {
    const folder = path.join(this.commonDir, "tap");
    await fs.mkdir(folder, { recursive: true });
    // What cannot be deleted only takes space.
    this.#tidied ??= deleteOldFiles(folder).catch(() => {});
    await this.#tidied;
    return folder;
  }

  /** @returns {Promise<string>} the branch on which others are based; asked once */
  defaultBranch() {
    this.#default ??= this.#findDefault().catch((error) => {
      this.#default = undefined;
      throw error;
    });
    return this.#default;
  }

  async #findDefault() {
    const { stdout } = await this.ask(["config", "--get", "init.defaultBranch"], { codes: [0, 1] });
    const usual = [...new Set([stdout.trim(), ...USUAL_BRANCHES])].filter((name) => {
      return name !== "" && !/[*?[]/.test(name);
    });
    const refs = await readRefs(this, ["refs/remotes/*/HEAD", ...usual.flatMap(placesOf)]);
    const named = refs.find(({ ref, target }) => target && ref === "refs/remotes/origin/HEAD");
    const remote = named ?? refs.find(({ target }) => target !== "");
    if (remote) return remote.target.split("/").slice(3).join("/");
    for (const isLocal of [true, false]) {
      const there = (/** @type {string} */ name) =>
        refs.some(({ ref }) => ref.startsWith("refs/heads/") === isLocal && isAt(ref, name));
      const found = usual.find(there);
      if (found !== undefined) return found;
    }
    const head = await this.ask(["symbolic-ref", "--quiet", "--short", "HEAD"], { codes: [0, 1] });
    if (head.stdout.trim() !== "") return head.stdout.trim();
    throw new GitError(
      "NO_COMMIT",
      "The repository has no default branch and no branch is checked out. Name a baseBranch.",
    );
  }

  /**
   * A branch, looked for locally, then at the remotes; a tag; or a commit by its full name.
   * @param {string} [name] absent: the default branch
   * @param {{fetch?: boolean, signal?: AbortSignal}} [options]
   * @returns {Promise<{name: string, ref: string | undefined, commit: string}>}
   */
  async resolveBase(name, { fetch = false, signal } = {}) {
    if (fetch) await this.fetch(signal);
    const wanted = name ?? (await this.defaultBranch());
    if (wanted === "HEAD" || isCommit(wanted)) return this.#resolveCommit(wanted);
    const refs = await readRefs(this, placesOf(checkBranch(wanted, "baseBranch")));
    const local = refs.find(({ ref }) => ref === branchRef(wanted));
    const origin = refs.find(({ ref }) => ref === `refs/remotes/origin/${wanted}`);
    const found = local ?? origin ?? refs.find(({ ref }) => isAt(ref, wanted));
    if (found) return { name: wanted, ref: found.ref, commit: found.commit };
    if (name === undefined) throw noCommit(wanted);
    const advice = "Name an existing branch, or set `fetch: true`.";
    const text = `There is no branch "${wanted}", neither here nor at a remote. ${advice}`;
    throw new GitError("UNKNOWN_BRANCH", text);
  }

  /** @param {string} name */
  async #resolveCommit(name) {
    const args = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`];
    const { stdout } = await this.ask(args, { codes: [0, 1, 128] });
    const commit = stdout.trim();
    if (isCommit(commit)) return { name, ref: undefined, commit };
    if (name === "HEAD") throw noCommit(name);
    throw new GitError("UNKNOWN_COMMIT", `The repository has no commit ${name}.`);
  }

  /** @param {AbortSignal} [signal] */
  async fetch(signal) {
    const limits = { network: true, lasting: true, timeoutMs: FETCH_MS, signal };
    const args = [
      "fetch",
      "--quiet",
      "--no-tags",
      "--no-recurse-submodules",
      "--no-write-fetch-head",
    ];
    await this.change([...args, "--all"], limits);
  }
}

/** @param {string} name of a branch or tag */
const placesOf = (name) => [branchRef(name), `refs/remotes/*/${name}`, `refs/tags/${name}`];

/** @param {string} ref @param {string} name */
const isAt = (ref, name) =>
  ref === branchRef(name) ||
  ref === `refs/tags/${name}` ||
  ref.split("/").slice(3).join("/") === name;

/** @param {string} name */
const noCommit = (name) =>
  new GitError(
    "NO_COMMIT",
    `"${name}" has no commit. Commit something first: plans start at a commit.`,
  );

/** @param {string} folder @param {Git} git */
async function ask(folder, git) {
  const flags = ["--is-bare-repository", "--is-inside-work-tree", "--is-shallow-repository"];
  const folders = ["--git-dir", "--git-common-dir", "--show-toplevel"];
  const args = [
    "rev-parse",
    ...flags,
    "--show-object-format",
    "--path-format=absolute",
    ...folders,
  ];
  const { stdout } = await git
    .run(args, { cwd: folder, reading: true, codes: [0, 128] })
    .then((ended) => {
      const bare = ended.stdout.startsWith("true\n");
      if (ended.code === 0 || bare) return ended;
      return git.run(args, { cwd: folder, reading: true }); // says why
    });
  return stdout.trimEnd().split("\n");
}

/**
 * @param {string} folder in the repository
 * @param {{env?: NodeJS.ProcessEnv, git?: Git, merges?: "tree" | "scratch", owner?: string}} [options]
 * @returns {Promise<Repository>}
 */
export async function openRepository(folder, options = {}) {
  const { env, git = new Git({ env }), merges, owner } = options;
  const real = await fs.realpath(folder).catch((cause) => {
    throw new GitError("NOT_A_REPOSITORY", `"${folder}" does not exist.`, { cause });
  });
  if (!(await fs.stat(real)).isDirectory()) {
    throw new GitError("NOT_A_REPOSITORY", `"${folder}" is not a folder.`);
  }
  const answer = await ask(real, git);
  const [bare, inside, shallow, format, gitDir, commonDir, top] = answer;
  if (bare === "true") {
    throw new GitError("BARE", `"${folder}" is a bare repository. Plans need one with a checkout.`);
  }
  if (inside !== "true" || answer.length !== 7) {
    throw new GitError(
      "NOT_A_REPOSITORY",
      `"${folder}" is not inside the checkout of a repository.`,
    );
  }
  const [root, own, common] = await Promise.all(
    [top, gitDir, commonDir].map((one) => fs.realpath(one)),
  );
  const place = { root, gitDir: own, commonDir: common, shallow: shallow === "true" };
  const hexDigits = format === "sha256" ? 64 : 40;
  return new Repository(git, { ...place, hexDigits }, { merges, owner });
}

/** @param {unknown} error */
export const isMissing = (error) =>
  isGitError(error, "UNKNOWN_BRANCH", "UNKNOWN_COMMIT", "NO_COMMIT");
