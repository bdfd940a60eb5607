// Which part of a JSON document an emitter watches: $.runs[0].status, runs[0].status or $["a key"].

const LONGEST = 500;
const MOST_STEPS = 30;
const STEP = /\.([A-Za-z_][\w-]*)|\[(0|[1-9][0-9]{0,8})\]|\["([^"\\]*)"\]|\['([^'\\]*)'\]/y;

/** @param {string} text @returns {(string | number)[] | undefined} undefined where it is not such a path */
export function jsonPathSteps(text) {
  const given = text.trim();
  if (given === "" || given.length > LONGEST) return undefined;
  const path = given.startsWith("$") ? given.slice(1) : given.startsWith("[") ? given : `.${given}`;
  const steps = [];
  STEP.lastIndex = 0;
  for (let at = 0; at < path.length; at = STEP.lastIndex) {
    const found = STEP.exec(path);
    if (found === null || steps.length === MOST_STEPS) return undefined;
    const [, name, index, ...keys] = found;
    steps.push(
      index === undefined ? (name ?? keys.find((key) => key !== undefined) ?? "") : Number(index),
    );
  }
  return steps;
}

/** @param {unknown} document @param {readonly (string | number)[]} steps @returns {unknown} undefined if the document lacks it */
export function valueAt(document, steps) {
  let value = document;
  for (const step of steps) {
    if (typeof value !== "object" || value === null) return undefined;
    if (Array.isArray(value) !== (typeof step === "number") || !Object.hasOwn(value, step))
      return undefined;
    value = /** @type {Record<string | number, unknown>} */ (value)[step];
  }
  return value;
}
