// How much work a schema makes: nested references can make a few lines cost minutes. All of it is counted
// without recursion into what was counted before.

/** Values in one schema, and evaluations of one instance. */
const MAX_VALUES = 5000;
const MAX_DEPTH = 64;
const MAX_EVALUATIONS = 20_000;

/** @param {any} root @returns {{values: number, depth: number}} counted no further than the limits */
function measureSize(root) {
  let values = 0;
  let depth = 0;
  let level = [root];
  for (; level.length > 0 && depth <= MAX_DEPTH && values <= MAX_VALUES; depth += 1) {
    values += level.length;
    level = level.flatMap((one) =>
      typeof one === "object" && one !== null ? Object.values(one) : [],
    );
  }
  return { values, depth };
}

/** What a local reference leads to. @param {any} root @param {string} reference */
function resolve(root, reference) {
  if (!reference.startsWith("#")) return undefined;
  const steps = reference.slice(1).split("/").slice(1);
  return steps.reduce((at, step) => {
    const name = decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
    return typeof at === "object" && at !== null && Object.hasOwn(at, name) ? at[name] : undefined;
  }, root);
}

/**
 * How often parts of the schema are evaluated at most, with each reference followed.
 * @param {any} root @returns {number}
 */
function countEvaluations(root) {
  /** @type {Map<object, number>} */
  const known = new Map();
  const count = (/** @type {any} */ one) => {
    if (typeof one !== "object" || one === null) return 0;
    const former = known.get(one);
    if (former !== undefined) return former;
    known.set(one, 1); // a reference to itself ends with the instance
    let sum = 1;
    for (const [key, inner] of Object.entries(one)) {
      if (key === "$defs" || key === "definitions") continue;
      const target = key === "$ref" && typeof inner === "string" ? resolve(root, inner) : inner;
      sum = Math.min(sum + count(target), MAX_EVALUATIONS + 1);
    }
    known.set(one, sum);
    return sum;
  };
  return count(root);
}

/** @param {object} schema @returns {string} why it is not accepted; "" where it is */
export function schemaProblem(schema) {
  const { values, depth } = measureSize(schema);
  if (depth > MAX_DEPTH) return `expected at most ${MAX_DEPTH} levels`;
  if (values > MAX_VALUES) return `expected at most ${MAX_VALUES} values`;
  if (countEvaluations(schema) > MAX_EVALUATIONS) {
    return `its references lead to more than ${MAX_EVALUATIONS} parts`;
  }
  return "";
}
