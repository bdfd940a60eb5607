// What an emitter does: its command, prompt or URL, and where that runs.

import path from "node:path";
import { quoteText } from "./emitter-fields.mjs";
import { parseJsonPath } from "./emitter-values.mjs";
import { refusalReason } from "../lib/refused-variables.mjs";

/** @typedef {import("./emitter-fields.mjs").Fields} Fields */
/** @typedef {import("./emitter-fields.mjs").FieldReport} FieldReport */
/** @typedef {"command" | "prompt" | "http"} Kind */
/**
 * @typedef {object} Work
 * @property {Kind} kind
 * @property {string} [command] for a shell
 * @property {string[]} [argv] a program and its arguments
 * @property {string} [prompt]
 * @property {string} [url]
 * @property {string} [jsonPath] the part of the answer that is watched
 * @property {string} [cwd] in the workspace
 * @property {Record<string, string>} env
 */

const MAX_COMMAND = 8000;
const MAX_PROMPT = 8000;
const MAX_URL = 2000;
const MAX_PATH = 1000;
const MAX_ARGUMENTS = 200;
const MAX_VARIABLES = 50;
const MAX_VALUE = 8000;

/** A name of a variable that could not pass for another word of what the user is shown. */
export const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;
/** What tap itself gives to what it starts. */
export const TAP_VARIABLES = ["TAP_PROVIDER_TOKEN", "TAP_SESSION_ID", "TAP_GATEWAY_PORT"];

/** @type {readonly ["command" | "argv" | "prompt" | "url", Kind][]} */
const SOURCES = [
  ["command", "command"],
  ["argv", "command"],
  ["prompt", "prompt"],
  ["url", "http"],
];

/** On any system: a config is shared between them. @param {string} folder */
export const isAbsolute = (folder) =>
  path.posix.isAbsolute(folder) || path.win32.isAbsolute(folder) || /^[a-z]:/i.test(folder);

/** Whether a path leads out of the folder that it is given in. @param {string} relative */
export const isOutside = (relative) =>
  isAbsolute(relative) ||
  path.posix.normalize(relative.replaceAll("\\", "/")).split("/")[0] === "..";

/** A folder of the workspace that is given in full, as it is from there. @param {string} cwd @param {string} folder */
export function toWorkspacePath(cwd, folder) {
  const way = isAbsolute(cwd) ? path.relative(folder, cwd) : cwd;
  return isOutside(way) ? cwd : way || ".";
}

/** @param {Fields} fields @returns {Kind | undefined} */
function readKind(fields) {
  const given = SOURCES.filter(([name]) => fields.has(name));
  if (given.length === 0) {
    fields.problem("command", 'is missing: give "command", "argv", "prompt" or "url"');
  }
  for (const [name] of given.slice(1)) {
    fields.problem(name, `leave it out, or "${given[0][0]}": an emitter has one of them`);
  }
  return given.length === 1 ? given[0][1] : undefined;
}

/** @param {Fields} fields */
function readUrl(fields) {
  const text = fields.text("url", MAX_URL, "an address");
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "https:" && url?.protocol !== "http:") {
    fields.problem(
      "url",
      `expected an address that begins with https:// or http://, found ${quoteText(text)}`,
    );
  } else if (url.username !== "" || url.password !== "") {
    fields.problem("url", "leave out the user and the password: an address is shown and recorded");
  }
  return url?.href;
}

/** @param {Fields} fields */
function readJsonPath(fields) {
  const text = fields.text("jsonPath", MAX_PATH, "a path");
  if (text === undefined) return undefined;
  if (parseJsonPath(text) === undefined) {
    fields.problem(
      "jsonPath",
      `expected a path such as "$.runs[0].status", found ${quoteText(text)}`,
    );
  }
  if (!fields.has("url"))
    fields.problem("jsonPath", 'leave it out: it is for an emitter with "url"');
  return text.trim();
}

/** @param {Fields} fields */
function readCwd(fields) {
  const cwd = fields.text("cwd", MAX_PATH, "a folder");
  if (cwd !== undefined && isOutside(cwd)) {
    fields.problem(
      "cwd",
      `expected a folder inside the workspace, such as "tools", found ${quoteText(cwd)}`,
    );
  }
  return cwd;
}

/** @param {string} name @returns {string} what is wrong with it; empty: nothing */
function variableProblem(name) {
  if (!VARIABLE.test(name) || name === "__proto__") {
    return `expected the name of a variable (letters, digits and _, not a digit first), found ${quoteText(name)}`;
  }
  if (TAP_VARIABLES.includes(name.toUpperCase())) {
    return `leave it out: ${quoteText(name)} is set by tap itself`;
  }
  const why = refusalReason(name);
  return why === ""
    ? ""
    : `leave it out: ${quoteText(name)} says ${why}, more than the command does. Write it in the command`;
}

/** @param {Fields} fields @param {FieldReport} report @returns {Record<string, string>} */
function readEnv(fields, report) {
  const given = fields.get("env");
  if (given === undefined) return {};
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    fields.problem("env", 'expected an object of texts, such as { "PORT": "8080" }');
    return {};
  }
  const names = Object.keys(given);
  if (names.length > MAX_VARIABLES) {
    fields.problem("env", `expected at most ${MAX_VARIABLES} variables, found ${names.length}`);
    return {};
  }
  const env = fields.fields("env", '"env"', names);
  const entries = names.map((name) => {
    const problem = variableProblem(name);
    if (problem !== "") report.problem(env.path(name), problem);
    const value = env.get(name) === "" ? "" : env.text(name, MAX_VALUE);
    return /** @type {const} */ ([name, value ?? ""]);
  });
  return Object.fromEntries(entries);
}

/** @param {Fields} fields */
function readArgv(fields) {
  const argv = fields.texts("argv", MAX_ARGUMENTS, MAX_COMMAND);
  if (argv?.[0].trim() === "")
    fields.problem("argv", "expected a program as the first of the list");
  const length = argv?.reduce((sum, word) => sum + word.length, 0) ?? 0;
  if (length > 2 * MAX_COMMAND) {
    fields.problem(
      "argv",
      `expected at most ${2 * MAX_COMMAND} characters in all, found ${length}`,
    );
  }
  return argv;
}

/**
 * @param {Fields} fields @param {FieldReport} report
 * @returns {Omit<Work, "kind"> & {kind: Kind | undefined}} undefined: it could not be said
 */
export function readWork(fields, report) {
  const kind = readKind(fields);
  if (kind === "prompt" || kind === "http") {
    for (const name of ["cwd", "env", "includeStderr"].filter((one) => fields.has(one))) {
      report.note(`"${name}" has no effect: it is for an emitter with a command.`);
    }
  }
  const [command, argv] = [fields.text("command", MAX_COMMAND, "a command"), readArgv(fields)];
  const prompt = fields.text("prompt", MAX_PROMPT, "a prompt");
  const [url, jsonPath, cwd] = [readUrl(fields), readJsonPath(fields), readCwd(fields)];
  return {
    kind,
    ...(command !== undefined && { command }),
    ...(argv && { argv }),
    ...(prompt !== undefined && { prompt }),
    ...(url !== undefined && { url }),
    ...(jsonPath !== undefined && { jsonPath }),
    ...(cwd !== undefined && { cwd }),
    env: readEnv(fields, report),
  };
}
