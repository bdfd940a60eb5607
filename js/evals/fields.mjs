// Readers of a cases file's fields. A reader takes a value and where it stands, reports what is wrong with
// it, and returns what the program works with.

/** Where a value stands in the file. @typedef {(string | number)[]} Path */
/** @typedef {(path: Path, text: string) => void} Report */
/** @template T @typedef {(value: unknown, path: Path, report: Report) => T | undefined} Reader */

const UNITS = { s: 1000, m: 60_000, h: 3_600_000 };
const MAX_PATTERN = 4096;

/** @param {unknown} value */
function describeKind(value) {
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "a map" : `the ${typeof value} ${JSON.stringify(value)}`;
}

/** @param {unknown} value @returns {value is Record<string, unknown>} */
export const isMap = (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** @param {number} most characters @returns {Reader<string>} */
export const text = (most) => (value, path, report) => {
  if (typeof value !== "string" || value.trim() === "") {
    return void report(path, `expected a text, found ${describeKind(value)}`);
  }
  if (value.length > most) return void report(path, `a text of at most ${most} characters`);
  return value;
};

/** @type {Reader<boolean>} */
export const yesOrNo = (value, path, report) =>
  typeof value === "boolean"
    ? value
    : void report(path, `expected true or false, found ${describeKind(value)}`);

/** @param {number} least @returns {Reader<number>} */
export const wholeNumber = (least) => (value, path, report) =>
  Number.isSafeInteger(value) && Number(value) >= least
    ? Number(value)
    : void report(path, `expected a whole number from ${least} on, found ${describeKind(value)}`);

/** In ms. @param {number} mostMs @returns {Reader<number>} */
export const duration = (mostMs) => (value, path, report) => {
  const [, count, unit] = /^(\d{1,5})([smh])$/.exec(String(value)) ?? [];
  const ms = Number(count) * UNITS[/** @type {keyof typeof UNITS} */ (unit)];
  if (ms >= 1000 && ms <= mostMs) return ms;
  const most = `from 1s to ${mostMs / 60_000}m`;
  return void report(
    path,
    `expected a duration such as 30s or 5m, ${most}; found ${describeKind(value)}`,
  );
};

/** A regular expression of JavaScript. @param {string} flags @returns {Reader<RegExp>} */
export const pattern = (flags) => (value, path, report) => {
  const source = text(MAX_PATTERN)(value, path, report);
  if (source === undefined) return undefined;
  try {
    return new RegExp(source, flags);
  } catch (error) {
    return void report(path, /** @type {Error} */ (error).message);
  }
};

/** @template T @param {Reader<T>} item @returns {Reader<T[]>} */
export const list = (item) => (value, path, report) => {
  if (!Array.isArray(value))
    return void report(path, `expected a list, found ${describeKind(value)}`);
  return value.flatMap((one, at) => {
    const read = item(one, [...path, at], report);
    return read === undefined ? [] : [read];
  });
};

/** Any names, each with such a value. @template T @param {Reader<T>} item @returns {Reader<Record<string, T>>} */
export const named = (item) => (value, path, report) => {
  if (!isMap(value)) return void report(path, `expected a map, found ${describeKind(value)}`);
  /** @type {Record<string, T>} */
  const found = Object.create(null);
  for (const [name, one] of Object.entries(value)) {
    const read = item(one, [...path, name], report);
    if (read !== undefined) found[name] = read;
  }
  return found;
};

/** Whatever YAML can say. @type {Reader<unknown>} */
export const anything = (value) => value;

/**
 * A map of known fields. An unknown one is refused with those that there are.
 * @param {string} what for messages: "a case"
 * @param {Record<string, Reader<any>>} fields @param {string[]} [required]
 * @returns {Reader<any>}
 */
export const map =
  (what, fields, required = []) =>
  (value, path, report) => {
    if (!isMap(value)) return void report(path, `expected ${what}, found ${describeKind(value)}`);
    /** @type {Record<string, unknown>} */
    const found = {};
    for (const [name, one] of Object.entries(value)) {
      if (!Object.hasOwn(fields, name)) {
        const known = Object.keys(fields).join(", ");
        report([...path, name], `${what} has no field "${name}"; its fields are ${known}`);
      } else found[name] = fields[name](one, [...path, name], report);
    }
    for (const name of required.filter((each) => !Object.hasOwn(value, each))) {
      report(path, `${what} needs "${name}"`);
    }
    return found;
  };
