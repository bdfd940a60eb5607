// Values of a provider as JSON. JSON.stringify turns a Map, an Error and a promise into {}.

/** @param {object} value */
const isPlain = (value) => {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null || Array.isArray(value);
};

/** @param {any} value @returns {string} such as Generator, Promise, Response */
const describeType = (value) =>
  value[Symbol.toStringTag] ?? value.constructor?.name ?? typeof value;

/** @param {unknown} value */
function refuseType(value) {
  const hint = value instanceof Error ? "throw it" : "return a text, a list or a plain object";
  throw new TypeError(`a value is of the type ${describeType(value)}, which is no JSON; ${hint}`);
}

/** @param {string} _ @param {unknown} value */
function convert(_, value) {
  if (typeof value !== "object" || value === null || isPlain(value)) return value;
  if (value instanceof Map) {
    const isNamed = [...value.keys()].every((key) => ["string", "number"].includes(typeof key));
    return isNamed ? Object.fromEntries(value) : refuseType(value);
  }
  if (value instanceof Set) return [...value];
  if (ArrayBuffer.isView(value) && Symbol.iterator in value) return [.../** @type {any} */ (value)];
  const isEmpty = Object.keys(value).length === 0 && typeof value.valueOf() === "object";
  return isEmpty || value instanceof Error || "then" in value ? refuseType(value) : value;
}

/** @param {unknown} value @returns {string | undefined} undefined: a function or a symbol. TypeError: any other value without JSON */
export const toJson = (value) =>
  typeof value === "string" ? JSON.stringify(value) : JSON.stringify(value, convert);
