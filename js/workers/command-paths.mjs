// The paths that a command names, as absolute ones.

import path from "node:path";
import { reallyAt } from "./paths.mjs";
import { hostOf } from "./shell-command.mjs";
import { shellFolders } from "./shell-folders.mjs";

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

/** What may be a path. @param {Segment} segment @returns {string[]} */
function textsOf({ program, before, words, files }) {
  const goesHome = program === "cd" && words.every((word) => /^-./.test(word));
  return [...before, ...words, ...files, ...(goesHome ? ["~"] : [])]
    .flatMap((text) => (hostOf(text) ? [] : text.split(/[:,](?!\/\/$)/)))
    .filter((word) => !/\s/.test(word));
}

/** @param {string} word @param {string} folder @param {Place} place @returns {string[]} */
function pathsIn(word, folder, { home, exists, resolve }) {
  const value = word
    .replace(/^-[A-Za-z](?=[~/.])/, "")
    .replace(/^-*[\w-]+=(?=[~/.$])/, "")
    .replace(/^(~|\$HOME|\$\{HOME\})(?=\/|$)/, home)
    .replace(/^(\$PWD|\$\{PWD\})(?=\/|$)/, folder);
  if (hostOf(value)) return [];
  if (/^~[a-z_]/i.test(value)) return [path.resolve("/", value)]; // the home of another user
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

/**
 * Not programs and what belongs to the system. One after the other: who asks may have enough of them.
 * @param {string} text of the command @param {Segment[]} segments of it @param {Place} place
 * @returns {Generator<string, void, undefined>}
 */
export function* pathsOf(text, segments, place) {
  const folders = shellFolders(text, segments, place.cwd, place.resolve);
  for (const [at, segment] of segments.entries()) {
    // Another program may be told to be elsewhere: it is held to the first folder, too.
    const isMove = segment.name === "cd";
    const from = isMove ? folders[at] : new Set([...folders[at], place.cwd]);
    const texts = textsOf(segment);
    for (const folder of from) {
      for (const word of texts) yield* pathsIn(word, folder, place);
      yield* goalsOf(segment, folder, place);
    }
  }
}
