// What a shell command has git do: whether it pushes, and whether it changes what the worktrees of a repository share.
// A reading of its text, as that of shell-command.mjs.

import path from "node:path";

/** @typedef {import("./shell-command.mjs").Segment} Segment */

const GIT_WITH_VALUE = new Set(["-C", "-c", "--git-dir", "--work-tree", "--namespace"])
  .add("--config-env")
  .add("--attr-source")
  .add("--super-prefix");

/** The subcommands of each git in a command, with what follows. @param {Segment} segment @returns {string[][]} */
export function gitCommands({ program, before, words }) {
  const all = [...before, program, ...words];
  return all.flatMap((word, at) => {
    const name = path.posix.basename(word);
    const own = /^git-([a-z-]+)$/.exec(name)?.[1];
    if (own && (word === program || word.includes("/"))) return [[own, ...all.slice(at + 1)]];
    if (name !== "git") return [];
    let next = at + 1;
    while (all[next]?.startsWith("-")) next += GIT_WITH_VALUE.has(all[next]) ? 2 : 1;
    return next < all.length ? [all.slice(next)] : [];
  });
}

const PUSHING = new Set(["push", "send-pack", "http-push", "send-email"]);
/** Commands of git with a push among their own. */
const PUSHING_IN = new Set(["subtree", "lfs", "svn", "p4", "annex"]);

/** An alias may be a push by another name. @param {Segment[]} segments */
export const pushes = (segments) =>
  segments.some((one) => {
    const calls = gitCommands(one);
    const named = calls.some(
      ([name, ...rest]) =>
        PUSHING.has(name) ||
        (PUSHING_IN.has(name) && rest.some((word) => /^(push|dcommit|submit|sync)$/.test(word))),
    );
    const all = [...one.before, ...one.words];
    return named || (calls.length > 0 && all.some((word) => /(^|=)alias\./i.test(word)));
  });

/** The letters of short options. @param {string[]} words */
const letters = (words) => words.filter((word) => /^-[a-zA-Z]{1,4}$/.test(word)).join("");
/** @param {string[]} words @param {RegExp} long git takes the beginning of a long option for it */
const hasLong = (words, long) => words.some((word) => long.test(word));
/** @param {string[]} words */
const plain = (words) => words.filter((word) => !word.startsWith("-"));

/** @param {string[]} words */
function setsConfig(words) {
  if (hasLong(words, /^(-f|--file(=.*)?|--blob(=.*)?)$/)) return false; // a file: a path as any other
  if (hasLong(words, /^--(unset|add|replace|rem|ren|edit?)/) || /e/.test(letters(words)))
    return true;
  if (hasLong(words, /^--(get|list)/) || /l/.test(letters(words))) return false;
  const [first, ...more] = plain(words);
  return !["get", "list", undefined].includes(first) && more.length > 0;
}

/** @param {string[]} names of what only reads; "" for no name at all @returns {(words: string[]) => boolean} */
const isNoneOf = (names) => (words) => !names.includes(plain(words)[0] ?? "");

/** Commands of git that change what is shared, whatever follows. */
export const SHARED_ALWAYS = ["update-ref", "gc", "prune", "repack", "maintenance", "fast-import"]
  .concat("filter-branch")
  .concat("filter-repo");

/** Those where it depends. @type {Map<string, (words: string[]) => boolean>} */
const SHARED = new Map([
  ["config", setsConfig],
  [
    "branch",
    (words) =>
      /[dDmMfCu]/.test(letters(words)) || hasLong(words, /^--(d|mov|forc|set-u|unset|edit)/),
  ],
  ["tag", (words) => /[df]/.test(letters(words)) || hasLong(words, /^--(d|forc)/)],
  ["checkout", (words) => /B/.test(letters(words))],
  ["switch", (words) => /C/.test(letters(words)) || hasLong(words, /^--force-c/)],
  ["symbolic-ref", (words) => hasLong(words, /^(-d|--del.*)$/) || plain(words).length > 1],
  ["stash", isNoneOf(["list", "show", "create"])],
  ["worktree", isNoneOf(["list"])],
  ["remote", isNoneOf(["", "get-url"])],
  ["reflog", (words) => /^(expire|delete|drop)$/.test(plain(words)[0])],
  ["replace", (words) => !/l/.test(letters(words)) && !hasLong(words, /^--list/)],
  ["sparse-checkout", isNoneOf(["list", "check-rules"])],
]);

/**
 * The command of git that changes what the worktrees of a repository share: refs, settings, the stash, other worktrees.
 * A commit and a new branch are not among them.
 * @param {Segment[]} segments @returns {string | undefined} such as "stash"
 */
export const sharedChange = (segments) =>
  segments
    .flatMap(gitCommands)
    .find(
      ([name, ...words]) => SHARED_ALWAYS.includes(name) || (SHARED.get(name)?.(words) ?? false),
    )?.[0];
