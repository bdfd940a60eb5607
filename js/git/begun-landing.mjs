// A landing in a checkout of the user's. What is to be done is written down before git begins. Git goes on without the
// process that has started it. If git itself is cut off, its files are taken back: the landing can be tried again.

import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { messageOf } from "../base/errors.mjs";
import { sleep } from "../base/patience.mjs";
import { isStill, startOf } from "../base/process-identity.mjs";
import { gitDirOf, stayIn } from "./checkouts.mjs";
import { GitError, isGitError } from "./git-error.mjs";
import { changesBetween } from "./changes.mjs";
import { holdersOf } from "./holders.mjs";
import { placeOf } from "./index-file.mjs";
import { inTurn } from "../base/in-turn.mjs";
import { headFile } from "./ownership.mjs";
import { branchRef, commitsOf } from "./refs.mjs";
import { CLOCK_MS, readRegular } from "./regular-file.mjs";
import { takeBack } from "./taken-back.mjs";

const CHECKOUT_MS = 1_800_000;
const LOOK_MS = 50;
const LONGEST_LOOK_MS = 1000;
const MOST_BEGUN = 64 * 1024 * 1024;
const FLAGS = ["--ff-only", "--quiet", "--no-stat", "--no-verify-signatures", "--no-autostash"];

/** @typedef {import("./repository.mjs").Repository} Repository */

/**
 * @typedef {object} Begun
 * @property {string} target
 * @property {string} path of the checkout
 * @property {string} gitDir of it
 * @property {string} from the target's commit
 * @property {string} to
 * @property {string[]} had new files of `to` that were there before, untracked: the user's. Their bytes, as Latin-1
 * @property {number} at ms since 1970
 * @property {import("../base/process-identity.mjs").Identity} by the process that starts git
 */

/** @param {Repository} repository @param {string} target */
async function fileOf(repository, target) {
  const name = createHash("sha256").update(target).digest("hex").slice(0, 32);
  return path.join(await repository.ownFolder(), `landing-${name}`);
}

/**
 * One landing on a branch after the other.
 * @template T @param {Repository} repository @param {string} target @param {() => Promise<T>} work
 * @param {AbortSignal} [signal] of the wait for those before it
 * @returns {Promise<T>}
 */
export function inTurnOn(repository, target, work, signal) {
  let hasBegun = false;
  const begin = () => {
    hasBegun = true;
    return work();
  };
  return inTurn(`${repository.commonDir}\n${target}`, begin, signal).catch((error) => {
    if (hasBegun) throw error;
    throw new GitError("CANCELLED", `Another landing on "${target}" still goes on.`);
  });
}

/** @param {string} file @returns {Promise<string>} "": it is not there */
const textOf = (file) => readRegular(file, MOST_BEGUN).catch(() => "");

/** Another process may have written what it begins since. @param {string} file @param {string} text as which it began */
async function remove(file, text) {
  if ((await textOf(file)).startsWith(text)) fs.rmSync(file, { force: true });
}

/** @param {string} file @param {number} pid 0: none is at work any more */
function noteGit(file, pid) {
  try {
    fs.appendFileSync(file, `${pid} ${pid && startOf(pid)}\n`);
  } catch {
    // A full disk: git will say so.
  }
}

/**
 * @param {string} text of the file
 * @returns {{begun: Begun, git: Begun["by"]} | undefined} undefined: it was cut off, before git began
 */
function read(text) {
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

/** Git puts a file in the place of a folder only where that has nothing of the user's. @param {string} place @param {import("./changes.mjs").Change[]} changes */
const alreadyThere = (place, changes) =>
  changes
    .filter(({ kind }) => kind === "A")
    .map((change) => change.path)
    .filter((one) => {
      try {
        return !fs.lstatSync(placeOf(place, one)).isDirectory();
      } catch {
        return false;
      }
    });

/**
 * Git moves the branch of the checkout, with its files. Nothing cuts that off but its limit of time.
 * @param {Repository} repository @param {Omit<Begun, "had" | "at" | "by">} what
 * @param {(error: unknown) => boolean} isRefusal git has changed nothing
 */
export async function fastForward(repository, what, isRefusal) {
  const { target, path: cwd, from, to } = what;
  const had = alreadyThere(cwd, await changesBetween(repository, from, to, "latin1"));
  const by = { pid: process.pid, start: startOf(process.pid) };
  const begun = { ...what, had, at: Date.now(), by };
  const file = await fileOf(repository, target);
  const line = `${JSON.stringify(begun)}\n`;
  fs.writeFileSync(file, line, { flush: true });
  const onStart = (/** @type {number} */ pid) => noteGit(file, pid);
  const limits = { env: stayIn(cwd), network: true, timeoutMs: CHECKOUT_MS, onStart };
  try {
    await repository.change(["merge", ...FLAGS, "--no-overwrite-ignore", to], { cwd, ...limits });
  } catch (error) {
    const isDone = isRefusal(error) || (await takenBack(repository, begun, error));
    if (isDone) await remove(file, line);
    else noteGit(file, 0);
    throw isRefusal(error) ? error : cutOff(cwd, error, isDone);
  }
  await remove(file, line);
}

/**
 * Its folder may be away for a while, with something else in its place: nothing lands in it until it is back, or git
 * has forgotten it.
 * @param {Begun} begun
 */
const isAway = async ({ path: place, gitDir }) =>
  (await gitDirOf(place).catch(() => "")) !== gitDir && fs.existsSync(gitDir);

/** @param {Repository} repository @param {Begun} begun @param {unknown} error */
const takenBack = async (repository, begun, error) =>
  !(await isAway(begun)) &&
  undo(repository, begun, isGitError(error, "LOCKED")).then(
    () => true,
    () => false,
  );

/** @param {string} place @param {any} error @param {boolean} isTakenBack */
function cutOff(place, error, isTakenBack) {
  const now = isTakenBack
    ? `The files in "${place}" are as they were.`
    : `Some files in "${place}" may be those of the landing. The next try takes them back first.`;
  const advice = "If the disk is full, free some space. Then try again.";
  const text = `${error.message} ${now} ${advice}`;
  return new GitError(error.code ?? "GIT_FAILED", text, { ...error.details, cause: error });
}

/** @param {Repository} repository @param {Begun} begun @param {boolean} [isLocked] by somebody else */
async function undo(repository, begun, isLocked = false) {
  const { target, path: place, gitDir, from } = begun;
  if (!fs.existsSync(place)) return;
  const [at] = await commitsOf(repository, [branchRef(target)]);
  if (at !== from || (await headFile(gitDir)) !== `ref: ${branchRef(target)}`) return;
  const lock = path.join(gitDir, "index.lock");
  if (!isLocked) await freeIndex(place, lock, begun.at);
  if (fs.existsSync(lock)) {
    const text = `A git is at work in "${place}". Let it end, or remove "${lock}". Then try again.`;
    throw new GitError("LOCKED", text);
  }
  await takeBack(repository, begun);
}

/** The lock that the git of this landing has left. @param {string} place @param {string} lock @param {number} since */
async function freeIndex(place, lock, since) {
  const stat = fs.statSync(lock, { throwIfNoEntry: false });
  if (stat === undefined || stat.mtimeMs < since - CLOCK_MS) return;
  const holders = await holdersOf(place);
  if (holders && !holders.some(({ name }) => name.startsWith("git"))) fs.rmSync(lock);
}

/** @param {{begun: Begun, git: Begun["by"]}} found @param {AbortSignal} [signal] */
async function untilEnded({ begun, git }, signal) {
  for (let wait = LOOK_MS; isStill(git); wait = Math.min(2 * wait, LONGEST_LOOK_MS)) {
    if (signal?.aborted) {
      throw new GitError("CANCELLED", `A former landing in "${begun.path}" still goes on.`);
    }
    if (Date.now() > begun.at + CHECKOUT_MS) {
      const message = `A landing of tap in "${begun.path}" does not end. End its git, with the pid ${git.pid}, and try again.`;
      throw new GitError("TIMEOUT", message);
    }
    await sleep(wait);
  }
}

/**
 * What a former process has begun on a branch: waits for its git, and takes back what that has not ended. In turn.
 * @param {Repository} repository @param {string} target @param {AbortSignal} [signal]
 * @returns {Promise<string>} what cannot be taken back: it stays as it is, and is not tried again
 */
export async function endBegun(repository, target, signal) {
  const file = await fileOf(repository, target);
  const text = await textOf(file);
  if (text === "") return "";
  const found = read(text);
  if (found) {
    await untilEnded(found, signal);
    if (await isAway(found.begun)) return "";
    try {
      await undo(repository, found.begun);
    } catch (error) {
      // Later, it may work.
      if (isGitError(error, "LOCKED", "RACE", "DISK_FULL", "NO_GIT")) throw error;
      const aside = `${file}-${Date.now()}`;
      fs.renameSync(file, aside);
      return `Files that a landing has left in "${found.begun.path}" cannot be taken back: ${messageOf(error)} What was to land is in "${aside}".`;
    }
  }
  await remove(file, text);
  return "";
}

/** Where nothing lands. @param {Repository} repository @param {string} target @param {AbortSignal} [signal] aborted: nothing is waited for */
export const settleBegun = (repository, target, signal) =>
  inTurnOn(repository, target, () => endBegun(repository, target, signal), signal);
