// A JSON Schema as the validator reads it: bounds as in 2020-12, patterns for the flag u. A schema that
// arguments cannot be checked with is refused when its tool is declared.

/** Their values are data, or names. */
const DATA = ["enum", "const", "default", "example", "examples", "required", "type"];
/** Their values are schemas, each with a name. */
const MAPS = ["properties", "patternProperties", "$defs", "definitions"].concat([
  "dependentSchemas",
  "dependencies",
]);
const BASE = "https://schema.invalid/";

/** @param {unknown} value @returns {value is Record<string, any>} */
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** @param {string} pattern @param {string} flags */
function compiles(pattern, flags) {
  try {
    return Boolean(new RegExp(pattern, flags));
  } catch {
    return false;
  }
}

const PARTS = /\\[pP]\{[^}]*\}|\\u\{[^}]*\}|\[(?:\\[^]|[^\]\\])*\]|\{\d+(?:,\d*)?\}|\\?[^]/gu;
const NEEDLESS_ESCAPE = /\\([^\w^$\\.*+?()[\]{}|/-])/gu;
/** Next to a set such as \w a dash is not a range. */
const LONE_DASH = /(?<=\\[dDsSwW])-(?!\])|(?<![\\[])-(?=\\[dDsSwW])/gu;

/** For the flag u, with the same meaning as without it: signs may be escaped, braces may be unpaired. @param {string} pattern */
const toUnicodePattern = (pattern) =>
  pattern.replaceAll(PARTS, (part) => {
    if (/^[\]{}]$/u.test(part)) return `\\${part}`;
    if (part === String.raw`\-`) return "-";
    const dashed = part.startsWith("[") ? part.replaceAll(LONE_DASH, String.raw`\-`) : part;
    return dashed.replaceAll(NEEDLESS_ESCAPE, "$1");
  });

/** @param {string} pattern @returns {string} TypeError: JavaScript has no such pattern */
function readPattern(pattern) {
  if (compiles(pattern, "u")) return pattern;
  const unicode = toUnicodePattern(pattern);
  if (compiles(unicode, "u")) return unicode;
  const text = JSON.stringify(pattern);
  throw new TypeError(
    `${text} is not a regular expression of JavaScript; leave the pattern out, or write it without syntax of other languages, such as (?i) or \\Z`,
  );
}

/** In draft 4 and OpenAPI 3.0 an exclusive bound is `maximum` with `exclusiveMaximum: true`. @param {any} schema */
function readBounds(schema) {
  for (const [bound, exclusive] of [
    ["minimum", "exclusiveMinimum"],
    ["maximum", "exclusiveMaximum"],
  ]) {
    if (typeof schema[exclusive] !== "boolean") continue;
    if (schema[exclusive] && bound in schema) {
      schema[exclusive] = schema[bound];
      delete schema[bound];
    } else delete schema[exclusive];
  }
}

/** A copy. @param {any} value @param {(item: any) => any} change @returns {any} */
const mapValues = (value, change) =>
  isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, change(one)]))
    : value;

/** A copy, with itself and each schema in it changed. @param {any} schema @param {(schema: any) => void} change @returns {any} */
function mapSchemas(schema, change) {
  const inner = (/** @type {any} */ one) => mapSchemas(one, change);
  if (Array.isArray(schema)) return schema.map(inner);
  if (!isObject(schema)) return schema;
  const copy = Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => {
      if (DATA.includes(keyword)) return [keyword, value];
      return [keyword, MAPS.includes(keyword) ? mapValues(value, inner) : inner(value)];
    }),
  );
  change(copy);
  return copy;
}

/** @param {any} schema */
function readKeywords(schema) {
  readBounds(schema);
  if (typeof schema.pattern === "string") schema.pattern = readPattern(schema.pattern);
  if (!isObject(schema.patternProperties)) return;
  const byPattern = Object.entries(schema.patternProperties);
  schema.patternProperties = Object.fromEntries(
    byPattern.map(([pattern, one]) => [readPattern(pattern), one]),
  );
}

/** The steps of a JSON pointer such as #/a~1b/0. @param {string} pointer */
export const parsePointer = (pointer) =>
  pointer
    .split("/")
    .slice(1)
    .map((step) => decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~"));

/** @param {any} schema @returns {unknown} */
const readId = (schema) => schema.$id ?? schema.id;

/** @param {any} root @returns {any[]} itself and the schemas in it, as copies */
function listSchemas(root) {
  /** @type {any[]} */
  const all = [];
  mapSchemas(root, (schema) => void all.push(schema));
  return all;
}

/** @param {any} root @param {string} reference @returns {any} undefined: root does not have it */
export function findReferenced(root, reference) {
  if (reference === "#" || reference.startsWith("#/")) {
    const readOwn = (/** @type {any} */ value, /** @type {string} */ step) =>
      Object.hasOwn(value ?? {}, step) ? value[step] : undefined;
    return parsePointer(reference).reduce(readOwn, root);
  }
  const all = listSchemas(root);
  if (reference.startsWith("#")) {
    return all.find((one) => one.$anchor === reference.slice(1) || readId(one) === reference);
  }
  const id = readId(root);
  const base = new URL(typeof id === "string" ? id : "", BASE);
  const toUrl = (/** @type {any} */ uri) => new URL(uri, base).href.replace(/#.*$/u, "");
  return all.find((one) => {
    const own = one === all.at(-1) ? base.href : readId(one);
    return typeof own === "string" && toUrl(own) === toUrl(reference);
  });
}

/** @param {any} value @returns {boolean} */
const isSchema = (value) => isObject(value) || typeof value === "boolean";

/** @param {any} root */
function checkReferences(root) {
  for (const { $ref } of listSchemas(root)) {
    const seen = new Set();
    for (let next = $ref; typeof next === "string";) {
      const found = seen.has(next) ? undefined : findReferenced(root, next);
      if (!isSchema(found)) {
        const why = seen.has(next) ? "refers to itself" : "is not in the schema";
        throw new TypeError(`$ref ${JSON.stringify(next)} ${why}; put its schema under "$defs"`);
      }
      seen.add(next);
      next = found.$ref;
    }
  }
}

/** @param {any} schema @returns {"7" | "2019-09" | "2020-12"} the draft that checks it */
function readDraft({ $schema }) {
  if (/draft-0[3-7]/u.test(String($schema))) return "7";
  return /2019-09/u.test(String($schema)) ? "2019-09" : "2020-12";
}

/**
 * @param {object} schema @returns {{schema: any, draft: "7" | "2019-09" | "2020-12"}} for the validator
 * TypeError: arguments cannot be checked with it
 */
export function toCheckable(schema) {
  checkReferences(schema);
  return { schema: mapSchemas(schema, readKeywords), draft: readDraft(schema) };
}
