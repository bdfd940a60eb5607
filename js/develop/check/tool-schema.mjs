// Problems of a tool's schema that the CLI, or its models, do not accept.

import { Validator } from "@cfworker/json-schema";
import { toCheckable } from "../../../sdk/node/dialect.mjs";
import { errorMessage } from "../../lib/values.mjs";

const TYPES = ["string", "number", "integer", "boolean", "array", "object", "null"];
/** Models refuse these at the top level. */
const NOT_AT_TOP = ["oneOf", "anyOf", "allOf", "not", "enum"];
const LISTS = ["oneOf", "anyOf", "allOf"];
const MAX_DEPTH = 64;
const TOP = "parameters";

const isObject = (/** @type {unknown} */ value) =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** @param {any} schema @param {string} where @returns {string[]} */
function typeProblems({ type, items, prefixItems }, where) {
  const types = type === undefined ? [] : [type].flat();
  const problems = types
    .filter((name) => !TYPES.includes(name))
    .map((name) => `${where}.type is ${JSON.stringify(name)}, which is not a type of JSON Schema`);
  const isBare = types.includes("array") && items === undefined && prefixItems === undefined;
  return isBare ? [...problems, `${where} is an array without "items"`] : problems;
}

/** @param {any} schema @param {string} where @returns {string[]} */
function requiredProblems({ required, properties }, where) {
  if (required === undefined) return [];
  if (!Array.isArray(required)) return [`${where}.required is not a list of names`];
  // A part of a schema may require properties of the whole.
  const isPart = properties === undefined && where !== TOP;
  if (isPart) return [];
  const known = isObject(properties) ? properties : {};
  const unknown = required.find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) return [];
  return [`${where}.required names "${unknown}", which is not in its properties`];
}

/** @param {any} schema @param {string} where @returns {string[]} */
function ownProblems(schema, where) {
  const problems = typeProblems(schema, where);
  const { enum: choices, properties } = schema;
  if (choices !== undefined && !(Array.isArray(choices) && choices.length > 0)) {
    problems.push(`${where}.enum is not a list with a value`);
  }
  if (properties !== undefined && !isObject(properties)) {
    problems.push(`${where}.properties is not an object`);
  }
  return [...problems, ...requiredProblems(schema, where)];
}

/** @param {any} schema @param {string} where @returns {[string, any][]} the schemas in it */
function listParts(schema, where) {
  const inside = (/** @type {string} */ key) =>
    isObject(schema[key])
      ? Object.entries(schema[key]).map(([name, part]) => [`${where}.${key}.${name}`, part])
      : [];
  const listed = LISTS.filter((key) => Array.isArray(schema[key])).flatMap((key) =>
    schema[key].map((/** @type {any} */ part, /** @type {number} */ at) => [
      `${where}.${key}[${at}]`,
      part,
    ]),
  );
  const items = isObject(schema.items) ? [[`${where}.items`, schema.items]] : [];
  return /** @type {[string, any][]} */ ([
    ...inside("properties"),
    ...inside("$defs"),
    ...inside("definitions"),
    ...listed,
    ...items,
  ]);
}

/** @param {any} schema @param {string} where @param {number} depth @returns {string[]} */
function listProblems(schema, where, depth = 0) {
  if (typeof schema === "boolean" || depth > MAX_DEPTH) return [];
  if (!isObject(schema)) return [`${where} is not a schema`];
  const inner = listParts(schema, where).flatMap(([at, part]) => listProblems(part, at, depth + 1));
  return [...ownProblems(schema, where), ...inner];
}

/** As the SDK does. @param {any} parameters */
function makeValidator(parameters) {
  const { schema, draft } = toCheckable(parameters);
  return new Validator(schema, draft);
}

/** @param {any} parameters @returns {string[]} */
function findValidatorProblem(parameters) {
  try {
    makeValidator(parameters).validate({});
    return [];
  } catch (error) {
    return [`a validator cannot use it: ${errorMessage(error)}`];
  }
}

/** @param {any} parameters of a tool; absent or {}: no parameters @returns {string[]} */
export function schemaProblems(parameters) {
  if (parameters === undefined || parameters === null) return [];
  if (isObject(parameters) && Object.keys(parameters).length === 0) return [];
  const found = listProblems(parameters, TOP);
  if (isObject(parameters)) {
    if (parameters.type !== "object") found.push(`parameters.type is not "object"`);
    for (const key of NOT_AT_TOP) {
      if (key in parameters) found.push(`parameters has "${key}" at the top, which models refuse`);
    }
  }
  return found.length > 0 ? found : findValidatorProblem(parameters);
}

// Arguments that a tool's schema refuses, made from the schema. Each property is wrong, so that a tool
// without a check cannot work with them.

/** @typedef {{problem: string, args: Record<string, unknown>}} BadCall */

/** The first value that a property refuses is used. */
const WRONG_VALUES = [12345, "tap-check", { tap: "check" }, true];
const MAX_NAMES = 3;

/** @param {string[]} names */
function formatNames(names) {
  const shown = names.slice(0, MAX_NAMES).map((name) => JSON.stringify(name));
  return names.length > MAX_NAMES ? `${shown.join(", ")}, …` : shown.join(", ");
}

/** @param {any} schema @param {object} args @returns {boolean} false for an unusable schema, too */
function refuses(schema, args) {
  try {
    return !makeValidator(schema).validate(args).valid;
  } catch {
    return false;
  }
}

/** @param {any} parameters @returns {BadCall[]} */
function withoutRequired(parameters) {
  const required = Array.isArray(parameters.required) ? parameters.required : [];
  if (required.length === 0 || !refuses(parameters, {})) return [];
  return [{ problem: `without ${formatNames(required)}, which the schema requires`, args: {} }];
}

/** @param {any} parameters @returns {BadCall[]} */
function withWrongTypes(parameters) {
  const alone = { ...parameters, required: [] };
  const args = Object.fromEntries(
    Object.keys(parameters.properties ?? {}).flatMap((name) => {
      const wrong = WRONG_VALUES.find((value) => refuses(alone, { [name]: value }));
      return wrong === undefined ? [] : [[name, wrong]];
    }),
  );
  const names = Object.keys(args);
  return names.length === 0
    ? []
    : [{ problem: `with a wrong type for ${formatNames(names)}`, args }];
}

/** @param {any} parameters of a tool @returns {BadCall[]} empty if all arguments are valid */
export function badArguments(parameters) {
  if (typeof parameters !== "object" || parameters === null) return [];
  return [...withoutRequired(parameters), ...withWrongTypes(parameters)];
}
