// The parameters of the tools. What a plan may hold is checked by the engine, which says all mistakes at once.

import {
  about,
  anything,
  choice,
  decimal,
  flag,
  integer,
  list,
  object,
  required,
  text,
  toParameters,
} from "../../config/schema.mjs";

const TEXT = text();
const TEXTS = list(TEXT);
const OPEN = { isOpen: true };
const OBJECT = object("an object", {}, OPEN);

/** @param {string} words */
const createChoice = (words) => choice(words.split(" "));

/** Of a plan and of a node. */
const SANDBOX_FIELDS = {
  sandbox: about(
    "off, and what the next four allow, needs the user's yes.",
    createChoice("on off"),
  ),
  allowedFolders: about("Writable, from the checkout or absolute.", TEXTS),
  readFolders: TEXTS,
  allowedUrls: about("Hosts, *.example.com or *. Default: no network.", TEXTS),
  caches: list(createChoice("npm pnpm yarn pip uv cargo go maven gradle ccache")),
};
/** Where those of the plan are described, too. */
const NODE_SANDBOX_FIELDS = {
  sandbox: about("Each of these five replaces the plan's.", SANDBOX_FIELDS.sandbox),
  ...{ allowedFolders: TEXTS, readFolders: TEXTS, allowedUrls: TEXTS, caches: TEXTS },
};

const NODE_FIELDS = {
  id: about("Unique in the plan: letters, digits, - and _.", TEXT),
  name: TEXT,
  group: about("A path such as parser/front, for display.", TEXT),
  dependencies: about("Ids of nodes that come before.", TEXTS),
  work: about(
    'A command line; "@agent …"; or {type: "agent", instructions, model, allowedFolders, allowedUrls, maxTurns, tools}, {type: "shell", command, shell}, {type: "process", executable, args, env}, {type: "tool", tool, args}.',
    anything,
  ),
  prechecks: about("As work: what must succeed before it.", anything),
  postchecks: about("As work: what must succeed after it.", anything),
  expectsNoChanges: flag,
  timeout: about(
    "Of each phase, such as 30m, or seconds as a number. Agents have 60m, others 10m.",
    anything,
  ),
  retry: about("{max, from: failed-phase or start}", OBJECT),
  cwd: about("Where its commands start, from the root of its worktree.", TEXT),
  ...NODE_SANDBOX_FIELDS,
};
const NODES = { nodes: required(list(object("a node", NODE_FIELDS, OPEN))) };
/** A model that adds nodes has the descriptions of create_copilot_plan, too. @type {Record<string, import("../../config/schema.mjs").Schema<any>>} */
const ADDED_FIELDS = Object.fromEntries(
  Object.entries(NODE_FIELDS).map(([name, { json, ...field }]) => {
    const { description: _, ...type } = /** @type {any} */ (json);
    return [name, { ...field, json: type }];
  }),
);
const ADDED_NODES = { nodes: required(list(object("a node", ADDED_FIELDS, OPEN))) };

const PLAN_FIELDS = {
  name: required(TEXT),
  repo: about("From the session's folder, and inside it. Default: that folder.", TEXT),
  baseBranch: about("Default: the repository's default branch.", TEXT),
  targetBranch: about("Where the leaves land. Absent: nothing is merged.", TEXT),
  maxParallel: integer(1),
  cleanUpSuccessfulWork: flag,
  startPaused: flag,
  budget: about("{aiCredits, tokens}", OBJECT),
  env: OBJECT,
  fetch: flag,
  copy: TEXTS,
  link: TEXTS,
  setup: TEXT,
  gitignore: flag,
  ...SANDBOX_FIELDS,
};

const { maxParallel: _many, ...PLAN_OF_ONE } = PLAN_FIELDS;
const { dependencies: _others, ...NODE_ALONE } = NODE_FIELDS;
const JOB_FIELDS = {
  ...{ ...PLAN_OF_ONE, ...NODE_ALONE, ...SANDBOX_FIELDS },
  name: PLAN_FIELDS.name,
  work: required(NODE_FIELDS.work),
};

const PLAN = { planId: required(TEXT) };
const NODE = { ...PLAN, nodeId: required(TEXT) };
const GROUP = { ...PLAN, group: required(TEXT) };
const PLAN_PARAMETERS = toParameters(PLAN);
const NODE_PARAMETERS = toParameters(NODE);
const CURSOR = { cursor: about("Of the answer before.", TEXT) };
export const PHASE_NAMES = "merge-fi prechecks work commit postchecks merge-ri".split(" ");
const PHASE = { phase: choice(PHASE_NAMES) };
const FILTER = {
  status: createChoice("pending ready scheduled running succeeded failed blocked canceled"),
  group: TEXT,
  ...PHASE,
};
const PLAN_STATUSES = createChoice("pending running paused succeeded failed partial canceled");

/** By tool: what it does, and its parameters. */
export const TOOLS = /** @type {Record<string, [string, object]>} */ ({
  create_copilot_plan: [
    "Makes a plan: a graph of nodes, each an agent or a command in a git worktree of its own, several at a time; what they commit flows to their dependents and, with targetBranch, into that branch. It runs in the background; tap tells you when it ends.",
    toParameters({ ...PLAN_FIELDS, ...NODES }),
  ],
  create_copilot_job: ["Makes a plan of one node.", toParameters(JOB_FIELDS)],
  get_copilot_plan_status: [
    "How a plan stands: counts, usage, and its nodes, those first that failed or run.",
    toParameters({ ...PLAN, nodes: about("Only these.", TEXTS), ...CURSOR }),
  ],
  list_copilot_plans: [
    "All plans of this user, this repository's first, of these the last made first.",
    toParameters({ status: PLAN_STATUSES, ...CURSOR }),
  ],
  wait_copilot_plan: [
    "Waits until a plan changes or ends, at most 60 s.",
    toParameters({ ...PLAN, until: createChoice("change end"), timeout: decimal(0) }),
  ],
  pause_copilot_plan: ["Starts nothing new; what runs goes on.", PLAN_PARAMETERS],
  resume_copilot_plan: [
    "Goes on with a paused plan; with a larger budget where that was spent.",
    toParameters({ ...PLAN, budget: OBJECT }),
  ],
  cancel_copilot_plan: ["Ends a plan. Worktrees stay.", PLAN_PARAMETERS],
  delete_copilot_plan: [
    "Forgets a plan that has ended, and its worktrees, whose content is kept for 30 days.",
    PLAN_PARAMETERS,
  ],
  retry_copilot_plan: ["Retries all nodes that failed or were canceled.", PLAN_PARAMETERS],
  create_copilot_node: [
    "Adds a node to a plan that has not ended, with the fields that nodes of create_copilot_plan have.",
    toParameters({ ...PLAN, ...ADDED_FIELDS, id: required(ADDED_FIELDS.id) }),
  ],
  add_copilot_nodes: [
    "Adds nodes, such as create_copilot_plan has, to a plan that has not ended.",
    toParameters({ ...PLAN, ...ADDED_NODES }),
  ],
  list_copilot_nodes: [
    "Nodes of a plan by status, group or phase.",
    toParameters({ ...PLAN, ...FILTER, ...CURSOR }),
  ],
  get_copilot_node: ["A node: status, config, commits, worktree, usage.", NODE_PARAMETERS],
  get_copilot_node_details: ["A node with its evidence, metrics and summaries.", NODE_PARAMETERS],
  get_copilot_node_logs: [
    "The last output of a node's phase.",
    toParameters({ ...NODE, ...PHASE, attempt: integer(1) }),
  ],
  get_copilot_node_attempts: ["The attempts of a node, phase by phase.", NODE_PARAMETERS],
  get_copilot_node_failure_context: [
    "Why a node failed: phase, error, last lines, diff.",
    NODE_PARAMETERS,
  ],
  retry_copilot_node: [
    "Retries a node from the phase that failed, or from the start; an agent goes on with its session and your instructions.",
    toParameters({ ...NODE, from: createChoice("failed-phase start"), instructions: TEXT }),
  ],
  get_copilot_group_status: ["A group of nodes: its status and counts.", toParameters(GROUP)],
  list_copilot_groups: ["The groups of a plan.", toParameters({ ...PLAN, ...CURSOR })],
  cancel_copilot_group: ["Cancels the nodes of a group.", toParameters(GROUP)],
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
