// Removes a worktree: only one that tap has made, that no process works in, and after everything in it is kept. What
// was not removed, and why, is said.

import { execFile } from "node:child_process";
import fs from "node:fs/promises";
import path from "node:path";
import { gitDirOf } from "./checkouts.mjs";
import { GitError } from "./git-error.mjs";
import { holdersOf } from "./holders.mjs";
import { inTurn } from "../base/in-turn.mjs";
import { keep } from "./kept.mjs";
import { checkId, checkNonce, isCommit } from "./names.mjs";
import { adminOf, adminsFolder, adminsOf, folderOf, headFile, nonceOf } from "./ownership.mjs";
import { isThere } from "./regular-file.mjs";
import { lookInto, takeSnapshot } from "./snapshot.mjs";

/** The folder is put aside under such a name first. */
const ASIDE = ".removed-";

/** @typedef {import("./repository.mjs").Repository} Repository */
/** @typedef {import("./worktrees.mjs").Worktrees} Worktrees */

/**
 * What the caller has recorded of a worktree.
 * @typedef {object} Recorded
 * @property {string} plan
 * @property {string} node
 * @property {string} path
 * @property {string} nonce
 * @property {string} [commit] where it started
 * @property {string[]} [known] commits that have refs: git need not be asked about them
 *
 * @typedef {import("./snapshot.mjs").Kept} Kept
 *
 * @typedef {object} Removal
 * @property {boolean} removed
 * @property {Kept} [kept] what was in it
 * @property {string[]} [omitted] ignored files and folders that are too large to be kept
 * @property {string} [code] why it was not removed
 * @property {string} [message]
 * @property {import("./holders.mjs").Holder[]} [holders]
 */

/** Faster than Node.js. @param {string} folder @returns {Promise<void>} */
export function deleteFolder(folder) {
  const byNode = () => fs.rm(folder, { recursive: true, force: true, maxRetries: 3 });
  if (process.platform === "win32") return byNode();
  return new Promise((resolve, reject) => {
    execFile("rm", ["-rf", "--", folder], (error) => {
      if (error) byNode().then(resolve, reject);
      else resolve();
    });
  });
}

/** @param {string} code @param {string} message @param {Partial<Removal>} [rest] @returns {Removal} */
export const stays = (code, message, rest) => ({ removed: false, code, message, ...rest });

/** @param {string} place @param {import("./holders.mjs").Holder[]} holders */
export function heldBy(place, holders) {
  const names = holders.map(({ pid, name }) => `${pid} (${name})`).join(", ");
  const text = `"${place}" stays: process ${names} works in it. End it first.`;
  return stays("HELD", text, { holders });
}

/** @param {unknown} error @param {string} place @returns {Removal} */
export function refusal(error, place) {
  if (error instanceof GitError) {
    return stays(error.code, `"${place}" stays: ${error.message}`);
  }
  const { code = "", message } = /** @type {NodeJS.ErrnoException} */ (error);
  const isHeld = ["EBUSY", "EPERM", "EACCES", "ENOTEMPTY"].includes(code);
  return stays(isHeld ? "HELD" : "FAILED", `"${place}" stays: ${message}`);
}

/** @param {string} folder @param {Recorded} record */
const asideOf = (folder, record) =>
  path.join(folder, `${ASIDE}${record.nonce}-${path.basename(record.path)}`);

/** A git that was killed may have moved a worktree and not written down where it is. @param {Worktrees} worktrees @param {string} place @param {string} nonce */
async function finishMove({ repository }, place, nonce) {
  const admin = await gitDirOf(place).catch(() => undefined);
  if (admin === undefined || path.dirname(admin) !== adminsFolder(repository)) return;
  const known = await folderOf(admin);
  if (known === "" || known === place || (await nonceOf(admin)) !== nonce) return;
  if (!(await isThere(known))) await fs.writeFile(path.join(admin, "gitdir"), `${place}/.git\n`);
}

/**
 * After a crash: those of which anything is left, that is the folder, what a removal has put aside, or what git knows
 * of it. Nothing else may work with the plan's worktrees meanwhile.
 * @template {Recorded} R
 * @param {Worktrees} worktrees @param {{plan: string, nonce: string}} of @param {R[]} records
 * @returns {Promise<R[]>}
 */
export async function remainsOf(worktrees, { plan, nonce }, records) {
  const folder = await worktrees.folder();
  const names = new Set(await fs.readdir(folder));
  for (const name of names) {
    if (name.startsWith(`${plan}-`)) await finishMove(worktrees, path.join(folder, name), nonce);
  }
  const known = new Set(await Promise.all((await adminsOf(worktrees.repository)).map(folderOf)));
  return records.filter(
    (record) =>
      names.has(path.basename(record.path)) ||
      names.has(path.basename(asideOf(folder, record))) ||
      known.has(record.path),
  );
}

/**
 * @param {Worktrees} worktrees @param {Recorded} record
 * @param {{signal?: AbortSignal, why?: string}} [options]
 * @returns {Promise<Removal>} a second time: removed
 */
export async function removeWorktree(worktrees, record, { signal, why = "removed" } = {}) {
  checkId(record.plan, "plan");
  checkId(record.node, "node");
  checkNonce(record.nonce);
  const folder = await worktrees.folder();
  const aside = asideOf(folder, record);
  const outside = path.dirname(record.path) !== folder;
  if (outside) return stays("NOT_OURS", `"${record.path}" is not in "${folder}".`);
  try {
    const admin = await adminOf(worktrees.repository, record.path);
    const there = await isThere(record.path);
    const isOurs = admin !== undefined && (await nonceOf(admin)) === record.nonce;
    if ((there || admin) && !isOurs) {
      return stays("NOT_OURS", `"${record.path}" stays: tap has not made it for this plan.`);
    }
    if (!admin) {
      await deleteFolder(aside);
      return { removed: true };
    }
    const place = { ...record, admin };
    return await (there
      ? takeDown(worktrees, place, aside, { signal, why })
      : forget(worktrees, place, aside));
  } catch (error) {
    return refusal(error, record.path);
  }
}

/** @typedef {Recorded & {admin: string}} Placed */

/** @param {Worktrees} worktrees @param {Placed} place @param {string} aside @param {{signal?: AbortSignal, why: string}} options */
async function takeDown(worktrees, place, aside, { signal, why }) {
  const { repository } = worktrees;
  if ((await fs.lstat(place.path)).isSymbolicLink()) {
    return stays("NOT_OURS", `"${place.path}" stays: it is a link.`);
  }
  const holders = (await holdersOf(place.path)) ?? [];
  if (holders.length > 0) return heldBy(place.path, holders);
  const { kept, omitted } = await keepContents(repository, place, { signal, why });
  await fs.rename(place.path, aside);
  const late = (await holdersOf(aside)) ?? [];
  if (late.length > 0) {
    await fs.rename(aside, place.path);
    return heldBy(place.path, late);
  }
  await unregister(repository, place.path);
  await deleteFolder(aside);
  return { removed: true, ...(kept && { kept }), ...(omitted.length > 0 && { omitted }) };
}

/**
 * @param {Repository} repository @param {Placed} place @param {{signal?: AbortSignal, why: string}} options
 * @returns {Promise<import("./snapshot.mjs").Snapshot & {dirty: boolean}>} dirty: it is not as its commit
 */
export async function keepContents(repository, place, { signal, why }) {
  if (await isEmpty(place)) return { omitted: [], dirty: true };
  const contents = await lookInto(repository, place, place.known ?? [], signal);
  const dirty = contents.dirty || contents.ignored.length > 0;
  if (!dirty && contents.lost.length === 0) return { omitted: [], dirty };
  return { ...(await takeSnapshot(repository, place, contents, { why, signal })), dirty };
}

/** Nothing was checked out yet. @param {Placed} place */
async function isEmpty(place) {
  if (await isThere(path.join(place.admin, "index"))) return false;
  const names = await fs.readdir(place.path);
  return names.every((name) => name === ".git");
}

/** @param {Repository} repository @param {string} worktree whose folder is gone */
function unregister(repository, worktree) {
  const args = ["worktree", "remove", "--force", "--force", worktree];
  return inTurn(repository.commonDir, () => repository.change(args));
}

/** Its folder is gone: deleted by hand, or put aside by a call that was interrupted. @param {Worktrees} worktrees @param {Placed} place @param {string} aside @returns {Promise<Removal>} */
async function forget({ repository }, place, aside) {
  const head = await headFile(place.admin);
  const wasAside = await isThere(aside);
  /** @type {Kept | undefined} */
  let kept;
  if (!wasAside && isCommit(head) && !/^0+$/.test(head) && !(place.known ?? []).includes(head)) {
    kept = await keep(repository, place, head, "the folder was gone");
  }
  await unregister(repository, place.path);
  await deleteFolder(aside);
  return { removed: true, ...(kept && { kept }) };
}
