// Globs of files below a folder, as in `onChange`: docs/emitters.md. A glob that can match no file is refused.

import path from "node:path";
import { loadAddon } from "./load-addon.mjs";

/** Never watched. */
export const IGNORED_FOLDERS = new Set([".git", "node_modules"]);

/** Syntax of other glob libraries, and a hint for each. */
const FOREIGN = /** @type {const} */ ([
  [/(?<!\\)[@!+?*]\([^)]*\)/, "(…) after a sign is not supported: write {a,b}"],
  [/\{[^{},]*\.\.[^{},]*\}/, "ranges in braces are not supported: write {1,2,3}, or [1-3]"],
  [/\[\[:\w+:\]/, "classes by name are not supported: write [a-z]"],
  [/\\([\w.]|$)/, "write / between folders; \\ quotes the sign after it"],
]);

/** Quotes a character. @param {string} sign */
const quote = (sign) => ("*?[{},".includes(sign) ? `[${sign}]` : sign);

/** `\[` is a bracket, as in a shell. @param {string} glob */
const readEscapes = (glob) =>
  glob.replaceAll(/\\([^])/gu, (_, /** @type {string} */ sign) => quote(sign));

/** Quotes folders of web frameworks' routes: [id], [...slug]. @param {string} glob */
const quoteRoutes = (glob) =>
  glob.replaceAll(/(?<=^|\/)\[[\w.[\]-]{2,}\](?=\/|$)/gu, (name) => name.replaceAll(/./gu, quote));

/** @param {string} glob without ! @returns {string[]} the globs to compile */
function listVariants(glob) {
  const own = readEscapes(path.posix.normalize(glob.replace(/(?<!\\)\/+$/u, "")));
  const both = [...new Set([own, quoteRoutes(own)])];
  // A folder includes its content.
  const last = own.slice(own.lastIndexOf("/") + 1);
  const isPattern = /[*?]/.test(last.replaceAll(/\[[*?]\]/g, ""));
  const all = isPattern ? both : both.flatMap((variant) => [variant, `${variant}/**`]);
  // Without a / a glob would match names in every folder.
  return all.map((variant) => (variant === "." ? "./**" : `./${variant}`).replace("././", "./"));
}

/** The folder or file at the start of a glob, before its first special character. @param {string} glob @returns {string} "": the top */
function findBase(glob) {
  const parts = listVariants(glob)[0].slice(2).split("/");
  const names = parts.map((part) => part.replaceAll(/\[(.)\]/gu, "\0$1"));
  const at = names.findIndex((name) => /(?<!\0)[*?[{]/u.test(name));
  return names
    .slice(0, at < 0 ? names.length : at)
    .join("/")
    .replaceAll("\0", "");
}

/** @param {string} glob @returns {string} why no file would match it; "" if files may match */
export function globProblem(glob) {
  const own = glob.replace(/^!/, "");
  const foreign = FOREIGN.find(([form]) => form.test(own));
  if (foreign) return foreign[1];
  const folder = own.split("/").find((part) => IGNORED_FOLDERS.has(part));
  if (folder && own === glob) return `${folder} is left out`;
  /** @type {ReturnType<typeof loadAddon>} */
  let addon;
  try {
    addon = loadAddon();
  } catch {
    return ""; // without the addon there are no watchers, and the doctor reports it
  }
  try {
    void new addon.Globs(listVariants(own));
    return "";
  } catch (error) {
    return /** @type {Error} */ (error).message;
  }
}

/**
 * @param {readonly string[]} globs those with ! exclude files
 * @returns {{bases: string[], matches: (file: string) => boolean}} `bases`: folders that contain all matches
 * @throws {RangeError} if a glob cannot match
 */
export function readGlobs(globs) {
  for (const glob of globs) {
    const problem = globProblem(glob);
    if (problem !== "") throw new RangeError(`${JSON.stringify(glob)}: ${problem}`);
  }
  const [wanted, ignored] = [false, true].map((isIgnored) =>
    globs
      .filter((glob) => glob.startsWith("!") === isIgnored)
      .map((glob) => (isIgnored ? glob.slice(1) : glob)),
  );
  if (wanted.length === 0) throw new RangeError("give a glob without !, too");
  const { Globs } = loadAddon();
  const [fits, leaves] = [wanted, ignored].map((some) => new Globs(some.flatMap(listVariants)));
  return {
    bases: [...new Set(wanted.map(findBase))],
    matches: (file) => fits.matches(file) && !leaves.matches(file),
  };
}
