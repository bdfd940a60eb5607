// Words of a command that are text to its program, and no paths.

import { gitCommands } from "../git-policy.mjs";

/** @typedef {import("./shell-command.mjs").Segment} Segment */

const GREPS = new Set(["grep", "egrep", "fgrep", "rg"]);
/** Flags of grep and rg without a value that is a file. */
const FLAGS = /^-[rRnilvwcoHhEFPsqzUax]+$/;
/** They look for what has changed. */
const LOGS = /^(log|show|diff|rev-list|whatchanged|reflog)$/;
/** They take a message. */
const NOTED = /^(commit|tag|merge)$/;

/** The pattern stands somewhere else. */
const OTHER_PATTERN = /^-\w*[ef]|^--[rf]/;
/** rg prints what stands behind it. */
const REPLACES = /^-\w*r/;
/** They give a program another meaning. */
const DEFINES = /^(alias|function|hash|enable|eval|source|\.|(set|new)-alias|sal|nal)$/i;

/** They may read words from a file. */
const READS = /\b(xargs|read\w*|mapfile|tar|source|eval)\b/;

/** Whether a name may stand for another program behind it. @param {Segment} segment */
const definesWords = ({ name, before, words, lead }) =>
  lead.includes("?") ||
  DEFINES.test(name) ||
  [...before, ...words].some((word) => /^(PATH|ENV|BASH_\w+(%%)?)=/.test(word));

/** They get a sign that stands between fields, or is replaced. */
const SPLITS = /^(cut|tr|[gm]?awk|sort|paste|column)$/;
const SPLIT_BY = /^-[dFts]$/;
const SPLIT_BY_SLASH = /^-[dFts]\/$/;

/** @param {Segment} segment that splits @returns {number[]} */
const findSeparators = ({ name, words }) =>
  words.flatMap((word, at) => {
    const isAlone = word === "/" && (name === "tr" || SPLIT_BY.test(words[at - 1] ?? ""));
    return isAlone || SPLIT_BY_SLASH.test(word) ? [at] : [];
  });

/** A shell lists the files that it stands for. */
const PATTERN = /[*?[]/;

/** @param {Segment} segment of grep @returns {number[]} */
function findPattern({ name, words }) {
  const isOther = (/** @type {string} */ word) =>
    OTHER_PATTERN.test(word) || (name === "rg" && REPLACES.test(word));
  if (words.some(isOther)) return [];
  const at = words.findIndex((word) => !FLAGS.test(word));
  return at === -1 || words[at].startsWith("-") || PATTERN.test(words[at]) ? [] : [at];
}

/** @param {Segment} segment @returns {number[]} */
function findGitLiterals(segment) {
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
function findSegmentLiterals(segment, isShown) {
  const { name, words } = segment;
  if (GREPS.has(name)) return new Set(findPattern(segment));
  if (SPLITS.test(name)) return new Set(findSeparators(segment));
  const isEcho = name === "echo" || (name === "printf" && !words[0]?.startsWith("-"));
  if (!isEcho || !isShown) return new Set(findGitLiterals(segment));
  return new Set(words.flatMap((word, at) => (PATTERN.test(word) ? [] : [at])));
}

/**
 * @param {string} text of the command @param {Segment[]} segments of it
 * @returns {(at: number, isSure: boolean) => Set<number>} which words of one are text. `isSure`: nothing unknown has run
 */
export function findLiteralWords(text, segments) {
  if (segments.some(definesWords) || /\$\{?_(?!\w)/.test(text)) return () => new Set();
  const lastPipe = segments.findLastIndex(({ lead }) => /(^|[^|])\|([^|]|$)/.test(lead));
  const isRead = segments.some(({ isInner }) => isInner) || READS.test(text);
  return (at, isSure) => {
    const isKept = isRead && segments[at].files.length > 0;
    return findSegmentLiterals(
      segments[at],
      isSure && at >= lastPipe && !isKept && !text.includes(">("),
    );
  };
}
