// What a tool's `parameters` may be: a JSON Schema, or a schema of a library that knows Standard Schema
// (zod 4.2 and later, ArkType, Valibot with its JSON Schema part …). The library is the user's.

import { Validator } from "@cfworker/json-schema";
import { inWords, missing, refused } from "./arguments.mjs";
import { ToolError } from "./errors.mjs";

/** @typedef {{schema: object, validate: (args: any) => any}} Parameters validate throws, or gives what the handler gets */

/** @param {string} tool @param {string[]} problems */
const badArguments = (tool, problems) =>
  new ToolError("INVALID_ARGUMENTS", `${tool} ${problems.join("; ")}`);

/**
 * The schema as JSON Schema, by the ways that libraries have for it.
 * @param {any} schema
 * @returns {object}
 */
function toJsonSchema(schema) {
  const standard = schema["~standard"].jsonSchema;
  if (standard) return standard.input({ target: "draft-2020-12" });
  if (typeof schema.toJSONSchema === "function") return schema.toJSONSchema({ io: "input" });
  if (typeof schema.toJsonSchema === "function") return schema.toJsonSchema();
  throw new TypeError(
    `the schema library ${schema["~standard"].vendor} gives no JSON Schema by itself: ` +
      "update it (zod: 4.2 or later), or give `parameters` as JSON Schema",
  );
}

/** @param {string} tool @param {any} standard a schema @returns {Parameters} */
function fromStandard(tool, standard) {
  const schema = /** @type {any} */ (toJsonSchema(standard));
  /** @param {any} args @param {{path?: readonly any[], message: string}} issue */
  const told = (args, { path = [], message }) => {
    const place = path.map((step) => String(step?.key ?? step));
    const isMissing = place.length === 1 && !Object.hasOwn(args, place[0]);
    return isMissing ? missing(place, schema.properties?.[place[0]]) : refused(place, message);
  };
  const validate = async (/** @type {unknown} */ args) => {
    const result = await standard["~standard"].validate(args);
    if (!result.issues) return result.value;
    const problems = result.issues.map((/** @type {any} */ issue) => told(args, issue));
    throw badArguments(tool, problems);
  };
  return { schema, validate };
}

/** @param {string} tool @param {object} schema @returns {Parameters} */
function fromJsonSchema(tool, schema) {
  const validator = new Validator(/** @type {any} */ (schema), "2020-12", false);
  const validate = (/** @type {any} */ args) => {
    const { valid, errors } = validator.validate(args);
    if (valid) return args;
    throw badArguments(tool, inWords(schema, args, errors));
  };
  return { schema, validate };
}

/** @param {string} tool @param {unknown} parameters @returns {Parameters | undefined} undefined: no parameters */
export function readParameters(tool, parameters) {
  if (parameters === undefined || parameters === null) return undefined;
  if (typeof parameters !== "object" && typeof parameters !== "function") {
    throw new TypeError("parameters: expected a JSON Schema or a schema with ~standard");
  }
  return "~standard" in parameters
    ? fromStandard(tool, parameters)
    : fromJsonSchema(tool, parameters);
}
