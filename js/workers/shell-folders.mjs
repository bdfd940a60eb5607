// In which folders the shell of a command may be, as far as its text says so. It moves by `cd`, and a `cd` counts as
// done only where what follows would not run without it: behind && alone. Whatever else may move a shell, or keeps a
// `cd` from being one, leaves all folders possible that there have been, the first one among them.

import path from "node:path";

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
/** Blanks that are none to a shell, what is replaced in more than one way, other input, and what changes `cd`. */
const UNCLEAR = /[^\S \t\n]|\$\{(?!\w+\})|<<|CDPATH/;

/** Whether it is `cd` and nothing else. @param {Segment} segment */
const isPlainMove = ({ name, before, words, files }) =>
  name === "cd" && before.length + files.length === 0 && words.length === 1 && PLAIN.test(words[0]);

/** Whether the shell is behind it where it was before. @param {Segment} segment */
const staysPut = ({ program, name, before, words }) =>
  before.every((word) => /^\w+=/.test(word)) &&
  (name === "" || PLAIN_PROGRAM.test(name)) &&
  !KEYWORDS.has(name) &&
  !MOVES.test(program) &&
  !MOVERS.has(program.toLowerCase()) &&
  !words.some((word) => MOVES.test(word));

/** So many folders are told apart. Each `cd` that may have failed can double them. */
const MOST_FOLDERS = 64;

class Walk {
  #resolve;
  #ever;
  /** @type {Set<string>} */
  #now;
  /** Whether all since the last ; or line break is joined by &&. */
  #isChain = true;
  #isLost;

  /** @param {string} cwd @param {(file: string) => string} resolve @param {boolean} isLost from the beginning */
  constructor(cwd, resolve, isLost) {
    this.#resolve = resolve;
    this.#ever = new Set([cwd]);
    this.#now = new Set([cwd]);
    this.#isLost = isLost;
  }

  get ever() {
    return [...this.#ever];
  }

  /** @param {Segment} segment @returns {string[]} where it may run */
  take(segment) {
    const { lead } = segment;
    if (!/^&&\n*$/.test(lead)) {
      this.#isChain = /^;?\n*$/.test(lead);
      this.#isLost ||= /[()`]/.test(lead);
      this.#now = new Set(this.#ever);
    }
    const isMove = isPlainMove(segment);
    this.#isLost ||= !isMove && !staysPut(segment);
    if (this.#isLost) this.#now = new Set(this.#ever);
    const before = [...this.#now];
    if (isMove) this.#move(segment.words[0]);
    return before;
  }

  /** @param {string} folder */
  #move(folder) {
    if (this.#ever.size >= MOST_FOLDERS) {
      // It may be anywhere: from the root, which is asked about first, each relative path leads out.
      this.#ever = new Set([path.parse(path.resolve(folder)).root, ...this.#ever]);
      this.#isLost = true;
      this.#now = new Set(this.#ever);
      return;
    }
    // By its name, and by where it really is: shells differ in what .. is behind a link.
    const next = [...this.#now].flatMap((from) => {
      const named = path.resolve(from, folder);
      return [named, this.#resolve(named)];
    });
    for (const one of next) this.#ever.add(one);
    this.#now = new Set(this.#isChain && !this.#isLost ? next : this.#ever);
  }
}

/**
 * @param {string} text of the command @param {Segment[]} segments of it @param {string} cwd
 * @param {(file: string) => string} resolve links
 * @returns {string[][]} for each: the folders in which it may run
 */
export function shellFolders(text, segments, cwd, resolve) {
  const walk = new Walk(cwd, resolve, UNCLEAR.test(text));
  const outer = segments.map((segment) => (segment.isInner ? [] : walk.take(segment)));
  return segments.map(({ isInner }, at) => (isInner ? walk.ever : outer[at]));
}
