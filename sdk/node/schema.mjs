// What a tool's `parameters` may be: a JSON Schema, or a schema of a library that knows Standard Schema
// (zod 4.2 and later, ArkType, Valibot with its JSON Schema part …). The library is the user's.

import { Validator } from "@cfworker/json-schema";
import { ToolError } from "./errors.mjs";

/** @typedef {{schema: object, validate: (args: any) => any}} Parameters validate throws, or gives what the handler gets */

/** @param {string[]} problems */
const badArguments = (problems) => new ToolError("NOT_FOUND", problems.join("; "));

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

/** @param {any} schema @returns {Parameters} */
function fromStandard(schema) {
  const validate = async (/** @type {unknown} */ args) => {
    const result = await schema["~standard"].validate(args);
    if (!result.issues) return result.value;
    const place = (/** @type {any} */ step) => String(step?.key ?? step);
    throw badArguments(
      result.issues.map((/** @type {any} */ { path = [], message }) =>
        path.length > 0 ? `${path.map(place).join(".")}: ${message}` : message,
      ),
    );
  };
  return { schema: toJsonSchema(schema), validate };
}

/** @param {object} schema @returns {Parameters} */
function fromJsonSchema(schema) {
  const validator = new Validator(/** @type {any} */ (schema), "2020-12", false);
  const validate = (/** @type {any} */ args) => {
    const { valid, errors } = validator.validate(args);
    if (valid) return args;
    // The outer ones say only that an inner one failed.
    const inner = errors.filter(({ keyword }) => !["properties", "items"].includes(keyword));
    throw badArguments(
      (inner.length > 0 ? inner : errors).map(({ instanceLocation, error }) =>
        instanceLocation === "#" ? error : `${instanceLocation.slice(2)}: ${error}`,
      ),
    );
  };
  return { schema, validate };
}

/** @param {unknown} parameters @returns {Parameters | undefined} undefined: no parameters */
export function readParameters(parameters) {
  if (parameters === undefined || parameters === null) return undefined;
  if (typeof parameters !== "object" && typeof parameters !== "function") {
    throw new TypeError("parameters: expected a JSON Schema or a schema with ~standard");
  }
  return "~standard" in parameters ? fromStandard(parameters) : fromJsonSchema(parameters);
}
