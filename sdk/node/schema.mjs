// The `parameters` of a tool: a JSON Schema, or a schema of a library with Standard Schema (zod 4.2 and
// later, ArkType, Valibot with its JSON Schema part …). The library is the user's.

import { toCheckable } from "./dialect.mjs";
import { ToolError } from "./errors.mjs";

/** @typedef {{schema: object, validate: (args: any) => any}} Parameters validate throws, or returns the handler's argument */

/** @param {string} tool @param {string[]} problems */
const badArguments = (tool, problems) =>
  new ToolError("INVALID_ARGUMENTS", `${tool} ${problems.join("; ")}`);

/**
 * The schema as JSON Schema, by the conversions of the libraries.
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
  const validate = async (/** @type {unknown} */ args) => {
    const result = await standard["~standard"].validate(args);
    if (!result.issues) return result.value;
    const { issueInWords } = await import("./arguments.mjs");
    const toText = (/** @type {any} */ issue) => issueInWords(schema, args, issue);
    throw badArguments(tool, result.issues.map(toText));
  };
  return { schema, validate };
}

/** The keywords of a schema that accepts every object. */
const MEANINGLESS = ["$schema", "title", "description", "type", "properties"];

/** @param {any} schema of an object */
const acceptsAll = (schema) =>
  Object.keys(schema).every((keyword) => MEANINGLESS.includes(keyword)) &&
  Object.keys(schema.properties ?? {}).length === 0;

/** @param {string} tool @param {any} schema */
function checkTop(tool, schema) {
  if (schema.type === "object" || Object.keys(schema).length === 0) return;
  throw new TypeError(
    `tool ${tool}: parameters must be a JSON Schema of an object: ` +
      '{ type: "object", properties: { … } }',
  );
}

/** @param {string} tool @param {object} schema */
function readCheckable(tool, schema) {
  try {
    return toCheckable(schema);
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    throw new TypeError(`tool ${tool}: parameters: ${message}`, { cause: error });
  }
}

/** @param {string} tool @param {object} schema @returns {Parameters} */
function fromJsonSchema(tool, schema) {
  checkTop(tool, schema);
  if (acceptsAll(schema)) return { schema, validate: (args) => args };
  const checkable = readCheckable(tool, schema);
  /** @type {((args: any) => string[]) | undefined} */
  let problemsOf;
  // Loaded by the first call: a process without calls does not load the validator.
  const load = async () => (problemsOf ??= (await import("./arguments.mjs")).checks(checkable));
  /** @param {string[]} problems @param {any} args */
  const accept = (problems, args) => {
    if (problems.length > 0) throw badArguments(tool, problems);
    return args;
  };
  const validate = (/** @type {any} */ args) =>
    problemsOf
      ? accept(problemsOf(args), args)
      : load().then((problems) => accept(problems(args), args));
  return { schema, validate };
}

/** @param {string} tool @param {unknown} parameters @returns {Parameters | undefined} undefined: no parameters */
export function readParameters(tool, parameters) {
  if (parameters === undefined || parameters === null) return undefined;
  if (typeof parameters !== "object" && typeof parameters !== "function") {
    throw new TypeError(
      `tool ${tool}: parameters must be a JSON Schema, or a schema of a library such as zod`,
    );
  }
  return "~standard" in parameters
    ? fromStandard(tool, parameters)
    : fromJsonSchema(tool, parameters);
}
