// The files that `copilot-tap plan` reads: plans, in YAML or JSON, and what `plan export` has written.

import fs from "node:fs";
import path from "node:path";
import { isMap } from "../../config/schema.mjs";
import { errorMessage, isDeeperThan, MAX_JSON_LEVELS } from "../../lib/values.mjs";
import { inLine, visible } from "../../lib/visible.mjs";
import { Failure } from "../exit.mjs";

const MB = 1024 * 1024;
/** As native/plan/spec.h has it. */
const MAX_PLAN = 16 * MB;
const MAX_EXPORT = 32 * MB;
/** The parser of YAML takes two seconds for 1 MB. */
const MAX_YAML = 2 * MB;
/** Of JSON that is read as YAML, which finds a name that is there twice. */
const MAX_CHECKED = MB / 4;
const MAX_NAME = 64;

/** @param {string} file @param {number} most bytes @returns {string} what is in it; @throws a text says why not */
function readText(file, most) {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  if (!stat) throw new Error("there is no such file");
  // Reading a pipe waits for somebody who writes.
  if (!stat.isFile()) throw new Error("it is not a regular file");
  if (stat.size > most) throw new Error(`it is larger than ${most / MB} MB`);
  return fs.readFileSync(file, "utf8");
}

/** Newer versions of Node.js say the line, too. @param {string} text @param {string} why of JSON.parse */
const withLine = (text, why) =>
  why.replace(/ in JSON at position (\d+)$/, (_, position) => {
    const before = text.slice(0, Number(position)).split("\n");
    return ` at line ${before.length}, column ${String(before.at(-1)).length + 1}`;
  });

/** @param {string} text @returns {any} @throws a text says what is wrong */
function parseJson(text) {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ""));
  } catch (error) {
    throw new Error(`it is not JSON: ${withLine(text, errorMessage(error))}`, { cause: error });
  }
}

/** @param {string} text @returns {unknown} undefined: it is small, or not JSON */
function parseLarge(text) {
  if (text.length <= MAX_CHECKED) return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    if (text.length <= MAX_YAML) return undefined;
    const most = `and as YAML it may have ${MAX_YAML / MB} MB`;
    throw new Error(`it is not JSON (${errorMessage(error)}), ${most}`, { cause: error });
  }
}

const QUOTE = "put the value in quotes, or write | and the value in the lines below";
/** Errors of YAML that a command without quotes makes, by their codes. */
const UNQUOTED =
  /^(BAD_(SCALAR_START|ALIAS|INDENT)|BLOCK_AS_IMPLICIT_KEY|UNEXPECTED_TOKEN|MISSING_CHAR)$/;
/** A name with a value behind it, such as `work: echo a: b`. */
const VALUE = /^\s*(?:(?:- +)+|(?:- +)*["']?[\w-]+["']?: +)(?!\|)\S/;
const KNOWN_TAG = /^tag:yaml\.org,2002:(?:str|int|float|bool|null|map|seq)$/;

/** @param {string} text of the file @param {number} at an offset in it */
const formatPlace = (text, at) => {
  const before = text.slice(0, at).split("\n");
  return `line ${before.length}, column ${String(before.at(-1)).length + 1}`;
};

/**
 * What is wrong with a file, in words of its own: those of the library are for programs.
 * @param {string} text @param {import("yaml").Document.Parsed} document @param {Pick<typeof import("yaml"), "visit">} yaml
 * @returns {string} "": nothing
 */
function describeProblem(text, document, { visit }) {
  const [error] = document.errors;
  if (error) {
    const [at] = error.pos;
    const line = text.split("\n")[text.slice(0, at).split("\n").length - 1];
    if (UNQUOTED.test(error.code) && VALUE.test(line)) {
      return `${formatPlace(text, at)}: the value has signs of YAML: ${QUOTE}`;
    }
    if (error.code === "MULTIPLE_DOCS")
      return `${formatPlace(text, at)}: a file has one plan; remove the line ---`;
    return error.message.split("\n")[0].replace(/:$/, "");
  }
  let found = "";
  const refuse = (/** @type {any} */ node, /** @type {string} */ why) => {
    found = `${formatPlace(text, node.range?.[0] ?? 0)}: ${why}: ${QUOTE}`;
    return visit.BREAK;
  };
  visit(document, {
    Node: (_, /** @type {any} */ node) =>
      node.tag && !KNOWN_TAG.test(node.tag)
        ? refuse(node, "what begins with ! is a tag of YAML")
        : undefined,
    Alias: (_, node) =>
      node.resolve(document)
        ? undefined
        : refuse(node, "what begins with * stands for another value"),
  });
  return found;
}

/** @param {string} text YAML or JSON @param {boolean} isJson by its name @returns {Promise<unknown>} */
async function parsePlan(text, isJson) {
  const large = parseLarge(text);
  if (large !== undefined) return large;
  const yaml = await import("yaml");
  const document = yaml.parseDocument(text, { prettyErrors: true, logLevel: "error" });
  // It may be valid JSON with a name that is there twice.
  if (document.errors.length > 0 && isJson) parseJson(text);
  const problem = describeProblem(text, document, yaml);
  if (problem !== "") throw new Error(problem);
  return document.toJS(); // throws where there are more aliases than it follows
}

/** @param {string} file @param {string} why */
const createInvalid = (file, why) =>
  new Failure(`${path.resolve(file)}: ${why}`, { code: "INVALID_PLAN" });

/** YAML reads `work:` as null, and a node without work would succeed. @param {unknown} nodes */
function requireWork(nodes) {
  for (const node of Array.isArray(nodes) ? nodes : []) {
    const empty = ["prechecks", "work", "postchecks"].find((name) => node?.[name] === null);
    if (!empty) continue;
    const id = inLine(visible(String(node.id)).slice(0, MAX_NAME));
    throw new Error(`node ${id}: \`${empty}\` is empty: write a command, or leave it out`);
  }
}

/** @param {string} file YAML or JSON @returns {Promise<any>} */
async function readValue(file) {
  try {
    const value = await parsePlan(readText(file, MAX_PLAN), /\.json$/i.test(file));
    requireWork(isMap(value) ? (/** @type {any} */ (value).nodes ?? [value]) : value);
    return value;
  } catch (error) {
    throw createInvalid(file, errorMessage(error));
  }
}

/** @param {string} file YAML or JSON @returns {Promise<object>} */
export async function readPlan(file) {
  const plan = await readValue(file);
  if (isMap(plan)) return plan;
  throw createInvalid(file, "expected a plan, an object with `name` and `nodes`");
}

/** @param {string} file with `nodes`, a list of nodes, or one node @returns {Promise<object[]>} */
export async function readNodes(file) {
  const value = await readValue(file);
  if (Array.isArray(value)) return value;
  if (isMap(value) && !Object.hasOwn(value, "nodes") && Object.hasOwn(value, "id")) return [value];
  if (!isMap(value) || !Array.isArray(value.nodes))
    throw createInvalid(file, "expected `nodes`, a list of nodes, or one node with an `id`");
  const more = Object.keys(value).filter((name) => name !== "nodes");
  if (more.length === 0) return value.nodes;
  const names = more.map((name) => `\`${visible(name).slice(0, MAX_NAME)}\``).join(", ");
  throw createInvalid(file, `only \`nodes\` can be added to a plan: leave out ${names}`);
}

/** @param {string} file that `plan export` has written @returns {Record<string, any>} */
export function readExport(file) {
  try {
    const value = parseJson(readText(file, MAX_EXPORT));
    if (isDeeperThan(value, MAX_JSON_LEVELS))
      throw new Error(`it has more than ${MAX_JSON_LEVELS} levels`);
    if (!isMap(value)) throw new Error("expected an object");
    return value;
  } catch (error) {
    throw new Failure(`${path.resolve(file)}: ${errorMessage(error)}`, {
      advice: "copilot-tap plan export writes such a file",
      code: "INVALID_EXPORT",
    });
  }
}
