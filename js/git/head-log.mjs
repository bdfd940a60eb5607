// What a worktree had checked out, one commit after the other: the log of its HEAD.

import path from "node:path";
import { isCommit } from "./names.mjs";
import { readRegular } from "./regular-file.mjs";

const MOST_LOG = 64 * 1024 * 1024;
const MOST_LOGGED = 500;

/** @typedef {{commit: string, what: string}} Logged what: how it came there, as git says it; hostile */

/** @param {string} text of the file @returns {Logged[]} the last ones, the latest at the end */
export const readHeadLog = (text) =>
  text
    .split("\n")
    .slice(-MOST_LOGGED - 1)
    .flatMap((line) => {
      const [values, what = ""] = line.split("\t");
      const commit = values.split(" ")[1] ?? "";
      return isCommit(commit) && !/^0+$/.test(commit) ? [{ commit, what }] : [];
    });

/** @param {string} admin git's folder of the worktree @returns {Promise<Logged[]>} */
export const headLog = async (admin) =>
  readHeadLog(await readRegular(path.join(admin, "logs", "HEAD"), MOST_LOG).catch(() => ""));
