// `new`: a provider with a test, in a new folder, that runs at once.

import fs from "node:fs";
import path from "node:path";
import { programFolder } from "../lib/paths.mjs";
import { stableFolder } from "../lib/release-use.mjs";

const TEMPLATES = path.join(programFolder, "sdk", "templates");

export const LANGUAGES = ["node", "python"];

/** A name that npm, Python and the file system accept; a tool's name is derived from it. */
const NAME = /^[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*$/;
const MAX_NAME_LENGTH = 40;

/** npm does not pack hidden files, so templates have an underscore instead of the dot. */
const TARGETS = { _gitignore: ".gitignore" };

/** The SDK's name in the project, and its location. The link is only for this machine, and not committed. */
function getSdkLink(/** @type {string} */ language) {
  const tap = stableFolder();
  if (language === "node") return { at: path.join("node_modules", "copilot-tap"), to: tap };
  const program = tap === programFolder ? tap : path.join(tap, "current");
  return { at: "copilot_tap", to: path.join(program, "sdk", "python", "copilot_tap") };
}

/** The problem with it as the name of a provider; "" if there is none. @param {string} name */
export function validateName(name) {
  if (NAME.test(name) && name.length <= MAX_NAME_LENGTH) return "";
  return (
    `invalid provider name "${name.slice(0, 60)}": use a-z, 0-9, - or _, start with a letter, ` +
    `${MAX_NAME_LENGTH} characters at most`
  );
}

/** @param {string} folder that does not exist yet */
function makeFolder(folder) {
  try {
    fs.mkdirSync(folder);
  } catch (cause) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (cause);
    if (code === "EEXIST") {
      throw new Error(`${folder} exists already: choose a different name, or remove it`, { cause });
    }
    throw new Error(
      `${folder} cannot be made (${code ?? message}): go to a folder in which you can write`,
      { cause },
    );
  }
}

/** @param {string} text @param {Record<string, string>} values */
const fill = (text, values) =>
  text.replace(/\{\{(\w+)\}\}/g, (_whole, /** @type {string} */ key) => values[key]);

/** @param {string} folder @param {string} language */
function linkSdk(folder, language) {
  const { at, to } = getSdkLink(language);
  const link = path.join(folder, at);
  fs.mkdirSync(path.dirname(link), { recursive: true });
  fs.symlinkSync(to, link, "junction");
}

/**
 * @param {string} language from LANGUAGES @param {string} name @param {string} [parent]
 * @returns {{readme: string, tool: string}} the next steps, and the tool's name for the model
 * @throws if the name is invalid, or exists
 */
export function createProject(language, name, parent = ".") {
  const trouble = validateName(name);
  if (trouble !== "") throw new Error(trouble);
  const folder = path.resolve(parent, name);
  makeFolder(folder);
  const templates = path.join(TEMPLATES, language);
  const values = { name, tool: name.replaceAll("-", "_") };
  for (const file of fs.readdirSync(templates)) {
    const target = /** @type {Record<string, string>} */ (TARGETS)[file] ?? file;
    const text = fs.readFileSync(path.join(templates, file), "utf8");
    fs.writeFileSync(path.join(folder, target), fill(text, values), { flag: "wx" });
  }
  linkSdk(folder, language);
  const readme = fs.readFileSync(path.join(folder, "README.md"), "utf8").trim();
  return { readme, tool: `${values.tool}_greet` };
}
