// The commit of an attempt: all that was changed in its worktree, once.

import crypto from "node:crypto";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { dropReservedForGit } from "../lib/refused-variables.mjs";
import {
  formatPathspecs,
  getAddArguments,
  getCeilingEnvironment,
  readStatus,
  resolveGitDir,
} from "./checkouts.mjs";
import { formatFiles, formatOutput, GitError, isGitError } from "./errors.mjs";
import { checkCommit, checkMessage, EVIDENCE, isCommit } from "./git.mjs";
import {
  changesBetween,
  linesBetween,
  linesOnTop,
  MAX_DIFF_BYTES,
  readRaw,
  resolveTree,
} from "./merge.mjs";
import { attemptRef, resolveRefs, setRefOnce } from "./refs.mjs";
import { checkStore, copyRegular, gitFolder, takeOver } from "./private-store.mjs";
import { readRegular } from "./repository.mjs";
import {
  adoptPersonsChanges,
  detach,
  readCopiedPaths,
  resolveHead,
  worktreeOptions,
} from "./worktree-admin.mjs";
import { loadIndex, MARKED_ONLY } from "./worktree-status.mjs";

/** @typedef {import("./repository.mjs").Repository} Repository */
/** @typedef {import("./worktrees.mjs").Worktree} Worktree */
/** @typedef {import("./merge.mjs").Change} Change */

// Files that a plan's `setup` left in a worktree are not part of the node's work. A file that is unchanged since then
// is in no commit. A file that the node changed is in the commit as a whole.

/** In git's folder of the worktree: the tree that the setup has left. */
const NOTE = "tap-setup";
const IGNORED_NOTE = "tap-ignored";
const MAX_NOTE_BYTES = 64 * 1024 * 1024;
/** Filters of the user's may reach other machines. */
const STAGE_MS = 600_000;
/** Files beyond a sparse checkout are added, too; those that it leaves out are not deleted. */
export const NOT_SPARSE = "core.sparseCheckout=false";

/** @typedef {{path: string, admin: string, commit: string}} Place commit: where the worktree started */
/** @typedef {Partial<import("./git.mjs").RunOptions>} Where cwd, and env with the folders and the index */

/** @param {string} admin @returns {Promise<string>} "" if the setup left no files */
async function readSetupTree(admin) {
  const tree = await readRegular(path.join(admin, NOTE)).catch(() => "");
  return isCommit(tree) ? tree : "";
}

/** Whether a setup has left anything that git does not ignore. @param {string} admin */
export const hasSetupFiles = async (admin) => (await readSetupTree(admin)) !== "";

/** A worktree starts again, without a setup. @param {string} admin */
export const forgetSetup = (admin) =>
  Promise.all([NOTE, IGNORED_NOTE].map((name) => fs.rm(path.join(admin, name), { force: true })));

/** entries: as git lists them; at: when, in ms since 1970 @typedef {{entries: string[], at: number}} SetupIgnored */

/** Ignored files that the setup left. @param {string} admin @returns {Promise<SetupIgnored | undefined>} undefined: no files */
export async function readSetupIgnored(admin) {
  const file = path.join(admin, IGNORED_NOTE);
  const text = await readRegular(file, MAX_NOTE_BYTES).catch(() => "");
  if (text === "") return undefined;
  return { entries: text.split("\0"), at: (await fs.lstat(file)).mtimeMs };
}

/**
 * An index that only `use` sees; it begins as that of the worktree.
 * @template T
 * @param {{path: string, admin: string}} place
 * @param {{signal?: AbortSignal, more?: Record<string, string>}} how more: variables
 * @param {(where: Where) => Promise<T>} use
 */
export async function withIndexCopy(place, { signal, more }, use) {
  const name = `tap-index-${crypto.randomUUID()}`;
  const folder = gitFolder(place.admin);
  const file = path.join(folder, name);
  const { env, ...rest } = worktreeOptions(place);
  const variables = { ...env, ...more, GIT_INDEX_FILE: path.join(place.admin, name) };
  try {
    await copyRegular(path.join(folder, "index"), file).catch(() => fs.rm(file, { force: true }));
    return await use({ ...rest, env: variables, signal });
  } finally {
    await Promise.all([file, `${file}.lock`].map((stale) => fs.rm(stale, { force: true })));
  }
}

/**
 * Stages the worktree in an index of its own.
 * @template T
 * @param {Repository} repository @param {Place} place
 * @param {{signal?: AbortSignal, without: string[], more?: Record<string, string>}} how without: paths to exclude in
 *   addition to the copied files; more: variables
 * @param {(where: Where) => Promise<T>} use
 */
function withStagedIndex(repository, place, { without, ...how }, use) {
  return withIndexCopy(place, how, async (where) => {
    const limits = { ...where, lasting: true, network: true, timeoutMs: STAGE_MS };
    const paths = formatPathspecs([...without, ...(await readCopiedPaths(place.admin))]);
    await repository.change(["add", "--all", ...paths], { ...limits, settings: [NOT_SPARSE] });
    return use(where);
  });
}

/** @param {Repository} repository @param {Where} where @returns {Promise<string>} the tree of an index */
const writeIndexTree = async (repository, where) =>
  (await repository.change(["write-tree"], where)).stdout.trim();

/**
 * Records the present files of the worktree as left by its setup, durably.
 * @param {Repository} repository @param {Place} place @param {{signal?: AbortSignal}} [options]
 */
export async function noteSetup(repository, place, { signal } = {}) {
  const how = { signal, without: [EVIDENCE] };
  const tree = await withStagedIndex(repository, place, how, (where) =>
    writeIndexTree(repository, where),
  );
  await forgetSetup(place.admin);
  const { entries } = await readStatus(repository, place.path, {
    ...{ signal, ignored: true, ...worktreeOptions(place) },
    without: await readCopiedPaths(place.admin),
  });
  const ignored = entries.filter(({ state }) => state === "!!").map((entry) => entry.path);
  if (ignored.length > 0)
    await fs.writeFile(path.join(place.admin, IGNORED_NOTE), ignored.join("\0"));
  if (tree === (await resolveTree(repository, place.commit))) return;
  await fs.writeFile(path.join(place.admin, NOTE), tree, { flush: true });
}

/**
 * Removes files from an index that are unchanged since the setup: the work is the difference of the two trees.
 * @param {Repository} repository @param {Place} place @param {Where} where
 */
export async function leaveOutSetup(repository, place, where) {
  const setup = await readSetupTree(place.admin);
  if (setup === "") return;
  const tree = await writeIndexTree(repository, where);
  const look = { ...where, encoding: /** @type {const} */ ("latin1") };
  const work = await changesBetween(repository, setup, tree, look);
  // Only the index counts: a filter or a hook may have changed files meanwhile.
  const start = ["read-tree", "-i", "-m", place.commit];
  await repository.change(start, { ...where, settings: [NOT_SPARSE] });
  const lines = work.map((change) => `${change.mode} ${change.object}\t${change.path}\0`);
  // A file takes the place of a folder, and a folder that of a file.
  await repository.change(["update-index", "--replace", "-z", "--index-info"], {
    ...{ ...where, input: Buffer.from(lines.join(""), "latin1") },
  });
}

/**
 * The changes since the setup, in an index that only `use` sees. No object is added to the repository.
 * @template T
 * @param {Repository} repository @param {Place} place
 * @param {{signal?: AbortSignal, without: string[]}} how
 * @param {(where: Where) => Promise<T>} use
 * @returns {Promise<T>}
 */
export async function withWorkIndex(repository, place, how, use) {
  const name = `tap-objects-${crypto.randomUUID()}`;
  const objects = path.join(gitFolder(place.admin), name);
  await fs.mkdir(objects);
  const shared = path.join(repository.commonDir, "objects").replace(/["\\]/g, "\\$&");
  const more = {
    GIT_OBJECT_DIRECTORY: path.join(place.admin, name),
    GIT_ALTERNATE_OBJECT_DIRECTORIES: `"${shared}"`,
  };
  try {
    return await withStagedIndex(repository, place, { ...how, more }, async (where) => {
      await leaveOutSetup(repository, place, where);
      return use(where);
    });
  } finally {
    await fs.rm(objects, { recursive: true, force: true });
  }
}

/** For the user's hooks. */
const COMMIT_MS = 600_000;
const TRAILER = "Plan-Node";

/**
 * @typedef {object} Committed
 * @property {string} commit the attempt's commit; without changes, the commit at which it started
 * @property {boolean} made by this call
 * @property {import("./merge.mjs").LineCounts} changes since the start
 */

/** @param {{plan: string, node: string, attempt: number}} of */
const formatTrailer = ({ plan, node, attempt }) => `${TRAILER}: ${plan}/${node}/${attempt}`;

/** @param {string} message */
const withoutTrailer = (message) =>
  message
    .split("\n")
    .filter((line) => !/^plan-node\s*:/i.test(line))
    .join("\n")
    .trim();

/**
 * @param {string} message @param {{plan: string, node: string, attempt: number}} of
 * @returns {string} with this trailer as the only trailer of its kind
 */
export function withTrailer(message, of) {
  const text = withoutTrailer(checkMessage(message));
  const last = text.split("\n\n").slice(1).at(-1) ?? "";
  const hasTrailers = last !== "" && last.split("\n").every((line) => /^[\w-]+: \S/.test(line));
  return `${text || "Work"}${hasTrailers ? "\n" : "\n\n"}${formatTrailer(of)}\n`;
}

/** Limits of a landed commit: its trailers and the node's own message together fit into a message. */
const MAX_TRAILERS = 50;
const MAX_TRAILER = 500;
const MAX_OWN_MESSAGE = 32 * 1024;
const MAX_LOG_COMMITS = 1000;
const MAX_LOG_BYTES = 1024 * 1024;
// eslint-disable-next-line no-control-regex -- matches control characters
const CONTROL = /[\u0001-\u0008\u000B-\u001F\u007F-\u009F\u2028\u2029]/g;
/** No line of a message starts with it, so git takes no line for a comment or the scissors. */
const COMMENT = "core.commentChar=\u0001";
/** Trailers that identify a single commit. */
const IDENTIFYING = /^(?:plan|plan-node|change-id)\s*:/i;

/** @param {Repository} repository @param {string} format @param {string[]} which @returns {Promise<string[]>} of each commit */
async function readLog(repository, format, which) {
  const flags = ["-z", "--no-show-signature", `--max-count=${MAX_LOG_COMMITS}`];
  const args = ["log", ...flags, `--format=${format}`, ...which, "--"];
  const { stdout } = await repository.query(args, { cuts: true, mostBytes: MAX_LOG_BYTES });
  // Agents write messages: split lines as git does, and remove characters that control a terminal.
  const lines = stdout.replaceAll(/\r\n?/g, "\n");
  return lines.replaceAll(CONTROL, "").split("\0");
}

/**
 * The message of the commit with which a node lands: the message of the node's last own commit, or of tap's commit if
 * the node made no commit, with the trailers of all commits that land with it.
 * @param {Repository} repository
 * @param {{plan: string, planName: string, node: string, name: string, leaf: string, from?: string, since: string[]}}
 *   asked from: the node's start; since: commits whose trailers the target has already
 */
export async function formatLandedMessage(repository, asked) {
  const { plan, planName, node, name, leaf, from, since } = asked;
  const range = from ? ["--first-parent", "--no-merges", leaf, `^${checkCommit(from)}`] : [];
  const made = from ? (await readLog(repository, "%B", range)).filter(Boolean) : [];
  const own = made.find((text) => !text.includes(`\n${TRAILER}: ${plan}/${node}/`)) ?? made[0];
  const [subject] = (own ?? name).trimStart().split("\n");
  const text = own && own.length <= MAX_OWN_MESSAGE ? own : subject.slice(0, MAX_TRAILER);
  const lands = ["--reverse", leaf, ...since.map((commit) => `^${checkCommit(commit)}`)];
  const found = await readLog(repository, "%(trailers:only,unfold)", lands);
  const isTaken = (/** @type {string} */ line) =>
    line !== "" && line.length <= MAX_TRAILER && !IDENTIFYING.test(line);
  const trailers = [...new Set(found.join("").split("\n").filter(isTaken))].slice(-MAX_TRAILERS);
  const last = [`Plan: ${planName.replace(/\s+/g, " ")}`, `${TRAILER}: ${plan}/${node}`];
  const options = [...trailers, ...last].map((trailer) => `--trailer=${trailer}`);
  const args = ["interpret-trailers", "--no-divider", "--if-exists=addIfDifferent", ...options];
  // Trailers of the user's config may be commands.
  const env = { GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: os.devNull };
  const input = checkMessage(withoutTrailer(text) || name);
  const settings = [COMMENT];
  return (await repository.git.run(args, { cwd: "/", env, settings, input })).stdout;
}

/** @param {Repository} repository @param {Worktree} worktree @returns {Promise<string>} */
async function requireHead(repository, worktree) {
  const commit = await resolveHead(repository, worktree);
  if (commit !== "") return commit;
  const text = `The work has ended on a branch without a commit. Let it commit on top of ${worktree.commit.slice(0, 10)}. Then retry the node.`;
  throw new GitError("NOT_DESCENDED", text, { base: worktree.commit });
}

/**
 * An unrelated history cannot be merged with the work of other nodes.
 * @param {Repository} repository @param {Worktree} worktree @param {string} commit
 * @returns {Promise<import("./merge.mjs").LineCounts | undefined>} its changes, if they were counted
 */
async function requireDescendant(repository, worktree, commit) {
  if (commit === worktree.commit) return undefined;
  const lines = await linesOnTop(repository, worktree.commit, commit);
  if (lines) return lines;
  // The first line is the commit itself, unless `commit` names a tag.
  const args = ["rev-list", "--ancestry-path", "--max-count=1", commit, `^${worktree.commit}`];
  if ((await repository.query(args)).stdout.trim() === commit) return undefined;
  const text = `The work has ended on ${commit.slice(0, 10)}, which does not descend from ${worktree.commit.slice(0, 10)}, with which it began. Let it commit on top of that. Then retry the node.`;
  throw new GitError("NOT_DESCENDED", text, { commit, base: worktree.commit });
}

/** Whether an interrupted call made this attempt's commit. @param {Repository} repository @param {Worktree} worktree @param {string} head */
async function isOwnCommit(repository, worktree, head) {
  if (head === worktree.commit) return false;
  const { stdout } = await repository.query(["show", "--no-patch", "--format=%B", head]);
  return stdout.split("\n").includes(formatTrailer(worktree));
}

/** `git add` would commit conflict markers. @param {Repository} repository @param {{path: string, admin: string}} worktree */
export async function checkMerged(repository, worktree) {
  const index = await loadIndex(worktree, repository.hexDigits, MARKED_ONLY);
  if (index?.hasConflicts === false) return;
  const { stdout } = await repository.query(
    ["ls-files", "--unmerged", "-z"],
    worktreeOptions(worktree),
  );
  if (stdout === "") return;
  const paths = [
    ...new Set(
      stdout
        .split("\0")
        .filter(Boolean)
        .map((line) => line.split("\t")[1]),
    ),
  ];
  const text = `The work has ended within a merge: ${formatFiles(paths)} has conflicts. Let it resolve them and git add the files, or abort the merge. Then retry the node from the start.`;
  throw new GitError("UNMERGED", text, { paths });
}

/**
 * Whether it equals the commit at which it started. `git add` is slower: it writes each file that is as old as the
 * index.
 * @param {Repository} repository @param {Worktree} worktree @param {AbortSignal} [signal]
 */
async function isUnchanged(repository, worktree, signal) {
  const look = { signal, reading: false, ...worktreeOptions(worktree) };
  return (await readStatus(repository, worktree.path, look)).entries.length === 0;
}

/** @param {Repository} repository @param {Worktree} worktree @param {string} head @param {AbortSignal} [signal] @returns {Promise<Change[]>} the changes to commit */
async function stage(repository, worktree, head, signal) {
  if (head === worktree.commit && (await isUnchanged(repository, worktree, signal))) return [];
  const where = { ...worktreeOptions(worktree), signal };
  const without = [EVIDENCE, ...(await readCopiedPaths(worktree.admin))];
  const limits = { ...where, lasting: true, network: true, timeoutMs: STAGE_MS };
  await repository.change(
    [...(await getAddArguments(repository)), "--all", ...formatPathspecs(without)],
    limits,
  );
  await leaveOutSetup(repository, worktree, where);
  const look = ["diff-index", "--cached", "--raw", "-z", "--no-renames", head];
  const staged = readRaw((await repository.query(look, where)).stdout);
  if (!(await hasEvidence(repository, worktree, head, staged))) return staged;
  // The agent itself has added it.
  const remove = ["rm", "-r", "--cached", "--quiet", "--ignore-unmatch", "--", EVIDENCE];
  await repository.change(remove, where);
  return readRaw((await repository.query(look, where)).stdout);
}

/** @param {string} file */
const isEvidence = (file) => file === EVIDENCE || file.startsWith(`${EVIDENCE}/`);

/** @param {Repository} repository @param {Worktree} worktree @param {string} head @param {Change[]} staged */
async function hasEvidence(repository, worktree, head, staged) {
  if (staged.some((change) => isEvidence(change.path))) return true;
  const before = await changesBetween(repository, worktree.commit, head);
  return before.some((change) => isEvidence(change.path) && change.kind !== "D");
}

/** A repository inside the worktree that is not a submodule: its files would not be in the commit. @param {Worktree} worktree @param {Change[]} staged */
async function checkNested(worktree, staged) {
  const links = staged.filter(({ mode }) => mode === "160000").map((change) => change.path);
  if (links.length === 0) return;
  const modules = await readRegular(path.join(worktree.path, ".gitmodules")).catch(() => "");
  const paths = [...modules.matchAll(/^\s*path\s*=\s*(.+?)\s*$/gm)].map(
    ([, submodule]) => submodule,
  );
  const nested = links.find((link) => !paths.includes(link));
  if (nested === undefined) return;
  const text = `"${nested}" is a separate repository: a commit cannot contain its files. Move it out of the worktree.`;
  throw new GitError("NESTED_REPOSITORY", text, { path: nested });
}

/**
 * Programs in a worktree find the repository through its .git file. Without it, git searches upwards and finds the
 * user's checkout. Changes that a person made there meanwhile count.
 * @param {Repository} repository @param {{path: string, admin: string}} worktree
 */
export async function checkWorktreeLink(repository, worktree) {
  const { path: place, admin } = worktree;
  const named = await resolveGitDir(place).catch(() => undefined);
  await adoptPersonsChanges(repository, worktree);
  const logFile = path.join(gitFolder(admin), "logs", "HEAD");
  const log = await fs.lstat(logFile).catch(() => undefined);
  if (log && !log.isFile()) {
    const text = `"${logFile}" is no regular file: git cannot work in the worktree. Retry the node from the start.`;
    throw new GitError("BROKEN_WORKTREE", text, { path: place });
  }
  if (named === admin) return;
  const text = `"${path.join(place, ".git")}" was changed or deleted: the worktree cannot be used. Retry the node from the start.`;
  throw new GitError("BROKEN_WORKTREE", text, { path: place });
}

const DETACHED_HINT =
  "HEAD is detached in worktrees of plans: a hook that reads the name of the branch gets an empty text.";

/** @param {unknown} error of `git commit` @param {number} timeoutMs */
function toCommitRefusal(error, timeoutMs) {
  if (isGitError(error, "TIMEOUT")) {
    const text = `git commit was stopped after ${timeoutMs / 1000} s: a hook of the repository may hang. A longer \`timeout\` gives it more time.`;
    return new GitError("TIMEOUT", text);
  }
  if (!isGitError(error, "GIT_FAILED")) return error;
  const { said: output, details } = /** @type {GitError} */ (error);
  if (details.exitCode !== 1 || /^fatal: /m.test(output)) return error;
  const text = `A hook of the repository refused the commit: ${formatOutput(output) || "it printed no reason"}. Do as it asks, or change the hook. ${DETACHED_HINT}`;
  return new GitError("HOOK_FAILED", text, { said: output, exitCode: 1 });
}

/** @param {Repository} repository @param {Worktree} worktree @param {{message: string, hooks: boolean, timeoutMs: number, env?: Record<string, string>, signal?: AbortSignal}} options */
async function commitStaged(repository, worktree, { message, hooks, timeoutMs, env, signal }) {
  const args = ["commit", "--quiet", "--cleanup=whitespace", "--file=-"];
  const input = withTrailer(message, worktree);
  const { env: named, ...place } = worktreeOptions(worktree);
  const folders = hooks ? getCeilingEnvironment(worktree.path) : named;
  const limits = { hooks, timeoutMs, signal, lasting: true, network: true };
  const settings = ["commit.gpgSign=false"]; // it would ask for a passphrase
  const where = {
    ...place,
    env: { ...dropReservedForGit(env), ...folders },
    ...{ input, settings },
  };
  await repository.change(args, { ...limits, ...where }).catch((error) => {
    throw toCommitRefusal(error, timeoutMs);
  });
}

/**
 * Commits everything but evidence, copied files and the setup's files, and sets the commit's ref. A second call after a
 * crash returns the same commit.
 * @param {Repository} repository @param {Worktree} worktree
 * @param {object} options
 * @param {string} options.message
 * @param {boolean} [options.hooks] run the user's hooks
 * @param {number} [options.timeoutMs] of the hooks
 * @param {Record<string, string>} [options.env] that hooks see
 * @param {AbortSignal} [options.signal]
 * @param {boolean} [options.isFirst] no earlier call for this attempt: the attempt has no commit
 * @returns {Promise<Committed>}
 */
export async function commitWork(repository, worktree, options) {
  const { message, hooks = true, timeoutMs = COMMIT_MS, env, signal, isFirst = false } = options;
  const ref = attemptRef(worktree.plan, worktree.node, worktree.attempt);
  checkMessage(message);
  const [there] = isFirst ? [] : await resolveRefs(repository, [ref]);
  const done = async (
    /** @type {string} */ commit,
    /** @type {boolean} */ made,
    /** @type {import("./merge.mjs").LineCounts | undefined} */ lines,
  ) => {
    const changes = lines ?? (await linesBetween(repository, worktree.commit, commit));
    if (!there && commit !== worktree.commit) await setRefOnce(repository, ref, commit);
    return { commit, made, changes };
  };
  if (there) return done(there, false, undefined);
  await checkWorktreeLink(repository, worktree);
  await checkStore(worktree.admin);
  await detach(repository, worktree);
  await checkMerged(repository, worktree);
  const head = await requireHead(repository, worktree);
  await takeOver(repository, worktree, head, { signal });
  const found = await requireDescendant(repository, worktree, head);
  if (!isFirst && (await isOwnCommit(repository, worktree, head))) return done(head, false, found);
  const staged = await stage(repository, worktree, head, signal);
  if (staged.length === 0) return done(head, false, found);
  await checkNested(worktree, staged);
  await commitStaged(repository, worktree, { message, hooks, timeoutMs, env, signal });
  const made = await requireHead(repository, worktree);
  await takeOver(repository, worktree, made, { signal });
  return done(made, true, await requireDescendant(repository, worktree, made));
}

// The difference between a worktree and its start, with new files. The worktree, its index and the objects
// of the repository stay as they are.

/**
 * @param {Repository} repository @param {{path: string, admin: string, commit: string}} worktree commit: where it
 *   started
 * @param {{mostBytes?: number, signal?: AbortSignal}} [options]
 * @returns {Promise<{text: string, cut: boolean}>} hostile text; without ignored files and the setup's files
 */
export async function diffWorktree(
  repository,
  worktree,
  { mostBytes = MAX_DIFF_BYTES, signal } = {},
) {
  const flags = ["--cached", "--no-color", "--no-ext-diff", "--no-textconv", "-M"];
  const args = ["diff", ...flags, checkCommit(worktree.commit), "--"];
  const how = { signal, without: [EVIDENCE] };
  return withWorkIndex(repository, worktree, how, async (where) => {
    const { stdout, cut } = await repository.query(args, { ...where, mostBytes, cuts: true });
    return { text: stdout, cut };
  });
}
