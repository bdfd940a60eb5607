// `sandbox` of the user's config: what happens where plans cannot be sandboxed, and what a plan is granted without a
// question (docs/configuration.md, "The sandbox of plans").

import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { copilotHome, isInside } from "../lib/paths.mjs";
import { visible } from "../lib/visible.mjs";
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

/** As it is named, and without links. @param {string} folder */
function listNames(folder) {
  try {
    return [folder, fs.realpathSync(folder)];
  } catch {
    return [folder];
  }
}

/**
 * Why a sandbox cannot have a folder, whoever asks for it; "": it can. A folder that is there is given without links.
 * @param {string} folder absolute @param {{home?: string, copilot?: string}} [places] copilot: COPILOT_HOME
 */
export function explainRefusedFolder(folder, places = {}) {
  const { home = os.homedir(), copilot = copilotHome() } = places;
  if (path.dirname(folder) === folder) return "it is the whole file system";
  if (listNames(home).some((one) => isInside(one, folder))) return "it has your whole home";
  if (listNames(copilot).some((one) => isInside(one, folder) || isInside(folder, one)))
    return `tap and the CLI keep their own files in ${copilot}`;
  return folder.split(path.sep).includes(".git") ? "it belongs to git" : "";
}

/** @param {string} given @returns {boolean} a name, one with `*.` before it, or `*` */
export function isHostPattern(given) {
  if (given === "*" || net.isIPv4(given)) return true;
  const labels = given.replace(/^\*\./, "").split(".");
  const isName = labels.every((label) => LABEL.test(label)) && !/^\d+$/.test(labels.at(-1) ?? "");
  return given.length <= MAX_HOST && isName;
}

const folder = refine(text({ most: MAX_FOLDER, what: "a folder" }), (given, place) => {
  const isHome = given === "~" || given.startsWith("~/");
  if (!isHome && !path.isAbsolute(given))
    return place.expected("a folder, absolute or from ~/", given);
  const absolute = path.resolve(isHome ? path.join(os.homedir(), given.slice(1)) : given);
  const why = explainRefusedFolder(absolute);
  return why === ""
    ? absolute
    : place.problem(`${quoteText(given)} cannot be allowed: ${visible(why)}`);
});

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
