// A tool's arguments as typed by a person: a JSON object, or key=value pairs whose types follow from the
// tool's schema. `copilot-tap call` and `dev` share this.

const EXAMPLE = `arguments must be a JSON object, e.g. '{"city":"Bern"}', or key=value pairs, e.g. city=Bern`;
const MAX_SHOWN = 60;

/** The text does not contain an object of arguments. */
export class BadArguments extends Error {}

/** @param {string} text */
const quoteText = (text) =>
  JSON.stringify(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);

/** @param {string} text @returns {Record<string, unknown>} @throws {BadArguments} */
export function parseObject(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new BadArguments(`${EXAMPLE}: ${/** @type {Error} */ (error).message}`);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new BadArguments(`${EXAMPLE}; got ${quoteText(text)}`);
}

/** The JSON types in a schema; empty: any. @param {any} schema @returns {string[]} */
function listTypes(schema) {
  if (typeof schema !== "object" || schema === null) return [];
  if (schema.type) return [schema.type].flat();
  const ways = (schema.anyOf ?? schema.oneOf ?? []).map(listTypes);
  return ways.some((/** @type {string[]} */ way) => way.length === 0) ? [] : ways.flat();
}

/** @param {any} value of JSON */
function getJsonType(value) {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

/** @param {string} text @returns {{value?: unknown}} no value: not JSON */
function tryParse(text) {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return {};
  }
}

const WANTED = /** @type {Record<string, string>} */ ({
  number: "a number",
  integer: "a whole number",
  boolean: "true or false",
  array: `JSON, e.g. '["a","b"]'`,
  object: `JSON, e.g. '{"a":1}'`,
  null: "null",
});

/** @param {string} key @param {string} text @param {any} schema of the parameter, if known */
function parseValue(key, text, schema) {
  const choices = schema?.enum ?? (schema && "const" in schema ? [schema.const] : undefined);
  const chosen = choices?.find((/** @type {unknown} */ choice) => String(choice) === text);
  if (chosen !== undefined) return chosen;
  const types = listTypes(schema);
  const { value } = tryParse(text);
  const isWhole = Number.isInteger(value);
  const fits = types.some((type) => type === getJsonType(value) || (type === "integer" && isWhole));
  if (value !== undefined && (types.length === 0 || fits)) {
    // A JSON string keeps its quotes, unless the parameter's type is unknown.
    if (typeof value !== "string" || types.length === 0) return value;
  }
  if (types.length === 0 || types.includes("string")) return text;
  const wanted = [...new Set(types.map((type) => WANTED[type] ?? type))].join(" or ");
  throw new BadArguments(`${key} must be ${wanted}, not ${quoteText(text)}`);
}

/**
 * @param {string[]} words each key=value @param {any} [parameters] the tool's schema
 * @returns {Record<string, unknown>} @throws {BadArguments}
 */
export function parsePairs(words, parameters) {
  /** @type {Map<string, unknown>} */
  const args = new Map();
  const properties = parameters?.properties ?? {};
  for (const word of words) {
    const [, key, text] = /^([^=\s{["']+)=(.*)$/s.exec(word) ?? [];
    if (key === undefined) throw new BadArguments(`${EXAMPLE}; got ${quoteText(word)}`);
    if (args.has(key)) throw new BadArguments(`${key} is given twice`);
    const schema = Object.hasOwn(properties, key) ? properties[key] : undefined;
    args.set(key, parseValue(key, text, schema));
  }
  return Object.fromEntries(args);
}

/** Whether these are key=value pairs, for which the tool's schema is needed. @param {string[]} words */
export const arePairs = (words) => words.length > 0 && !/^\s*[[{"]/.test(words[0]);

/**
 * @param {string[]} words from a shell: a JSON object, or key=value pairs; empty: {}
 * @param {any} [parameters] the tool's schema
 * @returns {Record<string, unknown>} @throws {BadArguments}
 */
export function parseArguments(words, parameters) {
  if (words.length === 0) return {};
  return arePairs(words) ? parsePairs(words, parameters) : parseObject(words.join(" "));
}

/** Splits a line as a shell does, with quotes. @param {string} line @throws {BadArguments} */
export function splitWords(line) {
  const words = [];
  let word = "";
  let isWord = false;
  for (const [piece, plain, single, double, escaped] of line.matchAll(
    /([^\s'"\\]+)|'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|\s+|['"\\]/gsu,
  )) {
    if (/^\s+$/.test(piece)) {
      if (isWord) words.push(word);
      [word, isWord] = ["", false];
      continue;
    }
    const text = plain ?? single ?? double?.replace(/\\(["\\])/g, "$1") ?? escaped;
    if (text === undefined) throw new BadArguments(`a ${piece} is not closed: ${quoteText(line)}`);
    word += text;
    isWord = true;
  }
  return isWord ? [...words, word] : words;
}

/** The arguments in a line after the tool's name. @param {string} rest @param {any} [parameters] @throws {BadArguments} */
export function parseArgumentLine(rest, parameters) {
  const text = rest.trim();
  return /^['"]?[[{]/.test(text)
    ? parseArguments([text.replace(/^'(.*)'$/s, "$1")])
    : parseArguments(splitWords(text), parameters);
}
