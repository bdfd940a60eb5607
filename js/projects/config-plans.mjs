// `plans` of the user's config: what plans may take of the machine, and what each worktree gets (docs/plans.md).

const COUNTS = ["maxWorkers", "maxAgents"];
const LISTS = ["copy", "link"];
const WHERE = ["inside", "beside"];
const NAMES = [...COUNTS, "workerMemory", "worktrees", ...LISTS, "setup", "gitignore"];
const MOST_WORKERS = 256;
const MOST_MEMORY = 2 ** 50;

/**
 * @typedef {object} PlansConfig
 * @property {number} [maxWorkers] nodes of all plans at a time @property {number} [maxAgents] agents among them
 * @property {number} [workerMemory] bytes that must be free for one agent more
 * @property {string} [worktrees] inside or beside the repository
 * @property {string[]} [copy] @property {string[]} [link] @property {string} [setup] @property {boolean} [gitignore]
 *   for plans that do not say it
 */

/**
 * @param {import("./strict-reader.mjs").StrictReader} reader @param {import("jsonc-parser").Node} node
 * @returns {PlansConfig}
 */
export function plansIn(reader, node) {
  /** @type {any} */
  const plans = {};
  for (const [name, value] of reader.fields(node, '"plans"', NAMES)) {
    const most = COUNTS.includes(name) ? MOST_WORKERS : name === "workerMemory" ? MOST_MEMORY : 0;
    if (LISTS.includes(name)) plans[name] = reader.list(value).map((item) => reader.string(item));
    else if (most === 0 && name !== "gitignore") plans[name] = reader.string(value);
    else plans[name] = value.value;
    const isCount = Number.isInteger(value.value) && value.value >= 1 && value.value <= most;
    if (most > 0 && !isCount) reader.mustBe(value, `a whole number from 1 to ${most}`);
    if (name === "gitignore" && value.type !== "boolean") reader.mustBe(value, "true or false");
    if (name === "worktrees" && !WHERE.includes(value.value))
      reader.mustBe(value, WHERE.join(" or "));
  }
  return plans;
}
