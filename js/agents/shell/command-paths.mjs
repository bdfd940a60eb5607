// The paths that a command names, as absolute ones.

import path from "node:path";
import { TEXT_COMMANDS } from "../git-policy.mjs";
import { reallyAt } from "../paths.mjs";
import { relativeWords } from "./relative-words.mjs";
import { parseHost } from "../hosts.mjs";
import { emptied } from "./empty-variables.mjs";
import { AmbiguousCommand } from "./shell-reader.mjs";
import { shellFolders } from "./shell-folders.mjs";
import { findLiteralWords } from "./literal-words.mjs";

/** @typedef {import("./shell-command.mjs").Segment} Segment */
/**
 * @typedef {object} Place
 * @property {string} cwd
 * @property {string} home
 * @property {(folder: string) => boolean} exists whether a text that begins with / is a path at all
 * @property {(word: string) => void} look before each of them: there may be too many
 * @property {(file: string) => string} resolve of an absolute path: links resolved
 */

/** Each is looked up on disk, from each folder in which the shell may be. */
export const MAX_PATHS = 1024;
const MAX_UP_LENGTH = 4096;

/** Where a shell reads its programs and their libraries from, and devices without a content. */
const SYSTEM =
  /^\/(usr|bin|sbin|lib|lib32|lib64|libx32|opt|nix|System|Library|Applications|snap)(\/|$)|^\/dev\/(null|zero|u?random|std(in|out|err)|tty|fd\/\d+)$/;

/** Their paths are relative to the shell's folder. All others may go elsewhere by an option, or find their folder. */
const PLAIN = new RegExp(
  `^((cat|ls|head|tail|wc|sort|uniq|cut|diff|file|stat|touch|mkdir|rmdir|cp|mv|rm|ln|chmod|realpath|readlink|` +
    `basename|dirname|test|\\[|\\[\\[|tee|[ef]?grep|rg|sed|awk|jq|find|echo|node|python3?|pip3?|tsc|eslint|` +
    `prettier|g?cc|[gc]\\+\\+|clang|unzip|\\w+sum) |cmake (?!--|-E)|(ba|z|da)?sh [^-+]|` +
    `npx (tsc|eslint|prettier) |git (add|commit|diff|log|show|status|rm|mv|restore|checkout|reset) )`,
);
/** Options of these that move them, or run another program. */
const MOVED = /^-(exec|ok|work|wrapper)|^--(pa|run|root|cwd)|^-[nErsz]*i.*\//;
/** As the first word: the folder of a program, relative to the shell's. */
const GOAL = /^(-C|--(prefix|directory|cwd|dir))(=|$|(?=[.~/]))/;
const MOVE = /^(mv|p?rename|mount)$/;
const UP = /\.\.(\/|$)/;
/** With a blank in it, most texts are none. */
const PATH_WITH_BLANK = /^(\/|~|\.\.?\/|\$\{?(HOME|PWD)\b)|^(?!.*\s\.\.?\/).*\/\.\.(\/|$)/s;

const MAY_BE_PATH = /\/|\.\.|~|\$\{?(HOME|PWD)/;

/** What may be a path. `isHeld`: to the first folder, too. @typedef {{text: string, isHeld: boolean}} Word */

/** @param {Segment} segment @returns {{isLink: boolean, target: string, link: string}} */
function parseLink({ program, words }) {
  const options = words.filter((word) => word.startsWith("-"));
  const isLink = /^(ln|cp)$/.test(program) && options.some((word) => /^-\w*s|^--sym/.test(word));
  const names = words.filter((word) => !word.startsWith("-"));
  const isPlain =
    program === "ln" && names.length === 2 && options.every((one) => /^-[sfnvT]+$/.test(one));
  return isLink && isPlain
    ? { isLink, target: names[0], link: names[1] }
    : { isLink, target: "", link: "" };
}

/** A folder in braces with a colon, which is no sign between two paths there. */
const CUT = /\$\{(PWD|OLDPWD|DIRSTACK):(?![-=+?])/;

/** @param {string} text @returns {string[]} */
function splitPaths(text) {
  if (parseHost(text)) return [];
  const cut = CUT.exec(text);
  return [...text.split(/[:,](?!\/\/$)/), ...(cut ? [text.slice(cut.index)] : [])].filter((part) =>
    /\s/.test(part) ? PATH_WITH_BLANK.test(part) : MAY_BE_PATH.test(part),
  );
}

/** @param {Segment} segment */
const isPlain = ({ program, before, words }) =>
  PLAIN.test(`${program} ${words[0] ?? ""} `) &&
  !before.some((word) => word.startsWith("-")) &&
  !words.some((word) => MOVED.test(word));

/** What it sends is in a file. @param {string} word of curl */
const sent = (word) => word.replace(/^(-[A-Za-z]+)?[\w-]*=?@(?=[~/.$])/, "");

/** @param {Segment} segment @param {Set<number>} told which of its words are text @returns {Word[]} */
function listWords(segment, told) {
  const { program, name, before, words, files, lead } = segment;
  const { isLink, target } = parseLink(segment);
  const isMoved = isLink || !isPlain(segment);
  const relative = relativeWords(segment);
  const [goal, , , end] = (before.length === 0 && GOAL.exec(words[0])) || [];
  const goals = goal === undefined ? 0 : goal === words[0] && end === "" ? 2 : 1;
  const given = words.map((word, at) => {
    const isHeld = (isMoved && at >= goals && !relative.has(at)) || /^\w+=/.test(word);
    return { text: program === "curl" ? sent(word) : word, isHeld, isTold: told.has(at) };
  });
  const goesHome = program === "cd" && words.every((word) => /^-./.test(word));
  return [
    ...before.map((text) => ({ text, isHeld: true })),
    // what stands behind an option may be its value, and in ( ) it may be that of an array: no program
    ...(before.at(-1)?.startsWith("-") || lead.endsWith("?") ? [{ text: name, isHeld: true }] : []),
    ...(words.some((word) => /^-(exec|ok)dir$/.test(word))
      ? words.map((word) => ({ text: /^\.\/*$/.test(word) ? "" : `${word}/..`, isHeld: true }))
      : []),
    ...given.filter(({ text, isTold }) => !isTold && text !== target),
    ...files.map((text) => ({ text, isHeld: false })),
    ...(program === "dirname" && words.some((word) => /^\$(PWD|\{PWD\})\/*$/.test(word))
      ? [{ text: "$PWD/..", isHeld: false }]
      : []),
    ...(goesHome ? [{ text: "~", isHeld: true }] : []),
  ].flatMap(({ text, isHeld }) =>
    [text, ...(text.includes("$") ? emptied(text) : [])]
      .flatMap(splitPaths)
      .map((part) => ({ text: part, isHeld: isHeld && name !== "cd" })),
  );
}

/** @param {string} word @param {string} folder @param {Place} place @returns {string[]} */
function resolvePaths(word, folder, { home, exists, resolve, look }) {
  look(word);
  const value = word
    .replace(/^-[A-Za-z](?=[~/.])|^-[A-Za-z]+(?=\.\.(\/|$))/, "")
    .replace(/^[\w.-]+=(?=[~/.$])|^@(?=[~/.$])/, "")
    .replace(/^(~(?=\/|$)|\$HOME(?!\w)|\$\{HOME\})/, home)
    .replace(/^(~\+(?=\/|$)|\$PWD(?!\w)|\$\{PWD\})/, folder)
    .replace(/^\$\{PWD##\*\/\}/, "name");
  if (parseHost(value)) return [];
  // the home of another user, the folder before, and what is made of the folder's name
  if (/^(~([a-z_]|[-+\d]+(\/|$))|\$\{PWD\W|\$\{?(OLDPWD|DIRSTACK))/i.test(value))
    return [path.resolve("/", value)];
  if (!/^\/|(^|\/)\.\.(\/|$)|\//.test(value)) return [];
  const file = path.resolve(folder, value);
  const top = /^\/[^/]+/.exec(file)?.[0] ?? file;
  if (SYSTEM.test(file) || (value.startsWith("/") && !exists(top))) return [];
  return [file, reallyAt(folder, value, resolve)];
}

/** @param {Segment} segment @param {string} folder @param {Place} place @returns {string[]} where its `cd` would go */
function resolveGoals({ program, words }, folder, { resolve, look }) {
  if (program !== "cd") return [];
  return words.flatMap((word) => {
    look(word);
    if (/^[-+~$]/.test(word)) return [];
    return [path.resolve(folder, word), reallyAt(folder, word, resolve)];
  });
}

/** A link says where it leads from its own folder. @param {Segment} segment @param {string} folder @param {Place} place */
function* linkedFrom(segment, folder, place) {
  const { target, link } = parseLink(segment);
  if (target === "") return;
  for (const at of [path.posix.dirname(link), link]) {
    for (const part of splitPaths(target)) {
      yield* resolvePaths(part, reallyAt(folder, at, place.resolve), place);
    }
  }
}

/** Whether a folder may lie somewhere else behind it. @param {Segment} segment @param {string[]} from @param {string[]} all folders @param {Place} place */
function moves({ program, words }, from, all, { cwd, resolve, look }) {
  const isOwn = MOVE.test(program) || (program === "git" && words[0] === "mv");
  if (!isOwn) {
    const isNamed = words.some((word) => MOVE.test(path.posix.basename(word)));
    return isNamed && program !== "git" && !TEXT_COMMANDS.has(program);
  }
  return words.some((word) => {
    if (/[$`]/.test(word)) return true;
    if (/(^|\/)\.\.?\/*$/.test(word)) return false;
    const files = from.flatMap((folder) => {
      look(word);
      const really = reallyAt(folder, word, resolve);
      return [path.resolve(folder, word), really, resolve(really)];
    });
    return files.some((file) => all.some((one) => one !== cwd && isAt(one, file)));
  });
}

/** @param {string} folder @param {string} file may be a pattern */
function isAt(folder, file) {
  const [head] = /^[^*?[]*/.exec(file) ?? [""];
  if (head === file) return `${folder}${path.sep}`.startsWith(`${file}${path.sep}`);
  const [tail] = /[^*?\]]*$/.exec(file) ?? [""];
  const [name] = folder.slice(head.length).split(path.sep);
  const isDeep = file.slice(head.length).includes(path.sep);
  return folder.startsWith(head) && (isDeep || name.endsWith(tail));
}

/**
 * Not programs and what belongs to the system. One after the other: who asks may have enough of them.
 * @param {string} text of the command @param {Segment[]} segments of it @param {Omit<Place, "look">} bounds
 * @returns {Generator<string, void, undefined>}
 */
export function* findPaths(text, segments, bounds) {
  let left = MAX_PATHS;
  const look = (/** @type {string} */ word) => {
    if (--left < 0) throw new AmbiguousCommand("too many paths");
    if (word.length > MAX_UP_LENGTH && UP.test(word))
      throw new AmbiguousCommand("a path that is too long");
  };
  const place = { ...bounds, look };
  const places = shellFolders(text, segments, place.cwd, place.resolve);
  const all = [...new Set(places.flatMap(({ folders }) => folders))];
  const findLiterals = findLiteralWords(text, segments);
  const links = segments.filter((segment) => parseLink(segment).isLink);
  const hasMove = segments.some((one, at) => moves(one, places[at].folders, all, place));
  for (const [at, segment] of segments.entries()) {
    const { folders, isSure } = places[at];
    const words = listWords(segment, findLiterals(at, isSure));
    // Nobody knows where .. leads behind a link that is made, or from a folder that is moved.
    const isUp =
      words.some(({ text: word }) => UP.test(word)) || UP.test(parseLink(segment).target);
    const hasLink = segment.name !== "cd" && links.some((one) => one !== segment || !isSure);
    if (isUp && (hasMove || hasLink)) yield path.dirname(place.cwd);
    for (const folder of new Set([...folders, place.cwd])) {
      const isPossible = folders.includes(folder);
      for (const { text: word, isHeld } of words) {
        if (isPossible || isHeld) yield* resolvePaths(word, folder, place);
      }
      if (!isPossible) continue;
      yield* linkedFrom(segment, folder, place);
      yield* resolveGoals(segment, folder, place);
    }
  }
}
