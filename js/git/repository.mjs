// A repository as plans use it: its folders, its branches, and reasons why a plan cannot run in it.

import { createHash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, read, readSync } from "node:fs";
import fs from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { isInside } from "../lib/paths.mjs";
import { GitError, isGitError } from "./errors.mjs";
import { checkBranch, checkInnerPath, Git, isCommit } from "./git.mjs";
import { deleteOldStores, gitFolder } from "./private-store.mjs";
import { processesUsing } from "./processes.mjs";
import { branchRef, readRefs, resolveRefs } from "./refs.mjs";

/** @typedef {import("./git.mjs").RunOptions} RunOptions */
/** @typedef {import("./git.mjs").RunOptions} Limits */

// Files that an agent may have written, in its worktree or in the repository.

/** The clock of the file system may be behind by this much. */
export const CLOCK_SKEW_MS = 100;

/** @param {Promise<unknown>} look */
const succeeds = (look) =>
  look.then(
    () => true,
    () => false,
  );

/** Follows links. @param {string} file */
export const exists = (file) => succeeds(fs.access(file));

/** @param {string} place that may not exist */
export const resolveLinks = (place) => fs.realpath(place).catch(() => place);

/** True for a broken link as well. @param {string | Buffer} file */
export const entryExists = (file) => succeeds(fs.lstat(file));

const FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
const MAX_BYTES = 1024 * 1024;
const SMALL_BYTES = 64 * 1024;
const readInThread = promisify(read);

/**
 * Does not block on a pipe, which would occupy a thread of the pool for files, and reads at most `most` bytes.
 * @param {string | Buffer} file @param {number} [most] bytes @param {BufferEncoding} [encoding]
 * @returns {Promise<string>} rejects if it is not a regular file, or longer
 */
export async function readRegular(file, most = MAX_BYTES, encoding = "utf8") {
  const descriptor = openSync(file, FLAGS);
  try {
    const stat = fstatSync(descriptor);
    const { size } = stat;
    if (!stat.isFile() || size > most)
      throw new Error(`"${file}" is not a regular file, or too long`);
    const bytes = Buffer.alloc(size);
    // A thread costs more than a small file.
    const count =
      size <= SMALL_BYTES
        ? readSync(descriptor, bytes, 0, size, 0)
        : (await readInThread(descriptor, bytes, 0, size, 0)).bytesRead;
    return bytes.toString(encoding, 0, count);
  } finally {
    closeSync(descriptor);
  }
}

// Stale locks of git: git was killed while it held them.

/** A git that has just started may not be visible yet. */
const YOUNG_MS = 1500;
/** An update of a ref takes milliseconds. */
const STALE_REF_MS = 10_000;
/** For systems that cannot list the processes in a folder. */
const UNKNOWN_MS = 60_000;

/** @param {string} lockFile @param {number} age in ms */
const isStaleRefLock = (lockFile, age) =>
  /[\\/]refs[\\/]tap[\\/].*\.lock$/.test(lockFile) && age > STALE_REF_MS;

/** The worktree to which a folder of git belongs, if tap made it. @param {string} admin */
async function findOwnWorktree(admin) {
  try {
    await fs.access(path.join(admin, "tap"));
    return path.dirname((await readRegular(path.join(admin, "gitdir"))).trim());
  } catch {
    return undefined;
  }
}

/**
 * Removes a lock on data that only tap uses, if no process works there.
 * @param {string} named as git names it @returns {Promise<boolean>} whether it is gone
 */
export async function removeStaleLock(named) {
  const worktreeAdmin = path.dirname(named);
  // In a sandbox, git names a file of the worktree's store by the path that covers it.
  const inStore = path.basename(path.dirname(worktreeAdmin)) === "worktrees";
  const lockFile = inStore ? path.join(gitFolder(worktreeAdmin), path.basename(named)) : named;
  const stat = await fs.stat(lockFile).catch(() => undefined);
  if (stat === undefined) return true;
  const age = Date.now() - stat.mtimeMs;
  if (!isStaleRefLock(lockFile, age)) {
    const worktree = await findOwnWorktree(worktreeAdmin);
    if (worktree === undefined || age < YOUNG_MS) return false;
    const holders = await processesUsing(worktree);
    if (holders === undefined ? age < UNKNOWN_MS : holders.length > 0) return false;
  }
  await fs.rm(lockFile, { force: true });
  return true;
}

// tap's temporary files in a folder of the repository, needed for minutes at most. A killed process leaves them, and no
// later process uses the same names.

const OLD_MS = 86_400_000;
/** Indexes for snapshots, and incomplete attributes, with git's locks of them. */
const TEMPORARY = /^(?:orphan-|restore-|attributes-[0-9a-f]{32}-)/;

/** @param {string} folder @param {number} [now] ms since 1970 */
export async function deleteOldFiles(folder, now = Date.now()) {
  const names = (await fs.readdir(folder)).filter((name) => TEMPORARY.test(name));
  for (const name of names) {
    const place = path.join(folder, name);
    const stat = await fs.lstat(place).catch(() => undefined);
    if (stat && now - stat.mtimeMs > OLD_MS) await fs.rm(place, { recursive: true, force: true });
  }
}

/** Includes the network. */
const FETCH_MS = 600_000;
const USUAL_BRANCHES = ["main", "master", "trunk"];

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
  /** @type {Promise<string[]> | undefined} */
  #settings;
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

  /** Runs git without locks. @param {string[]} args @param {Partial<RunOptions>} [options] */
  async query(args, options) {
    const more = await this.#addSettings(options);
    return this.git.run(args, { cwd: this.root, reading: true, ...more });
  }

  /** Runs git, with retries while a lock is held. @param {string[]} args @param {Partial<RunOptions>} [options] */
  async change(args, options) {
    const more = await this.#addSettings(options);
    return this.git.change(args, { cwd: this.root, ...more }, removeStaleLock);
  }

  /** @param {Partial<RunOptions>} [options] @returns {Promise<Partial<RunOptions> | undefined>} */
  async #addSettings(options) {
    if (!options?.sandbox) return options;
    const readable = [...options.sandbox.readable, ...(await this.settingsFiles())];
    return { ...options, sandbox: { ...options.sandbox, readable } };
  }

  /** Files and folders of the user's git config that a program in a sandbox needs. @returns {Promise<string[]>} read once */
  settingsFiles() {
    this.#settings ??= this.#findSettingsFiles().catch((error) => {
      this.#settings = undefined;
      throw error;
    });
    return this.#settings;
  }

  async #findSettingsFiles() {
    const { stdout } = await this.query(["config", "--list", "--show-origin", "-z"]);
    const fields = stdout.split("\0");
    const named = fields.flatMap((origin, at) => {
      const [, file] = at % 2 === 0 ? (/^file:(.*)/.exec(origin) ?? []) : [];
      if (file === undefined) return []; // given by tap itself
      const value = /^core\.(?:excludesfile|attributesfile|hookspath)\n(.*)/.exec(fields[at + 1]);
      return [file, ...(value ? [value[1]] : [])];
    });
    const home = this.git.env.HOME ?? "";
    const all = named.map((file) => file.replace(/^~(?=\/)/, home)).filter(path.isAbsolute);
    const files = [...new Set(all)];
    const real = await Promise.all(files.map((file) => fs.realpath(file).catch(() => "/")));
    // Exclude folders that contain the whole home.
    return files.filter((_, at) => real[at] !== "/" && !`${home}/`.startsWith(`${real[at]}/`));
  }

  /** The folder for tap's files that belong to the repository. @returns {Promise<string>} */
  async ownFolder() {
    const folder = path.join(this.commonDir, "tap");
    await fs.mkdir(folder, { recursive: true });
    // A file that cannot be deleted only takes space.
    this.#tidied ??= Promise.all([deleteOldFiles(folder), deleteOldStores(this.commonDir)])
      .then(() => {})
      .catch(() => {});
    await this.#tidied;
    return folder;
  }

  /** @returns {Promise<string>} the branch on which others are based; read once */
  defaultBranch() {
    this.#default ??= this.#findDefault().catch((error) => {
      this.#default = undefined;
      throw error;
    });
    return this.#default;
  }

  async #findDefault() {
    const { stdout } = await this.query(["config", "--get", "init.defaultBranch"], {
      codes: [0, 1],
    });
    const usual = [...new Set([stdout.trim(), ...USUAL_BRANCHES])].filter((name) => {
      return name !== "" && !/[*?[]/.test(name);
    });
    const refs = await readRefs(this, ["refs/remotes/*/HEAD", ...usual.flatMap(listCandidateRefs)]);
    const named = refs.find(({ ref, target }) => target && ref === "refs/remotes/origin/HEAD");
    const remote = named ?? refs.find(({ target }) => target !== "");
    if (remote) return remote.target.split("/").slice(3).join("/");
    for (const isLocal of [true, false]) {
      const there = (/** @type {string} */ name) =>
        refs.some(({ ref }) => ref.startsWith("refs/heads/") === isLocal && isAt(ref, name));
      const found = usual.find(there);
      if (found !== undefined) return found;
    }
    const head = await this.query(["symbolic-ref", "--quiet", "--short", "HEAD"], {
      codes: [0, 1],
    });
    if (head.stdout.trim() !== "") return head.stdout.trim();
    throw new GitError(
      "NO_COMMIT",
      "The repository has no default branch and no branch is checked out. Name a baseBranch.",
    );
  }

  /**
   * The tip of a branch at its remote.
   * @param {string} branch
   * @returns {Promise<{name: string, commit: string, behind: number, ahead: number} | undefined>} behind: commits that
   *   the local branch does not have; undefined: no remote has it
   */
  async findRemoteTip(branch) {
    const local = branchRef(checkBranch(branch));
    const refs = await readRefs(this, [local, `refs/remotes/*/${branch}`]);
    const here = refs.find(({ ref }) => ref === local);
    const there = refs.filter(({ ref }) => ref !== local && isAt(ref, branch));
    // The upstream may be a different branch, such as origin/main.
    const preferred = [here?.upstream, `refs/remotes/origin/${branch}`];
    const [remote = there[0]] = preferred.flatMap((name) =>
      there.filter(({ ref }) => ref === name),
    );
    if (!remote) return undefined;
    const found = { name: remote.ref.slice("refs/remotes/".length), commit: remote.commit };
    if (!here || here.commit === remote.commit) return { ...found, behind: 0, ahead: 0 };
    const args = ["rev-list", "--left-right", "--count", `${here.commit}...${remote.commit}`];
    const [ahead, behind] = (await this.query(args)).stdout.trim().split("\t").map(Number);
    return { ...found, behind, ahead };
  }

  /**
   * Resolves a branch, first the local one, then at the remotes; `<remote>/<branch>`; a tag; or a full commit name.
   * With `fetch`, a local branch that is only behind its remote's starts at the remote's tip.
   * @param {string} [name] absent: the default branch
   * @param {{fetch?: boolean, signal?: AbortSignal}} [options]
   * @returns {Promise<{name: string, ref: string | undefined, commit: string, remote?: {name: string, behind:
   *   number}}>} remote: the local branch is used, and is behind it
   */
  async resolveBase(name, { fetch = false, signal } = {}) {
    if (fetch) await this.fetch(signal);
    const wanted = name ?? (await this.defaultBranch());
    if (wanted === "HEAD" || isCommit(wanted)) return this.#resolveCommit(wanted);
    const refs = await readRefs(this, listCandidateRefs(checkBranch(wanted, "baseBranch")));
    const local = refs.find(({ ref }) => ref === branchRef(wanted));
    const origin = refs.find(({ ref }) => ref === `refs/remotes/origin/${wanted}`);
    const found = local ?? origin ?? refs.find(({ ref }) => isAt(ref, wanted));
    if (found)
      return this.#compareBase({ name: wanted, ref: found.ref, commit: found.commit }, fetch);
    if (name === undefined) throw noCommit(wanted);
    const advice = "Name an existing branch, or set `fetch: true`.";
    const text = `There is no branch "${wanted}", neither locally nor at a remote. ${advice}`;
    throw new GitError("UNKNOWN_BRANCH", text);
  }

  /** @param {{name: string, ref: string, commit: string}} found @param {boolean} fetch */
  async #compareBase(found, fetch) {
    const remote = found.ref === branchRef(found.name) && (await this.findRemoteTip(found.name));
    if (!remote || remote.behind === 0) return found;
    const { name, commit, behind, ahead } = remote;
    if (fetch && ahead === 0) return { ...found, ref: `refs/remotes/${name}`, commit };
    return { ...found, remote: { name, behind } };
  }

  /** @param {string} name */
  async #resolveCommit(name) {
    const args = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`];
    const { stdout } = await this.query(args, { codes: [0, 1, 128] });
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
const listCandidateRefs = (name) => [
  branchRef(name),
  `refs/remotes/*/${name}`,
  `refs/remotes/${name}`,
  `refs/tags/${name}`,
];

/** @param {string} ref @param {string} name */
const isAt = (ref, name) =>
  ref === branchRef(name) ||
  ref === `refs/remotes/${name}` ||
  ref === `refs/tags/${name}` ||
  ref.split("/").slice(3).join("/") === name;

/** @param {string} name */
const noCommit = (name) =>
  new GitError(
    "NO_COMMIT",
    `"${name}" has no commit. Commit something first: plans start at a commit.`,
  );

/** @param {string} folder @param {Git} git */
async function queryLayout(folder, git) {
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
  const answer = await queryLayout(real, git);
  const [bare, inside, shallow, format, gitDir, commonDir, top] = answer;
  if (bare === "true") {
    throw new GitError(
      "BARE",
      `"${folder}" is a bare repository. Plans need a repository with a checkout.`,
    );
  }
  if (inside !== "true" || answer.length !== 7) {
    throw new GitError(
      "NOT_A_REPOSITORY",
      `"${folder}" is not inside the checkout of a repository.`,
    );
  }
  const [root, own, common] = await Promise.all(
    [top, gitDir, commonDir].map((name) => fs.realpath(name)),
  );
  const place = { root, gitDir: own, commonDir: common, shallow: shallow === "true" };
  const hexDigits = format === "sha256" ? 64 : 40;
  return new Repository(git, { ...place, hexDigits }, { merges, owner });
}

/** @param {unknown} error */
export const isMissing = (error) =>
  isGitError(error, "UNKNOWN_BRANCH", "UNKNOWN_COMMIT", "NO_COMMIT");

// Folders and files that are named by others. They must be inside an allowed folder, with links resolved.

/** @param {string} place @param {string} label @returns {Promise<string>} without links */
const requireThere = (place, label) =>
  fs.realpath(place).catch((error) => {
    throw new GitError("INVALID", `${label}: "${place}" does not exist (${error.code}).`, {
      cause: error,
    });
  });

/**
 * @param {string} root @param {string} place relative to the root
 * @param {{anywhere?: boolean}} [options] anywhere: it may be outside, as persons may request
 * @returns {Promise<string>}
 */
export async function resolveInside(root, place, { anywhere = false } = {}) {
  const real = await requireThere(path.resolve(root, place), "repo");
  if (anywhere || isInside(real, await requireThere(root, "folder"))) return real;
  throw new GitError("OUTSIDE", `repo: "${place}" is outside of the session's folder "${root}".`);
}

/** A small file of a worktree. @param {{path: string}} worktree @param {string} name @param {number} most bytes @returns {Promise<string>} */
export async function readInside(worktree, name, most) {
  const file = await requireThere(path.join(worktree.path, checkInnerPath(name, "file")), "file");
  const root = await requireThere(worktree.path, "worktree");
  if (!isInside(file, root)) throw new GitError("INVALID", `"${name}" leads out of the worktree.`);
  return readRegular(file, most);
}

/** @param {Repository} repository @param {string} branch @returns {Promise<string | undefined>} its commit */
export async function branchTip(repository, branch) {
  const [commit] = await resolveRefs(repository, [branchRef(checkBranch(branch, "targetBranch"))]);
  return commit;
}

/**
 * Follows a symbolic ref: a landing would replace it by a branch.
 * @param {Repository} repository @param {string} branch @returns {Promise<string>} `branch` if it is not a symbolic ref
 */
export async function resolveTarget(repository, branch) {
  const ref = branchRef(checkBranch(branch, "targetBranch"));
  const { stdout } = await repository.query(["symbolic-ref", "--quiet", ref], { codes: [0, 1] });
  const found = stdout.trim();
  if (found === "") return branch;
  const name = found.replace(/^refs\/heads\//, "");
  if (name !== found) return checkBranch(name, "targetBranch");
  const text = `"${branch}" is a symbolic ref to "${found}", which is not a branch. Choose a different targetBranch.`;
  throw new GitError("INVALID", text);
}

/**
 * For folders with untrusted files: a filter of the user's config may be a program among them.
 * @param {Repository} repository @returns {Promise<Record<string, string>>} variables that disable all filters
 */
export async function switchOffFilters(repository) {
  const args = ["config", "-z", "--name-only", "--get-regexp"];
  const parts = String.raw`^filter\..*\.(clean|smudge|process)$`;
  const { stdout } = await repository.query([...args, parts], { codes: [0, 1] });
  const keys = stdout.split("\0").filter(Boolean);
  const names = new Set(keys.map((key) => key.replace(/\.[a-z]+$/, "")));
  const settings = [...names].flatMap((name) => [
    [`${name}.process`, ""],
    [`${name}.required`, "false"],
  ]);
  const given = settings.flatMap(([key, value], at) => [
    [`GIT_CONFIG_KEY_${at}`, key],
    [`GIT_CONFIG_VALUE_${at}`, value],
  ]);
  return { GIT_CONFIG_COUNT: String(settings.length), ...Object.fromEntries(given) };
}

// The submodules of a worktree: from their URLs, and where these cannot be reached, from the user's checkout.

/** The settings with which a submodule needs no entry in the user's config. */
const ACTIVE = "submodule.active=.";
/** The worktree also gets commits that only the user's checkout has. */
const ALL_REFS = "remote.origin.fetch=+refs/*:refs/remotes/checkout/*";
const UPDATE = ["submodule", "--quiet", "update", "--force"];
/** A path, not a pattern. @param {string} place */
const toLiteralPathspec = (place) => `:(literal)${place}`;

/**
 * The entries of .gitmodules, which a commit may have brought. If two entries share a name or a path, git and tap might
 * choose different ones, so both are left out.
 * @param {Repository} repository @param {Limits} limits
 */
async function readGitmodules(repository, limits) {
  const file = path.join(limits.cwd, ".gitmodules");
  const args = ["config", "--file", file, "-z", "--get-regexp", String.raw`^submodule\..*\.path$`];
  const { stdout } = await repository.query(args, { codes: [0, 1] });
  const all = [...stdout.matchAll(/submodule\.([^\n\0]+)\.path\n([^\0]*)\0/g)];
  const [names, places] = [1, 2].map((part) => all.map((match) => match[part]));
  const isOnly = (/** @type {string[]} */ list, /** @type {string} */ value) =>
    list.indexOf(value) === list.lastIndexOf(value);
  return all
    .map(([, name, place]) => ({ name, place }))
    .filter(({ name, place }) => isOnly(names, name) && isOnly(places, place));
}

/** The submodules whose commits the user's checkout has. @param {Repository} repository @param {Limits} limits */
async function findCheckoutSubmodules(repository, limits) {
  const found = [];
  for (const { name, place } of await readGitmodules(repository, limits)) {
    if (!/^[\w./-]+$/.test(name) || name.split("/").includes("..")) continue;
    const folder = path.join(repository.commonDir, "modules", name);
    if (!(await exists(path.join(folder, "HEAD")))) continue;
    // Git takes a path for all entries below it, too.
    const args = ["ls-files", "--stage", "-z", "--", toLiteralPathspec(place)];
    const { stdout } = await repository.query(args, limits);
    const [, only] = /^160000 [^\t\0]+\t([^\0]+)\0$/.exec(stdout) ?? [];
    if (only === place) found.push({ name, place, folder });
  }
  return found;
}

const MAX_BOUNDARIES = 50;

/** @param {Repository} repository @param {string} commit @returns {Promise<{name: string, entry: string}[]>} entry: a submodule with its URL */
async function listSubmoduleUrls(repository, commit) {
  const from = `--blob=${commit}:.gitmodules`;
  const args = ["config", from, "-z", "--get-regexp", String.raw`^submodule\..*\.url$`];
  const { stdout } = await repository.query(args, { codes: [0, 1, 128] });
  const all = stdout.matchAll(/submodule\.([^\n\0]+)\.url\n([^\0]*)\0/g);
  return [...all].map(([entry, name]) => ({ name, entry }));
}

/**
 * A node has no network of its own, and must not get access by writing a URL for the next node: tap fetches only from
 * URLs in the user's commits.
 * @param {Repository} repository @param {string} commit
 * @returns {Promise<string[] | undefined>} names of the submodules that may be fetched; undefined: all
 */
async function findFetchable(repository, commit) {
  // With the HEAD of the user's checkout, and without those of worktrees.
  const users = ["--not", "--exclude=refs/tap/*", "--all"];
  const args = ["rev-list", "--boundary", "--single-worktree", commit, ...users];
  const lines = (await repository.query(args)).stdout.split("\n").filter(Boolean);
  if (lines.length === 0) return undefined;
  const before = lines.filter((line) => line.startsWith("-")).slice(0, MAX_BOUNDARIES);
  const known = before.map((line) => listSubmoduleUrls(repository, line.slice(1)));
  const entries = new Set((await Promise.all(known)).flat().map(({ entry }) => entry));
  const own = await listSubmoduleUrls(repository, commit);
  const foreign = own.filter(({ entry }) => !entries.has(entry)).map(({ name }) => name);
  if (foreign.length === 0) return undefined;
  return own.map(({ name }) => name).filter((name) => !foreign.includes(name));
}

/**
 * @param {Repository} repository
 * @param {{path: string, admin: string, commit: string}} worktree without files of submodules: git would take settings
 *   from there
 * @param {Limits} limits
 */
export async function updateSubmodules(repository, { admin, commit }, limits) {
  const names = await findFetchable(repository, commit);
  const known = names && (await readGitmodules(repository, limits));
  const places = known?.filter(({ name }) => names?.includes(name)).map(({ place }) => place);
  if (places?.length === 0) return;
  const only = places ? ["--", ...places.map(toLiteralPathspec)] : [];
  const all = () =>
    repository.change([...UPDATE, "--recursive", ...only], { ...limits, settings: [ACTIVE] });
  try {
    await all();
  } catch (error) {
    const found = isGitError(error, "NO_SUBMODULE")
      ? await findCheckoutSubmodules(repository, limits)
      : [];
    if (found.length === 0) throw error;
    for (const { name, place, folder } of found) {
      const from = [`submodule.${name}.url=${folder}`, "protocol.file.allow=always", ALL_REFS];
      const settings = [ACTIVE, ...from];
      await repository.change([...UPDATE, "--", toLiteralPathspec(place)], { ...limits, settings });
      // Pushes must not reach the user's checkout.
      const origin = ["config", "--file", path.join(folder, "config"), "remote.origin.url"];
      const { stdout } = await repository.query(origin, { codes: [0, 1] });
      const own = ["config", "--file", path.join(admin, "modules", name, "config")];
      await repository.change([...own, "remote.origin.url", stdout.trim()], {});
    }
    await all();
  }
}

// Attributes (merge drivers, line ends) for merges without a checkout: the attributes of the commit that is merged
// into, as `git merge` would read them, and not those in the user's checkout. Git reads them only from files, so tap
// makes a folder with just these files, which git takes for the checkout.

const MAX_VIEWS = 200;

/** @typedef {{cwd: string, env: Record<string, string>}} View for git */

/** @type {WeakMap<Repository, Map<string, Promise<View>>>} */
const attributeViews = new WeakMap();

/** @param {Repository} repository @param {string} commit @returns {Promise<string>} the entries of its files of attributes, for an index */
async function readAttributeEntries(repository, commit) {
  const empty = (await repository.query(["hash-object", "-t", "tree", "--stdin"])).stdout.trim();
  const flags = ["-r", "-z", "--raw", "--no-renames", "--no-abbrev"];
  const args = ["diff-tree", ...flags, empty, commit, "--", ":(glob)**/.gitattributes"];
  const { stdout } = await repository.query(args);
  const entries = stdout.matchAll(/:\d+ (100\d+) \S+ (\S+) [A-Z]\0([^\0]+)\0/g);
  return [...entries].map(([, mode, object, name]) => `${mode} ${object}\t${name}\0`).join("");
}

/** @param {Repository} repository @param {string} folder that does not exist @param {string} entries */
async function writeAttributeFiles(repository, folder, entries) {
  const made = `${folder}-${process.pid}-${Math.random().toString(36).slice(2)}`;
  await fs.mkdir(made);
  const env = {
    GIT_DIR: repository.commonDir,
    GIT_WORK_TREE: made,
    GIT_INDEX_FILE: `${made}.index`,
  };
  try {
    if (entries !== "") {
      const add = ["update-index", "--add", "-z", "--index-info"];
      await repository.change(add, { cwd: made, env, input: entries });
      await repository.change(["checkout-index", "--all", "--quiet"], { cwd: made, env });
    }
    await fs.rename(made, folder);
  } catch (error) {
    // A parallel call has made the folder.
    if (!["ENOTEMPTY", "EEXIST", "EPERM"].includes(/** @type {any} */ (error).code)) throw error;
  } finally {
    await fs.rm(`${made}.index`, { force: true });
    await fs.rm(made, { recursive: true, force: true });
  }
}

/** @param {Repository} repository @param {string} commit @returns {Promise<View>} */
async function makeView(repository, commit) {
  const entries = await readAttributeEntries(repository, commit);
  const key = createHash("sha256").update(entries).digest("hex").slice(0, 32);
  const folder = path.join(await repository.ownFolder(), `attributes-${key}`);
  if (!(await exists(folder))) await writeAttributeFiles(repository, folder, entries);
  return { cwd: folder, env: { GIT_DIR: repository.commonDir, GIT_WORK_TREE: folder } };
}

/** @param {Repository} repository @param {string} commit @returns {Promise<View>} */
export function getAttributeView(repository, commit) {
  const views = attributeViews.get(repository) ?? new Map();
  attributeViews.set(repository, views);
  const there = views.get(commit);
  if (there) return there;
  const made = makeView(repository, commit);
  views.set(commit, made);
  made.catch(() => views.delete(commit));
  if (views.size > MAX_VIEWS) views.delete(views.keys().next().value);
  return made;
}
