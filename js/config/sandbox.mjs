// `sandbox` of the user's config: what happens where plans cannot be sandboxed, and what a plan is granted without a
// question (docs/configuration.md, "The sandbox of plans"). And `sandbox` of an emitter's or a provider's entry.

import net from "node:net";
import os from "node:os";
import path from "node:path";
import { quoteWord, visible } from "../lib/visible.mjs";
import { explainRefusedFolder } from "../process/entry-sandbox.mjs";
import { CACHES } from "../process/sandbox.mjs";
import { choice, list, object, quoteText, refine, text, usually } from "./schema.mjs";

/**
 * @typedef {object} SandboxConfig
 * @property {"ask" | "refuse" | "none"} fallback where there is no sandbox: "none" runs plans without one
 * @property {SandboxGrants} allow
 */
/**
 * Folders are absolute, without `..`; a link in one is not resolved.
 * @typedef {{folders: string[], readFolders: string[], hosts: string[], caches: string[]}} SandboxGrants
 */

/** @type {SandboxConfig["fallback"][]} */
const FALLBACKS = ["ask", "refuse", "none"];
const MAX_GRANTS = 1000;
const MAX_FOLDER = 1000;
const MAX_HOST = 253;
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** That of a user who does not say it. @type {SandboxConfig} */
export const DEFAULT_SANDBOX = {
  fallback: "ask",
  allow: { folders: [], readFolders: [], hosts: [], caches: [] },
};

/** @param {string} given @returns {boolean} a name, one with `*.` before it, or `*` */
export function isHostPattern(given) {
  if (given === "*" || net.isIPv4(given)) return true;
  const labels = given.replace(/^\*\./, "").split(".");
  const isName = labels.every((label) => LABEL.test(label)) && !/^\d+$/.test(labels.at(-1) ?? "");
  return given.length <= MAX_HOST && isName;
}

const isFromHome = (/** @type {string} */ given) => given === "~" || given.startsWith("~/");

/** @param {string} given @returns {string} absolute */
const resolveFolder = (given) =>
  path.resolve(isFromHome(given) ? path.join(os.homedir(), given.slice(1)) : given);

/** Why no program gets a folder that is named from the project's; "": it may. @param {string} given */
function explainRefusedPath(given) {
  const parts = path.normalize(given).split(path.sep).filter(Boolean);
  if (parts.includes(".git")) return "it belongs to git";
  return parts.every((part) => part === "." || part === "..") ? "it has the whole project" : "";
}

/**
 * What the text alone shows: whether the folder is there, is seen where it is used.
 * @param {{isInProject?: boolean}} [how] isInProject: it may be relative, and stays as it is written
 */
const createFolder = ({ isInProject = false } = {}) =>
  refine(text({ most: MAX_FOLDER, what: "a folder" }), (given, place) => {
    const isWhole = isFromHome(given) || path.isAbsolute(given);
    const from = isInProject ? "from the project, absolute or from ~/" : "absolute or from ~/";
    if (!isWhole && !isInProject) return place.expected(`a folder, ${from}`, given);
    const absolute = resolveFolder(given);
    const why = isWhole ? explainRefusedFolder(absolute) : explainRefusedPath(given);
    if (why !== "") return place.problem(`${quoteText(given)} cannot be allowed: ${visible(why)}`);
    return isInProject ? given : absolute;
  });

const folder = createFolder();

const host = refine(text({ blank: true }), (given, place) => {
  if (isHostPattern(given.toLowerCase())) return given.toLowerCase();
  const rule = "without a scheme, port or path, and other letters than a to z as xn--";
  return place.expected(`a host such as "example.com" or "*.example.com", or "*", ${rule}`, given);
});

/** @param {import("./schema.mjs").Schema<string>} item @param {string} what */
const grants = (item, what) =>
  usually(
    [],
    refine(list(item, { most: MAX_GRANTS, what }), (all) => [...new Set(all)]),
  );

/** @type {import("./schema.mjs").Schema<SandboxConfig>} */
export const sandbox = object('"sandbox"', {
  fallback: usually(DEFAULT_SANDBOX.fallback, choice(FALLBACKS)),
  allow: usually(
    DEFAULT_SANDBOX.allow,
    object('"allow"', {
      folders: grants(folder, "folders"),
      readFolders: grants(folder, "readFolders"),
      hosts: grants(host, "hosts"),
      caches: grants(choice(Object.keys(CACHES)), "caches"),
    }),
  ),
});

// `sandbox` of an entry, in which its program runs (docs/project-providers.md, "In a sandbox").

/** @typedef {import("../process/entry-sandbox.mjs").EntrySandbox} EntrySandbox */

const MAX_ENTRY_FOLDERS = 100;

/** @param {string} what */
const entryFolders = (what) =>
  usually(
    [],
    refine(list(createFolder({ isInProject: true }), { most: MAX_ENTRY_FOLDERS, what }), (all) => [
      ...new Set(all),
    ]),
  );

/** Without it the program has no sandbox. @type {import("./schema.mjs").Schema<EntrySandbox>} */
export const entrySandbox = object('"sandbox"', {
  writable: entryFolders("folders"),
  readFolders: entryFolders("folders"),
  allowedUrls: grants(host, "hosts"),
  caches: grants(choice(Object.keys(CACHES)), "caches"),
});

/**
 * For the user's consent: all that a sandbox lets its program do besides reading the system and the project.
 * @param {EntrySandbox} [entry] @returns {string[]} lines; none without a sandbox
 */
export function sandboxLines(entry) {
  if (!entry) return [];
  const { writable, readFolders, allowedUrls, caches } = entry;
  const parts = [
    { what: "writes", items: writable },
    { what: "reads", items: readFolders },
    { what: "reaches", items: allowedUrls },
    { what: "shares the caches of", items: caches },
  ];
  const opened = parts
    .filter(({ items }) => items.length > 0)
    .map(({ what, items }) => `${what} ${items.map((item) => quoteWord(item)).join(" ")}`);
  return [visible(["in a sandbox", ...opened].join("; "))];
}
