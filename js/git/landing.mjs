// The target follows the result of its plan, by fast-forward. If a checkout has the target, git moves it there,
// provided the checkout has no changes. Without a checkout, the ref is moved.

import { createHash } from "node:crypto";
import fsSync from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { withLock } from "../lib/keyed-mutex.mjs";
import { isSameProcess, readStartTime } from "../lib/process-identity.mjs";
import { sleep } from "../lib/timers.mjs";
import { errorMessage } from "../lib/values.mjs";
import { quoteWord, visible, wrapInQuotes } from "../lib/visible.mjs";
import {
  findBranchCheckouts,
  getCeilingEnvironment,
  inspectCheckout,
  resolveGitDir,
} from "./checkouts.mjs";
import { formatFiles, GitError, isGitError } from "./errors.mjs";
import { checkBranch, checkCommit } from "./git.mjs";
import { changesBetween, isAncestor } from "./merge.mjs";
import { processesUsing } from "./processes.mjs";
import { branchRef, moveRefs, readRefs, resolveRefs, resultRef } from "./refs.mjs";
import { CLOCK_SKEW_MS, readRegular } from "./repository.mjs";
import { readHead, readNonce } from "./worktree-admin.mjs";
import { toBytePath } from "./worktree-status.mjs";

/** @typedef {import("./repository.mjs").Repository} Repository */

// A landing in a checkout of the user's. A journal records it before git starts. Git survives the process that started
// it. If git itself is killed, tap changes no file, since any file may be the user's. tap lists the files and a command
// that restores them without loss.

const CHECKOUT_MS = 1_800_000;
const POLL_MS = 50;
const MAX_POLL_MS = 1000;
const FLAGS = ["--ff-only", "--quiet", "--no-stat", "--no-verify-signatures", "--no-autostash"];

/**
 * @typedef {object} LandingJournal
 * @property {string} target
 * @property {string} path of the checkout
 * @property {string} gitDir of it
 * @property {string} from the target's commit
 * @property {string} to
 * @property {number} at ms since 1970
 * @property {import("../lib/process-identity.mjs").Identity} by the process that starts git
 */

/** @param {Repository} repository @param {string} target */
async function journalFile(repository, target) {
  const name = createHash("sha256").update(target).digest("hex").slice(0, 32);
  return join(await repository.ownFolder(), `landing-${name}`);
}

/** The list of files that an interrupted landing left. @param {string} file its journal */
const listFile = (file) => `${file}-files`;

/** @param {string} root */
const checkoutOptions = (root) => ({
  ...{ cwd: root, env: getCeilingEnvironment(root), network: true, timeoutMs: CHECKOUT_MS },
  encoding: /** @type {const} */ ("latin1"),
});

/**
 * Lets only a single landing on a branch run at a time.
 * @template T @param {Repository} repository @param {string} target @param {() => Promise<T>} work
 * @param {AbortSignal} [signal] ends the wait for earlier landings
 * @returns {Promise<T>}
 */
export function withTargetLock(repository, target, work, signal) {
  let hasBegun = false;
  const begin = () => {
    hasBegun = true;
    return work();
  };
  return withLock(`${repository.commonDir}\n${target}`, begin, signal).catch((error) => {
    if (hasBegun) throw error;
    throw new GitError("CANCELLED", `A different landing on "${target}" is still in progress.`);
  });
}

/** @param {string} file @returns {Promise<string>} "" if it does not exist */
const readJournal = (file) => readRegular(file).catch(() => "");

/** Unless a later landing has replaced the journal. @param {string} file @param {string} text its start */
async function removeJournal(file, text) {
  if ((await readJournal(file)).startsWith(text)) fsSync.rmSync(file, { force: true });
}

/** @param {string} file @param {number} pid 0: git has ended */
function noteGit(file, pid) {
  try {
    fsSync.appendFileSync(file, `${pid} ${pid && readStartTime(pid)}\n`);
  } catch {
    // A full disk: git will say so.
  }
}

/**
 * @param {string} text of the file
 * @returns {{begun: LandingJournal, git: LandingJournal["by"]} | undefined} undefined: interrupted before git started
 */
function parseJournal(text) {
  const [first, ...started] = text.trimEnd().split("\n");
  const [pid, start = ""] = (started.at(-1) ?? "").split(" ");
  try {
    const begun = JSON.parse(first);
    const isAbout = started.length === 0 && begun.by.pid !== process.pid;
    return { begun, git: isAbout ? begun.by : { pid: Number(pid), start } };
  } catch {
    return undefined;
  }
}

/**
 * Git moves the branch of the checkout, with its files. Only the time limit interrupts it.
 * @param {Repository} repository @param {Omit<LandingJournal, "at" | "by">} landing
 * @param {(error: unknown) => boolean} isRefusal whether git made no changes
 */
export async function fastForward(repository, landing, isRefusal) {
  const { target, path: cwd, to } = landing;
  const by = { pid: process.pid, start: readStartTime(process.pid) };
  const begun = { ...landing, at: Date.now(), by };
  const file = await journalFile(repository, target);
  const line = `${JSON.stringify(begun)}\n`;
  fsSync.writeFileSync(file, line, { flush: true });
  const onStart = (/** @type {number} */ pid) => noteGit(file, pid);
  const args = ["merge", ...FLAGS, "--no-overwrite-ignore", to];
  try {
    await repository.change(args, { ...checkoutOptions(cwd), onStart });
  } catch (/** @type {any} */ error) {
    // With a lock on the index git has not started; with a lock on the branch it has written all files.
    const mayBeUnchanged = isRefusal(error) || isGitError(error, "LOCKED");
    if (!mayBeUnchanged || (await isWritten(repository, begun))) {
      noteGit(file, 0);
      return settleFailure(repository, begun, error);
    }
    await removeJournal(file, line);
    throw error;
  }
  await removeJournal(file, line);
  fsSync.rmSync(listFile(file), { force: true });
}

/** Recovers as after a killed git. @param {Repository} repository @param {LandingJournal} begun @param {any} error */
async function settleFailure(repository, { target, path, to }, error) {
  const left = await recoverLandingUnderLock(repository, target);
  const [at] = await resolveRefs(repository, [branchRef(target)]);
  if (at === to) return;
  const text = left || `The files in "${path}" are unchanged: try again.`;
  throw new GitError(error.code ?? "GIT_FAILED", `${error.message} ${text}`, {
    path,
    cause: error,
  });
}

/**
 * The folder may be missing for a while, with a different folder in its place. Landings wait until it is back, or git
 * has removed its registration.
 * @param {LandingJournal} begun
 */
const isAway = async ({ path: place, gitDir }) =>
  (await resolveGitDir(place).catch(() => "")) !== gitDir && fsSync.existsSync(gitDir);

/** Git writes all files, then the index, and then moves the branch. @param {Repository} repository @param {LandingJournal} begun */
async function isWritten(repository, { path: place, to }) {
  const args = ["diff-index", "--cached", "--quiet", to];
  const { code } = await repository.query(args, { ...checkoutOptions(place), codes: [0, 1] });
  return code === 0;
}

/**
 * @param {Repository} repository @param {LandingJournal} begun @param {string} file its journal
 * @returns {Promise<string>} the remaining files, and how to restore them; "": no such files
 */
async function settleCutOff(repository, begun, file) {
  const { target, path: place, gitDir, from, to } = begun;
  const ref = branchRef(target);
  const [at] = await resolveRefs(repository, [ref]);
  if (at !== from) return "";
  if (!fsSync.existsSync(place) || (await readHead(gitDir)) !== `ref: ${ref}`) return "";
  const lock = join(gitDir, "index.lock");
  await removeStaleIndexLock(place, lock, begun.at);
  if (fsSync.existsSync(lock)) {
    const text = `A git is at work in "${place}". Let it end, or remove "${lock}". Then try again.`;
    throw new GitError("LOCKED", text);
  }
  if (await isWritten(repository, begun)) {
    await moveRefs(repository, [{ ref, from, to }]);
    return "";
  }
  const names = await listChanged(repository, begun);
  return names.length === 0 ? "" : writeLeft(begun, names, listFile(file));
}

/** The landing's files that differ from the old commit. @param {Repository} repository @param {LandingJournal} begun @returns {Promise<string[]>} their bytes, as Latin-1, since names may not be UTF-8 */
async function listChanged(repository, { path: place, from, to }) {
  const args = ["diff", "--name-only", "-z", "--no-renames", "--ignore-submodules=all", from, "--"];
  const { stdout } = await repository.query(args, checkoutOptions(place));
  const tracked = new Set(stdout.split("\0"));
  const isNew = (/** @type {string} */ name) => {
    try {
      return !fsSync.lstatSync(toBytePath(place, name)).isDirectory();
    } catch {
      return false;
    }
  };
  return (await changesBetween(repository, from, to, { encoding: "latin1" }))
    .filter(({ path: name, kind }) => tracked.has(name) || (kind === "A" && isNew(name)))
    .map((change) => change.path);
}

/** A stash keeps the files of every author. @param {LandingJournal} begun @param {string[]} names @param {string} list */
function writeLeft({ target, path: place }, names, list) {
  fsSync.writeFileSync(list, Buffer.from(names.map((name) => `${name}\0`).join(""), "latin1"));
  const changed = names.map((name) => Buffer.from(name, "latin1").toString());
  const files = `--pathspec-from-file=${quoteWord(list)} --pathspec-file-nul`;
  const command = `git -C ${quoteWord(place)} --literal-pathspecs stash push --all ${files}`;
  return `A landing on "${target}" was interrupted in "${place}". ${formatFiles(changed)} may be written wholly or in part, by git or since then by you. To restore the old files, and keep the present ones in a stash: ${command}`;
}

/** Removes the lock of this landing's git. @param {string} place @param {string} lock @param {number} since */
async function removeStaleIndexLock(place, lock, since) {
  const stat = fsSync.statSync(lock, { throwIfNoEntry: false });
  if (stat === undefined || stat.mtimeMs < since - CLOCK_SKEW_MS) return;
  const holders = await processesUsing(place);
  if (holders && !holders.some(({ name }) => name.startsWith("git"))) fsSync.rmSync(lock);
}

/** @param {{begun: LandingJournal, git: LandingJournal["by"]}} found @param {AbortSignal} [signal] */
async function waitForGit({ begun, git }, signal) {
  for (let wait = POLL_MS; isSameProcess(git); wait = Math.min(2 * wait, MAX_POLL_MS)) {
    if (signal?.aborted) {
      throw new GitError(
        "CANCELLED",
        `An earlier landing in "${begun.path}" is still in progress.`,
      );
    }
    if (Date.now() > begun.at + CHECKOUT_MS) {
      const message = `A landing of tap in "${begun.path}" does not end. Stop its git, with the pid ${git.pid}, and try again.`;
      throw new GitError("TIMEOUT", message);
    }
    await sleep(wait);
  }
}

/**
 * Recovers a landing of an earlier process: waits for its git, and lists unfinished files. REQUIRES: the target's lock.
 * @param {Repository} repository @param {string} target @param {AbortSignal} [signal]
 * @returns {Promise<string>} the remaining files, and how to restore them. They are reported only once
 */
export async function recoverLandingUnderLock(repository, target, signal) {
  const file = await journalFile(repository, target);
  const text = await readJournal(file);
  if (text === "") return "";
  const found = parseJournal(text);
  let left = "";
  if (found) {
    await waitForGit(found, signal);
    const { path: place } = found.begun;
    if (await isAway(found.begun))
      return `A landing was interrupted in "${place}", which is missing.`;
    try {
      left = await settleCutOff(repository, found.begun, file);
    } catch (error) {
      // A later try may succeed.
      if (isGitError(error, "LOCKED", "RACE", "DISK_FULL", "NO_GIT")) throw error;
      left = `The files of an interrupted landing in "${place}" cannot be listed: ${errorMessage(error)} To list all changes there: git -C ${quoteWord(place)} status`;
    }
  }
  await removeJournal(file, text);
  return left;
}

/** Recovery without a landing. @param {Repository} repository @param {string} target @param {AbortSignal} [signal] ends the wait for other landings */
export const recoverLanding = (repository, target, signal) =>
  withTargetLock(
    repository,
    target,
    () => recoverLandingUnderLock(repository, target, signal),
    signal,
  );

// Whether a branch can be created: git cannot have both `main` and `main/sub`.

/** @param {string} branch @returns {string[]} the prefixes of its name: `a` and `a/b` for `a/b/c` */
const listParentNames = (branch) =>
  branch
    .split("/")
    .slice(0, -1)
    .map((_, at, parts) => parts.slice(0, at + 1).join("/"));

/**
 * @param {string} branch @param {string[]} branches that exist
 * @returns {string | undefined} the branch in its way
 */
export const findBlockingBranch = (branch, branches) =>
  branches.includes(branch)
    ? undefined
    : branches.find(
        (other) => listParentNames(branch).includes(other) || other.startsWith(`${branch}/`),
      );

/** @param {string} branch @param {string} other */
export const formatBlocked = (branch, other) =>
  `${wrapInQuotes(visible(branch))} cannot be created while the branch ${wrapInQuotes(visible(other))} exists: git cannot store a branch below a different branch.`;

/** @param {Repository} repository @param {string} branch checked @returns {Promise<string | undefined>} the branch in its way */
export async function readBlockingBranch(repository, branch) {
  const refs = await readRefs(repository, [branch, ...listParentNames(branch)].map(branchRef));
  const heads = branchRef("").length;
  return findBlockingBranch(
    branch,
    refs.map(({ ref }) => ref.slice(heads)),
  );
}

/** @param {Repository} repository @param {string} target @throws {GitError} if it does not exist and cannot be created */
export async function requireFreeName(repository, target) {
  const other = await readBlockingBranch(repository, checkBranch(target, "targetBranch"));
  if (other === undefined) return;
  throw new GitError(
    "NAME_TAKEN",
    `${formatBlocked(target, other)} Choose a different targetBranch.`,
  );
}

const CHANGED = /local changes/i;
const UNTRACKED = /untracked working tree files|would lose untracked files/i;

/**
 * @typedef {object} Landing
 * @property {"landed" | "dirty" | "lost" | "moved" | "gone" | "taken"} status dirty: a checkout of it has changes;
 *   lost: it was moved meanwhile; moved: it has commits that the result does not have, so integrate first; gone: it was
 *   deleted; taken: a branch is in its way
 * @property {string} [commit] landed: where the target is
 * @property {boolean} [again] landed: it was there before
 * @property {string} [path] of the checkout
 * @property {string[]} [changed] files in it
 * @property {string} [message]
 */

const TIDY = "Commit or stash that";
const NODES = "a worktree of a node";
const NODES_ADVICE = "Let that node end, or run git checkout --detach there";

/** @param {string} target @param {string} path @param {string[]} changed @param {string} why @param {string} [advice] @returns {Landing} */
const reportDirty = (target, path, changed, why, advice = TIDY) => ({
  status: "dirty",
  path,
  changed,
  message: `"${target}" is checked out in "${path}", ${why}. ${advice} first.`,
});

/**
 * Creates a branch, unless it exists.
 * @param {Repository} repository @param {string} target @param {string} commit
 * @returns {Promise<boolean>} whether it was made
 */
export function createTarget(repository, target, commit) {
  const ref = branchRef(checkBranch(target, "targetBranch"));
  return moveRefs(repository, [{ ref, from: undefined, to: checkCommit(commit) }]);
}

/**
 * @param {Repository} repository
 * @param {{plan: string, target: string, create?: boolean, expect?: string, signal?: AbortSignal}} request create:
 *   creates a missing target; expect: the result; if it differs, the status is "lost"
 * @returns {Promise<Landing>}
 */
export function land(repository, request) {
  checkBranch(request.target, "targetBranch");
  const work = async () => {
    const left = await recoverLandingUnderLock(repository, request.target, request.signal);
    const landing = await landUnderLock(repository, request);
    if (left === "" || landing.status !== "dirty") return landing;
    return { ...landing, message: `${landing.message} ${left}` };
  };
  return withTargetLock(repository, request.target, work, request.signal);
}

/** @param {Repository} repository @param {Parameters<typeof land>[1]} request @returns {Promise<Landing>} */
async function landUnderLock(repository, { plan, target, create = false, expect, signal }) {
  const ref = branchRef(target);
  const [at, result] = await resolveRefs(repository, [ref, resultRef(plan)]);
  if (result === undefined) {
    throw new GitError("NOTHING_TO_LAND", `Plan "${plan}" has no result to land.`);
  }
  if (expect !== undefined && result !== expect) {
    const message = `The result of plan "${plan}" was changed by a different program.`;
    return { status: "lost", message };
  }
  if (at === undefined) {
    if (!create) return reportGone(target, result);
    const other = await readBlockingBranch(repository, target);
    if (other !== undefined) return reportTaken(plan, target, other);
  } else {
    if (await isAncestor(repository, result, at))
      return { status: "landed", commit: at, again: true };
    if (!(await isAncestor(repository, at, result))) {
      return {
        status: "moved",
        message: `"${target}" has new commits that the result does not have.`,
      };
    }
    const places = await findBranchCheckouts(repository, target);
    if (places.length > 0) {
      const refused =
        (await findRefusal(repository, target, places)) ??
        (await refuseChangedFilter(repository, places[0], { target, at, result }));
      return refused ?? landInCheckout(repository, places[0], { target, at, result, signal });
    }
  }
  const moved = await moveRefs(repository, [{ ref, from: at, to: result }]);
  return moved ? { status: "landed", commit: result, again: false } : reportLost(target);
}

/** @param {string} target @param {string} result @returns {Landing} */
const reportGone = (target, result) => ({
  status: "gone",
  message: `The branch "${target}" was deleted. To make it again with all that waits for it: git branch "${target}" ${result}`,
});

/** @param {string} plan @param {string} target @param {string} other @returns {Landing} */
const reportTaken = (plan, target, other) => ({
  status: "taken",
  message: `${formatBlocked(target, other)} Rename or delete ${wrapInQuotes(visible(other))}, and retry the node, or merge ${resultRef(plan)} by hand.`,
});

/** @param {string} target @returns {Landing} */
const reportLost = (target) => ({
  status: "lost",
  message: `"${target}" was changed by a different program.`,
});

/** @param {Repository} repository @param {string} target @param {import("./checkouts.mjs").BranchCheckout[]} places @returns {Promise<Landing | undefined>} */
async function findRefusal(repository, target, places) {
  for (const { path, gitDir } of places) {
    const isOwn = gitDir && (await readNonce(gitDir)) !== "";
    if (isOwn) return reportDirty(target, path, [], NODES, NODES_ADVICE);
  }
  const [{ path }, other] = places;
  if (other) {
    const advice = "Check out a different branch in either of them";
    return reportDirty(target, path, [], `and in "${other.path}"`, advice);
  }
  const { isThere, clean, changed, operation } = await inspectCheckout(repository, places[0]);
  if (!isThere) {
    const advice = `Bring it back, or remove it with git worktree remove --force --force "${path}"`;
    return reportDirty(target, path, [], "whose folder or .git is gone", advice);
  }
  if (operation) return reportDirty(target, path, changed, `in the middle of ${operation}`);
  return clean ? undefined : reportDirty(target, path, changed, "which has changes");
}

/** A word that names a file: with a folder, or an ending. @param {string} word */
const isFileWord = (word) => /[./]/.test(word) && !word.startsWith("-");

/** Files in the filter commands of the user's git. @param {Repository} repository @param {string} root of a checkout @returns {Promise<string[]>} relative to the checkout */
async function listFilterFiles(repository, root) {
  const parts = String.raw`^filter\..*\.(clean|smudge|process)$`;
  const args = ["config", "-z", "--get-regexp", parts];
  const { stdout } = await repository.query(args, { cwd: root, codes: [0, 1] });
  const commands = stdout.split("\0").map((entry) => entry.slice(entry.indexOf("\n") + 1));
  const words = commands.flatMap((command) => command.split(/[\s"'=;|&()<>]+/)).filter(isFileWord);
  return words.map((word) => relative(root, resolve(root, word)).split(sep).join("/"));
}

/**
 * A filter may be a program of the tree. Git would run the node's version of it in the checkout, without a sandbox.
 * @param {Repository} repository @param {import("./checkouts.mjs").BranchCheckout} place
 * @param {{target: string, at: string, result: string}} commits @returns {Promise<Landing | undefined>}
 */
async function refuseChangedFilter(repository, { path: root }, { target, at, result }) {
  const files = await listFilterFiles(repository, root);
  if (files.length === 0) return undefined;
  const folders = files.map(dirname).filter((folder) => folder !== ".");
  const changed = (await changesBetween(repository, at, result))
    .map((change) => change.path)
    .filter(
      (name) => files.includes(name) || folders.some((folder) => name.startsWith(`${folder}/`)),
    );
  if (changed.length === 0) return undefined;
  const why = `and the result changes ${formatFiles(changed)}, which a filter of your git runs`;
  const advice = `Look at it, and run git -C ${quoteWord(root)} merge ${result}`;
  return reportDirty(target, root, changed, why, advice);
}

/** @param {string} target @param {string} path @param {unknown} error @returns {Landing | undefined} */
function toRefusal(target, path, error) {
  if (!isGitError(error, "GIT_FAILED")) return undefined;
  const { said: output } = /** @type {GitError} */ (error);
  if (/fast-forward/i.test(output)) return reportLost(target);
  const isUntracked = UNTRACKED.test(output);
  if (!isUntracked && !CHANGED.test(output)) return undefined;
  const files = [...output.matchAll(/^\t(.+)$/gm)].map(([, file]) => file.trim());
  const all = formatFiles(files);
  if (!isUntracked) return reportDirty(target, path, files, `which has changes in ${all}`);
  const why = `where the landing would overwrite ${all}, which git does not track`;
  return reportDirty(target, path, files, why, "Move that away");
}

/**
 * @param {Repository} repository @param {import("./checkouts.mjs").BranchCheckout} place that is clean
 * @param {{target: string, at: string, result: string, signal?: AbortSignal}} commits
 * @returns {Promise<Landing>}
 */
async function landInCheckout(repository, { path, gitDir = "" }, { target, at, result, signal }) {
  if (signal?.aborted) throw new GitError("CANCELLED", "The landing was cancelled.");
  // Git moves whatever is checked out.
  if ((await readHead(gitDir)) !== `ref: ${branchRef(target)}`) return reportLost(target);
  const refusal = (/** @type {unknown} */ error) => toRefusal(target, path, error);
  try {
    const landing = { target, path, gitDir, from: at, to: result };
    await fastForward(repository, landing, (error) => refusal(error) !== undefined);
  } catch (error) {
    const refused = refusal(error);
    if (refused) return refused;
    throw error;
  }
  const [now] = await resolveRefs(repository, [branchRef(target)]);
  if (now === result) return { status: "landed", commit: result, again: false, path };
  const head = await readHead(gitDir);
  if (head === `ref: ${branchRef(target)}`) return reportLost(target);
  const text = `A different branch was checked out in "${path}" just before "${target}" landed there, and may have the result now. If it does: git reset --keep ORIG_HEAD. Then try again.`;
  throw new GitError("REF_CHANGED", text, { path });
}
