// What a shell command has git do: whether it pushes, and whether it changes what the worktrees of a repository share.
// A reading of its text, as that of shell-command.mjs.

import path from "node:path";
import { AmbiguousCommand } from "./shell/shell-reader.mjs";

/** @typedef {import("./shell/shell-command.mjs").Segment} Segment */

const GIT_WITH_VALUE = new Set(["-C", "-c", "--git-dir", "--work-tree", "--namespace"])
  .add("--config-env")
  .add("--attr-source")
  .add("--super-prefix");

const MAX_CALLS = 64;

/** The subcommands of each git in a command, with what follows. @param {Segment} segment @returns {string[][]} */
export function gitCommands({ program, before, words }) {
  const all = [...before, program, ...words];
  let count = 0;
  return all.flatMap((word, at) => {
    const name = path.posix.basename(word);
    const own = /^git-([a-z-]+)$/.exec(name)?.[1];
    if (own && (word === program || word.includes("git-core/")))
      return [[own, ...all.slice(at + 1)]];
    if (name !== "git") return [];
    if (++count > MAX_CALLS) throw new AmbiguousCommand("too many words that are git");
    let next = at + 1;
    while (all[next]?.startsWith("-")) next += GIT_WITH_VALUE.has(all[next]) ? 2 : 1;
    return next < all.length ? [all.slice(next)] : [];
  });
}

const PUSHING = new Set(["push", "send-pack", "http-push", "send-email"]);
/** Commands of git with a push among their own. */
const PUSH_WRAPPERS = new Set(["subtree", "lfs", "svn", "p4", "annex"]);

/** An alias may be a push by another name. @param {Segment[]} segments */
export const pushes = (segments) =>
  segments.some((one) => {
    const calls = gitCommands(one);
    const named = calls.some(
      ([name, ...rest]) =>
        PUSHING.has(name) ||
        (PUSH_WRAPPERS.has(name) && rest.some((word) => /^(push|dcommit|submit|sync)$/.test(word))),
    );
    const all = [...one.before, ...one.words];
    return named || (calls.length > 0 && all.some((word) => /(^|=)alias\./i.test(word)));
  });

/** @param {string[]} words @param {RegExp} option git takes the beginning of a long option for it */
const has = (words, option) => words.some((word) => option.test(word));
/** @param {string[]} words */
const listOperands = (words) => words.filter((word) => !word.startsWith("-"));
/** @param {string[]} words @param {RegExp} options without their values */
const dropOptionValues = (words, options) =>
  words.filter((_, at) => !options.test(words[at - 1] ?? ""));

/** @param {string[]} given */
function setsConfig(given) {
  const words = dropOptionValues(given, /^--(type|default)$/);
  if (has(words, /^(-f|--file(=.*)?|--blob(=.*)?)$/)) return false; // a file: a path as any other
  if (has(words, /^(--(unset|add|replace|rem|ren|edit?)|-e$)/)) return true;
  if (has(words, /^(--(get|list)|-l$)/)) return false;
  const [first, ...more] = listOperands(words);
  return first === "edit" || (!["get", "list", undefined].includes(first) && more.length > 0);
}

/** @param {string[]} given */
const movesBranches = (given) =>
  has(
    dropOptionValues(given, /^--(sort|format)$/),
    /^(-[vqtrail]*[dDmMfCu]|--(d|mov|forc|set-u|unset|edit))/,
  );

/** Another branch than the one that is checked out. @param {string[]} words */
const rebasesAnother = (words) =>
  has(words, /^--update-r/) ||
  listOperands(dropOptionValues(words, /^(--onto|-s|--strategy|-X|--strategy-option|-x|--exec)$/))
    .length > 1;

/** @param {string[]} names of what only reads; "" for no name at all @returns {(words: string[]) => boolean} */
const hasOtherSubcommand = (names) => (words) => !names.includes(listOperands(words)[0] ?? "");
/** @param {string[]} names @returns {(words: string[]) => boolean} */
const hasSubcommand = (names) => (words) => names.includes(listOperands(words)[0]);

/** Commands of git that change what is shared, whatever follows. */
const SHARED_ALWAYS =
  "update-ref gc prune repack maintenance fast-import filter-branch filter-repo".split(" ");

/** Those where it depends. @type {Map<string, (words: string[]) => boolean>} */
const SHARED = new Map([
  ["config", setsConfig],
  ["branch", movesBranches],
  ["rebase", rebasesAnother],
  ["tag", (words) => has(words, /^(-[a-zA-Z]{0,2}[df]|--(d|forc))/)],
  ["checkout", (words) => has(words, /^(-[qflmdt]*B|--ignore-o)/)],
  ["switch", (words) => has(words, /^(-[qfmdt]*C|--(force-c|ignore-o))/)],
  ["symbolic-ref", (words) => has(words, /^(-d|--del.*)$/) || listOperands(words).length > 1],
  ["stash", hasOtherSubcommand(["list", "show", "create"])],
  ["worktree", hasOtherSubcommand(["list"])],
  ["remote", hasOtherSubcommand(["", "get-url", "show"])],
  ["notes", hasOtherSubcommand(["", "list", "show"])],
  ["reflog", hasSubcommand(["expire", "delete", "drop"])],
  ["rerere", hasSubcommand(["forget", "gc"])],
  ["refs", hasSubcommand(["migrate"])],
  ["lfs", hasSubcommand(["install", "uninstall", "prune"])],
  ["submodule", hasSubcommand(["deinit", "sync", "set-url"])],
  ["replace", (words) => !has(words, /^(-l$|--list)/)],
  ["sparse-checkout", hasOtherSubcommand(["list", "check-rules"])],
]);

/** Their words are text: what stands there is not run. */
export const TEXT_COMMANDS = new Set([
  "echo",
  "printf",
  "grep",
  "rg",
  "sed",
  "awk",
  "man",
  "which",
  "type",
]);

/**
 * The command of git that changes what the worktrees of a repository share: refs, settings, the stash, other worktrees.
 * A commit and a new branch are not among them.
 * @param {Segment[]} segments @returns {string | undefined} such as "stash"
 */
export const sharedChange = (segments) =>
  segments
    .filter(({ program }) => !TEXT_COMMANDS.has(program))
    .flatMap(gitCommands)
    .find(([name, ...words]) => {
      if (has(words, /^(-h|--help)$/)) return false;
      return SHARED_ALWAYS.includes(name) || (SHARED.get(name)?.(words) ?? false);
    })?.[0];
