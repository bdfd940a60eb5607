// The tools of an MCP server as tools of a provider: names, schemas and the choice of the user. A list is
// read leniently, tool by tool: an unreadable tool is left out alone.

import { createHash } from "node:crypto";
import { isMap } from "../config/schema.mjs";
import { isDeeperThan } from "../lib/values.mjs";

/**
 * A tool of a list. `why`: it is not offered; undefined: it is.
 * @typedef {object} ListedTool
 * @property {string} original its name at the server
 * @property {string} name as sessions have it
 * @property {string} description @property {Record<string, any>} parameters
 * @property {number} characters of its definition
 * @property {string[]} hints such as readOnly; they grant no right
 * @property {string} [why]
 */

const MAX_NAME = 64;
const CUT_NAME = 55;
const DIGEST_LENGTH = 8;
const MAX_LEVELS = 128;
const MAX_SCHEMA_LENGTH = 64 * 1024;
const HINTS = ["readOnly", "destructive", "idempotent", "openWorld"];

/** @param {string} full the prefix and the server's own name @param {string} name of letters, digits, _ and - */
function addDigest(full, name) {
  const digest = createHash("sha256").update(full).digest("hex").slice(0, DIGEST_LENGTH);
  return `${name.slice(0, CUT_NAME)}-${digest}`;
}

/**
 * A name depends on the server's name and its own alone, or on a clash, and never on the order.
 * @param {string} prefix @param {readonly string[]} originals @returns {Map<string, string>} by the server's own name
 */
export function nameTools(prefix, originals) {
  const plain = [...new Set(originals)].map((original) => {
    const full = prefix + original;
    const clean = full.replaceAll(/[^a-zA-Z0-9_-]/gu, "-");
    const name = clean.length > MAX_NAME ? addDigest(full, clean) : clean;
    return { original, full, clean, name, isChanged: clean !== full };
  });
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { name } of plain) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Map(
    plain.map(({ original, full, clean, name, isChanged }) => {
      const clashes = isChanged && (counts.get(name) ?? 0) > 1;
      return [original, clashes ? addDigest(full, clean) : name];
    }),
  );
}

/** @param {string} glob `*` is any text, `?` a character */
const compileGlob = (glob) =>
  new RegExp(
    `^${glob
      .replaceAll(/\*+/g, "*")
      .replaceAll(/[\\^$.|+()[\]{}]/g, String.raw`\$&`)
      .replaceAll("*", ".*")
      .replaceAll("?", ".")}$`,
    "su",
  );

/** @param {readonly string[]} globs those with ! leave out @returns {(name: string) => boolean} */
export function createFilter(globs) {
  const [wanted, ignored] = [false, true].map((isIgnored) =>
    globs
      .filter((glob) => glob.startsWith("!") === isIgnored)
      .map((glob) => compileGlob(glob.replace(/^!/, ""))),
  );
  const matches = (/** @type {RegExp[]} */ some, /** @type {string} */ name) =>
    some.some((one) => one.test(name));
  // Exceptions alone: of all tools.
  return (name) => (wanted.length === 0 || matches(wanted, name)) && !matches(ignored, name);
}

/** @param {unknown} schema @returns {{parameters: Record<string, any>} | {why: string}} */
function readSchema(schema) {
  if (schema === undefined || schema === null)
    return { parameters: { type: "object", properties: {} } };
  if (!isMap(schema)) return { why: "its inputSchema is no object" };
  if (isDeeperThan(schema, MAX_LEVELS))
    return { why: `its inputSchema has more than ${MAX_LEVELS} levels` };
  const parameters = schema.type === undefined ? { ...schema, type: "object" } : schema;
  if (parameters.type !== "object") return { why: "its inputSchema is not of an object" };
  return JSON.stringify(parameters).length > MAX_SCHEMA_LENGTH
    ? { why: `its inputSchema has more than ${MAX_SCHEMA_LENGTH / 1024} KB` }
    : { parameters };
}

/** @param {Record<string, any>} tool */
function readDescription({ name, title, description, annotations }) {
  const texts = [description, title, annotations?.title, name];
  return texts.find((text) => typeof text === "string" && text.trim() !== "") ?? "a tool";
}

/** @param {unknown} annotations */
const readHints = (annotations) =>
  isMap(annotations) ? HINTS.filter((hint) => annotations[`${hint}Hint`] === true) : [];

/**
 * @param {readonly unknown[]} list as a server has sent it
 * @param {{prefix: string, isWanted: (name: string) => boolean, most: number}} how `most`: tools that are offered
 * @returns {ListedTool[]} in the server's order, each name once
 */
export function readTools(list, { prefix, isWanted, most }) {
  /** @type {Map<string, Record<string, any>>} */
  const found = new Map();
  for (const tool of list) {
    if (!isMap(tool) || typeof tool.name !== "string" || tool.name === "") continue;
    if (!found.has(tool.name)) found.set(tool.name, tool);
  }
  const names = nameTools(prefix, [...found.keys()]);
  let count = 0;
  return [...found.values()].map((tool) => {
    const original = tool.name;
    const name = /** @type {string} */ (names.get(original));
    const description = readDescription(tool);
    const read = readSchema(tool.inputSchema);
    const schema = "parameters" in read ? read.parameters : { type: "object" };
    const size = name.length + description.length + JSON.stringify(schema).length;
    const problem = isWanted(original) ? ("why" in read ? read.why : "") : '"tools" leaves it out';
    const isOver = problem === "" && (count += 1) > most;
    const limit = `only ${most} tools of a provider are offered: choose with "tools"`;
    const why = isOver ? limit : problem;
    const hints = readHints(tool.annotations);
    const listed = { original, name, description, parameters: schema, characters: size, hints };
    return why === "" ? listed : { ...listed, why };
  });
}
