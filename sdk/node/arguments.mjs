// Checks a call's arguments, and names the problems in words that a model and a person understand.

import { Validator } from "@cfworker/json-schema";

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

/** Their only problem is a problem of something inside them. */
const OUTER = ["properties", "items", "prefixItems", "$ref", "allOf", "additionalProperties"];

/** @param {readonly string[]} names */
const either = (names) => [...new Set(names)].join(" or ");

/** What fits a schema, as far as a few words can say it; else "". @param {any} schema @returns {string} */
function describeKind(schema) {
  if (typeof schema !== "object" || schema === null) return "";
  if ("const" in schema) return JSON.stringify(schema.const);
  if (Array.isArray(schema.enum)) {
    return `one of ${schema.enum.map((/** @type {unknown} */ one) => JSON.stringify(one)).join(", ")}`;
  }
  if (schema.type) {
    const kinds = [schema.type].flat().map((type) => KINDS[/** @type {"null"} */ (type)] ?? type);
    return either(kinds);
  }
  const kinds = (schema.anyOf ?? schema.oneOf ?? []).map(describeKind);
  return kinds.includes("") ? "" : either(kinds);
}

const MAX_SHOWN = 40;

/** A short value itself, else what it is. @param {any} value of JSON */
function shown(value) {
  const text = JSON.stringify(value) ?? "nothing";
  if (text.length <= MAX_SHOWN) return text;
  return KINDS[Array.isArray(value) ? "array" : /** @type {"object"} */ (typeof value)];
}

/** The steps of a JSON pointer such as #/a~1b/0. @param {string} pointer */
const parsePointer = (pointer) =>
  pointer
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));

/** @param {any} from @param {string[]} steps @returns {any} */
const valueAt = (from, steps) => steps.reduce((value, step) => value?.[step], from);

/** As `valueAt`, through references within the schema. @param {any} root @param {string[]} steps @returns {any} */
function schemaAt(root, steps) {
  const follow = (/** @type {any} */ schema) =>
    typeof schema?.$ref === "string" && schema.$ref.startsWith("#/")
      ? valueAt(root, parsePointer(schema.$ref))
      : schema;
  let schema = root;
  for (const step of steps) schema = step === "$ref" ? follow(schema) : schema?.[step];
  return follow(schema);
}

/** @param {readonly string[]} place */
const named = (place) => JSON.stringify(place.join("."));

/** @param {readonly string[]} place @param {any} schema of what is missing there */
function missing(place, schema) {
  const kind = describeKind(schema);
  return `needs ${named(place)}${kind && ` (${kind})`}`;
}

/** @param {readonly string[]} place @param {string} why */
const refused = (place, why) =>
  place.length > 0 ? `refuses ${named(place)}: ${why}` : `refuses the arguments: ${why}`;

/** @param {any} root the schema @param {any} args @param {Problem} problem */
function told(root, args, { keyword, keywordLocation, instanceLocation, error }) {
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
  const kind = ["type", "enum", "const", "anyOf", "oneOf"].includes(keyword)
    ? describeKind(schema)
    : "";
  if (!kind || place.length === 0) return refused(place, error.replace(/\.$/, ""));
  return `needs ${named(place)} to be ${kind}, not ${shown(valueAt(args, place))}`;
}

/** @param {object} schema @param {unknown} args @param {Problem[]} problems of them */
function inWords(schema, args, problems) {
  // What a choice says of each of its ways is one problem.
  const choices = problems
    .filter(({ keyword }) => ["anyOf", "oneOf"].includes(keyword))
    .map(({ keywordLocation }) => `${keywordLocation}/`);
  const inner = problems.filter(
    ({ keyword, keywordLocation }) =>
      !OUTER.includes(keyword) && !choices.some((choice) => keywordLocation.startsWith(choice)),
  );
  return [...new Set((inner.length > 0 ? inner : problems).map((one) => told(schema, args, one)))];
}

/**
 * @param {object} schema a JSON Schema
 * @returns {(args: any) => string[]} what is wrong with arguments; empty: nothing
 */
export function checks(schema) {
  const validator = new Validator(/** @type {any} */ (schema), "2020-12", false);
  return (args) => {
    const { valid, errors } = validator.validate(args);
    return valid ? [] : inWords(schema, args, errors);
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
