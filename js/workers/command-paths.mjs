// The paths that a command names, as absolute ones.

import path from "node:path";
import { reallyAt } from "./paths.mjs";
import { hostOf } from "./shell-command.mjs";
import { shellFolders } from "./shell-folders.mjs";
import { toldWords } from "./told-words.mjs";

/** @typedef {import("./shell-command.mjs").Segment} Segment */
/**
 * @typedef {object} Place
 * @property {string} cwd
 * @property {string} home
 * @property {(folder: string) => boolean} exists whether a text that begins with / is a path at all
 * @property {(file: string) => string} resolve of an absolute path: links resolved
 */

/** Where a shell reads its programs and their libraries from, and devices without a content. */
const SYSTEM =
  /^\/(usr|bin|sbin|lib|lib32|lib64|libx32|opt|nix|System|Library|Applications|snap)(\/|$)|^\/dev\/(null|zero|u?random|std(in|out|err)|tty|fd\/\d+)$/;

/** A program is told by them to be in another folder. */
const ELSEWHERE =
  /^-[A-Za-z]*[CD]$|^-[A-Za-z]*C[.~/]|^-C|^--?(dir|chdir|cwd|prefix|root|work|project|manifest|execdir|okdir|basedir)/;
/** They find their folder by themselves, or put words away for another command. */
const ROAMERS = new Set(
  "npm pnpm yarn bun cargo just rake mvn mvnw gradle gradlew patch printf read".split(" "),
);
/** With a blank in it, most texts are none. */
const PATH_WITH_BLANK = /^(\/|~|\.\.?\/|\$\{?(HOME|PWD)\b)|^(?!.*\s\.\.?\/).*\/\.\.(\/|$)/s;

/** What may be a path. `isHeld`: to the first folder, too. @typedef {{text: string, isHeld: boolean}} Word */

/** @param {Segment} segment @returns {{isLink: boolean, target: string, link: string}} */
function linkOf({ program, words }) {
  const options = words.filter((word) => word.startsWith("-"));
  const isLink = /^(ln|cp)$/.test(program) && options.some((word) => /^-\w*s|^--sym/.test(word));
  const names = words.filter((word) => !word.startsWith("-"));
  const isPlain =
    program === "ln" && names.length === 2 && options.every((one) => /^-[sfnvT]+$/.test(one));
  return isLink && isPlain
    ? { isLink, target: names[0], link: names[1] }
    : { isLink, target: "", link: "" };
}

/** @param {string} text @returns {string[]} */
const partsOf = (text) =>
  (hostOf(text) ? [] : text.split(/[:,](?!\/\/$)/)).filter(
    (part) => !/\s/.test(part) || PATH_WITH_BLANK.test(part),
  );

/** @param {Segment} segment @param {boolean} isShown @returns {Word[]} */
function wordsOf(segment, isShown) {
  const { program, name, before, words, files } = segment;
  const told = toldWords(segment, isShown);
  const { isLink, target } = linkOf(segment);
  const options = [...before, ...words].filter((word) => ELSEWHERE.test(word));
  const isMoved = options.length > 0 || ROAMERS.has(program) || isLink;
  const given = words.map((text, at) => {
    const isGoal = options.length === 1 && [text, words[at - 1]].includes(options[0]);
    return { text, isHeld: (isMoved && !isGoal) || /^\w+=/.test(text), isTold: told.has(at) };
  });
  const goesHome = program === "cd" && words.every((word) => /^-./.test(word));
  return [
    ...before.map((text) => ({ text, isHeld: true })),
    // what stands behind an option may be its value, and no program
    ...(before.at(-1)?.startsWith("-") ? [{ text: name, isHeld: true }] : []),
    ...given.filter(({ text, isTold }) => !isTold && text !== target),
    ...files.map((text) => ({ text, isHeld: false })),
    ...(goesHome ? [{ text: "~", isHeld: true }] : []),
  ].flatMap(({ text, isHeld }) =>
    partsOf(text).map((part) => ({ text: part, isHeld: isHeld && name !== "cd" })),
  );
}

/** @param {string} word @param {string} folder @param {Place} place @returns {string[]} */
function pathsIn(word, folder, { home, exists, resolve }) {
  const value = word
    .replace(/^-[A-Za-z](?=[~/.])|^-[A-Za-z]+(?=\.\.(\/|$))/, "")
    .replace(/^-*[\w-]+=(?=[~/.$])/, "")
    .replace(/^(~|\$HOME|\$\{HOME\})(?=\/|$)/, home)
    .replace(/^(~\+|\$PWD|\$\{PWD\})(?=\/|$)/, folder)
    .replace(/^\$\{PWD##\*\/\}/, "name");
  if (hostOf(value)) return [];
  // the home of another user, the folder before, and what is made of the folder's name
  if (/^(~([a-z_]|[-+\d]+(\/|$))|\$\{PWD\W)/i.test(value)) return [path.resolve("/", value)];
  if (!/^\/|(^|\/)\.\.(\/|$)|\//.test(value)) return [];
  const file = path.resolve(folder, value);
  const top = /^\/[^/]+/.exec(file)?.[0] ?? file;
  if (SYSTEM.test(file) || (value.startsWith("/") && !exists(top))) return [];
  return [file, reallyAt(folder, value, resolve)];
}

/** @param {Segment} segment @param {string} folder @param {Place} place @returns {string[]} where its `cd` would go */
function goalsOf({ program, words }, folder, { resolve }) {
  if (program !== "cd") return [];
  return words
    .filter((word) => !/^[-+~$]/.test(word))
    .flatMap((word) => [path.resolve(folder, word), reallyAt(folder, word, resolve)]);
}

/** A link says where it leads from its own folder. @param {Segment} segment @param {string} folder @param {Place} place */
function* linkedFrom(segment, folder, place) {
  const { target, link } = linkOf(segment);
  if (target === "") return;
  for (const at of [path.posix.dirname(link), link]) {
    for (const part of partsOf(target)) {
      yield* pathsIn(part, reallyAt(folder, at, place.resolve), place);
    }
  }
}

/**
 * Not programs and what belongs to the system. One after the other: who asks may have enough of them.
 * @param {string} text of the command @param {Segment[]} segments of it @param {Place} place
 * @returns {Generator<string, void, undefined>}
 */
export function* pathsOf(text, segments, place) {
  const places = shellFolders(text, segments, place.cwd, place.resolve);
  const lastPipe = segments.findLastIndex(({ lead }) => /(^|[^|])\|([^|]|$)/.test(lead));
  let hasLink = false;
  for (const [at, segment] of segments.entries()) {
    const { folders, isSure } = places[at];
    const words = wordsOf(segment, isSure && at >= lastPipe && !text.includes(">("));
    // Nobody knows yet where .. leads behind a link that is made before.
    const isUp = words.some(({ text: word }) => /(^|\/)\.\.(\/|$)/.test(word));
    if (hasLink && segment.name !== "cd" && (isUp || linkOf(segment).target.includes(".."))) {
      yield path.dirname(place.cwd);
    }
    hasLink ||= linkOf(segment).isLink;
    for (const folder of new Set([...folders, place.cwd])) {
      const isPossible = folders.includes(folder);
      for (const { text: word, isHeld } of words) {
        if (isPossible || isHeld) yield* pathsIn(word, folder, place);
      }
      if (!isPossible) continue;
      yield* linkedFrom(segment, folder, place);
      yield* goalsOf(segment, folder, place);
    }
  }
}
