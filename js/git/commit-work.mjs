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

// What a plan's `setup` has left in a worktree: it is no work of the node's. A file that is still as it was left is in
// no commit; one that the node has changed further is the node's as a whole.

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

/** @param {string} admin @returns {Promise<string>} "": its setup has left nothing */
async function readSetupTree(admin) {
  const tree = await readRegular(path.join(admin, NOTE)).catch(() => "");
  return isCommit(tree) ? tree : "";
}

/** Whether a setup has left anything that git does not ignore. @param {string} admin */
export const hasSetupFiles = async (admin) => (await readSetupTree(admin)) !== "";

/** A worktree begins again: nothing is set up in it. @param {string} admin */
export const forgetSetup = (admin) =>
  Promise.all([NOTE, IGNORED_NOTE].map((name) => fs.rm(path.join(admin, name), { force: true })));

/** entries: as git lists them; at: when, in ms since 1970 @typedef {{entries: string[], at: number}} SetupIgnored */

/** What the setup has left that git ignores. @param {string} admin @returns {Promise<SetupIgnored | undefined>} undefined: nothing */
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
    await Promise.all([file, `${file}.lock`].map((one) => fs.rm(one, { force: true })));
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
 * Remembers what is in the worktree now as left by its setup. It is on the disk afterwards.
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
 * Takes out of an index what is still as the setup has left it: the work is what differs between the two trees.
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
  const lines = work.map((one) => `${one.mode} ${one.object}\t${one.path}\0`);
  // A file takes the place of a folder, and a folder that of a file.
  await repository.change(["update-index", "--replace", "-z", "--index-info"], {
    ...{ ...where, input: Buffer.from(lines.join(""), "latin1") },
  });
}

/**
 * What is in a worktree beyond its setup, in an index that only `use` sees; no object is added to the repository.
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
 * @property {string} commit that of the attempt; where nothing was changed, the one at which it started
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
 * @returns {string} with the trailer, and no other of its kind
 */
export function withTrailer(message, of) {
  const text = withoutTrailer(checkMessage(message));
  const last = text.split("\n\n").slice(1).at(-1) ?? "";
  const hasTrailers = last !== "" && last.split("\n").every((line) => /^[\w-]+: \S/.test(line));
  return `${text || "Work"}${hasTrailers ? "\n" : "\n\n"}${formatTrailer(of)}\n`;
}

/** Of a landed commit: trailers, and what it has of the node's own message. Together they fit into a message. */
const MAX_TRAILERS = 50;
const MAX_TRAILER = 500;
const MAX_OWN_MESSAGE = 32 * 1024;
const MAX_LOG_COMMITS = 1000;
const MAX_LOG_BYTES = 1024 * 1024;
// eslint-disable-next-line no-control-regex -- they are what it looks for
const CONTROL = /[\u0001-\u0008\u000B-\u001F\u007F-\u009F\u2028\u2029]/g;
/** No line of a message begins with it: none is a comment, or the scissors of git. */
const COMMENT = "core.commentChar=\u0001";
/** Trailers that name one commit. */
const IDENTIFYING = /^(?:plan|plan-node|change-id)\s*:/i;

/** @param {Repository} repository @param {string} format @param {string[]} which @returns {Promise<string[]>} of each commit */
async function readLog(repository, format, which) {
  const flags = ["-z", "--no-show-signature", `--max-count=${MAX_LOG_COMMITS}`];
  const args = ["log", ...flags, `--format=${format}`, ...which, "--"];
  const { stdout } = await repository.query(args, { cuts: true, mostBytes: MAX_LOG_BYTES });
  // An agent has written it: each line that git will see is one here, and no terminal obeys it.
  const lines = stdout.replaceAll(/\r\n?/g, "\n");
  return lines.replaceAll(CONTROL, "").split("\0");
}

/**
 * The message of the commit with which a node lands: that of the last commit that the node made itself, or else of the
 * one that tap made, with the trailers of all commits that land with it.
 * @param {Repository} repository
 * @param {{plan: string, planName: string, node: string, name: string, leaf: string, from?: string, since: string[]}} asked
 *   from: with what the node began; since: commits of which the target needs no trailers
 */
export async function formatLandedMessage(repository, asked) {
  const { plan, planName, node, name, leaf, from, since } = asked;
  const range = from ? ["--first-parent", "--no-merges", leaf, `^${checkCommit(from)}`] : [];
  const made = from ? (await readLog(repository, "%B", range)).filter(Boolean) : [];
  const own = made.find((text) => !text.includes(`\n${TRAILER}: ${plan}/${node}/`)) ?? made[0];
  const [subject] = (own ?? name).trimStart().split("\n");
  const text = own && own.length <= MAX_OWN_MESSAGE ? own : subject.slice(0, MAX_TRAILER);
  const lands = ["--reverse", leaf, ...since.map((one) => `^${checkCommit(one)}`)];
  const found = await readLog(repository, "%(trailers:only,unfold)", lands);
  const isTaken = (/** @type {string} */ line) =>
    line !== "" && line.length <= MAX_TRAILER && !IDENTIFYING.test(line);
  const trailers = [...new Set(found.join("").split("\n").filter(isTaken))].slice(-MAX_TRAILERS);
  const last = [`Plan: ${planName.replace(/\s+/g, " ")}`, `${TRAILER}: ${plan}/${node}`];
  const options = [...trailers, ...last].map((one) => `--trailer=${one}`);
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
 * Another history cannot be merged with what others have done.
 * @param {Repository} repository @param {Worktree} worktree @param {string} commit
 * @returns {Promise<import("./merge.mjs").LineCounts | undefined>} what it changes, where that was seen
 */
async function requireDescendant(repository, worktree, commit) {
  if (commit === worktree.commit) return undefined;
  const lines = await linesOnTop(repository, worktree.commit, commit);
  if (lines) return lines;
  // The first one is the commit itself, or, where a tag leads to it, another name.
  const args = ["rev-list", "--ancestry-path", "--max-count=1", commit, `^${worktree.commit}`];
  if ((await repository.query(args)).stdout.trim() === commit) return undefined;
  const text = `The work has ended on ${commit.slice(0, 10)}, which does not descend from ${worktree.commit.slice(0, 10)}, with which it began. Let it commit on top of that. Then retry the node.`;
  throw new GitError("NOT_DESCENDED", text, { commit, base: worktree.commit });
}

/** Whether this attempt's commit was made by a call that was interrupted. @param {Repository} repository @param {Worktree} worktree @param {string} head */
async function isOwnCommit(repository, worktree, head) {
  if (head === worktree.commit) return false;
  const { stdout } = await repository.query(["show", "--no-patch", "--format=%B", head]);
  return stdout.split("\n").includes(formatTrailer(worktree));
}

/** `git add` would take conflict markers as they are. @param {Repository} repository @param {{path: string, admin: string}} worktree */
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
        .map((one) => one.split("\t")[1]),
    ),
  ];
  const text = `The work has ended within a merge: ${formatFiles(paths)} has conflicts. Let it resolve them and git add the files, or abort the merge. Then retry the node from the start.`;
  throw new GitError("UNMERGED", text, { paths });
}

/**
 * Whether it is as the commit with which it began. `git add` takes longer: it writes each file once more that is as old
 * as the index.
 * @param {Repository} repository @param {Worktree} worktree @param {AbortSignal} [signal]
 */
async function isUnchanged(repository, worktree, signal) {
  const look = { signal, reading: false, ...worktreeOptions(worktree) };
  return (await readStatus(repository, worktree.path, look)).entries.length === 0;
}

/** @param {Repository} repository @param {Worktree} worktree @param {string} head @param {AbortSignal} [signal] @returns {Promise<Change[]>} what is to be committed */
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
  const paths = [...modules.matchAll(/^\s*path\s*=\s*(.+?)\s*$/gm)].map(([, one]) => one);
  const nested = links.find((one) => !paths.includes(one));
  if (nested === undefined) return;
  const text = `"${nested}" is a repository of its own: a commit cannot have its files. Move it out of the worktree.`;
  throw new GitError("NESTED_REPOSITORY", text, { path: nested });
}

/**
 * Whatever runs in a worktree finds the repository by its .git file; without it git goes upwards, to the user's
 * checkout. What a person has done there meanwhile counts.
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
  "HEAD is detached in worktrees of plans: a hook that asks for the name of the branch gets none.";

/** @param {unknown} error of `git commit` @param {number} timeoutMs */
function toCommitRefusal(error, timeoutMs) {
  if (isGitError(error, "TIMEOUT")) {
    const text = `git commit was ended after ${timeoutMs / 1000} s: a hook of the repository may hang. A longer \`timeout\` gives it more.`;
    return new GitError("TIMEOUT", text);
  }
  if (!isGitError(error, "GIT_FAILED")) return error;
  const { said, details } = /** @type {GitError} */ (error);
  if (details.exitCode !== 1 || /^fatal: /m.test(said)) return error;
  const text = `A hook of the repository refused the commit: ${formatOutput(said) || "it said nothing"}. Do what it asks for, or change the hook. ${DETACHED_HINT}`;
  return new GitError("HOOK_FAILED", text, { said, exitCode: 1 });
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
 * Commits everything but evidence, what was brought and what the setup has left, and gives the commit its ref. Again
 * after a crash: the same commit.
 * @param {Repository} repository @param {Worktree} worktree
 * @param {object} options
 * @param {string} options.message
 * @param {boolean} [options.hooks] the user's hooks run
 * @param {number} [options.timeoutMs] of the hooks
 * @param {Record<string, string>} [options.env] that hooks see
 * @param {AbortSignal} [options.signal]
 * @param {boolean} [options.isFirst] it was not called before for this attempt: the attempt has no commit
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

// What is in a worktree and not in the commit where it started, new files too. The worktree, its index and the objects
// of the repository stay as they are.

/**
 * @param {Repository} repository @param {{path: string, admin: string, commit: string}} worktree commit: where it started
 * @param {{mostBytes?: number, signal?: AbortSignal}} [options]
 * @returns {Promise<{text: string, cut: boolean}>} hostile text; ignored files and what the setup has left are not in it
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
