// Words of a command that are text to its program, and no paths.

import { gitCommands } from "./git-command.mjs";

/** @typedef {import("./shell-command.mjs").Segment} Segment */

const GREPS = new Set(["grep", "egrep", "fgrep", "rg"]);
/** Flags of grep and rg without a value that is a file. */
const FLAGS = /^-[rRnilvwcoHhEFPsqzUax]+$/;
/** They look for what has changed. */
const LOGS = /^(log|show|diff|rev-list|whatchanged|reflog)$/;
/** They take a message. */
const NOTED = /^(commit|tag|merge)$/;

/** The pattern stands somewhere else. */
const OTHER_PATTERN = /^-[A-Za-z]*[ef]|^--[rf]/;

/** @param {string[]} words of grep @returns {number[]} */
function patternIn(words) {
  if (words.some((word) => OTHER_PATTERN.test(word))) return [];
  const at = words.findIndex((word) => !FLAGS.test(word));
  return at === -1 || words[at].startsWith("-") ? [] : [at];
}

/** @param {Segment} segment @returns {number[]} */
function toldToGit(segment) {
  const { name, words } = segment;
  const [call] = name === "git" ? gitCommands(segment) : [];
  if (!call) return [];
  const isLog = LOGS.test(call[0]);
  return words.flatMap((word, at) => {
    const isMessage = NOTED.test(call[0]) && /^(-\w*m|--message)$/.test(words[at - 1] ?? "");
    return isMessage || (isLog && /^(-[SG]|--(grep|author|committer)=)/.test(word)) ? [at] : [];
  });
}

/**
 * @param {Segment} segment
 * @param {boolean} isShown nothing in the command reads what it prints
 * @returns {Set<number>} which of its words are text
 */
export function toldWords(segment, isShown) {
  const { name, words } = segment;
  if (GREPS.has(name)) return new Set(patternIn(words));
  const isEcho = name === "echo" || (name === "printf" && !words[0]?.startsWith("-"));
  if (!isEcho || !isShown) return new Set(toldToGit(segment));
  // A shell lists the files that a pattern stands for.
  return new Set(words.flatMap((word, at) => (/[*?[]/.test(word) ? [] : [at])));
}
