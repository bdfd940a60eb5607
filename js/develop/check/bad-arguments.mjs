// Arguments that a tool's schema refuses, made from the schema. Each property is wrong, so that a tool
// that does not look has nothing of use to work with.

import { Validator } from "@cfworker/json-schema";

/** @typedef {{what: string, args: Record<string, unknown>}} BadCall */

/** The first that a property refuses is taken. */
const WRONG_VALUES = [12345, "tap-check", { tap: "check" }, true];
const MOST_NAMES = 3;

/** @param {string[]} names */
function quoted(names) {
  const shown = names.slice(0, MOST_NAMES).map((name) => JSON.stringify(name));
  return names.length > MOST_NAMES ? `${shown.join(", ")}, …` : shown.join(", ");
}

/** @param {any} schema @param {object} args @returns {boolean} false also for a schema that cannot be used */
function refuses(schema, args) {
  try {
    return !new Validator(schema, "2020-12").validate(args).valid;
  } catch {
    return false;
  }
}

/** @param {any} parameters @returns {BadCall[]} */
function withoutRequired(parameters) {
  const required = Array.isArray(parameters.required) ? parameters.required : [];
  if (required.length === 0 || !refuses(parameters, {})) return [];
  return [{ what: `without ${quoted(required)}, which the schema requires`, args: {} }];
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
  return names.length === 0 ? [] : [{ what: `with a wrong type for ${quoted(names)}`, args }];
}

/** @param {any} parameters of a tool @returns {BadCall[]} none where no arguments are wrong */
export function badArguments(parameters) {
  if (typeof parameters !== "object" || parameters === null) return [];
  return [...withoutRequired(parameters), ...withWrongTypes(parameters)];
}
