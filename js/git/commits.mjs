// The commit of an attempt: all that was changed in its worktree, once.

import fs from "node:fs/promises";
import path from "node:path";
import { changesBetween, readRaw } from "./changes.mjs";
import { addOf, allBut, gitDirOf, stayIn } from "./checkouts.mjs";
import { GitError, isGitError, lastSaid, someOf } from "./git-error.mjs";
import { indexOf, MARKED } from "./index-file.mjs";
import { checkMessage, EVIDENCE, isCommit } from "./names.mjs";
import { broughtTo, detach, headFile, inside } from "./ownership.mjs";
import { attemptRef, commitsOf, setOnce } from "./refs.mjs";
import { readRegular } from "./regular-file.mjs";
import { leaveOutSetup } from "./setup.mjs";

/** For the user's hooks. */
const COMMIT_MS = 600_000;
const STAGE_MS = 600_000;
const TRAILER = "Plan-Node";

/** @typedef {import("./repository.mjs").Repository} Repository */
/** @typedef {import("./worktrees.mjs").Worktree} Worktree */
/** @typedef {import("./changes.mjs").Change} Change */

/**
 * @typedef {object} Committed
 * @property {string} commit that of the attempt; where nothing was changed, the one at which it started
 * @property {boolean} made by this call
 * @property {Change[]} changes since the start
 */

/** @param {{plan: string, node: string, attempt: number}} of */
const trailerOf = ({ plan, node, attempt }) => `${TRAILER}: ${plan}/${node}/${attempt}`;

/**
 * @param {string} message @param {{plan: string, node: string, attempt: number}} of
 * @returns {string} with the trailer, and no other of its kind
 */
export function withTrailer(message, of) {
  const lines = checkMessage(message).split("\n");
  const text = lines
    .filter((line) => !/^plan-node\s*:/i.test(line))
    .join("\n")
    .trim();
  const last = text.split("\n\n").slice(1).at(-1) ?? "";
  const hasTrailers = last !== "" && last.split("\n").every((line) => /^[\w-]+: \S/.test(line));
  return `${text || "Work"}${hasTrailers ? "\n" : "\n\n"}${trailerOf(of)}\n`;
}

/** @param {Repository} repository @param {Worktree} worktree @returns {Promise<string>} */
async function headOf(repository, worktree) {
  const head = await headFile(worktree.admin);
  if (isCommit(head)) return head;
  const args = ["rev-parse", "--verify", "HEAD^{commit}"];
  const { stdout } = await repository.ask(args, inside(worktree));
  return stdout.trim();
}

/** Whether this attempt's commit was made by a call that was interrupted. @param {Repository} repository @param {Worktree} worktree @param {string} head */
async function isOwnCommit(repository, worktree, head) {
  if (head === worktree.commit) return false;
  const { stdout } = await repository.ask(["show", "--no-patch", "--format=%B", head]);
  return stdout.split("\n").includes(trailerOf(worktree));
}

/** `git add` would take conflict markers as they are. @param {Repository} repository @param {Worktree} worktree */
async function checkMerged(repository, worktree) {
  const index = await indexOf(worktree, repository.hexDigits, MARKED);
  if (index?.hasConflicts === false) return;
  const { stdout } = await repository.ask(["ls-files", "--unmerged", "-z"], inside(worktree));
  if (stdout === "") return;
  const paths = [
    ...new Set(
      stdout
        .split("\0")
        .filter(Boolean)
        .map((one) => one.split("\t")[1]),
    ),
  ];
  const text = `The work has ended within a merge: ${someOf(paths)} has conflicts. Let it resolve them and git add the files, or abort the merge. Then retry the node from the start.`;
  throw new GitError("UNMERGED", text, { paths });
}

/** @param {Repository} repository @param {Worktree} worktree @param {string} head @param {AbortSignal} [signal] @returns {Promise<Change[]>} what is to be committed */
async function stage(repository, worktree, head, signal) {
  const where = { ...inside(worktree), signal };
  const without = [EVIDENCE, ...(await broughtTo(worktree.admin))];
  const limits = { ...where, lasting: true, network: true, timeoutMs: STAGE_MS };
  await repository.change([...(await addOf(repository)), "--all", ...allBut(without)], limits);
  await leaveOutSetup(repository, worktree, where);
  const look = ["diff-index", "--cached", "--raw", "-z", "--no-renames", head];
  const staged = readRaw((await repository.ask(look, where)).stdout);
  if (!(await hasEvidence(repository, worktree, head, staged))) return staged;
  // The agent itself has added it.
  const remove = ["rm", "-r", "--cached", "--quiet", "--ignore-unmatch", "--", EVIDENCE];
  await repository.change(remove, where);
  return readRaw((await repository.ask(look, where)).stdout);
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
 * checkout.
 * @param {{path: string, admin: string}} worktree
 */
export async function checkLink({ path: place, admin }) {
  const named = await gitDirOf(place).catch(() => undefined);
  const log = await fs.lstat(path.join(admin, "logs", "HEAD")).catch(() => undefined);
  if (log && !log.isFile()) {
    const text = `"${path.join(admin, "logs", "HEAD")}" is no regular file: git cannot work in the worktree. Retry the node from the start.`;
    throw new GitError("BROKEN_WORKTREE", text, { path: place });
  }
  if (named === admin) return;
  const text = `"${path.join(place, ".git")}" was changed or deleted: the worktree cannot be used. Retry the node from the start.`;
  throw new GitError("BROKEN_WORKTREE", text, { path: place });
}

/** @param {unknown} error of `git commit` @param {number} timeoutMs */
function asRefusal(error, timeoutMs) {
  if (isGitError(error, "TIMEOUT")) {
    const text = `git commit was ended after ${timeoutMs / 1000} s: a hook of the repository may hang. A longer \`timeout\` gives it more.`;
    return new GitError("TIMEOUT", text);
  }
  if (!isGitError(error, "GIT_FAILED")) return error;
  const { said, details } = /** @type {GitError} */ (error);
  if (details.exitCode !== 1 || /^fatal: /m.test(said)) return error;
  const text = `A hook of the repository refused the commit: ${lastSaid(said) || "it said nothing"}. Do what it asks for, or change the hook.`;
  return new GitError("HOOK_FAILED", text, { said, exitCode: 1 });
}

/** @param {Repository} repository @param {Worktree} worktree @param {{message: string, hooks: boolean, timeoutMs: number, env?: Record<string, string>, signal?: AbortSignal}} options */
async function commitStaged(repository, worktree, { message, hooks, timeoutMs, env, signal }) {
  const args = ["commit", "--quiet", "--cleanup=whitespace", "--file=-"];
  const input = withTrailer(message, worktree);
  const folders = hooks ? stayIn(worktree.path) : inside(worktree).env;
  const limits = { hooks, timeoutMs, signal, lasting: true, network: true };
  const settings = ["commit.gpgSign=false"]; // it would ask for a passphrase
  const where = { cwd: worktree.path, env: { ...env, ...folders }, input, settings };
  await repository.change(args, { ...limits, ...where }).catch((error) => {
    throw asRefusal(error, timeoutMs);
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
 * @returns {Promise<Committed>}
 */
export async function commitWork(repository, worktree, options) {
  const { message, hooks = true, timeoutMs = COMMIT_MS, env, signal } = options;
  const ref = attemptRef(worktree.plan, worktree.node, worktree.attempt);
  checkMessage(message);
  const [there] = await commitsOf(repository, [ref]);
  const done = async (/** @type {string} */ commit, /** @type {boolean} */ made) => {
    if (!there && commit !== worktree.commit) await setOnce(repository, ref, commit);
    return { commit, made, changes: await changesBetween(repository, worktree.commit, commit) };
  };
  if (there) return done(there, false);
  await checkLink(worktree);
  await detach(repository, worktree);
  await checkMerged(repository, worktree);
  const head = await headOf(repository, worktree);
  if (await isOwnCommit(repository, worktree, head)) return done(head, false);
  const staged = await stage(repository, worktree, head, signal);
  if (staged.length === 0) return done(head, false);
  await checkNested(worktree, staged);
  await commitStaged(repository, worktree, { message, hooks, timeoutMs, env, signal });
  return done(await headOf(repository, worktree), true);
}
