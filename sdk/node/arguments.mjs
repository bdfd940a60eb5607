// Checks a call's arguments, and names the problems in words that a model and a person understand.

import { Validator } from "@cfworker/json-schema";
import { findReferenced, parsePointer } from "./dialect.mjs";

/** @typedef {import("@cfworker/json-schema").OutputUnit} Problem */

const KINDS = /** @type {const} */ ({
  string: "text",
  number: "a number",
  integer: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  null: "null",
});

/** Keywords whose only problem is a problem of a value inside them. */
const OUTER = ["properties", "patternProperties", "additionalProperties", "$ref", "allOf"].concat([
  "items",
  "prefixItems",
  "additionalItems",
]);

const UNIONS = ["anyOf", "oneOf"];
const KIND_KEYWORDS = ["type", "enum", "const", ...UNIONS];
const MAX_WAYS = 3;

/** @param {readonly string[]} names */
const either = (names, or = " or ") => [...new Set(names)].join(or);

/** The values that fit a schema, in a few words if possible; else "". @param {any} schema @returns {string} */
function describeKind(schema) {
  if (typeof schema !== "object" || schema === null) return "";
  if ("const" in schema) return JSON.stringify(schema.const);
  if (Array.isArray(schema.enum)) {
    return `one of ${schema.enum.map((/** @type {unknown} */ item) => JSON.stringify(item)).join(", ")}`;
  }
  if (schema.type) {
    const kinds = [schema.type].flat().map((type) => KINDS[/** @type {"null"} */ (type)] ?? type);
    return either(kinds);
  }
  const kinds = (schema.anyOf ?? schema.oneOf ?? []).map(describeKind);
  return kinds.includes("") ? "" : either(kinds);
}

const MAX_SHOWN = 40;

/** A short value itself, or its kind. @param {any} value of JSON */
function shown(value) {
  const text = JSON.stringify(value) ?? "nothing";
  if (text.length <= MAX_SHOWN) return text;
  return KINDS[Array.isArray(value) ? "array" : /** @type {"object"} */ (typeof value)];
}

/** @param {any} from @param {string[]} steps @returns {any} */
const valueAt = (from, steps) => steps.reduce((value, step) => value?.[step], from);

/** As `valueAt`, through references within the schema. @param {any} root @param {string[]} steps @returns {any} */
function schemaAt(root, steps) {
  const follow = (/** @type {any} */ schema) =>
    typeof schema?.$ref === "string" ? findReferenced(root, schema.$ref) : schema;
  let schema = root;
  for (const step of steps) schema = step === "$ref" ? follow(schema) : schema?.[step];
  return follow(schema);
}

/** @param {readonly string[]} place */
const named = (place) => JSON.stringify(place.join("."));

/** @param {readonly string[]} place @param {any} schema of the missing value */
function missing(place, schema) {
  const kind = describeKind(schema);
  return `needs ${named(place)}${kind && ` (${kind})`}`;
}

/** @param {readonly string[]} place @param {string} why */
const refused = (place, why) =>
  place.length > 0 ? `refuses ${named(place)}: ${why}` : `refuses the arguments: ${why}`;

/** @param {any} root the schema @param {any} args @param {Problem} problem */
function describeProblem(root, args, { keyword, keywordLocation, instanceLocation, error }) {
  const place = parsePointer(instanceLocation);
  const schema = schemaAt(root, parsePointer(keywordLocation).slice(0, -1));
  if (keyword === "required") {
    const [, name = ""] = /"(.*)"/s.exec(error) ?? [];
    return missing(
      [...place, name],
      schemaAt(root, [...parsePointer(keywordLocation).slice(0, -1), "properties", name]),
    );
  }
  if (keyword === "false") return `does not take ${named(place)}`;
  const kind = KIND_KEYWORDS.includes(keyword) ? describeKind(schema) : "";
  if (!kind || place.length === 0) return refused(place, error.replace(/\.$/, ""));
  return `needs ${named(place)} to be ${kind}, not ${shown(valueAt(args, place))}`;
}

/** @param {Problem} problem of a union @param {Problem[]} problems @returns {Problem[][]} the problems of each alternative */
function listWays({ keywordLocation }, problems) {
  /** @type {Map<string, Problem[]>} */
  const ways = new Map();
  for (const problem of problems) {
    if (!problem.keywordLocation.startsWith(`${keywordLocation}/`)) continue;
    const [way] = problem.keywordLocation.slice(keywordLocation.length + 1).split("/", 1);
    ways.set(way, [...(ways.get(way) ?? []), problem]);
  }
  return [...ways.values()];
}

/**
 * A value of a kind that no alternative accepts is a single problem. Otherwise the problems are those of the
 * alternatives for this kind, and of the alternative that its constants select.
 * @param {any} root @param {any} args @param {Problem} union @param {Problem[]} problems
 */
function describeUnion(root, args, union, problems) {
  const place = parsePointer(union.instanceLocation);
  if (/\([1-9]\d* matches\)/.test(union.error))
    return refused(place, union.error.replace(/\.$/, ""));
  /** @param {string[]} keywords @param {number} depth */
  const refuses =
    (keywords, depth) =>
    (/** @type {Problem} */ { keyword, instanceLocation }) =>
      keywords.includes(keyword) && parsePointer(instanceLocation).length === place.length + depth;
  const isKind = refuses(["type", "enum", "const"], 0);
  const isChoice = refuses(["enum", "const"], 1);
  const fitting = listWays(union, problems).filter((way) => !way.some(isKind));
  if (fitting.length === 0) return describeProblem(root, args, union);
  const chosen = fitting.filter((way) => !way.some(isChoice));
  const ways = chosen.length > 0 ? chosen : fitting.map((way) => way.filter(isChoice));
  const words = ways.slice(0, MAX_WAYS).map((way) => inWords(root, args, way).join(" and "));
  return either(words, ", or ");
}

/** @param {object} schema @param {unknown} args @param {Problem[]} problems of them @returns {string[]} */
function inWords(schema, args, problems) {
  const unions = problems.filter(({ keyword }) => UNIONS.includes(keyword));
  const inner = problems.filter(
    ({ keyword, keywordLocation }) =>
      !OUTER.includes(keyword) &&
      !unions.some((union) => keywordLocation.startsWith(`${union.keywordLocation}/`)),
  );
  const words = (inner.length > 0 ? inner : problems).map((one) =>
    UNIONS.includes(one.keyword)
      ? describeUnion(schema, args, one, problems)
      : describeProblem(schema, args, one),
  );
  return [...new Set(words)];
}

/** The validator reports the place of the value when it means that of `additionalProperties: false`. @param {Problem[]} problems */
const placeRefused = (problems) =>
  problems.map((one, at) =>
    one.keyword === "false"
      ? { ...one, keywordLocation: `${problems[at - 1]?.keywordLocation ?? "#"}/false` }
      : one,
  );

/**
 * @param {ReturnType<import("./dialect.mjs").toCheckable>} checkable
 * @returns {(args: any) => string[]} the problems of arguments; may be empty
 */
export function checks({ schema, draft }) {
  const validator = new Validator(schema, draft, false);
  return (args) => {
    const { valid, errors } = validator.validate(args);
    return valid ? [] : inWords(schema, args, placeRefused(errors));
  };
}

/**
 * @param {any} schema as JSON Schema
 * @param {any} args
 * @param {{path?: readonly any[], message: string}} issue that a library has found
 */
export function issueInWords(schema, args, { path = [], message }) {
  const place = path.map((step) => String(step?.key ?? step));
  const isMissing = place.length === 1 && !Object.hasOwn(args, place[0]);
  return isMissing ? missing(place, schema.properties?.[place[0]]) : refused(place, message);
}
