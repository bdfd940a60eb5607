// The parameters of the tools. What a plan may hold is checked by the engine, which says all mistakes at once.

const TEXT = { type: "string" };
const FLAG = { type: "boolean" };

/** @param {string} description */
const createText = (description) => ({ type: "string", description });

const WORK = {
  description:
    'A command line; "@agent …"; or {type: "agent", instructions, model, allowedFolders, allowedUrls, maxTurns, tools}, {type: "shell", command, shell}, {type: "process", executable, args, env}, {type: "tool", tool, args}.',
};

const TEXTS = { type: "array", items: TEXT };

/** Of a plan and of a node. */
const SANDBOX_FIELDS = {
  sandbox: {
    enum: ["on", "off"],
    description:
      "The user is asked for off, and for what the next four allow. A node's field stands for the plan's.",
  },
  allowedFolders: {
    ...TEXTS,
    description: "Writable besides the worktree: from the checkout, or absolute.",
  },
  readFolders: { ...TEXTS, description: "Readable besides the system." },
  allowedUrls: {
    ...TEXTS,
    description: "Hosts, *.example.com, or * for all. Default: no network.",
  },
  caches: {
    type: "array",
    items: { enum: "npm pnpm yarn pip uv cargo go maven gradle ccache".split(" ") },
  },
};

const NODE_FIELDS = {
  id: createText("Unique in the plan: letters, digits, - and _."),
  name: TEXT,
  group: createText("A path such as parser/front, for display."),
  dependencies: { type: "array", items: TEXT, description: "Ids of nodes that come before." },
  work: WORK,
  prechecks: { description: "As work: what must succeed before it." },
  postchecks: { description: "As work: what must succeed after it." },
  expectsNoChanges: FLAG,
  timeout: {
    description: "Of each phase, such as 30m, or seconds as a number. Agents have 60m, others 10m.",
  },
  retry: { type: "object", description: "{max, from: failed-phase or start}" },
  ...SANDBOX_FIELDS,
};
const NODE = { type: "object", properties: NODE_FIELDS };
const NODES = { type: "array", items: NODE };

const PLAN_FIELDS = {
  name: TEXT,
  repo: createText("From the session's folder, and inside it. Default: that folder."),
  baseBranch: createText("Default: the repository's default branch."),
  targetBranch: createText("Where the leaves land. Absent: nothing is merged."),
  maxParallel: { type: "integer" },
  cleanUpSuccessfulWork: FLAG,
  startPaused: FLAG,
  budget: { type: "object", description: "{aiCredits, tokens}" },
  env: { type: "object" },
  fetch: FLAG,
  copy: TEXTS,
  link: TEXTS,
  setup: TEXT,
  gitignore: FLAG,
  ...SANDBOX_FIELDS,
};

const { maxParallel: _many, ...PLAN_OF_ONE } = PLAN_FIELDS;
const { dependencies: _others, ...NODE_ALONE } = NODE_FIELDS;
const JOB_FIELDS = { ...PLAN_OF_ONE, ...NODE_ALONE };

/** @param {object} properties @param {string[]} [required] */
const object = (properties, required = []) => ({
  type: "object",
  additionalProperties: false,
  ...(required.length > 0 && { required }),
  properties,
});

const PLAN = { planId: TEXT };
const NODE_PARAMETERS = object({ ...PLAN, nodeId: TEXT }, ["planId", "nodeId"]);
const PLAN_PARAMETERS = object(PLAN, ["planId"]);
const PAGE = {
  nodes: { type: "array", items: TEXT, description: "Only these." },
  cursor: createText("Of the answer before."),
};
export const PHASE_NAMES = "merge-fi prechecks work commit postchecks merge-ri".split(" ");
const FILTER = {
  status: { enum: "pending ready scheduled running succeeded failed blocked canceled".split(" ") },
  group: TEXT,
  phase: { enum: PHASE_NAMES },
};
const PLAN_STATUSES = "pending running paused succeeded failed partial canceled".split(" ");

/** By tool: what it does, and its parameters. */
export const TOOLS = /** @type {Record<string, [string, object]>} */ ({
  create_copilot_plan: [
    "Makes a plan: a graph of nodes, each an agent or a command in a git worktree of its own, several at a time; what they commit flows to their dependents and, with targetBranch, into that branch. It runs in the background; tap tells you when it ends.",
    object({ ...PLAN_FIELDS, nodes: NODES }, ["name", "nodes"]),
  ],
  create_copilot_job: ["Makes a plan of one node.", object(JOB_FIELDS, ["name", "work"])],
  get_copilot_plan_status: [
    "How a plan stands: counts, usage, and its nodes, those first that failed or run.",
    object({ ...PLAN, ...PAGE }, ["planId"]),
  ],
  list_copilot_plans: [
    "All plans of this user, this repository's first, of these the last made first.",
    object({ status: { enum: PLAN_STATUSES }, cursor: PAGE.cursor }),
  ],
  wait_copilot_plan: [
    "Waits until a plan changes or ends, at most 60 s.",
    object({ ...PLAN, until: { enum: ["change", "end"] }, timeout: { type: "number" } }, [
      "planId",
    ]),
  ],
  pause_copilot_plan: ["Starts nothing new; what runs goes on.", PLAN_PARAMETERS],
  resume_copilot_plan: [
    "Goes on with a paused plan; with a larger budget where that was spent.",
    object({ ...PLAN, budget: { type: "object" } }, ["planId"]),
  ],
  cancel_copilot_plan: ["Ends a plan. Worktrees stay.", PLAN_PARAMETERS],
  delete_copilot_plan: [
    "Forgets a plan that has ended, and its worktrees, whose content is kept for 30 days.",
    PLAN_PARAMETERS,
  ],
  retry_copilot_plan: ["Retries all nodes that failed or were canceled.", PLAN_PARAMETERS],
  create_copilot_node: [
    "Adds a node to a plan that has not ended.",
    object({ ...PLAN, ...NODE_FIELDS }, ["planId", "id"]),
  ],
  add_copilot_nodes: [
    "Adds nodes to a plan that has not ended.",
    object({ ...PLAN, nodes: NODES }, ["planId", "nodes"]),
  ],
  list_copilot_nodes: [
    "Nodes of a plan by status, group or phase.",
    object({ ...PLAN, ...FILTER, cursor: PAGE.cursor }, ["planId"]),
  ],
  get_copilot_node: ["A node: status, config, commits, worktree, usage.", NODE_PARAMETERS],
  get_copilot_node_details: ["A node with its evidence, metrics and summaries.", NODE_PARAMETERS],
  get_copilot_node_logs: [
    "The last output of a node's phase.",
    object({ ...PLAN, nodeId: TEXT, phase: FILTER.phase, attempt: { type: "integer" } }, [
      "planId",
      "nodeId",
    ]),
  ],
  get_copilot_node_attempts: ["The attempts of a node, phase by phase.", NODE_PARAMETERS],
  get_copilot_node_failure_context: [
    "Why a node failed: phase, error, last lines, diff.",
    NODE_PARAMETERS,
  ],
  retry_copilot_node: [
    "Retries a node from the phase that failed, or from the start; an agent goes on with its session and your instructions.",
    object(
      { ...PLAN, nodeId: TEXT, from: { enum: ["failed-phase", "start"] }, instructions: TEXT },
      ["planId", "nodeId"],
    ),
  ],
  get_copilot_group_status: [
    "A group of nodes: its status and counts.",
    object({ ...PLAN, group: TEXT }, ["planId", "group"]),
  ],
  list_copilot_groups: [
    "The groups of a plan.",
    object({ ...PLAN, cursor: PAGE.cursor }, ["planId"]),
  ],
  cancel_copilot_group: [
    "Cancels the nodes of a group.",
    object({ ...PLAN, group: TEXT }, ["planId", "group"]),
  ],
});

/** Their `work` says which models there are. */
export const TOOLS_WITH_MODELS = ["create_copilot_plan", "create_copilot_job"];

/** @param {string} name of the tool @param {string} models "": nothing is known of them @returns {{parameters: object} | undefined} */
export function addModels(name, models) {
  if (models === "" || !TOOLS_WITH_MODELS.includes(name)) return undefined;
  const [, parameters] = TOOLS[name];
  /** @type {any} */
  const copy = structuredClone(parameters);
  const { nodes, work } = copy.properties;
  const offered = nodes?.items.properties.work ?? work;
  offered.description += ` Models (others may be named): ${models}.`;
  return { parameters: copy };
}

/** What the engine checks, so that all mistakes are told at once. */
const TOOLS_WITH_OPEN_SCHEMA = [
  ...["create_copilot_plan", "create_copilot_job", "create_copilot_node", "add_copilot_nodes"],
];

/**
 * A schema that the model sees and that refuses nothing but what is no object (https://standardschema.dev).
 * @param {object} schema
 */
const toOpenSchema = (schema) => ({
  "~standard": {
    version: 1,
    vendor: "tap",
    jsonSchema: { input: () => schema },
    validate: (/** @type {unknown} */ value) =>
      typeof value === "object" && value !== null && !Array.isArray(value)
        ? { value }
        : { issues: [{ message: "expected an object" }] },
  },
});

/** How a tool is registered. @param {string} name @param {string} models as in addModels @returns {{parameters: object} | undefined} */
export function toRegistration(name, models) {
  const now = addModels(name, models);
  if (!TOOLS_WITH_OPEN_SCHEMA.includes(name)) return now;
  return { parameters: toOpenSchema(now?.parameters ?? TOOLS[name][1]) };
}

export const JOB_KEYS = Object.keys(JOB_FIELDS);
export const PLAN_KEYS = Object.keys(PLAN_FIELDS);
export const NODE_KEYS = Object.keys(NODE_FIELDS);
export const SANDBOX_KEYS = Object.keys(SANDBOX_FIELDS);
