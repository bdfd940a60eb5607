// In which folders the shell of a command may be, as far as its text says so. It moves by `cd`, and a `cd` counts as
// done only where what follows would not run without it: behind &&, and behind ; after `set -e`. A subshell and a
// pipeline do not move the shell behind them. Whatever else may move a shell, or keeps a `cd` from being one, leaves
// all folders possible that there have been, the first one among them.

import path from "node:path";
import { AmbiguousCommand } from "./shell-reader.mjs";

/** @typedef {import("./shell-command.mjs").Segment} Segment */

/** They move the shell, may be told to, or make a `cd` something else. In lower case. */
const MOVERS = new Set(
  [
    ...["chdir", "pushd", "popd", "dirs", "eval", "source", ".", "exec", "builtin", "command"],
    ...["trap", "set", "unset", "shopt", "setopt", "unsetopt", "alias", "unalias", "enable"],
    ...["function", "mapfile", "readarray", "typeset", "declare", "local", "export", "readonly"],
    ...["set-location", "push-location", "pop-location", "sl", "set-alias", "new-alias", "sal"],
    ...["nal", "invoke-expression", "iex", "invoke-command", "icm"],
  ].flat(),
);
/** What a loop or a condition consists of. */
const KEYWORDS = new Set(
  "if then elif else fi for select while until do done case esac in coproc time [[ ]] { } !".split(
    " ",
  ),
);
const MOVES = /^(cd|chdir|pushd|popd)$/i;
/** A folder that no shell reads as anything else. */
const PLAIN = /^(?![-+~])[^\s$`*?[\]{}\\!<>|&;()'"~:,]+$/;
const PLAIN_PROGRAM = /^[\w.+@%/:[-]+$/;
/** Blanks that are none to a shell, other input, what changes `cd`, and what ends a word. */
const UNCLEAR = /[^\S \t\n]|<<|CDPATH|IFS/;
/** Some shells run what stands before it in the background. */
const BOTH_FILES = /&>/;

/** @param {Segment} segment */
const isTest = ({ name, words }) => name === "[[" && words.at(-1) === "]]";
/** @param {Segment} segment */
const isExport = ({ name, words }) =>
  name === "export" && words.every((word) => /^\w+=/.test(word));
/** `set` of what moves no shell. A redirection can keep it from being done. @param {Segment} segment */
const isSetting = ({ name, before, words, files }) =>
  name === "set" &&
  before.length + files.length === 0 &&
  words.every((word) => /^[-\w]+$/.test(word)) &&
  /^(-([euvx]+|[euvx]*o (pipefail|nounset|errexit))( |$))+$/.test(words.join(" "));

/** Whether the shell is behind it where it was before. @param {Segment} segment */
const staysPut = (segment) =>
  segment.before.every((word) => /^\w+=/.test(word)) &&
  !segment.words.some((word) => MOVES.test(word)) &&
  (isTest(segment) || isExport(segment) || isSetting(segment) || isPlain(segment));

/** @param {Segment} segment */
const isPlain = ({ program, name }) =>
  (name === "" || PLAIN_PROGRAM.test(name)) &&
  !KEYWORDS.has(name) &&
  !MOVES.test(program) &&
  !MOVERS.has(program.toLowerCase());

/** So many folders are told apart. Each `cd` that may have failed can double them. */
const MAX_FOLDERS = 64;
const MAX_MOVES = 4096;

/** @param {string} lead @returns {string[]} its operators; a line break after &&, | or ( ends no command */
const parseOperators = (lead) =>
  (lead.replace(/(&&|\||\()\n+/g, "$1").match(/&&|\|\||\|&|;;|[^]/g) ?? []).map((sign) =>
    sign === "|&" ? "|" : sign,
  );

/**
 * A shell, or a subshell. `ever`: where it has been; `isChain`: all since the last ; or line break is joined by &&;
 * `isJoined`: that is more than one command; `stops`: it ends where a command fails.
 * @typedef {{now: Set<string>, ever: Set<string>, isChain: boolean, isJoined: boolean, isLost: boolean, stops: boolean}} Shell
 */

class Walk {
  #resolve;
  #canRedirect;
  /** Where any of the shells has been. @type {Set<string>} */
  #all;
  /** @type {Shell} */
  #shell;
  #moves = 0;
  /** Those around it. @type {Shell[]} */
  #outer = [];

  /** @param {string} text @param {string} cwd @param {(file: string) => string} resolve */
  constructor(text, cwd, resolve) {
    this.#resolve = resolve;
    this.#canRedirect = !BOTH_FILES.test(text);
    this.#all = new Set([cwd]);
    const flags = { isChain: true, isJoined: false, stops: false, isLost: UNCLEAR.test(text) };
    this.#shell = { now: new Set([cwd]), ever: new Set([cwd]), ...flags };
  }

  get all() {
    return [...this.#all];
  }

  /** @param {Segment} segment @param {string} nextLead @returns {{folders: string[], isSure: boolean}} where it may run */
  take(segment, nextLead) {
    const signs = parseOperators(segment.lead);
    for (const sign of signs) this.#behind(sign);
    const [next] = parseOperators(nextLead);
    const isPiped = signs.at(-1) === "|" || next === "|";
    const shell = this.#shell;
    const isMove = this.#isPlainMove(segment);
    if (!isMove && !staysPut(segment)) this.#lose();
    if (isSetting(segment)) this.#set(segment, isPiped || next === "&");
    if (shell.isLost) shell.now = new Set(this.#all);
    const place = { folders: [...shell.now], isSure: !shell.isLost };
    if (isMove) this.#move(segment.words[0], isPiped);
    return place;
  }

  /** Whether it is `cd` and nothing else. @param {Segment} segment */
  #isPlainMove({ name, before, words, files }) {
    const isAlone = before.length === 0 && (files.length === 0 || this.#canRedirect);
    return name === "cd" && isAlone && words.length === 1 && PLAIN.test(words[0]);
  }

  #lose() {
    this.#shell.isLost = true;
    this.#shell.now = new Set(this.#all);
  }

  /** @param {string} sign */
  #behind(sign) {
    const shell = this.#shell;
    if (sign === "&&") shell.isJoined = true;
    else if (sign === "(") {
      const { now, isLost } = shell;
      const flags = { isChain: true, isJoined: false, isLost, stops: false };
      this.#outer.push(shell);
      this.#shell = { now: new Set(now), ever: new Set(now), ...flags };
    } else if (sign === ")" && this.#outer.length > 0) {
      this.#shell = /** @type {Shell} */ (this.#outer.pop());
    } else if (sign === ";" || sign === "\n") {
      if (!shell.stops || shell.isJoined || !shell.isChain) shell.now = new Set(shell.ever);
      shell.isChain = true;
      shell.isJoined = false;
    } else if (sign === "||" || sign === "&") {
      shell.now = new Set(shell.ever);
      shell.isChain = false;
      shell.isJoined = true;
    } else if (sign !== "|") this.#lose();
  }

  /** @param {Segment} segment @param {boolean} isElsewhere in another shell */
  #set({ words }, isElsewhere) {
    const { isChain, isJoined } = this.#shell;
    if (isElsewhere || !isChain || isJoined || this.#outer.length > 0) return;
    this.#shell.stops ||= words.some((word) => /^-\w*e|^errexit/.test(word));
  }

  /** @param {string} folder @param {boolean} isPiped some shells move, others do not */
  #move(folder, isPiped) {
    const shell = this.#shell;
    this.#moves += shell.now.size;
    if (this.#all.size > MAX_FOLDERS || this.#moves > MAX_MOVES) {
      throw new AmbiguousCommand("too many folders");
    }
    // By its name, and by where it really is: shells differ in what .. is behind a link.
    const next = [...shell.now].flatMap((from) => {
      const named = path.resolve(from, folder);
      return [named, this.#resolve(named)];
    });
    for (const one of next) {
      this.#all.add(one);
      shell.ever.add(one);
    }
    const isDone = shell.isChain && !shell.isLost && !isPiped;
    shell.now = new Set(isDone ? next : shell.isLost ? this.#all : shell.ever);
  }
}

/**
 * @param {string} text of the command @param {Segment[]} segments of it @param {string} cwd
 * @param {(file: string) => string} resolve links
 * @returns {{folders: string[], isSure: boolean}[]} for each: the folders in which it may run, and whether that is so
 */
export function shellFolders(text, segments, cwd, resolve) {
  const walk = new Walk(text, cwd, resolve);
  const outer = segments.filter(({ isInner }) => !isInner);
  const places = new Map(
    outer.map((segment, at) => [segment, walk.take(segment, outer[at + 1]?.lead ?? "")]),
  );
  const anywhere = { folders: walk.all, isSure: false };
  return segments.map((segment) => places.get(segment) ?? anywhere);
}
