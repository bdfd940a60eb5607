// What changed between two commits.

import { checkCommit } from "./names.mjs";

export const MOST_DIFF = 64 * 1024;

/** @typedef {import("./repository.mjs").Repository} Repository */
/** @typedef {{path: string, kind: string, mode: string, object: string}} Change kind: A, M, D or T; mode, object: after it */
/** @typedef {{path: string, from?: string, insertions: number, deletions: number, binary: boolean}} Lines */

/** @param {string} text of `--raw -z --no-renames` @returns {Change[]} */
export const readRaw = (text) =>
  [...text.matchAll(/:\d+ (\d+) \S+ (\S+) ([A-Z])\0([^\0]+)\0/g)].map(
    ([, mode, object, kind, path]) => ({ path, kind, mode, object }),
  );

/** @param {Repository} repository @param {string} from @param {string} to @param {"latin1"} [encoding] of paths: their bytes, which may be no UTF-8 @returns {Promise<Change[]>} */
export async function changesBetween(repository, from, to, encoding) {
  if (from === to) return [];
  const args = [
    "diff-tree",
    "-r",
    "-z",
    "--raw",
    "--no-renames",
    checkCommit(from),
    checkCommit(to),
  ];
  return readRaw((await repository.ask(args, { encoding })).stdout);
}

/** @param {string} text of `--numstat -z` @returns {Lines[]} */
function readNumstat(text) {
  const fields = text.split("\0");
  /** @type {Lines[]} */
  const all = [];
  for (let i = 0; i < fields.length - 1; ++i) {
    const [insertions, deletions, name] = fields[i].split(/\t(.*?)\t/s);
    const counts = {
      insertions: Number(insertions) || 0,
      deletions: Number(deletions) || 0,
      binary: insertions === "-",
    };
    if (name !== "") all.push({ path: name, ...counts });
    else {
      all.push({ path: fields[i + 2], from: fields[i + 1], ...counts });
      i += 2;
    }
  }
  return all;
}

/**
 * @param {Repository} repository @param {string} from @param {string} to
 * @returns {Promise<{files: Lines[], insertions: number, deletions: number}>}
 */
export async function linesBetween(repository, from, to) {
  const flags = ["--numstat", "-z", "-M", "--no-ext-diff", "--no-textconv"];
  const args = ["diff", ...flags, checkCommit(from), checkCommit(to), "--"];
  const files = readNumstat((await repository.ask(args)).stdout);
  const sum = (/** @type {"insertions" | "deletions"} */ what) =>
    files.reduce((total, one) => total + one[what], 0);
  return { files, insertions: sum("insertions"), deletions: sum("deletions") };
}

/**
 * @param {Repository} repository @param {string} from @param {string} to
 * @param {{mostBytes?: number, signal?: AbortSignal}} [options]
 * @returns {Promise<{text: string, cut: boolean}>}
 */
export async function diffBetween(repository, from, to, { mostBytes = MOST_DIFF, signal } = {}) {
  const flags = ["--no-color", "--no-ext-diff", "--no-textconv", "-M"];
  const args = ["diff", ...flags, checkCommit(from), checkCommit(to), "--"];
  const { stdout, cut } = await repository.ask(args, { mostBytes, cuts: true, signal });
  return { text: stdout, cut };
}
