// Checks a descriptor, and says in words what is wrong with it. A descriptor is data only: it can be printed, stored
// and compared.

import {
  choice,
  flag,
  formatProblem,
  isMap,
  list,
  object,
  readValue,
  refine,
  required,
  text,
} from "../config/schema.mjs";
import { errorMessage } from "../lib/values.mjs";
import { shortenText, visible } from "../lib/visible.mjs";
import { parseCapability } from "./capabilities.mjs";
import { CONDITIONS } from "./capability-grants.mjs";
import { schemaProblem } from "./schema-cost.mjs";
import { parseInterval } from "./tasks.mjs";

const RUNTIMES = ["builtin", "external-process", "mcp-bridge", "declarative"];
const SOURCES = ["builtin", "user", "project", "mcp"];
/** When a hook acts: before the agent uses a tool, or with a prompt of the user. */
export const HOOK_POINTS = ["onPreToolUse", "onUserPromptSubmitted"];
/** As many as the gateway takes from one provider. */
const MAX_TOOLS = 100;

const createText = (/** @type {number} */ most) => text({ most, raw: true });

/** @param {RegExp} pattern @param {string} wanted */
const createName = (pattern, wanted) =>
  refine(createText(256), (given, place) =>
    pattern.test(given) ? given : place.expected(wanted, given),
  );

const featureId = createName(
  new RegExp(`^(?:${SOURCES.join("|")}):[^\\u0000-\\u001f\\u007f]{1,128}$`),
  "an id such as builtin:name, user:name, project:name or mcp:name",
);
const word = createName(/^[a-z0-9][a-z0-9_-]{0,63}$/, "a name in kebab-case or snake_case");
const toolName = createName(
  /^[a-zA-Z0-9_-]{1,64}$/,
  "a name that the CLI takes: 1 to 64 of a-z, A-Z, 0-9, _ and -",
);
const commandName = createName(/^[a-z0-9-]{1,64}$/, "1 to 64 of a-z, 0-9 and -");
const condition = choice(CONDITIONS);

/** @type {import("../config/schema.mjs").Schema<object>} */
const parameters = {
  read(value, place) {
    if (!isMap(value)) return place.expected("a JSON Schema", value);
    const problem = schemaProblem(value);
    return problem === "" ? value : place.problem(problem);
  },
};

const LISTS = {
  capabilities: list(
    object("a capability", {
      capability: required(createText(1024)),
      required: required(flag),
      reason: required(createText(300)),
    }),
    { most: 50, what: "capabilities" },
  ),
  tools: list(
    object("a tool", {
      name: required(toolName),
      description: required(createText(4096)),
      parameters,
      requires: list(createText(1024), { most: 20, what: "capabilities" }),
      group: word,
    }),
    { most: MAX_TOOLS, what: "tools" },
  ),
  hooks: list(
    object("a hook", {
      name: required(word),
      point: required(choice(HOOK_POINTS)),
      when: condition,
    }),
    { most: 50, what: "hooks" },
  ),
  channels: list(word, { most: 20, what: "channels" }),
  commands: list(
    object("a command", { name: required(commandName), description: required(createText(300)) }),
    { most: 20, what: "commands" },
  ),
  tasks: list(
    object("a task", { name: required(word), schedule: createText(100), when: condition }),
    { most: 20, what: "tasks" },
  ),
};

const schema = object("a descriptor", {
  id: required(featureId),
  displayName: required(createText(100)),
  version: required(createText(64)),
  runtime: required(choice(RUNTIMES)),
  host: choice(["gateway", "feature-host"]),
  ...LISTS,
});

/**
 * @typedef {{capability: string, required: boolean, reason: string}} CapabilityRequest
 * @typedef {{name: string, description: string, parameters?: object, requires?: string[], group?: string}} ToolDescriptor
 * @typedef {object} Descriptor
 * @property {string} id `builtin:counter`, `user:<name>`, `project:<name>`, `mcp:<name>`
 * @property {string} displayName
 * @property {string} version
 * @property {"builtin" | "external-process" | "mcp-bridge" | "declarative"} runtime
 * @property {"gateway" | "feature-host"} [host] of a `builtin`; default: the feature host
 * @property {CapabilityRequest[]} [capabilities]
 * @property {ToolDescriptor[]} [tools]
 * @property {{name: string, point: string, when?: typeof import("./capability-grants.mjs").CONDITIONS[number]}[]} [hooks]
 *   `when`: it is there only while this condition is met
 * @property {string[]} [channels] on which it may emit events
 * @property {{name: string, description: string}[]} [commands] slash commands
 * @property {{name: string, schedule?: string, when?: typeof import("./capability-grants.mjs").CONDITIONS[number]}[]} [tasks]
 *   `when`: it runs only while this condition is met
 */

const MAX_PROBLEMS = 10;
/** Lists of names: each name once. */
const NAMED_LISTS = /** @type {const} */ (["tools", "hooks", "commands", "tasks"]);

/** A value in a message. @param {unknown} value */
export const formatValue = (value) => visible(shortenText(JSON.stringify(value) ?? "nothing", 80));

/** @param {unknown} value */
const isPlain = (value) =>
  Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value));

/**
 * A descriptor is data: what JSON would leave out, change or refuse is not.
 * @param {unknown} root bounded @returns {string} where there is something else; ""
 */
function findNonData(root) {
  const seen = new Set();
  /** @param {unknown} value @param {string} place @returns {string} */
  const visit = (value, place) => {
    if (typeof value === "function" || typeof value === "symbol" || typeof value === "bigint") {
      return `${place}: a descriptor is data only, found a ${typeof value}`;
    }
    if (typeof value !== "object" || value === null || seen.has(value)) return "";
    if (!isPlain(value)) return `${place}: a descriptor is data only, found an object of a class`;
    seen.add(value);
    for (const [key, inner] of Object.entries(value)) {
      const problem = visit(inner, place ? `${place}.${key}` : key);
      if (problem) return visible(shortenText(problem, 200));
    }
    return "";
  };
  return visit(root, "");
}

/** @param {Descriptor} descriptor @returns {string[]} */
function nameProblems(descriptor) {
  const { capabilities = [], channels = [] } = descriptor;
  const named = NAMED_LISTS.map(
    (field) => /** @type {const} */ ([field, (descriptor[field] ?? []).map(({ name }) => name)]),
  );
  const lists = new Map([
    ...named,
    ["capabilities", capabilities.map(({ capability }) => capability)],
    ["channels", channels],
  ]);
  return [...lists].flatMap(([field, names]) =>
    names
      .filter((name, at) => names.indexOf(name) !== at)
      .map((name) => `${field}: ${formatValue(name)} is there twice`),
  );
}

/** @param {Descriptor} descriptor @returns {string[]} */
const scheduleProblems = ({ tasks = [] }) =>
  tasks
    .filter(({ schedule }) => schedule !== undefined && parseInterval(schedule) === undefined)
    .map(
      ({ name, schedule }) =>
        `task ${name}: its schedule ${formatValue(schedule)} is not like 30s, 5m, 2h or 1d`,
    );

/** A feature's runtime is that of its source. @param {Descriptor} descriptor @returns {string[]} */
function runtimeProblems({ id, runtime, host, capabilities = [], tools = [] }) {
  const source = id.split(":", 1)[0];
  const isBuiltin = runtime === "builtin";
  const asked = new Set(capabilities.map(({ capability }) => capability));
  return [
    ...(isBuiltin !== (source === "builtin") || (runtime === "mcp-bridge") !== (source === "mcp")
      ? [`id: ${formatValue(id)} cannot have the runtime "${runtime}"`]
      : []),
    ...(host !== undefined && !isBuiltin ? [`host: only a builtin feature may name its host`] : []),
    ...tools.flatMap(({ name, requires = [] }) =>
      requires
        .filter((one) => !asked.has(one))
        .map(
          (one) =>
            `tool ${name}: it requires ${formatValue(one)}, which capabilities does not list`,
        ),
    ),
  ];
}

/**
 * Everything but unknown capabilities, which only cost what needs them.
 * @param {any} descriptor @returns {string[]} problems, in words; at most 10
 */
export function descriptorProblems(descriptor) {
  try {
    return [...new Set(findProblems(descriptor))].slice(0, MAX_PROBLEMS);
  } catch (error) {
    return [`the descriptor cannot be read: ${visible(shortenText(errorMessage(error), 200))}`];
  }
}

/** @param {any} descriptor @returns {string[]} @throws what a getter of it throws */
function findProblems(descriptor) {
  const read = readValue(schema, descriptor);
  if (read.ok === false) return read.problems.map(formatProblem);
  const other = findNonData(descriptor);
  if (other) return [other];
  return [
    ...nameProblems(descriptor),
    ...runtimeProblems(descriptor),
    ...scheduleProblems(descriptor),
  ];
}

/** @param {Descriptor} descriptor @returns {{capability: string, problem: string}[]} */
export const unknownCapabilities = ({ capabilities = [] }) =>
  capabilities.flatMap(({ capability }) => {
    const parsed = parseCapability(capability);
    return typeof parsed === "string" ? [{ capability, problem: parsed }] : [];
  });

// The name of a feature's provider, as providers and messages in the timeline have it. Records have the id.

/** @param {string} id of a feature of the feature host @returns {string} */
export const providerName = (id) => `tap-${id.slice(id.indexOf(":") + 1)}`;
