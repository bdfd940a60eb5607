// `sandbox` of the user's config: what happens where plans cannot be sandboxed, and what a plan is granted without a
// question (docs/configuration.md, "The sandbox of plans").

import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { copilotHome, isInside } from "../lib/paths.mjs";
import { visible } from "../lib/visible.mjs";
import { CACHES } from "../process/sandbox.mjs";
import { quoteInput } from "./strict-reader.mjs";

/** @typedef {import("./strict-reader.mjs").Node} Node */
/** @typedef {import("./strict-reader.mjs").StrictReader} StrictReader */
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

/** @param {string} text @returns {boolean} a name, one with `*.` before it, or `*` */
export function isHostPattern(text) {
  if (text === "*" || net.isIPv4(text)) return true;
  const labels = text.replace(/^\*\./, "").split(".");
  const isName = labels.every((label) => LABEL.test(label)) && !/^\d+$/.test(labels.at(-1) ?? "");
  return text.length <= MAX_HOST && isName;
}

/** @param {StrictReader} reader @param {Node} node @returns {string} absolute; "": it is not one */
function parseFolder(reader, node) {
  const text = reader.string(node);
  if (node.type !== "string") return "";
  const isHome = text === "~" || text.startsWith("~/");
  const folder = path.resolve(isHome ? path.join(os.homedir(), text.slice(1)) : text);
  if (text.length > MAX_FOLDER || !(isHome || path.isAbsolute(text))) {
    const wanted = `a folder, absolute or from ~/, of at most ${MAX_FOLDER} characters`;
    reader.problem(node, `expected ${wanted}, found ${quoteInput(text)}`);
    return "";
  }
  const why = explainRefusedFolder(folder);
  if (why !== "") reader.problem(node, `${quoteInput(text)} cannot be allowed: ${visible(why)}`);
  return folder;
}

/** @param {StrictReader} reader @param {Node} node */
function parseHost(reader, node) {
  const host = reader.string(node).toLowerCase();
  if (node.type === "string" && !isHostPattern(host)) {
    const wanted = 'a host such as "example.com" or "*.example.com", or "*"';
    const rule = "without a scheme, port or path, and other letters than a to z as xn--";
    reader.problem(node, `expected ${wanted}, ${rule}, found ${quoteInput(host)}`);
  }
  return host;
}

/** @param {StrictReader} reader @param {Node} node @param {readonly string[]} words */
function parseWord(reader, node, words) {
  const word = reader.string(node);
  if (node.type === "string" && !words.includes(word))
    reader.problem(node, `expected one of ${words.join(", ")}, found ${quoteInput(word)}`);
  return word;
}

/** @type {Record<keyof SandboxGrants, (reader: StrictReader, node: Node) => string>} */
const GRANTS = {
  folders: parseFolder,
  readFolders: parseFolder,
  hosts: parseHost,
  caches: (reader, node) => parseWord(reader, node, Object.keys(CACHES)),
};

/** @param {StrictReader} reader @param {Node} node @returns {SandboxGrants} */
function parseGrants(reader, node) {
  const grants = { ...DEFAULT_SANDBOX.allow };
  for (const [name, value] of reader.fields(node, '"allow"', Object.keys(GRANTS))) {
    const grant = /** @type {keyof SandboxGrants} */ (name);
    if (!Object.hasOwn(GRANTS, name)) continue;
    const items = reader.list(value);
    const surplus = items[MAX_GRANTS];
    if (surplus) {
      reader.problem(surplus, `expected at most ${MAX_GRANTS} ${name}, found ${items.length}`);
      continue;
    }
    grants[grant] = [...new Set(items.map((item) => GRANTS[grant](reader, item)))];
  }
  return grants;
}

/** @param {StrictReader} reader @param {Node} node @returns {SandboxConfig} */
export function parseSandbox(reader, node) {
  const fields = reader.fields(node, '"sandbox"', ["fallback", "allow"]);
  const [fallback, allow] = ["fallback", "allow"].map((name) => fields.get(name));
  return {
    fallback: fallback ? /** @type {any} */ (parseWord(reader, fallback, FALLBACKS)) : "ask",
    allow: allow ? parseGrants(reader, allow) : { ...DEFAULT_SANDBOX.allow },
  };
}
